"""On a real broker: while one client's long request is served, another client goes on getting its answers."""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator

import pytest
from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka import Cluster
from minikafka.log.batch import build
from minikafka.log.compression import ZSTD
from minikafka.protocol.codec import encode_request
from tests.requests import produce, topic
from tests.wire.raw import Raw

RECORDS, NAMES = 300_000, 60_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Cluster]:
    with Cluster(brokers=1) as cluster:
        with Raw(cluster.bootstrap) as raw:
            raw.create(topic("compacted", cleanup_policy="compact"))
        cluster.wait(lambda: cluster.leader("compacted") is not None)  # or the batch is refused at once
        yield cluster


def heavy_batch() -> tuple[ApiMessage, int]:
    """Records of a compacted topic: the broker checks each of them."""
    records = [(b"k" * (1 + number % 5), None) for number in range(RECORDS)]  # of many sizes, so none is passed over
    batch = build(records, timestamp_ms=int(time.time() * 1000), codec=ZSTD)
    return produce("compacted", batch, acks=1, timeout_ms=30000), 9


def many_names() -> tuple[ApiMessage, int]:
    state = DeleteTopicsRequest.DeleteTopicState
    return DeleteTopicsRequest(topics=[state(name=f"u{i}", topic_id=None) for i in range(NAMES)], timeout_ms=60000), 6


@pytest.mark.parametrize("request_of", [heavy_batch, many_names])
def test_others_are_served_beside_a_long_request(broker: Cluster, request_of) -> None:
    """Fails if others wait until the long request is over: with neither turns nor threads 2 to 6 answers come before its
    answer, else hundreds. The turns themselves are counted in tests/broker/server/test_turns.py."""
    with Raw(broker.bootstrap) as hog, Raw(broker.bootstrap) as other, selectors.DefaultSelector() as answered:
        request, version = request_of()
        hog.socket.settimeout(120)
        hog.send(encode_request(request, version, 1, "hog"))
        answers = 0
        answered.register(hog.socket, selectors.EVENT_READ)
        while not answered.select(0):
            other.ask(ApiVersionsRequest(), 0)
            answers += 1
        assert hog.receive() is not None
    assert answers > 20, "each of these answers is a turn that the long request gave to others"
