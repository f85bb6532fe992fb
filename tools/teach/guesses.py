"""What a room needs to guess what a cell will print: the question, what stands above it, what the last cell has printed.

    for guess in guesses(lab):
        guess.exercise, guess.section, guess.text, guess.cell

Owns: how much of a section stands with its question. Invariants
  I-GUESS-1  a question has as many of the paragraphs above it as fit on a slide, from the section's beginning on at most
  I-GUESS-2  no cell of an exercise is shown, and none that answers another question
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from nbformat import NotebookNode

from tools.notebooks.build import Project
from tools.notebooks.source import Lab
from tools.website.runs import as_committed

ROOM, SHORT, FEW, WIDE = 12.5, 7, 4, 70  # lines of a slide, of one in large letters, of one that needs a story; letters of a line
LETTERS, HIGH = 78, 590            # letters of a line of code; pixels for what a cell did
LINE, CODE, GAP = 41, 30, 20       # pixels of a line of words, of a line of code, and below each
LABEL = 56
ASKED = re.compile(r'predict\("([\d.]+)"')
QUESTION = re.compile(r"\*\*[^*]+\?\*\*")
SECRET = re.compile(r"### (?:BEGIN SOLUTION|GUESS)|\b(?:reveal|check|hint|recall)\(")
NOISE = re.compile(r"# NBVAL|(?:import|from) |preset '")


@dataclass(frozen=True)
class Ran:
    """A cell that has run: the paragraph above it, its code, what it printed."""

    words: str = ""
    code: str = ""
    printed: str = ""

    @property
    def high(self) -> float:
        """Return the pixels that it takes on a slide."""
        words = LINE * _lines(self.words) if self.words else 0
        return LABEL + words + sum(LABEL + GAP + CODE * _rows(text) for text in (self.code, self.printed) if text)

    def fitting(self) -> Ran:
        """Return as much of it as a slide has room for: what it printed is left out last."""
        for one in (self, replace(self, code=""), replace(self, words="")):
            if one.high <= HIGH:
                return one
        one = Ran(printed=self.printed)
        while one.high > HIGH:
            one = Ran(printed="\n".join([*one.printed.splitlines()[:-2], "..."]))
        return one


@dataclass(frozen=True)
class Guess:
    """One prediction: number, section's title, text and the story before it in Markdown, and the last cell above it."""

    exercise: str
    section: str
    text: str
    story: str
    cell: Ran

    @property
    def long(self) -> bool:
        """Return whether it needs smaller letters."""
        return sum(map(_lines, self.text.split("\n\n"))) > SHORT


def guesses(lab: Lab) -> Iterator[Guess]:
    """Yield every prediction of a lab in the order of its cells."""
    section, above, cell = "", [""], Ran()
    for one in as_committed(lab, Project()).cells:
        if one.cell_type == "markdown":
            if found := re.findall(r"^## (.+)$", one.source, re.MULTILINE):
                section, above, cell = found[-1], [], Ran()
            above += [part for part in one.source.split("\n\n") if not part.startswith(("#", "<"))]
            continue
        for exercise in ASKED.findall(one.source):
            yield Guess(exercise, section, *_asked(above), cell)
        if ASKED.search(one.source):
            above, cell = above[-1:], Ran()
        elif not SECRET.search(one.source) and (shown := _printed(one.outputs)):
            asked = bool(above) and bool(QUESTION.search(above[-1]))
            cell = Ran("" if asked else _last(above), _plain(one.source), shown)
            above = above if asked else []


def _asked(parts: list[str]) -> tuple[str, str]:
    """Return the last question with the paragraphs above it, as many as there is room for, and where these are few, those
    before them."""
    at = max(place for place, part in enumerate(parts) if QUESTION.search(part))
    first = _first(parts, at)
    few = sum(map(_lines, parts[first:at + 1])) <= FEW
    before = parts[_first(parts, first - 1):first] if first and few else []
    return "\n\n".join(parts[first:at + 1]), "\n\n".join(before if sum(map(_lines, before)) <= ROOM else [])


def _first(parts: list[str], at: int) -> int:
    """Return the first of the parts that end at `at` and fit on one slide; an exercise between two questions ends the story."""
    first = at
    while first and not parts[first - 1].startswith("**Your turn") and sum(map(_lines, parts[first - 1:at + 1])) <= ROOM:
        first -= 1
    return first


def _lines(part: str) -> float:
    """Return how many lines a paragraph takes, with the space below it or below each item and row."""
    words = re.sub(r"\]\([^)]*\)", "", part).splitlines()
    below = 0.2 if part.startswith("|") else 0.5 if len(words) > 1 else 0
    return sum(ceil(len(line) / WIDE) + below for line in words) + 0.5 * (len(words) == 1)


def _last(parts: list[str]) -> str:
    """Return the last paragraph, if it is one: lists and tables belong to more."""
    return parts[-1] if parts and "\n" not in parts[-1] else ""


def _printed(outputs: Iterable[NotebookNode]) -> str:
    texts = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in outputs]
    return _plain("\n".join(texts))


def _plain(text: str) -> str:
    """Return the lines without those that say the same in every lab."""
    return "\n".join(line for line in text.splitlines() if not NOISE.match(line)).strip("\n")


def _rows(text: str) -> int:
    return sum(max(1, ceil(len(line) / LETTERS)) for line in text.splitlines())
