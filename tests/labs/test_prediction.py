"""minikafka.lab.predict and reveal: kept before the run, scored after it, never in the way."""
from __future__ import annotations

import json

import numpy as np
import pytest

from minikafka.lab import predict, prediction, record, reveal
from minikafka.lab.prediction import NEAR, NONE, RIGHT, SURPRISE, score


@pytest.fixture(autouse=True)
def student(tmp_path, monkeypatch):
    """A student's file of this test's own, and a kernel that has just started."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("MINIKAFKA_PROGRESS", str(path))
    monkeypatch.setattr(prediction, "GUESSES", {})
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


@pytest.mark.parametrize("guess, measured, word, told", [
    (40, 40.0, RIGHT, "40"), ("40", 40, RIGHT, "40"), ("3 %", 3, RIGHT, "3"),
    ("1,000", 1000, RIGHT, "1000"), ("0.5s", 3.4, SURPRISE, "6.8 times too little"), ("5 to 6", 5, SURPRISE, "'5 to 6'"),
    ("A", "a ", RIGHT, "'a '"), ([1, 2], (1, 2), RIGHT, "(1, 2)"),
    (True, True, RIGHT, "True"), (np.int64(3), 3, RIGHT, "3"),
    (39, 40, NEAR, "1 below, 2%"), (3.3, 3.2, NEAR, "0.1 above, 3%"),
    (40, 10, SURPRISE, "4 times too much"), (1, 10, SURPRISE, "10 times too little"), (12, 10, SURPRISE, "2 above, 20%"),
    (5_260_000, 5260, SURPRISE, "1,000 times too much"),
    (5, 0, SURPRISE, "5 above"), (-1, 1, SURPRISE, "2 below"), ("many", 10, SURPRISE, "'many'"),
    (True, False, SURPRISE, "True"), (True, 1.05, SURPRISE, "True"), (0, 5, SURPRISE, "5 below"),
    ([1, 3], (1, 2), SURPRISE, "1 of 2 as you said"), ([1, 2], (1, 2, 3), SURPRISE, "you said [1, 2], measured (1, 2, 3)."),
    (100, 110, SURPRISE, "10 below, 9%"), (20, 22, SURPRISE, "2 below, 9%"), (105, 100, NEAR, "5 above, 5%"),
    ({0: 40, 1: 40}, {0: 50, 1: 40}, SURPRISE, "1 of 2 as you said"),
    ((50, 100), {"queue": 50, "topic": 100}, RIGHT, "50"), ([1, 2], {"a": 1, "b": 3}, SURPRISE, "1 of 2 as you said"),
])
def test_how_near_a_guess_was(guess, measured, word, told):
    """Fails if a number is only right or wrong, if text that is a number is not taken for one, or if 0 divides."""
    found, text = score(prediction.plain(guess), measured)
    assert found == word and told in text


def test_the_answer_is_in_the_file_before_the_run(student):
    """I-LAB-5: fails if a guess is written only when it is revealed."""
    predict("99.2", {"a": 1})
    assert json.loads(student.read_text())["predictions"]["99.2"] == {"guess": "{'a': 1}"}


def test_a_restarted_kernel_still_knows_the_guess(monkeypatch):
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
