"""A consumer on paper: kafka-python's `poll` and `commit`, a log of records, and a crash at whatever step you like.

Against a real broker one can try a dozen crashes; on paper, every one there is. `every_crash(loop)` runs a loop once for
each thing that it does (a poll, a record's work, a commit), lets the process die just before or just after it, and has a second
process go on from what was committed.

Owns: the paper log, the steps, the crash.
Invariants
  I-L5-3  a crash loses the position and nothing else: what was committed, and the work that was done, stay
  I-L5-4  without offsets `commit` commits the position: everything that poll has returned, as Kafka's does
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka import TopicPartition

TP = TopicPartition("rides", 0)
Place = tuple[int, int]  # partition and offset
PATIENCE = 50  # empty polls in a row


class PaperRecord(NamedTuple):
    """As much of kafka-python's ConsumerRecord as a loop needs."""

    topic: str
    partition: int
    offset: int
    value: bytes


class ProcessKilled(BaseException):
    """kill -9; no `except Exception` catches it."""


@dataclass
class PaperWorld:
    """The things that stay when a process dies: the logs of some partitions, each of `size` records, the committed offset of
    each, the work that was done. `said` lists the steps."""

    size: int = 25
    batch: int = 10
    partitions: int = 1
    committed: list[int] = field(default_factory=list)
    commits: int = 0
    polls: int = 0
    done: list[Place] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed = self.committed or [0] * self.partitions

    def told(self, partition: int, what: object) -> str:
        """Return `what` with its partition, if there are several."""
        return f"rides-{partition} {what}" if self.partitions > 1 else f"{what}"


class PaperConsumer:
    """One process's consumer; it dies at step `dies`, before (`after=False`) or after what that step does."""

    def __init__(self, world: PaperWorld, dies: int | None = None, after: bool = False) -> None:
        self.world, self.dies, self.after = world, dies, after
        self.position_, self.steps, self.empty = list(world.committed), 0, 0

    def _step(self, what: str, do: Callable[[], None]) -> None:
        self.steps += 1
        if self.dies == self.steps and not self.after:
            self.world.said.append(f"-- dies before: {what} --")
            raise ProcessKilled
        do()
        self.world.said.append(what)
        if self.dies == self.steps:
            self.world.said.append("-- dies --")
            raise ProcessKilled

    def poll(self, timeout_ms: int = 0, max_records: int | None = None, **_: Any) -> dict[TopicPartition, list[PaperRecord]]:
        """Return at most ten records from the positions on, as many of each partition."""
        each = min(max_records or self.world.batch, self.world.batch) // self.world.partitions or 1
        found = {p: range(at, min(at + each, self.world.size)) for p, at in enumerate(self.position_) if at < self.world.size}

        def move() -> None:
            for p, offsets in found.items():
                self.position_[p] = offsets.stop
            self.world.polls += 1

        told = ", ".join(self.world.told(p, f"{offsets.start}..{offsets.stop - 1}") for p, offsets in found.items())
        self._step(f"poll: {told or 'nothing'}", move)
        self.empty = 0 if found else self.empty + 1
        if self.empty > PATIENCE:
            raise AssertionError(f"{PATIENCE} polls in a row brought nothing, and your loop polls on: it should return")
        return {TopicPartition("rides", p): [PaperRecord("rides", p, n, b"ride %d" % n) for n in offsets]
                for p, offsets in found.items()}

    def commit(self, offsets: dict[TopicPartition, Any] | None = None, **_: Any) -> None:
        """Commit the positions, or the given offsets (each a number, or an object with a field `offset`)."""
        given = {tp.partition: getattr(told, "offset", told) for tp, told in (offsets or {}).items()}
        given = given or dict(enumerate(self.position_))

        def write() -> None:
            for p, offset in given.items():
                self.world.committed[p] = offset
            self.world.commits += 1

        self._step("commit " + ", ".join(self.world.told(p, offset) for p, offset in given.items()), write)

    def work(self, record: PaperRecord) -> None:
        """Note a record as worked on: the loop calls this for each record."""
        place = record.partition, record.offset
        self._step(f"work on {self.world.told(*place)}", lambda: self.world.done.append(place))


Loop = Callable[[Any, Callable[[Any], None]], Any]


def life(loop: Loop, world: PaperWorld, dies: int | None = None, after: bool = False) -> int:
    """Run one process, from its start to its crash or its end; return how many steps it took."""
    consumer = PaperConsumer(world, dies, after)
    try:
        loop(consumer, consumer.work)
    except ProcessKilled:
        pass
    return consumer.steps


def every_crash(loop: Loop, **world: int) -> Iterator[PaperWorld]:
    """Yield the world after each possible crash and a second process that is not disturbed."""
    steps = life(loop, PaperWorld(**world))
    for dies in range(1, steps + 1):
        for after in (False, True):
            struck = PaperWorld(**world)
            life(loop, struck, dies, after)
            life(loop, struck)
            yield struck
