"""What `check` does about a student's usual mistakes, before and while the student's function runs.

    misfit(ask, answer)        a call in place of a function, or a function with other parameters: one sentence, or ""
    typed(ask, answer)         the answer, with a function's results looked at: 5 where a list is wanted is told in words
    with limited(30), short_output():    a loop without an end is stopped, thousands of printed lines are counted

What a check wants is read from its own annotation: `def high_watermark(answer: Callable[[Ends, list[int]], int]) -> str`.
Where the annotation says Any, a union or a class of a lab, nothing is refused here.

Owns: the time limit of a check, how much a student's function may print, and the words for types.

Invariants
  I-LAB-6  a check comes to an end: a function that runs for longer than the limit is stopped, and the kernel goes on
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import io
import signal
import sys
import threading
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Number
from typing import Any

LIMIT = 30.0          # seconds for a check
SLOW = 180.0          # of a lab whose checks have a slow beginning (`prepare`, a Spark session)
AGAIN = 1.0           # seconds after which a function that swallowed the stop is stopped again
PRINTED = 4000        # characters of what a function prints
WORDS: dict[Any, str] = {int: "a number", float: "a number", str: "text", bool: "True or False", dict: "a dictionary",
                         list: "a list", tuple: "a tuple", bytes: "bytes", set: "a set"}
MANY: dict[Any, str] = {int: "numbers", float: "numbers", str: "texts", list: "lists", tuple: "tuples", bytes: "bytes"}
NOTHING = "{} returned nothing; is there a `return`?"


class TooLong(BaseException):
    """An error raised in a function that ran for too long. Not an Exception: a student's `except Exception` must not
    swallow it."""


class Misfit(AssertionError):
    """An error: a student's function returned something of another kind than the check can judge."""


def seconds(ask: Callable[..., Any]) -> float:
    """Return the time limit of a check."""
    return SLOW if hasattr(sys.modules.get(ask.__module__), "prepare") else LIMIT


@contextlib.contextmanager
def limited(limit: float) -> Iterator[None]:
    """Raise TooLong in the body after `limit` seconds. Without a limit outside of the main thread, which alone gets signals."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise TooLong
    before = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)


class _Short(io.TextIOBase):
    """Passes the first characters on and counts the lines of the rest."""

    def __init__(self, out: Any) -> None:
        self.out, self.room, self.more = out, PRINTED, 0

    def write(self, text: str) -> int:
        if self.room:
            self.out.write(text[:self.room])
            self.more += text[self.room:].count("\n")
            self.room = max(0, self.room - len(text))
        else:
            self.more += text.count("\n")
        return len(text)

    def flush(self) -> None:
        self.out.flush()


@contextlib.contextmanager
def short_output() -> Iterator[None]:
    """Let the body print PRINTED characters, and say afterwards how many lines were left out."""
    short = _Short(sys.stdout)
    try:
        with contextlib.redirect_stdout(short):
            yield
    finally:
        if short.more:
            short.out.write(f"\n… and {short.more:,} more lines, not shown: check calls your function many times\n")


def misfit(ask: Callable[..., Any], answer: Any) -> str:
    """Return what is wrong with an answer that no check can judge, or ""."""
    return _misfit(_wanted(ask), answer)


def _misfit(wanted: Any, answer: Any) -> str:
    origin = typing.get_origin(wanted) or wanted
    if origin is tuple and len(parts := typing.get_args(wanted)) > 1 and Ellipsis not in parts:
        if not isinstance(answer, (tuple, list)) or len(answer) != len(parts):
            return f"{len(parts)} answers are wanted, in brackets: (first, second); you gave {_kind(answer)}"
        return next((told for told in map(_misfit, parts, answer) if told), "")
    if origin is not Callable:
        return f"{WORDS[origin]} is wanted; you gave {_kind(answer)}" if origin in WORDS and not _fits(origin, answer) else ""
    if not callable(answer):
        return f"the name of your function is wanted, without brackets behind it; you gave {_kind(answer)}"
    return _parameters(typing.get_args(wanted), answer)


def _parameters(signature: Any, answer: Callable[..., Any]) -> str:
    """Say that a function does not take as many arguments as it will get."""
    if not signature or not isinstance(signature[0], list):
        return ""
    many = len(signature[0])
    try:
        inspect.signature(answer).bind(*[None] * many)
    except TypeError:
        named = ", ".join(inspect.signature(answer).parameters) or "none"
        return f"your function gets {many} argument{'s' * (many != 1)}; its parameters are: {named}"
    except ValueError:  # a function of C that tells nothing of itself
        pass
    return ""


def typed(ask: Callable[..., Any], answer: Any) -> Any:
    """Return the answer; a function in it raises Misfit when it returns something of another kind than the check wants."""
    wanted = _wanted(ask)
    if isinstance(answer, (tuple, list)) and typing.get_origin(wanted) is tuple:
        return tuple(_typed(part, each, getattr(each, "__name__", "")) for part, each in zip(typing.get_args(wanted), answer))
    return _typed(wanted, answer)


def _typed(wanted: Any, answer: Any, name: str = "") -> Any:
    """Return the answer, looked at when it is called; `name` tells which of several functions it is."""
    result = typing.get_args(wanted)[-1] if typing.get_origin(wanted) is Callable and typing.get_args(wanted) else None
    kind = typing.get_origin(result) or result
    if kind not in WORDS or not callable(answer):
        return answer

    who = name if name.isidentifier() else "your function"

    @functools.wraps(answer)
    def looked_at(*args: Any, **named: Any) -> Any:
        said = answer(*args, **named)
        if said is None:
            raise Misfit(NOTHING.format(who))
        if not _fits(kind, said):
            raise Misfit(f"{who} returned {_kind(said)}; {_words(result)} is wanted")
        return said
    return looked_at


def result(ask: Callable[..., Any]) -> str:
    """Return in words what a student's function should return, "" if its check does not say."""
    wanted = _wanted(ask)
    returned = typing.get_args(wanted)[-1] if typing.get_origin(wanted) is Callable and typing.get_args(wanted) else None
    return _words(returned) if (typing.get_origin(returned) or returned) in WORDS else ""


def _words(wanted: Any) -> str:
    """Return an annotation in words: "a list of tuples" for list[tuple[int, int]]."""
    kind, inner = typing.get_origin(wanted) or wanted, [MANY.get(typing.get_origin(i) or i) for i in typing.get_args(wanted)]
    if kind is dict and len(inner) == 2 and all(inner):
        return f"{WORDS[dict]} from {inner[0]} to {inner[1]}"
    return f"{WORDS[kind]} of {inner[0]}" if kind in (list, set) and inner and inner[0] else WORDS[kind]


def _wanted(ask: Callable[..., Any]) -> Any:
    """Return the annotation of a check's answer; Any if there is none, or if it cannot be read."""
    try:
        found = typing.get_type_hints(ask)
        return found.get(next(iter(inspect.signature(ask).parameters), ""), Any)
    except (NameError, TypeError, ValueError):
        return Any


def _fits(kind: Any, value: Any) -> bool:
    """Say whether a check that wants `kind` can judge the value. Lists, tuples and sets are one kind: checks compare them."""
    if kind in (list, tuple, set):
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    if kind in (int, float):
        return isinstance(value, Number) or hasattr(value, "item")
    if kind is bool:
        return value is not None and not isinstance(value, str) and not callable(value)
    return isinstance(value, {dict: Mapping, bytes: (bytes, bytearray, memoryview)}.get(kind, kind))


def _kind(value: Any) -> str:
    """Return a value in short, with the name of its type."""
    if value is None:
        return "nothing (None)"
    if callable(value):
        return f"a function, {getattr(value, '__name__', '')}"
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:38] + '…'}, of type {type(value).__name__}"
