"""APIs for clients that kafka-python has no schema for; the schemas are ours (`schemas/*.json`), Kafka's in meaning.

Owns: one class per request and response.
Invariants: I-ADM-1 versions are Kafka 4.3's, so that what is advertised is what its clients may send.
Source: clients/src/main/resources/common/message/*.json; KIP-500 (UnregisterBroker), KIP-48 (delegation tokens).
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


class CreateDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """A token shall be made, with which its owner can log in without a password."""


class CreateDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """Here it says why not."""


class RenewDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """A token shall be good for longer."""


class RenewDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """Here it says why not."""


class ExpireDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """A token shall be good no longer."""


class ExpireDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """Here it says why not."""


class DescribeDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """Which tokens are there?"""


class DescribeDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """Here it says why not."""
