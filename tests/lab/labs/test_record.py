"""The student's file, and the page that shows it."""
from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from minikafka.lab import check, exercise, hint, predict, progress, record, reveal
from minikafka.lab.exercise import checks
from minikafka.lab.hints import hints


@pytest.fixture
def student(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "mine" / "progress.json"
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(path))
    monkeypatch.setattr(record, "_told", set())
    return path


@pytest.fixture
def two_exercises(monkeypatch):
    """Exercises 98.1 and 98.2: the answer is 3."""
    monkeypatch.setattr(exercise, "CHECKS", {})
    monkeypatch.setattr("minikafka.lab.hints.HINTS", {})

    def three(answer):
        assert answer == 3
        return "yes"
    for name in ("98.1", "98.2"):
        checks(name)(three)
        hints(name, "a?", "b", "c")


def one_more(number: int) -> None:
    """One more entry."""
    record.change("7", lambda kept: kept["exercises"].update({f"7.{number}": {"tried": 1, "passed": True}}))


def test_what_is_done_is_kept(student, two_exercises):
    """Fails if a passed exercise can be lost by a later mistake, or if what was not begun counts as tried."""
    check("98.1", 4)
    check("98.1", 3)
    check("98.1", 5)
    check("98.2", lambda: exercise.todo("x"))
    hint("98.2", 2)
    kept = json.loads(student.read_text())
    assert kept["exercises"]["98.1"] == {"tried": 3, "passed": True}
    assert kept["hints"] == {"98.2": {"level": 2}}


def test_not_begun_is_not_tried(student, monkeypatch, two_exercises):
    """Fails if Run All over an unsolved lab counts as attempts."""
    checks("98.3")(lambda answer: answer())
    check("98.3", lambda: exercise.todo("x"))
    assert record.read()["exercises"] == {}


@pytest.mark.parametrize("text", ["{", "", "[]", '{"version": 2}', '{"version": 1, "exercises": []}', "\x00\xff",
                                  '{"version": 2, "exercises": {}, "hints": {}, "predictions": {}, "labs": {}}',
                                  '{"version": 1, "exercises": {}, "hints": {}, "predictions": {}, "labs": {}, "recalled": 3}',
                                  '{"version": 1, "exercises": {"1.1": 3}, "hints": {}, "predictions": {}, "labs": {}}'])
def test_a_damaged_file_is_kept_aside(student, two_exercises, capsys, text):
    """I-STUDENT-2: fails if a file that cannot be read is overwritten, or if nobody is told where it went."""
    student.parent.mkdir()
    student.write_text(text)
    student.with_name("progress-damaged-1.json").write_text("from last year")
    assert check("98.1", 3)
    assert student.with_name("progress-damaged-2.json").read_text() == text
    assert student.with_name("progress-damaged-1.json").read_text() == "from last year"
    assert "progress-damaged-2.json" in capsys.readouterr().out
    assert record.read()["exercises"]["98.1"]["passed"] is True


def test_bytes_that_are_no_text_are_kept_aside(student, capsys):
    """I-STUDENT-2, I-STUDENT-3: fails if a file of garbage stops the notebook."""
    student.parent.mkdir()
    student.write_bytes(b"\xff\xfe\x00garbage")
    assert record.read() == record.empty()
    assert student.with_name("progress-damaged-1.json").read_bytes() == b"\xff\xfe\x00garbage"


def test_two_notebooks_at_once_lose_nothing(student):
    """I-STUDENT-1: fails if a change reads before it has the lock."""
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=many, args=(first,)) for first in (0, 100, 200)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(record.read()["exercises"]) == 60


def many(first: int) -> None:
    for number in range(first, first + 20):
        one_more(number)


def test_a_place_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch, two_exercises, capsys):
    """I-STUDENT-3: fails if a full or read-only disk stops a lab; told once, not at every check."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(tmp_path / "file" / "progress.json"))
    monkeypatch.setattr(record, "_told", set())
    assert check("98.1", 3) and check("98.1", 3)
    assert predict("98.2", 3) and progress()
    out = capsys.readouterr().out
    assert out.count("cannot be kept") == 1 and out.endswith(": File exists\n")


@pytest.mark.parametrize("variables, kept", [
    ({}, True), ({"CI": "true"}, False), ({"LAB_STRICT": "1"}, False), ({"PYTEST_CURRENT_TEST": "x"}, False),
    ({"LAB_STRICT": "0", "CI": ""}, True), ({"MINIKAFKA_PROGRESS": "off"}, False),
    ({"CI": "true", "MINIKAFKA_PROGRESS": "/x/y.json"}, True),
])
def test_where_it_is_kept(monkeypatch, variables, kept):
    """Fails if tests or CI write a student's file unasked, or if a student's is not kept."""
    for name in ("CI", "LAB_STRICT", "PYTEST_CURRENT_TEST", "MINIKAFKA_PROGRESS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    place = record.place()
    assert (place is not None) is kept
    assert place in (None, record.ROOT / ".cache" / "progress.json", Path("/x/y.json"))


def test_time_is_counted_without_the_pauses(student):
    """Fails if a night between two cells counts as work, a clock that is set back does, or another lab's time does."""
    for lab, now in (("6", 1000.0), ("6", 1060.0), ("8", 1070.0), ("6", 1090.0), ("6", 90_000.0), ("6", 90_030.0),
                     ("6", 500.0), ("6", 510.0)):
        record.change(lab, lambda kept: None, lambda now=now: now)
    assert record.read()["labs"]["6"]["seconds"] == 130.0
    assert record.read()["labs"]["8"]["seconds"] == 0.0


@pytest.fixture
def course(tmp_path) -> Path:
    """A project with labs 97 and 98."""
    for number, exercises in ((97, ["97.1"]), (98, ["98.1", "98.2"])):
        facts = {"title": f"Lab <{number}>", "minutes": 60, "exercises": exercises, "predictions": [f"{number}.3", f"{number}.4"],
                 "source": f"solutions/source/{number}-x.md"}
        path = tmp_path / "labs" / f"{number}-x.ipynb"
        path.parent.mkdir(exist_ok=True)
        refutes = {"cell_type": "code", "source": [f'reveal("{number}.3", 10)'],
                   "metadata": {"misconceptions": ["16"], "claims": ["S2.10"]}}
        cells = [{"cell_type": "markdown", "source": [f"## {number} · Hold\n", "text"], "metadata": {}}, refutes]
        path.write_text(json.dumps({"metadata": {"minikafka": facts}, "cells": cells}))
    (tmp_path / "labs" / "99-mine.ipynb").write_text('{"metadata": {}, "cells": []}')
    return tmp_path


def test_the_page(student, course, two_exercises):
    """Fails if a row is wrong, if a surprise is not told, if what is next is not, or if a title can write HTML."""
    check("98.1", 3)
    check("98.2", 4)
    predict("98.3", 40)
    reveal("98.3", 10)
    predict("98.4", 5)
    reveal("98.4", 5)
    page = progress(course)
    assert [row[:6] for row in page.labs.rows] == [("97 · Lab <97>", "0 of 1", "0", "0 of 2", "0", "0"),
                                              ("98 · Lab <98>", "1 of 2", "2", "1 of 2", "0", "1")]
    assert page.surprises == ("you mispredicted 98.3: you said 40, measured 10",)
    assert page.next == "exercise 98.2 in lab 98, Lab <98>"
    for words in ("mispredicted 98.3", "1 of 2", "0 of about 60", "98.2"):
        assert words in repr(page) and words in page._repr_html_()
    assert "<97>" not in page._repr_html_()


def test_the_misconceptions(student, course):
    """Fails if a misconception is not found in its section, if the student's guess is not shown, or if a claim is listed."""
    predict("98.3", 40)
    reveal("98.3", 10)
    page = progress(course)
    sixteen = page.misconceptions.rows[15]
    assert sixteen[0] == "16" and sixteen[3:] == ("97: 97 · Hold; 98: 98 · Hold", "40, measured 10: surprise")
    assert len(page.misconceptions.rows) == 28 and "met: 1 of 28" in repr(page)
    assert sixteen[1] in repr(page.misconceptions) and sixteen[1] in page.misconceptions._repr_html_()


COPY = "a lab under another name"
FOREIGN = {"Untitled.ipynb": COPY, "97-x-Copy1.ipynb": COPY, "Untitled1.ipynb": "{}", "99.ipynb": "", "Ünï côdé.ipynb": "[]",
           "x.ipynb": "{",
           "97-x-Copy2.ipynb": '{"metadata": {"minikafka": {"title": "x"}}, "cells": []}',
           "1.ipynb": '{"metadata": [], "cells": 3}',
           "y.ipynb": '{"metadata": {"minikafka": {"title": "x", "source": "mine.md", "minutes": 1, "exercises": []}}}'}


@pytest.mark.parametrize("name", FOREIGN)
def test_notebooks_of_ones_own_change_nothing(student, course, name):
    """Fails if the page ends in an error, or counts a lab twice, where labs/ has a student's own notebook, half a file, or a
    copy of a lab, under any name; or if a lab of which only a copy is left is not found.
    """
    page, lab = progress(course), course / "labs" / "97-x.ipynb"
    own = lab.read_text() if FOREIGN[name] is COPY else FOREIGN[name]
    (course / "labs" / name).write_text(own)
    assert progress(course) == page
    assert repr(progress(course).misconceptions) == repr(page.misconceptions)
    if FOREIGN[name] is COPY:
        lab.unlink()
        assert progress(course) == page


def test_what_is_next_after_everything(student, course, two_exercises):
    """Fails if a finished lab keeps one from the others, or if a finished course is an error."""
    check("98.1", 3)
    check("98.2", 3)
    assert progress(course).next == "exercise 97.1 in lab 97, Lab <97>"
    record.change("97", lambda kept: kept["exercises"].update({"97.1": {"tried": 1, "passed": True}}))
    assert "every exercise" in progress(course).next


def test_the_page_shows_when_nothing_is_kept(course, monkeypatch):
    """Fails if a student whose progress is switched off is left to wonder."""
    monkeypatch.setenv("MINIKAFKA_PROGRESS", "off")
    assert "nothing is kept" in repr(progress(course))


def test_the_lab_that_was_worked_in_last_is_next(student, course):
    """Fails if one is sent to another lab than the one just worked in."""
    for lab, now, exercise_ in (("98", 100.0, "98.1"), ("97", 200.0, "97.1"), ("98", 300.0, "98.1")):
        record.change(lab, lambda kept: None, lambda now=now: now)
        assert progress(course).next.startswith(f"exercise {exercise_} in lab {lab}")


def test_the_page_shows_where_it_is_kept(student, course):
    """Fails if a student cannot find the file, or if a page without surprises shows an empty list."""
    assert repr(progress(course)).splitlines()[-1] == "kept in mine/progress.json"
    assert repr(progress(course / "labs")) .splitlines()[-1] == f"kept in {student}"
    assert "<ul>" not in progress(course)._repr_html_()


def test_a_file_that_cannot_be_opened_stops_nothing(student, capsys):
    """I-STUDENT-3: fails if trouble with the disk is an error of the notebook, or nobody is told what is the matter."""
    student.mkdir(parents=True)
    assert record.read() == record.empty()
    assert capsys.readouterr().out == f"your progress in {student} cannot be read: Is a directory\n"
