"""The three-way gate: on every exercise of every lab, and on exercises made to be refused by it."""
from __future__ import annotations

import pytest

from minikafka.lab import exercise
from minikafka.lab import hints as register
from minikafka.lab.exercise import checks
from minikafka.lab.hints import hints
from tools.notebooks import gate
from tools.notebooks.build import Project

SOURCES = Project().sources([])
CELL = '''def double(x):
    ### BEGIN SOLUTION twice
    return 2 * x
    ### END SOLUTION

check("99.1", double)'''


def soaked(path):
    """In `make long` if its solutions start Spark: each in a process of its own."""
    return pytest.param(path, marks=pytest.mark.soak if int(path.stem[:2]) >= 11 else ())


@pytest.mark.slow
@pytest.mark.timeout(gate.WHOLE)
@pytest.mark.parametrize("path", [soaked(path) for path in SOURCES], ids=lambda path: path.stem)
def test_every_exercise_tells_right_from_wrong(path):
    """Fails if a stub breaks or passes, a solution fails, a wrong solution survives or hangs, fewer than three are declared,
    a right variant is refused, a wrong one is refused for another reason than its own, fewer than five are right, a hint is
    missing, or GATE.md shows something else. `tools/labs.py --gate` writes GATE.md.
    """
    results = gate.apart(path)
    assert results, "a lab without an exercise"
    assert [problem for result in results for problem in result.problems] == []
    assert [result.exercise for result in results if gate.row(result) not in gate.TABLE.read_text().splitlines()] == []


@pytest.fixture(autouse=True)
def doubling(monkeypatch):
    """An exercise with a check and hints."""
    monkeypatch.setattr(exercise, "CHECKS", {})
    monkeypatch.setattr(exercise, "SECONDS", {})
    monkeypatch.setattr(register, "HINTS", {})
    monkeypatch.setattr(gate, "LIMIT", 2)

    @checks("99.1", seconds=2)
    def _(answer):
        assert answer(3) == 6, f"twice 3 is 6, not {answer(3)}"
        return "it doubles"
    hints("99.1", "a?", "b", "c")


def forever(x):
    while True:
        try:
            pass
        except Exception:
            continue


WRONG = {"adds one": lambda x: x + 1, "triples": lambda x: 3 * x, "raises": lambda x: x / 0}


def test_a_good_exercise_passes():
    """Fails if the gate finds fault with what is right, or if a wrong solution that raises is no kill."""
    result = gate.judge_exercise("99.1", CELL, WRONG)
    assert result.problems == [] and list(result.wrong.values()) == [gate.KILLED] * 3


@pytest.mark.parametrize("cell, problem", [
    (CELL.replace("def double(x):", "y = records[0]\ndef double(x):"), "stub: the cell, run alone, raises NameError"),
    ("double = 3\n### BEGIN SOLUTION x\ndouble = lambda x: 2 * x\n### END SOLUTION\ncheck('99.1', double)",
     "stub: the cell, run alone, raises Todo"),
    (CELL.replace("    ### BEGIN", "    x.a\n    ### BEGIN"), "stub: ✘ 99.1 FAIL: your code raised AttributeError"),
    (CELL.replace("2 * x", "2 + x"), "solution: ✘ 99.1 FAIL: twice 3 is 6"),
    (CELL.replace("return 2 * x", "while True: pass"), "solution: hangs"),
    (CELL.replace("check(", "print("), "solution: the cell never calls check()"),
])
def test_a_bad_cell_is_refused(cell, problem):
    """Fails if a stub that breaks before its todo(), a wrong solution or a hang gets through."""
    assert any(problem in found for found in gate.judge_exercise("99.1", cell, WRONG).problems)


@pytest.mark.parametrize("wrong, problem", [
    ({**WRONG, "is right": lambda x: x + x}, "survives: is right: ✔"),
    ({**WRONG, "never ends": forever}, "survives: never ends: hangs"),
    ({**WRONG, "not begun": lambda x: exercise.todo("x")}, "survives: not begun: ?"),
    (dict(list(WRONG.items())[:2]), "wrong solutions: 2 wrong solutions, 3 are wanted"),
])
def test_wrong_solutions_must_fail(wrong, problem):
    """Fails if a wrong solution that passes, hangs or is not begun counts as killed, or if two are enough."""
    assert any(problem in found for found in gate.judge_exercise("99.1", CELL, wrong).problems)


RIGHT = {f"adds {n} and takes it away": lambda x, n=n: x + n + x - n for n in range(5)}
REASON = {"forgets one": (lambda x: 2 * x - 1, r"twice 3 is 6, not 5")}


@pytest.mark.parametrize("right, wrong, problems", [
    (RIGHT, REASON, []),
    ({**RIGHT, "adds one": lambda x: x + 1}, REASON, ["right, and refused: adds one: ✘ 99.1 FAIL: twice 3 is 6, not 4"]),
    ({**RIGHT, "never ends": forever}, REASON, ["right, and refused: never ends: hangs"]),
    (dict(list(RIGHT.items())[1:]), REASON, ["variants: 4 right ones, 5 are wanted"]),
    (RIGHT, {"is right": (lambda x: x + x, "")}, ["survives: is right: ✔"]),
    (RIGHT, {"forgets one": (lambda x: 2 * x - 1, "Kafka")}, ["survives: forgets one: not for its reason, 'Kafka': ✘ 99.1"]),
])
def test_variants_get_the_verdict_that_a_reader_expects(right, wrong, problems):
    """Fails if a right answer may be refused, if a wrong one may be refused for a reason that is not its own, or if four
    right ones are enough."""
    result = gate.judge_exercise("99.1", CELL, WRONG)
    gate.try_variants(result, right, wrong)
    assert len(result.problems) == len(problems)
    assert all(found.startswith(f"99.1 {told}") for found, told in zip(result.problems, problems))
    assert f"| {len(right) - len(result.refused)} of {len(right)} |" in gate.row(result)


def test_variants_are_read_from_the_file_of_their_lab(tmp_path, monkeypatch):
    """Fails if a lab without a file is taken for one with none that are right, or if a file is not run."""
    monkeypatch.setattr(gate, "VARIANTS", tmp_path)
    assert gate.Variants.read(3) is None
    (tmp_path / "lab03.py").write_text('RIGHT = {"3.3": {"a name": len}}\nWRONG = {"3.3": {"another": (max, "why")}}\n')
    assert gate.Variants.read(3) == gate.Variants({"3.3": {"a name": len}}, {"3.3": {"another": (max, "why")}})


def test_an_exercise_without_hints_is_refused(monkeypatch):
    """Fails if hints may be missing or empty."""
    for empty in ({}, {"99.1": ("a?", " ", "c")}):
        monkeypatch.setattr(register, "HINTS", empty)
        assert any("hints" in found for found in gate.judge_exercise("99.1", CELL, WRONG).problems)


def test_the_table(monkeypatch):
    """Fails if an exercise, its wrong solutions or how many were killed is not shown."""
    wrong = {**WRONG, "is right": lambda x: x + x}
    text = gate.table([gate.judge_exercise("99.1", CELL, wrong)])
    assert text.splitlines()[2] == "| 99.1 | unsolved | passes | 3 | 0 of 0 | adds one; triples; raises; is right | 3 of 4 |"
    assert text.splitlines()[-1] == "1 exercises; 0 right variants pass, 3 of 4 wrong solutions are killed."
