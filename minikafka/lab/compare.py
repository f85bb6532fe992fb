"""What differs between the items of an answer and the right ones: what is left out first, then what is too much, and the order if
that alone is wrong.

Owns: the words for such a difference. Items are compared by equality alone: they need be neither hashable nor sortable.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.lab.values import shown


def difference(said: Iterable[Any], right: Iterable[Any]) -> str:
    """Return in words the first thing in which a list differs from the right one; "" if in nothing."""
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
