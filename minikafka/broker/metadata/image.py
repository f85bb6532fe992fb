"""The metadata image: the state of the cluster after a prefix of `__cluster_metadata`.

Every broker replays the committed records into one image; the active controller replays its own records, also those that are
not committed yet, into a copy.

Owns: the state, and what changed in it since the last look. Its values are those of registrations.py.
Invariants
  I-IMG-1  equal record sequences give equal images: apply() reads nothing but the image and the record.
  I-IMG-2  the partition epoch grows by one with every change of a partition; the leader epoch grows by one whenever a
           PartitionChangeRecord names a leader, even the same one (rule 28).
  I-IMG-3  a topic's name and id point at each other; removing it removes its configuration.

What Kafka does differently: immutable images with deltas and publishers; here one mutable image and a set of changed keys
that is taken with take_changes(). Source: MetadataImage, MetadataDelta; KIP-500, KIP-966.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from minikafka.broker.metadata.records import (
    BROKER_RESOURCE,
    RECOVERED,
    TOPIC_RESOURCE,
    UNFENCE,
    ZERO_UUID,
    AccessControlEntryRecord,
    BrokerEndpoint,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntityData,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
    Uuid,
)
from minikafka.broker.metadata.registrations import BrokerRegistration, Changes, PartitionRegistration, TopicImage

QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]      # (type, name) by type; the name None is the default


class MetadataImage:
    """The state after replaying records up to `offset` (exclusive end is offset + 1) in quorum epoch `epoch`."""

    def __init__(self, cluster_id: str = "") -> None:
        self.cluster_id = cluster_id
        self.offset = -1
        self.epoch = 0
        self.brokers: dict[int, BrokerRegistration] = {}
        self.topics: dict[str, TopicImage] = {}
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.client_quotas: dict[QuotaEntity, dict[str, float]] = {}
        self.scram: dict[tuple[str, int], UserScramCredentialRecord] = {}       # by (user, mechanism)
        self.tokens: dict[str, DelegationTokenRecord] = {}                     # by id
        self.acls: dict[Uuid, AccessControlEntryRecord] = {}
        self.next_producer_id = 0
        self._names: dict[Uuid, str] = {}
        self._changes = Changes()

    # --- questions ---------------------------------------------------------------------------------------------

    def topic_by_id(self, topic_id: Uuid | None) -> TopicImage | None:
        """Return the topic with this id, None if there is none; None also for a null id."""
        name = self._names.get(topic_id)
        return self.topics[name] if name is not None else None

    def topic_id(self, name: str) -> Uuid | None:
        """Return the id of the topic that has this name now, None if there is none."""
        topic = self.topics.get(name)
        return topic.id if topic is not None else None

    def partition(self, topic: str, index: int) -> PartitionRegistration | None:
        """Return one partition, None if topic or index is unknown."""
        found = self.topics.get(topic)
        return found.partitions.get(index) if found else None

    def partitions(self) -> Iterator[PartitionRegistration]:
        """Yield every partition, in the order of creation."""
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def is_active(self, broker_id: int) -> bool:
        """Return whether the broker is registered, unfenced and not shutting down."""
        broker = self.brokers.get(broker_id)
        return broker is not None and broker.active

    def new_directory(self, broker_id: int) -> Uuid:
        """Return the log directory of a new replica on this broker; the zero id lets the broker decide (KIP-858)."""
        broker = self.brokers.get(broker_id)
        return broker.log_dirs[0] if broker is not None and len(broker.log_dirs) == 1 else ZERO_UUID

    def alive_brokers(self) -> list[BrokerRegistration]:
        """Return the unfenced brokers in the order of their ids: those that clients learn of."""
        return [self.brokers[i] for i in sorted(self.brokers) if not self.brokers[i].fenced]

    def reachable(self, listener: str) -> list[tuple[BrokerRegistration, BrokerEndpoint]]:
        """Return the unfenced brokers that have a listener of that name, in the order of their ids, and its address."""
        return [(broker, endpoint) for broker in self.alive_brokers() if (endpoint := broker.endpoint(listener)) is not None]

    def topic_configs(self, topic: str) -> dict[str, str]:
        """Return the dynamic configuration of a topic: only the settings made for this topic."""
        return self.configs.get((TOPIC_RESOURCE, topic), {})

    def broker_configs(self, broker_id: int | None) -> dict[str, str]:
        """Return the dynamic configuration of a broker; for None the cluster-wide default."""
        return self.configs.get((BROKER_RESOURCE, "" if broker_id is None else str(broker_id)), {})

    # --- replay ------------------------------------------------------------------------------------------------

    def replay(self, records: list[MetadataRecord], last_offset: int, epoch: int,
               contained: Callable[[str], AbstractContextManager[None]] = nullcontext) -> None:
        """Apply a batch whose last record has offset `last_offset`; `contained` may report a record that fails and go on."""
        for offset, rec in enumerate(records, last_offset - len(records) + 1):
            with contained(f"metadata record {offset}"):
                self.apply(rec, offset)
        self.offset, self.epoch = last_offset, epoch

    def apply(self, record: MetadataRecord, offset: int = -1) -> None:
        """Apply one record; `offset` (its place in the log) matters for broker registrations only."""
        if isinstance(record, RegisterBrokerRecord):
            self._register_broker(record, offset)
        else:
            self._APPLY[type(record)](self, record)

    def take_changes(self) -> Changes:
        """Return what changed since the last call; the next call starts with no changes."""
        taken, self._changes = self._changes, Changes()
        return taken

    def to_records(self) -> list[MetadataRecord]:
        """Return records that make an empty image equal to this one: the content of a snapshot (KIP-630)."""
        records: list[MetadataRecord] = [FeatureLevelRecord(name, level) for name, level in self.features.items()]
        records += [broker.to_record() for broker in self.brokers.values()]
        for topic in self.topics.values():
            records.append(TopicRecord(topic.name, topic.id))
            records += [partition.to_record() for partition in topic.partitions.values()]
        for (kind, resource), values in self.configs.items():
            records += [ConfigRecord(kind, resource, name, value) for name, value in values.items()]
        for entity, quotas in self.client_quotas.items():
            parts = tuple(QuotaEntityData(*part) for part in entity)
            records += [ClientQuotaRecord(parts, key, value, False) for key, value in quotas.items()]
        records += self.scram.values()
        records += self.acls.values()
        records += self.tokens.values()
        if self.next_producer_id:
            records.append(ProducerIdsRecord(-1, -1, self.next_producer_id))
        return records

    def load(self, records: list[MetadataRecord], last_offset: int, epoch: int) -> None:
        """Replace the state by that of a snapshot; only what differs from before counts as changed."""
        new = MetadataImage(self.cluster_id)
        for record in records:
            new.apply(record)
        self._note_differences(new)
        self.brokers, self.topics, self.configs, self.features = new.brokers, new.topics, new.configs, new.features
        self.client_quotas, self.scram, self.acls, self.tokens = new.client_quotas, new.scram, new.acls, new.tokens
        self.next_producer_id, self._names = new.next_producer_id, new._names
        self.offset, self.epoch = last_offset, epoch

    def _note_differences(self, new: MetadataImage) -> None:
        changes = self._changes
        changes.deleted.update({topic.id: topic for topic in self.topics.values() if topic.id not in new._names})
        for partition in new.partitions():
            if partition != self.partition(partition.topic, partition.index):
                changes.topics[partition.topic] = changes.partitions[partition.topic, partition.index] = None
        changes.brokers.update(_differing(self.brokers, new.brokers))
        changes.configs.update(_differing(self.configs, new.configs))
        changes.features |= self.features != new.features
        changes.quotas |= self.client_quotas != new.client_quotas
        changes.acls.update(_differing(self.acls, new.acls))

    def copy(self) -> MetadataImage:
        """Return an independent image with the same content (brokers and partitions are shared: they are frozen)."""
        twin = MetadataImage(self.cluster_id)
        twin.offset, twin.epoch, twin.next_producer_id = self.offset, self.epoch, self.next_producer_id
        twin.brokers, twin.features, twin._names = dict(self.brokers), dict(self.features), dict(self._names)
        twin.topics = {t.name: TopicImage(t.name, t.id, dict(t.partitions)) for t in self.topics.values()}
        twin.configs = {resource: dict(values) for resource, values in self.configs.items()}
        twin.client_quotas = {entity: dict(quotas) for entity, quotas in self.client_quotas.items()}
        twin.scram, twin.acls, twin.tokens = dict(self.scram), dict(self.acls), dict(self.tokens)
        return twin

    def _register_broker(self, r: RegisterBrokerRecord, offset: int) -> None:
        self.brokers[r.broker_id] = BrokerRegistration(
            r.broker_id, r.broker_epoch, r.incarnation_id, r.end_points, r.rack, r.fenced, r.in_controlled_shutdown,
            r.features, r.log_dirs, offset if offset >= 0 else r.broker_epoch)
        self._changes.brokers[r.broker_id] = None

    def _unregister_broker(self, r: UnregisterBrokerRecord) -> None:
        del self.brokers[r.broker_id]
        self._changes.brokers[r.broker_id] = None

    def _change_broker(self, r: BrokerRegistrationChangeRecord) -> None:
        broker = self.brokers[r.broker_id]
        if broker.epoch != r.broker_epoch:
            raise ValueError(f"{r} does not fit the registration {broker}")
        fenced = broker.fenced if r.fenced == 0 else r.fenced != UNFENCE
        shutdown = broker.in_controlled_shutdown or r.in_controlled_shutdown == 1
        self.brokers[r.broker_id] = replace(broker, fenced=fenced, in_controlled_shutdown=shutdown,
                                            log_dirs=r.log_dirs or broker.log_dirs)
        self._changes.brokers[r.broker_id] = None

    def _create_topic(self, r: TopicRecord) -> None:
        self.topics[r.name] = TopicImage(r.name, r.topic_id)
        self._names[r.topic_id] = r.name
        self._changes.topics[r.name] = None

    def _remove_topic(self, r: RemoveTopicRecord) -> None:
        topic = self.topics.pop(self._names.pop(r.topic_id))
        self.configs.pop((TOPIC_RESOURCE, topic.name), None)
        self._changes.deleted[topic.id] = topic
        self._changes.topics.pop(topic.name, None)
        for index in topic.partitions:
            self._changes.partitions.pop((topic.name, index), None)

    def _create_partition(self, r: PartitionRecord) -> None:
        topic = self.topics[self._names[r.topic_id]]
        self._put(topic, PartitionRegistration(
            topic.name, r.topic_id, r.partition_id, r.replicas, r.isr, r.leader, r.leader_epoch, r.partition_epoch,
            r.leader_recovery_state != RECOVERED, r.eligible_leader_replicas or (), r.last_known_elr or (),
            r.adding_replicas, r.removing_replicas))

    def _change_partition(self, r: PartitionChangeRecord) -> None:
        topic = self.topics[self._names[r.topic_id]]
        self._put(topic, topic.partitions[r.partition_id].merge(r))

    def _clear_elr(self, r: ClearElrRecord) -> None:
        for topic in [self.topics[r.topic_name]] if r.topic_name else list(self.topics.values()):
            for p in list(topic.partitions.values()):
                if p.elr or p.last_known_elr:
                    self._put(topic, p.merge(PartitionChangeRecord(
                        p.index, p.topic_id, eligible_leader_replicas=(), last_known_elr=())))

    def _put(self, topic: TopicImage, partition: PartitionRegistration) -> None:
        topic.partitions[partition.index] = partition
        self._changes.topics[topic.name] = None
        self._changes.partitions[topic.name, partition.index] = None

    def _set_config(self, r: ConfigRecord) -> None:
        resource = (r.resource_type, r.resource_name)
        values = self.configs.setdefault(resource, {})
        if r.value is None:
            values.pop(r.name, None)
        else:
            values[r.name] = r.value
        if not values:
            del self.configs[resource]
        self._changes.configs[resource] = None

    def _set_feature(self, r: FeatureLevelRecord) -> None:
        if r.feature_level == 0:
            self.features.pop(r.name, None)
        else:
            self.features[r.name] = r.feature_level
        self._changes.features = True

    def _set_quota(self, r: ClientQuotaRecord) -> None:
        entity = quota_entity((part.entity_type, part.entity_name) for part in r.entity)
        quotas = self.client_quotas.setdefault(entity, {})
        if r.remove:
            quotas.pop(r.key, None)
        else:
            quotas[r.key] = r.value
        if not quotas:
            del self.client_quotas[entity]
        self._changes.quotas = True

    def _set_scram(self, r: UserScramCredentialRecord) -> None:
        self.scram[r.name, r.mechanism] = r

    def _remove_scram(self, r: RemoveUserScramCredentialRecord) -> None:
        del self.scram[r.name, r.mechanism]

    def _add_acl(self, r: AccessControlEntryRecord) -> None:
        self.acls[r.id] = r
        self._changes.acls[r.id] = None

    def _remove_acl(self, r: RemoveAccessControlEntryRecord) -> None:
        del self.acls[r.id]
        self._changes.acls[r.id] = None

    def _set_token(self, r: DelegationTokenRecord) -> None:
        self.tokens[r.token_id] = r

    def _remove_token(self, r: RemoveDelegationTokenRecord) -> None:
        self.tokens.pop(r.token_id, None)

    def _producer_ids(self, r: ProducerIdsRecord) -> None:
        self.next_producer_id = r.next_producer_id

    def _nothing(self, _: NoOpRecord) -> None:
        pass

    _APPLY: dict[type, Callable[[MetadataImage, Any], None]] = {
        UnregisterBrokerRecord: _unregister_broker, BrokerRegistrationChangeRecord: _change_broker,
        TopicRecord: _create_topic, RemoveTopicRecord: _remove_topic, PartitionRecord: _create_partition,
        PartitionChangeRecord: _change_partition, ConfigRecord: _set_config, FeatureLevelRecord: _set_feature,
        ProducerIdsRecord: _producer_ids, NoOpRecord: _nothing,
        ClearElrRecord: _clear_elr, ClientQuotaRecord: _set_quota, UserScramCredentialRecord: _set_scram,
        RemoveUserScramCredentialRecord: _remove_scram, AccessControlEntryRecord: _add_acl,
        RemoveAccessControlEntryRecord: _remove_acl, DelegationTokenRecord: _set_token,
        RemoveDelegationTokenRecord: _remove_token}


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Return the entity of a quota from its (type, name) parts in any order; of a type that comes twice the last name counts."""
    return tuple(sorted(dict(parts).items()))


K = TypeVar("K")
V = TypeVar("V")


def _differing(old: dict[K, V], new: dict[K, V]) -> dict[K, None]:
    """Return the keys whose values differ, or which are in one of the two dicts only."""
    return {key: None for key in [*old, *(key for key in new if key not in old)] if old.get(key) != new.get(key)}
