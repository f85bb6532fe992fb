"""A controller core with a log that commits at once: what the tests of its decisions have in common."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.controller.admin.create_topics import Creation, create_topics
from minikafka.broker.controller.controller import Controller
from minikafka.broker.metadata.image import MetadataImage, Partition
from minikafka.protocol.apis import AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest

Registration, Heartbeat, Alter = BrokerRegistrationRequest, BrokerHeartbeatRequest, AlterPartitionRequest
FEATURES = {"metadata.version": (7, 30), "eligible.leader.replicas.version": (0, 1), "transaction.version": (0, 2),
            "group.version": (0, 1)}


class World:
    """`now` is the clock; every decision's records are appended and applied at once."""

    def __init__(self, brokers: int = 3, config: dict[str, str] | None = None) -> None:
        values = {"node.id": "1", "broker.session.timeout.ms": "9000", **(config or {})}
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

    def decide(self, decision: tuple[list[Any], Any]) -> Any:
        self.append(decision[0])
        return decision[1]

    # --- brokers

    def register(self, broker: int, previous: int = -1, incarnation: int | None = None, **changes: Any) -> Any:
        self.incarnations += 1
        number = incarnation if incarnation is not None else self.incarnations
        fields = {
            "broker_id": broker, "cluster_id": "cluster", "incarnation_id": UUID(int=number), "rack": None,
            "listeners": [Registration.Listener(name="PLAINTEXT", host="h", port=9000 + broker, security_protocol=0)],
            "features": [Registration.Feature(name=n, min_supported_version=low, max_supported_version=high)
                      for n, (low, high) in FEATURES.items()],
            "is_migrating_zk_broker": False, "log_dirs": [], "previous_broker_epoch": previous}
        request = Registration(**{**fields, **changes})
        return self.decide(self.core.register_broker(request, len(self.log), self.now))

    def heartbeat(self, broker: int, offset: int | None = None, stop: bool = False, epoch: int | None = None) -> Any:
        request = Heartbeat(
            broker_id=broker, broker_epoch=self.image.brokers[broker].epoch if epoch is None else epoch,
            current_metadata_offset=len(self.log) - 1 if offset is None else offset, want_fence=False,
            want_shut_down=stop, offline_log_dirs=[])
        return self.decide(self.core.heartbeat(request, len(self.log), self.now))

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

    def create(self, name: str = "t", *replicas: list[int], **configs: str) -> Partition:
        """A topic with these replicas by partition; configs with underscores for dots. Returns partition 0."""
        topic = CreateTopicsRequest.CreatableTopic
        wanted = topic(
            name=name, num_partitions=-1, replication_factor=-1,
            assignments=[topic.CreatableReplicaAssignment(partition_index=i, broker_ids=r)
                         for i, r in enumerate(replicas or ([1, 2, 3],))],
            configs=[topic.CreatableTopicConfig(name=k.replace("_", "."), value=v) for k, v in configs.items()])
        answer = self.request_topics(wanted)
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message
        return self.partition(name)

    def request_topics(self, *topics: Any, validate_only: bool = False) -> Any:
        request = SimpleNamespace(topics=list(topics), validate_only=validate_only)
        creation = Creation(self.image, self.config, self.rng, lambda: UUID(int=self.rng.getrandbits(128)))
        return self.decide(create_topics(creation, request))

    def partition(self, topic: str = "t", index: int = 0) -> Partition:
        found = self.image.partition(topic, index)
        assert found is not None
        return found

    def alter(self, isr: list[int], topic: str = "t", index: int = 0, **changes: Any) -> Any:
        """The verdict on the leader's proposal; `changes` falsify a field of it."""
        p = self.partition(topic, index)
        broker = changes.pop("broker", p.leader)
        epochs = changes.pop("epochs", {})
        members = [Alter.TopicData.PartitionData.BrokerState(
            broker_id=r, broker_epoch=epochs.get(r, self.image.brokers[r].epoch if r in self.image.brokers else -1))
            for r in isr]
        fields = {"partition_index": index, "leader_epoch": p.leader_epoch, "new_isr_with_epochs": members,
                      "leader_recovery_state": 0, "partition_epoch": p.partition_epoch}
        proposal = Alter.TopicData.PartitionData(**{**fields, **changes})
        request = Alter(broker_id=broker, broker_epoch=self.image.brokers[broker].epoch,
                        topics=[Alter.TopicData(topic_id=p.topic_id, partitions=[proposal])])
        return self.decide(self.core.alter_partition(request)).topics[0].partitions[0]
