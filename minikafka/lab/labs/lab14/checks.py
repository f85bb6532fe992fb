"""Checks of lab 14: one trip before the notary (14.3), your own pipeline (14.5), the table of what each "
"setting is for (14.8)."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab14.notary import COUNTERS, Sealed, notary, told
from minikafka.lab.labs.lab14.paper import cries
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE, Pipeline, prices_added_up
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.schedule import for_ablation, schedule

# --- 14.3 ------------------------------------------------------------------------------------------------------------

hints("14.3",
      "Two questions, one after the other: was this trip owed to the sink at all? And if so, can it still come?",
      "A trip is owed if it was acknowledged or is in the log. If neither is so, nobody promised anything. If the log could "
      "not be read and there was no answer, you do not know whether it is owed. What is in the log can still come as long "
      "as the pipeline has not come to its end; what is not in the log cannot come any more.",
      "minikafka/lab/labs/lab14/notary.py: `Facts.must`, `Facts.may`, and the function `lost`")

Case = tuple[bool, bool | None, bool | None, bool]
CASES: list[Case] = list(itertools.product((True, False), (True, False, None), (True, False, None), (True, False)))


def fate(acked: bool, in_log: bool | None, in_sink: bool | None, settled: bool) -> str:
    """Return the verdict on one trip."""
    if in_sink:
        return "PASS"
    if not acked and in_log is False:
        return "PASS"
    if in_sink is None or not acked and in_log is None:
        return "UNKNOWN"
    return "FAIL" if settled or in_log is False else "UNKNOWN"


@checks("14.3", matters="The most expensive sentence after an incident is `nothing was lost` from somebody who has not "
                        "looked everywhere. A third answer costs nothing, and it names what to look at next.")
def one_trip(answer: Callable[..., str]) -> str:
    """Check with all 36 cases."""
    wrong = [(case, said) for case in CASES if (said := answer(*case)) != fate(*case)]
    if wrong:
        (acked, in_log, in_sink, settled), said = wrong[0]
        assert said is not None, "your function returned nothing; is there a `return`?"
        raise Wrong(f"{len(wrong)} of {len(CASES)} cases come out wrong. One of them: you say {said}, it is "
                    f"{fate(*wrong[0][0])}.", [f"acknowledged: {acked}", f"in the log: {in_log}", f"in the sink: {in_sink}",
                                               f"the pipeline had come to the end: {settled}"])
    return f"right in all {len(CASES)} cases, {sum(fate(*case) == 'UNKNOWN' for case in CASES)} of them UNKNOWN"


# --- 14.5 ------------------------------------------------------------------------------------------------------------

HIDDEN = (4, 27, 51, 88, 103, 142, 157, 210, 233, 298)
PAPER = range(100)

hints("14.5",
      "Spark will give you the same batch twice: same number, same rows. And a producer may have written the same trip "
      "twice. Which column of a row is the same in both cases?",
      "Make the second time harmless. A unique key with `INSERT OR IGNORE` lets a row in once. A price that is counted from "
      "the rows of the sink is right however often it is counted; a price to which something is added is not. Before the "
      "log: acks=all, min.insync.replicas=2 and idempotence.",
      "minikafka/lab/labs/lab14/pipeline.py: what `write` gets; sqlite3.Connection.executemany")


@checks("14.5", seconds=180,
        matters="Nobody can promise exactly once through a database that Kafka does not know. What a team can "
                "promise is that a second time changes nothing, and that somebody looks.")
def own_pipeline(answer: Callable[[], Pipeline] | Pipeline) -> str:
    """Check with a hundred seeds on paper, then with ten hidden schedules on simulated brokers."""
    pipeline = answer() if callable(answer) else answer
    assert isinstance(pipeline, Pipeline), f"a Pipeline is wanted, you returned {pipeline!r}"
    if (found := cries(pipeline, PAPER)) is not None:
        seed, report = found
        raise Wrong(f"on paper, with seed {seed}, the notary does not let it pass", complaint(report),
                    f"notary(on_paper(my_pipeline(), seed={seed}))")
    for seed in HIDDEN:
        report = notary(rehearse(pipeline, schedule(seed)))
        if report.valid is not True:
            raise Wrong(f"the hidden schedule {seed} breaks it", [*map(str, schedule(seed).faults), *complaint(report)],
                        f"notary(rehearse(my_pipeline(), schedule(seed={seed})))")
    return f"{len(PAPER)} seeds on paper, and the hidden schedules {', '.join(map(str, HIDDEN))}: nothing lost, nothing twice"


def complaint(report: Sealed) -> list[str]:
    """Return what the notary has against a run, in a few lines."""
    return [line for verdict in report if verdict.valid is not True for line in told(verdict)[:2]][:6]


# --- 14.8 ------------------------------------------------------------------------------------------------------------

REMOVED: dict[str, dict[str, Any]] = {
    "acks": {"acks": "1", "idempotence": False},      # idempotence cannot be had without acks=all
    "idempotence": {"idempotence": False},
    "min_insync": {"min_insync": 1},
    "checkpoint": {"checkpoint": False},
    "starting": {"checkpoint": False, "starting": "latest"},
    "key": {"key": ()},
    "prices": {"write": prices_added_up},
}

hints("14.8",
      "Ask of each setting: which fault of this schedule does it answer? And does another setting answer the same fault?",
      "The key in the sink and the prices that are counted again make a repeated batch harmless, wherever it begins. So a "
      "checkpoint saves work here, not rows, as long as a new query begins at `earliest`. A setting whose fault is not in "
      "the schedule shows nothing when it is taken away: that is not a proof that it is useless.",
      "minikafka/lab/labs/lab14/checks.py, REMOVED: what exactly is taken away; minikafka/lab/labs/lab14/schedule.py, "
      "`for_ablation`")


@functools.cache
def ablated(setting: str) -> Sealed:
    """Return the report on the sound pipeline without one setting."""
    return notary(rehearse(EFFECTIVELY_ONCE.but(**REMOVED[setting]), for_ablation()))


def rises(setting: str) -> set[str]:
    """Return the counters that are above 0 without a setting."""
    return {verdict.name for verdict in ablated(setting) if verdict.valid is False}


@checks("14.8", seconds=180,
        matters="Settings that nobody can explain are copied for years, and removed in the week before the fault "
                "that they are for. This table is the explanation, and it can be run.")
def ablation_table(answer: Callable[[], Mapping[str, set[str]]]) -> str:
    """Run the pipeline without each setting and compare the answer with what rises."""
    table = answer() if callable(answer) else answer
    assert table is not None, "your function returned nothing; is there a `return`?"
    missing = sorted(REMOVED.keys() - table.keys())
    assert not missing, f"the table has no line for {', '.join(missing)}"
    text = [setting for setting in REMOVED if isinstance(table[setting], str)]
    assert not text, f"a set of counters is wanted, such as {{'lost'}}; for {text[0]} you have {table[text[0]]!r}"
    odd = sorted({name for setting in REMOVED for name in table[setting]} - set(COUNTERS))
    assert not odd, f"{odd[0]!r} is no counter; there are {', '.join(COUNTERS)}"
    for setting in REMOVED:
        if set(table[setting]) != rises(setting):
            found = ", ".join(sorted(rises(setting))) or "nothing"
            raise Wrong(f"without {setting} you expect {', '.join(sorted(table[setting])) or 'nothing'}, and {found} rises",
                        complaint(ablated(setting)),
                        f"notary(rehearse(EFFECTIVELY_ONCE.but(**REMOVED[{setting!r}]), for_ablation()))")
    return "right for all seven; two of them show nothing under this schedule"
