"""Which brokers get the replicas of a new partition: striped over racks, and over the brokers of each rack.

Racks take turns, each partition starts one rack further; within a rack the brokers take turns, each partition starts
one broker further. Both starts are random, so that topics do not all begin at the first broker. Unfenced brokers come
before fenced ones, and the first replica, the leader, is never a fenced one.

Owns: place(). Its caller hands in the source of randomness.
Invariants: I-PLACE-1 no partition has two replicas on one broker. I-PLACE-2 its first replica is unfenced.
What Kafka does differently: cordoned log directories are left out. Source: StripedReplicaPlacer; KIP-36 (racks).
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import Any, Protocol

from minikafka.broker.metadata.image import BrokerRegistration
from minikafka.protocol.errors import Err, KafkaError


class Random(Protocol):
    """The two draws that placement makes; `random.Random` has them."""

    def randrange(self, stop: int) -> int: ...

    def shuffle(self, x: MutableSequence[Any]) -> None: ...  # Any: as random.Random has it


class _Ring:
    """Brokers that are handed out in turn; each round (one partition) starts one broker further than the round before."""

    def __init__(self, brokers: Iterable[int], rng: Random) -> None:
        self.brokers = sorted(brokers)
        self.offset = rng.randrange(len(self.brokers)) if self.brokers else 0
        self.round = self.taken = 0

    def next(self, round_: int) -> int | None:
        """Return the next broker of this round; None when all were handed out."""
        if not self.brokers:
            return None
        if round_ != self.round:
            self.round, self.taken, self.offset = round_, 0, (self.offset + 1) % len(self.brokers)
        if self.taken == len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.taken - 1 + self.offset) % len(self.brokers)]


class _Rack:
    """The brokers of one rack, the unfenced ones first."""

    def __init__(self, brokers: list[BrokerRegistration], rng: Random) -> None:
        self.fenced = _Ring((b.id for b in brokers if b.fenced), rng)
        self.unfenced = _Ring((b.id for b in brokers if not b.fenced), rng)

    def next(self, round_: int) -> int | None:
        broker = self.unfenced.next(round_)
        return self.fenced.next(round_) if broker is None else broker


class _Racks:
    """The racks, which are handed out in turn."""

    def __init__(self, brokers: list[BrokerRegistration], rng: Random) -> None:
        self.rng = rng
        names = sorted(dict.fromkeys(b.rack for b in brokers), key=lambda rack: (rack is not None, rack))
        self.racks = [_Rack([b for b in brokers if b.rack == name], rng) for name in names]
        self.unfenced = sum(not b.fenced for b in brokers)
        self.offset = rng.randrange(len(self.racks))
        self.round = 0

    def place(self, replicas: int) -> list[int]:
        """Return the replicas of the next partition, the leader first."""
        if self.round == self.unfenced and self.unfenced > 1:
            self._shuffle()         # each broker leads one partition by now: go on in another order, not in the same
        start = self.offset = self.offset % len(self.racks)
        while (leader := self.racks[start].unfenced.next(self.round)) is None:
            start = (start + 1) % len(self.racks)
        placed, index, skipped = [leader], self.offset, False
        while len(placed) < replicas:
            if index == start and not skipped:
                skipped = True      # this rack has had its turn: it gave the leader
            elif (broker := self.racks[index].next(self.round)) is not None:
                placed.append(broker)
            index = (index + 1) % len(self.racks)
        self.round += 1
        self.offset += 1
        return placed

    def _shuffle(self) -> None:
        self.rng.shuffle(self.racks)
        for rack in self.racks:
            self.rng.shuffle(rack.fenced.brokers)
            self.rng.shuffle(rack.unfenced.brokers)
        self.round = 0


def place(brokers: Iterable[BrokerRegistration], partitions: int, replicas: int, rng: Random) -> list[list[int]]:
    """Return the replicas of `partitions` new partitions, on those of all registered `brokers` that are not shutting down;
    KafkaError INVALID_REPLICATION_FACTOR if there are too few."""
    usable = [b for b in brokers if not b.in_controlled_shutdown]
    if all(b.fenced for b in usable):
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced.")
    if replicas > len(usable):
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         f"The target replication factor of {replicas} cannot be reached because only {len(usable)} "
                         "broker(s) are registered or some brokers have all their log directories cordoned.")
    racks = _Racks(usable, rng)
    return [racks.place(replicas) for _ in range(partitions)]
