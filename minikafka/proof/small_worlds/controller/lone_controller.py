"""A controller without a quorum: its log commits at once, and the clock is turned by hand.

    world = LoneController(brokers=3)           three brokers are registered and unfenced
    world.create("t", [1, 2, 3])
    world.alter([1, 2])                         the leader's proposal of an ISR: the partition after it, or the refusal
    world.silence(1)                            broker 1 sends no heartbeat until it is fenced

Owns: the log, the clock `now` in seconds, and the requests of brokers as they are when nothing is wrong with them.
"""

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
from minikafka.broker.metadata.records import BrokerEndpoint, BrokerFeature, MetadataRecord
from minikafka.broker.server.turns import at_once, collected
from minikafka.protocol.errors import Err, KafkaError

CLUSTER, SESSION_S = "cluster", 9.0
SUPPORTED = {"metadata.version": (7, 30), "eligible.leader.replicas.version": (0, 1), "transaction.version": (0, 2),
             "group.version": (0, 1)}
FEATURES = tuple(BrokerFeature(name, *levels) for name, levels in SUPPORTED.items())


class LoneController:
    """A controller `core`, the records of its decisions, and its clock."""

    def __init__(self, brokers: int = 3, config: dict[str, str] | None = None) -> None:
        self.config = BrokerConfig({"node.id": "1", "broker.session.timeout.ms": str(int(SESSION_S * 1000)),
                                    "metadata.max.idle.interval.ms": "0", **(config or {})})
        self.now, self.rng, self.incarnations = 100.0, random.Random(5), 0
        self.log: list[MetadataRecord] = []
        self.core = Controller(MetadataImage(CLUSTER), self.config, self.now)
        self.append(self.core.bootstrap())
        for broker in range(1, brokers + 1):
            self.join(broker)

    @property
    def image(self) -> MetadataImage:
        return self.core.image

    def append(self, records: list[MetadataRecord]) -> list[MetadataRecord]:
        """Append and apply the records of a decision."""
        self.log += records
        if records:
            self.core.apply(records, len(self.log) - 1, 1)
        return records

    def decide(self, decision: Any) -> Any:
        """Append the records of a decision; return its answer."""
        records, answer = decision if isinstance(decision, tuple) else at_once(collected(decision))
        self.append(records)
        return answer

    # --- brokers --------------------------------------------------------------------------------------------------

    def registration(self, broker: int, **changes: Any) -> Registration:
        """Return the registration of a new incarnation; `changes` falsify a field of it."""
        self.incarnations += 1
        fields = {"cluster_id": CLUSTER, "incarnation": UUID(int=self.incarnations), "features": FEATURES,
                  "listeners": (BrokerEndpoint("PLAINTEXT", "h", 9000 + broker, 0),)}
        return Registration(broker, **{**fields, **changes})

    def register(self, broker: int, previous: int = -1, **changes: Any) -> int:
        """Register a broker; return its broker epoch."""
        wanted = self.registration(broker, previous_epoch=previous, **changes)
        return self.decide(self.core.register_broker(wanted, len(self.log), self.now))

    def heartbeat(self, broker: int, offset: int | None = None, stop: bool = False,
                  epoch: int | None = None) -> HeartbeatVerdict:
        """Send a heartbeat of a broker that has replayed the metadata up to `offset`; None: all of it."""
        heard = BrokerHeartbeat(broker, self.image.brokers[broker].epoch if epoch is None else epoch,
                                len(self.log) - 1 if offset is None else offset, want_shut_down=stop)
        return self.decide(self.core.heartbeat(heard, len(self.log), self.now))

    def join(self, broker: int, previous: int = -1) -> None:
        """Register and unfence a broker."""
        self.register(broker, previous)
        self.heartbeat(broker)

    def silence(self, *brokers: int) -> None:
        """Move the clock beyond the session timeout; only these brokers send no heartbeat."""
        self.now += SESSION_S + 0.5
        for broker in sorted(self.image.brokers):
            if broker not in brokers and not self.image.brokers[broker].fenced:
                self.heartbeat(broker)
        while self.append(self.core.tick(self.now)):
            pass

    # --- topics ---------------------------------------------------------------------------------------------------

    def create(self, name: str = "t", *replicas: list[int], **configs: str) -> PartitionRegistration:
        """Create a topic with these replicas by partition, and `configs` with underscores for dots; return partition 0."""
        wanted = NewTopic(name, -1, -1, list(enumerate(replicas or ([1, 2, 3],))),
                          [(key.replace("_", "."), value) for key, value in configs.items()])
        ((_, verdict),) = self.request_topics(wanted)
        assert isinstance(verdict, CreatedTopic), verdict
        return self.partition(name)

    def request_topics(self, *topics: NewTopic) -> list[tuple[str, CreatedTopic | KafkaError]]:
        """Send CreateTopics; return the verdicts by name."""
        ctx = CreateTopicsContext(self.image, self.config, self.rng, lambda: UUID(int=self.rng.getrandbits(128)))
        return self.decide(create_topics(ctx, topics))

    def partition(self, topic: str = "t", index: int = 0) -> PartitionRegistration:
        """Return a partition as it is registered now."""
        return self.image.topics[topic].partitions[index]

    def alter(self, isr: list[int], topic: str = "t", index: int = 0, **changes: Any) -> PartitionRegistration | Err:
        """Return the partition after the leader's proposal, or the refusal; `changes` falsify a field of the proposal."""
        p = self.partition(topic, index)
        broker, epochs = changes.pop("broker", p.leader), changes.pop("epochs", {})
        members = tuple(IsrMember(r, epochs.get(r, self.image.brokers[r].epoch if r in self.image.brokers else -1)) for r in isr)
        fields = {"leader_epoch": p.leader_epoch, "partition_epoch": p.partition_epoch, "recovering": False}
        proposal = Proposal(index, isr=members, **{**fields, **changes})
        ((_, verdicts),) = self.decide(self.core.alter_partition(
            broker, self.image.brokers[broker].epoch, [(p.topic_id, [proposal])]))
        assert verdicts == [ProposalVerdict(index, verdicts[0].outcome)]
        return verdicts[0].outcome
