"""Odd answers to every exercise: whatever a student hands in, or whatever the function returns or raises, the verdict says so
in the words of the exercise.

The exercises are those that are registered, so a new one is tried from its first day on.
"""
from __future__ import annotations

import builtins
import importlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minikafka.lab import exercise, wants
from minikafka.lab.verdict import Outcome

LABS = (*range(15), 20, 21, 22, 23)
# Behind the session stands an argument of 11.1, the name of Spark's source.
INSIDE = re.compile(r"(?<!SparkSession, ')minikafka|Traceback|<lambda>|<locals>|\b0x[0-9a-f]{6,}"
                    r"|/(?:tmp|work|home|usr|root|var)/|org\.apache|py4j"
                    r"|Plan\b|<\w* ?(?:object|function|generator|class|\w+comp|genexpr)\b|\ba object\b|\bnp\.\w+\("
                    r"|function lambda|Empty DataFrame")
LONG = 300   # letters of a refusal
SPARK = ("11.", "12.")
# 2 to 70 s of processor for all odd answers; those of labs 0, 1 on brokers.
LONGER = ("0.1", "0.3", "0.4", "0.5", "1.5", "2.5", "3.8", "4.5", "5.7", "6.6", "7.6", "8.6", "10.5", "10.6", "10.8", "14.9",
          "14.11", "14.12")


def exercises() -> Iterator[Any]:
    """Every exercise that has a check; those that need Spark, or a cluster for each answer, run in `make long`."""
    for lab in LABS:
        importlib.import_module(f"minikafka.lab.labs.lab{lab:02d}.checks")
    for name in sorted(exercise.CHECKS, key=lambda name: [*map(int, name.split("."))]):
        if name != "0.0" and int(name.split(".")[0]) in LABS:
            yield pytest.param(name, marks=pytest.mark.soak if name.startswith(SPARK) or name in LONGER else ())


class Odd:
    """What can be neither shown, nor compared, nor asked whether it is true."""

    def __repr__(self) -> str:
        raise ValueError("nobody may see this")

    __eq__ = __bool__ = __len__ = __iter__ = __hash__ = __repr__  # type: ignore[assignment]


class Plain:
    pass


def endless() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "0": lambda: 0, "-1": lambda: -1, "a number": lambda: 7.5, "NaN": lambda: float("nan"),
    "True": lambda: True, "False": lambda: False, "huge": lambda: 10 ** 5000, "complex": lambda: 1j,
    "numpy's 0": lambda: np.int64(0), "numpy's NaN": lambda: np.float64("nan"),
    "no text": lambda: "", "text": lambda: "$a$ <b>", "much text": lambda: "x" * 100_000, "bytes": lambda: b"",
    "no list": list, "a list": lambda: [1, 2], "much": lambda: list(range(100_000)), "lists": lambda: [[[]]],
    "Nones": lambda: [None, None], "texts": lambda: ["a", "b"], "pairs": lambda: [(1, 2), (3, 4)], "in itself": endless,
    "no tuple": tuple, "a pair": lambda: (1, 2), "three": lambda: (None, [], {}), "a set": lambda: {1, 2}, "...": lambda: (...,),
    "no dictionary": dict, "a dictionary": lambda: {1: 2}, "None to None": lambda: {None: None},
    "lists by text": lambda: {"a": [1]},
    "an object": Plain, "an odd object": Odd, "odd objects": lambda: [Odd(), Odd()], "odd values": lambda: {1: Odd()},
    "a class": lambda: Plain, "int": lambda: int, "a lambda": lambda: lambda x: x, "print": lambda: print, "a module": lambda: re,
    "a generator": lambda: (n for n in (1, 2)), "a generator that raises": lambda: (1 // n for n in (0, 1)),
    "an array": lambda: np.arange(4), "a table": lambda: pd.DataFrame({"a": [1, 2]}), "an empty table": pd.DataFrame,
    "a row": lambda: pd.Series([1, 2]), "an exception": lambda: ValueError("x"),
}


def returns(make: Callable[[], Any]) -> Callable[..., Any]:
    return lambda *args, **named: make()


def clears(*args: Any, **named: Any) -> list[Any]:
    """A function that empties whatever it is given."""
    for each in args:
        if hasattr(each, "clear"):
            each.clear()
    return []


def in_an_if(*args: Any, **named: Any) -> Any:
    """A function whose `return` is not reached."""
    if len(args) > 99:
        return args


def raises(kind: type[BaseException]) -> Callable[..., Any]:
    def raising(*args: Any, **named: Any) -> Any:
        try:
            raise kind("a", "b") if issubclass(kind, OSError) else kind("nothing to see")
        except TypeError:
            raise kind("utf-8", b"x", 0, 1, "no") if issubclass(kind, UnicodeError) else kind("x", [ValueError("y")]) from None
    return raising


async def later(*args: Any) -> int:
    return 1


async def later_each(*args: Any) -> Any:
    yield 1


def prints(*args: Any) -> None:
    print("a line\n" * 3000)


SPREAD = 4  # an exercise has each fourth of the common errors, the next exercise the next ones
ODD_ERRORS = (AssertionError, StopIteration, StopAsyncIteration, MemoryError, RecursionError, KeyError, OSError, TimeoutError)
ERRORS = sorted({kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)}
                - {KeyboardInterrupt}, key=lambda kind: kind.__name__)  # Ctrl-C ends the check, as it should
UNREACHED = "a return in an if"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"returns {name}": returns(make) for name, make in VALUES.items()},
    **{f"raises {kind.__name__}": raises(kind) for kind in ERRORS},
    UNREACHED: in_an_if, "takes nothing": lambda: 0, "takes much": lambda a, b, c, d, e, f, g, h, i: 0, "clears": clears,
    "later": later, "later each": later_each, "prints": prints, "a class": Plain, "int": int, "len": len,
    "a method": Plain().__init__,
    "raises in a comprehension": lambda *args: [1 // n for n in (1, 0)],
    "raises in a generator": lambda *args: sum(1 // n for n in (0,)),
    "asserts": lambda *args: (_ for _ in ()).throw(AssertionError()),
}


def answers(name: str) -> Iterator[tuple[str, Any]]:
    """Every odd value as the answer, and every odd function but for three of four common errors; several of it where several
    are wanted."""
    yield from ((what, make()) for what, make in VALUES.items())
    many, place = len(wants.parts(wants.wanted(exercise.CHECKS[name]))), sorted(exercise.CHECKS).index(name)
    common = [kind for kind in ERRORS if issubclass(kind, Exception) and kind not in ODD_ERRORS]
    elsewhere = {f"raises {kind.__name__}" for number, kind in enumerate(common) if (number + place) % SPREAD}
    yield from ((what, (function,) * many if many else function) for what, function in FUNCTIONS.items() if what not in elsewhere)


@pytest.mark.proof
@pytest.mark.slow
@pytest.mark.parametrize("name", [*exercises()])
def test_an_odd_answer_is_refused_in_the_words_of_the_exercise(name, capsys):
    """Fails if an answer ends in an exception, passes, or is told with an error, a name, an address or a path of ours, or
    with what only Python shows (`np.float64(nan)`, `<generator object ...>`); or if
    somebody is asked for a `return` that is there.
    """
    fallen = {}
    for what, answer in answers(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                verdict = exercise.check(name, answer)
                text = "\n".join([verdict.why, *verdict.excerpt])
                false = what == UNREACHED and "is there a `return`" in text
                if verdict.outcome is Outcome.PASS or INSIDE.search(text) or len(verdict.why) > LONG or false:
                    fallen[what] = repr(verdict)[:300]
            except BaseException as error:  # also what no `except Exception` stops
                fallen[what] = f"raised {error!r}"[:300]
    assert fallen == {}
