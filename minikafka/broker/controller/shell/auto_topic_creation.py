"""Topics that come into being because a client asked for them (auto.create.topics.enable).

Owns: the names that are on their way, so that many clients asking at once make one request.
Invariants: I-AUTO-1 a topic is asked of the controller at most once at a time by one broker.
What Kafka does differently: it forwards the creation under the client's principal. Source: AutoTopicCreationManager.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import CreateTopicsRequest

from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

log = logging.getLogger("minikafka.topics")
TIMEOUT_MS = 30_000
INTERNAL_TOPICS = {"__consumer_offsets": "offsets.topic", "__transaction_state": "transaction.state.log"}


class TopicCreator:
    """Creates topics in the background; who asked looks again."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._under_way: set[str] = set()

    def create(self, names: list[str]) -> None:
        """Ask the controller for those of `names` that are not on their way yet."""
        fresh = [name for name in names if name not in self._under_way]
        if fresh:
            self._under_way.update(fresh)
            self.broker.env.spawn(self._create(fresh), "create topics on demand")

    async def _create(self, names: list[str]) -> None:
        topics = [self._wanted(name) for name in names]
        request = CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=False)
        try:
            answer = await self.broker.channel.request(request, CreateTopicsRequest.max_version, TIMEOUT_MS / 1000)
            for topic in answer.topics:
                if topic.error_code not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
                    log.warning("topic %r was not created on demand: %s", topic.name, topic.error_message)
        except (OSError, TimeoutError, KafkaError) as error:
            log.warning("topics %s were not created on demand: %s", names, error)
        finally:
            self._under_way.difference_update(names)

    def _wanted(self, name: str) -> Any:
        config = self.broker.config
        count, factor = config["num.partitions"], config["default.replication.factor"]
        settings: dict[str, str] = {}
        if name in INTERNAL_TOPICS:
            count, factor = (config[f"{INTERNAL_TOPICS[name]}.{what}"] for what in ("num.partitions", "replication.factor"))
            settings = {"cleanup.policy": "compact", "segment.bytes": str(config[f"{INTERNAL_TOPICS[name]}.segment.bytes"])}
        if name == "__consumer_offsets":
            settings["compression.type"] = "producer"
        elif name == "__transaction_state":
            settings |= {"compression.type": "uncompressed", "unclean.leader.election.enable": "false",
                         "min.insync.replicas": str(config["transaction.state.log.min.isr"])}
        topic = CreateTopicsRequest.CreatableTopic
        configs = [topic.CreatableTopicConfig(name=key, value=value) for key, value in settings.items()]
        return topic(name=name, num_partitions=count, replication_factor=factor, assignments=[], configs=configs)
