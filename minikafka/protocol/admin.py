"""APIs for clients that kafka-python has no schema for; the schemas are ours (`schemas/*.json`), Kafka's in meaning.

Owns: one class per request and response.
Invariants: I-ADM-1 versions are Kafka 4.3's, so that what is advertised is what its clients may send.
Source: clients/src/main/resources/common/message/*.json; KIP-500 (UnregisterBroker).
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.internal import SCHEMAS


class UnregisterBrokerRequest(ApiMessage, load_json=SCHEMAS):
    """A broker that is gone shall be forgotten."""


class UnregisterBrokerResponse(ApiMessage, load_json=SCHEMAS):
    """Done, or BROKER_ID_NOT_REGISTERED."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=SCHEMAS):
    """How do these groups of the consumer protocol stand, and their members?"""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=SCHEMAS):
    """Their epochs, and what each member has and shall have."""
