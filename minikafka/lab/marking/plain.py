"""Values as text that carries data and no code, between the process of a check and that of a student's code.

    encoded({1: [2, (3,)]})           text of one line, ASCII
    decoded(text)                     the value again; whatever the text is, no code of its writer runs

Plain are numbers, texts, bytes, None, times, paths, lists, tuples, sets, dictionaries and the labs' own dataclasses and
enumerations of such values. A pickle would be shorter, and runs what its writer likes.

Owns: which values are plain. Invariant
  what is decoded has the types of the list above, exactly: a student's class with an `__eq__` of its own never crosses
"""
from __future__ import annotations

import dataclasses
import enum
import itertools
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

OURS = "minikafka."
SINGLE = (type(None), bool, int, float, str)
MANY: dict[str, Callable[..., Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque}
PAIRS: dict[str, Callable[..., Any]] = {"dict": dict, "Counter": Counter}
BYTES: dict[str, Callable[..., Any]] = {"bytes": bytes, "bytearray": bytearray}
WORDS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {     # kinds whose values are written as a text
    "datetime": (datetime.isoformat, datetime.fromisoformat), "PosixPath": (str, Path)}
MOST = 100_000      # items of an iterator


class Unplain(TypeError):
    """An error raised for a value that is not plain, or for text that is none of these values."""


def encoded(value: Any, other: Callable[[Any], Any] | None = None, lend: bool = False) -> str:
    """Return a value as text. `other` makes data of what is not plain; without it Unplain is raised. `lend`: what is not plain
    may be the plain value that says the same (lent)."""
    return json.dumps(_packed(value, other or _refuse, lent if lend else _same))


def decoded(text: str, other: Callable[[Any], Any] | None = None) -> Any:
    """Return the value of a text. `other` gets back what the `other` of `encoded` made."""
    try:
        return _unpacked(json.loads(text), other or _refuse)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as error:
        raise Unplain(str(error)) from None


def lent(value: Any) -> Any:
    """Return what a student's function returned as the plain value that says the same: a number of numpy as a number, a named
    tuple as a tuple, an iterator as a list of its items."""
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if base := next((kind for kind in (int, float, str, tuple, list, set, frozenset) if isinstance(value, kind)), None):
        return base(value) if base not in (int, str) else int.__int__(value) if base is int else str.__str__(value)
    lazy = type(value).__module__ in ("builtins", "itertools") and not hasattr(value, "__getitem__")     # a consumer has no end
    if isinstance(value, range) or lazy and isinstance(value, Iterable):
        return [*itertools.islice(value, MOST)]
    return value


def _same(value: Any) -> Any:
    return value


def _refuse(value: Any) -> Any:
    raise Unplain(f"{type(value).__name__} is not plain")


def _packed(value: Any, other: Callable[[Any], Any], simple: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind in SINGLE:
        return value
    for kinds in (MANY, BYTES, PAIRS):
        if kinds.get(kind.__name__) is kind:
            if kinds is BYTES:
                return [kind.__name__, value.hex()]
            items = value.items() if kinds is PAIRS else value
            return [kind.__name__, [_packed(list(each) if kinds is PAIRS else each, other, simple) for each in items]]
    if kind in (datetime, type(Path())):
        return [kind.__name__, WORDS[kind.__name__][0](value)]
    where = [kind.__module__, kind.__qualname__]
    if kind.__module__.startswith(OURS) and isinstance(value, enum.Enum):
        return ["enum", where, value.name]
    if kind.__module__.startswith(OURS) and dataclasses.is_dataclass(kind):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
        return ["made", where, _packed(fields, other, simple)]
    if (plainer := simple(value)) is not value:
        return _packed(plainer, other, simple)
    return ["other", other(value)]


def _unpacked(data: Any, other: Callable[[Any], Any]) -> Any:
    if type(data) in SINGLE:
        return data
    kind, *rest = data
    if kind in MANY:
        return MANY[kind](_unpacked(each, other) for each in rest[0])
    if kind in PAIRS:
        return PAIRS[kind](dict(_unpacked(pair, other) for pair in rest[0]))
    if kind in BYTES:
        return BYTES[kind](bytes.fromhex(rest[0]))
    if kind in WORDS:
        return WORDS[kind][1](rest[0])
    if kind == "enum":
        return _ours(*rest[0], enum.Enum)[rest[1]]
    if kind == "made":
        made = object.__new__(found := _ours(*rest[0], object))
        fields = _unpacked(rest[1], other)
        for field in dataclasses.fields(found):
            object.__setattr__(made, field.name, fields[field.name])
        return made
    if kind == "other":
        return other(rest[0])
    raise Unplain(f"{kind!r} is no kind of value")


def _ours(module: str, name: str, base: type) -> Any:
    """Return a class of this package, of a module that is imported already."""
    found: Any = sys.modules[module] if module.startswith(OURS) else None
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or not issubclass(found, base) or not (base is enum.Enum or dataclasses.is_dataclass(found)):
        raise Unplain(f"{name} is no class of plain values")
    return found
