"""The three-way gate: what would let a wrong answer pass, or a right one fail, in the exercises of a lab.

For every exercise (a code cell with a solution, which ends in `check("6.1", function)`), in a namespace that holds only the
names of minikafka.lab:
  1. the stub, as students get it, runs through and stands at exactly `todo()`: UNKNOWN, no other error hides behind it
  2. the solution passes
  3. each wrong answer of `solutions/wrong/labNN.py` fails: `WRONG = {"6.1": {"takes the maximum": (function, r"it is 47")}}`, at
     least three; what the student reads matches the pattern: the verdict names the reason that the answer is wrong ("" matches
     any reason); an answer that hangs is a failure of its own, not a kill
  4. each right answer of `solutions/right/labNN.py` passes: `RIGHT = {"6.1": {"a loop": function, ...}}`, at least five of
     different make, by somebody who has read the notebook and does not know the check
and it has its three hints.

A lab is judged in a process of its own, each verdict within LIMIT seconds. Then nbval runs its students' notebook, and the
hands-on part of its solved one on Apache Kafka. `tools/labs.py NN --gate` prints the lab's rows and writes them into
tests/lab/labs/GATE.md, and into gated.tsv a hash of what was judged. `make test` and `make judge` do the same for the labs
whose hash is another one now, `make long` for all: minutes for what can change only if the broker does, which has tests of its
own.
"""
from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from minikafka.lab import guard
from minikafka.lab.marking.cell import FILE, handed

from .build import ROOT, exercises
from .source import Lab, read
from .student import unsolved

LIMIT = 30            # seconds for one verdict, on a machine that does other things too; more where the check says so
WHOLE = 900           # seconds for a lab
TABLE = ROOT / "tests" / "lab" / "labs" / "GATE.md"
GATED = TABLE.with_name("gated.tsv")  # each lab's hash when it was judged
ANSWERS = ROOT / "solutions"
JUDGES = ("tools/notebooks/gate.py", *(f"minikafka/lab/{name}.py" for name in (
    "exercise", "guard", "program", "trial", "values", "verdict", "wants")))
WANTED = 3            # wrong answers to an exercise
RIGHT = 5             # right answers to an exercise
KILLED, PASSES = "killed", "passes"


@dataclass
class Result:
    """What the gate found on one exercise. `stub`, `solution`, `hints`: "" if right, else what is wrong."""

    exercise: str
    stub: str = "the cell never calls check()"
    solution: str = "the cell never calls check()"
    hints: str = ""
    wrong: dict[str, str] = field(default_factory=dict)  # name -> KILLED or what happened instead
    right: dict[str, str] = field(default_factory=dict)  # name -> PASSES or what happened instead

    @property
    def survivors(self) -> list[str]:
        return [f"{name}: {how}" for name, how in self.wrong.items() if how != KILLED]

    @property
    def refused(self) -> list[str]:
        return [f"{name}: {how}" for name, how in self.right.items() if how != PASSES]

    @property
    def problems(self) -> list[str]:
        rows = [("stub", self.stub), ("solution", self.solution), ("hints", self.hints)]
        counts = (("wrong answers", len(self.wrong), WANTED), ("right answers", len(self.right), RIGHT))
        rows += [(kind, f"{count}, {wanted} are wanted" if count < wanted else "") for kind, count, wanted in counts]
        rows += [*(("survives", name) for name in self.survivors), *(("right, and refused", name) for name in self.refused)]
        return [f"{self.exercise} {what}: {text}" for what, text in rows if text]


class Hangs(BaseException):
    """The time limit; no student's `except Exception` swallows it."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hangs
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def verdict(exercise: str, answer: Any) -> Any:
    """The Verdict on an answer, or the text "hangs"."""
    from minikafka.lab.exercise import find, judge, limit_of
    try:
        with limited(max(LIMIT, round(limit_of(exercise)))):
            return judge(find(exercise), exercise, answer)
    except Hangs:
        return "hangs"


def half(source: str, exercise: str, right: Callable[[Any], str]) -> str:
    """Runs a cell alone and judges what it hands to check(); `right` says what is wrong with that verdict, or ""."""
    try:
        answers = handed(source, exercise)
    except guard.TooLong:
        return "the cell hangs"
    except Exception as error:
        return f"the cell, run alone, raises {type(error).__name__}: {error}"
    if exercise not in answers:
        return "the cell never calls check()"
    found = verdict(exercise, answers[exercise])
    return found if isinstance(found, str) else right(found)


def answers(kind: str, number: int) -> dict[str, dict[str, Any]]:
    """Return the answers to the exercises of a lab that are "right" or "wrong", by exercise and name; none without the file."""
    path = ANSWERS / kind / f"lab{number:02d}.py"
    return runpy.run_path(str(path), run_name=path.stem)[kind.upper()] if path.exists() else {}


def passed(found: Any) -> str:
    """Say PASSES of a verdict that is a PASS, else what it is."""
    return str(found) if isinstance(found, str) or not found else PASSES


def refused(found: Any, reason: str = "") -> str:
    """Say KILLED of a verdict that is a FAIL for this reason (a pattern), else what it is."""
    from minikafka.lab.exercise import Outcome
    if isinstance(found, str) or found.outcome is not Outcome.FAIL:
        return str(found)
    return KILLED if re.search(reason, str(found)) else f"not for its reason, {reason!r}: {found}"


def judge_exercise(exercise: str, source: str, right: dict[str, Any], wrong: dict[str, tuple[Any, str]]) -> Result:
    from minikafka.lab.hints import HINTS
    result = Result(exercise)
    result.solution = half(source, exercise, lambda v: "" if v else repr(v))
    result.stub = half(unsolved(source), exercise, lambda v: "" if v.why.startswith("not solved yet") else repr(v))
    texts = HINTS.get(exercise, ())
    result.hints = "" if len([t for t in texts if t.strip()]) == 3 else "three of them are wanted: hints(...) in the checks"
    result.right = {name: passed(verdict(exercise, answer)) for name, answer in right.items()}
    result.wrong = {name: refused(verdict(exercise, answer), reason) for name, (answer, reason) in wrong.items()}
    return result


def prepare(number: int, programs: dict[str, list[str]]) -> None:
    """What the checks of a lab need once and slowly (a Spark session, say), outside of the time for a verdict. The programs of an
    exercise run side by side (`Together`): one cluster for all of them.
    """
    from minikafka.lab import program
    checks = importlib.import_module(f"minikafka.lab.labs.lab{number:02d}.checks")
    getattr(checks, "prepare", lambda: None)()
    for exercise, texts in programs.items():
        program.TOGETHER[exercise].beforehand(texts)


@contextlib.contextmanager
def solved_files(lab: Lab) -> Iterator[None]:
    """Work in a folder where the files lie that the lab's cells write, solved: a program may continue an earlier one."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in lab.cells:
            if file := FILE.match(cell.source):
                Path(file[1]).write_text(cell.source[file.end():] + "\n")
        yield


def judge_lab(lab: Lab) -> list[Result]:
    """Judges every exercise of a lab in this process."""
    cells = {exercise: cell.source for exercise, cell in exercises(lab.cells)}
    results, right, wrong = [], answers("right", lab.number), answers("wrong", lab.number)
    with solved_files(lab):
        if cells:
            prepare(lab.number, {exercise: [handed(source, exercise)[exercise], *right.get(exercise, {}).values(),
                                            *(answer for answer, _ in wrong.get(exercise, {}).values())]
                                 for exercise, source in cells.items() if FILE.match(source)})
        for exercise, source in cells.items():
            results.append(judge_exercise(exercise, source, right.get(exercise, {}), wrong.get(exercise, {})))
    strangers = sorted({*right, *wrong} - {r.exercise for r in results})
    return results + [Result(e, "no cell of the lab asks for it", "", "") for e in strangers]


def apart(path: Path) -> list[Result]:
    """Judges a lab in a process of its own."""
    environment = {**os.environ, "LAB_STRICT": "0", "MINIKAFKA_PROGRESS": "off"}
    done = subprocess.run([sys.executable, "-m", "tools.notebooks.gate", str(path)], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, text=True, timeout=WHOLE)
    if done.returncode:
        raise RuntimeError(f"the gate of {path.name} ended with {done.returncode}")
    return [Result(**row) for row in json.loads(done.stdout)]


def runs(notebook: str, **environment: str) -> bool:
    """Run a notebook by nbval; return whether no cell fails. Of some labs no cell works on a live cluster: pytest's status 5."""
    command = [sys.executable, "-m", "pytest", "-q", str(ROOT / notebook)]
    return subprocess.run(command, cwd=ROOT, timeout=WHOLE, env=os.environ | environment).returncode in (0, 5)


def fingerprint(path: Path) -> str:
    """Return a hash of what the verdicts on a lab depend on: its cells of code, checks and answers, and what judges all labs."""
    lab = read(path)
    checks = sorted((ROOT / f"minikafka/lab/labs/lab{lab.number:02d}").rglob("*.py"))
    answers = [ANSWERS / kind / f"lab{lab.number:02d}.py" for kind in ("right", "wrong")]
    cells = [cell.source.encode() for cell in lab.cells if cell.cell_type == "code"]
    files = [file.read_bytes() for file in (*map(ROOT.joinpath, JUDGES), *checks, *answers) if file.exists()]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (*cells, *files))).hexdigest()


def gated() -> dict[str, str]:
    """Return the hash of each lab, by its source's name, when it was judged last."""
    return dict(line.split("\t") for line in GATED.read_text().splitlines()) if GATED.exists() else {}


def is_judged(path: Path) -> bool:
    """Return whether a lab was judged as it is now. The playground has no exercises, and a student's copy no sources."""
    return path.stem in gated() and gated()[path.stem] == fingerprint(path)


def row(r: Result) -> str:
    """One exercise as a row of the table."""
    words = ("unsolved" if not r.stub else "✘", "passes" if not r.solution else "✘", "3" if not r.hints else "✘")
    words += (f"{len(r.right) - len(r.refused)} of {len(r.right)}",)
    return f"| {r.exercise} | {' | '.join(words)} | {'; '.join(r.wrong)} | {len(r.wrong) - len(r.survivors)} of {len(r.wrong)} |"


def show(sources: list[Path]) -> int:
    """Prints the rows of these labs and what is wrong; 1 if anything is. If nothing is, it writes the rows into the table."""
    results = [result for path in sources for result in apart(path)]
    problems = [problem for result in results for problem in result.problems]
    problems += [f"{path.stem}: the students' notebook fails" for path in sources if not runs(f"labs/{path.stem}.ipynb")]
    problems += [f"{path.stem}: the solved notebook fails on Apache Kafka" for path in sources
                 if not runs(f"solutions/{path.stem}.ipynb", MINIKAFKA_ENGINE="apache", MINIKAFKA_NOTEBOOKS="whole")]
    right, wrong = sum(len(r.right) for r in results), sum(len(r.wrong) for r in results)
    print(*map(row, results), *problems, f"{len(results)} exercises, {right} right answers, {wrong} wrong ones", sep="\n")
    if not problems:
        judged = {int(path.stem[:2]) for path in sources}
        kept = [line for line in TABLE.read_text().splitlines() if not (line[2:3].isdigit() and lab_of(line) in judged)]
        head = [line for line in kept if not line[2:3].isdigit()]
        rows = [line for line in kept if line[2:3].isdigit()] + list(map(row, results))
        TABLE.write_text("\n".join([*head, *sorted(rows, key=lab_of)]) + "\n")
        found = gated() | {path.stem: fingerprint(path) for path in sources}
        GATED.write_text("".join(f"{lab}\t{found[lab]}\n" for lab in sorted(found)))
    return bool(problems)


def lab_of(line: str) -> int:
    """The number of the lab of a row."""
    return int(line[2:].partition(".")[0])


if __name__ == "__main__":
    out, sys.stdout = sys.stdout, sys.stderr  # a cell may print
    json.dump([asdict(result) for result in judge_lab(read(Path(sys.argv[1])))], out)
