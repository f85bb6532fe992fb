"""The metadata applied to this broker's partitions: each is hosted, given its role, configured, and given up as the image says.

Owns: whether this process's own registration has been replayed.
Invariants
  I-PUB-1  nothing is made of metadata before this process's own registration has been replayed: what stands before it
           in the log is the past, and acting on it could delete logs that live again later.
  An error in one partition keeps no other from its role (I-REP-2 in replica_manager.py).
What Kafka does differently: one publisher tells every part of the broker; here broker.py does that.
Source: BrokerMetadataPublisher, ReplicaManager.applyDelta.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from uuid import UUID

from minikafka.broker.metadata.records import TOPIC_RESOURCE
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import Key, ReplicaManager
from minikafka.broker.server.node import Node
from minikafka.broker.server.turns import pace
from minikafka.protocol.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.broker.controller.shell.broker_lifecycle import Lifecycle
    from minikafka.broker.metadata.image import Changes, MetadataImage, PartitionRegistration

log = logging.getLogger("minikafka.replicas")


class MetadataPublisher:
    """Makes the partitions of one broker follow the image."""

    def __init__(self, node: Node, replicas: ReplicaManager, lifecycle: Lifecycle) -> None:
        self.node, self.env, self.replicas, self.lifecycle = node, node.env, replicas, lifecycle
        self.caught_up = False                         # our own registration has been replayed (I-PUB-1)

    async def publish(self, image: MetadataImage, changes: Changes) -> None:
        """Follow the image after a batch of committed records."""
        self._forget_configs(changes)
        if self.caught_up:
            await self._publish_changes(image, changes)
        elif self._registered(image):
            self.caught_up = True
            await self._apply_all(image, [(state.topic, state.index) for state in image.partitions()])
            await self._discard_strays()

    def _registered(self, image: MetadataImage) -> bool:
        own = image.brokers.get(self.node.node_id)
        return own is not None and own.incarnation == self.lifecycle.incarnation

    async def _publish_changes(self, image: MetadataImage, changes: Changes) -> None:
        for topic in changes.deleted.values():
            await self._delete([(topic.name, index) for index in topic.partitions], topic.id)
        await self._apply_all(image, list(changes.partitions))
        if changes.configs:
            await self._reconfigure(changes)
        if changes.brokers:
            self.replicas.check_isr()                  # which brokers are eligible for the ISR has changed

    # --- roles ----------------------------------------------------------------------------------------------------

    async def _apply_all(self, image: MetadataImage, keys: list[Key]) -> None:
        own = (key for key in keys if (state := image.partition(*key)) is not None and self.node.node_id in state.replicas)
        await self.replicas.log_manager.make_folders(own)
        for key in keys:
            state = image.partition(*key)
            if state is not None:
                with self.replicas.contained(*key):
                    self._apply(state)
                await pace()

    def _apply(self, state: PartitionRegistration) -> None:
        """Host a partition of the image, stop hosting it, or change its role."""
        hosted = self.replicas.partitions.get((state.topic, state.index))
        if hosted is not None and hosted.topic_id != state.topic_id:
            self._delete_one(hosted)
            hosted = None
        if self.node.node_id not in state.replicas:
            if hosted is not None:
                self._delete_one(hosted)
            return
        partition = hosted or self.replicas.host(state.topic, state.topic_id, state.index)
        try:
            partition.carry_out(partition.replica.on_metadata(state, self.env.now()))
        except KafkaError as error:
            log.error("%s: cannot take its new role: %s", partition.name, error)
        self.replicas.tell_role(partition)

    # --- deletion -------------------------------------------------------------------------------------------------

    async def _delete(self, keys: list[Key], topic_id: UUID) -> None:
        """Give up partitions of a topic that is gone. The checkpoints forget all of them at once."""
        gone: list[Key] = []
        logs = self.replicas.log_manager
        for key in keys:
            partition = self.replicas.partitions.get(key)
            if partition is not None and partition.topic_id == topic_id:
                with self.replicas.contained(*key):
                    self.replicas.give_up(partition)
                    gone.append(key)
                await pace()
        logs.checkpoints.removed(gone)
        for key in gone:
            with self.replicas.contained(*key):
                logs.set_aside(*key)
            await pace()

    def _delete_one(self, partition: Partition) -> None:
        """Give up a partition of which this broker is no replica any more."""
        self.replicas.give_up(partition)
        self.replicas.log_manager.delete(partition.topic, partition.index)

    async def _discard_strays(self) -> None:
        """Discard the logs that the metadata does not name."""
        logs = self.replicas.log_manager
        for key in list(logs.unclaimed):
            with self.replicas.contained(*key):
                logs.discard(*key)
            await pace()

    # --- configuration --------------------------------------------------------------------------------------------

    def _forget_configs(self, changes: Changes) -> None:
        """Compute again the configs of the changed topic, or of all topics if a broker default changed."""
        if not self.caught_up or _of_brokers(changes):
            self.replicas.log_manager.forget_configs()
        self.replicas.log_manager.forget_configs(
            [*(topic.name for topic in changes.deleted.values()), *(name for _, name in changes.configs)])

    async def _reconfigure(self, changes: Changes) -> None:
        everything = _of_brokers(changes)
        for partition in self.replicas.hosted():
            if everything or (TOPIC_RESOURCE, partition.topic) in changes.configs:
                with self.replicas.contained(partition.topic, partition.index):
                    self.replicas.configure(partition)
                await pace()


def _of_brokers(changes: Changes) -> bool:
    return any(kind != TOPIC_RESOURCE for kind, _ in changes.configs)
