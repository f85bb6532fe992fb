"""The brokers of a lone controller: they register, are heard, stop, fall silent and come back, and send what makes no sense.

Owns: what each broker says of itself. Invariants: I-ALONE-7 no producer id is given out twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import UUID

from minikafka.broker.controller.controller import Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat, HeartbeatVerdict
from minikafka.broker.metadata.records import BrokerEndpoint, BrokerFeature
from minikafka.proof.small_worlds.controller.administrator import BROKERS, SUPPORTED
from minikafka.proof.small_worlds.controller.cluster_seen import ClusterSeen
from minikafka.proof.small_worlds.controller.lone_controller import CLUSTER, LoneController
from minikafka.protocol.errors import Err

ID_BLOCK = 1000
RACKS = ((None,) * 5, (None,) * 5, ("a", "a", "b", "b", "c"), ("a", "a", "a", "b", "b"), ("a", "b", "c", None, None))


@dataclass
class LoneBroker:
    """One broker as a controller sees it: what it says of itself, and whether it says anything."""

    id: int
    rack: str | None
    incarnation: int = 0
    epoch: int = -1
    runs: bool = False
    stops: bool = False  # it wants to
    clean_epoch: int = -1  # of the life before, if it ended well
    has_read: int = -1


class LoneBrokers(LoneController):
    """A controller, and five brokers that know nothing but what it tells them."""

    def __init__(self, rng: Random, elr: bool, file: dict[str, str]) -> None:
        super().__init__(rng, elr, file)
        self.brokers = [LoneBroker(id, rack) for id, rack in zip(BROKERS, rng.choice(RACKS))]
        self.lives, self.ids = 0, 0

    def start(self, broker: LoneBroker, **changes: Any) -> None:
        """Register a new life of a broker; `changes` falsify a field."""
        self.lives += 1
        wanted = Registration(
            broker.id, CLUSTER, UUID(int=self.lives), (BrokerEndpoint("PLAINTEXT", "h", 9000 + broker.id, 0),),
            tuple(BrokerFeature(name, *levels) for name, levels in SUPPORTED.items()), broker.rack,
            tuple(UUID(int=100 + n) for n in range(self.rng.choice((0, 1, 1, 2)))), broker.clean_epoch)
        epoch = self.register(replace(wanted, **changes))
        if epoch is not None and not isinstance(epoch, Err):
            broker.incarnation, broker.epoch, broker.runs = replace(wanted, **changes).incarnation.int, epoch, True
            broker.stops, broker.clean_epoch = False, -1

    def register(self, wanted: Registration) -> Any:
        return self.decide(f"{wanted}", lambda: self.controller.register_broker(wanted, self.length, self.now),
                           lambda before: self.book.registers(before, wanted, self.length, self.now))

    def beat(self, broker: LoneBroker, **changes: Any) -> None:
        """Send the heartbeat of a broker, which mostly has read all metadata; `changes` falsify a field."""
        if self.rng.random() < 0.8:
            broker.has_read = self.length - 1
        wants = {"want_shut_down": True} if broker.stops else {}
        heard = replace(BrokerHeartbeat(broker.id, broker.epoch, broker.has_read, **wants), **changes)
        answer = self.decide(f"{heard} at {self.now}", lambda: self.controller.heartbeat(heard, self.length, self.now),
                             lambda before: self.book.beats(before, heard, self.length, self.now), told_of_heartbeat)
        if isinstance(answer, HeartbeatVerdict) and answer.should_shut_down:
            broker.runs, broker.clean_epoch = False, broker.epoch
        elif answer is Err.STALE_BROKER_EPOCH and "broker_epoch" not in changes:
            broker.runs = False

    def one_beat(self) -> None:
        """Let one broker send its heartbeat."""
        broker = self.rng.choice(self.brokers)
        if broker.runs:
            self.beat(broker)

    def fate(self) -> None:
        """Let a broker start, begin to stop, or fall silent."""
        broker, what = self.rng.choice(self.brokers), self.rng.random()
        if not broker.runs:
            self.start(broker)
            self.beat(broker)
        elif what < 0.25:
            broker.stops = True
            self.beat(broker)
        elif what < 0.4:
            broker.runs = False
            if what < 0.35:
                self.silence()

    def silence(self) -> None:
        """Let as much time pass as it takes to fence those that do not run; the others are heard in time."""
        for _ in range(3):
            self.now += 4
            for broker in self.brokers:
                if broker.runs:
                    self.beat(broker)
        self.due()

    def odd_broker(self) -> None:
        """Send what makes no sense, or comes too early, too late, or twice."""
        broker, rng = self.rng.choice(self.brokers), self.rng
        known = self.controller.image.brokers.get(broker.id)
        what = rng.randrange(8)
        if what == 0:
            self.start(broker, cluster_id="another")
        elif what == 1:
            level = rng.choice((BrokerFeature("metadata.version", 7, 29), BrokerFeature("metadata.version", 31, 32)))
            self.start(broker, features=rng.choice(((), (level,))))
        elif what == 2 and known is not None and not known.in_controlled_shutdown:
            self.start(broker, incarnation=known.incarnation, previous_epoch=-1)  # the same life again
        elif what == 3 and known is not None:
            self.start(broker, previous_epoch=rng.choice((known.epoch, known.epoch - 1)))
        elif what == 4:
            self.beat(broker, broker_epoch=broker.epoch + rng.choice((1, -1)))
        elif what == 5:
            self.beat(broker, want_fence=True, want_shut_down=rng.random() < 0.5)
        elif what == 6 and known is not None:
            self.beat(broker, metadata_offset=known.registration_offset - rng.choice((0, 1)), want_shut_down=False)
        elif what == 7 and rng.random() < 0.8:
            self.unregister(rng.choice((broker.id, 9)))

    def unregister(self, broker: int) -> None:
        """Take a broker out of the cluster."""
        self.decide(f"UnregisterBroker {broker}", lambda: (self.controller.unregister_broker(broker), None),
                    lambda before: self.book.unregisters(before, broker))

    def take_ids(self) -> None:
        """Let a broker take producer ids, perhaps with an epoch that is not its own."""
        broker = self.rng.choice(self.brokers)
        epoch = broker.epoch + self.rng.choice((0, 0, 1))

        def rule(before: ClusterSeen) -> tuple[Any, ClusterSeen]:
            if broker.id not in before.brokers or before.brokers[broker.id].epoch != epoch:
                return Err.STALE_BROKER_EPOCH, before
            after = before.draft()
            after.next_producer_id = self.ids + ID_BLOCK
            return range(self.ids, self.ids + ID_BLOCK), after

        self.decide("AllocateProducerIds", lambda: self.controller.allocate_producer_ids(broker.id, epoch), rule)
        self.ids = self.look().next_producer_id


def told_of_heartbeat(answer: HeartbeatVerdict) -> tuple[bool, bool, bool]:
    return (answer.caught_up, answer.fenced, answer.should_shut_down)
