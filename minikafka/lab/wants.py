"""What a check wants, read from the annotation of its own answer, and in words what an answer lacks.

    def high_watermark(answer: Callable[[Ends, list[int]], int]) -> str

wants a function of two arguments that returns a number. Where the annotation says Any, a union or a class of a lab, nothing is
refused here.

Owns: the words for types.
"""
from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any

from minikafka.lab.values import shown

WORDS: dict[Any, str] = {int: "a number", float: "a number", str: "text", bool: "True or False", dict: "a dictionary",
                         list: "a list", tuple: "a tuple", bytes: "bytes", set: "a set"}
MANY: dict[Any, str] = {int: "numbers", float: "numbers", str: "texts", list: "lists", tuple: "tuples", bytes: "bytes"}


def wanted(ask: Callable[..., Any]) -> Any:
    """Return the annotation of a check's answer; Any if there is none, or if it cannot be read."""
    try:
        found = typing.get_type_hints(ask)
        return found.get(next(iter(inspect.signature(ask).parameters), ""), Any)
    except (NameError, TypeError, ValueError):
        return Any


def parts(wanted: Any) -> tuple[Any, ...]:
    """Return what is wanted of each of several answers; () if one is wanted."""
    found = typing.get_args(wanted) if typing.get_origin(wanted) is tuple else ()
    return found if len(found) > 1 and Ellipsis not in found else ()


def a_function(wanted: Any) -> bool:
    return (typing.get_origin(wanted) or wanted) is Callable


def result(wanted: Any) -> Any:
    """Return the type that a wanted function returns; None if no word says which."""
    returned = typing.get_args(wanted)[-1] if a_function(wanted) and typing.get_args(wanted) else None
    return returned if (typing.get_origin(returned) or returned) in WORDS else None


def admits_nothing(wanted: Any) -> bool:
    """Return whether a wanted function may return None: the annotation names None, Any or object, or there is none."""
    returned = typing.get_args(wanted)[-1] if a_function(wanted) and typing.get_args(wanted) else Any
    # collections.abc.Callable keeps None as it is, typing makes a type of it
    return returned in (None, type(None), Any, object) or type(None) in typing.get_args(returned)


def misfit(wanted: Any, answer: Any, who: str = "your function") -> str:
    """Return what is wrong with an answer that no check can judge, or ""; one of several functions is called `who`."""
    if several := parts(wanted):
        if not isinstance(answer, (tuple, list)) or len(answer) != len(several):
            return f"{len(several)} answers are wanted, in brackets: (first, second); you gave {kind(answer)}"
        names = [str(getattr(each, "__name__", "")) for each in answer]
        names = [name if name.isidentifier() else f"function {place}" for place, name in enumerate(names, 1)]
        return next((told for told in map(misfit, several, answer, names) if told), "")
    if not a_function(wanted):
        return f"{words(wanted)} is wanted; you gave {kind(answer)}" if _known(wanted) and not fits(wanted, answer) else ""
    if not callable(answer):
        return f"the name of your function is wanted, without brackets behind it; you gave {kind(answer)}"
    arguments = typing.get_args(wanted)[:1]
    return takes(answer, [None] * len(arguments[0]), who) if arguments and isinstance(arguments[0], list) else ""


def takes(function: Callable[..., Any], arguments: Iterable[Any], who: str = "your function") -> str:
    """Return "" if a function takes these arguments, and else in words how many it gets."""
    try:
        inspect.signature(function).bind(*(given := list(arguments)))
    except TypeError:
        named = ", ".join(inspect.signature(function).parameters) or "none"
        return f"{who} gets {len(given)} argument{'s' * (len(given) != 1)}; its parameters are: {named}"
    except ValueError:  # a function of C that tells nothing of itself
        pass
    return ""


def words(wanted: Any) -> str:
    """Return an annotation in words: "a list of tuples (a number, a number)" for list[tuple[int, int]]."""
    kind, inner = typing.get_origin(wanted) or wanted, [MANY.get(typing.get_origin(i) or i) for i in typing.get_args(wanted)]
    if kind is dict and len(inner) == 2 and all(inner):
        return f"{WORDS[dict]} from {inner[0]} to {inner[1]}"
    if kind is list and (of := parts(typing.get_args(wanted)[0] if inner else None)) and all(each in WORDS for each in of):
        return f"{WORDS[list]} of tuples ({', '.join(WORDS[each] for each in of)})"
    return f"{WORDS[kind]} of {inner[0]}" if kind in (list, set) and inner and inner[0] else WORDS[kind]


def _known(wanted: Any) -> bool:
    return (typing.get_origin(wanted) or wanted) in WORDS


def fits(wanted: Any, value: Any) -> bool:
    """Say whether a check that wants this can judge the value. Lists, tuples and sets are one kind: checks compare them."""
    kind = typing.get_origin(wanted) or wanted
    if kind in (list, tuple, set):
        return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, type))
    if kind in (int, float):
        number = isinstance(value, Number) or hasattr(value, "item") and not getattr(value, "ndim", 0)
        return number and bool(value == value)  # NaN is none
    if kind is bool:
        return value is not None and not isinstance(value, str) and not callable(value)
    return isinstance(value, {dict: Mapping, bytes: (bytes, bytearray, memoryview)}.get(kind, kind))


def whole(value: Any) -> int | None:
    """Return a whole number, also one that is written 4.0 or "4", as a setting may be; None if it is none."""
    try:
        number = int(value)
        return number if not isinstance(value, bool) and number == float(value) else None
    except (TypeError, ValueError, OverflowError):
        return None


def kind(value: Any) -> str:
    """Return a value in short, with the name of its type."""
    if value is None:
        return "nothing (None)"
    told = shown(value, 40)
    return told if told.startswith(("a ", "an ", "the ")) else f"{told}, of type {type(value).__name__}"
