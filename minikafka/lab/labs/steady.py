"""Clients that work by themselves in a simulated cluster's time: a writer at a steady rate, a reader that follows.

    writer = Writer(cluster, "positions", rate=10)     # cluster: Cluster(engine="sim", ...)
    reader = Reader(cluster, "positions")
    cluster.sleep(5)                                   # meanwhile fifty records are written, and read
    writer.finish()                                    # stop, and wait for the last answers

Both are watched: what they send, learn and read stands in the cluster's trace.

Owns: the two tasks, and what each of them was told. Times are seconds of the cluster's clock.
Invariants
  every record that was sent is in exactly one of `acked`, `failed` and `waiting`
"""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from minikafka.protocol.errors import KafkaError


@dataclass(frozen=True, slots=True)
class Ack:
    """A record that the cluster promised to keep: what it says, where it lies, when it was sent and when acknowledged."""

    value: str
    offset: int
    sent: float
    acked: float

    @property
    def latency(self) -> float:
        return self.acked - self.sent


@dataclass(frozen=True, slots=True)
class Failure:
    """A record that the producer gave up; the record may be in the log or not."""

    value: str
    sent: float
    failed: float
    error: str


@dataclass(frozen=True, slots=True)
class Read:
    """A record as a reader got it."""

    t: float
    offset: int
    value: str


class Writer:
    """Sends `prefix`0, `prefix`1, ... to one partition, `rate` a second, until `stop`, `finish`, or `count` are sent.

    `settings` are the simulated producer's (acks, linger, delivery_timeout, ...).
    """

    def __init__(self, cluster: Any, topic: str, rate: float = 10.0, *, partition: int = 0, count: int | None = None,
                 prefix: str = "", name: str = "writer", **settings: Any) -> None:
        self.topic, self.partition, self.rate, self.count, self.prefix = topic, partition, rate, count, prefix
        self.acked: list[Ack] = []
        self.failed: list[Failure] = []
        self.sent = 0
        self.over = False
        self._cluster = cluster
        self._producer = cluster.watch(cluster.producer(name=name, **settings), name)
        self._promises: list[asyncio.Future[tuple[int, int]]] = []
        self._task = cluster.world.client_env().spawn(self._write(), f"{name}: steady")

    @property
    def waiting(self) -> int:
        """Return how many records were sent and not answered yet."""
        return self.sent - len(self.acked) - len(self.failed)

    def stop(self) -> None:
        """Send nothing more; answers still come."""
        self.over = True

    def finish(self) -> None:
        """Send nothing more, and wait until every record has its answer."""
        self.stop()
        self._cluster.run(self._answers())

    async def _answers(self) -> None:
        await self._task
        await asyncio.gather(*self._promises, return_exceptions=True)

    async def _write(self) -> None:
        world, began = self._cluster.world, self._cluster.world.now()
        while not self.over and (self.count is None or self.sent < self.count):
            await self._send(f"{self.prefix}{self.sent}")
            await world.sleep(max(0.0, began + self.sent / self.rate - world.now()))

    async def _send(self, value: str) -> None:
        at, self.sent = self._cluster.world.now(), self.sent + 1
        try:
            promise = await self._producer.unblocked.post(self.topic, value, partition=self.partition)
        except KafkaError as error:
            self.failed.append(Failure(value, at, self._cluster.world.now(), error.code.name))
            return
        self._promises.append(promise)
        promise.add_done_callback(lambda done: self._answered(value, at, done))

    def _answered(self, value: str, at: float, done: asyncio.Future[tuple[int, int]]) -> None:
        now = self._cluster.world.now()
        if done.cancelled():
            self.failed.append(Failure(value, at, now, "CANCELLED"))
        elif (error := done.exception()) is not None:
            self.failed.append(Failure(value, at, now, error.code.name if isinstance(error, KafkaError) else repr(error)))
        else:
            self.acked.append(Ack(value, done.result()[1], at, now))


class Reader:
    """Reads one partition from its beginning and goes on until `stop`; `records` is what it got, in order."""

    def __init__(self, cluster: Any, topic: str, *, partition: int = 0, name: str = "reader", **settings: Any) -> None:
        self.records: list[Read] = []
        self.over = False
        self._world = cluster.world
        self._consumer = cluster.watch(cluster.consumer(name=name, **settings), name)
        self._consumer.assign([(topic, partition)])
        self._task = self._world.client_env().spawn(self._read(), f"{name}: steady")

    @property
    def last(self) -> int | None:
        """Return the offset of the last record read; None before the first."""
        return self.records[-1].offset if self.records else None

    def stop(self) -> None:
        self.over = True

    async def _read(self) -> None:
        while not self.over:
            found = await self._consumer.unblocked.poll(0.5)
            self.records += [Read(self._world.now(), r.offset, r.value.decode()) for r in found]


def read_all(cluster: Any, topic: str, partition: int = 0, patience: float = 3.0) -> list[Read]:
    """Return what a new reader finds: every record until none comes for `patience` seconds of the cluster's clock."""
    records: list[Read] = []
    with cluster.consumer() as consumer:
        consumer.assign([(topic, partition)])
        while found := consumer.poll(patience):
            records += [Read(cluster.now(), r.offset, r.value.decode()) for r in found]
    return records
