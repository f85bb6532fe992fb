"""CreateTopics: what is checked, in which order, in which words, and the records of a new topic.

Owns: create_topics(). It reads the image and makes records; it changes nothing.

Invariants
  the topics of a request succeed or fail one by one; the records of one topic are all or none.
  A new partition's ISR is its live replicas, its leader the first of them, both its epochs 0.
  I-TOPIC-3  validate_only answers as if, and makes no record.

What Kafka does differently: authorisation and creation policies come between these checks.
Source: ControllerApis.createTopics, ReplicationControlManager.createTopics; KIP-4, KIP-464, KIP-525.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.broker.config.definition import ConfigError, to_text
from minikafka.broker.config.effective import (
    DEFAULT,
    DYNAMIC_TOPIC,
    BrokerConfig,
    effective,
    resolve_topic,
    validate_topic_configs,
)
from minikafka.broker.config.table import TOPIC_CONFIGS
from minikafka.broker.controller.admin.replica_budget import ReplicaBudget
from minikafka.broker.controller.placement import Random, place
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    TOPIC_RESOURCE,
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
    Uuid,
)
from minikafka.broker.metadata.topic_names import METADATA_TOPIC, check_name, unify, unify_name
from minikafka.protocol.errors import Err, KafkaError

MAX_PARTITIONS_PER_REQUEST = 10_000
MAX_RECORDS = 10_000                    # written at once, topics and their configurations included


@dataclass(frozen=True)
class CreateTopicsContext:
    """The parts of the controller that creating topics needs. `new_id` makes topic ids; `rng` shuffles the placement;
    `charge` takes a number of new partitions and raises KafkaError if the client's quota of changes is used up."""

    image: MetadataImage
    config: BrokerConfig
    rng: Random
    new_id: Callable[[], Uuid]
    charge: Callable[[int], None] = lambda partitions: None


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic as the client requests it; -1 stands for the default number of partitions or replicas."""

    name: str
    partitions: int
    replication_factor: int
    assignments: Sequence[tuple[int, Sequence[int]]] = ()       # (partition, brokers); empty: the controller places them
    configs: Sequence[tuple[str, str | None]] = ()


class ShownConfig(NamedTuple):
    """One configuration of a new topic: its effective value, and the source of that value (a number of the wire)."""

    name: str
    value: str | None
    source: int
    sensitive: bool


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic that is created once its records are committed."""

    topic_id: Uuid
    partitions: int
    replication_factor: int
    configs: list[ShownConfig]


Decisions = Iterator[tuple[list[MetadataRecord], tuple[str, CreatedTopic | KafkaError]]]     # records, (name, verdict)


def create_topics(ctx: CreateTopicsContext, requested: Sequence[NewTopic], validate_only: bool = False) -> Decisions:
    """Yield for each name the records of the new topic, none if `validate_only` (I-TOPIC-3), and the verdict."""
    counts = Counter(topic.name for topic in requested)
    wanted = [topic for topic in requested if counts[topic.name] == 1 and topic.name != METADATA_TOPIC]
    partitions = sum(_requested_partitions(ctx, topic) for topic in wanted)
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        return _too_large(requested, "Excessively large number of partitions per request.")
    if partitions + sum(1 + len({name for name, _ in topic.configs}) for topic in wanted) > MAX_RECORDS:
        return _too_large(requested, "Unable to perform excessively large batch operation.")
    return _create_all(ctx, wanted, counts, validate_only)


def _create_all(ctx: CreateTopicsContext, wanted: Sequence[NewTopic], counts: Counter[str], validate_only: bool) -> Decisions:
    unified, budget = unify(ctx.image.topics), ReplicaBudget(ctx.image)
    for topic in wanted:
        try:
            made, created = _create(ctx, topic, unified, budget)
        except KafkaError as refusal:
            yield [], (topic.name, refusal)
        else:
            yield [] if validate_only else made, (topic.name, created)
    for name, count in counts.items():
        if count > 1:
            yield [], (name, KafkaError(Err.INVALID_REQUEST, "Duplicate topic name."))
        elif name == METADATA_TOPIC:
            text = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            yield [], (name, KafkaError(Err.INVALID_REQUEST, text))


def _too_large(requested: Sequence[NewTopic], text: str) -> Decisions:
    refusal = KafkaError(Err.POLICY_VIOLATION, text)
    return (([], (topic.name, refusal)) for topic in requested)


def _requested_partitions(ctx: CreateTopicsContext, topic: NewTopic) -> int:
    if topic.assignments:
        return len(topic.assignments)
    return topic.partitions if topic.partitions > 0 else ctx.config["num.partitions"]


def _create(ctx: CreateTopicsContext, topic: NewTopic, unified: dict[str, str],
            budget: ReplicaBudget) -> tuple[list[MetadataRecord], CreatedTopic]:
    """Return the records and the verdict of one topic; KafkaError in Kafka's words if it is refused."""
    _check_new_name(ctx.image, topic.name, unified)
    configs = _checked_configs(ctx, topic)
    assignment = _manual(ctx.image, topic) if topic.assignments else _automatic(ctx, topic)
    budget.take(assignment)
    ctx.charge(len(assignment))
    topic_id = ctx.new_id()
    records: list[MetadataRecord] = [TopicRecord(topic.name, topic_id)]
    records += [ConfigRecord(TOPIC_RESOURCE, topic.name, name, value) for name, value in configs.items()]
    records += [new_partition(ctx.image, topic_id, index, replicas) for index, replicas in enumerate(assignment)]
    return records, CreatedTopic(topic_id, len(assignment), len(assignment[0]), _shown_configs(ctx, configs))


def _check_new_name(image: MetadataImage, name: str, unified: dict[str, str]) -> None:
    if name in image.topics:
        raise KafkaError(Err.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    check_name(name)
    if (other := unified.get(unify_name(name))) is not None:
        raise KafkaError(Err.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


# --- configuration ---------------------------------------------------------------------------------------------

def _checked_configs(ctx: CreateTopicsContext, topic: NewTopic) -> dict[str, str]:
    nulls = [name for name, value in topic.configs if value is None]
    if nulls:
        raise KafkaError(Err.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {name: value for name, value in topic.configs if value is not None}    # the last of a repeated name wins
    try:
        validate_topic_configs(configs, ctx.config)
    except ConfigError as error:
        raise KafkaError(Err.INVALID_CONFIG, str(error)) from error
    return configs


def _shown_configs(ctx: CreateTopicsContext, configs: dict[str, str]) -> list[ShownConfig]:
    shown = []
    for name in sorted(TOPIC_CONFIGS):
        config = TOPIC_CONFIGS[name]
        if config.internal and name not in configs:
            continue
        entries = resolve_topic(ctx.image, ctx.config, None, config)
        value, source = to_text(effective(config, entries)), entries[0].source if entries else DEFAULT
        if name in configs:
            value, source = configs[name], DYNAMIC_TOPIC
        shown.append(ShownConfig(name, value, source, config.sensitive))
    return shown


# --- replicas --------------------------------------------------------------------------------------------------

def new_partition(image: MetadataImage, topic_id: Uuid, index: int, replicas: Sequence[int]) -> PartitionRecord:
    """Return the record of a new partition; some replica must be active."""
    isr = tuple(r for r in replicas if image.is_active(r))
    directories = tuple(image.new_directory(r) for r in replicas)
    return PartitionRecord(index, topic_id, tuple(replicas), isr, leader=isr[0], directories=directories)


def _automatic(ctx: CreateTopicsContext, topic: NewTopic) -> list[list[int]]:
    factor, count = topic.replication_factor, topic.partitions
    if factor < -1 or factor == 0:
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         "Replication factor must be larger than 0, or -1 to use the default value.")
    if count < -1 or count == 0:
        raise KafkaError(Err.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    factor = ctx.config["default.replication.factor"] if factor == -1 else factor
    count = ctx.config["num.partitions"] if count == -1 else count
    return place_active(ctx.image, count, factor, ctx.rng)


def place_active(image: MetadataImage, count: int, factor: int, rng: Random) -> list[list[int]]:
    """Return the replicas of `count` new partitions, an active one in each; KafkaError INVALID_REPLICATION_FACTOR if
    there are too few brokers."""
    prefix = f"Unable to replicate the partition {factor} time(s): "
    try:
        assignment = place([image.brokers[b] for b in sorted(image.brokers)], count, factor, rng)
    except KafkaError as error:
        raise KafkaError(error.code, prefix + error.message) from error
    if not all(any(image.is_active(r) for r in replicas) for replicas in assignment):
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         prefix + "All brokers are currently fenced or in controlled shutdown.")
    return assignment


def _manual(image: MetadataImage, topic: NewTopic) -> list[Sequence[int]]:
    for number, name in ((topic.replication_factor, "replication factor"), (topic.partitions, "numPartitions")):
        if number != -1:
            raise KafkaError(Err.INVALID_REQUEST,
                             f"A manual partition assignment was specified, but {name} was not set to -1.")
    given: dict[int, Sequence[int]] = {}
    factor: int | None = None
    for index, replicas in topic.assignments:
        if index in given:
            raise _bad_assignment(f"Found multiple manual partition assignments for partition {index}")
        check_assignment(image, replicas, factor)
        factor = len(replicas)
        if not any(image.is_active(r) for r in replicas):
            raise _bad_assignment(f"All brokers specified in the manual partition assignment for partition {index} "
                                  "are fenced or in controlled shutdown.")
        given[index] = replicas
    if sorted(given) != list(range(len(given))):
        raise _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    return [given[index] for index in range(len(given))]


def check_assignment(image: MetadataImage, replicas: Sequence[int], factor: int | None) -> None:
    """Raise INVALID_REPLICA_ASSIGNMENT if a manual list of replicas is wrong; `factor`: the number of replicas of the
    partitions before it, None for the first."""
    if not replicas:
        raise _bad_assignment("The manual partition assignment includes an empty replica list.")
    previous = None
    for broker in sorted(replicas):
        if broker not in image.brokers:
            raise _bad_assignment(f"The manual partition assignment includes broker {broker}, but no such broker is "
                                  "registered.")
        if broker == previous:
            raise _bad_assignment(f"The manual partition assignment includes the broker {broker} more than once.")
        previous = broker
    if factor is not None and len(replicas) != factor:
        raise _bad_assignment(f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
                              "but this is not consistent with previous partitions, which have "
                              f"{factor} replica(s).")


def _bad_assignment(text: str) -> KafkaError:
    return KafkaError(Err.INVALID_REPLICA_ASSIGNMENT, text)
