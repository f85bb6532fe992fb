"""Watched clients of three libraries: what they send, learn and read is in the trace; they notice nothing."""

from __future__ import annotations

import asyncio
from contextlib import closing

import aiokafka
import confluent_kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from minikafka import Cluster
from minikafka.cluster.watch import RecordNumbers, _Confluent
from tests.clients.kit import PATIENCE, make_topic, take


def told(cluster: Cluster, client: str, kind: str) -> list[dict]:
    return [e for e in cluster.trace.events(kind) if e["client"] == client]


def check(cluster: Cluster, name: str) -> None:
    """Five records were sent and acknowledged, read and committed."""
    assert [(e["topic"], e["b"]) for e in told(cluster, f"{name}-p", "sent")] == [(name, 0)] * 5
    assert [(e["tp"], e["offset"]) for e in told(cluster, f"{name}-p", "acked")] == [(f"{name}-0", n) for n in range(5)]
    assert told(cluster, f"{name}-c", "position")[-1]["position"] == 5
    assert [(e["tp"], e["offset"]) for e in told(cluster, f"{name}-c", "committed")] == [(f"{name}-0", 5)]
    for kind in ("sent", "acked"):  # paired by a running number
        assert [e["record"] for e in told(cluster, f"{name}-p", kind)] == [1, 2, 3, 4, 5]
    handed = [n for e in told(cluster, f"{name}-c", "position") for n in range(e["first"], e["position"])]
    assert handed == [0, 1, 2, 3, 4] and sum(e["records"] for e in told(cluster, f"{name}-c", "position")) == 5
    assert [e["partitions"] for e in told(cluster, f"{name}-c", "assigned")][-1:] in ([[f"{name}-0"]], [[]])
    last = told(cluster, f"{name}-c", "position")[-1]
    assert last["group"] == name and last["member"], "whose position it is"
    assert {e["group"] for e in told(cluster, f"{name}-c", "committed")} == {name}


def test_kafka_python(cluster: Cluster, name: str) -> None:
    """Fails if send, poll or commit are not followed, or their results are changed."""
    make_topic(cluster, name)
    with KafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
        assert cluster.watch(producer, f"{name}-p") is producer
        assert [producer.send(name, b"x").get(PATIENCE).offset for _ in range(5)] == list(range(5))
    with closing(KafkaConsumer(name, bootstrap_servers=cluster.bootstrap, group_id=name, enable_auto_commit=False,
                               auto_offset_reset="earliest")) as consumer:
        assert consumer.partitions_for_topic(name)  # or it joins twice, and a poll may forget the second answer (lab05/member.py)
        cluster.watch(consumer, f"{name}-c")
        take(lambda: [r for rs in consumer.poll(timeout_ms=300).values() for r in rs], 5)

        def committed() -> bool:
            """the group's offset is 5: who is just joining again has no partition, and commits nothing"""
            consumer.poll(timeout_ms=0)
            consumer.commit()
            return consumer.committed(TopicPartition(name, 0)) == 5

        cluster.wait(committed, PATIENCE)
    check(cluster, name)


def test_confluent(cluster: Cluster, name: str) -> None:
    """Fails if a delivery callback of the program's own is not called any more, or if acks=0 gives another offset than Kafka's
    -1: then no picture can be drawn any more."""
    make_topic(cluster, name)
    producer = cluster.watch(confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap}), f"{name}-p")
    called: list[int] = []
    for _ in range(5):
        producer.produce(name, b"x", on_delivery=lambda error, message: called.append(message.offset()))
    assert producer.flush(PATIENCE) == 0
    assert called == list(range(5))
    consumer = cluster.watch(confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap, "group.id": name, "enable.auto.commit": False,
        "auto.offset.reset": "earliest"}), f"{name}-c")
    with closing(consumer):
        consumer.subscribe([name])
        assert len(take(lambda: [m for m in [consumer.poll(0.3)] if m is not None], 5)) == 5
        consumer.commit(asynchronous=False)
    check(cluster, name)
    careless = cluster.watch(confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "0"}), f"{name}-0")
    careless.produce(name, b"x")
    assert careless.flush(PATIENCE) == 0
    assert [event["offset"] for event in cluster.trace.events("acked") if event["client"] == f"{name}-0"] == [-1]


def test_aiokafka(cluster: Cluster, name: str) -> None:
    """Fails if coroutines are followed like plain functions."""
    make_topic(cluster, name)
    async def run() -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
            cluster.watch(producer, f"{name}-p")
            assert [(await producer.send_and_wait(name, b"x")).offset for _ in range(5)] == list(range(5))
        async with aiokafka.AIOKafkaConsumer(name, bootstrap_servers=cluster.bootstrap, group_id=name,
                                             enable_auto_commit=False, auto_offset_reset="earliest") as consumer:
            cluster.watch(consumer, f"{name}-c")
            for _ in range(5):
                await asyncio.wait_for(consumer.getone(), PATIENCE)
            await consumer.commit()
    asyncio.run(run())
    check(cluster, name)


def test_what_is_no_client(cluster: Cluster) -> None:
    """Fails if another object is accepted and then writes no event."""
    with pytest.raises(TypeError, match="kafka-python, confluent-kafka and aiokafka"):
        cluster.watch(object())


@pytest.mark.parametrize(("code", "certain"), [
    (19, True), (10, True), (29, True), (-184, True), (-152, True),  # NOT_ENOUGH_REPLICAS, too large, not allowed, never sent
    (20, False), (7, False), (13, False), (-192, False), (-195, False), (6, False), (None, False)])
def test_what_is_certain(code: int | None, certain: bool) -> None:
    """Fails if a time-out, a lost connection or NOT_ENOUGH_REPLICAS_AFTER_APPEND counts as "not written" (I-WATCH-3)."""
    producer = confluent_kafka.Producer({})
    events: list[tuple[str, dict]] = []
    follower = _Confluent(producer, lambda kind, **fields: events.append((kind, fields)), "p", "producer", RecordNumbers())
    follower.failed(7, "flights", "it says so", code)
    assert events == [("failed", {"client": "p", "topic": "flights", "error": "it says so", "record": 7, "certain": certain})]
