"""Brokers in racks: placement, the racks in responses, and consumers that read from the follower nearest to them (KIP-392).

Every expectation is an answer of Apache Kafka 4.3; both engines must give it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from kafka.protocol.admin import DescribeClusterRequest

from minikafka import Cluster
from minikafka.cluster.engine import common_properties
from minikafka.cluster.plan import new_plan, open_plan
from tests.clients.kit import LIBRARIES, PATIENCE, Record, make_topic
from tests.conftest import SETTINGS, own_cluster
from tests.requests import topic
from tests.wire.conftest import Place, describe
from tests.wire.raw import FOREVER, Raw
from tests.wire.test_fetch import fetch, fill, offsets

pytestmark = [pytest.mark.slow]
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
RACKS = {1: "a", 2: "b", 3: "b"}


racks = own_cluster(3, config={**SETTINGS, **SELECTOR, "min.insync.replicas": 1}, racks=list(RACKS.values()))


@pytest.fixture
def c(racks: Cluster) -> Iterator[Cluster]:
    yield racks
    racks.mend()


def led(cluster: Cluster, name: str, replicas: list[int], broker: int | None = None) -> Place:
    """A new topic of one partition on `replicas`, led by the first, with six records that all of them have; and a
    connection to `broker`, the leader unless named."""
    make_topic(cluster, name, assignments={0: replicas}, configs={"retention.ms": "-1"})  # the records are of 2023
    addresses = {b: cluster.address(b) for b in cluster.ids}
    raw = Raw(addresses[replicas[0]])
    at = Place(name, describe(raw, name).topics[0].topic_id, replicas[0], raw, addresses)
    fill(at)
    for replica in replicas:
        with Raw(addresses[replica]) as there:
            cluster.wait(lambda: fetch(at._replace(raw=there), 0).high_watermark == 6, PATIENCE)
    return at if broker is None else at._replace(raw=Raw(addresses[broker]))


def near(at: Place, rack: str, offset: int = 0, **options: Any) -> tuple[int, list[int]]:
    """(preferred replica, base offsets of the records) for a consumer in `rack`."""
    answer = fetch(at, offset, rack_id=rack, **options)
    assert answer.error_code == 0
    return answer.preferred_read_replica, offsets(answer.records)


def test_racks_are_described(c: Cluster) -> None:
    """Metadata and DescribeCluster of every broker. Fails if registration loses the rack."""
    for broker in c.ids:
        with Raw(c.address(broker)) as raw:
            known = describe(raw, "no-such-topic").brokers
            assert {b.node_id: b.rack for b in known} == RACKS
            asked = raw.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 0)
            assert {b.broker_id: b.rack for b in asked.brokers} == RACKS


def test_replicas_are_spread_over_racks(c: Cluster, name: str) -> None:
    """Two replicas are never both in rack b, though it has two brokers. Fails if placement knows no racks."""
    with Raw(c.bootstrap) as raw:
        raw.create(topic(name, 12, 2))
    found = c.wait(lambda: len(p := c.partitions(name)) == 12 and p, PATIENCE)
    assert [sorted({RACKS[r] for r in p.replicas}) for p in found.values()] == [["a", "b"]] * 12


def test_the_leader_sends_a_consumer_to_the_follower_in_its_rack(c: Cluster, name: str) -> None:
    """By name and by id; watermarks as ever, no records. Fails if it serves them itself, or names nobody."""
    at = led(c, name, [1, 2])
    for version in (11, 12, 13, 18):
        answer = fetch(at, 4, version, rack_id="b")
        assert (answer.error_code, answer.preferred_read_replica, bytes(answer.records or b"")) == (0, 2, b"")
        assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (6, 6, 0)
        assert answer.aborted_transactions is None
    committed = fetch(at, 4, rack_id="b", isolation_level=1)
    assert (committed.preferred_read_replica, committed.aborted_transactions) == (2, None)
    assert fetch(at, 4, 10).preferred_read_replica == -1


def test_it_answers_without_waiting(c: Cluster, name: str) -> None:
    """At the log's end a consumer would wait for records. Fails if it waits at the leader."""
    at = led(c, name, [1, 2])
    assert near(at, "b", 6, max_wait_ms=FOREVER) == (2, [])


def test_the_follower_serves_and_sends_nobody_on(c: Cluster, name: str) -> None:
    """Also a consumer of another rack. Fails if a follower chooses, too: consumers would go round in circles."""
    at = led(c, name, [1, 2], broker=2)
    assert near(at, "b") == (-1, [0, 2, 4])
    assert near(at, "a") == (-1, [0, 2, 4])


def test_who_reads_from_the_leader(c: Cluster, name: str) -> None:
    """No rack, the leader's own rack, a rack without a replica, a leader in the rack beside a follower in it."""
    at = led(c, name, [1, 2])
    assert near(at, "") == near(at, "a") == near(at, "z") == (-1, [0, 2, 4])
    beside = led(c, name + "-beside", [2, 3])
    assert near(beside, "b") == near(beside, "a") == (-1, [0, 2, 4])
    assert near(led(c, name + "-three", [1, 2, 3]), "b")[0] in (2, 3)


def test_an_offset_that_the_follower_does_not_have(c: Cluster, name: str) -> None:
    """It is the leader's to refuse. Fails if a consumer is sent away with it."""
    at = led(c, name, [1, 2])
    for offset in (7, 1000, -1):
        answer = fetch(at, offset, rack_id="b")
        assert (answer.error_code, answer.preferred_read_replica) == (1, -1)


def test_a_dead_follower_is_not_preferred(c: Cluster, name: str) -> None:
    """Nor one outside the ISR; after its return it is again. Fails if consumers are sent to a broker that is gone."""
    at = led(c, name, [1, 2])
    c.kill(2)
    c.wait(lambda: c.isr(name) == [1], PATIENCE)
    c.wait(lambda: near(at, "b") == (-1, [0, 2, 4]), PATIENCE)
    c.restart(2)
    c.wait(lambda: near(at, "b") == (2, []), PATIENCE)


@pytest.mark.parametrize("rack", ["a", "b"])
def test_a_consumer_reads_from_its_rack(c: Cluster, name: str, rack: str) -> None:
    """librdkafka with client.rack; its statistics name the broker it fetches from, and the leader. Fails if the leader
    suggests nobody, or the follower does not serve."""
    led(c, name, [1, 2])
    told: list[dict[str, Any]] = []
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": c.bootstrap, "group.id": name, "client.rack": rack, "enable.auto.commit": False,
        "statistics.interval.ms": 200, "stats_cb": lambda text: told.append(json.loads(text))})
    read: list[int] = []

    def poll() -> None:
        read.extend(m.offset() for m in consumer.consume(100, 0.2) if m.error() is None)

    def fetches_from() -> tuple[int, int] | None:
        """(broker, leader) of the latest statistics"""
        poll()
        part = told[-1]["topics"].get(name, {}).get("partitions", {}).get("0") if told else None
        return (part["broker"], part["leader"]) if part else None

    with closing(consumer):
        consumer.assign([confluent_kafka.TopicPartition(name, 0, 0)])
        c.wait(lambda: poll() or len(read) == 6, PATIENCE)
        expected = {"a": (1, 1), "b": (2, 1)}[rack]
        c.wait(lambda: fetches_from() == expected, PATIENCE)
        LIBRARIES["confluent"].send(c.bootstrap, name, [Record(b"%d" % n) for n in range(4)], acks="all")
        c.wait(lambda: poll() or len(read) == 10, PATIENCE)
        assert fetches_from() == expected
    assert read == list(range(10))


def test_a_consumer_returns_to_the_leader_when_its_follower_dies(c: Cluster, name: str) -> None:
    """And reads everything once, in order. Fails if it is sent to the dead one again and again."""
    led(c, name, [1, 2])
    consumer = confluent_kafka.Consumer({"bootstrap.servers": c.bootstrap, "group.id": name, "client.rack": "b",
                                         "enable.auto.commit": False, "reconnect.backoff.max.ms": 500})
    read: list[int] = []

    def poll() -> None:
        read.extend(m.offset() for m in consumer.consume(100, 0.2) if m.error() is None)

    with closing(consumer):
        consumer.assign([confluent_kafka.TopicPartition(name, 0, 0)])
        c.wait(lambda: poll() or len(read) == 6, PATIENCE)
        c.kill(2)
        LIBRARIES["confluent"].send(c.bootstrap, name, [Record(b"%d" % n) for n in range(4)], acks="all")
        c.wait(lambda: poll() or len(read) == 10, 2 * PATIENCE)
    assert read == list(range(10))


def test_without_a_selector_everybody_reads_from_the_leader(engine: str, name: str) -> None:
    """Kafka's default. Fails if racks alone send consumers away."""
    with Cluster(brokers=2, engine=engine, config=SETTINGS, racks=["a", "b"]) as cluster:
        at = led(cluster, name, [1, 2])
        assert near(at, "b") == (-1, [0, 2, 4])


def test_racks_are_kept_with_the_data(tmp_path: Path) -> None:
    """Fails if a cluster opened again has forgotten them, or a broker is left without."""
    plan = new_plan(tmp_path, "minikafka", 2, 1, {})
    plan.place(["a", "b"])
    plan.add_broker("c")
    again = open_plan(tmp_path, "minikafka", {})
    assert again is not None
    found = {node.id: common_properties(again, node).get("broker.rack") for node in again.nodes.values()}
    assert found == {1: "a", 2: "b", 3: "c", 101: None}
    with pytest.raises(ValueError, match="2 racks for 3 brokers"):
        again.place(["a", "b"])
