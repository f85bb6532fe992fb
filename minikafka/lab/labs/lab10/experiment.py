"""Lab 10's experiments on single answers and single bits: a producer that tries again, and what stands in the log then.

    without_retries()                  one record, its answer is lost, nobody tries again
    lost_answers(idempotent=False)     100 records, one after the other; every tenth answer is lost on its way
    flipped_bits(idempotent=False)     100 records, five requests on the way; in the first of each five a bit is flipped

Owns: the wire: which answer is dropped, which bit is flipped, what each attempt carried. Brokers and clients
are unchanged.
Invariants
  an answer is dropped after the broker has sent it: the record is in the log then
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from kafka.protocol.producer import ProduceRequest

from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import read_all
from minikafka.log.batch import BatchHeader
from minikafka.protocol.errors import Err, KafkaError

TOPIC, TP = "orders", "orders-0"


def world(partitions: int = 1, **settings: Any) -> Any:
    """Start a simulated class cluster with the topic `orders`, led by broker 1."""
    cluster = simulated(10, controllers=1, **settings)
    if partitions == 1:
        return replicated(cluster, TOPIC)
    cluster.admin().create_topic(TOPIC, assignment={number: [1, 2, 3] for number in range(partitions)})
    cluster.wait(lambda: all(len(cluster.isr(TOPIC, number)) == 3 for number in range(partitions)))
    return cluster


@dataclass(frozen=True, slots=True)
class Attempt:
    """One produce request as it went over the wire, and the answer of the broker, whether it arrived or not."""

    producer: int
    epoch: int
    sequence: int
    records: int
    answer: str = "?"
    offset: int | None = None


@dataclass
class ProducerRun:
    """A run: what was sent, what the producer was told, what stands in the log."""

    sent: list[str] = field(default_factory=list)
    told: list[tuple[str, int | None]] = field(default_factory=list)     # value, and the offset that the producer learned
    log: list[tuple[int, str]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    errors: int = 0

    @property
    def values(self) -> list[str]:
        return [value for _, value in self.log]

    @property
    def twins(self) -> list[str]:
        """Return the values that stand in the log more than once."""
        return [value for value in dict.fromkeys(self.values) if self.values.count(value) > 1]

    def table(self, first: int = 0, last: int | None = None) -> pd.DataFrame:
        """Return the attempts, one row each."""
        rows = [(a.producer, a.epoch, a.sequence, a.records, a.answer, a.offset) for a in self.attempts[first:last]]
        columns = ["producer id", "epoch", "sequence", "records", "answer", "offset"]
        return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(first + 1, first + 1 + len(rows), name="attempt"))


class ProduceWire:
    """Watches the produce requests of a cluster's clients; `drop_next` and `flip_next` break one of them."""

    def __init__(self, cluster: Any) -> None:
        self.world, self.attempts, self._open = cluster.world, [], {}
        self._end = self.world.tap(self._look)

    def _look(self, message: Any) -> None:
        if message.api is not ProduceRequest or "clients" not in (message.src, message.dst):
            return
        key = id(message.transport if not message.is_response else message.transport.other), message.correlation
        if not message.is_response:
            header = BatchHeader.parse(message.body.topic_data[0].partition_data[0].records)
            self._open[key] = len(self.attempts)
            self.attempts.append(Attempt(header.producer_id, header.producer_epoch, header.base_sequence, header.count))
        elif key in self._open:
            place, answer = self._open.pop(key), message.body.responses[0].partition_responses[0]
            a = self.attempts[place]
            self.attempts[place] = Attempt(a.producer, a.epoch, a.sequence, a.records, Err(answer.error_code).name,
                                           answer.base_offset)

    def hold_answer(self) -> Any:
        """Hold the next answer to a produce request; `drop()` of what is returned loses it, and breaks the connection."""
        return self.world.hold(lambda m: m.api is ProduceRequest and m.is_response and m.dst == "clients")

    @contextmanager
    def no_answers(self) -> Iterator[None]:
        """Lose every answer to a produce request, for a while."""
        hold = self.hold_answer()
        taken = hold.take

        def lose(message: Any) -> None:
            taken(message)
            self.world.loop.call_soon(hold.break_held)
        hold.take = lose
        yield
        hold.drop()

    def flip_next(self) -> None:
        """Flip one bit of the next produce request, in the last byte of its records."""
        hold = self.world.hold(lambda m: m.api is ProduceRequest and not m.is_response and m.src == "clients")
        taken = hold.take

        def flip(message: Any) -> None:
            taken(message)
            hold.stop()
            self.world.loop.call_soon(go, message)

        def go(message: Any) -> None:
            frame = bytearray(message.transport.dam[0])
            records = message.body.topic_data[0].partition_data[0].records
            frame[frame.index(records) + len(records) - 2] ^= 1
            message.transport.dam[0] = bytes(frame)
            hold.release()

        hold.take = flip


def lost_answers(idempotent: bool = False, count: int = 100, every: int = 10) -> ProducerRun:
    """Send records one after the other; of every tenth, the first answer is lost; the producer sends it again."""
    with world() as cluster:
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.watch(cluster.producer(idempotent=idempotent, name="till"), "till")
        for number in range(1, count + 1):
            value = f"order {number}"
            hold = wire.hold_answer() if number % every == 0 else None
            promise = producer.post(TOPIC, value, partition=0)
            if hold is not None:
                lose(cluster, hold)
            run.sent.append(value)
            run.told.append((value, cluster.run(answered(promise))[1]))
        run.attempts = wire.attempts
        run.log = [(record.offset, record.value) for record in read_all(cluster, TOPIC)]
        return run


def lose(cluster: Any, hold: Any) -> None:
    """Wait until the broker has answered, and lose the answer."""
    cluster.wait(lambda: hold.frames)
    hold.drop()


def without_retries(again: bool = False) -> ProducerRun:
    """Send one record with a producer that never tries again, and lose its answer. With `again` the program sends the
    order once more."""
    with world() as cluster:
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.watch(cluster.producer(idempotent=False, name="till"), "till")
        producer.sender.settings.retries = 0
        hold, promise = wire.hold_answer(), producer.post(TOPIC, "order 1", partition=0)
        lose(cluster, hold)
        run.told.append((told_by(cluster, promise), None))
        if again:
            run.told.append(("OK", producer.send(TOPIC, "order 1", partition=0)[1]))
        run.attempts = wire.attempts
        run.log = [(record.offset, record.value) for record in read_all(cluster, TOPIC)]
        return run


def never_answered(seconds: float = 30.0) -> ProducerRun:
    """Send one record and lose every answer; the producer tries again until `delivery_timeout` is over."""
    with world() as cluster:
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.producer(idempotent=False, name="till", delivery_timeout=seconds)
        with wire.no_answers():
            run.told = [(told_by(cluster, producer.post(TOPIC, "order 1", partition=0)), None)]
        run.attempts = wire.attempts
        run.log = [(record.offset, record.value) for record in read_all(cluster, TOPIC)]
        return run


def on_the_way(requests: int) -> ProducerRun:
    """Send that number of records at once, each in a request of its own, by an idempotent producer that allows it. All are
    stored, and all answers are lost; the producer sends them again."""
    with world() as cluster:
        cluster.slow("clients", 1, latency=0.02)
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.producer(idempotent=True, max_in_flight=requests, name="till", delivery_timeout=5.0)
        producer.send(TOPIC, "start", partition=0)
        hold, promises = wire.hold_answer(), []
        for number in range(1, requests + 1):
            run.sent.append(f"order {number}")
            promises.append(producer.post(TOPIC, run.sent[-1], partition=0))
            cluster.sleep(0.001)
        partition = cluster.world.broker(cluster.leader(TOPIC)).replicas.partitions[TOPIC, 0]
        cluster.wait(lambda: partition.high_watermark == 1 + requests)
        hold.drop()
        run.told = [(value, told_by(cluster, promise)) for value, promise in zip(run.sent, promises)]
        run.attempts = wire.attempts[1:]
        run.log = [(record.offset - 1, record.value) for record in read_all(cluster, TOPIC) if record.value != "start"]
        return run


def sent_twice() -> ProducerRun:
    """Call `send` twice with the same order, in the program of an idempotent producer."""
    with world() as cluster:
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.producer(idempotent=True, name="till")
        run.told = [("order 1", producer.send(TOPIC, "order 1", partition=0)[1]) for _ in range(2)]
        run.attempts = wire.attempts
        run.log = [(record.offset, record.value) for record in read_all(cluster, TOPIC)]
        return run


def told_by(cluster: Any, promise: Any) -> str:
    """Return "OK", or the name of the error that the producer was told."""
    try:
        cluster.run(answered(promise))
    except KafkaError as error:
        return error.code.name
    return "OK"


async def answered(promise: Any) -> Any:
    return await promise


def flipped_bits(idempotent: bool = False, bursts: int = 20, size: int = 5, in_flight: int = 5) -> ProducerRun:
    """Send bursts of five records, a millisecond apart, 5 ms from the leader; a bit flips in the first request of each burst.

    The broker refuses the damaged batch (its checksum is wrong), and the producer sends it again.
    """
    with world() as cluster:
        cluster.slow("clients", 1, latency=0.005)
        wire, run = ProduceWire(cluster), ProducerRun()
        producer = cluster.watch(cluster.producer(idempotent=idempotent, max_in_flight=in_flight, name="till"), "till")
        producer.send(TOPIC, "start", partition=0)
        for first in range(1, bursts * size + 1, size):
            wire.flip_next()
            promises = []
            for number in range(first, first + size):
                run.sent.append(f"{number}")
                promises.append(producer.post(TOPIC, f"{number}", partition=0))
                cluster.sleep(0.001)
            run.told += [(value, cluster.run(answered(promise))[1]) for value, promise in zip(run.sent[first - 1:], promises)]
        run.attempts = wire.attempts[1:]
        run.log = [(record.offset - 1, record.value) for record in read_all(cluster, TOPIC) if record.value != "start"]
        return run
