"""A moment to be looked at: the state, the clock, and which partition is chosen. Rules and composer read from it alone.

Owns: nothing; questions that more than one of them asks.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from minikafka.lab.picture.facts.clients import GroupFacts
from minikafka.lab.picture.facts.partitions import NOBODY, PartitionFacts
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.facts.state import LAG, RunState

Event = dict[str, Any]


@dataclass(slots=True)
class PictureScene:
    """The moment that is drawn. `t` and `zero` by the trace's clock; `recent` holds the events of the second before `t`."""

    state: RunState
    t: float
    zero: float
    tp: str | None
    recent: list[Event] = field(default_factory=list)

    @property
    def chosen(self) -> PartitionFacts | None:
        return self.state.partitions.get(self.tp) if self.tp is not None else None

    @property
    def by_interest(self) -> Iterator[PartitionFacts]:
        """Yield the chosen partition, then those of users' topics, then the others; the metadata log only if it is chosen."""
        if self.chosen is not None:
            yield self.chosen
        for name in names(self.state):
            if name not in (self.tp, METADATA):
                yield self.state.partitions[name]

    def runs(self, broker: int) -> bool:
        return self.state.conditions.works(broker)

    def behind_for(self, partition: PartitionFacts, follower: int) -> float | None:
        """Return the seconds since the leader saw this follower caught up; 0 if it is; None if that is not known."""
        replica, leader = partition.replicas.get(follower), partition.leader
        if replica is None or leader is None or leader == NOBODY or follower == leader or replica.log.end is None:
            return None
        if partition.log_end is None or partition.replicas[leader].polled or not self.runs(leader):
            return None                                # a dead or paused leader judges nobody
        if follower not in (partition.isr or ()) and not self.runs(follower):
            return None                                # a broker that is gone and out of the ISR is not judged
        since = partition.behind_since(follower)
        return 0.0 if since is None else max(0.0, self.t - since)

    def next_check(self, partition: PartitionFacts, follower: int) -> float | None:
        """Return the seconds until the leader checks its followers again; None if that is not known."""
        told = partition.behind.get(follower)
        if told is None or told.check is None or not told.every:
            return None
        ahead = told.check - self.t
        return ahead if ahead >= 0 else ahead % told.every

    def called(self, group: GroupFacts) -> dict[str, str]:
        """Return member id -> the watched client's name, or what the client calls itself, told apart where two are equal."""
        watched = {c.member: who for who, c in self.state.consumers.items() if c.member is not None}
        plain = {m: watched.get(m) or group.names.get(m) or m for m in {*group.members, *group.assignment}}
        several = {name for name in plain.values() if list(plain.values()).count(name) > 1}
        return {m: f"{name}-{m[-4:]}" if name in several else name for m, name in plain.items()}

    @property
    def lag_limit(self) -> float | None:
        return self.state.seconds(LAG)

    def believers(self, partition: PartitionFacts) -> list[int]:
        """Return the running brokers that act as leaders of this partition."""
        return [b for b, r in sorted(partition.replicas.items())
                if r.role == "leader" and not r.polled and not self.state.conditions.is_down(b)]


def names(state: RunState) -> list[str]:
    """Return every partition by name: users' topics first, then the metadata log, then internal topics."""
    def rank(name: str) -> tuple[int, str, int]:
        topic, _, index = name.rpartition("-")
        return (0 if not topic.startswith("__") else 1 if name == METADATA else 2), topic, int(index)
    return sorted(state.partitions, key=rank)
