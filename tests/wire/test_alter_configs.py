"""IncrementalAlterConfigs, AlterConfigs and ListConfigResources by value, as Apache Kafka 4.3 gives them; both engines.

What is changed here is given back: the cluster is shared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)

from minikafka.broker.config.group_and_metrics import GROUP_CONFIGS, METRICS_CONFIGS
from minikafka.broker.config.table import BROKER_CONFIGS, TOPIC_CONFIGS
from minikafka.log.batch import build
from tests import requests
from tests.wire.conftest import Place, describe_configs
from tests.wire.raw import Raw

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
UNKNOWN, PASSWORD = 0, 9           # types of a configuration whose value is never described
SET, DELETE, APPEND, SUBTRACT = range(4)
ILLEGAL = ("Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and "
           "'-'")
THREADS = ("Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for "
           "{} the current value {} for configuration Invalid dynamic configuration")
ONE_BROKERS = "Cannot update these configs at default cluster level, broker id must be specified: [{}]"
Change = tuple[str, int, str | None]


def incremental(raw: Raw, *resources: tuple[int, str, list[Change]], check: bool = False, version: int = 1) -> Any:
    row = IncrementalAlterConfigsRequest.AlterConfigsResource
    rows = [row(resource_type=kind, resource_name=name,
                configs=[row.AlterableConfig(name=k, config_operation=op, value=v) for k, op, v in changes])
            for kind, name, changes in resources]
    answer = raw.ask(IncrementalAlterConfigsRequest(resources=rows, validate_only=check), version)
    return [(r.resource_type, r.resource_name, r.error_code, r.error_message) for r in answer.responses]


def legacy(raw: Raw, *resources: tuple[int, str, dict[str, str | None]], check: bool = False, version: int = 2) -> Any:
    row = AlterConfigsRequest.AlterConfigsResource
    rows = [row(resource_type=kind, resource_name=name,
                configs=[row.AlterableConfig(name=k, value=v) for k, v in changes.items()])
            for kind, name, changes in resources]
    answer = raw.ask(AlterConfigsRequest(resources=rows, validate_only=check), version)
    return [(r.resource_type, r.resource_name, r.error_code, r.error_message) for r in answer.responses]


@pytest.mark.parametrize(("key", "value", "code"), [
    ("retention.ms", "\0 5\x1f", 0), ("retention.ms", "\u00a05", 40), ("cleanup.policy", "compact \t, delete", 0),
    ("cleanup.policy", "compact\u00a0,delete", 40), ("cleanup.policy", "compact,\0delete", 40)])
def test_blanks_around_values_are_javas(at: Place, key: str, value: str, code: int) -> None:
    """Fails if a value is taken that Kafka refuses, or the other way round, because another character counts as blank."""
    ((*_, found, _),) = incremental(at.raw, (TOPIC, at.name, [(key, SET, value)]), check=True)
    assert found == code


def shown(raw: Raw, kind: int, name: str, key: str) -> Any:
    """(value, source, synonyms) of one configuration, None if it is not listed."""
    (result,) = describe_configs(raw, (kind, name), keys=[key])
    found = [(c.value, c.config_source, [(s.name, s.value, s.source) for s in c.synonyms]) for c in result.configs]
    return found[0] if found else None


@pytest.fixture
def one(cluster: Any) -> Iterator[tuple[Raw, str]]:
    """A connection, and the id of the broker at its other end."""
    with Raw(cluster.bootstrap) as raw:
        yield raw, str(cluster.ids[0])


# --- what is refused -------------------------------------------------------------------------------------------

OK = ("retention.ms", SET, "1000")


@pytest.mark.parametrize(("topic", "change", "code", "text"), [
    (None, OK, 0, None),
    ("nope", OK, 3, "The topic 'nope' does not exist."),
    ("__cluster_metadata", OK, 3, "The topic '__cluster_metadata' does not exist."),
    ("", OK, 42, "Default topic resources are not allowed."),
    ("a b", OK, 17, ILLEGAL),
    ("nope", ("retention.ms", SET, "x"), 40,
     "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    (None, ("foo", SET, "x"), 40, "Unknown topic config name: foo"),
    (None, ("foo", DELETE, None), 0, None),
    (None, ("retention.ms", DELETE, None), 0, None),
    (None, ("retention.ms", SET, None), 42, "Null value not supported for : retention.ms"),
    (None, ("cleanup.policy", APPEND, None), 42, "Null value not supported for : cleanup.policy"),
    (None, ("retention.ms", APPEND, "1"), 40, "Can't APPEND to key retention.ms because its type is not LIST."),
    (None, ("retention.ms", SUBTRACT, "1"), 40, "Can't SUBTRACT to key retention.ms because its type is not LIST."),
    ("", ("foo", APPEND, "1"), 40, "Can't APPEND to key foo because its type is not LIST."),
    (None, ("cleanup.policy", APPEND, "x"), 40,
     "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"),
    (None, ("cleanup.policy", APPEND, ""), 40, "Configuration 'cleanup.policy' values must not be empty."),
    (None, ("retention.ms", 7, "1"), -1, None),
    (None, ("retention.ms", -1, "1"), -1, None),
    (None, ("segment.bytes", SET, "100"), 40,
     "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
    (None, ("internal.segment.bytes", SET, "100"), 0, None),
    (None, ("min.insync.replicas", SET, "0"), 40,
     "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    (None, ("retention.ms", SET, "\u0661"), 0, None),       # a digit is a digit
    (None, ("min.cleanable.dirty.ratio", SET, "2147483647"), 40, "Invalid value 2.147483647E9 for configuration "
     "min.cleanable.dirty.ratio: Value must be no more than 1"),
    (None, ("remote.storage.enable", SET, "true"), 40,
     "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."),
])
def test_changes_of_a_topic(at: Place, topic: str | None, change: Change, code: int, text: str | None) -> None:
    """Fails if a check is missing, comes in another order, or has another text (broker/config/alter.py)."""
    name = at.name if topic is None else topic
    assert incremental(at.raw, (TOPIC, name, [change]), check=True) == [(TOPIC, name, code, text)]


@pytest.mark.parametrize(("broker", "change", "code", "text"), [
    (None, ("log.retention.ms", SET, "5000"), 0, None),
    ("", ("log.retention.ms", SET, "5000"), 0, None),
    (None, ("log.retention.ms", DELETE, None), 0, None),
    ("9", OK, 42, "Unexpected broker id, expected {}, but received 9"),
    ("x", OK, 42, "Node id must be an integer, but it is: x"),
    (None, ("node.id", SET, "5"), 42, "Cannot update these configs dynamically: [node.id]"),
    ("", ("num.partitions", SET, "5"), 42, "Cannot update these configs dynamically: [num.partitions]"),
    ("", ("retention.ms", SET, "5"), 0, None),          # no broker's: kept, without effect
    ("", ("log.retention.ms", SET, "x"), 42,
     "Invalid value x for configuration log.retention.ms: Not a number of type LONG"),
    ("", ("log.retention.ms", 7, "1"), 42, "Unknown operations type 7"),
    ("", ("log.retention.ms", APPEND, "1"), 40, "Config value append is not allowed for config key: log.retention.ms"),
    ("", ("log.retention.ms", SUBTRACT, "1"), 40,
     "Config value subtract is not allowed for config key: log.retention.ms"),
    ("", ("log.cleanup.policy", APPEND, "compact"), 0, None),
    ("", ("log.segment.bytes", SET, "100"), 42,
     "Invalid value 100 for configuration log.segment.bytes: Value must be at least 1048576"),
    ("", ("log.retention.ms", SET, "0"), 42,
     "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"),
    ("", ("log.roll.ms", SET, "0"), 42, "requirement failed: log.roll.ms must be greater than or equal to 1"),
    ("", ("max.connections.per.ip", SET, "0"), 42, "requirement failed: max.connections.per.ip can be set to zero only if "
     "max.connections.per.ip.overrides property is set."),
    ("", ("leader.replication.throttled.rate", SET, "x"), 42,
     "Invalid value x for configuration leader.replication.throttled.rate: Not a number of type LONG"),
    (None, ("sasl.kerberos.min.time.before.relogin", SET, "58000"), 0, None),       # librdkafka's own test sets it
    ("", ("sasl.login.refresh.buffer.seconds", SET, "200"), 42, ONE_BROKERS.format("sasl.login.refresh.buffer.seconds")),
    ("", ("ssl.protocol", SET, "TLSv1.2"), 42, ONE_BROKERS.format("ssl.protocol")),
    ("", ("listener.name.plaintext.log.retention.ms", SET, "5000"), 42,
     ONE_BROKERS.format("listener.name.plaintext.log.retention.ms")),
    (None, ("sasl.login.refresh.window.factor", SET, "0.9"), 0, None),
    ("", ("remote.fetch.max.wait.ms", SET, "600"), 0, None),
    ("", ("num.io.threads", SET, "4"), 0, None),
    ("", ("num.io.threads", SET, "3"), 42, THREADS.format("num.io.threads=3, value should be at least half", 8)),
    (None, ("num.io.threads", SET, "17"), 42,
     THREADS.format("num.io.threads=17, value should not be greater than double", 8)),
    (None, ("min.insync.replicas", SET, "1"), 40,
     "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
    ("", ("min.insync.replicas", DELETE, None), 40,
     "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
    ("", ("min.insync.replicas", SET, "1"), 0, None),
])
def test_changes_of_a_broker(one: tuple[Raw, str], broker: str | None, change: Change, code: int, text: str | None) -> None:
    """Fails if a broker lets through what it must know of itself, or the controller what would break KIP-966."""
    raw, own = one
    name = own if broker is None else broker
    expected = (BROKER, name, code, text and text.format(own))
    assert incremental(raw, (BROKER, name, [change]), check=True) == [expected]


def test_resources_are_answered_one_by_one_in_their_order(one: tuple[Raw, str], at: Place) -> None:
    """Fails if one refusal spoils another resource, or what the broker refuses comes first."""
    raw, own = one
    answers = incremental(raw, (3, "x", [OK]), (TOPIC, at.name, [OK]), (BROKER, "9", []), (TOPIC, "nope", []), check=True)
    assert answers == [(3, "x", 42, "Unknown resource type 3"), (TOPIC, at.name, 0, None),
                       (BROKER, "9", 42, f"Unexpected broker id, expected {own}, but received 9"),
                       (TOPIC, "nope", 3, "The topic 'nope' does not exist.")]


def test_repeated_keys_and_resources(one: tuple[Raw, str], at: Place) -> None:
    """Fails if the last one wins instead."""
    raw, _ = one
    assert incremental(raw, (TOPIC, at.name, [OK, OK])) == [(TOPIC, at.name, 42, "Error due to duplicate config keys")]
    twice = incremental(raw, (TOPIC, at.name, [OK]), (TOPIC, at.name, [OK]))
    assert twice == [(TOPIC, at.name, 42, "Each resource must appear at most once.")] * 2


@pytest.mark.parametrize(("kind", "resource", "changes", "code", "text"), [
    (TOPIC, None, {"retention.ms": "7"}, 0, None),
    (TOPIC, None, {"retention.ms": None}, 42, "Null value not supported for : retention.ms"),
    (TOPIC, None, {"foo": "7"}, 40, "Unknown topic config name: foo"),
    (TOPIC, "nope", {}, 3, "The topic 'nope' does not exist."),
    (3, "x", {}, 42, "Unknown resource type 3"),
    (BROKER, "", {"node.id": "1"}, 42, "Cannot update these configs dynamically: [node.id]"),
    (BROKER, "", {}, 40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
])
def test_the_old_way(at: Place, kind: int, resource: str | None, changes: Any, code: int, text: str | None) -> None:
    """Fails if AlterConfigs checks something else than IncrementalAlterConfigs."""
    name = at.name if resource is None else resource
    assert legacy(at.raw, (kind, name, changes), check=True) == [(kind, name, code, text)]


# --- what happens ----------------------------------------------------------------------------------------------


def test_set_append_subtract_delete(cluster: Any, at: Place) -> None:
    """Fails if an operation does not start from the value before it, be it only the default."""
    default = ("delete", 5, [("log.cleanup.policy", "delete", 5)])
    for op, value, text in ((APPEND, "compact", "delete,compact"), (SUBTRACT, "delete , x", "delete,compact"),
                            (SUBTRACT, "delete,x", "compact"),
                            (SUBTRACT, "compact", ""), (APPEND, "delete,delete", "delete"),
                            (DELETE, None, None), (SUBTRACT, "compact", "delete")):
        assert incremental(at.raw, (TOPIC, at.name, [("cleanup.policy", op, value)])) == [(TOPIC, at.name, 0, None)]
        expected = default if text is None else (
            text, 1, [("cleanup.policy", text, 1), ("log.cleanup.policy", "delete", 5)])
        cluster.wait(lambda e=expected: shown(at.raw, TOPIC, at.name, "cleanup.policy") == e, timeout=60)


@pytest.mark.parametrize("version", (0, 1))
def test_incremental_versions(cluster: Any, at: Place, version: int) -> None:
    """Fails if a version is answered in another's form."""
    incremental(at.raw, (TOPIC, at.name, [OK]), version=version)
    cluster.wait(lambda: shown(at.raw, TOPIC, at.name, "retention.ms")[0] == "1000", timeout=60)


@pytest.mark.parametrize("version", range(3))
def test_the_old_way_replaces_everything(cluster: Any, at: Place, version: int) -> None:
    """Fails if AlterConfigs leaves a value that it does not name."""
    incremental(at.raw, (TOPIC, at.name, [OK, ("segment.ms", SET, "70")]))
    cluster.wait(lambda: shown(at.raw, TOPIC, at.name, "segment.ms")[0] == "70", timeout=60)
    assert legacy(at.raw, (TOPIC, at.name, {"retention.ms": "9"}), version=version) == [(TOPIC, at.name, 0, None)]
    cluster.wait(lambda: shown(at.raw, TOPIC, at.name, "retention.ms")[0] == "9", timeout=60)
    assert shown(at.raw, TOPIC, at.name, "segment.ms")[:2] == ("604800000", 5)


def test_checking_changes_nothing(at: Place) -> None:
    """Fails if records are written for validate_only."""
    incremental(at.raw, (TOPIC, at.name, [OK]), check=True)
    incremental(at.raw, (TOPIC, at.name, [("segment.ms", SET, "1")]))
    assert shown(at.raw, TOPIC, at.name, "retention.ms")[1] == 5


def test_where_a_value_comes_from(cluster: Any, one: tuple[Raw, str], at: Place) -> None:
    """Fails if a broker's value does not hide the cluster's, or coarser spellings are listed otherwise."""
    raw, own = one
    key, hours = "log.retention.ms", ("log.retention.hours", "168", 5)
    try:
        incremental(raw, (BROKER, own, [(key, SET, " 700000 ")]), (BROKER, "", [(key, SET, "800000")]))
        both = [(key, " 700000 ", 2), (key, "800000", 3), hours]
        cluster.wait(lambda: shown(raw, BROKER, own, key) == ("700000", 2, both), timeout=60)
        assert shown(raw, TOPIC, at.name, "retention.ms") == ("700000", 2, both)
        assert shown(raw, BROKER, "", key) == ("800000", 3, [(key, "800000", 3)])
        assert shown(raw, BROKER, own, hours[0]) == ("168", 5, [hours])
    finally:
        incremental(raw, (BROKER, own, [(key, DELETE, None)]), (BROKER, "", [(key, DELETE, None)]))
    cluster.wait(lambda: shown(raw, BROKER, own, key) == (None, 5, []), timeout=60)


def test_names_that_no_configuration_has_are_kept_and_hidden(cluster: Any, one: tuple[Raw, str]) -> None:
    """Fails if an unknown broker configuration is refused, or its value shown: it may be a secret."""
    raw, own = one
    incremental(raw, (BROKER, own, [("foo", SET, "x")]), (BROKER, "", [("foo.all", SET, "y")]))
    cluster.wait(lambda: shown(raw, BROKER, own, "foo") == (None, 2, [("foo", None, 2)]), timeout=60)
    assert shown(raw, BROKER, own, "foo.all") == shown(raw, BROKER, "", "foo.all") == (None, 3, [("foo.all", None, 3)])
    incremental(raw, (BROKER, own, [("foo", DELETE, None)]), (BROKER, "", [("foo.all", DELETE, None)]))
    cluster.wait(lambda: shown(raw, BROKER, own, "foo") is None, timeout=60)


def test_a_limit_of_replication_is_shown_where_it_is_set(cluster: Any, one: tuple[Raw, str]) -> None:
    """Fails if it is listed unset, or taken for a name that nobody knows; tools that move partitions set it (KIP-73)."""
    raw, own = one
    key = "follower.replication.throttled.rate"
    assert shown(raw, BROKER, own, key) is None
    incremental(raw, (BROKER, own, [(key, SET, "1000")]))
    cluster.wait(lambda: shown(raw, BROKER, own, key) == ("1000", 2, [(key, "1000", 2)]), timeout=60)
    incremental(raw, (BROKER, own, [(key, DELETE, None)]))
    cluster.wait(lambda: shown(raw, BROKER, own, key) is None, timeout=60)


def produce(at: Place, size: int) -> int:
    """The error code of one acks=all record of about `size` bytes."""
    records = build([(None, b"x" * size)], timestamp_ms=int(time.time() * 1000))
    return at.raw.ask(requests.produce(at.name, records), 9).responses[0].partition_responses[0].error_code


def test_a_limit_takes_effect_at_once(cluster: Any, at: Place) -> None:
    """Fails if the leader goes on with the configuration it opened the log with."""
    assert produce(at, 5000) == 0
    incremental(at.raw, (TOPIC, at.name, [("max.message.bytes", SET, "1000")]))
    cluster.wait(lambda: produce(at, 5000) == 10, timeout=60)
    incremental(at.raw, (TOPIC, at.name, [("max.message.bytes", DELETE, None)]))
    cluster.wait(lambda: produce(at, 5000) == 0, timeout=60)


def test_a_default_of_the_brokers_takes_effect_at_once(cluster: Any, at: Place) -> None:
    """Fails if a topic does not follow the cluster-wide default that it does not override."""
    incremental(at.raw, (BROKER, "", [("message.max.bytes", SET, "1000")]))
    try:
        cluster.wait(lambda: produce(at, 5000) == 10, timeout=60)
    finally:
        incremental(at.raw, (BROKER, "", [("message.max.bytes", DELETE, None)]))
    cluster.wait(lambda: produce(at, 5000) == 0, timeout=60)


# --- ListConfigResources ---------------------------------------------------------------------------------------


def listed(raw: Raw, *types: int, version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    answer = raw.ask(ListConfigResourcesRequest(resource_types=list(types)), version)
    return answer.error_code, [(r.resource_type, r.resource_name) for r in answer.config_resources]


def test_everything_that_has_a_configuration(one: tuple[Raw, str], at: Place) -> None:
    """Fails if a type is missing, or an unknown one is not refused. Topics, groups and metrics of other tests may be there."""
    raw, _ = one
    loggers, brokers = [(BROKER_LOGGER, b) for b in "123"], [(BROKER, b) for b in "123"]
    code, everything = listed(raw)
    own = [resource for resource in everything if resource[0] not in (CLIENT_METRICS, GROUP)]
    assert code == 0 and own[:6] == loggers + brokers
    assert (TOPIC, at.name) in own[6:] and {kind for kind, _ in own[6:]} == {TOPIC}
    assert listed(raw, BROKER) == (0, brokers)
    code, topics = listed(raw, TOPIC)
    assert code == 0 and (TOPIC, at.name) in topics and {kind for kind, _ in topics} == {TOPIC}
    assert listed(raw, 3) == listed(raw, 0) == listed(raw, TOPIC, 99) == (35, [])
    code, metrics = listed(raw, version=0)
    assert code == 0 and {kind for kind, _ in metrics} <= {CLIENT_METRICS}


def test_listed_resources_can_be_described_without_secrets(cluster: Any, at: Place) -> None:
    """I-DESCRIBE-1. Fails if a listed resource is refused, a configuration that is not Kafka's is shown, or a password."""
    kafkas = {TOPIC: set(TOPIC_CONFIGS), BROKER: {key for key in BROKER_CONFIGS if not key.startswith("minikafka.")},
              GROUP: set(GROUP_CONFIGS), CLIENT_METRICS: set(METRICS_CONFIGS)}
    own = [(GROUP, at.name, "consumer.session.timeout.ms"), (CLIENT_METRICS, at.name, "interval.ms")]
    incremental(at.raw, *[(kind, name, [(key, SET, "50000")]) for kind, name, key in own])
    cluster.wait(lambda: {kind for kind, _ in listed(at.raw)[1]} == {*kafkas, BROKER_LOGGER})
    for kind, name in listed(at.raw)[1]:
        address = at.addresses[int(name)] if kind in (BROKER, BROKER_LOGGER) else cluster.bootstrap
        with Raw(address) as raw:
            (result,) = describe_configs(raw, (kind, name))
        assert (result.error_code, bool(result.configs)) == (0, True), (kind, name, result)
        for row in result.configs:
            if kind == BROKER_LOGGER:
                assert row.value in ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE") and row.config_source == 6
                continue
            assert row.name in kafkas[kind], (kind, row.name)
            assert row.is_sensitive == (row.config_type in (UNKNOWN, PASSWORD))
            assert not row.is_sensitive or {row.value, *(one.value for one in row.synonyms)} == {None}
    incremental(at.raw, *[(kind, name, [(key, DELETE, None)]) for kind, name, key in own])
