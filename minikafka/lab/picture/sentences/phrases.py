"""How the picture's sentences name brokers, offsets and spans of time.

Owns: nothing.
"""
from __future__ import annotations

from collections.abc import Iterable


def listed(items: Iterable[object]) -> str:
    """Return a list in words: 1 / 1 and 2 / 1, 2 and 3."""
    *first, last = [str(item) for item in items] or ["nobody"]
    return f"{', '.join(first)} and {last}" if first else last


def brokers(ids: Iterable[int]) -> str:
    """Return brokers in words: broker 1 / brokers 1 and 2."""
    known = sorted(ids)
    return f"broker{'s' if len(known) != 1 else ''} {listed(known)}"


def upper(text: str) -> str:
    """Return the text with a capital, as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def seconds(value: float) -> str:
    """Return a length of time: 7.2 s; whole seconds from 10 s on without a point, nothing below 0."""
    rounded = round(max(0.0, value), 1)
    return f"{rounded:.0f} s" if rounded == int(rounded) and rounded >= 10 else f"{rounded:.1f} s"


def limit(value: float) -> str:
    """Return a setting in seconds: 10 s / 0.5 s."""
    return f"{value:g} s"


def offsets(start: int, end: int) -> str:
    """Return [47, 51) as 47-50, [47, 48) as 47."""
    return str(start) if end - start == 1 else f"{start}-{end - 1}"


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: 1 record / 1,208 records."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
