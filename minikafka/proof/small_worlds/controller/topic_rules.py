"""What Kafka's rules say of CreateTopics, CreatePartitions, DeleteTopics and UpdateFeatures: asked a second time.

    answers, wanted = creates(case, requested)      the answer by name, the cluster as it must follow
    answers, wanted = grows(case, requested)
    answers, wanted = deletes(case, names, ids)
    error, wanted = finalizes(cluster, supported, updates)

Chance places replicas: what it has placed is part of the case, and is checked (placement_rules.py), not foretold.

Owns: those answers. Source: ReplicationControlManager, ControllerApis, FeatureControlManager; KIP-4, KIP-195, KIP-516, KIP-584.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from minikafka.broker.config.effective import DEFAULT, DYNAMIC_DEFAULT_BROKER, DYNAMIC_TOPIC, STATIC_BROKER
from minikafka.broker.config.table import TOPIC_CONFIGS
from minikafka.broker.controller.admin.create_partitions import NewPartitions
from minikafka.broker.controller.admin.create_topics import NewTopic, ShownConfig
from minikafka.broker.controller.admin.update_features import FeatureUpdate
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE, Uuid
from minikafka.broker.metadata.registrations import PartitionRegistration
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.controller.cluster_seen import ELR_FEATURE, ClusterSeen
from minikafka.proof.small_worlds.controller.partition_rules import Reasons, Room, first, misplaced
from minikafka.proof.small_worlds.controller.placement_rules import Placed, check_placement, impossible
from minikafka.protocol.errors import Err

METADATA_TOPIC, METADATA_VERSION = "__cluster_metadata", "metadata.version"
UPGRADE = 1  # of the kinds of updates of a feature; 2 and 3 are downgrades
Replicas = Sequence[Sequence[int]]
Created = tuple[Uuid, int, int]  # id, partitions, replicas of each


@dataclass
class AdminCase:
    """One request: the cluster before it, its limits, what its quota lets pass, and what chance has made for it in turn."""

    cluster: ClusterSeen
    most_replicas: int  # of a broker
    most_partitions: int  # of a request
    most_records: int  # of a request
    quota: int  # partitions
    ids: list[Uuid]  # of new topics
    placements: list[Placed]
    file: Mapping[str, int]  # num.partitions, default.replication.factor

    def __post_init__(self) -> None:
        self.after, self.room = self.cluster.draft(), Room(self.cluster, self.most_replicas)

    def charge(self, partitions: int) -> Err:
        """Charge the quota, which refuses everything once it has refused something."""
        self.quota -= partitions
        if self.quota >= 0:
            return Err.NONE
        self.quota = -1
        return Err.THROTTLING_QUOTA_EXCEEDED

    def begin(self, topic: str, id: Uuid, index: int, replicas: Sequence[int]) -> None:
        """Begin a partition: its ISR is all who serve, its leader the first of them, its epochs are 0."""
        isr = tuple(r for r in replicas if self.cluster.serves(r))
        self.after.partitions[topic, index] = PartitionRegistration(topic, id, index, tuple(replicas), isr, isr[0])

    def place(self, count: int, factor: int) -> Replicas:
        """Return what chance has placed, checked."""
        that("I-ALONE-5", self.placements, "nothing was placed")
        placed = self.placements.pop(0)
        that("I-ALONE-5", len(placed.replicas) == count, f"{len(placed.replicas)} partitions instead of {count}")
        check_placement(self.cluster.brokers.values(), placed, factor)
        return placed.replicas


# --- CreateTopics -------------------------------------------------------------------------------------------------------


def creates(case: AdminCase, requested: Sequence[NewTopic]) -> tuple[dict[str, Err | Created], ClusterSeen]:
    """Return for each name the refusal or (id, partitions, replicas), and what must follow."""
    often = Counter(topic.name for topic in requested)
    fit = [topic for topic in requested if often[topic.name] == 1 and topic.name != METADATA_TOPIC]
    default = case.file["num.partitions"]
    sizes = [len(topic.assignments) or (topic.partitions if topic.partitions > 0 else default) for topic in fit]
    records = sum(sizes) + len(fit) + sum(len(dict(topic.configs)) for topic in fit)
    if sum(sizes) > case.most_partitions or records > case.most_records:
        return dict.fromkeys(often, Err.POLICY_VIOLATION), case.cluster
    answers: dict[str, Err | Created] = dict.fromkeys(often, Err.INVALID_REQUEST)
    for topic in fit:
        answers[topic.name] = _created(case, topic)
    return answers, case.after


def _created(case: AdminCase, topic: NewTopic) -> Err | Created:
    refusal = first((*_against_name(case, topic), *_against_configs(topic), *(
        _against_assignment(case, topic) if topic.assignments else _against_numbers(case, topic))))
    if refusal is not Err.NONE:
        return refusal
    count, factor = topic.partitions, topic.replication_factor
    if topic.assignments:
        replicas: Replicas = [brokers for _, brokers in sorted(topic.assignments)]
        count, factor = len(replicas), len(replicas[0])
    else:
        count = case.file["num.partitions"] if count == -1 else count
        factor = case.file["default.replication.factor"] if factor == -1 else factor
        replicas = case.place(count, factor)
    refusal = case.room.take(replicas)
    refusal = case.charge(count) if refusal is Err.NONE else refusal
    if refusal is not Err.NONE:
        return refusal
    id = case.after.topics[topic.name] = case.ids.pop(0)
    if topic.configs:
        case.after.configs[TOPIC_RESOURCE, topic.name] = {name: value for name, value in topic.configs if value is not None}
    for index, brokers in enumerate(replicas):
        case.begin(topic.name, id, index, brokers)
    return id, count, factor


def _against_name(case: AdminCase, topic: NewTopic) -> Reasons:
    name = topic.name
    yield Err.TOPIC_ALREADY_EXISTS, name in case.cluster.topics
    yield Err.INVALID_TOPIC_EXCEPTION, re.fullmatch(r"[\w.-]{1,249}", name, re.ASCII) is None or name in (".", "..")
    alike = {other.replace(".", "_") for other in case.cluster.topics}
    yield Err.INVALID_TOPIC_EXCEPTION, name.replace(".", "_") in alike


def _against_configs(topic: NewTopic) -> Reasons:
    """Refuse values of the configurations that are used here; the rest is proved elsewhere."""
    good = {"min.insync.replicas": r"[1-9]\d*", "unclean.leader.election.enable": "true|false",
            "internal.segment.bytes": r"\d{4}"}
    yield Err.INVALID_CONFIG, any(value is None or not re.fullmatch(good.get(name, "(?!)"), value)
                                  for name, value in topic.configs)


def _against_numbers(case: AdminCase, topic: NewTopic) -> Reasons:
    factor = case.file["default.replication.factor"] if topic.replication_factor == -1 else topic.replication_factor
    yield Err.INVALID_REPLICATION_FACTOR, topic.replication_factor not in (-1, *range(1, 1000))
    yield Err.INVALID_PARTITIONS, topic.partitions not in (-1, *range(1, 1000))
    yield Err.INVALID_REPLICATION_FACTOR, impossible(case.cluster.brokers.values(), factor)


def _against_assignment(case: AdminCase, topic: NewTopic) -> Reasons:
    yield Err.INVALID_REQUEST, (topic.partitions, topic.replication_factor) != (-1, -1)
    yield Err.INVALID_REPLICA_ASSIGNMENT, _misplaced(case, [brokers for _, brokers in topic.assignments])
    yield Err.INVALID_REPLICA_ASSIGNMENT, {n for n, _ in topic.assignments} != {*range(len(topic.assignments))}


def _misplaced(case: AdminCase, assignment: Replicas, factor: int | None = None) -> bool:
    factor = len(assignment[0]) if factor is None else factor
    return any(misplaced(case.cluster, brokers, factor) or not any(map(case.cluster.serves, brokers)) for brokers in assignment)


def check_shown(cluster: ClusterSeen, configs: Mapping[str, str | None], shown: Sequence[ShownConfig]) -> None:
    """Check the configurations of a new topic as they are shown: those requested, and for each other its place."""
    names = sorted(name for name, one in TOPIC_CONFIGS.items() if not one.internal or name in configs)
    same("I-ALONE-1", "the configurations shown", [one.name for one in shown], names)
    for one in shown:
        of_cluster = cluster.configs.get((BROKER_RESOURCE, ""), {})
        places = [(configs, DYNAMIC_TOPIC), (of_cluster, DYNAMIC_DEFAULT_BROKER), (cluster.file, STATIC_BROKER)]
        found = ((values[one.name], source) for values, source in places if one.name in values)
        value, source = next(found, (one.value, DEFAULT))
        same("I-ALONE-1", "the configuration shown", one, ShownConfig(one.name, value, source, sensitive=False))


# --- CreatePartitions ---------------------------------------------------------------------------------------------------


def grows(case: AdminCase, requested: Sequence[NewPartitions]) -> tuple[dict[str, Err], ClusterSeen]:
    """Return the answer for each topic, and what must follow."""
    often = Counter(wanted.topic for wanted in requested)
    answers = dict.fromkeys(often, Err.INVALID_REQUEST)
    for wanted in requested:
        if often[wanted.topic] == 1:
            answers[wanted.topic] = _grown(case, wanted)
    return answers, case.after


def _grown(case: AdminCase, wanted: NewPartitions) -> Err:
    if wanted.topic not in case.cluster.topics:
        return Err.UNKNOWN_TOPIC_OR_PARTITION
    present, manual, id = case.cluster.of_topic(wanted.topic), wanted.assignments, case.cluster.topics[wanted.topic]
    more, factor = wanted.count - len(present), len(present[0].replicas)
    refusal = first([(Err.INVALID_PARTITIONS, more <= 0),
                     (Err.INVALID_REPLICA_ASSIGNMENT, manual is not None and len(manual) != more)])
    refusal = case.charge(more) if refusal is Err.NONE else refusal
    if refusal is Err.NONE:
        refusal = first([
            (Err.UNKNOWN_SERVER_ERROR, more > case.most_partitions),
            (Err.INVALID_REPLICATION_FACTOR, manual is None and impossible(case.cluster.brokers.values(), factor)),
            (Err.INVALID_REPLICA_ASSIGNMENT, manual is not None and _misplaced(case, manual, factor))])
    if refusal is Err.NONE:
        replicas = case.place(more, factor) if manual is None else manual
        refusal = case.room.take(replicas)
    if refusal is Err.NONE:
        for index, brokers in enumerate(replicas, len(present)):
            case.begin(wanted.topic, id, index, brokers)
    return refusal


# --- DeleteTopics -------------------------------------------------------------------------------------------------------


def deletes(case: AdminCase, names: Sequence[str], ids: Sequence[Uuid],
            ) -> tuple[list[tuple[str | None, Uuid | None, Err]], ClusterSeen]:
    """Return (name, id, answer) for each name and id, refusals of the request itself first, and what must follow."""
    known, refused, doomed = {id: name for name, id in case.cluster.topics.items()}, [], []
    named = [name for name in names if case.cluster.topics.get(name) in ids]
    for id, often in Counter(ids).items():
        error = first([(Err.INVALID_REQUEST, often > 1), (Err.UNKNOWN_TOPIC_ID, id not in known)])
        if error is not Err.NONE:
            refused.append((None, id, error))
        elif known[id] not in named or names.count(known[id]) > 1:
            doomed.append(known[id])
    for name, often in Counter(names).items():
        error = first([(Err.INVALID_REQUEST, often > 1), (Err.UNKNOWN_TOPIC_OR_PARTITION, name not in case.cluster.topics),
                       (Err.INVALID_REQUEST, name in named)])
        if error is not Err.NONE:
            refused.append((name, case.cluster.topics[name] if often == 1 and name in named else None, error))
        else:
            doomed.append(name)
    answers = [(name, case.cluster.topics[name], case.charge(len(case.cluster.of_topic(name)))) for name in doomed]
    for name, _, error in answers:
        if error is Err.NONE:
            _forget(case.after, name)
    return [*refused, *answers], case.after


def _forget(after: ClusterSeen, topic: str) -> None:
    del after.topics[topic]
    after.configs.pop((TOPIC_RESOURCE, topic), None)
    after.partitions = {place: p for place, p in after.partitions.items() if p.topic != topic}


# --- UpdateFeatures -----------------------------------------------------------------------------------------------------


def finalizes(cluster: ClusterSeen, supported: Mapping[str, tuple[int, int]], updates: Iterable[FeatureUpdate],
              ) -> tuple[Err, ClusterSeen]:
    """Return the answer, which is one for all updates, and what must follow."""
    after = cluster.draft()
    for update in updates:
        low, high = supported.get(update.feature, (1, 0))  # of an unknown feature nothing is supported
        now, level = cluster.features.get(update.feature, 0), update.level
        kinds = (1, 2, 3) if level == now else (UPGRADE,) if level > now else (2, 3)
        fixed = update.feature in (METADATA_VERSION, ELR_FEATURE) and level != now  # neither may change here
        if update.kind not in kinds or not low <= level <= high or level < 0 or fixed:
            return Err.INVALID_UPDATE_VERSION, cluster
        after.features[update.feature] = level
    after.features = {name: level for name, level in after.features.items() if level}
    return Err.NONE, after
