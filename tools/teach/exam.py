"""An exam from a seed, and its key. The same seed gives the same figures, another year gives others.

Owns: which questions are drawn, and how a sheet of multiple choice and its key look. Invariants
  a key is a file of its own: on paper with two sides it never stands on the back of the last question
  a sheet does not name its seed, for whoever knows it can make the key; a number says which key belongs to it
"""
from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from html import escape
from random import Random
from zlib import crc32

from tools.teach.kinds import KINDS, Question
from tools.teach.paper import page, table

LETTERS = "abcdef"
LABS = range(15)
TRIES = 20  # draws for a question that is not asked yet


def drawn(seed: str, each: int, labs: Container[int] = LABS) -> list[Question]:
    """Return `each` questions of each kind of these labs, in the order of the labs; fewer of a kind that has no more."""
    found = [one for name in KINDS for one in _of_kind(name, seed, each)]
    return sorted((one for one in found if one.lab in labs), key=lambda one: one.lab)


def _of_kind(name: str, seed: str, each: int) -> list[Question]:
    """Return questions of one kind, no two of which ask the same."""
    found: dict[object, Question] = {}
    for number in range(TRIES * each):
        one = KINDS[name].draw(Random(f"{seed}/{name}/{number}"))
        found.setdefault(one.asks, one)
        if len(found) == each:
            break
    return [*found.values()]


def made(name: str, ones: Sequence[Question]) -> dict[str, str]:
    """Return the files by name: the questions, and their key. `name` has the seed."""
    number = f"Exam {crc32(name.encode()) % 10_000:04}"
    intro = (f"<h1>{number}</h1><p class=name>Name</p>"
             f"<p>{len(ones)} questions. One option of each is right: mark its letter.</p>")
    rows = [("question", "right", "answer", "lab"),
            *((str(place), LETTERS[one.right], one.key, str(one.lab)) for place, one in enumerate(ones, 1))]
    key = f"<h1>Key: {number}</h1><p>Seed: {escape(name)}</p>{table(rows)}"
    return {f"exam-{name}.html": page(number, [intro, *questions(ones)]), f"exam-{name}-key.html": page(f"Key: {number}", [key])}


def questions(ones: Iterable[Question]) -> list[str]:
    """Return each question as a section; nothing in it depends on which option is right."""
    return [f"<section class=question><h2>Question {number}</h2>{one.drawing}"
            f"{table(one.table) if one.table else ''}{_list('ul', one.state)}"
            f"<p class=ask>{escape(one.ask)}</p>{_list('ol', one.options)}</section>" for number, one in enumerate(ones, 1)]


def _list(tag: str, lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<{tag}>{items}</{tag}>" if items else ""
