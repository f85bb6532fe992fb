"""`recall`: three questions from earlier labs."""
from __future__ import annotations

import json
import sys

import pytest

from minikafka.lab import beliefs, predict, progress, recall, record, reveal
from minikafka.lab.classroom import hand_in, read
from tools.notebooks.build import Project, load
from tools.notebooks.source import read as read_source

MODULE = sys.modules["minikafka.lab.recall"]
PROJECT = Project()
BELIEFS = {b.id: b for b in beliefs.table() if not b.is_claim}


@pytest.fixture
def student(tmp_path, monkeypatch):
    """A student's file that is not there yet."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(path))
    monkeypatch.setattr(MODULE, "_shown", {})
    return path


def ids(lab: str) -> list[str]:
    return [question.id for question in recall(lab).questions]


def letters(lab: str, right: bool) -> str:
    """The right answers to the questions that `lab` asks now, or the wrong ones."""
    return " ".join(q.so if right else {"a": "b", "b": "a"}[q.so] for q in recall(lab).questions)


@pytest.mark.parametrize("lab", range(1, 15))
def test_a_lab_asks_of_earlier_labs_only(student, lab):
    """I-RECALL-1. Fails if a lab asks what it is about to show, too few where three are there, or names a later section."""
    asked = recall(str(lab)).questions
    before = [b for b in BELIEFS.values() if min(b.labs) < lab and lab not in b.labs]
    assert len(asked) == min(3, len(before)) >= 2 and {q.id for q in asked} <= {b.id for b in before}
    for question in asked:
        number = int(question.where.removeprefix("(Lab ").split(",")[0])
        assert number < lab and number in BELIEFS[question.id].labs


def test_the_solved_notebooks_show_the_questions_of_a_student_without_a_record(student):
    """I-RECALL-2. Fails if the choice depends on the day, or if the outputs of the solved notebooks are older than the table."""
    for lab in map(read_source, PROJECT.sources([])[1:]):
        if lab.number >= 20:  # an elective goes with no lab of the path
            continue
        cell = next(cell for cell in load(PROJECT.solved(lab)).cells if cell.id == "recall")
        assert cell.outputs[0].data["text/plain"] == repr(recall(str(lab.number))) == repr(recall(lab.number))


def test_nothing_gives_the_answer_away():
    """Fails if what is so is mostly the longer sentence, the shorter one, the first or the second, or if two are the same."""
    longer = [len(so) > len(wrong) for wrong, so in (b.sentences for b in BELIEFS.values())]
    first = [MODULE.asked(lab, b, "").so == "a" for b in BELIEFS.values() for lab in range(1, 15) if lab > min(b.labs)]
    for half in (longer, first):
        assert 0.4 <= sum(half) / len(half) <= 0.6
    for belief in BELIEFS.values():
        wrong, so = map(len, belief.sentences)
        assert max(wrong, so) <= 1.5 * min(wrong, so), belief.id
    assert len({sentence for b in BELIEFS.values() for sentence in b.sentences}) == 2 * len(BELIEFS)


def test_what_surprised_comes_first_then_what_was_answered_wrong(student):
    """Fails if the record has no say in the choice."""
    late = "19"  # of lab 8
    before = ids("10")
    assert late not in before or before[0] != late
    cells = json.loads(next(PROJECT.labs.glob("08-*.ipynb")).read_text())["cells"]
    refuted = next(p for r in beliefs.refutations(cells) if r.belief == late for p in r.predictions)
    predict(refuted, 3)
    reveal(refuted, 5)
    assert ids("10")[0] == late
    recall("10", letters("10", right=True))
    assert late not in ids("10")
    wrong = ids("10")
    recall("10", letters("10", right=False))
    assert ids("10") == wrong


def test_all_are_asked_before_one_is_asked_again(student):
    """Fails if answers are not kept, or if what was asked last comes again before what was asked long ago."""
    seen = []
    for _ in range(3):
        seen += ids("4")
        recall("4", letters("4", right=True))
    earlier = [b.id for b in BELIEFS.values() if min(b.labs) < 4]
    assert len({*seen}) == len(seen) == 9 and {*seen} <= {*earlier}
    for _ in range(4):
        seen += ids("4")
        recall("4", letters("4", right=True))
    assert {*seen} == {*earlier} - {b.id for b in BELIEFS.values() if 4 in b.labs}


def test_answers_are_told_and_kept(student):
    """Fails if an answer is not judged, does not name the section, or if progress() does not mention it."""
    asked = recall("3").questions
    told = repr(recall("3", "".join(q.so for q in asked[:-1]) + ("b" if asked[-1].so == "a" else "a")))
    assert told.count("as you said") == 2 and told.count("surprise") == 1
    assert all(q.where in told for q in asked)
    page = progress()
    assert page.recalled == "questions from earlier labs: 2 of 3 right when last asked"
    assert page.recalled in repr(page) and page.recalled in page._repr_html_()


@pytest.mark.parametrize("answers", ["", "a", "a b c", "a b a b", "1 2 3", "yes no a"])
def test_an_answer_of_another_form_says_what_is_wanted(student, answers):
    """Fails if a mistyped answer counts, or ends in an error."""
    assert "a letter for each of the 3 questions" in recall("5", answers)
    assert record.read()["recalled"] == {}


@pytest.mark.parametrize("answers", ["a b a", "aba", "A, B, A", "a,b,a."])
def test_letters_may_be_written_as_one_likes(student, answers):
    """Fails if blanks, commas or capitals matter."""
    assert recall("5", answers).said == "aba"


@pytest.mark.parametrize("lab", ["", "x", "four", "-1", "4.2", None])
def test_a_lab_that_is_no_number_says_what_is_wanted(student, lab):
    """Fails if a mistyped number ends in an error."""
    assert 'recall("4")' in recall(lab)


def test_the_first_lab_has_nothing_to_ask(student):
    """Fails if lab 0, which has no lab before it, ends in an error."""
    assert "no question" in repr(recall("0"))


def test_where_nothing_is_kept_the_questions_stay_the_same(student, monkeypatch):
    """Fails if MINIKAFKA_PROGRESS=off ends in an error, or changes the choice."""
    monkeypatch.setenv("MINIKAFKA_PROGRESS", "off")
    before = ids("6")
    assert "Lab" in repr(recall("6", "a b a")) and ids("6") == before


def test_an_older_file_has_no_answers_yet(student):
    """Fails if the file of a student who began before there were questions is set aside, or ends in an error."""
    old = {"version": 1, "exercises": {"6.1": {"tried": 1, "passed": True}}, "hints": {}, "predictions": {}, "labs": {}}
    student.write_text(json.dumps(old))
    recall("4", letters("4", right=True))
    assert len(record.read()["recalled"]) == 3 and record.read()["exercises"] == old["exercises"]
    path = hand_in("Ada", student.parent)
    assert "recalled" not in json.loads(path.read_text()) and read(path).name == "Ada"


def test_a_press_answers_at_once(student):
    """Fails if a button answers another question, shows nothing, can be pressed twice, or is not kept."""
    asked = recall("4")
    box = MODULE.buttons(asked)
    for number, question in enumerate(asked.questions):
        a, b, told = box.children[1 + 3 * number:4 + 3 * number]
        assert [row.children[1].value.split(">")[1].split("<")[0] for row in (a, b)] == \
            [sentence.replace("'", "&#x27;") for sentence in question.sentences]
        press = {"a": a, "b": b}[question.so if number else {"a": "b", "b": "a"}[question.so]].children[0]
        assert told.value == ""
        press.click()
        assert question.where.split("·")[0].strip() in told.value and ("as you said" if number else "surprise") in told.value
        assert a.children[0].disabled and b.children[0].disabled
    assert [record.read()["recalled"][q.id]["right"] for q in asked.questions] == [False, True, True]
