"""Lab 11: the bytes that show whether a group has committed. Strict cells compare the figures."""
from __future__ import annotations

from contextlib import closing
from itertools import islice

from kafka import KafkaAdminClient, KafkaProducer

from minikafka import Cluster
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab11.experiment import commits_on_disk, count_zones

SETTINGS = {"offsets.topic.num.partitions": 1, "group.min.session.timeout.ms": 1000}


def test_a_commit_shows_in_the_bytes():
    """Fails if the lab's comparison of bytes could not tell a commit from none."""
    with Cluster(brokers=3, preset="class", config=SETTINGS) as cluster:
        with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
            admin.create_topics({"trips": {"num_partitions": 3, "replication_factor": 3, "configs": {"retention.ms": -1}}},
                                wait_for_metadata=True)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
            for trip in islice(taxi_trips(), 30):
                producer.send("trips", key=trip.taxi.encode(), value=trip.encode(), timestamp_ms=trip.timestamp_ms)
        count_zones(cluster.bootstrap)
        quiet = commits_on_disk(cluster)
        assert commits_on_disk(cluster) == quiet and "in 3 files" in quiet
        count_zones(cluster.bootstrap, group="another")
        assert commits_on_disk(cluster) != quiet
