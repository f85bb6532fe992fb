"""The APIs that kafka-python has no schema for, built by kafka-python from schemas of our own (JSON).

The schemas beside this file (`schemas/*.json`) use Kafka's names, fields, types and API keys. The APIs between brokers
(the quorum, registration, requests to the controller) have one version each, the newest flexible one: all brokers of a cluster
run the same code, so they need not negotiate versions. The APIs for clients have the versions of Kafka 4.3.

Owns: one class per request and response. Brokers send each other `version=X.max_version` (the only one).
Invariants: I-RPC-1 none of the APIs between brokers is registered on the clients' listener (tests/broker/raft/test_raft_wire.py).
            The versions of the clients' APIs are those of Kafka 4.3.
What Kafka does differently: it serves older versions between brokers too, for rolling upgrades.
Source: clients/src/main/resources/common/message/*.json; KIP-595 (quorum), KIP-631 (registration), KIP-497 (ISR),
KIP-500 (UnregisterBroker), KIP-48 (delegation tokens), KIP-848 (groups of the consumer protocol).
"""

from __future__ import annotations

from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse
from kafka.protocol.api_data import ApiData  # for the records of coordinators, which are made like messages
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

# Classes of kafka-python for our pure modules, which may not import it themselves (protocol/__init__.py).
__all__ = ["ApiData", "ConsumerProtocolAssignment", "ConsumerProtocolSubscription", "DescribeQuorumRequest",
           "DescribeQuorumResponse", "FetchRequest", "FetchResponse"]

SCHEMAS = "minikafka.protocol.schemas"


# --- the quorum (KIP-595) -----------------------------------------------------------------------------------------


class VoteRequest(ApiMessage, load_json=SCHEMAS):
    """A candidate requests a vote; with `pre_vote` (KIP-996) a prospective requests a promise of the vote."""


class VoteResponse(ApiMessage, load_json=SCHEMAS):
    """The answer to a vote: granted or not, with the leader and epoch that the voter knows."""


class BeginQuorumEpochRequest(ApiMessage, load_json=SCHEMAS):
    """A new leader presents itself to a voter that has not fetched from it yet."""


class BeginQuorumEpochResponse(ApiMessage, load_json=SCHEMAS):
    """Empty, or an error with the leader and epoch that the voter knows."""


class EndQuorumEpochRequest(ApiMessage, load_json=SCHEMAS):
    """A leader steps down and names its successors, best first."""


class EndQuorumEpochResponse(ApiMessage, load_json=SCHEMAS):
    """Empty, or an error with the leader and epoch that the voter knows."""


class FetchSnapshotRequest(ApiMessage, load_json=SCHEMAS):
    """A replica fetches from the leader a piece of a snapshot of the metadata log (KIP-630)."""


class FetchSnapshotResponse(ApiMessage, load_json=SCHEMAS):
    """The piece, with the size of the whole; pieces are cut anywhere, not between batches."""


# --- a broker's life (KIP-631) ------------------------------------------------------------------------------------


class BrokerRegistrationRequest(ApiMessage, load_json=SCHEMAS):
    """A broker that has started registers: its id, its incarnation, its listeners, the features that it supports."""


class BrokerRegistrationResponse(ApiMessage, load_json=SCHEMAS):
    """The broker epoch: the metadata offset of the registration record."""


class BrokerHeartbeatRequest(ApiMessage, load_json=SCHEMAS):
    """A broker is alive: the offset of its metadata, and whether it is to be fenced or to shut down."""


class BrokerHeartbeatResponse(ApiMessage, load_json=SCHEMAS):
    """The answer to a heartbeat: is the broker fenced, and may it exit now?"""


# --- requests of brokers to the controller --------------------------------------------------------------------------


class AlterPartitionRequest(ApiMessage, load_json=SCHEMAS):
    """A partition's leader proposes an ISR, with the broker epoch of each member (KIP-497, KIP-903)."""


class AlterPartitionResponse(ApiMessage, load_json=SCHEMAS):
    """The partition as it is registered now, or the error for which the proposal was refused."""


class AllocateProducerIdsRequest(ApiMessage, load_json=SCHEMAS):
    """A broker requests a block of producer ids (KIP-730)."""


class AllocateProducerIdsResponse(ApiMessage, load_json=SCHEMAS):
    """The first id of the block and how many there are."""


# --- members of a consumer group (KIP-848) ------------------------------------------------------------------------


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=SCHEMAS):
    """The member's subscription and the partitions it owns; fields that have not changed since the last heartbeat are null."""


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=SCHEMAS):
    """The member's epoch, and its assignment if that has changed."""


# --- administration -----------------------------------------------------------------------------------------------


class UnregisterBrokerRequest(ApiMessage, load_json=SCHEMAS):
    """Remove the registration of a broker."""


class UnregisterBrokerResponse(ApiMessage, load_json=SCHEMAS):
    """No error, or BROKER_ID_NOT_REGISTERED."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=SCHEMAS):
    """Describe these groups of the consumer protocol, and their members."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=SCHEMAS):
    """The epochs of the groups, and of each member the current and the target assignment."""


class CreateDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """Create a token with which its owner can log in without a password."""


class CreateDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """An error, always, on this broker: without authentication there are no tokens."""


class RenewDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """Renew a token: move the time at which it expires."""


class RenewDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """An error, always, on this broker: without authentication there are no tokens."""


class ExpireDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """Let a token expire, now or at a given time."""


class ExpireDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """An error, always, on this broker: without authentication there are no tokens."""


class DescribeDelegationTokenRequest(ApiMessage, load_json=SCHEMAS):
    """List the tokens of some owners, or of all."""


class DescribeDelegationTokenResponse(ApiMessage, load_json=SCHEMAS):
    """An error, always, on this broker: without authentication there are no tokens."""
