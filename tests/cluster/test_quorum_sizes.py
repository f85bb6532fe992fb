"""Quorums of other sizes, as processes: five voters, controllers that are no brokers, brokers that do not vote."""

from __future__ import annotations

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from minikafka import Cluster
from minikafka.cluster.wire import live_brokers

WITHIN = 60.0  # seconds; only a bound for what hangs
FORGETFUL = {"metadata.log.max.record.bytes.between.snapshots": 2000, "metadata.max.retention.bytes": 1}


def create(cluster: Cluster, *names: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=[cluster.address(broker) for broker in cluster.alive])
    admin.create_topics([NewTopic(name, num_partitions=2, replication_factor=2) for name in names])
    admin.close()


def write_and_read(cluster: Cluster, topic: str, value: bytes) -> None:
    """A record comes back that all in-sync replicas have."""
    address = [cluster.address(broker) for broker in cluster.alive]
    producer = KafkaProducer(bootstrap_servers=address, acks="all")
    producer.send(topic, value).get(WITHIN)
    producer.close()
    consumer = KafkaConsumer(topic, bootstrap_servers=address, auto_offset_reset="earliest",
                             consumer_timeout_ms=int(WITHIN * 1000))  # fmt: skip
    assert next(consumer).value == value
    consumer.close()


def test_five_voters_do_without_two() -> None:
    """Fails if three of five voters are no majority, or the second leader's death is not survived like the first's."""
    with Cluster(brokers=5, preset="class") as cluster:
        assert len(cluster.plan.voters) == 5
        for _ in range(2):
            cluster.kill(fallen := cluster.wait(cluster.controller, WITHIN))
            cluster.wait(lambda fallen=fallen: cluster.controller() not in (None, fallen), WITHIN)
        # Until every living broker knows, clients are sent to the dead, and new partitions may be placed there.
        cluster.wait(lambda: all(sorted(live_brokers(cluster.address(n))) == cluster.alive for n in cluster.alive), WITHIN)
        create(cluster, "flights")
        write_and_read(cluster, "flights", b"ABQ")


def test_a_broker_without_a_vote_comes_back_from_a_snapshot() -> None:
    """Fails if an added broker gets no partitions or no metadata, or one that slept through the deletion of the log
    cannot load the snapshot of three controllers that are no brokers."""
    with Cluster(brokers=2, controllers=3, preset="class", config=FORGETFUL) as cluster:
        added = cluster.add_broker()
        assert [node.voter for node in cluster.plan.brokers] == [False] * 3 and len(cluster.plan.voters) == 3
        create(cluster, "before")
        cluster.stop(added)
        known = start_of_log(cluster, added)
        for number in range(12):
            create(cluster, f"topic-{number}")
        assert cluster.controller() == cluster.wait(cluster.controller, WITHIN) >= 101
        cluster.restart(added)
        assert start_of_log(cluster, added) > known
        consumer = KafkaConsumer(bootstrap_servers=cluster.address(added))
        assert {"before", "topic-0", "topic-11"} <= consumer.topics()
        consumer.close()
        cluster.kill(cluster.controller())
        create(cluster, "after")
        write_and_read(cluster, "after", b"SFO")


def start_of_log(cluster: Cluster, node: int) -> int:
    """Where the metadata log of a node begins: at the end of its oldest snapshot."""
    folder = cluster.plan.nodes[node].metadata / "__cluster_metadata-0"
    return min((int(path.name[:20]) for path in folder.glob("*.checkpoint")), default=0)
