"""Words for what a student's code made: a value in short, what differs from the right one, an error's text, and a sentence
without what only we need.

Owns: how values are shown in verdicts and beside guesses. Items are compared by equality alone: they need be neither hashable
nor sortable. Invariants
  I-VALUE-1  a value can always be shown: one whose repr raises, or has no end, too
  I-VALUE-2  what is shown names no module of this package, no address and no path of this machine
"""
from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

ROOM = 160     # letters of a value
LETTERS = 60   # of a text in it
MANY = 8       # items of a list
DEPTH = 4      # of lists in lists
LINE = 400     # of a line of an excerpt
WHY = 900      # of the sentence of a verdict
BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}
OBJECTS = [
    (re.compile(r"<locals>\."), ""),
    (re.compile(r"<lambda>"), "lambda"),
    (re.compile(r"<[\w ]*(function|method|generator|coroutine)(?: object)? [\w.]*?(\w+)(?: at 0x[0-9a-f]+| of [^>]*)?>"),
     r"the \1 \2"),
    (re.compile(r"<(?:[\w ]*class) '(?:\w+\.)*(\w+)'>"), r"\1"),
    (re.compile(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>"), r"a \1"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"\bminikafka(?:\.\w+)*\.(\w+)"), r"\1"),
    (re.compile(r"(?<![\w/:])(?:/[\w.+-]+)+/([\w.+-]+)"), r"…/\1"),
]
LAST = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt)\b.*)$", re.MULTILINE)


def shown(value: Any, room: int = ROOM) -> str:
    """Return a value in at most `room` letters: of a long list the first items, each of them whole as long as there is room."""
    text = ""
    for many in (MANY, 3, 1):
        if len(text := _text(value, many, DEPTH)) <= room:
            return text
    return f"{text[:room - 1]}…"


def _text(value: Any, many: int, depth: int) -> str:
    kind = type(value)
    try:
        if isinstance(value, enum.Enum):
            return _text(value.value, many, depth)
        if kind.__module__ == "numpy" and not value.ndim:  # np.float64(2.5) is 2.5
            return _text(value.item(), many, depth)
        if callable(getattr(value, "seek", None)) and hasattr(value, "read"):  # a consumer has `seek` too
            return "a file"
        if isinstance(value, PurePath):
            return f"…/{value.name}"  # I-VALUE-2
        if isinstance(value, (str, bytes)):
            return _short(repr(value[:LETTERS])) + ("…" if len(value) > LETTERS else "")
        if kind in BRACKETS or isinstance(value, dict):
            return _items(value, many, depth)
        return _short(_named(value) or clean(repr(value)))
    except Exception:  # I-VALUE-1
        return article(kind.__name__)


def _items(value: Any, many: int, depth: int) -> str:
    """Return the first items of a list, a tuple, a set or a dictionary, in its brackets."""
    if not depth:
        return "…"
    pairs = isinstance(value, dict)
    told = [": ".join(_text(each, MANY, depth - 1) for each in (item if pairs else (item,)))
            for item in itertools.islice(value.items() if pairs else value, many)]
    told += ["…"] if len(value) > many else []
    if not told and isinstance(value, (set, frozenset)):
        return "set()"
    begin, end = "{}" if pairs else BRACKETS[type(value)]
    return f"{begin}{', '.join(told)}{',' * (type(value) is tuple and len(value) == 1)}{end}"


def _named(value: Any) -> str:
    """Return the words for a function, a class, or an object that shows itself in angle brackets or in several lines; else ""."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    if callable(value) and text.startswith("<"):
        name = getattr(value, "__name__", "")
        return "a lambda" if name == "<lambda>" else f"the function {name}" if name else article(type(value).__name__)
    return article(type(value).__name__) if text.startswith("<") or "\n" in text else ""


def article(name: str) -> str:
    """Return the name of a type as one of its kind: "a list", "an int"."""
    return f"a{'n' * (name[:1].lower() in 'aeiou')} {name}"


def _short(text: str) -> str:
    return text if len(text) <= 2 * LETTERS else f"{text[:2 * LETTERS - 1]}…"


def clean(text: str, room: int = WHY) -> str:
    """Return a sentence without addresses, paths and the names of our modules, cut in its middle if it is very long."""
    for pattern, words in OBJECTS:
        text = pattern.sub(words, text)
    return text if len(text) <= room else f"{text[:room * 2 // 3]} … {text[-room // 4:]}"


def reason(error: BaseException) -> str:
    """Return what an error says, in one line: of a worker's traceback its last line, of a query the line above its plan."""
    try:
        text = str(error).strip()
    except Exception:  # I-VALUE-1
        return ""
    if "Traceback (most recent call last)" in text and (found := LAST.findall(text)):
        return str(found[-1])
    return text.partition("\n")[0].rstrip(";: ")


def difference(said: Iterable[Any], right: Iterable[Any]) -> str:
    """Return in words the first thing in which a list differs from the right one; "" if in nothing. What is left out comes
    before what is too much, and the order is last."""
    said, right = list(said), list(right)
    if left_out := rest(right, said):
        return f"you left out {some(left_out)}"
    if too_much := rest(said, right):
        return f"{some(too_much)} {'is' if len(too_much) == 1 else 'are'} too much"
    return "" if said == right else f"these are the right ones, in another order: {shown(right)} is wanted"


def rest(items: Iterable[Any], taken: Iterable[Any]) -> list[Any]:
    """Return the items that are left when each of `taken` has taken away one equal item."""
    left = list(items)
    for each in taken:
        if each in left:
            left.remove(each)
    return left


def some(items: list[Any]) -> str:
    """Return the first items in words, and how many more there are."""
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    return ", ".join(map(shown, items[:3])) + more
