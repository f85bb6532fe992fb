"""A consumer on paper: kafka-python's `poll` and `commit`, a log of records, and a crash at whatever step you like.

Against a real broker one can try a dozen crashes; on paper, every one there is. `every_crash(loop)` runs a loop once for
each thing that it does (a poll, a record's work, a commit), lets the process die just before or just after it, and has a second
process go on from what was committed. Each record's work also fails once: that is an exception, and the loop may still act.

Owns: the paper log, the steps, the crash.
Invariants
  a crash loses the position and nothing else: what was committed, and the work that was done, stay
  without offsets `commit` commits the position: everything that poll has returned, as Kafka's does
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka import TopicPartition

from minikafka.lab.labs.offsets import next_offsets
from minikafka.lab.values import article

TP = TopicPartition("rides", 0)
Place = tuple[int, int]  # partition and offset
PATIENCE = 50  # empty polls in a row


class Ride(NamedTuple):
    """The part of kafka-python's ConsumerRecord that a loop needs."""

    topic: str
    partition: int
    offset: int
    value: bytes


class ProcessKilled(BaseException):
    """kill -9; no `except Exception` catches it, and nothing that a `finally` does takes effect."""


class RideFailed(Exception):
    """An error of `work`."""


@dataclass
class PaperWorld:
    """The things that stay when a process dies: the logs of some partitions, each of `size` records, the committed offset of
    each, the work that was done. `said` lists the steps; the poll number `short` brings one record of each partition."""

    size: int = 25
    batch: int = 10
    partitions: int = 1
    short: int = 0
    committed: list[int] = field(default_factory=list)
    commits: int = 0
    polls: int = 0
    done: list[Place] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed = self.committed or [0] * self.partitions

    def value(self, partition: int, offset: int) -> bytes:
        """Return what stands in a record."""
        return b"ride %d" % offset

    def told(self, partition: int, what: object) -> str:
        """Return `what` with its partition, if there are several."""
        return f"rides-{partition} {what}" if self.partitions > 1 else f"{what}"


class PaperConsumer:
    """One process's consumer; it dies at step `dies`, before (`after=False`) or after what that step does. With `fails` the
    step raises an exception instead."""

    def __init__(self, world: PaperWorld, dies: int | None = None, after: bool = False, fails: bool = False) -> None:
        self.world, self.dies, self.after, self.fails = world, dies, after, fails
        self.position_, self.steps, self.empty, self.dead = list(world.committed), 0, 0, False

    def _step(self, what: str, do: Callable[[], None]) -> None:
        self.steps += 1
        now = self.dies == self.steps
        if now and self.fails:
            self.world.said.append(f"-- an error: {what} --")
            raise self.fail(what)
        if self.dead or now and not self.after:
            self._die(f"-- dies before: {what} --")
        do()
        self.world.said.append(what)
        if now:
            self._die("-- dies --")

    def fail(self, what: str) -> Exception:
        """Return the error that a step raises which `fails`."""
        return RideFailed(what)

    def _die(self, what: str) -> None:
        """Raise ProcessKilled, from now on at every call: a dead process does nothing more, whatever its code still calls."""
        if not self.dead:
            self.world.said.append(what)
        self.dead = True
        raise ProcessKilled

    def __repr__(self) -> str:
        return "a consumer on paper"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"on paper a consumer has poll(), commit(), commit_async() and close(), and no {name}")

    def __iter__(self) -> Iterator[Ride]:
        raise TypeError("this consumer gives its records by poll() only, and your loop goes over the consumer itself")

    def close(self, **_: Any) -> None:
        """Do nothing: without auto-commit, a consumer that is closed commits nothing."""

    def poll(self, timeout_ms: int = 0, max_records: int | None = None, **_: Any) -> dict[TopicPartition, list[Ride]]:
        """Return at most ten records from the positions on, the same number of each partition."""
        most = 1 if self.world.polls + 1 == self.world.short else self.world.batch
        each = min(max_records or most, most) // self.world.partitions or 1
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
        return {TopicPartition("rides", p): [Ride("rides", p, n, self.world.value(p, n)) for n in offsets]
                for p, offsets in found.items()}

    def commit(self, offsets: dict[TopicPartition, Any] | None = None, _how: str = "commit ", **_: Any) -> None:
        """Commit the positions, or the given offsets (each a number, or an object with a field `offset`)."""
        given = {tp.partition: offset for tp, offset in next_offsets("commit", offsets or {}, numbers=True).items()}
        given = given or dict(enumerate(self.position_))

        def write() -> None:
            for p, offset in given.items():
                self.world.committed[p] = offset
            self.world.commits += 1

        self._step(_how + ", ".join(self.world.told(p, offset) for p, offset in given.items()), write)

    def commit_async(self, offsets: dict[TopicPartition, Any] | None = None, *_: Any, **__: Any) -> None:
        """Commit without waiting; nothing gets lost on paper."""
        self.commit(offsets, _how="send commit ")

    def work(self, record: Ride) -> None:
        """Note a record as worked on: the loop calls this for each record."""
        if not isinstance(record, Ride):
            raise TypeError(f"work() takes one record at a time; your loop gives it {article(type(record).__name__)}")
        place = record.partition, record.offset
        self._step(f"work on {self.world.told(*place)}", lambda: self.world.done.append(place))


Loop = Callable[[Any, Callable[[Any], None]], Any]


def life(loop: Loop, world: PaperWorld, dies: int | None = None, after: bool = False, fails: bool = False) -> int:
    """Run one process, from its start to its crash or its end; return how many steps it took."""
    consumer = PaperConsumer(world, dies, after, fails)
    try:
        loop(consumer, consumer.work)
    except ProcessKilled:
        pass
    except Exception:
        if not fails:  # else the process died of the error that it was given, or of one that it made of it
            raise
    return consumer.steps


def every_crash(loop: Loop, **world: int) -> Iterator[PaperWorld]:
    """Yield the world after each possible crash and a second process that is not disturbed."""
    calm = PaperWorld(**world)
    life(loop, calm)
    for dies, what in enumerate(calm.said, 1):
        for after, fails in [(False, False), (True, False), (False, True)][:3 if what.startswith("work") else 2]:
            struck = PaperWorld(**world)
            life(loop, struck, dies, after, fails)
            life(loop, struck)
            yield struck
