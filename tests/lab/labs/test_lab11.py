"""Lab 11: the bytes that show whether a group has committed; the verdict on a job. Strict cells compare the figures."""
from __future__ import annotations

from contextlib import closing
from itertools import islice

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from minikafka import Cluster
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab11.experiment import commits_on_disk, count_zones
from minikafka.lab.labs.lab11.from_nothing import Answered, verdict

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


RIGHT = ((30, 1, 402.4), (20, 0, 300.0), None, (20, 0, 300.0))
LINES = ("30 1 402", "20 0 300.0", "gone", "20 0 300")


@pytest.mark.parametrize(("number", "line", "why"), [
    (0, "36 1 402", "look at the rows"), (0, "30 0 402", "unreadable rows"), (1, "20 0 298", "look at the dollars"),
    (2, "25 1 350", "a figure that nobody can tell"), (1, "gone", "all of it is there"),
    (3, "Row(20, 0, 300)", "A line is wanted")])
def test_a_job_is_judged_by_its_lines(number, line, why):
    """Fails if a job passes whose figure is false, or that answers for records that are gone."""
    assert "three right answers" in verdict(Answered(RIGHT, LINES, 0))
    with pytest.raises(Wrong, match=why):
        verdict(Answered(RIGHT, (*LINES[:number], line, *LINES[number + 1:]), 0))


@pytest.mark.parametrize(("lines", "code", "why"), [
    (2, 1, "that is an error of the read"), (3, 0, "no answer to the request '20 30'"), (4, 3, "exit code 3"),
    (4, None, "still running 60 s")])
def test_a_job_is_judged_by_its_end(lines, code, why):
    """Fails if a job passes that stops at the loss, or has no good end."""
    with pytest.raises(Wrong, match=why):
        verdict(Answered(RIGHT, LINES[:lines], code))
