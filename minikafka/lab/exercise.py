"""Exercises: the gap that a student fills (`todo`) and the question whether it is filled well (`check`).

Owns the register of checks. A check is an importable function that takes the student's answer and either returns a
sentence (what the answer shows, printed with PASS), raises AssertionError (wrong; its text says what was seen and what
was expected) or Unknown (cannot be judged). So a deleted or copied cell cannot break the marking.

    @checks("6.1", matters="A consumer that lags may wait for a follower, not for itself.")
    def high_watermark(answer: Callable[..., int]) -> str:
        ...
        raise Wrong("you said 50, it is 47", excerpt=events, replay="python -m minikafka sim run --seeds 1 --from 6")

guard.py stops what does not end; wants.py says what is wanted where an answer has the wrong type; trial.py watches the student's
functions.

Invariants
  I-LAB-3  an error in a student's function is a FAIL with the error's own text and line, and never stops the notebook
  I-LAB-4  an exercise that still stands at todo() is UNKNOWN and shows the hint
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

from minikafka.lab import guard, names, record, wants
from minikafka.lab.hints import NoExercise, hints, load
from minikafka.lab.trial import NOTHING, Misfit, Trial
from minikafka.lab.uses import uses
from minikafka.lab.values import LINE, clean
from minikafka.lab.verdict import Event, Outcome, Verdict, lines
from minikafka.lab.waiting import waiting

__all__ = ["CHECKS", "Check", "NotPassed", "Todo", "Unknown", "Wrong", "check", "checks", "find", "hints", "judge", "quietly",
           "strict", "todo"]

Check = Callable[[Any], str]
CHECKS: dict[str, Check] = {}
MATTERS: dict[str, str] = {}
FORMS: dict[str, str] = {}
SECONDS: dict[str, float] = {}


class Todo(NotImplementedError):
    """An error raised by `todo()`: the exercise has not been begun. Its text is the hint."""


class Unknown(Exception):
    """An error raised by a check that cannot judge: what it needed did not happen."""


class Wrong(AssertionError):
    """An error raised by a check for a wrong answer, with the events of the trace that show it (the fewer the better)
    and how to see it again."""

    def __init__(self, text: str, excerpt: Iterable[Event | str] = (), replay: str = "") -> None:
        super().__init__(text)
        self.excerpt, self.replay = lines(excerpt), replay


class NotPassed(Exception):
    """With LAB_STRICT=1: a verdict that is not PASS."""


def todo(hint: str) -> NoReturn:
    """Raise Todo with the hint: it stands where the student writes, who replaces the whole line."""
    raise Todo(hint)


def strict() -> bool:
    """Return whether a verdict that is not PASS raises, as in the tests of the solved notebooks."""
    return os.environ.get("LAB_STRICT", "0") not in ("", "0")


def checks(exercise: str, matters: str = "", seconds: float | None = None, wants: str = "") -> Callable[[Check], Check]:
    """Register the check of one exercise, such as "0.1". `matters`: why it matters in production, shown after PASS.
    `seconds`: the time limit of a check whose right answers take long. `wants`: the form of an answer in words, such as
    "a pair (lost, twice)", where the annotation does not say it.
    """
    def register(function: Check) -> Check:
        CHECKS[exercise], MATTERS[exercise], FORMS[exercise] = function, matters, wants
        if seconds is not None:
            SECONDS[exercise] = seconds
        return function
    return register


def check(exercise: str, answer: Any = ...) -> Verdict:
    """Judge `answer` (a value, or a function that you wrote) and return the verdict. UNKNOWN if there is no such exercise."""
    try:
        ask = find(exercise)
    except NoExercise as none:
        verdict = Verdict(str(exercise), Outcome.UNKNOWN, str(none))
    else:
        verdict = _asked(ask, exercise, answer)
        note(verdict, answer)
    if strict() and not verdict:
        raise NotPassed(repr(verdict))
    return verdict


def _asked(ask: Check, exercise: str, answer: Any) -> Verdict:
    """Judge within the time limit, and with a bound on what is printed."""
    if answer is ...:
        return Verdict(exercise, Outcome.UNKNOWN, f'your answer goes behind the number: check("{exercise}", ...)')
    limit = limit_of(exercise)
    with waiting(f"check {exercise} tries your answer, for {limit:g} s at most"), guard.short_output(), guard.limited(limit):
        verdict = judge(ask, exercise, answer)
    return replace(verdict, offer=_offer(exercise, answer)) if verdict.outcome is Outcome.FAIL else verdict


def quietly(exercise: str, answer: Any) -> Verdict:
    """Judge as `check` does, and keep no record of it."""
    return _asked(find(exercise), exercise, answer)


def _offer(exercise: str, answer: Any) -> str:
    """Return how to see a wrong answer at work in brokers, "" where it has no place in them."""
    from minikafka.lab.inside.goals import GOALS
    from minikafka.lab.inside.table import rule
    name = getattr(answer, "__name__", "")
    there = rule(exercise) or exercise in GOALS
    return f'inside("{exercise}", {name if name.isidentifier() else "your_function"})' if there else ""


def limit_of(exercise: str) -> float:
    """Return the time limit of an exercise's check, in seconds."""
    return SECONDS.get(exercise) or guard.seconds(find(exercise))


def note(verdict: Verdict, answer: Any) -> None:
    """Write the verdict and the code into the student's file. A passed exercise stays passed, with the code of the last pass;
    UNKNOWN does not count as a try."""
    def alter(kept: record.Record) -> None:
        entry = kept["exercises"].setdefault(verdict.id, {"tried": 0, "passed": False})
        if code := names.source_of(answer) if verdict or not entry.get("passed") else "":
            entry |= {"code": code, "uses": uses(code, names.ran()[:-1])[:names.LETTERS]}
        entry["tried"] = entry.get("tried", 0) + 1
        entry["passed"] = bool(entry.get("passed") or verdict)
        if verdict.moves:
            entry["moves"] = min(verdict.moves, entry.get("moves", verdict.moves))
    if verdict.outcome is not Outcome.UNKNOWN:
        record.change(verdict.id.split(".")[0], alter)


def find(exercise: str) -> Check:
    """Return the check of an exercise; the checks of lab N are in `minikafka/lab/labs/labNN/checks.py`. NoExercise if none."""
    load(exercise, CHECKS)
    return CHECKS[exercise]


def judge(ask: Check, exercise: str, answer: Any) -> Verdict:
    """Run one check and return its verdict; an exception of the check or of the student's function becomes a verdict too."""
    trial = Trial(ask, answer, FORMS.get(exercise, ""))
    try:
        if told := wants.misfit(wants.wanted(ask), answer):
            return _fail(exercise, told)
        told = ask(trial.answer)
        return Verdict(exercise, Outcome.PASS, told, matters=MATTERS.get(exercise, ""), moves=getattr(told, "moves", 0))
    except Todo as hint:
        return Verdict(exercise, Outcome.UNKNOWN, f"not solved yet. Hint: {hint}")
    except Unknown as reason:
        return Verdict(exercise, Outcome.UNKNOWN, str(reason))
    except Misfit as wrong:
        return _fail(exercise, str(wrong), trial.lines(wrong))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return _raised(exercise, error, trial)


def _raised(exercise: str, error: BaseException, trial: Trial) -> Verdict:
    """Return the verdict on an error: a check's assertion is its verdict, all else is told of the student's answer."""
    blamed = trial.blames(error)
    if isinstance(error, AssertionError) and not blamed:
        excerpt, replay = (error.excerpt, error.replay) if isinstance(error, Wrong) else ((), "")
        return _fail(exercise, trial.verdict(error), excerpt or (trial.lines(error) if NOTHING in str(error) else ()), replay)
    if isinstance(error, guard.TooLong):
        return _fail(exercise, f"your code was stopped after {limit_of(exercise):g} seconds. Is there a loop that never ends? "
                     "Everything else still works: change the cell and run it again", trial.lines(error))
    if not isinstance(error, Exception) and not trial.ended_in(error):  # of whoever runs this: a test's own time limit
        raise error
    if isinstance(error, RecursionError) and blamed:
        return _fail(exercise, "your function calls itself without an end; in which case does it stop?", trial.lines(error))
    if isinstance(error, MemoryError):
        return _fail(exercise, "your function wants more memory than there is; does a list in it grow without an end? "
                     "Everything else still works: change the cell and run it again", trial.lines(error))
    if isinstance(error, SystemExit):
        return _fail(exercise, "your code ends the program (exit); a function ends with `return`", trial.lines(error))
    return _fail(exercise, trial.told(error), trial.lines(error))


def _fail(exercise: str, why: str, excerpt: Iterable[str] = (), replay: str = "") -> Verdict:
    return Verdict(exercise, Outcome.FAIL, clean(why), tuple(clean(line, LINE) for line in excerpt), replay)
