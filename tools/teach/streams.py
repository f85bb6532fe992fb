"""Questions about Spark (labs 12 to 14): windows and watermarks, what comes again after a crash, the notary's verdict.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

import json
import tempfile
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tools.teach.question import Kind, Question, in_words, mistakes, of_texts, right_answer


def windows(rng: Random) -> Question:
    size, delay = 10, rng.choice((5, 10))
    steps, clock = [], rng.randrange(3, 9)
    for _ in range(4):
        steps.append([max(0, clock + rng.choice((0, 1, 2, 4, -4, -9, -14))) for _ in range(rng.choice((1, 2, 2)))])
        clock += rng.randrange(6, 13)

    def words(said: Any) -> str:
        mark, out = said[-1]
        rows = [f"window {start} to {start + size}: {int(n)}" for start, n in sorted(out.items())]
        return f"{'; '.join(rows) or 'no window'}"
    right = words(right_answer("12.2")([list(step) for step in steps], size, delay))
    near = [words([(0, out)]) for out in ({}, {clock // 10 * 10 - 20: 1}, {clock // 10 * 10 - 20: 2}, {0: 1}, {0: 2})]
    table = (("step", "event times of its rows, in seconds"),
             *((str(n), ", ".join(map(str, row))) for n, row in enumerate(steps, 1)))
    state = (f"windows of {size} seconds, each with its start and without its end; the watermark: the newest time, minus {delay}",
             "in a step, its rows are judged by the watermark as it was before; then it moves, and windows are emitted",
             "output mode append: a window is emitted once, with its number of rows")
    return Question(12, state, "What does step 4 emit?",
                    *of_texts(rng, right, in_words(mistakes("12.2", steps, size, delay), words), near), table)


def replayed(rng: Random) -> Question:
    first, count = rng.choice((0, 3, 8)), rng.choice((2, 3))
    ends, plans = {"0": rng.randrange(0, 9), "1": rng.randrange(0, 9)}, {}
    for number in range(first, first + count):
        ends = {p: end + rng.choice((0, 2, 3, 5)) for p, end in ends.items()}
        plans[number] = dict(ends)
    done = [*plans][:None if rng.random() < 0.2 else -1]

    def words(said: Any) -> str:
        rows = [f"partition {int(p)}: offsets {int(a)} to {int(b) - 1}" for p, (a, b) in sorted(dict(said).items()) if b > a]
        return "; ".join(rows) or "nothing"
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder)
        for name in ("offsets", "commits"):
            (checkpoint / name).mkdir()
        for number, plan in plans.items():
            (checkpoint / "offsets" / str(number)).write_text("\n".join(("v1", "{}", json.dumps({"orders": plan}))))
        for number in done:
            (checkpoint / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        right = words(right_answer("13.3")(checkpoint))
        wrong = [*in_words(mistakes("13.3", checkpoint), words)]
    table = (("micro-batch", "offsets/ says that it ends before", "commits/ has its file"),
             *((str(n), f"partition 0: {plan['0']}, partition 1: {plan['1']}", "yes" if n in done else "no")
               for n, plan in plans.items()))
    older = "; Spark has deleted the files of older micro-batches" if first else ""
    state = (f"the checkpoint of a job that has died; an end is the next offset to be read{older}",)
    near = ["nothing", words({0: (0, ends["0"]), 1: (0, ends["1"])}), words({0: (ends["0"], ends["0"] + 2)})]
    return Question(13, state, "The job starts again. Which rows does the sink get that it may have already?",
                    *of_texts(rng, right, wrong, near), table)


SEEN = {"acked": "was the trip acknowledged?", "in_log": "is it in the log?", "in_sink": "is it in the sink?",
        "settled": "had the pipeline come to the end of the log?"}


def verdict(rng: Random) -> Question:
    """Each verdict is drawn equally often."""
    rule = right_answer("14.2")
    wanted = rng.choice(("PASS", "FAIL", "UNKNOWN"))
    seen = rng.choice([one for one in product((True, False, None), repeat=4) if rule(*one) == wanted])
    said = {True: "yes", False: "no", None: "nobody could look"}
    table = (("question", "answer"), *((text, said[value]) for text, value in zip(SEEN.values(), seen)))
    state = ("a trip is owed to the sink if it was acknowledged or is in the log; a trip that was not owed cannot be lost",
             "PASS: certainly not lost; FAIL: certainly lost; UNKNOWN: neither is certain")
    options = ("PASS", "FAIL", "UNKNOWN")
    return Question(14, state, "What does the notary say of this trip?", options, options.index(rule(*seen)), table)


KINDS = {"windows": Kind("Which windows does a step emit?", windows),
         "replayed": Kind("Which rows come again after a crash of Spark?", replayed),
         "verdict": Kind("Was this trip lost?", verdict)}
