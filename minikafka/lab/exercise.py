"""Exercises: the gap that a student fills (`todo`) and the question whether it is filled well (`check`).

Owns the register of checks. A check is an importable function that takes the student's answer and either returns a
sentence (what the answer shows, printed with PASS), raises AssertionError (wrong; its text says what was seen and what
was expected) or Unknown (cannot be judged). So a deleted or copied cell cannot break the marking.

    @checks("6.1", matters="A consumer that lags may wait for a follower, not for itself.")
    def high_watermark(answer: Callable[..., int]) -> str:
        ...
        raise Wrong("you said 50, it is 47", excerpt=events, replay="python -m minikafka sim run --seeds 1 --from 6")

guard.py stops what does not end and says what is wanted where an answer has the wrong type.

Invariants
  I-LAB-3  an error in a student's function is a FAIL with the error's own text and line, and never stops the notebook
  I-LAB-4  an exercise that still stands at todo() is UNKNOWN and shows the hint
"""
from __future__ import annotations

import os
import reprlib
import traceback
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NoReturn

from minikafka.lab import guard, record
from minikafka.lab.hints import NoExercise, hints, load
from minikafka.lab.verdict import Event, Outcome, Verdict, lines
from minikafka.lab.waiting import waiting

__all__ = ["CHECKS", "Check", "NotPassed", "Todo", "Unknown", "Wrong", "check", "checks", "find", "hints", "judge", "strict",
           "todo"]

Check = Callable[[Any], str]
CHECKS: dict[str, Check] = {}
MATTERS: dict[str, str] = {}
SECONDS: dict[str, float] = {}
SHORT = reprlib.Repr()
SHORT.maxlist = SHORT.maxtuple = SHORT.maxdict = SHORT.maxset = 8
SHORT.maxstring = SHORT.maxother = 60


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


def checks(exercise: str, matters: str = "", seconds: float | None = None) -> Callable[[Check], Check]:
    """Register the check of one exercise, such as "0.1". `matters`: why it matters in production, shown after PASS.
    `seconds`: the time limit of a check whose right answers take long.
    """
    def register(function: Check) -> Check:
        CHECKS[exercise], MATTERS[exercise] = function, matters
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
        note(verdict)
    if strict() and not verdict:
        raise NotPassed(repr(verdict))
    return verdict


def _asked(ask: Check, exercise: str, answer: Any) -> Verdict:
    """Judge within the time limit, and with a bound on what is printed."""
    if answer is ...:
        return Verdict(exercise, Outcome.UNKNOWN, f'your answer goes behind the number: check("{exercise}", ...)')
    limit = limit_of(exercise)
    try:
        with waiting(f"check {exercise} tries your answer, for {limit:g} s at most"), guard.short_output(), guard.limited(limit):
            return judge(ask, exercise, answer)
    except guard.TooLong as stop:
        return Verdict(exercise, Outcome.FAIL, f"your code was stopped after {limit:g} seconds. Is there a loop that never ends? "
                       "Everything else still works: change the cell and run it again", where(stop, answer))


def limit_of(exercise: str) -> float:
    """Return the time limit of an exercise's check, in seconds."""
    return SECONDS.get(exercise) or guard.seconds(find(exercise))


def note(verdict: Verdict) -> None:
    """Write the verdict into the student's file. A passed exercise stays passed; UNKNOWN does not count as a try."""
    def alter(kept: record.Record) -> None:
        entry = kept["exercises"].setdefault(verdict.id, {"tried": 0, "passed": False})
        entry["tried"] = entry.get("tried", 0) + 1
        entry["passed"] = bool(entry.get("passed") or verdict)
    if verdict.outcome is not Outcome.UNKNOWN:
        record.change(verdict.id.split(".")[0], alter)


def find(exercise: str) -> Check:
    """Return the check of an exercise; the checks of lab N are in `minikafka/lab/labs/labNN/checks.py`. NoExercise if none."""
    load(exercise, CHECKS)
    return CHECKS[exercise]


def judge(ask: Check, exercise: str, answer: Any) -> Verdict:
    """Run one check and return its verdict; an exception of the check or of the student's function becomes a verdict too."""
    if told := guard.misfit(ask, answer):
        return Verdict(exercise, Outcome.FAIL, told)
    try:
        return Verdict(exercise, Outcome.PASS, ask(guard.typed(ask, answer)), matters=MATTERS.get(exercise, ""))
    except Todo as hint:
        return Verdict(exercise, Outcome.UNKNOWN, f"not solved yet. Hint: {hint}")
    except Unknown as reason:
        return Verdict(exercise, Outcome.UNKNOWN, str(reason))
    except Wrong as wrong:
        return Verdict(exercise, Outcome.FAIL, str(wrong), wrong.excerpt, wrong.replay)
    except AssertionError as wrong:
        return Verdict(exercise, Outcome.FAIL, str(wrong) or "not what was expected")
    except RecursionError as error:
        return Verdict(exercise, Outcome.FAIL, "your function calls itself without an end; in which case does it stop?",
                       where(error, answer))
    except MemoryError as error:
        return Verdict(exercise, Outcome.FAIL, "your function wants more memory than there is; does a list in it grow without "
                       "an end? Everything else still works: change the cell and run it again", where(error, answer))
    except SystemExit as error:
        return Verdict(exercise, Outcome.FAIL, "your code ends the program (exit); a function ends with `return`",
                       where(error, answer))
    except Exception as error:  # the student's own code may raise anything
        place = where(error, answer)
        told = f"{type(error).__name__}: {error}"
        return Verdict(exercise, Outcome.FAIL, f"your code raised {told}" if place else _unreadable(ask, told), place)


def _unreadable(ask: Check, told: str) -> str:
    """Say that the check itself stumbled over what the student's function returned or did."""
    wanted = guard.result(ask)
    return f"the check cannot go on with what your function did ({told})" + (f"; {wanted} is wanted" if wanted else "")


def where(error: BaseException, answer: Any) -> tuple[str, ...]:
    """Return the line of the student's own cell in which an error was raised, and what the function had been given; () if it
    was raised elsewhere.
    """
    functions = answer if isinstance(answer, tuple) else (answer,)
    codes = {function.__code__ for function in functions if hasattr(function, "__code__")}
    cells = {code.co_filename for code in codes}
    steps = [step for step in traceback.extract_tb(error.__traceback__) if step.filename in cells]
    calls = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code in codes]
    line = [f"in {step.name}, line {step.lineno} of its cell: {step.line}" for step in steps[-1:]]
    return (*line, *filter(None, map(given, calls[:1])))


def given(call: FrameType) -> str:
    """Return the arguments of a call in short, by name; "" if it has none that a reader would know."""
    code, values = call.f_code, call.f_locals
    try:
        told = ", ".join(f"{name}={SHORT.repr(values[name])}" for name in code.co_varnames[:code.co_argcount] if name in values)
    except Exception:  # an object of the student's own that cannot be shown
        return ""
    return f"called with {told}" if told and " at 0x" not in told else ""
