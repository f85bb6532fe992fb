"""CreateTopics: what is checked, in which order, in which words, and the records of a new topic.

Owns: create_topics(). It reads the image and makes records; it changes nothing.

Invariants
  I-TOPIC-1  the topics of a request succeed or fail one by one; the records of one topic are all or none.
  I-TOPIC-2  a new partition's ISR is its live replicas, its leader the first of them, both its epochs 0.
  I-TOPIC-3  validate_only answers as if, and makes no record.

What Kafka does differently: authorisation and creation policies come between these checks.
Source: ControllerApis.createTopics, ReplicationControlManager.createTopics; KIP-4, KIP-464, KIP-525.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import CreateTopicsResponse

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
from minikafka.broker.controller.placement import Random, place
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    TOPIC_RESOURCE,
    ZERO_UUID,
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
    Uuid,
)
from minikafka.broker.metadata.topic_names import METADATA_TOPIC, check_name, colliding
from minikafka.protocol.errors import Err, KafkaError

MAX_PARTITIONS_PER_REQUEST = 10_000
MAX_RECORDS = 10_000                    # written at once, topics and their configurations included
SILENT = (Err.REQUEST_TIMED_OUT, Err.THROTTLING_QUOTA_EXCEEDED)         # refused without words, as in Kafka
Result = CreateTopicsResponse.CreatableTopicResult


@dataclass(frozen=True)
class Creation:
    """What creating topics needs to know and to draw: `new_id` makes topic ids, `rng` shuffles the placement."""

    image: MetadataImage
    config: BrokerConfig
    rng: Random
    new_id: Callable[[], Uuid]
    charge: Callable[[int], None] = lambda partitions: None     # raises where a quota of changes is used up


def create_topics(ctx: Creation, request: Any) -> tuple[list[MetadataRecord], CreateTopicsResponse]:
    """Decide on a decoded CreateTopicsRequest: the records to commit, and the answer for afterwards."""
    counts = Counter(t.name for t in request.topics)
    wanted = [t for t in request.topics if counts[t.name] == 1 and t.name != METADATA_TOPIC]
    partitions = sum(_partitions_asked_for(ctx, t) for t in wanted)
    if partitions > MAX_PARTITIONS_PER_REQUEST:
        return [], _too_large(request, "Excessively large number of partitions per request.")
    if partitions + sum(1 + len({c.name for c in t.configs}) for t in wanted) > MAX_RECORDS:
        return [], _too_large(request, "Unable to perform excessively large batch operation.")
    records: list[MetadataRecord] = []
    results = []
    for topic in wanted:
        try:
            made, result = _create(ctx, topic)
        except KafkaError as error:
            results.append(_refusal(topic.name, error))
        else:
            records += made
            results.append(result)
    for name, count in counts.items():
        if count > 1:
            results.append(_refusal(name, KafkaError(Err.INVALID_REQUEST, "Duplicate topic name.")))
        elif name == METADATA_TOPIC:
            text = f"Creation of internal topic {METADATA_TOPIC} is prohibited."
            results.append(_refusal(name, KafkaError(Err.INVALID_REQUEST, text)))
    return ([] if request.validate_only else records), _response(results)


def _response(results: list[Any]) -> CreateTopicsResponse:
    return CreateTopicsResponse(throttle_time_ms=0, topics=results)


def _too_large(request: Any, text: str) -> CreateTopicsResponse:
    return _response([_refusal(t.name, KafkaError(Err.POLICY_VIOLATION, text)) for t in request.topics])


def _refusal(name: str, error: KafkaError) -> Any:
    text = None if error.code in SILENT else error.message
    return Result(name=name, topic_id=ZERO_UUID, error_code=int(error.code), error_message=text,
                  topic_config_error_code=0, num_partitions=-1, replication_factor=-1, configs=[])


def timed_out(request: Any) -> CreateTopicsResponse:
    """The answer when the time was over before the records were committed."""
    return _response([_refusal(t.name, KafkaError(Err.REQUEST_TIMED_OUT)) for t in request.topics])


def _partitions_asked_for(ctx: Creation, topic: Any) -> int:
    if topic.assignments:
        return len(topic.assignments)
    return topic.num_partitions if topic.num_partitions > 0 else ctx.config["num.partitions"]


def _create(ctx: Creation, topic: Any) -> tuple[list[MetadataRecord], Any]:
    """The records and result of one topic; raises KafkaError in Kafka's words."""
    _check_new_name(ctx.image, topic.name)
    configs = _checked_configs(ctx, topic)
    assignment = _manual(ctx.image, topic) if topic.assignments else _automatic(ctx, topic)
    ctx.charge(len(assignment))
    topic_id = ctx.new_id()
    records: list[MetadataRecord] = [TopicRecord(topic.name, topic_id)]
    records += [ConfigRecord(TOPIC_RESOURCE, topic.name, name, value) for name, value in configs.items()]
    records += [new_partition(ctx.image, topic_id, index, replicas) for index, replicas in enumerate(assignment)]
    return records, Result(
        name=topic.name, topic_id=topic_id, error_code=0, error_message=None, topic_config_error_code=0,
        num_partitions=len(assignment), replication_factor=len(assignment[0]), configs=_shown_configs(ctx, configs))


def _check_new_name(image: MetadataImage, name: str) -> None:
    if name in image.topics:
        raise KafkaError(Err.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    check_name(name)
    if (other := colliding(name, image.topics)) is not None:
        raise KafkaError(Err.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


# --- configuration ---------------------------------------------------------------------------------------------

def _checked_configs(ctx: Creation, topic: Any) -> dict[str, str]:
    nulls = [c.name for c in topic.configs if c.value is None]
    if nulls:
        raise KafkaError(Err.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {c.name: c.value for c in topic.configs}          # the last of a repeated name wins
    try:
        validate_topic_configs(configs, ctx.config)
    except ConfigError as error:
        raise KafkaError(Err.INVALID_CONFIG, str(error)) from error
    return configs


def _shown_configs(ctx: Creation, configs: dict[str, str]) -> list[Any]:
    shown = []
    for name in sorted(TOPIC_CONFIGS):
        config = TOPIC_CONFIGS[name]
        if config.internal and name not in configs:
            continue
        entries = resolve_topic(ctx.image, ctx.config, None, config)
        value, source = to_text(effective(config, entries)), entries[0].source if entries else DEFAULT
        if name in configs:
            value, source = configs[name], DYNAMIC_TOPIC
        shown.append(Result.CreatableTopicConfigs(name=name, value=value, read_only=False, config_source=source,
                                                  is_sensitive=config.sensitive))
    return shown


# --- replicas --------------------------------------------------------------------------------------------------

def new_partition(image: MetadataImage, topic_id: Uuid, index: int, replicas: list[int]) -> PartitionRecord:
    """The record of a new partition; some replica must be active."""
    isr = tuple(r for r in replicas if image.is_active(r))
    directories = tuple(image.new_directory(r) for r in replicas)
    return PartitionRecord(index, topic_id, tuple(replicas), isr, leader=isr[0], directories=directories)


def _automatic(ctx: Creation, topic: Any) -> list[list[int]]:
    factor, count = topic.replication_factor, topic.num_partitions
    if factor < -1 or factor == 0:
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         "Replication factor must be larger than 0, or -1 to use the default value.")
    if count < -1 or count == 0:
        raise KafkaError(Err.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    factor = ctx.config["default.replication.factor"] if factor == -1 else factor
    count = ctx.config["num.partitions"] if count == -1 else count
    return place_active(ctx.image, count, factor, ctx.rng)


def place_active(image: MetadataImage, count: int, factor: int, rng: Random) -> list[list[int]]:
    """Replicas of `count` partitions, each with a live one; INVALID_REPLICATION_FACTOR in Kafka's words."""
    prefix = f"Unable to replicate the partition {factor} time(s): "
    try:
        assignment = place([image.brokers[b] for b in sorted(image.brokers)], count, factor, rng)
    except KafkaError as error:
        raise KafkaError(error.code, prefix + error.message) from error
    if not all(any(image.is_active(r) for r in replicas) for replicas in assignment):
        raise KafkaError(Err.INVALID_REPLICATION_FACTOR,
                         prefix + "All brokers are currently fenced or in controlled shutdown.")
    return assignment


def _manual(image: MetadataImage, topic: Any) -> list[list[int]]:
    for number, name in ((topic.replication_factor, "replication factor"), (topic.num_partitions, "numPartitions")):
        if number != -1:
            raise KafkaError(Err.INVALID_REQUEST,
                             f"A manual partition assignment was specified, but {name} was not set to -1.")
    given: dict[int, list[int]] = {}
    factor: int | None = None
    for part in topic.assignments:
        index, replicas = part.partition_index, list(part.broker_ids)
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


def check_assignment(image: MetadataImage, replicas: list[int], factor: int | None) -> None:
    """Refuse a hand-made list of replicas; `factor` is that of the partitions before it."""
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
