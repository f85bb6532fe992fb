"""minikafka.lab: exercises, hints, verdicts."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from minikafka.lab import check, exercise, hint, hints, predict, progress, reveal, todo
from minikafka.lab.exercise import NotPassed, Unknown, Wrong, checks
from minikafka.lab.values import clean, difference, reason, shown
from minikafka.lab.verdict import AS_IT_IS, Outcome
from minikafka.lab.waiting import line


@pytest.fixture(autouse=True)
def three_is_right(monkeypatch):
    """A check of a lab that does not exist: the function must return 3."""
    monkeypatch.setattr(exercise, "CHECKS", {})

    @checks("99.1")
    def _(answer):
        value = answer()
        assert value == 3, f"{value} is not 3"
        return "it is 3"


def nothing_yet():
    todo("three")


def no_cluster():
    raise Unknown("no leader was elected")


@pytest.mark.parametrize("answer, outcome, why", [
    (lambda: 3, Outcome.PASS, "it is 3"),
    (lambda: 4, Outcome.FAIL, "4 is not 3"),
    (lambda: 1 // 0, Outcome.FAIL, "ZeroDivisionError"),
    (nothing_yet, Outcome.UNKNOWN, "Hint: three"),
    (no_cluster, Outcome.UNKNOWN, "no leader was elected"),
])
def test_a_check_never_stops_the_notebook(answer, outcome, why):
    """I-LAB-1, I-LAB-3, I-LAB-4: fails if an exception passes through, or if "not begun" counts as wrong."""
    verdict = check("99.1", answer)
    assert verdict.outcome is outcome and why in verdict.why
    assert why.replace("'", "&#x27;") in verdict._repr_html_() and outcome.value in repr(verdict)


def slips():
    return json.loads("{")


@pytest.mark.parametrize("answer, told", [
    (slips, f'in slips, line {slips.__code__.co_firstlineno + 1} of its cell: return json.loads("{{")'),
    (no_cluster, ""), (5, "")])
def test_an_error_is_shown_with_the_line_of_the_student(answer, told):
    """I-LAB-3. Fails if one must look for the line oneself, or is shown one of the library's or the check's."""
    assert check("99.1", answer).excerpt == ((told,) if told else ())


class Secret:
    def __repr__(self):
        raise ValueError("nobody may see this")


@pytest.mark.parametrize("given, told", [
    (([2, 1], {2: 5.0}), "called with first=[2, 1], second={2: 5.0}"),
    ((list(range(999)), "x" * 999), "called with first=[0, 1, 2, 3, 4, 5, 6, 7, …], second='xxxx"),
    ((object(), 1), "called with first=an object, second=1"), ((Secret(), 1), "called with first=a Secret, second=1")])
def test_an_error_is_shown_with_the_arguments_of_the_function(given, told, monkeypatch):
    """Fails if one must guess for which of a check's many cases the function failed, or if what is told has no end."""
    monkeypatch.setitem(exercise.CHECKS, "99.5", lambda answer: answer(*given))
    line, more = check("99.5", lambda first, second: first + second + None).excerpt
    assert line.startswith("in your lambda, line") and more.startswith(told) and len(more) < 200


@pytest.mark.parametrize("answer", [lambda: 4, nothing_yet])
def test_strict_raises_what_is_not_a_pass(answer, monkeypatch):
    """Fails if the solved notebooks' tests could pass with a wrong or a missing solution."""
    monkeypatch.setenv("LAB_STRICT", "1")
    assert check("99.1", lambda: 3)
    with pytest.raises(NotPassed):
        check("99.1", answer)


def test_an_exercise_without_a_check_is_an_error_of_the_author(monkeypatch):
    """Fails if a solved notebook with a mistyped number could pass. (What a student is told: test_mistakes.py.)"""
    monkeypatch.setenv("LAB_STRICT", "1")
    with pytest.raises(NotPassed):
        check("98.7", 3)


def test_what_a_student_returned_cannot_write_html():
    """Fails if a verdict puts text into the page unescaped."""
    assert "<script>" not in check("99.1", lambda: "<script>")._repr_html_()


def test_a_verdict_carries_the_trace_and_the_way_to_see_it_again():
    """Fails if excerpt or replay line are lost, if times are the machine's, or if a field may write HTML."""
    events = [{"t": 100.0, "w": 1, "b": 2, "i": 1, "n": 7, "k": "append", "tp": "flights-0", "last": 47},
              {"t": 100.25, "b": 0, "k": "fault", "what": "<b>"}]

    @checks("99.2")
    def _(answer):
        raise Wrong("it is 47", excerpt=events, replay="python -m minikafka sim run --from 6")
    verdict = check("99.2", None)
    assert repr(verdict).splitlines() == [
        "✘ 99.2 FAIL: it is 47",
        "       0.000 s  broker 2  append tp=flights-0 last=47",
        "       0.250 s  cluster   fault what=<b>",
        "    to see it again: python -m minikafka sim run --from 6",
    ]
    page = verdict._repr_html_()
    assert "last=47" in page and "--from 6" in page and "&lt;b&gt;" in page and "<b>it" not in page
    assert not re.search(r"(?<![-\w])color:", page)     # letters have the page's colour: they can be read on light and on dark


def test_why_it_matters_is_shown_after_a_pass_only():
    """Fails if a wrong answer is told what the exercise was for before it is right."""
    @checks("99.3", matters="Pagers ring.")
    def _(answer):
        assert answer == 3
        return "it is 3"
    assert "Pagers ring." in repr(check("99.3", 3)) and "Pagers ring." in check("99.3", 3)._repr_html_()
    assert "Pagers" not in repr(check("99.3", 4))


def test_hints_come_one_after_the_other_or_by_level(monkeypatch):
    """Fails if the first call gives the last hint away, if a level is not what was asked for, or if a call can fail."""
    monkeypatch.setattr(hints, "HINTS", {"99.1": ("a?", "b", "c.py")})
    monkeypatch.setattr(hints, "SHOWN", {})
    assert [hint("99.1").text for _ in range(4)] == ["a?", "b", "c.py", "c.py"]
    assert [hint("99.1", level).text for level in (1, 3, 9, 0)] == ["a?", "c.py", "c.py", "a?"]
    assert "hint 2 of 3" in repr(hint("99.1", 2)) and "b" in hint("99.1", 2)._repr_html_()


def test_an_excerpt_may_hold_lines_and_events_without_a_time():
    """Fails if a check's own words between the events stop the notebook, or a verdict without an excerpt shows an empty box."""
    @checks("99.4")
    def _(answer):
        raise Wrong("no", excerpt=["as it was", {"k": "note"}, {"t": 5.0, "b": 1, "k": "hw"}])
    assert repr(check("99.4", None)).splitlines()[1:] == [
        "    as it was", "       0.000 s  cluster   note", "       0.000 s  broker 1  hw"]
    assert "<pre" in check("99.4", None)._repr_html_()
    for nothing in ("<pre", "again", "production"):
        assert nothing not in check("99.1", lambda: 4)._repr_html_()


@pytest.mark.parametrize("said, told", [
    ([1, 2, 2], ""), ([2, 1, 2], "these are the right ones, in another order: [1, 2, 2] is wanted"), ([1, 2], "you left out 2"),
    ([1, 2, 2, 5], "5 is too much"), ([2, 5], "you left out 1, 2"), ([], "you left out 1, 2, 2"),
    ([1, 2, 2, 7, 8, 9, 6], "7, 8, 9 and 1 more are too much")])
def test_differences_are_shown_with_missing_keys_first(said, told):
    """Fails if right items in another order are called missing, or if what is too much is told while something is left out."""
    assert difference(said, [1, 2, 2]) == told
    without_brackets = {ord("["): None, ord("]"): None}
    assert difference([[n] for n in said], [[1], [2], [2]]).translate(without_brackets) == told.translate(without_brackets)


@pytest.mark.parametrize("value, told", [
    (10 ** 5000, "an int"), ("x" * 999, "'" + "x" * 60 + "'…"), (list(range(99)), "[0, 1, 2, 3, 4, 5, 6, 7, …]"),
    (object(), "an object"), (lambda: 0, "a lambda"), (len, "the function len"), (int, "the class int"), (Secret(), "a Secret"),
    ({1: {2: [(3,)]}}, "{1: {2: [(3,)]}}"), (Path("/tmp/x"), "…/x"), (set(), "set()"), ((), "()"), ([[[[[1]]]]], "[[[[…]]]]"),
    (json, "a module"),
    ({}, "{}"), (b"", "b''"), (None, "None")], ids=lambda value: type(value).__name__)
def test_any_value_can_be_shown_in_short(value, told):
    """I-VALUE-1, I-VALUE-2. Fails if a value without an end, or one whose repr raises, cannot be shown, or if an address is."""
    assert shown(value) == told


@pytest.mark.parametrize("text, told", [
    ("it is <function f.<locals>.<lambda> at 0x7f00aa>", "it is the function lambda"),
    ("<class 'minikafka.lab.room.CrowdRow'>", "CrowdRow"),
    ("a minikafka.lab.verdict.Verdict", "a Verdict"), ("<minikafka.sim.World object at 0x7f00aa11>", "a World"),
    ("no file /tmp/pytest-1/x/meta.json", "no file …/meta.json"), ("/tmp/x is gone", "…/x is gone"),
    ("3/4 of a/b, 0 of 3", "3/4 of a/b, 0 of 3"),
    ("<generator object g at 0x7f00aa11>", "the generator g"), ("python -m minikafka sim run", "python -m minikafka sim run")])
def test_a_sentence_names_nothing_of_ours(text, told):
    """I-VALUE-2. Fails if an address, a path or a module of ours is shown, or if a sentence without them is altered."""
    assert clean(text) == told


@pytest.mark.parametrize("text, told", [
    ("no column `a`;\n'Project ['a]\n+- Relation", "no column `a`"), ("one line", "one line"), ("", ""),
    ("Traceback (most recent call last):\n  File \"/x/y.py\", line 3\nKeyError: 'id'\n", "KeyError: 'id'")])
def test_an_error_is_shown_in_one_line(text, told):
    """Fails if a plan of Spark or a worker's traceback is shown to a student."""
    assert reason(ValueError(text)) == told


def test_an_item_is_shown_whole_before_others_are():
    """Fails if the one field of a record that matters is cut out while there is room for it."""
    record = {"partition": 1, "offset": 7, "key": b"truck-1", "value": b"43.71, -79.30"}
    assert shown([record] * 9) == f"[{record}, …]"


@pytest.mark.parametrize("html", [
    lambda: check("99.1", lambda: "$a$ \\(b\\)")._repr_html_(), lambda: predict("99.2", "$a$ \\(b\\)")._repr_html_(),
    lambda: reveal("99.2", "$b$")._repr_html_(), lambda: hint("$a$ \\(b\\)")._repr_html_(), lambda: progress()._repr_html_(),
    lambda: progress().misconceptions._repr_html_(), lambda: line("check $a$", 3)["text/html"]])
def test_no_words_of_others_are_set_as_a_formula(html):
    """Fails if HTML with a student's words, or with those of a check, is left to MathJax (test_browser.py asks a real one)."""
    assert AS_IT_IS in html().partition(">")[0]
