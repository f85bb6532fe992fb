"""The cluster seen from outside, with a look into every process: which brokers run, and what the controller has committed.

Owns: the newest committed metadata, taken from the node that has replayed most of it.
Invariants: I-SEEN-1 `image` never goes back: if the node that is ahead dies, its image is kept until another node has
              replayed as much.
            Nothing here writes to the world, or reads from anything that can fail.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.broker import Broker
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.proof.invariants.replica import Key
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.world import World


class ObservedCluster:
    """The cluster as last seen; `states`: each partition in the newest committed metadata."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes: list[int] = sorted(world.hosts)
        self.brokers: dict[int, Broker] = {}  # the latest life of each, dead ones too
        self.image: MetadataImage | None = None
        self.offset = -1
        self.states: dict[Key, PartitionRegistration] = {}
        self._before: dict[Key, PartitionRegistration] = {}

    def refresh(self) -> list[Key] | None:
        """Look which brokers run and what is committed; return the partitions that changed, None if no metadata came."""
        newest = self.image
        offset = self.offset
        for node in self.nodes:
            broker = self.world.broker(node)
            if broker is None:
                broker = self.brokers.get(node)
                if broker is None:
                    continue
            else:
                self.brokers[node] = broker
            if broker.image.offset > offset:
                newest, offset = broker.image, broker.image.offset
        if offset == self.offset:
            return None
        self.image, self.offset = newest, offset
        return self._changed()

    def _changed(self) -> list[Key]:
        assert self.image is not None
        now = {(p.topic, p.index): p for p in self.image.partitions()}
        before, self.states = self.states, now
        self._before = before
        changed = [key for key, state in now.items() if before.get(key) is not state]
        return changed + [key for key in before if key not in now]

    def change(self, key: Key) -> tuple[PartitionRegistration | None, PartitionRegistration | None]:
        """Return a partition as it was before the newest metadata and as it is now; None where there is none. A topic that was
        deleted and created again is another topic."""
        before, now = self._before.get(key), self.states.get(key)
        return (None if before is not None and now is not None and before.topic_id != now.topic_id else before), now

    def running(self, node: int) -> Broker | None:
        """Return the broker in its present life; None while it is dead."""
        return self.world.broker(node)

    def registered(self, node: int) -> Broker | None:
        """Return the broker if the life that runs is the one the controller knows, else None: only then its replicas count."""
        broker = self.running(node)
        known = self.image.brokers.get(node) if self.image is not None else None
        if broker is None or known is None or known.incarnation != broker.lifecycle.incarnation:
            return None
        return broker

    def replica(self, node: int, key: Key) -> Any:
        """Return the partition (replication/shell/partition.py) on a registered broker; None if it has none, or a failed disk."""
        broker = self.registered(node)
        partition = broker.replicas.partitions.get(key) if broker is not None else None
        return None if partition is None or partition.failed else partition

    def leads(self, seen: Any) -> bool:
        """Return whether this replica (replica.Seen) leads in the newest leader epoch."""
        state = self.states.get(seen.truth.key)
        return state is not None and state.leader == seen.node and state.leader_epoch == seen.core.leader_epoch

    def disk(self, node: int) -> SimDisk:
        return self.world.hosts[node].disk
