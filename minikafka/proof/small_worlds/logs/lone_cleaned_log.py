"""A lone log that is cleaned, undisturbed or not, and killed in the middle.

    lone.clean(room)                     as the broker's cleaner does it
    lone.clean_and_die(room, changes)    and be killed after so many changes of the disk; start again

Owns: the order of the work in a cleaning; up to where the log is clean.
Invariants: I-LCLEAN-1 where a cleaning was killed, each group of segments is as before or as it must be after, those first.
            I-LCLEAN-3 a checkpoint of offsets is read as it was written; one that makes no sense, like none.
            I-LCLEAN-2 a copy is put in place only if the log still has all that it was made of.
"""

from __future__ import annotations

from random import Random

from minikafka.log import LogConfig, checkpoint
from minikafka.log.cleaner import Cleanable, Cleaning, cleanable
from minikafka.proof.small_worlds.checks import same
from minikafka.proof.small_worlds.logs.compaction_rules import CleaningSeen, SeenSegment
from minikafka.proof.small_worlds.logs.log_rules import look
from minikafka.proof.small_worlds.logs.lone_compacted_log import FOLDER
from minikafka.proof.small_worlds.logs.lone_log import killed_after
from minikafka.proof.small_worlds.logs.lone_mortal_log import LoneMortalLog

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
        same("I-LCLEAN-3", "the file", good, b"0\n2\nt 0 %d\nu.v-w 12 %d\n" % (self.clean_until or 0, 1 << 40))
        same("I-LCLEAN-3", "what is read", checkpoint.read(self.fs, CLEAN_POINTS), points)
        bad = self.rng.choice((b"", good[:-1], b"1" + good[1:], good.replace(b"\n2\n", b"\n3\n"), good.replace(b"t 0", b"t x"),
                               b"0\n2\n", b"0\n1\nt 0\n", good + b"\n", b"0\n0", good.replace(b"2", b"\xff")))
        for data in (bad, b"0"):
            self.fs.write_atomic(CLEAN_POINTS, data)
            same("I-LCLEAN-3", f"what is read of {data!r}", checkpoint.read(self.fs, CLEAN_POINTS), {})
        self.fs.remove(CLEAN_POINTS)
        same("I-LCLEAN-3", "what is read of no file", checkpoint.read(self.fs, CLEAN_POINTS), {})

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

    def swapped(self, work: CleaningSeen, group: list[SeenSegment]) -> None:
        """Note in the model that a group was put in place."""
        low, high = group[0].base, group[-1].end
        left = self.rules.after(work, group)
        before = [batch for batch in self.rules.stored if batch.base < low]
        self.rules.stored = [*before, *left, *(batch for batch in self.rules.stored if batch.base >= high)]
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

    def clean_and_die(self, room: int, after: int) -> None:
        """Clean, and be killed at one of the changes of the disk; start again."""
        todo = self.todo(look(self.log, self.fs))
        self.flush()
        if not todo.dirty_bytes:
            return
        cleaning, work = self.cleaning(todo, room)
        segments = [segment for segment in look(self.log, self.fs) if segment.base < todo.end]
        wanted = self.rules.groups(segments, work.until, self.config)
        done = False
        with killed_after(self.disk, after):
            for group in cleaning.groups():
                for _ in group.rewrite():
                    pass
                group.finish()
            done = True
        self.met["killed while it cleaned"] += not done
        self.find_out(work, wanted)

    def find_out(self, work: CleaningSeen, wanted: list[list[SeenSegment]]) -> None:
        """Start after a death in a cleaning, and see how far it came: group by group, in order."""
        swap = [int(path.rsplit("/", 1)[1].partition(".")[0]) for path in self.disk.files(FOLDER) if path.endswith(".log.swap")]
        snapshots = self.producers.snapshots
        self.fs.open_files.clear()
        opened = self.opened(False)
        bases = [segment.base_offset for segment in opened.segments]
        here = {segment.base: segment.batches for segment in look(opened, self.fs)}
        for group in wanted:
            low, high = group[0].base, group[-1].end
            found = [batch for base in bases if low <= base < high for batch in here[base]]
            old = [batch for segment in group for batch in segment.batches]
            if found == self.rules.after(work, group) and [low] == [base for base in bases if low <= base < high]:
                self.swapped(work, group)
            else:
                same("I-LCLEAN-1", f"the segments in [{low}, {high})", found, old)
                break
        kept = {at for at in snapshots if self.fs.exists(f"{FOLDER}/{at:020d}.snapshot")} | set(self.producers.snapshots)
        self.producers.snapshots = {at: copy for at, copy in snapshots.items() if at in kept}
        self.started(opened, False, min(swap, default=None))
