"""A lone log that is cleaned, undisturbed or not.

    lone.clean(room)                     as the broker's cleaner does it

Owns: the order of the work in a cleaning; up to where the log is clean.
Invariants: I-LCLEAN-1 a checkpoint of offsets is read as it was written; one that makes no sense, like none.
            I-LCLEAN-2 a copy is put in place only if the log still has all that it was made of.
"""

from __future__ import annotations

from random import Random

from minikafka.log import LogConfig, checkpoint
from minikafka.log.cleaner import Cleanable, Cleaning, cleanable
from minikafka.proof.small_worlds.checks import same
from minikafka.proof.small_worlds.logs.compaction_rules import CleaningSeen, SeenSegment
from minikafka.proof.small_worlds.logs.log_rules import look
from minikafka.proof.small_worlds.logs.lone_mortal_log import LoneMortalLog
from minikafka.proof.small_worlds.logs.seen import SeenBatch

CLEAN_POINTS = "/data/cleaner-offset-checkpoint"


class LoneCleanedLog(LoneMortalLog):
    """A log, its model, and its cleaner."""

    def __init__(self, rng: Random, config: LogConfig) -> None:
        super().__init__(rng, config)
        self.clean_until: int | None = None

    def keep_clean_point(self) -> None:
        """Write the clean point, and read what a broker would find at its start; now and then the file is damaged."""
        points = {("t", 0): self.clean_until or 0, ("u.v-w", 12): 1 << 40}
        checkpoint.write(self.fs, CLEAN_POINTS, points)
        good = self.fs.read(CLEAN_POINTS)
        same("I-LCLEAN-1", "the file", good, b"0\n2\nt 0 %d\nu.v-w 12 %d\n" % (self.clean_until or 0, 1 << 40))
        same("I-LCLEAN-1", "what is read", checkpoint.read(self.fs, CLEAN_POINTS), points)
        bad = self.rng.choice((b"", good[:-1], b"1" + good[1:], good.replace(b"\n2\n", b"\n3\n"), good.replace(b"t 0", b"t x"),
                               b"0\n2\n", b"0\n1\nt 0\n", good + b"\n", b"0\n0", good.replace(b"2", b"\xff")))
        for data in (bad, b"0"):
            self.fs.write_atomic(CLEAN_POINTS, data)
            same("I-LCLEAN-1", f"what is read of {data!r}", checkpoint.read(self.fs, CLEAN_POINTS), {})
        self.fs.remove(CLEAN_POINTS)
        same("I-LCLEAN-1", "what is read of no file", checkpoint.read(self.fs, CLEAN_POINTS), {})

    def todo(self, segments: list[SeenSegment]) -> Cleanable:
        """Return what may be cleaned, which the log and the model must agree on."""
        todo = cleanable(self.log, self.clean_until, self.stable, self.now)
        wanted = self.rules.cleanable(segments, self.start, self.clean_until, self.stable, self.now, self.config)
        same("I-COMPACT-4", "cleanable", tuple(todo), wanted)
        least, (_, _, clean, dirty, overdue) = self.rng.choice((0.0, 0.5, 0.8, 1.0)), wanted
        same("I-COMPACT-4", f"whether {todo} is worth it", todo.worthwhile(least),
             dirty > 0 and (overdue or dirty > least * (clean + dirty)))
        return todo

    def cleaning(self, todo: Cleanable, room: int) -> tuple[Cleaning, CleaningSeen]:
        """Begin a cleaning: read the keys."""
        segments = look(self.log, self.fs)
        cleaning = Cleaning(self.log, todo, self.now, room)
        past, stored, now = dict(self.producers.past), tuple(self.rules.stored), self.now
        read = 0
        for size in cleaning.read_keys():
            read += size
            self.meanwhile()
        until = self.rules.reach(segments, todo.first_dirty, todo.end, max(room, 1))
        if until == todo.end and not cleaning.map.full:
            same("I-LCLEAN-2", "the bytes read", read, todo.dirty_bytes)
        same("I-COMPACT-1", "where the next cleaning begins", cleaning.clean_until, until)
        return cleaning, CleaningSeen(todo.first_dirty, until, now, self.config.delete_retention_ms, past, stored)

    def meanwhile(self) -> None:
        """Let something happen between two slices of a cleaning."""

    def content_after(self, work: CleaningSeen, group: list[SeenSegment]) -> list[SeenBatch]:
        """Return the batches of the log once a group is put in place."""
        low, high = group[0].base, group[-1].end
        before = [batch for batch in self.rules.stored if batch.base < low]
        return [*before, *self.rules.after(work, group), *(batch for batch in self.rules.stored if batch.base >= high)]

    def swapped(self, work: CleaningSeen, group: list[SeenSegment]) -> None:
        """Note in the model that a group was put in place."""
        low, high = group[0].base, group[-1].end
        self.rules.stored = self.content_after(work, group)
        gone = {segment.base for segment in group[1:]}
        self.rules.bases = [base for base in self.rules.bases if base not in gone]
        self.producers.snapshots = {at: copy for at, copy in self.producers.snapshots.items() if at not in gone}
        self.aborted = {last: one for last, one in self.aborted.items()
                        if not low <= last < high or self.rules.indexed(work, last)}

    def clean(self, room: int, disturbed: bool = False) -> None:
        """Clean as the broker does: flush, look again, read the keys, rewrite group by group."""
        todo = self.todo(look(self.log, self.fs))
        if self.recovery_point < todo.end:
            self.flush()
        if not todo.dirty_bytes:
            return
        cleaning, work = self.cleaning(todo, room)
        segments = look(self.log, self.fs)
        truncations, first, rules = self.log.truncations, True, self.rules  # other rules: the log was emptied
        wanted = self.rules.groups([s for s in segments if s.base < todo.end], work.until, self.config)
        for group in cleaning.groups():
            expected = wanted.pop(0)
            same("I-COMPACT-4", "bytes of a group", group.size, sum(segment.size for segment in expected))
            read = 0
            for size in group.rewrite():
                read += size
                self.meanwhile()
            same("I-LCLEAN-2", "the bytes copied", read, group.size)
            if disturbed:
                self.disturb()
            gone = self.rules is not rules or any(segment.base not in rules.bases for segment in expected)
            if first:
                same("I-LCLEAN-2", "whether a segment that is read is gone", cleaning.outdated, gone)
            first, alive = False, truncations == self.log.truncations and not gone
            with self.becoming(self.content_after(work, expected) if alive else self.rules.stored):
                same("I-LCLEAN-2", "whether the copy is put in place", group.finish(), alive)
            if not alive:
                self.met["outdated"] += 1
                cleaning.close()
                return
            self.swapped(work, expected)
        same("I-COMPACT-4", "groups that are not made", wanted, [])
        cleaning.close()
        self.clean_until = work.until
        self.met["cleaned"] += 1

    def disturb(self) -> None:
        """Let the log change while a copy is made."""
