"""Make groups, and the context that a group gets with each request.

Owns: the settings that this broker's configuration has for groups, and new member ids.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode

from minikafka.broker.config.group_and_metrics import group_value
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext
from minikafka.broker.metadata.records import GROUP
from minikafka.broker.server.node import Node


class GroupFactory:
    """Makes groups and contexts. `topics_since` is the metadata offset at which a topic was last created."""

    def __init__(self, node: Node) -> None:
        config = node.config
        self.node, self.topics_since = node, -1
        self.classic_config = GroupConfig(config["group.initial.rebalance.delay.ms"], config["group.max.size"])

    def classic(self, group_id: str) -> ClassicGroup:
        """Return a new classic group without members."""
        return ClassicGroup(group_id, self.classic_config, self._new_id)

    def restored(self, group_id: str, stored: StoredGroup) -> ClassicGroup:
        """Return the classic group of a record."""
        return ClassicGroup.restore(group_id, stored, self.classic_config, self._new_id)

    def consumer(self, group_id: str) -> ConsumerGroup:
        """Return a new consumer group without members."""
        return ConsumerGroup(group_id, self._new_short_id)

    def context(self, group_id: str) -> GroupContext:
        """Return the time, the metadata and the group's settings as they are now."""
        node, env = self.node, self.node.env
        own = node.image.configs.get((GROUP, group_id), {})

        def interval(name: str) -> int:
            return int(group_value(own, f"consumer.{name}", node.setting(f"group.consumer.{name}")))

        settings = ConsumerGroupSettings(interval("session.timeout.ms"), interval("heartbeat.interval.ms"),
                            interval("assignment.interval.ms"), node.config["group.consumer.max.size"],
                            tuple(node.config["group.consumer.assignors"]),
                            node.config["group.consumer.migration.policy"])
        return GroupContext(env.now(), env.wall_ms(), node.image, settings, self.topics_since)

    def _new_id(self) -> str:
        return str(self.node.env.uuid())

    def _new_short_id(self) -> str:
        """Return an id of 22 characters, as Kafka's Uuid shows itself."""
        return urlsafe_b64encode(self.node.env.uuid().bytes).decode().rstrip("=")
