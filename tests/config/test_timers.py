"""Upkeep by time: each timer that has a setting is seen at work on running brokers with a short value; on both engines."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from kafka.protocol.producer import ProduceRequest

from minikafka import Cluster
from minikafka.log.batch import build
from minikafka.protocol.errors import Err
from tests.wire.conftest import Place, create, place

# The shortest values that are still longer than what the others wait for. Each test says which of them it shows.
SHORT = {"producer.id.expiration.ms": 2000, "producer.id.expiration.check.interval.ms": 500}


@pytest.fixture(scope="module")
def hasty(engine: str) -> Iterator[Cluster]:
    """Three brokers whose timers are short."""
    with Cluster(brokers=3, engine=engine, config=SHORT) as cluster:
        yield cluster


@pytest.fixture
def at(hasty: Cluster, name: str) -> Iterator[Place]:
    create(hasty.bootstrap, name)
    made = place(hasty, name)
    with made.raw:
        yield made


def produce(at: Place, sequence: int, transactional: bool = False) -> int:
    """Write one record of producer 4711; the error code."""
    data = build([(None, b"x")], timestamp_ms=int(time.time() * 1000), producer_id=4711, producer_epoch=0,
                 base_sequence=sequence, transactional=transactional)
    topic = ProduceRequest.TopicProduceData
    rows = [topic(name=at.name, partition_data=[topic.PartitionProduceData(index=0, records=data)])]
    answer = at.raw.ask(ProduceRequest(transactional_id=None, acks=-1, timeout_ms=9000, topic_data=rows), 9)
    return int(answer.responses[0].partition_responses[0].error_code)


def test_a_silent_producer_is_forgotten(hasty: Cluster, at: Place) -> None:
    """`producer.id.expiration.ms` and its check. Fails if what a partition knows of a producer stays for as long as the broker
    runs: a gap in the sequences is then refused for ever."""
    assert [produce(at, 0), produce(at, 5)] == [0, Err.OUT_OF_ORDER_SEQUENCE_NUMBER]
    hasty.wait(lambda: produce(at, 9) == 0, timeout=30)
