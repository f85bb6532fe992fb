"""What clients under test do, and what they tell the history, whatever their library is: producer, member of a group, copier.

Owns: the operations in the history. A library's part (kafka_python.py, librdkafka.py) makes its clients and calls them.
Invariants: each call of a library is one operation; it ends `ok` or `info`, or stays open if the client dies in it.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from minikafka.proof.history import History

from .worker import ThroughputThrottler, Worker

Partition = tuple[str, int]
Record = tuple[str, int, int, str]  # topic, partition, offset, value
Operation = dict[str, Any]


class JudgedProducer(Worker):
    """A producer to random partitions, several requests in flight; acks=all, idempotent or not."""

    def __init__(self, name: str, bootstrap: str, history: History, topic: str, partitions: int, rate: float,
                 idempotent: bool) -> None:
        super().__init__(name, bootstrap, history)
        self.topic, self.partitions, self.idempotent = topic, partitions, idempotent
        self.pace, self.numbers = ThroughputThrottler(rate), itertools.count(1)
        self.producer: Any = None

    def step(self) -> None:
        number = next(self.numbers)
        value, partition = f"{self.name}-{number}", number % self.partitions
        op = self.history.invoke(self.name, "send", topic=self.topic, partition=partition, value=value, acks=-1,
                                 idempotent=self.idempotent)
        self.post(value, partition, op)
        self.pace.wait(self)

    @abstractmethod
    def post(self, value: str, partition: int, op: Operation) -> None:
        """Hand a record over; its answer ends the operation."""


class JudgedMember(Worker):
    """A member of a group that reads topics and commits; it tells what it was assigned and where it began."""

    error: ClassVar[type[Exception]]  # the errors of the library

    def __init__(self, name: str, bootstrap: str, history: History, topics: Sequence[str], group: str,
                 isolation: str = "read_committed") -> None:
        super().__init__(name, bootstrap, history)
        self.topics, self.group, self.isolation = list(topics), group, isolation
        self.fresh: list[Partition] = []  # assigned, and not yet asked for its offset
        self.consumer: Any = None

    def step(self) -> None:
        op = self.history.invoke(self.name, "poll", group=self.group, isolation=self.isolation)
        records = self.fetch()
        self.history.ok(op, records=[list(record) for record in records])
        if self.fresh:
            fresh, self.fresh = self.fresh, []
            op = self.history.invoke(self.name, "committed", group=self.group)
            self.history.ok(op, offsets=by_name(self.committed(fresh)))
        if records:
            self.use(records)

    def use(self, records: list[Record]) -> None:
        """Commit what was read."""
        op = self.history.invoke(self.name, "commit", group=self.group, offsets=by_name(offsets_after(records)))
        try:
            self.commit(offsets_after(records))
        except self.error as error:
            self.history.info(op, error=repr(error)[:100])
            self.errors[f"{type(error).__name__} in commit"] += 1
        else:
            self.history.ok(op)

    def assigned(self, partitions: Iterable[Partition]) -> None:
        """Tell the history of an assignment, in the thread that polls."""
        self.fresh = sorted(partitions)
        self._tell("assign", self.fresh)

    def revoked(self, partitions: Iterable[Partition]) -> None:
        self._tell("revoke", sorted(partitions))

    def _tell(self, f: str, partitions: list[Partition]) -> None:
        self.history.record(self.name, "ok", f, group=self.group, partitions=[list(tp) for tp in partitions])

    @abstractmethod
    def fetch(self) -> list[Record]:
        """Return what comes within half a second."""

    @abstractmethod
    def committed(self, partitions: list[Partition]) -> dict[Partition, int]:
        """Ask for the group's offsets, -1 where there is none."""

    @abstractmethod
    def commit(self, offsets: dict[Partition, int]) -> None:
        """Commit and wait for the answer."""


class JudgedCopier(JudgedMember):
    """Exactly once: reads a batch, sends a copy of each record and the batch's offsets in one transaction."""

    def __init__(self, name: str, bootstrap: str, history: History, source: str, target: str, partitions: int) -> None:
        super().__init__(name, bootstrap, history, [source], name)
        self.target, self.partitions, self.numbers = target, partitions, itertools.count(1)
        self.producer: Any = None

    def use(self, records: list[Record]) -> None:
        """Copy a batch in a transaction. An error aborts it and ends this life; the next begins at the committed offsets."""
        txn = f"{self.name}:{next(self.numbers)}"
        self.history.ok(self.history.invoke(self.name, "begin", txn=txn, producer=self.title))
        self.producer.begin_transaction()
        try:
            self.send_all([(f"{txn}/{partition}-{offset}", partition, self.history.invoke(
                self.name, "send", topic=self.target, partition=partition, value=f"{txn}/{partition}-{offset}", acks=-1, txn=txn,
                source=[topic, partition, offset])) for topic, partition, offset, _ in records])
            offsets = offsets_after(records)
            op = self.history.invoke(self.name, "commit", txn=txn, group=self.group, offsets=by_name(offsets))
            self._tried(op, lambda: self.send_offsets(offsets))
            self._end(txn, commit=True)
        except Exception:
            with suppress(self.error):
                self._end(txn, commit=False)
            raise

    def _end(self, txn: str, commit: bool) -> None:
        op = self.history.invoke(self.name, "end", txn=txn, producer=self.title, commit=commit)
        self._tried(op, lambda: self.end(commit))

    def _tried(self, op: Operation, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:
            self.history.info(op, error=repr(error)[:100])
            raise
        self.history.ok(op)

    @abstractmethod
    def send_all(self, records: list[tuple[str, int, Operation]]) -> None:
        """Send these (value, partition, operation) and wait for the answers, which end the operations. Raises the first error."""

    @abstractmethod
    def send_offsets(self, offsets: dict[Partition, int]) -> None:
        """Add the group's offsets to the transaction."""

    @abstractmethod
    def end(self, commit: bool) -> None:
        """Commit or abort the transaction."""


def offsets_after(records: Iterable[Record]) -> dict[Partition, int]:
    """Return the next offset of each partition, sorted."""
    return dict(sorted({(topic, partition): offset + 1 for topic, partition, offset, _ in records}.items()))


def by_name(offsets: dict[Partition, int]) -> dict[str, int]:
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items()}
