"""Transactions of lab 10: aborted, committed and open ones, and a worker that copies records and dies.

    room = ExactlyOnceCluster(); room.write("a", 10, commit=False)     ten records of a transaction that is aborted
    billed(write_bills, "commit_transaction")            read, transform, write, die; a second worker goes on
    printed(records=10, isolation=COMMITTED)             what the size of a transaction costs

Owns: the scripts; what a reader gets is asked of a new reader each time.
"""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pandas as pd

from minikafka.lab.labs.lab06.experiment import picture
from minikafka.lab.labs.lab10.clients import simulated
from minikafka.lab.labs.lab10.experiment import TOPIC, TP, world
from minikafka.lab.labs.lab10.worker import GROUP, work
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.view.front import Still
from minikafka.log import markers
from minikafka.log.batch import batches

COMMITTED, ALL_OF_IT = "read_committed", "read_uncommitted"


class ExactlyOnceCluster:
    """A simulated cluster with the topic of the lab; transactional producers by name."""

    def __init__(self, **settings: Any) -> None:
        self.cluster = world(**settings)
        self.producers: dict[str, Any] = {}

    def producer(self, name: str, timeout: float = 60.0) -> Any:
        """Return the transactional producer of that name, started when it is first asked for."""
        if name not in self.producers:
            made = self.cluster.producer(transactional_id=name, name=name, transaction_timeout=timeout)
            self.producers[name] = self.cluster.watch(made, name)
            made.init()
        return self.producers[name]

    def write(self, name: str, count: int, commit: bool | None = True, topic: str = TOPIC, **settings: Any) -> None:
        """Write one transaction of `count` records, and commit it (True), abort it (False) or leave it open (None)."""
        producer = self.producer(name, **settings)
        producer.begin()
        for number in range(count):
            producer.send(topic, f"{name} {number}", partition=0)
        if commit is not None:
            producer.commit() if commit else producer.abort()
        self.cluster.sleep(0.5)

    def plain(self, count: int, name: str = "plain") -> None:
        """Write `count` records outside of any transaction."""
        with self.cluster.watch(self.cluster.producer(name=name), name) as producer:
            for number in range(count):
                producer.send(TOPIC, f"{name} {number}", partition=0)
        self.cluster.sleep(0.5)

    def read(self, isolation: str = ALL_OF_IT, topic: str = TOPIC) -> list[tuple[int, str]]:
        """Return (offset, value) of what a new reader gets."""
        return read(self.cluster, topic, isolation)

    def _leader(self, topic: str) -> Any:
        return self.cluster.world.broker(self.cluster.leader(topic)).replicas.partitions[topic, 0]

    def marks(self, topic: str = TOPIC) -> dict[str, int]:
        """Return the log end, the high watermark and the last stable offset of the leader."""
        partition = self._leader(topic)
        return {"log end": partition.log.end_offset, "high watermark": partition.high_watermark,
                "last stable": partition.last_stable_offset}

    def batches(self, topic: str = TOPIC) -> pd.DataFrame:
        """Return the leader's log batch by batch, including the markers, which no consumer ever sees."""
        log = self._leader(topic).log
        rows, data = [], log.read(log.start_offset, 1 << 20, log.end_offset)
        for header, batch in batches(data):
            kind = "data"
            if header.is_control:
                kind = "marker: " + ("commit" if markers.is_commit(batch) else "abort")
            rows.append((header.base_offset, header.last_offset, kind, header.producer_id, header.producer_epoch))
        columns = ["first offset", "last offset", "what", "producer id", "epoch"]
        return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="batch"))

    def lines(self, topic: str = TOPIC) -> list[str]:
        """Return the log as lines to read: an offset and its value, or the marker that stands there."""
        values = dict(self.read(topic=topic))
        marks = {row[1]: row[3] for row in self.batches(topic).itertuples() if row[3] != "data"}
        return [f"offset {offset}  {text}" for offset, text in sorted({**values, **marks}.items())]

    def picture(self) -> Still:
        """Return the picture of this moment."""
        return picture(self.cluster, TP)

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> ExactlyOnceCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(cluster: Any, topic: str, isolation: str = ALL_OF_IT, patience: float = 1.0) -> list[tuple[int, str]]:
    """Return (offset, value) of all that a new reader of partition 0 gets, until nothing comes for `patience` seconds."""
    found: list[tuple[int, str]] = []
    with cluster.consumer(isolation=isolation) as consumer:
        consumer.assign([(topic, 0)])
        while records := consumer.poll(patience):
            found += [(record.offset, record.value.decode()) for record in records]
    return found


# --- read, transform, write ---------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Billed:
    """The bills in the end, after two lives of a worker."""

    written: int                           # bills in the log, markers not counted
    seen: list[str]                        # what a reader of committed records gets
    committed: int                         # the group's offsets, added up
    calls: list[str]                       # of the first life

    @property
    def too_many(self) -> int:
        return len(self.seen) - len(set(self.seen))


def shop(orders: int = 10, partitions: int = 1) -> ExactlyOnceCluster:
    """Return a cluster with `orders` orders in each partition of `orders`, and an empty topic `bills`."""
    room = ExactlyOnceCluster(partitions=partitions)
    room.cluster.admin().create_topic("bills", assignment={0: [2, 3, 1]})
    with room.cluster.producer(name="till") as till:
        for number in range(orders * partitions):
            till.send(TOPIC, f"order {number}", partition=number % partitions)
    room.cluster.sleep(0.5)
    return room


def billed(write_bills: Any, dies_at: str | None = None, transactional: bool = True, orders: int = 10, partitions: int = 1,
           nth: int = 1) -> Billed:
    """Let a worker write bills for `orders` orders of each partition; it dies at its `nth` call of `dies_at`, and a second one
    takes over."""
    with shop(orders, partitions) as room:
        lives = [simulated(room.cluster, dies_at=dies_at, nth=nth), simulated(room.cluster)]
        for life in lives[:1 if dies_at is None else 2]:
            work(life, write_bills, transactional, partitions=partitions)
        room.cluster.sleep(1.0)
        written, seen = read(room.cluster, "bills"), read(room.cluster, "bills", COMMITTED)
        group = GROUP if transactional else f"{GROUP} without transactions"
        with room.cluster.consumer(group=group, name="auditor") as auditor:
            found = auditor.committed([(TOPIC, number) for number in range(partitions)])
        committed = sum(max(0, offset) for offset in found.values())
        return Billed(len(written), [value for _, value in seen], committed, lives[0].calls)


# --- how large a transaction --------------------------------------------------------------------------------------

RATE, ORDERS = 20, 120                     # orders a second, and in all


@dataclass(frozen=True, slots=True)
class Printed:
    """The output of a printer that prints every bill which a reader gets."""

    twice: int                             # bills printed more than once
    late: float                            # seconds after its order, of the slowest but one in a hundred
    markers: float                         # share of the topic's offsets

    def __repr__(self) -> str:
        return (f"{counted(self.twice, 'bill')} printed twice; 99 of 100 within {self.late:.2f} s; "
                f"{self.markers:.0%} of the offsets are markers")


def printed(records: int, isolation: str) -> Printed:
    """Write bills for 20 orders a second, `records` in each transaction, while a printer reads with `isolation`.

    The worker dies once, with the 60th bill written and its transaction open; a second one goes on with the same orders.
    """
    with ExactlyOnceCluster() as room:
        cluster, began = room.cluster, room.cluster.now()
        due = [began + 1 + number / RATE for number in range(ORDERS)]
        reader = cluster.consumer(isolation=isolation, name="printer")
        reader.assign([(TOPIC, 0)])
        out: list[tuple[str, float]] = []
        cluster.run(_both(room, due, records, reader.unblocked, out))
        first = dict(reversed(out))
        ages = sorted(at - due[int(value.split()[1])] for value, at in first.items())
        data = len(room.read())
        end = room.marks()["log end"]
        return Printed(len(out) - len(first), ages[int(0.99 * len(ages))], (end - data) / end)


async def _both(room: ExactlyOnceCluster, due: list[float], records: int, reader: Any, out: list[tuple[str, float]]) -> None:
    """Run the worker and the printer side by side."""
    worker = asyncio.ensure_future(_worker(room, due, records))
    quiet = 0
    while not worker.done() or quiet < 3:
        found = await reader.poll(0.1)
        quiet = 0 if found else quiet + 1
        out += [(record.value.decode(), room.cluster.now()) for record in found]
    await worker


async def _worker(room: ExactlyOnceCluster, due: list[float], records: int) -> None:
    """Write a bill for each order when it is due; a transaction ends with its `records`-th bill. Die once."""
    died, number = False, 0
    writer = await _writer(room, "first life")
    while number < len(due):
        batch = range(number, min(number + records, len(due)))
        await writer.begin()
        for each in batch:
            await asyncio.sleep(max(0.0, due[each] - room.cluster.now()))
            await writer.send(TOPIC, f"bill {each}", partition=0)
            if each + 1 == ORDERS // 2 and not died:
                died = True
                writer.kill()
                writer = await _writer(room, "second life")
                break
        else:
            await writer.commit()
            number = batch.stop


async def _writer(room: ExactlyOnceCluster, name: str) -> Any:
    writer = room.cluster.producer(transactional_id="billing-0", name=name).unblocked
    await writer.init()
    return writer
