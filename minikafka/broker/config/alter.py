"""IncrementalAlterConfigs and AlterConfigs: from the operations requested to ConfigRecords, with Kafka's checks and words.

Two nodes decide. The broker that received the request refuses malformed requests, and checks its own configurations, which
the controller need not know (refused_by_broker). The controller checks topics and makes records. AlterConfigs replaces the
whole configuration of a resource, so it deletes what it does not name; it becomes operations too, and both requests take
one path.

Owns: the operations set, delete, append, subtract; the checks of both nodes.
Invariants
  A resource is altered in whole or not at all; resources are answered one by one, in the order of the request.
  While eligible leader replicas are in use, min.insync.replicas has a cluster-wide value and no broker's own;
    a change of it clears the ELRs concerned: their members were eligible under the old value (KIP-966).

What Kafka does differently: loggers are resources too; AlterConfigs with a repeated resource is never answered there.
Source: ConfigAdminManager, ConfigurationControlManager, ControllerConfigurationValidator, DynamicBrokerConfig; KIP-226,
KIP-339.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.broker.config.definition import ConfigError, integer
from minikafka.broker.config.effective import (
    BrokerConfig,
    broker_value,
    validate_broker_configs,
    validate_topic_configs,
)
from minikafka.broker.config.group_and_metrics import (
    GROUP_CONFIGS,
    METRICS_CONFIGS,
    validate_group_configs,
    validate_metrics_configs,
)
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    BROKER_LOGGER,
    BROKER_RESOURCE,
    CLIENT_METRICS,
    GROUP,
    TOPIC_RESOURCE,
    ClearElrRecord,
    ConfigRecord,
    MetadataRecord,
)
from minikafka.broker.metadata.topic_names import check_name
from minikafka.protocol.errors import Err, KafkaError

SET, DELETE, APPEND, SUBTRACT = range(4)            # AlterConfigOp.OpType
NAMES = {APPEND: "append", SUBTRACT: "subtract"}
TABLES = {TOPIC_RESOURCE: TOPIC_CONFIGS, BROKER_RESOURCE: BROKER_CONFIGS}     # which of these are lists
MIN_ISR = "min.insync.replicas"
EVERY = {**TABLES, GROUP: GROUP_CONFIGS, CLIENT_METRICS: METRICS_CONFIGS}
NAMELESS = {TOPIC_RESOURCE: "Default topic resources are not allowed.",
            GROUP: "Default group resources are not allowed.", CLIENT_METRICS: "Subscription name can't be empty"}
LONGEST_VALUE = 32767                               # bytes


class AlterConfigOp(NamedTuple):
    """The operation on one configuration; the value is None for DELETE."""

    name: str
    kind: int
    value: str | None


@dataclass(frozen=True)
class Alteration:
    """The operations on one resource; `whole`: configurations that are not named are deleted (AlterConfigs)."""

    kind: int
    name: str
    ops: tuple[AlterConfigOp, ...]
    whole: bool


# --- on the broker that received the request ------------------------------------------------------------------------------


def refused_by_broker(image: MetadataImage, config: BrokerConfig, wanted: list[Alteration]) -> Iterator[KafkaError | None]:
    """Yield this broker's refusal for each of `wanted`, or None: then the controller decides."""
    counts = Counter((one.kind, one.name) for one in wanted)
    for one in wanted:
        try:
            if counts[one.kind, one.name] > 1:
                raise KafkaError(Err.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_form(one, config.node_id)
            if one.kind == BROKER_RESOURCE:
                _check_broker(image, config, one)
        except KafkaError as refused:
            yield refused
        else:
            yield None


def without_effect(wanted: list[Alteration]) -> list[str]:
    """Return the configurations that are to be set and have no effect here (I-CFG-2)."""
    named = {(one.kind, op.name): None for one in wanted for op in one.ops if op.kind != DELETE}
    return [name for kind, name in named if (row := EVERY.get(kind, {}).get(name)) is not None and row.effect == "ignored"]


def _check_form(one: Alteration, node_id: int) -> None:
    if len({op.name for op in one.ops}) < len(one.ops):
        raise KafkaError(Err.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [op.name for op in one.ops if op.kind != DELETE and op.value is None]
    if nulls:
        raise KafkaError(Err.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    if one.kind == BROKER_LOGGER and not one.whole:
        _check_node(node_id, one.name, "Unexpected node id. Expected {}, but received {}")
        raise KafkaError(Err.INVALID_REQUEST, "minikafka does not change the level of a logger while it runs.")
    if one.kind not in (TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS, GROUP):
        raise KafkaError(Err.INVALID_REQUEST, f"Unknown resource type {one.kind}")


def _check_node(node_id: int, name: str, unexpected: str) -> None:
    named = integer(name)
    if named is None:
        raise KafkaError(Err.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if named != node_id:
        raise KafkaError(Err.INVALID_REQUEST, unexpected.format(node_id, name))


def _check_broker(image: MetadataImage, config: BrokerConfig, one: Alteration) -> None:
    if one.name:
        _check_node(config.node_id, one.name, "Unexpected broker id, expected {}, but received {}")
    for op in one.ops:
        if op.kind not in (SET, DELETE, APPEND, SUBTRACT):
            raise KafkaError(Err.INVALID_REQUEST, f"Unknown operations type {op.kind}")
        if op.kind in NAMES and op.name not in BROKER_CONFIGS:
            raise KafkaError(Err.INVALID_CONFIG, f"Unknown config name: {op.name}")
        if op.kind in NAMES and not _is_list(one.kind, op.name):
            raise KafkaError(Err.INVALID_CONFIG, f"Config value {NAMES[op.kind]} is not allowed for config key: {op.name}")
    after = _after(_present(image, one), one)
    try:
        validate_broker_configs(after, not one.name, lambda name: broker_value(image, config, name))
    except ConfigError as error:
        raise KafkaError(Err.INVALID_REQUEST, str(error)) from error


# --- on the controller -----------------------------------------------------------------------------------------


def alter_configs(image: MetadataImage, config: BrokerConfig, wanted: list[Alteration],
                  elr: bool) -> Iterator[tuple[list[MetadataRecord], KafkaError | None]]:
    """Yield for each of `wanted` its records, and the refusal or None. `elr`: eligible leader replicas are in use."""
    for one in wanted:
        try:
            changes = _alter(image, config, one, elr)
        except KafkaError as refused:
            yield [], refused
        else:
            yield [*changes, *(_clearing(changes) if elr else ())], None


def _clearing(changes: Iterable[ConfigRecord]) -> list[ClearElrRecord]:
    return [ClearElrRecord(c.resource_name if c.resource_type == TOPIC_RESOURCE else "")
            for c in changes if c.name == MIN_ISR]


def _alter(image: MetadataImage, config: BrokerConfig, one: Alteration, elr: bool) -> list[ConfigRecord]:
    for op in one.ops:
        if op.kind not in (SET, DELETE, APPEND, SUBTRACT):
            raise KafkaError(Err.UNKNOWN_SERVER_ERROR)
        if op.kind in NAMES and not _is_list(one.kind, op.name):
            raise KafkaError(Err.INVALID_CONFIG,
                             f"Can't {NAMES[op.kind].upper()} to key {op.name} because its type is not LIST.")
    before = _present(image, one)
    after = _after(before, one)
    named = dict.fromkeys([*(op.name for op in one.ops), *(name for name in before if one.whole)])
    if elr and one.kind == BROKER_RESOURCE and MIN_ISR in named:
        _check_min_isr(one, after)
    if any(len(value.encode()) > LONGEST_VALUE for value in after.values()):
        raise KafkaError(Err.INVALID_CONFIG, "The configuration value cannot be added because it exceeds the maximum "
                         f"value size of {LONGEST_VALUE} bytes.")
    if one.kind != BROKER_RESOURCE:
        _check_resource(one, after, config)
        if one.kind == TOPIC_RESOURCE and one.name not in image.topics:
            raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{one.name}' does not exist.")
    return [ConfigRecord(one.kind, one.name, name, after.get(name)) for name in named
            if one.kind == BROKER_RESOURCE or before.get(name) != after.get(name)]


def _check_min_isr(one: Alteration, after: dict[str, str]) -> None:
    if one.name:
        raise KafkaError(Err.INVALID_CONFIG, f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if MIN_ISR not in after:
        raise KafkaError(Err.INVALID_CONFIG, f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")


def _check_resource(one: Alteration, after: dict[str, str], config: BrokerConfig) -> None:
    if one.kind not in NAMELESS:
        raise KafkaError(Err.INVALID_REQUEST, f"Unknown resource type {one.kind}")
    if not one.name:
        raise KafkaError(Err.INVALID_REQUEST, NAMELESS[one.kind])
    try:
        if one.kind == TOPIC_RESOURCE:
            check_name(one.name)
            validate_topic_configs(after, config)
        elif one.kind == GROUP:
            validate_group_configs(after, config)
        else:
            validate_metrics_configs(after)
    except ConfigError as error:
        raise KafkaError(Err.INVALID_CONFIG, str(error)) from error


# --- operations ------------------------------------------------------------------------------------------------


def _present(image: MetadataImage, one: Alteration) -> dict[str, str]:
    return image.configs.get((one.kind, one.name), {})


def _after(before: dict[str, str], one: Alteration) -> dict[str, str]:
    """Return the dynamic configuration of the resource after all operations."""
    after = {} if one.whole else dict(before)
    for op in one.ops:
        if op.kind == DELETE:
            after.pop(op.name, None)
        else:
            after[op.name] = _operate(op, before.get(op.name, _default(one.kind, op.name)))
    return after


def _operate(op: AlterConfigOp, present: str | None) -> str:
    if op.value is None:        # a broker refuses it first, but the controller checks for itself
        raise KafkaError(Err.INVALID_REQUEST, f"Null value not supported for : {op.name}")
    if op.kind == SET:
        return op.value
    words = [word for word in (present or "").split(",") if word]
    operands = dict.fromkeys(op.value.split(","))       # not trimmed: " a" is another word than "a", as in Kafka
    if op.kind == APPEND:
        known = set(words)
        return ",".join([*words, *(word for word in operands if word not in known)])
    return ",".join(_without(words, Counter(op.value.split(","))))


def _without(words: list[str], fewer: Counter[str]) -> Iterator[str]:
    """Yield the words; leave out the first `fewer[word]` of each word."""
    for word in words:
        if fewer[word] > 0:
            fewer[word] -= 1
        else:
            yield word


def _is_list(kind: int, name: str) -> bool:
    config = TABLES.get(kind, {}).get(name)
    return config is not None and config.type == "LIST"


def _default(kind: int, name: str) -> str | None:
    config = TABLES.get(kind, {}).get(name)
    return config.default_text if config is not None else None
