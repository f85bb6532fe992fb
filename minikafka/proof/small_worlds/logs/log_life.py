"""One life of a log: clients of every kind, leaders, a follower's copies, and a cleaner that comes at any time. Everything is
judged by the model of lone_cleaned_log.py.

    log_alone(seed)              () if the log kept its rules, else what it did: it is compacted, loses its front to retention and
                                 DeleteRecords, is disturbed while it is cleaned, stops and is killed
    log_dying(seed)              the same for a log that dies within its steps, often with the machine
    LogLife(seed).live()         the same; raises RuleFallen

Owns: what happens when.
Invariants: I-CLOGLIFE-1 two cleanings with nothing new between them: the second has nothing to do, or changes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

from minikafka.log import LogConfig, cleaner
from minikafka.log.config import FOREVER
from minikafka.log.producers import UNGUARDED
from minikafka.log.records import Record
from minikafka.proof.small_worlds.checks import fallen, same
from minikafka.proof.small_worlds.logs.lone_cleaned_log import LoneCleanedLog
from minikafka.proof.small_worlds.logs.producer_rules import Waiting
from minikafka.proof.small_worlds.logs.seen import ABORT, COMMIT, MOST_SEQUENCE, SeenBatch
from minikafka.sim.world.replaced import replaced

STEPS, DEATHS, KEYS, PRODUCERS = 70, 4, 5, (1, 2, 3)
DAY = 24 * 60 * 60 * 1000


def log_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(LogLife(seed).live)


def log_dying(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(DyingLog(seed).live)


def drawn(rng: Random) -> LogConfig:
    """Return a configuration of a small log, in which everything happens soon."""
    return LogConfig(
        segment_bytes=rng.choice((300, 600, 1500)), segment_ms=rng.choice((20_000, 7 * DAY)),
        segment_index_bytes=rng.choice((10 << 20, 10 << 20, 60)), index_interval_bytes=rng.choice((1, 150, 4096)),
        flush_messages=rng.choice((FOREVER, FOREVER, 7)), cleanup_policy=rng.choice(("compact", "compact", "compact,delete")),
        message_timestamp_type=rng.choice(("CreateTime", "CreateTime", "CreateTime", "LogAppendTime")),
        retention_ms=rng.choice((-1, 3000, 30_000)), retention_bytes=rng.choice((-1, 0, 400, 1500)),
        delete_retention_ms=rng.choice((0, 3000, 20_000, FOREVER)), min_compaction_lag_ms=rng.choice((0, 0, 5000)),
        max_compaction_lag_ms=rng.choice((FOREVER, 15_000)), producer_id_expiration_ms=rng.choice((DAY, 25_000, 8000)))


class LogLife(LoneCleanedLog):
    """The life that a seed decides."""

    drawn = staticmethod(drawn)

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed}:{type(self).__name__}")
        super().__init__(rng, self.drawn(rng))
        self.coordinator = 1
        self.verifies = rng.random() < 0.5  # the batches of transactions (KIP-890)
        self.alone = False  # nothing happens beside a cleaning

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        steps = {self.append: 40, self.mark: 22, self.verify: 8, self.lead_on: 3, self.copy: 5, self.wait: 12, self.replicate: 14,
                 self.roll: 3, self.flush: 2, self.shorten: 3, self.delete: 2, self.retain: 3, self.come_round: 9,
                 self.begin_again: 3, self.fall_out: 1, self.delete_within: 2}
        with replaced(cleaner, "SLICE", self.rng.choice((cleaner.SLICE, 150))):
            self.play(steps)

    def play(self, steps: dict[Callable[[], None], int]) -> None:
        """Play steps, each as often as its weight says; in the end, clean twice."""
        for _ in range(STEPS):
            step = self.rng.choices([*steps], [*steps.values()])[0]
            step()
            self.judge_ends()
            if step not in (self.append, self.mark, self.verify, self.wait, self.flush, self.lead_on, self.replicate):
                self.judge()
        self.last_cleanings()

    # --- writers --------------------------------------------------------------------------------------------------

    def rows(self, base: int, keyless: bool = False) -> tuple[Record, ...]:
        rng = self.rng
        time = self.now - rng.choice((0, 0, 100, 4000))
        return tuple(Record(base + at, time + rng.choice((0, 0, 1, -5)), None if keyless else b"k%d" % rng.randrange(KEYS),
                            None if rng.random() < 0.25 else b"%08x" % rng.getrandbits(32),
                            [("h", b"1")] if rng.random() < 0.1 else []) for at in range(rng.choice((1, 1, 2, 4))))

    def batch(self, base: int) -> SeenBatch:
        """Return what some producer would send next."""
        rng, producer = self.rng, self.rng.choice((-1, *PRODUCERS, *PRODUCERS))
        rows = self.rows(base)
        batch = SeenBatch(base, rows[-1].offset, max(row.timestamp for row in rows), self.leader_epoch, rows=rows,
                          codec=rng.choice((0,) * 8 + (1, 4)))
        if producer < 0:
            return batch
        past = self.producers.past.get(producer)
        epoch = past.epoch if past else rng.choice((0, 0, 3))
        sequence = (past.data[-1].last_sequence + 1) % (MOST_SEQUENCE + 1) if past and past.data else (
            rng.choice((0, 0, MOST_SEQUENCE - 1)) if past is None else 0)
        if rng.random() < 0.08 and not (past and past.opened >= 0):
            epoch, sequence = epoch + 1, 0
        transactional = past is not None and past.opened >= 0 or rng.random() < 0.6
        return batch._replace(producer=producer, epoch=epoch, sequence=sequence, transactional=transactional)

    def append(self) -> None:
        """Append a client's batch, now and then one that must be refused, or a retry."""
        rng, batch = self.rng, self.batch(self.end)
        odd = rng.random()
        if odd < 0.06 and batch.producer >= 0:
            old = [one for one in self.rules.history if one.producer == batch.producer and not one.ends]
            if old:
                again = rng.choice(old[-7:])
                less = int(len(again.rows) > 1 and rng.random() < 0.2)  # without its first record it is no retry
                move = self.end - again.base - less
                rows = tuple(one._replace(offset=one.offset + move) for one in again.rows[less:])
                batch = again._replace(base=self.end, last=again.last + move, leader_epoch=self.leader_epoch, append_time=False,
                                       sequence=(again.sequence + less) % (MOST_SEQUENCE + 1), rows=rows,
                                       timestamp=max(row.timestamp for row in rows))
        elif odd < 0.12 and batch.producer >= 0:
            batch = batch._replace(epoch=max(0, batch.epoch + rng.choice((-1, 0, 0, 1))), transactional=rng.random() < 0.5,
                                   sequence=(batch.sequence + rng.choice((0, 0, 1, 3))) % (MOST_SEQUENCE + 1))
        elif odd < 0.15:
            batch = batch._replace(transactional=False)
        elif odd < 0.17:
            rows = self.rows(self.end, keyless=True)
            batch = batch._replace(rows=rows, last=rows[-1].offset, timestamp=max(row.timestamp for row in rows))
        elif odd < 0.18:
            large = batch.rows[0]._replace(value=rng.randbytes(self.config.segment_bytes))
            batch = batch._replace(rows=(large,), last=batch.base, timestamp=large.timestamp)
        held = [one.guard for waiting in self.producers.waiting.values() for one in waiting]
        guard = rng.choice((None, object(), *held * 9)) if self.verifies and rng.random() < 0.8 else UNGUARDED
        self.lead(batch, client=rng.random() < 0.95, guard=guard)

    def verify(self) -> None:
        """Let a batch wait for its verification (KIP-890)."""
        rng, producer = self.rng, self.rng.choice(PRODUCERS)
        past = self.producers.past.get(producer)
        last = past.data[-1].last_sequence if past and past.data else 0
        for _ in range(rng.choice((1, 2))):  # the second one may have come first from its producer
            epoch, sequence = (past.epoch if past else 0) + rng.choice((0, 0, 0, 1, -1)), rng.choice((0, 2, last, last + 1))
            from_zero = rng.random() < 0.5
            guard = self.log.producers.guard(producer, epoch, sequence, self.now, from_zero)
            self.producers.asks(producer, Waiting(guard, epoch, sequence, from_zero, self.now))
        same("I-PPAST-2", "all wait for one guard", {id(one.guard) for one in self.producers.waiting[producer]}, {id(guard)})

    def marker(self, base: int) -> SeenBatch:
        """Return a marker, mostly of an open transaction."""
        rng = self.rng
        opened = [producer for producer, past in self.producers.past.items() if past.opened >= 0]
        producer = rng.choice(opened) if opened and rng.random() < 0.9 else rng.choice(PRODUCERS)
        epoch = self.producers.past[producer].epoch if producer in self.producers.past else 0
        self.coordinator += rng.random() < 0.1
        ends, coordinator = rng.choice((COMMIT, ABORT)), self.coordinator - (rng.random() < 0.1)
        epoch = max(0, epoch + rng.choice((0, 0, 0, 0, 1, -1)))
        row = Record(base, self.now, struct.pack(">hh", 0, ends == COMMIT), struct.pack(">hi", 0, coordinator), [])
        return SeenBatch(base, base, self.now, self.leader_epoch, producer, epoch, -1, True, ends, coordinator, (row,))

    def mark(self) -> None:
        if self.rng.random() < 0.75:
            self.lead(self.marker(self.end), client=False)

    def lead_on(self) -> None:
        self.leader_epoch += self.rng.choice((1, 1, 3))

    def copy(self) -> None:
        """Copy what another leader has, which may be compacted there, cut short, damaged, or not what should come now."""
        rng, base = self.rng, self.end + self.rng.choice((0, 0, 0, 2))
        if rng.random() < 0.06 or self.start == self.end and rng.random() < 0.5:
            base = max(0, base - rng.choice((1, 2)))
        found: list[SeenBatch] = []
        for _ in range(rng.choice((1, 2, 5))):
            producer = {one.producer for one in found}
            batch = self.batch(base) if rng.random() < 0.8 else self.marker(base)
            if batch.producer >= 0 and batch.producer in producer:
                continue
            found.append(batch)
            base = batch.end + rng.choice((0, 0, 0, 3, -1 if rng.random() < 0.1 else 0))
            self.leader_epoch += rng.random() < 0.1
        self.follow(found, torn=rng.choice((0, 0, 0, 1, 30)), damaged=rng.random() < 0.08)

    # --- what passes ----------------------------------------------------------------------------------------------

    def wait(self) -> None:
        self.now += self.rng.choice((10, 1000, 4000, 15_000))
        if self.rng.random() < 0.3:
            self.log.expire_producers(self.now)
            self.producers.expire(self.now, self.config.producer_id_expiration_ms)

    def replicate(self) -> None:
        """Raise the high watermark, mostly to the end."""
        reached = self.rng.choice((self.end, self.end, self.rng.randint(self.start, self.end)))
        self.high_watermark = max(self.high_watermark, reached)
        self.log.producers.replicated(self.high_watermark)
        same("I-PPAST-4", "the transactions whose markers are not replicated", self.log.producers.completed,
             [one for one in self.producers.ended if one.last_offset >= self.high_watermark])

    def replicate_all(self) -> None:
        self.high_watermark = self.end
        self.log.producers.replicated(self.end)

    def shorten(self) -> None:
        """Truncate what is not replicated, also within a batch or beyond the end."""
        if not self.straddled:
            self.truncate(self.rng.randint(max(self.high_watermark, self.end - 8), self.end + 1))
        if self.rng.random() < 0.04:  # even below the log's start, of a leader that had been cut off for long
            self.truncate(max(0, self.start - self.rng.choice((1, 3))))
            self.clean_until = None

    def delete(self) -> None:
        """Delete records up to the high watermark; beyond the end it is refused."""
        self.delete_records(self.rng.choice((self.end + 1, self.high_watermark, self.rng.randint(0, self.high_watermark))))

    def delete_within(self) -> None:
        """Delete the first record of the last batch, then truncate within the batch: it goes as a whole, the start with it."""
        last = self.rules.stored[-1] if self.rules.stored else None
        if last is None or last.last < last.base + 2 or last.base < max(self.high_watermark, self.start) or self.producers.opened:
            return
        self.high_watermark = last.base + 1
        self.log.producers.replicated(self.high_watermark)
        self.delete_records(last.base + 1)
        self.judge()
        if not self.straddled:
            self.truncate(last.base + 2)

    def begin_again(self) -> None:
        """Start anew. As in Kafka no start knows which markers are not replicated; here they are."""
        if self.straddled and self.start == self.end:
            return  # there is no snapshot of an empty log
        self.replicate_all()
        if self.rng.random() < 0.3 and self.fs.exists(self.log.epochs.path):
            self.lose_epochs()
        self.restart(self.straddled or self.rng.random() < 0.5)

    def fall_out(self) -> None:
        """Let the disk fail; and the file of clean points be damaged."""
        if not self.straddled:
            self.replicate_all()
            self.fail()
        self.keep_clean_point()

    # --- the cleaner ----------------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        return self.rng.choice((1000, 1000, 1000, 3, 1))

    def come_round(self) -> None:
        """Clean, perhaps while other things happen, or with a clean point that was lost."""
        if self.rng.random() < 0.1:
            self.clean_until = self.rng.choice((None, self.end + 5, self.rng.randint(0, self.clean_until or 0)))
        self.clean(self.room, disturbed=self.rng.random() < 0.15)
        if self.clean_until is not None and self.clean_until > self.end:
            self.clean_until = None  # or it would count once the log has grown

    def meanwhile(self) -> None:
        if not self.alone and self.rng.random() < 0.2:
            self.append()

    def disturb(self) -> None:
        """Let the log be truncated or lose segments while a copy of a part of it waits."""
        self.rng.choice((self.shorten, self.delete, self.retain, self.roll))()

    def last_cleanings(self) -> None:
        """Clean twice; then nothing is left to do (I-CLOGLIFE-1)."""
        self.alone, self.clean_until = True, None
        self.replicate_all()
        for _ in range(2):
            before = [row for batch in self.rules.stored if not batch.ends for row in batch.rows]
            self.clean(1000)
            self.judge()
            self.clean_until = None
        if self.config.delete_retention_ms and self.met["cleaned"]:
            after = [row for batch in self.rules.stored if not batch.ends for row in batch.rows]
            same("I-CLOGLIFE-1", "records after a second cleaning", after, before)


class DyingLog(LogLife):
    """A log that keeps its front, so that everything it must remember is in its batches; it dies within its steps."""

    @staticmethod
    def drawn(rng: Random) -> LogConfig:
        return LogConfig(
            segment_bytes=rng.choice((200, 500, 1200)), index_interval_bytes=rng.choice((1, 300, 4096)),
            flush_messages=rng.choice((FOREVER, FOREVER, FOREVER, 7)), cleanup_policy=rng.choice(("compact", "delete", "delete")),
            delete_retention_ms=rng.choice((0, 20_000)), producer_id_expiration_ms=1000 * DAY)

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        mix = {self.append: 40, self.mark: 15, self.verify: 1, self.lead_on: 3, self.copy: 3, self.wait: 3, self.replicate: 5,
               self.flush: self.rng.choice((3, 15)), self.roll: 2,
               self.come_round if self.config.compact else self.shorten: self.rng.choice((3, 15))}
        for _ in range(DEATHS):
            self.die(lambda: [step() for step in self.rng.choices([*mix], [*mix.values()], k=40)])
            self.judge()

    def shorten(self) -> None:
        """Truncate, also what was replicated, and some whole segments."""
        self.truncate(self.rng.randint(max(0, self.end - self.rng.choice((6, 20))), self.end + 1))

    def come_round(self) -> None:
        """Clean a log that is flushed: else a loss of power may take what has made a record superfluous (in Kafka, too)."""
        self.flush()
        super().come_round()

    def disturb(self) -> None:
        """Begin a segment while a copy of a part of the log waits."""
        self.roll()
