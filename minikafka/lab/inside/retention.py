"""Exercise 2.2 inside: where the log begins. A broker calls it whenever it looks what is too old.

The adversary's knowledge: a rule may fall behind a steady writer (night A), the last segment grows old in a silence (B), and the
records of a machine with a wrong clock are old although they came late (C). A broker deletes whole segments, so that a beginning
in the middle of one is none.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.lab.inside.night import TOPIC, TP, AdversaryNight, Plot, Refused
from minikafka.lab.inside.student import Student
from minikafka.log.retention import expired_segments

BYTES, TOGETHER = 300_000, 3      # of a record; records of a segment, which has 1 MiB
PROMISE, LOOK = 20, 5             # retention.ms, and how often a broker looks, both in seconds


class GoneTooEarly(Refused):
    """An error: what a reader may still want is gone."""

    word = "gone too early"


class KeptTooLong(Refused):
    """An error: what has to be forgotten can be read."""

    word = "kept too long"


def in_place(student: Student) -> Callable[..., int]:
    """Return a function for a log's `expired_segments` that asks the student's for the topic of the night."""
    def expired(segments: Any, config: Any, start: int, now_ms: int, high_watermark: int) -> int:
        rows = [(s.base_offset, s.next_offset, s.max_timestamp) for s in segments if s.size]
        if not rows or not segments[0].folder.rstrip("/").endswith(TP):
            return expired_segments(segments, config, start, now_ms, high_watermark)
        said = student.number(rows[0][0], list(rows), now_ms, config.retention_ms)
        begins = [first for first, _, _ in rows] + [rows[-1][1]]
        if said not in begins:
            student.refuse(f"you let the log begin at {said}; its segments begin at {begins[:-1]}, and end at {begins[-1]}: a "
                           "broker deletes whole segments, the oldest first")
            return 0
        return begins.index(said)
    return expired


class RetentionNight(AdversaryNight):
    """A night of a topic that forgets. `times`: when each record was written, by its own timestamp, in ms."""

    moves, kept = 6, "0 lost, none gone too early, none kept too long"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.times: list[int] = []
        self.start = 0
        self.reader.stop()     # what it had read would be gone with right
        self.passes(1)

    def writes(self, count: int = 1, old: int = 0) -> None:
        """Write a record a second, dated `old` seconds ago; look after each."""
        for _ in range(count):
            self.times.append(self._ms() - 1000 * old)
            self._steps(lambda: self._producer.send(TOPIC, "." * BYTES, partition=0, timestamp=self.times[-1]))
            self.passes(1)
            self.looks()
        self.acknowledged += count

    def looks(self, limit: float = float("inf")) -> None:
        """Look where the log begins. Raises GoneTooEarly, and KeptTooLong if its first record is older than `limit` seconds."""
        start, now = self.cluster.admin().offset(TOPIC, 0, "earliest"), self._ms()
        ages = [(now - time) / 1000 for time in self.times]
        early = [offset for offset in range(self.start, start) if ages[offset] < PROMISE]
        if early:
            raise GoneTooEarly(f"Record {early[0]} is {ages[early[0]]:.0f} s old and gone: who comes now reads from {start} on. "
                               f"retention.ms is {PROMISE} s")
        if start < len(ages) and ages[start] > limit:
            raise KeptTooLong(f"Record {start} can be read, and is {ages[start]:.0f} s old; after {limit:.0f} s at the latest "
                              "its segment should be gone")
        self.start = start

    def ends(self) -> None:
        """Wait until everything has to be gone."""
        self.passes(PROMISE + LOOK + 2)
        self.looks(PROMISE + LOOK)

    def reads(self) -> None:
        """Read nothing: what is gone may be gone."""

    def anything(self) -> None:
        """Write, at times with a clock that is wrong, or be silent, drawn by chance."""
        self.writes(self.random.randrange(4), old=self.random.choice((0, 0, 15, 100)))
        self.passes(self.random.choice((0, 3, 12)))
        self.looks()

    def _ms(self) -> int:
        return int(self.cluster.world.client_env().wall_ms())


def a_steady_writer(night: RetentionNight) -> None:
    for _ in range(50):
        night.writes(1)
        night.looks(PROMISE + LOOK + TOGETHER + 2)


def a_silence(night: RetentionNight) -> None:
    night.writes(7)
    night.ends()


def a_wrong_clock(night: RetentionNight) -> None:
    night.writes(6)
    night.writes(3, old=100)
    night.writes(6)
    night.ends()


plot = partial(Plot, replicas=(1,), kind=RetentionNight, configs={"retention_ms": 1000 * PROMISE, "segment_bytes": 1 << 20},
               brokers={"log.retention.check.interval.ms": 1000 * LOOK, "log.initial.task.delay.ms": 1000})
NIGHTS = (plot("a record comes every second", a_steady_writer),
          plot("seven records, and then nobody writes", a_silence),
          plot("between young records stand three of a machine whose clock is wrong", a_wrong_clock))
