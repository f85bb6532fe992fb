"""A batch of a numbered producer as exercise 10.3 gets it, and the answer to it in one form.

Here and not beside the check, because brokers call the student's function too (lab/inside/sequences.py).
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Number
from typing import Any

from minikafka.lab import wants
from minikafka.lab.values import shown

WORDS = ("append", "duplicate", "out of order", "fenced")
Answer = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it arrives: whose it is, the sequence of its first record, and how many records it has."""

    producer: int
    epoch: int
    sequence: int
    count: int

    @property
    def last(self) -> int:
        return self.sequence + self.count - 1


def pair(said: Iterable[Any]) -> Answer:
    """Return the word and the offset of an answer; letters, blanks and lines between words may be as one likes."""
    pair = tuple(said)
    if len(pair) != 2 or not isinstance(pair[0], str):
        raise AssertionError(f"a pair of a word and an offset is wanted, such as ('append', 0); you returned {shown(said)}")
    word, offset = " ".join(re.split(r"[\s_-]+", pair[0].lower())).strip(), pair[1]
    if word not in WORDS:
        raise AssertionError(f"{shown(pair[0])} is none of the four words: {', '.join(map(repr, WORDS))}")
    if offset is not None and not isinstance(offset, Number):
        raise AssertionError(f"behind {word!r} stands {wants.kind(offset)}; an offset is a number, or None where nothing is "
                             "stored")
    return word, offset
