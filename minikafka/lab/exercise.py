"""Exercises: the gap that a student fills (`todo`) and the question whether it is filled well (`check`).

Owns the register of checks. A check is an importable function that takes the student's answer and either returns a
sentence (what the answer shows, printed with PASS), raises AssertionError (wrong; its text says what was seen and what
was expected) or Unknown (cannot be judged). So a deleted or copied cell cannot break the marking.

Invariants
  I-LAB-3  an error in a student's function is a FAIL with the error's own text, and never stops the notebook
  I-LAB-4  an exercise that still stands at todo() is UNKNOWN and shows the hint
"""
from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, NoReturn

from minikafka.lab.verdict import Outcome, Verdict

Check = Callable[[Any], str]
CHECKS: dict[str, Check] = {}


class Todo(NotImplementedError):
    """Raised by `todo()`: the exercise has not been begun. Its text is the hint."""


class Unknown(Exception):
    """Raised by a check that cannot judge: what it needed did not happen."""


class NotPassed(Exception):
    """With LAB_STRICT=1: a verdict that is not PASS."""


def todo(hint: str) -> NoReturn:
    """Stands where you write; replace the whole line. Raises Todo with the hint."""
    raise Todo(hint)


def strict() -> bool:
    """Whether a verdict that is not PASS raises (tests of the solved notebooks)."""
    return os.environ.get("LAB_STRICT", "0") not in ("", "0")


def checks(exercise: str) -> Callable[[Check], Check]:
    """Registers the check of one exercise, such as "0.1"."""
    def register(function: Check) -> Check:
        CHECKS[exercise] = function
        return function
    return register


def check(exercise: str, answer: Any) -> Verdict:
    """Is `answer` (a value, or a function that you wrote) right for this exercise? KeyError if there is no such exercise."""
    verdict = judge(find(exercise), exercise, answer)
    if strict() and not verdict:
        raise NotPassed(repr(verdict))
    return verdict


def find(exercise: str) -> Check:
    """The check of an exercise; the checks of lab N live in `minikafka/lab/checks/labNN.py`."""
    if exercise not in CHECKS:
        lab = int(exercise.split(".")[0])
        importlib.import_module(f"minikafka.lab.checks.lab{lab:02d}")
    return CHECKS[exercise]


def judge(ask: Check, exercise: str, answer: Any) -> Verdict:
    """Runs one check; whatever it or the student's function raises becomes a verdict."""
    try:
        return Verdict(exercise, Outcome.PASS, ask(answer))
    except Todo as hint:
        return Verdict(exercise, Outcome.UNKNOWN, f"not solved yet. Hint: {hint}")
    except Unknown as reason:
        return Verdict(exercise, Outcome.UNKNOWN, str(reason))
    except AssertionError as wrong:
        return Verdict(exercise, Outcome.FAIL, str(wrong) or "not what was expected")
    except Exception as error:  # the student's own code may raise anything
        return Verdict(exercise, Outcome.FAIL, f"your code raised {type(error).__name__}: {error}")
