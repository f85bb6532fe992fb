"""I23: each decision of the brokers is one that its rule allows. The rule is asked a second time, in other words.

    @decision(Replica, "check_append")
    def may_append(replica, acks):
        yield                                       # here the broker decides; a refusal (KafkaError) ends the matter
        if not replica.is_leader:
            return "a broker that does not lead takes records"      # what is wrong; None if nothing is

Other invariants see the harm that a wrong decision does, and mostly several things must go wrong before harm is done. A decision
itself is made thousands of times in a run. Between its parts, a check may look at what was before, and gets the result.

Owns: the list of decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

Check = Generator[None, Any, str | None]


class CheckedDecision(NamedTuple):
    """A method or property of a class, or a function as a module calls it, and the check of what it decides."""

    owner: Any
    name: str
    check: Callable[..., Check]

    def __str__(self) -> str:
        return f"{self.owner.__name__.rpartition('.')[2]}.{self.name}"


DECISIONS: list[CheckedDecision] = []


def decision(owner: Any, name: str) -> Callable[[Callable[..., Check]], Callable[..., Check]]:
    """Register the decorated check of the decision `owner.name`."""
    def register(check: Callable[..., Check]) -> Callable[..., Check]:
        DECISIONS.append(CheckedDecision(owner, name, check))
        return check
    return register
