"""The files of learning systems, nbgrader's folders, and written answers."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from minikafka.__main__ import main
from minikafka.lab import classroom, progress, record
from minikafka.lab.marking import grades, marks

MOODLE = ("Identifier,Full name,Email address,Status,Grade,Maximum grade,Feedback comments\n"
          "Participant 7,Ada Lovelace,ada@x.org,Submitted,,100.00,\nParticipant 8,Alan Turing,,No submission,,100.00,\n")
CANVAS = ("Student,ID,SIS User ID,SIS Login ID,Section,Essay (12)\n    Points Possible,,,,,10\n"
          "\"Lovelace, Ada\",17,s1,ada,1,9\n\"Turing, Alan\",18,s2,alan,1,\n")
NBGRADER = "assignment,student_id,first_name,score,max_score\nlabs,ada lovelace,,,\nlabs,alan,,2,8\n"


@pytest.mark.parametrize("text, changed", [
    (MOODLE, {"Participant 7,Ada Lovelace,ada@x.org,Submitted,50,100.00,"}),
    (CANVAS, {"Student,ID,SIS User ID,SIS Login ID,Section,Essay (12),minikafka", "    Points Possible,,,,,10,8",
              '"Lovelace, Ada",17,s1,ada,1,9,4', '"Turing, Alan",18,s2,alan,1,,'}),
    (NBGRADER, {"labs,ada lovelace,,4,8"})])
def test_points_are_filled_into_a_systems_file(text: str, changed: set[str]) -> None:
    """Fails if a student's row lacks the points, another cell is changed, or a name that has no row is not told."""
    new, left = grades.filled("\ufeff" + text, {"Ada  Lovelace": 4, "Nobody": 8}, 8)
    assert {*new.splitlines()} - {*text.splitlines()} == changed and left == ["Nobody"]
    assert len(new.splitlines()) == len(text.splitlines())


def test_another_file_is_refused() -> None:
    """Fails if points go into a file that no system takes back."""
    for text in ("", "name,points\nAda,\n"):
        with pytest.raises(ValueError, match="Moodle, Canvas, nbgrader"):
            grades.filled(text, {"Ada": 4}, 8)
    with pytest.raises(ValueError, match="several assignments .essay, labs.: keep the rows of one"):
        grades.filled(NBGRADER + "essay,alan,,,8\n", {"alan": 4}, 8)


def test_written_answers_reach_the_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if an answer is lost on its way from the notebook, if the older one counts, if no column is left open for its
    points, or if in nbgrader's or Moodle's folders the file says who handed it in."""
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(tmp_path / "progress"))
    assert "quotes" in progress().write(6, "text") and "quotes" in progress().write("lab six", "text")
    assert "3 letters" in progress().write("6.a", "old") and "18 letters" in progress().write("6.a", " Half: \ud83d <b>new</b> ")
    (folder := tmp_path / "submitted" / "ada" / "labs").mkdir(parents=True)
    handed = {**record.empty(), "kind": classroom.KIND, "name": "somebody else", "written": record.read()["written"]}
    (folder / "minikafka-x.json").write_text(json.dumps(handed))
    (tmp_path / "minikafka-b.json").write_text(json.dumps({**handed, "name": "bob", "written": {}}))
    (moodle := tmp_path / "Grace_M. Hopper_123_assignsubmission_file_").mkdir()
    (moodle / "minikafka-x.json").write_text(json.dumps({**handed, "written": {}}))
    assert main(["class", str(tmp_path), "--mark"]) == 0
    printed, page = capsys.readouterr().out, (tmp_path / "class.html").read_text()
    assert "6.a       ada      Half: ? <b>new</b>" in printed and "Half: ? &lt;b&gt;new&lt;/b&gt;" in page
    head, *rows = (line.split(",") for line in (tmp_path / "marks.csv").read_text().splitlines())
    assert head[-1] == "written 6.a" and {row[0]: row[-1] for row in rows} == {
        "ada": "", "bob": "0", "Grace_M. Hopper": "0"}


def test_a_column_is_left_open_for_each_question() -> None:
    """Fails if a question of one student has no column in all rows."""
    class_ = [classroom.HandIn(name, {**record.empty(), "written": {q: {"text": "x"} for q in wrote}})
              for name, wrote in {"Ada": ("6.a", "7.b"), "Alan": ("7.b",)}.items()]
    table = marks.with_written(marks.Table(("student",), (("Ada",), ("Alan",))), class_)
    assert table.head[1:] == ("written 6.a", "written 7.b") and [row[1:] for row in table.rows] == [("", ""), ("0", "")]
