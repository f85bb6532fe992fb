"""The course's own answers, marked: each passes in the processes of the marking, as it does in its notebook."""
from __future__ import annotations

import pytest

from minikafka.lab import record
from minikafka.lab.marking import apart
from minikafka.lab.marking.hand import TOGETHER
from minikafka.lab.report import found
from tools.notebooks.build import Project, exercises
from tools.notebooks.source import read

LABS = [lab for lab in found(record.ROOT / "labs") if lab.exercises]


def test_what_cannot_cross_is_an_exercise() -> None:
    """Fails if together.tsv names an exercise that no lab has."""
    assert TOGETHER <= {exercise for lab in LABS for exercise in lab.exercises}


@pytest.mark.soak
@pytest.mark.parametrize("number", [f"{lab.number:02d}" for lab in LABS])
def test_each_solution_passes_when_it_is_marked(number: str) -> None:
    """Fails if a solution is refused only because it is marked: its answer cannot cross, and together.tsv does not say so."""
    code = {e: each.source for e, each in exercises(read(Project().sources([number])[0]).cells)}
    assert {e: verdict for e, verdict in apart.judged(code).items() if not verdict} == {}


@pytest.mark.soak
def test_a_cell_that_never_ends_is_stopped() -> None:
    """Fails if such a cell keeps the next one from being judged."""
    cells = {"6.2": "import threading\nthreading.Event().wait()", "6.4": "while True:\n    try: pass\n    except: pass",
             "6.6": "check('6.6', lambda n, state: exit())", "6.7": "check('6.7', lambda *_: 1)"}
    verdicts = apart.judged(cells)
    assert all("never ends" in verdicts[e].why for e in ("6.2", "6.4"))
    assert [verdict.outcome for verdict in verdicts.values()] == ["FAIL"] * 4
