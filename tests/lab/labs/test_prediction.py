"""minikafka.lab.predict and reveal: kept before the run, scored after it, never in the way."""
from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from minikafka.lab import predict, prediction, record, reveal
from minikafka.lab.prediction import NEAR, NONE, RIGHT, SURPRISE, score


@pytest.fixture(autouse=True)
def student(tmp_path, monkeypatch):
    """A student's file of this test's own, and a kernel that has just started."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(path))
    monkeypatch.setattr(prediction, "GUESSES", {})
    monkeypatch.setattr(prediction, "ANSWERED", set())
    return path


def test_a_guess_is_kept_until_the_measurement():
    """Fails if `...` counts as a guess, or if a later guess does not replace the first."""
    assert predict("99.2", ...).word == NONE
    assert reveal("99.2", 5).word == NONE
    predict("99.2", 4)
    predict("99.2", 5)
    assert reveal("99.2", 5).word == RIGHT
    predict("99.3", "<5>")
    surprise = reveal("99.3", "<6>")
    assert surprise.word == SURPRISE and "<5>" in surprise.text and "&lt;6&gt;" in surprise._repr_html_()


def test_a_question_is_open_from_its_guess_to_its_answer():
    """Fails if a picture's ledger is open while it is asked what the ledger counts, or stays covered after the answer."""
    assert prediction.open_question() == ""
    predict("99.1", ...)
    predict("99.2", 4)
    assert prediction.open_question() == "99.2"
    reveal("99.2", None)
    assert prediction.open_question() == "99.2", "nothing was measured"
    reveal("99.2", 5)
    assert prediction.open_question() is None
    predict("99.1", 3)
    assert prediction.open_question() == "99.1"
    reveal("99.1", 3)
    predict("99.1", 4)
    assert prediction.open_question() is None, "its answer was shown"


class Odd:
    """What cannot be shown, compared, or asked whether it is true."""

    def __repr__(self):
        raise ValueError

    __eq__ = __bool__ = __hash__ = __repr__


@pytest.mark.parametrize("guess, measured, word, told", [
    (40, 40.0, RIGHT, "40"), ("40", 40, RIGHT, "40"), ("3 %", 3, RIGHT, "3"),
    ("1,000", 1000, RIGHT, "1000"), ("0.5s", 3.4, SURPRISE, "6.8 times too little"),
    ("5 to 6", 5, NONE, "'5 to 6', measured 5: one number"),
    ("A", "a ", RIGHT, "'a '"), ([1, 2], (1, 2), RIGHT, "(1, 2)"),
    (True, True, RIGHT, "True"), (np.int64(3), 3, RIGHT, "3"),
    (39, 40.0, NEAR, "1 below"), (3.3, 3.2, NEAR, "0.1 above"), (39, 40, SURPRISE, "1 below"), (48, 46, SURPRISE, "2 above"),
    (60, 61, SURPRISE, "1 below"), (99_999, 100_000, SURPRISE, "1 below"), (204, np.float64(200), NEAR, "measured 200: 4 above"),
    (51, np.int64(50), SURPRISE, "1 above"), (12_300, 12_340.0, NEAR, "measured 12340: 40 below"),
    (40, 10, SURPRISE, "4 times too much"), (1, 10, SURPRISE, "10 times too little"), (12, 10, SURPRISE, "2 above."),
    (5_260_000, 5260, SURPRISE, "1,000 times too much"),
    (5, 0, SURPRISE, "5 above"), (-1, 1, SURPRISE, "2 below"), ("many", 10, NONE, "'many'"),
    (True, False, SURPRISE, "True"), (True, 1.05, SURPRISE, "True"), (0, 5, SURPRISE, "5 below"),
    ([1, 3], (1, 2), SURPRISE, "1 of 2 as you said"), ([1, 2], (1, 2, 3), SURPRISE, "you said [1, 2], measured (1, 2, 3)."),
    (46, 49, SURPRISE, "3 below."), (3, 3.4, NEAR, "0.4 below"), (9, 9.4, NEAR, "0.4 below"), (4, 3.4, SURPRISE, "0.6 above"),
    (0, 0.4, SURPRISE, "0.4 below"), (8, 9, SURPRISE, "1 below"), (5, 10, SURPRISE, "half of it"), (19, 10, SURPRISE, "9 above"),
    (20, 10, SURPRISE, "twice as much"), (3.5, 3.4, NEAR, "0.1 above"), (Fraction(7, 2), 3.5, RIGHT, "3.5"),
    (Decimal("0.2"), 0.2, RIGHT, "0.2"), (float("inf"), 3, SURPRISE, "inf times too much"),
    ("less than 5", 4, NONE, "one number"),
    (0, 0, RIGHT, "0"),
    ("", 3, NONE, "''"), ("", "a", SURPRISE, "''"), ([], [1], SURPRISE, "[]"), ([], [], RIGHT, "[]"),
    ({}, {"a": 1}, SURPRISE, "0 of 1"), (False, False, RIGHT, "False"), (set(), {"a"}, SURPRISE, "set()"),
    (np.array([1, 2]), (1, 2), RIGHT, "(1, 2)"), (np.bool_(False), False, RIGHT, "False"),
    (pd.DataFrame(), 3, SURPRISE, "a DataFrame"),
    (pd.Series([1, 2]), [1, 2], RIGHT, "[1, 2]"), (Odd(), 3, SURPRISE, "an Odd"), (len, 3, SURPRISE, "the function len"),
    (100, 110, SURPRISE, "10 below."), (20, 22, SURPRISE, "2 below."), (105, 100.0, NEAR, "5 above"),
    (105, 100, SURPRISE, "5 above"),
    ({0: 40, 1: 40}, {0: 50, 1: 40}, SURPRISE, "1 of 2 as you said"),
    ((50, 100), {"queue": 50, "topic": 100}, RIGHT, "50"), ([1, 2], {"a": 1, "b": 3}, SURPRISE, "1 of 2 as you said"),
])
def test_how_near_a_guess_was(guess, measured, word, told):
    """Fails if a measure is only right or wrong, if a count or an offset that was missed is called near, if text that is a
    number is not taken for one, if 0 divides, if percentages are told of an offset, if an empty answer is none, or if an odd
    guess raises.
    """
    found, text = score(prediction.plain(guess), measured)
    assert found == word and told in text and "%" not in text
    assert predict("99.4", guess).word == "kept"
    assert reveal("99.4", measured).word == word


@pytest.mark.parametrize("nothing", [None, ..., float("nan"), np.nan])
def test_what_did_not_run_was_not_measured(nothing, student):
    """Fails if a figure is told that nobody measured, if a guess is judged by it, or if the later measurement does not count.
    """
    predict("99.2", 3)
    assert reveal("99.2", nothing).text.startswith("nothing was measured")
    assert reveal("99.2", 3).word == RIGHT and json.loads(student.read_text())["predictions"]["99.2"]["word"] == RIGHT
    assert predict("99.3", nothing).word == NONE


def test_words_where_a_number_is_wanted_are_refused_at_once():
    """Fails if somebody learns only behind the experiment that "less than 5" cannot be compared, or if such a guess is kept."""
    refused = predict("2.1", "less than 5")
    assert refused.word == NONE and refused.text.endswith("compared with the answer, which has this form: guess = 5")
    assert reveal("2.1", 5).word == NONE
    assert predict("2.1", "5 %").text == "'5 %'. Now see." and reveal("2.1", 5).word == RIGHT


@pytest.mark.parametrize("question, guess, kept", [
    ("0.6", {"Write": 1, "read": "true", "keep": False}, {"write": True, "read": True, "keep": False}),
    ("0.6", [True, True, False], {"write": True, "read": True, "keep": False}), ("1.3", (50, "100"), {"queue": 50, "topic": 100}),
    ("8.5", " Neither", "neither"), ("8.7", [True, False], (True, False)), ("9.7", ["Read", "write"], {"read", "write"}),
    ("9.7", "read", {"read"}), ("9.7", [], set()), ("12.1", np.arange(8), [0, 1, 2, 3, 4, 5, 6, 7]), ("14.3", [0, 20], (0, 20)),
    ("2.1", np.float64(3), 3.0), ("2.1", "1,000", 1000.0), ("2.1", Fraction(1, 2), Fraction(1, 2))])
def test_a_guess_in_another_form_is_taken(question, guess, kept):
    """Fails if a guess is refused, or kept in a form that equality does not compare, though it can only mean one thing."""
    assert predict(question, guess).word == "kept" and prediction.GUESSES[question] == kept
    assert reveal(question, kept).word == RIGHT


@pytest.mark.parametrize("question, guess", [
    ("0.6", {"wrote": True, "read": True, "keep": True}), ("0.6", {"write": True}), ("0.6", "yes"), ("8.5", "nobody"), ("8.5", 2),
    ("8.7", True), ("9.7", ["raed"]), ("9.7", 3), ("12.1", [1, 2]), ("14.3", 5), ("14.3", {0, 20}), ("2.1", True), ("2.1", [5]),
    ("2.1", ""), ("2.1", 1j), ("2.1", Odd()), ("2.1", len), ("2.1", pd.DataFrame())])
def test_a_guess_that_cannot_be_compared_is_refused_at_once(question, guess):
    """Fails if one sees only behind the experiment that nothing can be said of a guess, or sees no form then."""
    refused = predict(question, guess)
    assert refused.word == NONE and "cannot be compared" in refused.text and "guess = " in refused.text


def test_the_answer_is_in_the_file_before_the_run(student):
    """I-LAB-5: fails if a guess is written only when it is revealed."""
    predict("99.2", {"a": 1})
    assert json.loads(student.read_text())["predictions"]["99.2"] == {"guess": "{'a': 1}"}


def test_a_restarted_kernel_still_has_the_guess(monkeypatch):
    """Fails if a guess lives only in the notebook's memory; a cell that was run without a guess takes it back."""
    predict("99.2", (1, 2))
    monkeypatch.setattr(prediction, "GUESSES", {})
    assert reveal("99.2", (1, 2)).word == RIGHT
    predict("99.2", ...)
    assert reveal("99.2", (1, 2)).word == NONE


def test_the_guess_that_stood_at_the_first_answer_counts():
    """I-LAB-5: fails if one can become right by guessing again once the answer is known."""
    predict("99.2", 4)
    reveal("99.2", 5)
    predict("99.2", 5)
    assert reveal("99.2", 5).word == RIGHT  # the notebook says what is true of this guess
    assert record.read()["predictions"]["99.2"] == {"guess": "4", "measured": "5", "word": SURPRISE}


def test_a_guess_that_cannot_be_written_down_is_no_trouble(monkeypatch):
    """I-LAB-1: fails if an odd guess stops the notebook, now or after a restart."""
    predict("99.2", object())
    monkeypatch.setattr(prediction, "GUESSES", {})
    assert reveal("99.2", 5).word == NONE


@pytest.mark.parametrize("guess, word, text", [
    (["write", "read"], "as you said", "{'read', 'write'}"), (("read", "write"), "as you said", "{'read', 'write'}"),
    ({"read"}, "surprise", "1 of 2 as you said"), ("write", "surprise", "you said {'write'}"),
    (["reed", ["write"]], "surprise", "0 of 3 as you said")])
def test_where_the_order_does_not_matter_a_list_is_a_set(guess, word, text):
    """Fails if ["write", "read"] is a surprise beside {"read", "write"}, or if a word is taken for its letters."""
    assert (found := score(guess, {"read", "write"}))[0] == word and text in found[1]
