"""Administration: creating and deleting topics, describing them and the cluster; codes and texts. On both engines."""

from __future__ import annotations

import uuid

import confluent_kafka
import confluent_kafka.admin as confluent_admin
import pytest

from .kit import LIBRARIES, PATIENCE, Record, admin_of, known_everywhere, make_topic

# What is wrong with the topic -> (error code, text); {name} is the topic's name.
REFUSED = {
    "no partitions": ({"num_partitions": 0, "replication_factor": 1},
                      37, "Number of partitions was set to an invalid non-positive value."),
    "no replicas": ({"num_partitions": 1, "replication_factor": 0},
                    38, "Replication factor must be larger than 0, or -1 to use the default value."),
    "more replicas than brokers": (
        {"num_partitions": 1, "replication_factor": 4},
        38, "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached "
            "because only 3 broker(s) are registered or some brokers have all their log directories cordoned."),
    "unknown config": ({"num_partitions": 1, "replication_factor": 1, "configs": {"nonsense": "1"}},
                       40, "Unknown topic config name: nonsense"),
    "config of the wrong type": (
        {"num_partitions": 1, "replication_factor": 1, "configs": {"retention.ms": "soon"}},
        40, "Invalid value soon for configuration retention.ms: Not a number of type LONG"),
    "config out of range": (
        {"num_partitions": 1, "replication_factor": 1, "configs": {"min.insync.replicas": "0"}},
        40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
    "config that is no choice": (
        {"num_partitions": 1, "replication_factor": 1, "configs": {"cleanup.policy": "burn"}},
        40, "Invalid value burn for configuration cleanup.policy: String must be one of: compact, delete"),
    "replica twice": ({"assignments": {0: [1, 1]}},
                      39, "The manual partition assignment includes the broker 1 more than once."),
    "unknown broker": ({"assignments": {0: [1, 9]}},
                       39, "The manual partition assignment includes broker 9, but no such broker is registered."),
    "empty assignment": ({"assignments": {0: []}},
                         39, "The manual partition assignment includes an empty replica list."),
    "uneven assignments": ({"assignments": {0: [1, 2], 1: [3]}},
                           39, "The manual partition assignment includes a partition with 1 replica(s), but this is "
                               "not consistent with previous partitions, which have 2 replica(s)."),
    "assignments with a gap": ({"assignments": {0: [1], 2: [1]}},
                               39, "partitions should be a consecutive 0-based integer sequence"),
}
NAMES = {
    "a b": "Topic name is invalid: 'a b' contains one or more characters other than "
           "ASCII alphanumerics, '.', '_' and '-'",
    ".": "Topic name is invalid: '.' is not allowed",
    "..": "Topic name is invalid: '..' is not allowed",
    "": "Topic name is invalid: the empty string is not allowed",
    "x" * 250: f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249",
}


def create(admin, topic: str, spec: dict, **options) -> dict:
    """The answer for one topic."""
    (answer,) = admin.create_topics({topic: spec}, raise_errors=False, **options)["topics"]
    return answer


def test_a_topic_is_created_described_and_deleted(cluster, name) -> None:
    """Fails if partitions, replicas, ISR or the topic's id are answered wrongly, or a deleted topic stays."""
    with admin_of(cluster) as admin:
        answer = create(admin, name, {"num_partitions": 3, "replication_factor": 2, "configs": {"retention.ms": "1"}})
        assert (answer["error_code"], answer["num_partitions"], answer["replication_factor"]) == (0, 3, 2)
        cluster.wait(lambda: known_everywhere(cluster, name, 3), PATIENCE)  # the next question may go to any broker
        assert name in admin.list_topics()
        (topic,) = admin.describe_topics([name])
        assert (topic["name"], topic["is_internal"], topic["error_code"]) == (name, False, 0)
        assert uuid.UUID(str(topic["topic_id"])) == uuid.UUID(str(answer["topic_id"]))
        assert [p["partition_index"] for p in sorted(topic["partitions"], key=_index)] == [0, 1, 2]
        for partition in topic["partitions"]:
            assert len(set(partition["replica_nodes"])) == 2
            assert sorted(partition["isr_nodes"]) == sorted(partition["replica_nodes"])
            assert partition["leader_id"] == partition["replica_nodes"][0]
            assert (partition["leader_epoch"], partition["offline_replicas"]) == (0, [])
        (deleted,) = admin.delete_topics([name])["topics"]
        assert (deleted["name"], deleted["error_code"]) == (name, 0)
        cluster.wait(lambda: admin.describe_topics([name])[0]["error_code"] == 3, PATIENCE)
        cluster.wait(lambda: name not in admin.list_topics(), PATIENCE)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_created(cluster, name, case) -> None:
    """Code and text of each refusal; nothing is created. Fails if a check is missing or says it in other words."""
    spec, code, text = REFUSED[case]
    with admin_of(cluster) as admin:
        for validate_only in (True, False):
            answer = create(admin, name, spec, validate_only=validate_only)
            assert (answer["error_code"], answer["error_message"]) == (code, text)
        assert name not in admin.list_topics()


@pytest.mark.parametrize("bad", NAMES, ids=lambda n: n[:5] or "empty")
def test_names_that_are_no_topic_names(cluster, bad) -> None:
    """INVALID_TOPIC_EXCEPTION with Kafka's text. Fails if a name reaches the file system unchecked."""
    with admin_of(cluster) as admin:
        answer = create(admin, bad, {"num_partitions": 1, "replication_factor": 1})
    assert (answer["error_code"], answer["error_message"]) == (17, NAMES[bad])


def test_names_that_collide(cluster, name) -> None:
    """A dot and an underscore are one in metric names. Fails if the collision is not found, or says it differently."""
    make_topic(cluster, name + ".a")
    with admin_of(cluster) as admin:
        answer = create(admin, name + "_a", {"num_partitions": 1, "replication_factor": 1})
    assert (answer["error_code"], answer["error_message"]) == (
        17, f"Topic '{name}_a' collides with existing topic: {name}.a")


def test_an_existing_topic_is_not_created_again(cluster, name) -> None:
    """TOPIC_ALREADY_EXISTS, also when only validating. Fails if a topic is created over another."""
    make_topic(cluster, name)
    with admin_of(cluster) as admin:
        for validate_only in (True, False):
            answer = create(admin, name, {"num_partitions": 1, "replication_factor": 1}, validate_only=validate_only)
            assert (answer["error_code"], answer["error_message"]) == (36, f"Topic '{name}' already exists.")


def test_validating_creates_nothing(cluster, name) -> None:
    """Fails if validate_only leaves a topic behind, or answers other numbers than creation."""
    with admin_of(cluster) as admin:
        answer = create(admin, name, {"num_partitions": 2, "replication_factor": 3}, validate_only=True)
        assert (answer["error_code"], answer["num_partitions"], answer["replication_factor"]) == (0, 2, 3)
        assert name not in admin.list_topics()


def test_defaults_for_partitions_and_replicas(cluster, name) -> None:
    """-1 means num.partitions and default.replication.factor. Fails if the broker's defaults are not applied."""
    with admin_of(cluster) as admin:
        answer = create(admin, name, {})
        assert (answer["error_code"], answer["num_partitions"], answer["replication_factor"]) == (0, 1, 1)


def test_assignments_are_taken_as_given(cluster, name) -> None:
    """The first replica leads. Fails if a manual assignment is reordered or placed anew."""
    make_topic(cluster, name, assignments={0: [3, 1], 1: [2, 3], 2: [1, 2]})
    found = cluster.partitions(name)
    assert {tp: (p.leader, p.replicas) for tp, p in found.items()} == {
        f"{name}-0": (3, [3, 1]), f"{name}-1": (2, [2, 3]), f"{name}-2": (1, [1, 2])}


def test_deleting_what_is_not_there(cluster, name) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id. Fails if the two are not told apart."""
    with admin_of(cluster) as admin:
        by_name, = admin.delete_topics([name], raise_errors=False)["topics"]
        by_id, = admin.delete_topics([uuid.uuid4()], raise_errors=False)["topics"]
    assert (by_name["error_code"], by_name["error_message"]) == (3, "This server does not host this topic-partition.")
    assert (by_id["error_code"], by_id["error_message"]) == (100, "This server does not host this topic ID.")


def test_a_recreated_topic_is_empty_and_has_a_new_id(cluster, name) -> None:
    """Fails if data or id of the deleted topic survive in the new one of the same name."""
    make_topic(cluster, name)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"old")] * 5)
    with admin_of(cluster) as admin:
        (before,) = admin.describe_topics([name])
        admin.delete_topics([name])
        cluster.wait(lambda: not cluster.partitions(name), PATIENCE)
        make_topic(cluster, name)
        (after,) = admin.describe_topics([name])
    assert after["topic_id"] != before["topic_id"]
    assert LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"new")]) == [(0, 0)]
    assert [r.value for r in LIBRARIES["kafka-python"].read(cluster.bootstrap, name, 1)] == [b"new"]


def test_the_cluster_describes_itself(cluster) -> None:
    """Fails if brokers, addresses or the cluster's id differ from what was configured."""
    with admin_of(cluster) as admin:
        found = admin.describe_cluster()
    assert found["cluster_id"] == cluster.plan.cluster_id
    assert {b["broker_id"]: (f"{b['host']}:{b['port']}", b["rack"], b["is_fenced"]) for b in found["brokers"]} == {
        broker: (cluster.address(broker), None, False) for broker in cluster.ids}
    assert found["controller_id"] in cluster.ids


def test_librdkafka_administers_too(cluster, name) -> None:
    """Creation, listing, description of the cluster and deletion in librdkafka's versions of the requests."""
    admin = confluent_admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
    new = confluent_admin.NewTopic(name, 2, replica_assignment=[[1, 2], [2, 3]], config={"retention.ms": "1000000"})
    admin.create_topics([new])[name].result(PATIENCE)
    cluster.wait(lambda: name in admin.list_topics(timeout=PATIENCE).topics, PATIENCE)
    topic = admin.list_topics(name, timeout=PATIENCE).topics[name]
    assert {n: p.replicas for n, p in topic.partitions.items()} == {0: [1, 2], 1: [2, 3]}
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        admin.create_topics([new])[name].result(PATIENCE)
    assert raised.value.args[0].code() == confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS
    assert raised.value.args[0].str() == f"Topic '{name}' already exists."
    described = admin.describe_cluster().result(PATIENCE)
    assert (described.cluster_id, sorted(node.id for node in described.nodes)) == (cluster.plan.cluster_id, cluster.ids)
    admin.delete_topics([name])[name].result(PATIENCE)
    cluster.wait(lambda: name not in admin.list_topics(timeout=PATIENCE).topics, PATIENCE)


def _index(partition: dict) -> int:
    return partition["partition_index"]
