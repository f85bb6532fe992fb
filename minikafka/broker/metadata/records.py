"""The records of `__cluster_metadata`: the decisions of the controller, with Kafka's names, keys and fields.

Owns: one frozen dataclass per record type (values are tuples, never lists, so that a record can be shared).
Sentinels of PartitionChangeRecord: None = list unchanged, leader NO_LEADER_CHANGE = unchanged, recovery -1 = unchanged.

Invariants: I-REC-1, I-REC-2 (record_codec.py).
What Kafka does differently: it has more records (controllers) and older versions of these.
Source: metadata/src/main/resources/common/metadata/*.json; KIP-500, KIP-631, KIP-858 (directories), KIP-966 (ELR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from minikafka.protocol.record_codec import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UUID,
    ZERO_UUID,
    RecordError,
    Uuid,
    array,
    decode,
    encode,
    record,
    struct_of,
    wire,
)

__all__ = ["RECORDS", "ZERO_UUID", "RecordError", "Uuid", "decode", "encode"]

NO_LEADER = -1
NO_LEADER_CHANGE = -2
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4                  # ConfigResource.Type
BROKER_LOGGER, CLIENT_METRICS, GROUP = 8, 16, 32        # likewise; loggers are in no log of metadata
RECOVERED, RECOVERING, RECOVERY_NO_CHANGE = 0, 1, -1    # LeaderRecoveryState
UNFENCE, FENCE = -1, 1                                  # BrokerRegistrationFencingChange


@dataclass(frozen=True)
class BrokerEndpoint:
    """The address of one listener of a broker; security_protocol 0 is PLAINTEXT."""

    name: str = wire(STRING)
    host: str = wire(STRING)
    port: int = wire(UINT16)
    security_protocol: int = wire(INT16, default=0)


@dataclass(frozen=True)
class BrokerFeature:
    """The range of levels of one feature that a broker supports."""

    name: str = wire(STRING)
    min_supported_version: int = wire(INT16)
    max_supported_version: int = wire(INT16)


@record(key=0, version=3)
class RegisterBrokerRecord:
    """A broker has registered: a new incarnation, fenced, or the same one with changed fields."""

    broker_id: int = wire(INT32)
    is_migrating_zk_broker: bool = wire(BOOL)
    incarnation_id: Uuid = wire(UUID)
    broker_epoch: int = wire(INT64)
    end_points: tuple[BrokerEndpoint, ...] = wire(array(struct_of(BrokerEndpoint)))
    features: tuple[BrokerFeature, ...] = wire(array(struct_of(BrokerFeature)), default=())
    rack: str | None = wire(STRING, default=None)
    fenced: bool = wire(BOOL, default=True)
    in_controlled_shutdown: bool = wire(BOOL, default=False)
    log_dirs: tuple[Uuid, ...] = wire(array(UUID), tag=0, default=())


@record(key=1, version=0)
class UnregisterBrokerRecord:
    """The registration with this epoch is removed."""

    broker_id: int = wire(INT32)
    broker_epoch: int = wire(INT64)


@record(key=2, version=0)
class TopicRecord:
    """A topic is created; its ConfigRecords and PartitionRecords follow in the same batch."""

    name: str = wire(STRING)
    topic_id: Uuid = wire(UUID)


@record(key=3, version=2)
class PartitionRecord:
    """A partition is created, with replicas, ISR and leader."""

    partition_id: int = wire(INT32)
    topic_id: Uuid = wire(UUID)
    replicas: tuple[int, ...] = wire(array(INT32))
    isr: tuple[int, ...] = wire(array(INT32))
    removing_replicas: tuple[int, ...] = wire(array(INT32), default=())
    adding_replicas: tuple[int, ...] = wire(array(INT32), default=())
    leader: int = wire(INT32, default=NO_LEADER)
    leader_recovery_state: int = wire(INT8, tag=0, default=RECOVERED)
    leader_epoch: int = wire(INT32, default=0)
    partition_epoch: int = wire(INT32, default=0)
    directories: tuple[Uuid, ...] = wire(array(UUID), default=())
    eligible_leader_replicas: tuple[int, ...] | None = wire(array(INT32), tag=1, default=None)
    last_known_elr: tuple[int, ...] | None = wire(array(INT32), tag=2, default=None)


@record(key=4, version=0)
class ConfigRecord:
    """One configuration value of a topic or broker; None deletes it. Broker name "" is the cluster-wide default."""

    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)
    name: str = wire(STRING)
    value: str | None = wire(STRING, default=None)


@record(key=5, version=2)
class PartitionChangeRecord:
    """A partition has changed: fields at their default have not."""

    partition_id: int = wire(INT32)
    topic_id: Uuid = wire(UUID)
    isr: tuple[int, ...] | None = wire(array(INT32), tag=0, default=None)
    leader: int = wire(INT32, tag=1, default=NO_LEADER_CHANGE)
    replicas: tuple[int, ...] | None = wire(array(INT32), tag=2, default=None)
    removing_replicas: tuple[int, ...] | None = wire(array(INT32), tag=3, default=None)
    adding_replicas: tuple[int, ...] | None = wire(array(INT32), tag=4, default=None)
    leader_recovery_state: int = wire(INT8, tag=5, default=RECOVERY_NO_CHANGE)
    eligible_leader_replicas: tuple[int, ...] | None = wire(array(INT32), tag=6, default=None)
    last_known_elr: tuple[int, ...] | None = wire(array(INT32), tag=7, default=None)
    directories: tuple[Uuid, ...] | None = wire(array(UUID), tag=8, default=None)


@record(key=9, version=0)
class RemoveTopicRecord:
    """A topic is deleted, with its partitions and its configuration."""

    topic_id: Uuid = wire(UUID)


@record(key=10, version=0)
class DelegationTokenRecord:
    """A delegation token is made, or ends at another time; its password is computed from the id. Principals are User:NAME."""

    owner: str = wire(STRING)
    requester: str = wire(STRING)
    renewers: tuple[str, ...] = wire(array(STRING))
    issue_timestamp: int = wire(INT64)
    max_timestamp: int = wire(INT64)
    expiration_timestamp: int = wire(INT64)
    token_id: str = wire(STRING)


@record(key=11, version=0)
class UserScramCredentialRecord:
    """The data by which a server checks a user's password (SCRAM); the password cannot be computed from it."""

    name: str = wire(STRING)
    mechanism: int = wire(INT8)
    salt: bytes = wire(BYTES)
    stored_key: bytes = wire(BYTES)
    server_key: bytes = wire(BYTES)
    iterations: int = wire(INT32)


@record(key=12, version=0)
class FeatureLevelRecord:
    """The finalized level of a feature such as `metadata.version`; 0 removes it."""

    name: str = wire(STRING)
    feature_level: int = wire(INT16)


@dataclass(frozen=True)
class QuotaEntityData:
    """One part of a quota's entity: its type, `user`, `client-id` or `ip`, and its name; None is the default of the type."""

    entity_type: str = wire(STRING)
    entity_name: str | None = wire(STRING)


@record(key=14, version=0)
class ClientQuotaRecord:
    """One quota of an entity; `remove` deletes it, whatever the value."""

    entity: tuple[QuotaEntityData, ...] = wire(array(struct_of(QuotaEntityData)))
    key: str = wire(STRING)
    value: float = wire(FLOAT64)
    remove: bool = wire(BOOL)


@record(key=15, version=0)
class ProducerIdsRecord:
    """A broker got a block of producer ids; `next_producer_id` is the first id of the next block."""

    broker_id: int = wire(INT32)
    broker_epoch: int = wire(INT64)
    next_producer_id: int = wire(INT64)


@record(key=17, version=2)
class BrokerRegistrationChangeRecord:
    """A broker was fenced (1), unfenced (-1), or entered controlled shutdown (1)."""

    broker_id: int = wire(INT32)
    broker_epoch: int = wire(INT64)
    fenced: int = wire(INT8, tag=0, default=0)
    in_controlled_shutdown: int = wire(INT8, tag=1, default=0)
    log_dirs: tuple[Uuid, ...] = wire(array(UUID), tag=2, default=())


@record(key=18, version=0)
class AccessControlEntryRecord:
    """A binding of an access list is created; the numbers are those of ResourceType, PatternType, AclOperation and so on."""

    id: Uuid = wire(UUID)
    resource_type: int = wire(INT8)
    resource_name: str = wire(STRING)
    pattern_type: int = wire(INT8)
    principal: str = wire(STRING)
    host: str = wire(STRING)
    operation: int = wire(INT8)
    permission_type: int = wire(INT8)


@record(key=19, version=0)
class RemoveAccessControlEntryRecord:
    """The binding with this id is removed."""

    id: Uuid = wire(UUID)


@record(key=20, version=0)
class NoOpRecord:
    """A record that changes nothing; that it is committed shows that the quorum still commits."""


@record(key=22, version=0)
class RemoveUserScramCredentialRecord:
    """A user's credential for this mechanism is removed."""

    name: str = wire(STRING)
    mechanism: int = wire(INT8)


@record(key=26, version=0)
class RemoveDelegationTokenRecord:
    """A delegation token is removed."""

    token_id: str = wire(STRING)


@record(key=28, version=0)
class ClearElrRecord:
    """The eligible leaders outside the ISR (ELR) of the topic's partitions are cleared; of all topics if the name is empty."""

    topic_name: str = wire(STRING, default="")


MetadataRecord: TypeAlias = (RegisterBrokerRecord | UnregisterBrokerRecord | TopicRecord | PartitionRecord
                             | ConfigRecord | PartitionChangeRecord | RemoveTopicRecord | FeatureLevelRecord
                             | ProducerIdsRecord | BrokerRegistrationChangeRecord | NoOpRecord | ClearElrRecord
                             | ClientQuotaRecord | UserScramCredentialRecord
                             | RemoveUserScramCredentialRecord | AccessControlEntryRecord
                             | RemoveAccessControlEntryRecord | DelegationTokenRecord | RemoveDelegationTokenRecord)
