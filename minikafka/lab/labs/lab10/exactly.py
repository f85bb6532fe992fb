"""Transactions of lab 10: aborted and committed ones, an open one, and a worker that copies records and dies.

    room = ExactlyOnceCluster(); room.write("a", 10, commit=False)     ten records of a transaction that is aborted
    open_transaction()                                   a transaction nobody ends, until its time is over
    copied(transactional=True)                           read, transform, write, die before the commit; a second worker goes on

Owns: the scripts; what a reader gets is asked of a new reader each time.
Invariants
  a worker that dies sends nothing more: no abort, no commit, no offset
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from minikafka.lab.labs.lab06.experiment import picture
from minikafka.lab.labs.lab10.experiment import TOPIC, TP, world
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

    def write(self, name: str, count: int, commit: bool | None = True, prefix: str | None = None, **settings: Any) -> None:
        """Write one transaction of `count` records, and commit it (True), abort it (False) or leave it open (None)."""
        producer = self.producer(name, **settings)
        producer.begin()
        for number in range(count):
            producer.send(TOPIC, f"{prefix or name} {number}", partition=0)
        if commit is not None:
            producer.commit() if commit else producer.abort()
        self.cluster.sleep(0.5)

    def plain(self, count: int, name: str = "plain") -> None:
        """Write `count` records outside of any transaction."""
        with self.cluster.watch(self.cluster.producer(name=name), name) as producer:
            for number in range(count):
                producer.send(TOPIC, f"{name} {number}", partition=0)
        self.cluster.sleep(0.5)

    def read(self, isolation: str = ALL_OF_IT, patience: float = 1.0) -> list[tuple[int, str]]:
        """Return (offset, value) of what a new reader gets."""
        return read(self.cluster, TOPIC, isolation, patience)

    def marks(self) -> dict[str, int]:
        """Return the log end, the high watermark and the last stable offset of the leader."""
        partition = self.cluster.world.broker(self.cluster.leader(TOPIC)).replicas.partitions[TOPIC, 0]
        return {"log end": partition.log.end_offset, "high watermark": partition.high_watermark,
                "last stable": partition.last_stable_offset}

    def batches(self) -> pd.DataFrame:
        """Return the leader's log batch by batch, including the markers, which no consumer ever sees."""
        log = self.cluster.world.broker(self.cluster.leader(TOPIC)).replicas.partitions[TOPIC, 0].log
        rows, data = [], log.read(log.start_offset, 1 << 20, log.end_offset)
        for header, batch in batches(data):
            kind = "data"
            if header.is_control:
                kind = "marker: " + ("commit" if markers.is_commit(batch) else "abort")
            rows.append((header.base_offset, header.last_offset, kind, header.producer_id, header.producer_epoch))
        columns = ["first offset", "last offset", "what", "producer id", "epoch"]
        return pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(1, len(rows) + 1, name="batch"))

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


# --- a transaction that nobody ends -------------------------------------------------------------------------------

def open_transaction(seconds: float = 20.0, plain: int = 30) -> list[tuple[float, int, int, int]]:
    """Write one record of a transaction and then nothing, while others write on; return (second, high watermark, last
    stable offset, records that a read_committed reader gets) at four moments."""
    rows = []
    with ExactlyOnceCluster(config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}) as room:
        room.write("forgetful", 1, commit=None, timeout=seconds)
        began = room.cluster.now()
        room.plain(plain)
        for second in (2.0, seconds / 2, seconds - 2, seconds + 4):
            room.cluster.sleep(max(0.0, began + second - room.cluster.now()))
            marks = room.marks()
            rows.append((second, marks["high watermark"], marks["last stable"], len(room.read(COMMITTED))))
    return rows


# --- read, transform, write ---------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Copied:
    """The result of two workers that copied ten records, the first of which died."""

    written: int                           # records in the log of the output, markers not counted
    seen: list[str]                        # what a reader of committed records gets
    committed: int                         # the group's offset in the end

    @property
    def duplicates(self) -> int:
        return len(self.seen) - len(set(self.seen))


def copied(transactional: bool = True, die: str = "before the offsets", count: int = 10) -> Copied:
    """Let a worker price ten trips, read from `trips` and written to `prices`; when it dies, a second worker goes on.

    It dies "before the offsets" are committed (but after its output is written), or "never".
    """
    with ExactlyOnceCluster() as room:
        cluster = room.cluster
        cluster.admin().create_topic("prices", assignment={0: [2, 3, 1]})
        room.plain(count, "trip")
        if die != "never":
            work(cluster, "worker 1", transactional, die)
            cluster.sleep(8.0)                              # the group's session is over
        work(cluster, "worker 2", transactional, "never")
        cluster.sleep(1.0)
        written, seen = read(cluster, "prices"), read(cluster, "prices", COMMITTED)
        with cluster.consumer(TOPIC, group="pricing", name="asker") as asker:
            offset = asker.committed([(TOPIC, 0)])[TOPIC, 0]
        return Copied(len(written), [value for _, value in seen], offset)


def work(cluster: Any, name: str, transactional: bool, die: str) -> None:
    """Play one life of a worker: read what is there, write a price for each record, commit offsets (in the transaction
    or after)."""
    consumer = cluster.consumer(TOPIC, group="pricing", name=name, isolation=COMMITTED)
    settings = {"transactional_id": "pricing-0"} if transactional else {}
    producer = cluster.producer(name=f"{name} writes", **settings)
    records = []
    until = cluster.now() + 12.0
    while not records and cluster.now() < until:
        records = consumer.poll(1.0)
    if transactional:
        producer.init()
        producer.begin()
    for record in records:
        producer.send("prices", f"price of {record.value.decode()}", partition=0)
    if die == "before the offsets":
        producer.kill()
        consumer.kill()
        return
    offsets = {(TOPIC, 0): records[-1].offset + 1} if records else {}
    if transactional:
        producer.send_offsets(offsets, consumer) if offsets else None
        producer.commit()
    elif offsets:
        consumer.commit(offsets)
    producer.close()
    consumer.close()
