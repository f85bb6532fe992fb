"""What is to be broken: for each exercise a weakened rule, the moves that a night may have, and the fewest that are known.

Owns: the goals. Invariants: `shortest` is the number of moves of a night in tests/lab/inside, and no shorter one is known
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class BrokenRule:
    """A rule to break: the exercise whose rule it is, the weakened rule with that exercise's arguments, the moves that are
    allowed and the fewest that are known."""

    exercise: str
    rule: str
    weak: Callable[..., Any]
    most: int
    shortest: int
    hint: str
    replicas: tuple[int, ...] = (1, 2, 3)
    configs: dict[str, Any] = field(default_factory=dict)


def two_are_enough(leo: dict[int, int], isr: list[int]) -> int:
    """Return a high watermark by majority: of three in sync, two must have a record."""
    return sorted(leo[broker] for broker in isr)[(len(isr) - 1) // 2]


def first_alive(now: dict[str, Any], alive: list[int]) -> int:
    """Return the first replica that lives as the leader, in sync or not."""
    return next((broker for broker in now["replicas"] if broker in alive), -1)


GOALS = {goal.exercise: goal for goal in (
    BrokenRule("6.8", "6.2", two_are_enough, most=5, shortest=3,
         hint="with this rule, who may miss a record that is acknowledged? And who must die, so that this broker leads?"),
    BrokenRule("9.10", "9.3", first_alive, most=5, shortest=3,
               hint="who may live, and lack what was acknowledged without it? And who must die then?"),
)}
