"""Administration as clients do it: topics come, are described and go. Refusals, by value: tests/wire/test_topics.py."""

from __future__ import annotations

import uuid

import confluent_kafka
import confluent_kafka.admin as confluent_admin
import pytest

from .kit import LIBRARIES, PATIENCE, Record, admin_of, known_everywhere, make_topic


def test_a_topic_is_created_described_and_deleted(cluster, name) -> None:
    """Fails if partitions, replicas, ISR or the topic's id are answered wrongly, or a deleted topic stays."""
    with admin_of(cluster) as admin:
        spec = {"num_partitions": 3, "replication_factor": 2, "configs": {"retention.ms": "1"}}
        (answer,) = admin.create_topics({name: spec})["topics"]
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
