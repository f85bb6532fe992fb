"""CreateTopics and DeleteTopics by value: codes, texts and numbers as Apache Kafka 4.3 gives them, on both engines."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from kafka.protocol.admin import DeleteTopicsRequest

from tests.requests import create_topics, topic
from tests.wire.conftest import create, describe, place
from tests.wire.raw import Raw

State = DeleteTopicsRequest.DeleteTopicState
HOSTED, HOSTED_ID = "This server does not host this topic-partition.", "This server does not host this topic ID."


def ask(raw: Raw, *topics: Any, version: int = 7, validate_only: bool = True, timeout_ms: int = 30000) -> list[Any]:
    return list(raw.ask(create_topics(*topics, check=validate_only, timeout_ms=timeout_ms), version).topics)


def verdict(raw: Raw, wanted: Any) -> tuple[int, str | None]:
    (answer,) = ask(raw, wanted)
    return answer.error_code, answer.error_message


@pytest.mark.parametrize(("numbers", "code", "text"), [
    ({"replicas": 4}, 38, "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be "
     "reached because only 3 broker(s) are registered or some brokers have all their log directories cordoned."),
    ({"replicas": 0}, 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    ({"replicas": -2}, 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    ({"partitions": 0}, 37, "Number of partitions was set to an invalid non-positive value."),
    ({"partitions": -2}, 37, "Number of partitions was set to an invalid non-positive value."),
    ({"partitions": 10001}, 44, "Excessively large number of partitions per request."),
    ({"partitions": 10000}, 44, "Unable to perform excessively large batch operation."),
    ({"partitions": 9999, "retention_ms": "1"}, 44, "Unable to perform excessively large batch operation."),
    ({"assign": [(0, [7])]}, 39,
     "The manual partition assignment includes broker 7, but no such broker is registered."),
    ({"assign": [(0, [1, 1])]}, 39, "The manual partition assignment includes the broker 1 more than once."),
    ({"assign": [(0, [])]}, 39, "The manual partition assignment includes an empty replica list."),
    ({"assign": [(0, [1]), (2, [1])]}, 39, "partitions should be a consecutive 0-based integer sequence"),
    ({"assign": [(1, [1])]}, 39, "partitions should be a consecutive 0-based integer sequence"),
    ({"assign": [(0, [1]), (0, [1])]}, 39, "Found multiple manual partition assignments for partition 0"),
    ({"assign": [(0, [1]), (1, [1, 2])]}, 39, "The manual partition assignment includes a partition with 2 replica(s), "
     "but this is not consistent with previous partitions, which have 1 replica(s)."),
    ({"retention_ms": None}, 40, "Null value not supported for topic configs: retention.ms"),
    ({"foo": "1", "retention_ms": "x"}, 40, "Unknown topic config name: foo"),
    ({"retention_ms": "x"}, 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ({"min_insync_replicas": "0"}, 40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    ({"cleanup_policy": "burn"}, 40,
     "Invalid value burn for configuration cleanup.policy: String must be one of: compact, delete"),
    ({"cleanup_policy": "delete,"}, 40, "Configuration 'cleanup.policy' values must not be empty."),
    ({"compression_gzip_level": "10"}, 40,
     "Invalid value 10 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    ({"min_compaction_lag_ms": "5", "max_compaction_lag_ms": "2"}, 40,
     "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (2)"),
    ({"remote_storage_enable": "true"}, 40, "Tiered Storage functionality is disabled in the broker. Topic cannot be "
     "configured with remote log storage."),
])
def test_what_is_refused_and_in_which_words(raw: Raw, numbers: Any, code: int, text: str) -> None:
    """Fails if controller/admin/create_topics.py or config/effective.py checks something else, or in another order; or if
    the topic is made all the same."""
    for check in (True, False):
        (answer,) = ask(raw, topic("refused", **numbers), validate_only=check)
        assert (answer.error_code, answer.error_message) == (code, text)
    assert describe(raw, "refused").topics[0].error_code == 3


def test_records_of_all_topics_count_together(raw: Raw) -> None:
    """Fails if a batch is as large as its topics like, or only the topic that is too much is refused."""
    large = ask(raw, topic("large-1", 6000), topic("large-2", 3999))
    assert [(t.error_code, t.error_message) for t in large] == [
        (44, "Unable to perform excessively large batch operation.")] * 2


@pytest.mark.parametrize(("name", "reason"), [
    ("", "the empty string is not allowed"), (".", "'.' is not allowed"), ("..", "'..' is not allowed"),
    ("x" * 250, f"the length of '{'x' * 250}' is longer than the max allowed length 249"),
    ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
    ("../a", "'../a' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
])
def test_names(raw: Raw, name: str, reason: str) -> None:
    """Fails if check_name() lets a name through that is no safe file name, or has another text."""
    assert verdict(raw, topic(name)) == (17, f"Topic name is invalid: {reason}")


def test_numbers_beside_an_assignment(raw: Raw) -> None:
    """Fails if an assignment together with numbers is accepted."""
    both = topic("both", assign=[(0, [1])])
    both.num_partitions = 1
    text = "A manual partition assignment was specified, but numPartitions was not set to -1."
    assert verdict(raw, both) == (42, text)
    both.replication_factor = 1
    text = "A manual partition assignment was specified, but replication factor was not set to -1."
    assert verdict(raw, both) == (42, text)


def test_a_created_topic_answers_with_its_configuration(raw: Raw, name: str) -> None:
    """Fails if a configuration is missing from the answer, or its value or source is not the effective one."""
    (made,) = ask(raw, topic(name, 2, 3, retention_ms=" 5 ", cleanup_policy="compact, delete"), validate_only=False)
    configs = {c.name: (c.value, c.config_source, c.read_only, c.is_sensitive) for c in made.configs}
    assert (made.error_code, made.error_message, made.num_partitions, made.replication_factor) == (0, None, 2, 3)
    assert isinstance(made.topic_id, UUID) and len(configs) == 33
    assert configs["retention.ms"] == (" 5 ", 1, False, False)
    assert configs["cleanup.policy"] == ("compact, delete", 1, False, False)
    assert configs["min.insync.replicas"] == ("2", 3, False, False)     # the cluster-wide default of the beginning
    assert configs["segment.ms"] == ("604800000", 5, False, False)


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_creates(raw: Raw, name: str, version: int) -> None:
    """Fails if the controller's answer goes out in another version than the client's."""
    (made,) = ask(raw, topic(name), version=version, validate_only=False)
    assert made.error_code == 0 and (made.topic_id is not None) == (version >= 7)
    assert len(made.configs or []) == (33 if version >= 5 else 0)


def test_defaults_of_the_numbers(raw: Raw, name: str) -> None:
    """Fails if -1 is not num.partitions and default.replication.factor."""
    (made,) = ask(raw, topic(name, -1, -1))
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 1, 1)


def test_an_existing_name_and_a_colliding_one(raw: Raw, name: str) -> None:
    """Fails if either is accepted or has the other's code."""
    raw.create(topic(f"{name}.x"))
    assert verdict(raw, topic(f"{name}.x")) == (36, f"Topic '{name}.x' already exists.")
    assert verdict(raw, topic(f"{name}_x")) == (17, f"Topic '{name}_x' collides with existing topic: {name}.x")


def test_the_same_name_twice_fails_and_spares_the_others(raw: Raw, name: str) -> None:
    """Fails if a duplicate is created, answered twice, or fails the whole request."""
    answers = ask(raw, topic(name), topic(name), topic(f"{name}-b"))
    assert sorted((a.name, a.error_code, a.error_message) for a in answers) == [
        (name, 42, "Duplicate topic name."), (f"{name}-b", 0, None)]


def test_the_metadata_log_is_no_topic_for_clients(raw: Raw) -> None:
    """Fails if a client can create __cluster_metadata."""
    text = "Creation of internal topic __cluster_metadata is prohibited."
    assert verdict(raw, topic("__cluster_metadata")) == (42, text)


def test_without_time_nothing_is_done(raw: Raw, name: str) -> None:
    """Fails if timeout 0 creates or deletes after all."""
    (answer,) = ask(raw, topic(name), validate_only=False, timeout_ms=0)
    assert (answer.error_code, answer.error_message) == (7, None)
    assert verdict(raw, topic(name)) == (0, None)


def test_what_is_refused_for_itself_has_no_timeout(raw: Raw, name: str) -> None:
    """Fails if topics that are named twice, or that no client may create, time out."""
    answers = ask(raw, topic(name), topic(name), topic("__cluster_metadata"), timeout_ms=0)
    assert [a.error_code for a in answers] == [42, 42]
    assert [a.error_code for a in ask(raw, topic(name), topic(name), topic(f"{name}-b"), timeout_ms=0)] == [7, 7, 7]
    assert delete(raw, name, name, timeout_ms=0) == [(name, False, 42, "Duplicate topic name.")]


def test_a_request_that_is_there_in_time_is_answered_with_its_decision(cluster: Any, raw: Raw, name: str) -> None:
    """I-FWD-2. Fails if a client gets a timeout, and the topic is made all the same. (Apache may be too busy to begin.)"""
    (answer,) = ask(raw, topic(name), validate_only=False, timeout_ms=1)
    assert answer.error_code in ((0, 7) if cluster.engine == "apache" else (0,))
    assert verdict(raw, topic(name))[0] == (0 if answer.error_code else 36)


def test_validate_only_makes_nothing(raw: Raw, name: str) -> None:
    """Fails if records are written for a validate_only request (I-TOPIC-3)."""
    for _ in range(2):
        assert verdict(raw, topic(name)) == (0, None)


def test_replicas_are_striped_over_the_brokers(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if leaders are not spread evenly, or a partition has two replicas on a broker (I-PLACE-1)."""
    raw.create(topic(name, 6, 2))
    partitions = cluster.wait(lambda: _known(raw, name, 6), timeout=60)
    assert sorted(p.replica_nodes[0] for p in partitions) == [1, 1, 2, 2, 3, 3]
    assert all(len(set(p.replica_nodes)) == 2 and sorted(p.isr_nodes) == sorted(p.replica_nodes) for p in partitions)


def _known(raw: Raw, name: str, count: int) -> Any:
    partitions = describe(raw, name).topics[0].partitions
    return partitions if len(partitions) == count else None


# --- deletion --------------------------------------------------------------------------------------------------


def delete(raw: Raw, *targets: Any, version: int = 6, timeout_ms: int = 30000) -> list[tuple[Any, ...]]:
    """Names or State rows; answers as (name, has an id, code, text), sorted."""
    if version < 6:
        request = DeleteTopicsRequest(topic_names=list(targets), topics=[], timeout_ms=timeout_ms)
    else:
        rows = [State(name=t) if isinstance(t, str) else t for t in targets]
        request = DeleteTopicsRequest(topic_names=[], topics=rows, timeout_ms=timeout_ms)
    answers = raw.ask(request, version).responses
    return sorted(((a.name, a.topic_id is not None, a.error_code, a.error_message) for a in answers), key=repr)


def by_id(topic_id: UUID) -> Any:
    return State(name=None, topic_id=topic_id)


def test_deletion_by_name_and_by_id(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if the topic stays, or unknown names and ids share a code."""
    create(cluster.bootstrap, name)
    there = place(cluster, name)
    there.raw.socket.close()
    assert delete(raw, "nope", by_id(uuid4()), by_id(there.id)) == sorted([
        ("nope", False, 3, HOSTED), (name, True, 0, None), (None, True, 100, HOSTED_ID)], key=repr)
    assert delete(raw, name) == [(name, False, 3, HOSTED)]
    cluster.wait(lambda: describe(raw, name).topics[0].error_code == 3, timeout=60)


def test_odd_targets_of_a_deletion(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if duplicates, both or neither of name and id are not told apart (I-TOPIC-4)."""
    create(cluster.bootstrap, name)
    there = place(cluster, name)
    there.raw.socket.close()
    assert delete(raw, State(name=None)) == [(None, False, 42, "Neither topic name nor id were specified.")]
    assert delete(raw, State(name=name, topic_id=there.id)) == [
        (name, True, 42, "You may not specify both topic name and topic id.")]
    assert delete(raw, name, name) == [(name, False, 42, "Duplicate topic name.")]
    assert delete(raw, by_id(there.id), by_id(there.id)) == [(None, True, 42, "Duplicate topic id.")]
    assert delete(raw, name, timeout_ms=0) == [(name, False, 7, None)]
    assert describe(raw, name).topics[0].error_code == 0


@pytest.mark.parametrize("version", range(1, 6))
def test_old_versions_delete_by_name(cluster: Any, raw: Raw, name: str, version: int) -> None:
    """Fails if the list of names of old versions is not read."""
    create(cluster.bootstrap, name)
    text = HOSTED if version >= 5 else None
    assert delete(raw, name, "nope", version=version) == sorted(
        [(name, False, 0, None), ("nope", False, 3, text)], key=repr)
