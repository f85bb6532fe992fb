"""Topics that are created because a client requested their metadata or needs them (auto.create.topics.enable).

Owns: the names that are being created, so that many clients which ask at once cause one request.
Invariants: one broker has at most one request under way for a topic.
What Kafka does differently: it forwards the creation under the client's principal. Source: AutoTopicCreationManager.
"""

from __future__ import annotations

import logging

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.broker.controller.shell.controller_channel import Channel
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from minikafka.broker.server.node import Node
from minikafka.protocol.errors import Err, KafkaError

log = logging.getLogger("minikafka.topics")
TIMEOUT_MS = 30_000
CONFIGURED_BY = {OFFSETS_TOPIC: "offsets.topic", TRANSACTION_TOPIC: "transaction.state.log"}  # prefix of their configurations


class TopicCreator:
    """Creates topics in the background; the client that caused it asks again until the topic is there."""

    def __init__(self, node: Node, channel: Channel) -> None:
        self.node, self.channel = node, channel
        self._under_way: set[str] = set()

    def create(self, names: list[str]) -> None:
        """Ask the controller for the topics of `names` that are not being created yet."""
        fresh = [name for name in names if name not in self._under_way]
        if fresh:
            self._under_way.update(fresh)
            self.node.env.spawn(self._create(fresh), "create topics on demand")

    async def _create(self, names: list[str]) -> None:
        try:
            topics = [self._wanted(name) for name in names]
            request = CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=False)
            answer = await self.channel.request(request, CreateTopicsRequest.max_version, TIMEOUT_MS / 1000)
            for topic in answer.topics:
                if topic.error_code not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
                    log.warning("topic %r was not created on demand: %s", topic.name, topic.error_message)
        except (OSError, TimeoutError, KafkaError) as error:
            log.warning("topics %s were not created on demand: %s", names, error)
        except Exception as error:
            self.node.env.report(f"creating {names} on demand", error)
        finally:
            self._under_way.difference_update(names)

    def _wanted(self, name: str) -> CreateTopicsRequest.CreatableTopic:
        config = self.node.config
        prefix = CONFIGURED_BY.get(name)
        count, factor = (config["num.partitions"], config["default.replication.factor"]) if prefix is None else (
            config[f"{prefix}.num.partitions"], config[f"{prefix}.replication.factor"])
        settings: dict[str, str] = {}
        if name == OFFSETS_TOPIC:
            settings = {"cleanup.policy": "compact", "compression.type": "producer",
                        "segment.bytes": str(config[f"{prefix}.segment.bytes"])}
        elif name == TRANSACTION_TOPIC:
            settings = {"cleanup.policy": "compact", "segment.bytes": str(config[f"{prefix}.segment.bytes"]),
                        "compression.type": "uncompressed", "unclean.leader.election.enable": "false",
                        "min.insync.replicas": str(config["transaction.state.log.min.isr"])}
        topic = CreateTopicsRequest.CreatableTopic
        configs = [topic.CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        return topic(name=name, num_partitions=count, replication_factor=factor, assignments=[], configs=configs)
