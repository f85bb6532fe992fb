"""What every part of a broker knows: its node's id, its Env, the settings, the metadata, the quotas, the other nodes.

A part gets this and, by its constructor, the other parts that it works with; no part can look up the rest of the broker.

Owns: nothing; the broker makes one Node and hands it out. The image and the quotas in it change, the references do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minikafka.broker.authorizer.standard_authorizer import StandardAuthorizer
from minikafka.broker.config.effective import BrokerConfig, broker_value, topic_value
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.quotas.throttling import ClientQuotas
from minikafka.broker.server.env import Env
from minikafka.broker.server.peer import Peers


@dataclass(frozen=True)
class Node:
    """One node of the cluster, as its own parts see it."""

    node_id: int
    cluster_id: str
    env: Env
    config: BrokerConfig  # as the file had it at the start
    image: MetadataImage  # committed metadata, as far as this node has replayed it
    quotas: ClientQuotas
    peers: Peers
    authorizer: StandardAuthorizer | None = None  # None: everybody may do everything

    def setting(self, name: str) -> Any:  # Any: by the name
        """Return a broker configuration as it is now: it may have been altered since the start."""
        return broker_value(self.image, self.config, name)

    def topic_setting(self, topic: str, name: str) -> Any:  # Any: by the name
        """Return a topic's configuration as it is now: its own, or the default that brokers have for it."""
        return topic_value(self.image, self.config, topic, name)
