"""minikafka.lab: exercises, predictions, verdicts."""
from __future__ import annotations

import pytest

from minikafka.lab import check, exercise, predict, reveal, todo
from minikafka.lab.exercise import NotPassed, Unknown, checks
from minikafka.lab.verdict import Outcome


@pytest.fixture(autouse=True)
def three_is_right(monkeypatch):
    """A check of a lab that does not exist: the function must return 3."""
    monkeypatch.setattr(exercise, "CHECKS", {})
    monkeypatch.delenv("LAB_STRICT", raising=False)

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


@pytest.mark.parametrize("answer", [lambda: 4, nothing_yet])
def test_strict_raises_what_is_not_a_pass(answer, monkeypatch):
    """Fails if the solved notebooks' tests could pass with a wrong or a missing solution."""
    monkeypatch.setenv("LAB_STRICT", "1")
    assert check("99.1", lambda: 3)
    with pytest.raises(NotPassed):
        check("99.1", answer)


def test_an_exercise_without_a_check_is_an_error():
    """Fails if a mistyped id were taken for "unknown": the author would never see it."""
    with pytest.raises((KeyError, ModuleNotFoundError)):
        check("98.7", 3)


def test_what_a_student_returned_cannot_write_html():
    """Fails if a verdict puts text into the page unescaped."""
    assert "<script>" not in check("99.1", lambda: "<script>")._repr_html_()


def test_a_guess_is_kept_until_the_measurement():
    """Fails if `...` counts as a guess, or if a later guess does not replace the first."""
    assert predict("99.2", ...).word == "no guess"
    assert reveal("99.2", 5).word == "no guess"
    predict("99.2", 4)
    predict("99.2", 5)
    assert reveal("99.2", 5).word == "as you said"
    surprise = reveal("99.2", "<6>")
    assert surprise.word == "surprise" and "5" in surprise.text and "&lt;6&gt;" in surprise._repr_html_()
