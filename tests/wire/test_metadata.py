"""Metadata, DescribeCluster and DescribeConfigs by value, as Apache Kafka 4.3 gives them; both engines must."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest

from tests.wire.conftest import Place, create, describe_configs, place
from tests.wire.raw import Raw

TOPIC_OPERATIONS, CLUSTER_OPERATIONS = {3, 4, 5, 6, 7, 8, 10, 11}, {5, 7, 8, 9, 10, 11, 12}
MALFORMED = ("This most likely occurs because of a request being malformed by the client library or the message was "
             "sent to an incompatible broker. See the broker logs for more details.")


def row(name: str | None = None, topic_id: Any = None) -> Any:
    return MetadataRequest.MetadataRequestTopic(name=name, topic_id=topic_id)


def ask(at: Place, version: int, *topics: Any, everything: bool = False, **options: Any) -> Any:
    options.setdefault("allow_auto_topic_creation", False)
    rows = None if everything else [row(t) if isinstance(t, str) else t for t in topics]
    return at.raw.ask(MetadataRequest(topics=rows, **options), version)


def brief(answer: Any) -> list[tuple[Any, ...]]:
    return [(t.error_code, t.name, t.is_internal, len(t.partitions)) for t in answer.topics]


@pytest.mark.parametrize("version", range(14))
def test_a_topic_in_every_version(at: Place, version: int) -> None:
    """Fails if a field appears in a version that has none of it, or is missing where there is one."""
    answer = ask(at, version, at.name)
    assert brief(answer) == [(0, at.name, False, 1)]
    partition = answer.topics[0].partitions[0]
    assert (partition.error_code, partition.partition_index, partition.leader_id) == (0, 0, at.leader)
    assert sorted(partition.replica_nodes) == sorted(partition.isr_nodes) == [1, 2, 3]
    assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert list(partition.offline_replicas or []) == []
    assert answer.topics[0].topic_id == (at.id if version >= 10 else None)
    assert sorted(b.node_id for b in answer.brokers) == [1, 2, 3]
    assert answer.controller_id in ((1, 2, 3) if version >= 1 else (-1,))
    assert (answer.cluster_id is None) == (version < 2)


def test_what_an_empty_list_means(at: Place) -> None:
    """Fails if empty is not everything in version 0 and nothing later, or null is not everything."""
    assert at.name in [t.name for t in ask(at, 0).topics]
    for version in (1, 4, 9, 12, 13):
        assert ask(at, version).topics == []
        assert at.name in [t.name for t in ask(at, version, everything=True).topics]


def test_missing_topics_and_bad_names(cluster: Any, at: Place) -> None:
    """Fails if they share a code, or if what exists is not listed first."""
    answer = ask(at, 12, "nope", at.name, "bad name", "")
    assert brief(answer)[0] == (0, at.name, False, 1)
    assert sorted(brief(answer)[1:]) == [(3, "nope", False, 0), (17, "", False, 0), (17, "bad name", False, 0)]
    for later in ("-1", "-2"):      # auto.create.topics.enable is off: the controller makes what is created later, and not this
        assert brief(ask(at, 12, f"{at.name}-no", allow_auto_topic_creation=True)) == [(3, f"{at.name}-no", False, 0)]
        create(cluster.bootstrap, at.name + later)
        place(cluster, at.name + later).raw.socket.close()


def test_topics_by_id(at: Place) -> None:
    """Fails if ids are not answered from version 12, or the name beside an id is believed."""
    assert brief(ask(at, 12, row(None, at.id))) == [(0, at.name, False, 1)]
    assert brief(ask(at, 12, row("other", at.id))) == [(0, at.name, False, 1)]
    assert brief(ask(at, 12, row("nope"), row(None, at.id))) == [(0, at.name, False, 1)]
    assert brief(ask(at, 12, row(None, uuid4()))) == [(100, None, False, 0)]


@pytest.mark.parametrize(("version", "by_id", "code"), [
    (10, True, 42), (11, True, 42), (12, False, -1), (13, False, -1)])
def test_requests_that_make_no_sense(at: Place, version: int, by_id: bool, code: int) -> None:
    """Fails if ids before version 12, or a topic with neither name nor id, get more than an error."""
    name = None if version != 11 else "x"
    answer = ask(at, version, row(name, at.id if by_id else None))
    assert [(t.error_code, t.name) for t in answer.topics] == [(code, name or "")]
    assert answer.brokers == [] and answer.controller_id == -1 and answer.cluster_id is None
    assert version < 13 or answer.error_code == code


def test_a_topic_requested_twice_is_answered_once(at: Place) -> None:
    """Fails if repeated names are repeated in the answer."""
    assert brief(ask(at, 12, at.name, at.name)) == [(0, at.name, False, 1)]


def test_authorized_operations(at: Place) -> None:
    """Fails if they are there though the request does not include them, or wrong."""
    answer = ask(at, 8, at.name, include_topic_authorized_operations=True, include_cluster_authorized_operations=True)
    assert answer.authorized_operations == CLUSTER_OPERATIONS
    assert answer.topics[0].authorized_operations == TOPIC_OPERATIONS
    answer = ask(at, 12, at.name)
    assert answer.topics[0].authorized_operations is None


def test_every_broker_forwards_so_any_may_be_the_controller(at: Place) -> None:
    """Fails if controller_id is always the quorum's leader (I-META-1)."""
    assert {ask(at, 12).controller_id for _ in range(60)} == {1, 2, 3}


# --- DescribeCluster -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(at: Place, version: int) -> None:
    """Fails if brokers, operations or the new fields are wrong."""
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=1,
                                     include_fenced_brokers=True)
    answer = at.raw.ask(request, version)
    assert (answer.error_code, answer.error_message, answer.authorized_operations) == (0, None, CLUSTER_OPERATIONS)
    assert sorted((b.broker_id, f"{b.host}:{b.port}") for b in answer.brokers) == sorted(at.addresses.items())
    assert answer.cluster_id == ask(at, 12).cluster_id and answer.controller_id in (1, 2, 3)


@pytest.mark.parametrize(("kind", "code", "text"), [
    (2, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"),
    (3, 115, "Unsupported endpoint type 3")])
def test_other_endpoints(at: Place, kind: int, code: int, text: str) -> None:
    """Fails if the endpoint type is ignored."""
    answer = at.raw.ask(DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=kind), 1)
    assert (answer.error_code, answer.error_message, answer.brokers, answer.cluster_id) == (code, text, [], "")


# --- DescribeConfigs -------------------------------------------------------------------------------------------

TOPIC, BROKER = 2, 4


def configs(at: Place, kind: int, name: str, *keys: str, version: int = 4) -> Any:
    (result,) = describe_configs(at.raw, (kind, name), keys=list(keys) or None, version=version)
    return result


def shown(result: Any) -> dict[str, tuple[Any, ...]]:
    return {c.name: (c.value, c.config_source, c.read_only, c.config_type,
                     [(s.name, s.value, s.source) for s in c.synonyms]) for c in result.configs}


TABLE = {
    "cleanup.policy": ("delete", 5, 7, [("log.cleanup.policy", "delete", 5)]),
    "compression.gzip.level": ("-1", 5, 3, [("compression.gzip.level", "-1", 5)]),
    "compression.lz4.level": ("9", 5, 3, [("compression.lz4.level", "9", 5)]),
    "compression.type": ("producer", 5, 2, [("compression.type", "producer", 5)]),
    "compression.zstd.level": ("3", 5, 3, [("compression.zstd.level", "3", 5)]),
    "delete.retention.ms": ("86400000", 5, 5, [("log.cleaner.delete.retention.ms", "86400000", 5)]),
    "file.delete.delay.ms": ("60000", 5, 5, [("log.segment.delete.delay.ms", "60000", 5)]),
    "flush.messages": (str(2**63 - 1), 5, 5, [("log.flush.interval.messages", str(2**63 - 1), 5)]),
    "flush.ms": (str(2**63 - 1), 5, 5, []),
    "follower.replication.throttled.replicas": ("", 5, 7, []),
    "index.interval.bytes": ("4096", 5, 3, [("log.index.interval.bytes", "4096", 5)]),
    "leader.replication.throttled.replicas": ("", 5, 7, []),
    "local.retention.bytes": ("-2", 5, 5, [("log.local.retention.bytes", "-2", 5)]),
    "local.retention.ms": ("-2", 5, 5, [("log.local.retention.ms", "-2", 5)]),
    "max.compaction.lag.ms": (str(2**63 - 1), 5, 5, [("log.cleaner.max.compaction.lag.ms", str(2**63 - 1), 5)]),
    "max.message.bytes": ("1048588", 5, 3, [("message.max.bytes", "1048588", 5)]),
    "message.timestamp.after.max.ms": ("3600000", 5, 5, [("log.message.timestamp.after.max.ms", "3600000", 5)]),
    "message.timestamp.before.max.ms":
        (str(2**63 - 1), 5, 5, [("log.message.timestamp.before.max.ms", str(2**63 - 1), 5)]),
    "message.timestamp.type": ("CreateTime", 5, 2, [("log.message.timestamp.type", "CreateTime", 5)]),
    "min.cleanable.dirty.ratio": ("0.5", 5, 6, [("log.cleaner.min.cleanable.ratio", "0.5", 5)]),
    "min.compaction.lag.ms": ("0", 5, 5, [("log.cleaner.min.compaction.lag.ms", "0", 5)]),
    "min.insync.replicas": ("2", 3, 3, [("min.insync.replicas", "2", 3), ("min.insync.replicas", "2", 4),
                                        ("min.insync.replicas", "1", 5)]),
    "preallocate": ("false", 5, 1, [("log.preallocate", "false", 5)]),
    "remote.log.copy.disable": ("false", 5, 1, []),
    "remote.log.delete.on.disable": ("false", 5, 1, []),
    "remote.storage.enable": ("false", 5, 1, []),
    "retention.bytes": ("-1", 5, 5, [("log.retention.bytes", "-1", 5)]),
    "retention.ms": ("604800000", 5, 5, []),
    "segment.bytes": ("1073741824", 5, 3, [("log.segment.bytes", "1073741824", 5)]),
    "segment.index.bytes": ("10485760", 5, 3, [("log.index.size.max.bytes", "10485760", 5)]),
    "segment.jitter.ms": ("0", 5, 5, []),
    "segment.ms": ("604800000", 5, 5, []),
    "unclean.leader.election.enable": ("false", 5, 1, [("unclean.leader.election.enable", "false", 5)]),
}


def test_every_configuration_of_a_topic(at: Place) -> None:
    """Fails if one of the 33 has another value, source, type or synonym than in Kafka 4.3."""
    expected = {name: (value, source, False, kind, synonyms) for name, (value, source, kind, synonyms) in TABLE.items()}
    found = configs(at, TOPIC, at.name)
    assert (found.error_code, found.error_message, shown(found)) == (0, "", expected)
    assert all(c.documentation for c in found.configs)


def test_values_set_on_the_topic(cluster: Any, at: Place, name: str) -> None:
    """Fails if a value is shown as it was typed, or not before its broker's."""
    create(cluster.bootstrap, f"{name}-set", **{"retention.ms": " 5 ", "cleanup.policy": "compact, delete"})
    keys = ("retention.ms", "cleanup.policy", "nope")
    found = cluster.wait(lambda: shown(configs(at, TOPIC, f"{name}-set", *keys)), timeout=60)
    assert found == {
        "retention.ms": ("5", 1, False, 5, [("retention.ms", "5", 1)]),
        "cleanup.policy": ("compact,delete", 1, False, 7,
                           [("cleanup.policy", "compact,delete", 1), ("log.cleanup.policy", "delete", 5)])}


def test_configurations_of_the_broker(at: Place) -> None:
    """Fails if source, read-only or synonyms of a broker's configuration are wrong."""
    found = shown(configs(at, BROKER, str(at.leader)))
    assert found["node.id"] == (str(at.leader), 4, True, 3, [("node.id", str(at.leader), 4)])
    assert found["replica.lag.time.max.ms"] == (
        "5000", 4, True, 5, [("replica.lag.time.max.ms", "5000", 4), ("replica.lag.time.max.ms", "30000", 5)])
    assert found["log.retention.ms"] == (None, 5, False, 5, [])
    assert found["log.retention.hours"] == ("168", 5, True, 3, [("log.retention.hours", "168", 5)])
    everyone = shown(configs(at, BROKER, ""))
    assert everyone == {"min.insync.replicas": ("2", 3, False, 3, [("min.insync.replicas", "2", 3)])}


@pytest.mark.parametrize(("kind", "resource", "code", "text"), [
    (TOPIC, "nope", 3, ""), (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
    (BROKER, "x", 42, "Broker id must be an integer, but it is: x"), (3, "x", 42, MALFORMED), (0, "x", 42, MALFORMED)])
def test_resources_that_are_not_there(at: Place, kind: int, resource: str, code: int, text: str) -> None:
    """Fails if an unknown resource is answered as an empty one."""
    found = configs(at, kind, resource)
    assert (found.error_code, found.error_message, found.configs) == (code, text, [])


def test_another_broker_is_not_described(at: Place) -> None:
    """Fails if a broker answers for another: it does not know the other's file."""
    other = str(at.leader % 3 + 1)
    text = f"Unexpected broker id, expected {at.leader} or empty string, but received {other}"
    assert (configs(at, BROKER, other).error_code, configs(at, BROKER, other).error_message) == (42, text)


def test_old_versions_of_describe_configs(at: Place) -> None:
    """Fails if versions 1 to 3 do not answer, or documentation comes before version 3."""
    for version in (1, 2, 3):
        (config,) = configs(at, TOPIC, at.name, "retention.ms", version=version).configs
        assert config.value == "604800000" and bool(config.documentation) == (version == 3)


def test_a_connection_to_any_broker_sees_the_same(at: Place) -> None:
    """Fails if brokers describe a topic from anything but the same log."""
    answers = []
    for address in at.addresses.values():
        with Raw(address) as raw:
            answers.append(brief(raw.ask(MetadataRequest(topics=[row(at.name)]), 12)))
    assert answers == [answers[0]] * 3
