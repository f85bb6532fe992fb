"""One log alone on one disk: it grows, is flushed, truncated or compacted, and dies at any change of the disk.

    log_alone(seed)         () if every start finds what it should, else ("I16",)
    LoneLog(seed).live()    the same; raises Fallen, which says what is wrong

Most faults of recovery show without a cluster, and a seed takes milliseconds. After each death the log is opened again, as a
broker opens it after an unclean stop, and compared with the records that were written to it.

Owns: the model of what was written, and the moments of death.
Invariants: I-LONE-1 after the death of the process alone, every appended record is there; after a loss of power, every one
              below the recovery point.
            I-LONE-2 the log has nothing but written batches, whole, in order, none missing in between; a compacted log has
              the last record of every key.
            I-LONE-3 opening once more changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from minikafka.log import Log, LogConfig
from minikafka.log.batch import batches, build, crc_ok, records
from minikafka.log.cleaner import Cleaning, cleanable
from minikafka.log.markers import marker
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.disk import Mount, SimDisk

FOLDER, NOW = "/data/t-0", 1_700_000_000_000
DEATHS, STEPS, KEYS = 3, 40, 4
Row = tuple[int, bytes, bytes]  # offset, key, value


class Died(Exception):
    """Death of the process or the machine, at a change of the disk."""


@contextmanager
def killed_after(disk: SimDisk, changes: int) -> Iterator[None]:
    """Let the process die after so many changes of the disk, and leave the block there."""
    left = changes

    def change() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Died

    disk.on_change = change
    try:
        yield
    except Died:
        pass
    finally:
        disk.on_change = None


class Fallen(AssertionError):
    """A start found something other than what was written; `id` of the invariant."""

    id = "I16"


class Forgotten(Fallen):
    """A start remembers other producers than those in the log."""

    id = "I11"


def log_alone(seed: int) -> tuple[str, ...]:
    """Run one seed: the world of the weakened rules that need nothing but a log."""
    return _fallen(LoneLog(seed))


def log_truncated(seed: int) -> tuple[str, ...]:
    """Run one seed with small segments, whose indexes know every batch, flushed and truncated often."""
    log = LoneLog(seed, compacts=False, mix=(6, 4, 4, 0))
    log.log.config = log.config = replace(log.config, segment_bytes=200, index_interval_bytes=1)
    return _fallen(log)


def log_of_producers(seed: int) -> tuple[str, ...]:
    """Run one seed with idempotent and transactional producers; ("I11",) if the log remembers them wrongly."""
    return _fallen(ProducersLog(seed, compacts=False, mix=(12, 2, 2, 0)))


def log_refused(seed: int) -> tuple[str, ...]:
    """Run one seed on a disk that now and then fails to fsync."""
    return _fallen(RefusedLog(seed, compacts=False, mix=(8, 3, 1, 0)))


def _fallen(log: LoneLog) -> tuple[str, ...]:
    try:
        log.live()
    except AssertionError as fallen:  # the world's, or the log's own
        return (fallen.id if isinstance(fallen, Fallen) else str(fallen),)
    return ()


class LoneLog:
    """One life of a log, with several deaths; every third seed compacts. `mix`: how often it appends, is flushed, truncated,
    compacted."""

    def __init__(self, seed: int, compacts: bool | None = None, mix: tuple[int, int, int, int] = (12, 2, 1, 3)) -> None:
        self.rng, self.mix = Random(f"{seed}:lone log"), mix
        self.compacts = seed % 3 == 0 if compacts is None else compacts
        self.disk = SimDisk()
        self.config = LogConfig(
            segment_bytes=self.rng.choice((500, 1200)), index_interval_bytes=self.rng.choice((1, 300, 4096)),
            cleanup_policy="compact" if self.compacts else "delete")
        self.point = 0  # the recovery point, as checkpointed
        self.written: list[Row] = []  # the records that append has taken
        self.doubtful: list[Row] = []  # in flight when the disk died
        self.past: list[Row] = []  # the records before a truncation that may not be durable
        self.epoch = 0
        self.log = self._open()

    def _open(self) -> Log:
        return Log.open(Mount(self.disk), FOLDER, self.config, now_ms=NOW, recovery_point=self.point)

    # --- life -----------------------------------------------------------------------------------------------------

    def live(self) -> None:
        """Play all deaths. Raises Fallen."""
        for _ in range(DEATHS):
            self._until_death()
            lost_power = self.rng.random() < 0.6
            if self.rng.random() < 0.5:  # a checkpoint, just in time
                self.point = self.log.recovery_point
            if lost_power:
                self.disk.powerloss(self.rng)
            self._start(lost_power)

    def _until_death(self) -> None:
        with killed_after(self.disk, self.rng.randrange(1, 60)):
            for _ in range(STEPS):
                self._step()

    def _step(self) -> None:
        do = self.rng.choices((self._append, self._flush, self._truncate, self._compact), self.mix)[0]
        do()

    def _append(self) -> None:
        """Append a batch of up to three records, each with a new value."""
        base = self.log.end_offset
        keys = [b"k%d" % self.rng.randrange(KEYS) for _ in range(self.rng.randrange(1, 4))]
        rows = [(base + i, key, b"%d-%08x" % (base + i, self.rng.getrandbits(32))) for i, key in enumerate(keys)]
        self.doubtful = rows
        self.epoch += self.rng.random() < 0.1
        self.log.append_leader(build([(key, value) for _, key, value in rows], timestamp_ms=NOW), self.epoch, NOW)
        self.written += rows
        self.doubtful = []

    def _flush(self) -> None:
        self.log.flush()
        self.point, self.past = self.log.recovery_point, []

    def _truncate(self) -> None:
        """Truncate as a follower does; not below what compaction has removed."""
        if self.compacts or not self.written:
            return
        offset = self.rng.randrange(max(0, self.log.end_offset - 6), self.log.end_offset + 1)
        below = max((row[0] for row in self.written if row[0] < offset), default=-1)
        end = self._batch_of(below + 1)
        self.past, self.written = self.written, [row for row in self.written if row[0] < end]
        self.log.truncate(offset)
        self.past = []
        self.point = min(self.point, self.log.recovery_point)

    def _batch_of(self, offset: int) -> int:
        """Return where the batch that holds `offset` begins: batches are truncated whole."""
        if offset >= self.log.end_offset:
            return offset
        header, _ = next(batches(read(self.log, offset)))
        return header.base_offset

    def _compact(self) -> None:
        """Compact as the broker's cleaner does: flush, note how far, clean."""
        if not self.compacts:
            return
        self._flush()
        todo = cleanable(self.log, None, self.log.end_offset, NOW)
        if not todo.dirty_bytes:
            return
        cleaning = Cleaning(self.log, todo, NOW, 1000)
        for _ in cleaning.read_keys():
            pass
        for group in cleaning.groups():
            for _ in group.rewrite():
                pass
            group.finish()

    # --- death ----------------------------------------------------------------------------------------------------

    def _start(self, lost_power: bool) -> None:
        """Open what is left, compare it, and go on with it."""
        self.log = opened(self._open)
        found = self._found()
        end = 1 + max((row[0] for row in self.written), default=-1)
        self._compare(found, min(self.point, end) if lost_power else end)
        self._open_again()
        self.written = [row for row in self._written(found) if row[0] < self.log.end_offset]
        self.doubtful, self.past = [], []
        self.point = min(self.point, self.log.end_offset)
        self.log.recovery_point = min(self.log.recovery_point, self.point)

    def _found(self) -> list[Row]:
        """Return every record of the log; raises Fallen for bytes that are no batch."""
        rows: list[Row] = []
        at = self.log.start_offset
        while at < self.log.end_offset:
            before, data = at, read(self.log, at)
            for header, raw in batches(data):
                if not crc_ok(raw, 0, header) or header.next_offset <= at:
                    raise Fallen(f"no good batch at {at}")
                rows += [(r.offset, bytes(r.key or b""), bytes(r.value or b"")) for r in records(raw)]
                at = header.next_offset
            if at == before:
                raise Fallen(f"no whole batch at {at}")
        return rows

    def _compare(self, found: list[Row], safe: int) -> None:
        """Check I-LONE-1 and I-LONE-2. Records in flight may be there, as far as they came."""
        end = self.log.end_offset
        should = [row for row in self._written(found) if row[0] < end]
        if end < safe:
            raise Fallen(f"I-LONE-1 the log ends at {end}, {safe} was safe")
        if not set(found) <= set(should):
            raise Fallen(f"I-LONE-2 never written: {sorted(set(found) - set(should))[:3]}")
        must = set(should) if not self.compacts else {max(r for r in should if r[1] == key) for _, key, _ in should}
        if not must <= set(found):
            raise Fallen(f"I-LONE-1 lost: {sorted(must - set(found))[:3]} of a log that ends at {end}")

    def _written(self, found: list[Row]) -> list[Row]:
        """Return the records of which the log must be a prefix: those written or, if it died during a truncation, those before
        it; never a mixture."""
        now = self.written + self.doubtful
        return now if set(found) <= set(now) else self.past

    def _open_again(self) -> None:
        """Check I-LONE-3."""
        before = self._bytes()
        opened(self._open)
        if self._bytes() != before:
            raise Fallen("I-LONE-3 opening once more changed the log")
        self.log = self._open()

    def _bytes(self) -> dict[str, bytes]:
        return {path: Mount(self.disk).read(path) for path in self.disk.files(FOLDER) if path.endswith(".log")}


class RefusedLog(LoneLog):
    """A log whose disk refuses every fourth flush, and fails every fifth start: the process ends with the error, and the next one
    opens what it finds.

    It does not die of something else between the refusal and the mark that the refusal leaves: nobody could know then.
    """

    def _open(self) -> Log:
        self.disk.failures["sync"] = int(FOLDER in self.disk.names and self.rng.random() < 0.2)
        try:
            return super()._open()
        except OSError:
            pass  # the process has ended with it
        finally:
            self.disk.failures["sync"] = 0
        return super()._open()

    def _flush(self) -> None:
        dies, refuses = self.disk.on_change, self.rng.random() < 0.25
        self.disk.failures["sync"], self.disk.on_change = int(refuses), None if refuses else dies
        try:
            super()._flush()
        except KafkaError as error:
            raise Died from error
        finally:
            self.disk.failures["sync"], self.disk.on_change = 0, dies


class ProducersLog(LoneLog):
    """A log to which two producers write as well, in transactions or not.

    Invariant I-LONE-4: the state of producers and the index of aborted transactions are what a replay of the whole log
    gives (rule 46): snapshots and indexes only save the reading.
    """

    def _append(self) -> None:
        producer = self.rng.choice((None, 1, 2))
        if producer is None:
            super()._append()
            return
        known = self.log.producers.entries.get(producer)
        if known is not None and known.txn_first_offset >= 0 and self.rng.random() < 0.4:
            self._put(marker(producer, known.epoch, self.epoch, self.rng.random() < 0.5, NOW), "coordinator")
            return
        epoch, sequence = (known.epoch, known.last_sequence + 1) if known is not None else (0, 0)
        if self.rng.random() < 0.1 and (known is None or known.txn_first_offset < 0):
            epoch, sequence = epoch + 1, 0
        is_open = known is not None and known.txn_first_offset >= 0
        value = b"%d-%08x" % (self.log.end_offset, self.rng.getrandbits(32))
        self._put(build([(b"p", value)], timestamp_ms=NOW, producer_id=producer, producer_epoch=epoch,
                        base_sequence=sequence, transactional=is_open or self.rng.random() < 0.5), "client")

    def _put(self, data: bytes, origin: str) -> None:
        base = self.log.end_offset
        self.doubtful = [(base, bytes(r.key or b""), bytes(r.value or b"")) for r in records(data)]
        self.log.append_leader(data, self.epoch, NOW, origin=origin)
        self.written, self.doubtful = self.written + self.doubtful, []

    def _truncate(self) -> None:
        super()._truncate()
        self._remembers()

    def _start(self, lost_power: bool) -> None:
        super()._start(lost_power)
        self._remembers()

    def _remembers(self) -> None:
        """Check I-LONE-4, against a copy of the log without snapshots and indexes."""
        copy = Mount(SimDisk())
        copy.mkdir(FOLDER)
        for path in self.disk.files(FOLDER):
            if not path.endswith((".snapshot", ".txnindex")):
                copy.open(path).pwrite(Mount(self.disk).read(path), 0)
        replayed = Log.open(copy, FOLDER, self.config, now_ms=NOW)
        if memory(self.log) != memory(replayed):
            raise Forgotten(f"it remembers {memory(self.log)}, its batches say {memory(replayed)}")


def memory(log: Log) -> tuple[Any, ...]:
    """Return what a log knows of producers, as far as a snapshot keeps it, and of aborted transactions."""
    producers = {producer: (entry.epoch, entry.coordinator_epoch, entry.txn_first_offset, entry.batches[-1:])
                 for producer, entry in sorted(log.producers.entries.items())}
    return producers, log.aborted_transactions(log.start_offset, log.end_offset), log.end_offset


def opened(open_it: Callable[[], Any]) -> Any:
    """Return what `open_it` returns. Raises Fallen if the log cannot be opened at all."""
    try:
        return open_it()
    except (KafkaError, AssertionError, ValueError, IndexError, OSError) as error:
        raise Fallen(f"cannot be opened: {error!r}") from error


def read(log: Log, at: int) -> bytes:
    try:
        data = log.read(at, 1 << 20, log.end_offset)
    except (KafkaError, IndexError, ValueError) as error:
        raise Fallen(f"cannot be read at {at}: {error!r}") from error
    if not data:
        raise Fallen(f"nothing at {at} of a log that ends at {log.end_offset}")
    return data
