"""What watched clients told: what producers sent and learned, what consumers were handed, what groups committed.

Owns: producers, consumers and groups.
Invariants
  I-WATCHED-1  sent = acknowledged + failed + unknown + waiting, for every producer, at every moment
  a timeout or a lost connection is unknown: the record may be stored or not, and may be yet
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from minikafka.cluster.watch import PER_CLIENT

Event = dict[str, Any]
# For traces that do not say how certain a failure is: parts of the names of errors after which nobody knows.
IN_DOUBT = ("timeout", "timed", "connect", "network", "after_append", "afterappend", "cancel", "transport", "unsure",
            "unknown", "not_leader", "notleader", "storage", "_purge_inflight")


@dataclass(slots=True)
class ProducerFacts:
    """One watched producer. `waiting`: number of a record -> when it was sent."""

    sent: int = 0
    acked: int = 0
    failed: int = 0
    unknown: int = 0
    waiting: dict[Any, float] = field(default_factory=dict)
    last_latency: float | None = None
    last_error: str | None = None
    acks: int | None = None                            # -1 is "all"
    last: dict[tuple[str, int], tuple[int, int, int | None]] = field(default_factory=dict)  # (number, offset, epoch)
    last_sent: float | None = None                     # when
    early: tuple[Any, ...] = ()                        # numbers whose answer was told before the question

    def copy(self) -> ProducerFacts:
        return replace(self, waiting=self.waiting.copy(), last=self.last.copy())

    def send(self, event: Event) -> None:
        number = event.get("record", -self.sent - 1)
        self.acks = event.get("acks", self.acks)
        if number in self.early:
            self.early = tuple(each for each in self.early if each != number)
            return
        self.sent += 1
        self.waiting[number] = self.last_sent = event["t"]

    def answered(self, event: Event) -> float:
        """End the send that this answer belongs to, and return when it began."""
        number = event.get("record")
        if number is None:                             # a trace without numbers: the oldest, as answers come in order
            number = next(iter(self.waiting), None)
        elif number not in self.waiting:
            self.early = (*self.early, number)
        if number not in self.waiting:
            self.sent += 1
            return event["t"]
        return self.waiting.pop(number)

    def forget(self, tp: str) -> None:
        self.last = {place: last for place, last in self.last.items() if place[0] != tp}

    def follows(self, tp: str, number: Any, offset: int, epoch: int | None) -> bool:
        """Return False if this record stands before one that the same producer sent earlier, in one history of the log."""
        if number is None:
            return True
        place = tp, number // PER_CLIENT                     # of several clients with one name, each keeps its own order
        before = self.last.get(place)
        if before is None or number > before[0]:
            self.last[place] = (number, offset, epoch)
        if before is None:
            return True
        truncated = None not in (before[2], epoch) and epoch > before[2]   # type: ignore[operator]
        return truncated or (number > before[0]) == (offset > before[1])


@dataclass(slots=True)
class ConsumerFacts:
    """A watched consumer. `positions`: partition -> offset of the next record it will be handed.

    `process` is known of one that a notebook started as a process: "running", "killed", "died", "paused" or "left", `since` when;
    `session` in seconds.
    """

    group: str | None = None
    member: str | None = None
    positions: dict[str, int] = field(default_factory=dict)
    process: str | None = None
    since: float = 0.0
    session: float | None = None

    def copy(self) -> ConsumerFacts:
        return replace(self, positions=self.positions.copy())

    @property
    def is_dead(self) -> bool:
        return self.process in ("killed", "died")

    def lives(self) -> None:
        """Take note that a consumer of this name reads: after a death it is another one."""
        if self.is_dead:
            self.process = "running"


BROKERS_ASSIGN = ("Assigning", "Reconciling")  # states of a KIP-848 group that has not reached its target assignment


@dataclass(slots=True)
class GroupFacts:
    """A consumer group as its coordinator told it."""

    state: str | None = None
    generation: int | None = None
    members: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)             # member id -> name of the client
    assignment: dict[str, tuple[str, ...]] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)
    rebalancing: float | None = None                   # since when

    def copy(self) -> GroupFacts:
        return replace(self, committed=self.committed.copy(), assignment=self.assignment.copy(), names=self.names.copy())

    def owner(self, tp: str) -> str | None:
        """Return the member that this partition was given to; None if it was given to nobody."""
        return next(iter(self.owners(tp)), None)

    def owners(self, tp: str) -> list[str]:
        """Return the members that this partition was given to: one, but for an assignor that errs."""
        return [member for member, tps in self.assignment.items() if tp in tps]

    def unassigned(self) -> list[str]:
        """Return the partitions that no member has, of topics of which members have some."""
        given = {tp for tps in self.assignment.values() for tp in tps}
        topics = {tp.rpartition("-")[0] for tp in given}
        return [tp for tp in sorted(self.committed) if tp not in given and tp.rpartition("-")[0] in topics]


def is_in_doubt(event: Event) -> bool:
    """Return whether a failed send may have been written all the same."""
    if "certain" in event:
        return not event["certain"]
    error = str(event.get("error")).lower()
    return any(word in error for word in IN_DOUBT)
