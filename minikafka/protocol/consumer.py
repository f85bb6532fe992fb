"""ConsumerGroupHeartbeat (KIP-848), which kafka-python has no schema for; the schemas are ours (`schemas/*.json`).

Owns: the request by which a member of a consumer group joins, lives and leaves, and its response.
Source: clients/src/main/resources/common/message/ConsumerGroupHeartbeat*.json.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.internal import SCHEMAS


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=SCHEMAS):
    """What the member wants and owns; what has not changed since the last time is left out."""


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=SCHEMAS):
    """The member's epoch, and its assignment when that is news to it."""
