"""The configurations of groups and of client metrics subscriptions.

`consumer.*` configures groups of the consumer protocol (KIP-848). Share groups (KIP-932), streams groups (KIP-1071) and
client metrics (KIP-714) are not served here; their configurations are kept and described, because tools set and list them.

Owns: GROUP_CONFIGS, METRICS_CONFIGS, and the checks of them beyond their types.
Invariants: a group's value lies between the brokers' group.*.min.* and group.*.max.* of the same name.
Source: GroupConfig, GroupCoordinatorConfig, ClientMetricsConfigs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from minikafka.broker.config.definition import Config, ConfigError, OneOf, Range, ResetStrategy, plain
from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.config.table import BROKER_CONFIGS
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.text import trim

_OF_BROKERS = (                                     # brokers have them as group.*; in Kafka's order of validation
    *(f"{kind}.{name}" for kind in ("consumer", "share", "streams")
      for name in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
    "share.record.lock.duration.ms", "share.delivery.count.limit", "share.partition.max.record.locks",
    "streams.num.standby.replicas", "streams.initial.rebalance.delay.ms")


def _of_brokers(name: str) -> Config:
    default = BROKER_CONFIGS[f"group.{name}"]
    return Config(name, default.type, default.default, f"What group.{name} is for this group.", Range(default.valid.low),
                  synonyms=((default.name, 1),), effect="read" if name.startswith("consumer.") else "ignored")


GROUP_CONFIGS: dict[str, Config] = {config.name: config for config in [
    *(_of_brokers(name) for name in _OF_BROKERS),
    Config("share.auto.offset.reset", "STRING", "latest", "Where a share group begins to read.", ResetStrategy(),
           effect="ignored"),
    Config("share.isolation.level", "STRING", "read_uncommitted", "Which records of transactions a share group reads.",
           OneOf(("read_committed", "read_uncommitted")), effect="ignored"),
    Config("share.renew.acknowledge.enable", "BOOLEAN", True, "Whether a share group's members may renew their locks.",
           effect="ignored"),
]}
METRICS_CONFIGS: dict[str, Config] = {config.name: config for config in [
    Config("interval.ms", "INT", 300_000, "How often a client pushes its metrics, in ms.", effect="ignored"),
    Config("match", "LIST", [], "Which clients are meant: key=pattern.", effect="ignored"),
    Config("metrics", "LIST", [], "Which metrics are wanted: prefixes of their names.", effect="ignored"),
]}
_MATCHED = ("client_instance_id", "client_id", "client_software_name", "client_software_version",
            "client_source_address", "client_source_port")


def validate_group_configs(configs: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raise ConfigError if Kafka refuses a group's whole configuration."""
    for name in configs:
        if name not in GROUP_CONFIGS:
            raise plain(f"Unknown group config name: {name}")
    values = {name: GROUP_CONFIGS[name].parse(text) for name, text in configs.items()}
    for name in (name for name in _OF_BROKERS if name in values):
        kind, _, rest = name.partition(".")
        low, high = (f"group.{kind}.{limit}.{rest.removeprefix('num.')}" for limit in ("min", "max"))
        if low in broker and values[name] < broker[low]:
            raise plain(f"{name} must be greater than or equal to {low}")
        if high in broker and values[name] > broker[high]:
            raise plain(f"{name} must be less than or equal to {high}")


def group_value(own: Mapping[str, str], name: str, otherwise: Any) -> Any:  # Any: by the name
    """Return the typed value that a group sets, or `otherwise`, which is the brokers' (I-CFG-8)."""
    try:
        return GROUP_CONFIGS[name].parse(own[name]) if name in own else otherwise
    except ConfigError:
        return otherwise


def validate_metrics_configs(configs: Mapping[str, str]) -> None:
    """Raise ConfigError if Kafka refuses a subscription's whole configuration; KafkaError where Kafka answers
    INVALID_REQUEST."""
    for name in configs:
        if name not in METRICS_CONFIGS:
            raise KafkaError(Err.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    values: dict[str, Any] = {name: METRICS_CONFIGS[name].parse(text) for name, text in configs.items()}
    if not 100 <= values.get("interval.ms", 100) <= 3_600_000:
        raise KafkaError(Err.INVALID_REQUEST, f"Invalid value {values['interval.ms']} for interval.ms, "
                         "interval must be between 100 and 3600000 (1 hour)")
    for pattern in values.get("match", []):
        if not _matches_clients(pattern):
            raise plain(f"Illegal client matching pattern: {pattern}")


def _matches_clients(pattern: str) -> bool:
    key, _, value = pattern.partition("=")
    try:
        re.compile(trim(value))
    except (re.error, OverflowError, RecursionError):      # the latter: huge repetitions, thousands of open parentheses
        return False
    return trim(key) in _MATCHED and value != "" and "=" not in value
