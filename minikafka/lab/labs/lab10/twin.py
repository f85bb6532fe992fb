"""A producer played by hand on a live cluster: the same bytes twice, as a retry sends them, and what the broker answers.

    with Hand(cluster, "twins") as hand:
        hand.send("a order", sequence=0)        ("NONE", 0)
        hand.send("a order", sequence=0)        ("NONE", 0): recognised, and acknowledged with the old offset

Works on ours and on Apache's brokers: it speaks Kafka's own protocol, and keeps no state but its producer id.
Owns: one connection to the leader of partition 0, one producer id.
"""
from __future__ import annotations

import time
from typing import Any

from kafka.protocol.producer import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse

from minikafka.cluster.wire import WireConnection
from minikafka.log.batch import build
from minikafka.protocol.errors import Err

PRODUCE_VERSION = 9  # names topics by name; newer ones name them by id


class Hand:
    """Sends single records to partition 0 of a topic. `idempotent=False`: without a producer id, so nothing is numbered."""

    def __init__(self, cluster: Any, topic: str, idempotent: bool = True) -> None:
        self.topic = topic
        self._connection = WireConnection(cluster.address(cluster.leader(topic)), timeout=10)
        self.id, self.epoch = self._identity() if idempotent else (-1, -1)

    def _identity(self) -> tuple[int, int]:
        """Ask the broker for a producer id, again and again while it loads what it needs for that."""
        question = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1)
        until = time.monotonic() + 30
        while (answer := self._connection.ask(question, InitProducerIdResponse)).error_code and time.monotonic() < until:
            time.sleep(0.1)
        if answer.error_code:
            raise RuntimeError(f"no producer id: {Err(answer.error_code).name}")
        return answer.producer_id, answer.producer_epoch

    def send(self, value: str, sequence: int = -1) -> tuple[str, int]:
        """Send one record with acks=all and this sequence number; return (Kafka's name of the answer, the offset it names)."""
        data = build([(None, value.encode())], timestamp_ms=int(1000 * time.time()), producer_id=self.id,
                     producer_epoch=self.epoch, base_sequence=sequence)
        Topic = ProduceRequest.TopicProduceData
        request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=10_000, topic_data=[
            Topic(name=self.topic, partition_data=[Topic.PartitionProduceData(index=0, records=data)])])
        answer = self._connection.ask(request, ProduceResponse, PRODUCE_VERSION).responses[0].partition_responses[0]
        return Err(answer.error_code).name, answer.base_offset

    def __enter__(self) -> Hand:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
