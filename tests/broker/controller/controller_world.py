"""A controller whose log commits at once: the kit of the tests of its decisions."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.controller.admin.create_topics import CreatedTopic, CreateTopicsContext, NewTopic, create_topics
from minikafka.broker.controller.alter_partition import IsrMember, Proposal, ProposalVerdict
from minikafka.broker.controller.controller import Controller, Registration
from minikafka.broker.controller.heartbeats import BrokerHeartbeat, HeartbeatVerdict
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import BrokerEndpoint, BrokerFeature
from minikafka.broker.server.turns import at_once
from minikafka.protocol.errors import Err, KafkaError

FEATURES = (BrokerFeature("metadata.version", 7, 30), BrokerFeature("eligible.leader.replicas.version", 0, 1),
            BrokerFeature("transaction.version", 0, 2), BrokerFeature("group.version", 0, 1))


class World:
    """`now` is the clock; every decision's records are appended and applied at once."""

    def __init__(self, brokers: int = 3, config: dict[str, str] | None = None) -> None:
        values = {"node.id": "1", "broker.session.timeout.ms": "9000", "metadata.max.idle.interval.ms": "0",
                  **(config or {})}
        self.config, self.now, self.log = BrokerConfig(values), 100.0, []
        self.core = Controller(MetadataImage("cluster"), self.config, self.now)
        self.incarnations = 0
        self.rng = random.Random(5)
        self.append(self.core.bootstrap())
        for broker in range(1, brokers + 1):
            self.join(broker)

    image = property(lambda self: self.core.image)

    def append(self, records: list[Any]) -> list[Any]:
        self.log += records
        if records:
            self.core.apply(records, len(self.log) - 1, 1)
        return records

    def decide(self, decision: Any) -> Any:
        records, answer = decision if isinstance(decision, tuple) else at_once(decision)
        self.append(records)
        return answer

    # --- brokers

    def register(self, broker: int, previous: int = -1, incarnation: int | None = None, **changes: Any) -> int:
        """The broker epoch of a registration; `changes` falsify a field of it."""
        self.incarnations += 1
        number = incarnation if incarnation is not None else self.incarnations
        fields = {"cluster_id": "cluster", "incarnation": UUID(int=number), "features": FEATURES,
                  "listeners": (BrokerEndpoint("PLAINTEXT", "h", 9000 + broker, 0),), "previous_epoch": previous}
        wanted = Registration(broker, **{**fields, **changes})
        return self.decide(self.core.register_broker(wanted, len(self.log), self.now))

    def heartbeat(self, broker: int, offset: int | None = None, stop: bool = False,
                  epoch: int | None = None) -> HeartbeatVerdict:
        heard = BrokerHeartbeat(broker, self.image.brokers[broker].epoch if epoch is None else epoch,
                          len(self.log) - 1 if offset is None else offset, want_shut_down=stop)
        return self.decide(self.core.heartbeat(heard, len(self.log), self.now))

    def join(self, broker: int, previous: int = -1) -> None:
        """Register and unfence."""
        self.register(broker, previous)
        self.heartbeat(broker)

    def silence(self, *brokers: int) -> None:
        """The session of these brokers times out; the others go on."""
        self.now += 9.5
        for broker in sorted(self.image.brokers):
            if broker not in brokers and not self.image.brokers[broker].fenced:
                self.heartbeat(broker)
        while self.append(self.core.tick(self.now)):
            pass

    # --- topics

    def create(self, name: str = "t", *replicas: list[int], **configs: str) -> PartitionRegistration:
        """A topic with these replicas by partition; configs with underscores for dots. Returns partition 0."""
        wanted = NewTopic(name, -1, -1, list(enumerate(replicas or ([1, 2, 3],))),
                          [(key.replace("_", "."), value) for key, value in configs.items()])
        ((_, verdict),) = self.request_topics(wanted)
        assert isinstance(verdict, CreatedTopic), verdict
        return self.partition(name)

    def request_topics(self, *topics: NewTopic, validate_only: bool = False) -> list[tuple[str, CreatedTopic | KafkaError]]:
        ctx = CreateTopicsContext(self.image, self.config, self.rng, lambda: UUID(int=self.rng.getrandbits(128)))
        return self.decide(create_topics(ctx, topics, validate_only))

    def partition(self, topic: str = "t", index: int = 0) -> PartitionRegistration:
        found = self.image.partition(topic, index)
        assert found is not None
        return found

    def alter(self, isr: list[int], topic: str = "t", index: int = 0, **changes: Any) -> PartitionRegistration | Err:
        """The partition after the leader's proposal, or its refusal; `changes` falsify a field of the proposal."""
        p = self.partition(topic, index)
        broker = changes.pop("broker", p.leader)
        epochs = changes.pop("epochs", {})
        members = tuple(IsrMember(r, epochs.get(r, self.image.brokers[r].epoch if r in self.image.brokers else -1))
                        for r in isr)
        fields = {"leader_epoch": p.leader_epoch, "partition_epoch": p.partition_epoch, "recovering": False}
        proposal = Proposal(index, isr=members, **{**fields, **changes})
        ((_, verdicts),) = self.decide(self.core.alter_partition(
            broker, self.image.brokers[broker].epoch, [(p.topic_id, [proposal])]))
        assert verdicts == [ProposalVerdict(index, verdicts[0].outcome)]
        return verdicts[0].outcome
