"""The facts about a cluster at a moment, as its trace told them.

`fold.py` puts one event after the other into a RunState. No broker is asked and nothing is drawn here: the state holds facts in
the words of the trace, `compose.py` makes a frame of them. A field that the trace lacks (Apache's brokers are only polled, older
runs tell less) stays None.

Owns: all facts that were folded; `copy` gives an independent RunState (checkpoints).
Invariants
  I-STATE-1  the state is a function of the events in their order: folding at once or in steps gives the same
  I-STATE-2  a broker's death takes what it believed, never what its log holds
"""
from __future__ import annotations

from typing import Any

from minikafka.lab.picture.facts.clients import ConsumerFacts, GroupFacts, ProducerFacts
from minikafka.lab.picture.facts.conditions import Conditions
from minikafka.lab.picture.facts.ledger import Account, Part
from minikafka.lab.picture.facts.partitions import PartitionFacts
from minikafka.lab.picture.facts.queries import QueryFacts
from minikafka.lab.picture.facts.quorum import QuorumFacts

Event = dict[str, Any]
LAG, SESSION = "replica.lag.time.max.ms", "broker.session.timeout.ms"


class RunState:
    """Everything folded so far; `t` is the time of the last event, by the trace's clock."""

    def __init__(self) -> None:
        self.t = 0.0
        self.brokers: tuple[int, ...] = ()             # nodes that serve clients, in order
        self.conditions = Conditions()
        self.partitions: dict[str, PartitionFacts] = {}
        self.quorum = QuorumFacts()
        self.producers: dict[str, ProducerFacts] = {}
        self.consumers: dict[str, ConsumerFacts] = {}
        self.groups: dict[str, GroupFacts] = {}
        self.queries: dict[str, QueryFacts] = {}
        self.account = Account()
        self.config: dict[str, float] = {}             # Kafka's name -> milliseconds

    def copy(self) -> RunState:
        other = RunState()
        other.t, other.brokers = self.t, self.brokers
        other.conditions, other.quorum = self.conditions.copy(), self.quorum.copy()
        other.partitions = {name: each.copy() for name, each in self.partitions.items()}
        other.producers = {name: each.copy() for name, each in self.producers.items()}
        other.consumers = {name: each.copy() for name, each in self.consumers.items()}
        other.groups = {name: each.copy() for name, each in self.groups.items()}
        other.queries = {name: each.copy() for name, each in self.queries.items()}
        other.account, other.config = self.account.copy(), self.config.copy()
        return other

    def forget(self, tp: str) -> None:
        """Forget a deleted topic. A later topic of the same name begins at offset 0 and epoch 0."""
        del self.partitions[tp]
        self.account.forget(tp)
        for group in self.groups.values():
            group.committed.pop(tp, None)
        for producer in self.producers.values():
            producer.forget(tp)
        for consumer in self.consumers.values():
            consumer.positions.pop(tp, None)

    # --- questions ------------------------------------------------------------------------------------------------

    def partition(self, name: str) -> PartitionFacts:
        if name not in self.partitions:
            self.partitions[name] = PartitionFacts(name)
        return self.partitions[name]

    def seconds(self, name: str) -> float | None:
        """Return a setting in seconds; None if the trace does not tell it."""
        value = self.config.get(name)
        return None if value is None else value / 1000

    def present_parts(self, tp: str, start: int, end: int) -> tuple[Part, ...]:
        """Return which records stand at these offsets in the log that counts."""
        known = self.partitions.get(tp)
        log = known.reference if known is not None else None
        return ((None, start, end),) if log is None else tuple(log.parts(start, end)) or ((None, start, end),)

    def named(self, node: int) -> str:
        """Return what a node is called: one that votes and serves no clients is a controller."""
        votes = node in (self.quorum.voters or ()) and node not in self.brokers
        return f"{'controller' if votes else 'broker'} {node}"

    def know(self, broker: int) -> None:
        if broker not in self.brokers:
            self.brokers = tuple(sorted((*self.brokers, broker)))
