"""The three-way gate: on every exercise of every lab, and on exercises made to be refused by it."""
from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.lab import exercise
from minikafka.lab import hints as register
from minikafka.lab.exercise import checks
from minikafka.lab.hints import hints
from tools.notebooks import gate
from tools.notebooks.build import ROOT, Project

SOURCES = Project().sources([])
CELL = '''def double(x):
    ### BEGIN SOLUTION twice
    return 2 * x
    ### END SOLUTION

check("99.1", double)'''


def soaked(path):
    """In `make long` only if nothing that it judges has changed since `tools/labs.py --gate` found it right."""
    return pytest.param(path, marks=pytest.mark.soak if gate.is_judged(path) else ())


@pytest.mark.slow
@pytest.mark.timeout(gate.WHOLE)
@pytest.mark.parametrize("path", [soaked(path) for path in SOURCES], ids=lambda path: path.stem)
def test_every_exercise_tells_right_from_wrong(path):
    """Fails if a stub breaks or passes, a solution fails, a wrong answer survives, hangs or is refused for another reason than
    its own, fewer than three are declared, a right answer is refused, fewer than five are declared, a hint is missing, or
    GATE.md shows something else. `tools/labs.py --gate` writes GATE.md.
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


WRONG = {"adds one": (lambda x: x + 1, "not 4"), "triples": (lambda x: 3 * x, ""), "raises": (lambda x: x / 0, "ZeroDivision")}
RIGHT = {f"adds {n} and takes it away": lambda x, n=n: x + n + x - n for n in range(5)}


def judge(cell=CELL, right=RIGHT, wrong=WRONG):
    return gate.judge_exercise("99.1", cell, right, wrong)


def test_a_good_exercise_passes():
    """Fails if the gate finds fault with what is right, or if a wrong answer that raises is no kill."""
    result = judge()
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
    assert any(problem in found for found in judge(cell).problems)


@pytest.mark.parametrize("changed, problem", [
    ({"wrong": {**WRONG, "is right": (lambda x: x + x, "")}}, "survives: is right: ✔"),
    ({"wrong": {**WRONG, "never ends": (forever, "")}}, "survives: never ends: hangs"),
    ({"wrong": {**WRONG, "not begun": (lambda x: exercise.todo("x"), "")}}, "survives: not begun: ?"),
    ({"wrong": {**WRONG, "forgets one": (lambda x: 2 * x - 1, "Kafka")}},
     "survives: forgets one: not for its reason, 'Kafka': ✘ 99.1"),
    ({"wrong": dict(list(WRONG.items())[1:])}, "wrong answers: 2, 3 are wanted"),
    ({"right": {**RIGHT, "adds one": lambda x: x + 1}}, "right, and refused: adds one: ✘ 99.1 FAIL: twice 3 is 6, not 4"),
    ({"right": {**RIGHT, "never ends": forever}}, "right, and refused: never ends: hangs"),
    ({"right": dict(list(RIGHT.items())[1:])}, "right answers: 4, 5 are wanted"),
])
def test_answers_get_the_verdict_that_a_reader_expects(changed, problem):
    """Fails if a wrong answer that passes, hangs, is not begun or fails for a reason that is not its own counts as killed, if a
    right one may be refused, or if two wrong ones or four right ones are enough."""
    result = judge(**changed)
    assert len(result.problems) == 1 and result.problems[0].startswith(f"99.1 {problem}")
    assert f"| {len(result.right) - len(result.refused)} of {len(result.right)} |" in gate.row(result)


def test_answers_are_read_from_the_file_of_their_lab(tmp_path, monkeypatch):
    """Fails if a lab without a file breaks the gate, or if a file is not run."""
    monkeypatch.setattr(gate, "ANSWERS", tmp_path)
    assert gate.answers("wrong", 3) == {}
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "lab03.py").write_text('WRONG = {"3.3": {"another": (max, "why")}}\n')
    assert gate.answers("wrong", 3) == {"3.3": {"another": (max, "why")}}


def test_an_exercise_without_hints_is_refused(monkeypatch):
    """Fails if hints may be missing or empty."""
    for empty in ({}, {"99.1": ("a?", " ", "c")}):
        monkeypatch.setattr(register, "HINTS", empty)
        assert any("hints" in found for found in judge().problems)


def test_the_table():
    """Fails if an exercise, its wrong answers or how many were killed is not shown."""
    row = gate.row(judge(wrong={**WRONG, "is right": (lambda x: x + x, "")}))
    assert row == "| 99.1 | unsolved | passes | 3 | 5 of 5 | adds one; triples; raises; is right | 3 of 4 |"


def test_a_lab_changes_its_own_rows_only(monkeypatch, tmp_path, capsys):
    """Fails if the rows of a lab that was not judged are lost, if one that is gone stays, or if a faulty one is written."""
    monkeypatch.setattr(gate, "TABLE", tmp_path / "GATE.md")
    monkeypatch.setattr(gate, "GATED", tmp_path / "gated.tsv")
    monkeypatch.setattr(gate, "fingerprint", lambda path: "new")
    monkeypatch.setattr(gate, "runs", lambda notebook, **environment: True)
    gate.GATED.write_text("98-b\told\n99-a\told\n")
    before = "# A\n\n|---|---|\n| 98.1 | old |\n| 99.1 | old |\n| 99.2 | old |\n| 100.1 | old |\n"
    gate.TABLE.write_text(before)
    monkeypatch.setattr(gate, "apart", lambda path: [judge(wrong={"is right": (lambda x: x + x, ""), **WRONG})])
    assert gate.show([Path("99-a.md")]) == 1 and gate.TABLE.read_text() == before and gate.gated()["99-a"] == "old"
    monkeypatch.setattr(gate, "apart", lambda path: [judge()])
    for fails in ("labs/99-a.ipynb", "solutions/99-a.ipynb"):
        monkeypatch.setattr(gate, "runs", lambda notebook, fails=fails, **environment: notebook != fails)
        assert gate.show([Path("99-a.md")]) == 1 and gate.TABLE.read_text() == before and gate.gated()["99-a"] == "old"
    monkeypatch.setattr(gate, "runs", lambda notebook, **environment: True)
    assert gate.show([Path("99-a.md")]) == 0
    assert gate.gated() == {"98-b": "old", "99-a": "new"}
    assert gate.TABLE.read_text() == before.replace("| 99.1 | old |\n| 99.2 | old |", gate.row(judge()))
    assert "1 exercises, 5 right answers, 3 wrong ones" in capsys.readouterr().out


@pytest.mark.parametrize("changed", ["solutions/right/lab06.py", "solutions/wrong/lab06.py", "minikafka/lab/labs/lab06/checks.py",
                                     "minikafka/lab/verdict.py", "solutions/source/06-replication.md"])
def test_a_lab_is_judged_again_when_what_it_judges_has_changed(tmp_path, monkeypatch, changed):
    """Fails if a change of a lab's cells, checks or answers, or of what judges all labs, leaves it out of `make test`."""
    for file in (*gate.JUDGES, "solutions/right/lab06.py", "solutions/wrong/lab06.py", "solutions/source/06-replication.md",
                 *(f"minikafka/lab/labs/lab06/{path.name}" for path in (ROOT / "minikafka/lab/labs/lab06").glob("*.py"))):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    monkeypatch.setattr(gate, "ANSWERS", tmp_path / "solutions")
    source = tmp_path / "solutions/source/06-replication.md"
    before = gate.fingerprint(source)
    assert before == gate.fingerprint(ROOT / "solutions/source/06-replication.md")
    file = tmp_path / changed
    file.write_text(file.read_text().replace("### BEGIN SOLUTION", "### BEGIN SOLUTION of", 1) if file == source
                    else file.read_text() + "\n")
    assert gate.fingerprint(source) != before
