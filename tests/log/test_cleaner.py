"""Compaction of one log: what stays, what goes, and that neither a crash nor a changed log can tell."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minikafka.log import Log, LogConfig, Record, build, compression, records
from minikafka.log.batch import BatchHeader, crc_ok
from minikafka.log.cleaner import Cleaning, cleanable
from minikafka.log.markers import marker
from minikafka.log.records import MalformedRecord
from tests.log.kit import CONFIG, NOW, open_log, peak, producers, stored
from tests.log.memfs import Killed, MemFs

COMPACT = replace(CONFIG, cleanup_policy="compact", segment_bytes=600, delete_retention_ms=1000)
TOMBSTONE = None


def clean(log: Log, now_ms: int = NOW, until: int | None = None, stable: int | None = None, room: int = 1 << 20) -> int:
    """One whole cleaning, as the broker does it; returns the clean point."""
    log.flush()
    cleaning = Cleaning(log, cleanable(log, until, log.end_offset if stable is None else stable, now_ms), now_ms, room)
    list(cleaning.read_keys())
    for group in cleaning.groups():
        list(group.rewrite())
        assert group.finish()
    cleaning.close()
    return cleaning.clean_until


def put(log: Log, *rows: tuple[bytes | None, bytes | None], epoch: int = 0, **options: int | bool) -> None:
    batch = build(list(rows), timestamp_ms=NOW, **options)  # type: ignore[arg-type]
    log.append_leader(batch, epoch, NOW, origin="coordinator")


def roll(log: Log) -> None:
    """Close what there is; only closed segments are cleaned."""
    log.roll(NOW)


def content(log: Log) -> list[Record]:
    """Every record of data, in order."""
    return [r for batch in stored(log) if not BatchHeader.parse(batch).is_control for r in records(batch)]


def pairs(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for r in content(log)]


# --- histories that Hypothesis makes up -----------------------------------------------------------------------------


class Step(NamedTuple):
    keys: list[int]
    tombstones: list[bool]
    codec: int
    producer: int  # -1: none; 0 and 1 idempotent, 2 and 3 in transactions
    ends: str  # how the producer's transaction ends after this batch, if at all
    epoch: int  # how many leader epochs pass before
    rolls: bool


STEPS = st.lists(
    st.builds(
        Step, st.lists(st.integers(0, 5), min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4),
        st.sampled_from([0, 0, 1, 4]), st.integers(-1, 3), st.sampled_from(["", "", "commit", "abort"]),
        st.integers(0, 1), st.booleans(),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


class History:
    """A log, and what its readers are owed."""

    def __init__(self, fs: MemFs, steps: list[Step]) -> None:
        self.log = open_log(fs, COMPACT)
        self.aborted: dict[int, None] = {}  # offsets of records of aborted transactions
        self.epoch = 0
        self._sequence: dict[int, int] = {}
        self._open: dict[int, list[int]] = {}
        for number, step in enumerate(steps):
            self.play(number, step)
        for producer in list(self._open):
            self.end(producer, "abort")
        roll(self.log)

    def play(self, number: int, step: Step) -> None:
        self.epoch += step.epoch
        rows = [(b"k%d" % key, TOMBSTONE if step.tombstones[i] else b"v%d-%d" % (number, i) + b"x" * 30)
                for i, key in enumerate(step.keys)]
        first = self.log.end_offset
        options: dict[str, int | bool] = {"codec": step.codec}
        if step.producer >= 0:
            sequence = self._sequence.get(step.producer, 0)
            self._sequence[step.producer] = sequence + len(rows)
            options |= {"producer_id": step.producer, "producer_epoch": 0, "base_sequence": sequence,
                        "transactional": step.producer > 1}
        put(self.log, *rows, epoch=self.epoch, **options)
        if step.producer > 1:
            self._open.setdefault(step.producer, []).extend(range(first, self.log.end_offset))
            if step.ends:
                self.end(step.producer, step.ends)
        if step.rolls:
            roll(self.log)

    def end(self, producer: int, how: str) -> None:
        self.log.append_leader(marker(producer, 0, 0, how == "commit", NOW), self.epoch, NOW, origin="coordinator")
        written = self._open.pop(producer)
        if how == "abort":
            self.aborted |= dict.fromkeys(written)

    def owed(self) -> dict[bytes | None, tuple[int, bytes | None]]:
        """The last record of each key that counts."""
        return {r.key: (r.offset, r.value) for r in content(self.log) if r.offset not in self.aborted}


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(STEPS, st.integers(1, 8), st.data())
def test_last_value_of_each_key_survives(steps: list[Step], room: int, data: st.DataObject) -> None:
    """Fails if compaction loses a last value, moves or changes a record, keeps a superseded or aborted one, forgets a
    producer or epoch, leaves a bad checksum or a hole, or if a restart then finds another log (I-CLEAN-1, 4)."""
    fs = MemFs()
    history = History(fs, steps)
    log = history.log
    before, owed = {r.offset: r for r in content(log)}, history.owed()
    states, epochs, end = producers(log, whole=False), list(log.epochs.entries), log.end_offset
    point = None
    while point != log.active.base_offset:  # a small map takes several rounds
        point = clean(log, until=point, room=room)
    left = content(log)
    assert all(before[r.offset] == r for r in left)
    assert [(r.offset, r.key, r.value) for r in left] == sorted((o, k, v) for k, (o, v) in owed.items())
    assert all(crc_ok(batch, 0, BatchHeader.parse(batch)) for batch in stored(log))
    assert all(a.next_offset == b.base_offset for a, b in zip(log.segments, log.segments[1:], strict=False))
    assert (producers(log, whole=False), log.epochs.entries, log.end_offset) == (states, epochs, end)
    clean_stop = data.draw(st.booleans())
    if clean_stop:
        log.close()
    elif data.draw(st.booleans()):
        for name in [n for n in fs.names if n.endswith(".snapshot")]:
            fs.remove(name)  # then all is learnt from what compaction left
    again = open_log(fs.after_kill(), COMPACT, clean=clean_stop, recovery_point=log.recovery_point)
    assert [(r.offset, r.key, r.value) for r in content(again)] == [(r.offset, r.key, r.value) for r in left]
    assert (producers(again, whole=False), again.epochs.entries, again.end_offset) == (states, epochs, end)
    assert again.producers.first_undecided_offset == -1


# --- crashes --------------------------------------------------------------------------------------------------------


def busy(fs: MemFs) -> History:
    """A log with transactions and producers, ready to be cleaned."""
    steps = [Step([n % 4, n % 3], [n % 7 == 3, False, False, False], n % 2, n % 5 - 1, ["", "commit", "abort"][n % 3],
                  n % 2, n % 4 == 3) for n in range(24)]  # fmt: skip
    history = History(fs, steps)
    history.log.flush(seal=True)
    return history


@pytest.mark.parametrize("torn", [0.0, 0.5])
def test_crash_at_every_step_of_a_cleaning(torn: float) -> None:
    """Fails if a crash at any change of the disk loses or doubles a record, leaves a hole or a stray file, or costs an
    aborted transaction's row or a producer's state (I-SWAP-1)."""
    first = busy(MemFs())
    before, owed, step, after = pairs(first.log), first.owed(), 0, None
    states, epochs, end = producers(first.log, whole=False), list(first.log.epochs.entries), first.log.end_offset
    while after is None:
        fs, step = MemFs(), step + 1
        log = busy(fs).log
        point = log.recovery_point
        fs.kill_at = (fs.steps + step, torn)
        try:
            clean(log)
            after = pairs(log)
        except Killed:
            pass
        twice = fs.after_kill()
        for _ in range(2):
            again = open_log(twice, COMPACT, recovery_point=point)
            assert set(pairs(again)) <= set(before)
            assert {r.key: (r.offset, r.value) for r in visible(again)} == owed
            assert (producers(again, whole=False), again.epochs.entries, again.end_offset) == (states, epochs, end)
            assert not [n for n in twice.names if n.endswith((".cleaned", ".swap", ".deleted"))]
            clean(again)
            twice = twice.after_kill()
    assert len(after) < len(before) and step > 50


def test_a_start_is_killed_after_a_cleaning_was() -> None:
    """Fails if a start that finishes a swap, and is killed at any change of the disk, costs a record: the next one must find
    what is left to be done."""
    owed, step, starts = busy(MemFs()).owed(), 0, 0
    while True:
        fs, step = MemFs(), step + 1
        log = busy(fs).log
        fs.kill_at = (fs.steps + step, 0.0)
        try:
            clean(log)
            break
        except Killed:
            pass
        if not any(name.endswith(".log.swap") for name in fs.names):
            continue
        for kill in range(1, 40):
            dying = fs.after_kill()
            dying.kill_at = (kill, 0.0)
            try:
                open_log(dying, COMPACT, recovery_point=log.recovery_point)
                break
            except Killed:
                starts += 1
            again = open_log(dying.after_kill(), COMPACT, recovery_point=log.recovery_point)
            assert {r.key: (r.offset, r.value) for r in visible(again)} == owed, (step, kill)
    assert starts > 20


@pytest.mark.parametrize("seed", range(40))
def test_power_cut_in_a_cleaning(seed: int) -> None:
    """Fails if something counts before it is fsynced, or an original goes before its copy is durable."""
    rng = random.Random(seed)
    fs = MemFs()
    history = busy(fs)
    log, owed = history.log, history.owed()
    fs.kill_at = (fs.steps + rng.randint(1, 80), rng.random())
    try:
        clean(log)
    except Killed:
        pass
    again = open_log(fs.power_cut(rng), COMPACT, recovery_point=log.recovery_point)
    assert again.end_offset == log.end_offset
    assert {r.key: (r.offset, r.value) for r in visible(again)} == owed


def visible(log: Log) -> list[Record]:
    """What a consumer with read_committed gets."""
    rows = log.aborted_transactions(0, log.end_offset)
    hidden = [(row.producer_id, row.first_offset, row.last_offset) for row in rows]
    return [
        r for h, batch in ((BatchHeader.parse(b), b) for b in stored(log)) if not h.is_control
        if not any(h.is_transactional and p == h.producer_id and a <= h.base_offset <= z for p, a, z in hidden)
        for r in records(batch)
    ]  # fmt: skip


def test_levels_of_compression_are_those_of_the_topic() -> None:
    """Fails if compression.*.level is not used when the broker packs a batch in the topic's own codec."""
    rng = random.Random(1)
    words = [b"alpha", b"beta", b"gamma", b"delta"]
    value = b" ".join(rng.choice(words) + b"%d" % rng.randint(0, 99) for _ in range(3000))
    levels = [("gzip", "compression_gzip_level", 1, 9), ("lz4", "compression_lz4_level", 9, 12),
              ("zstd", "compression_zstd_level", 1, 19)]  # fmt: skip
    for codec, setting, fast, thorough in levels:
        sizes = []
        for level in (fast, thorough):
            log = open_log(MemFs(), LogConfig(compression_type=codec, **{setting: level}))
            log.append_leader(build([(b"k", value)], timestamp_ms=NOW), 0, NOW)
            [batch] = stored(log)
            assert records(batch)[0].value == value
            sizes.append(len(batch))
        assert sizes[0] > sizes[1], codec


def test_a_segment_is_closed_in_time_to_be_compacted() -> None:
    """Fails if max.compaction.lag.ms does not close the active segment, which alone is never cleaned, or if
    segment.jitter.ms is not taken off segment.ms, or is the same for all."""
    lagging = LogConfig(cleanup_policy="compact", max_compaction_lag_ms=5000)
    assert (lagging.roll_ms, replace(lagging, cleanup_policy="delete").roll_ms) == (5000, lagging.segment_ms)
    assert replace(lagging, segment_ms=3000).roll_ms == 3000
    log = open_log(MemFs(), lagging)
    for at in (0, 5000, 5001, 10_001, 10_002):
        log.append_leader(build([(b"k", b"v")], timestamp_ms=NOW + at), 0, NOW + at)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    rolled = []
    for number in range(5):
        config = LogConfig(segment_ms=100_000, segment_jitter_ms=50_000)
        other = Log.open(MemFs(), f"/data/t-{number}", config, now_ms=NOW)
        at = 0
        while len(other.segments) == 1:
            other.append_leader(build([(b"k", b"v")], timestamp_ms=NOW + at), 0, NOW + at)
            at += 1000
        rolled.append(at)
    assert len(set(rolled)) > 1 and 50_000 <= min(rolled) and max(rolled) <= 102_000


def test_a_damaged_batch_is_left_as_it_is() -> None:
    """Fails if a batch that does not match its checksum is cleaned: its key could supersede a sound record's, and what is
    left of it would get a checksum that no reader doubts (I-CLEAN-6)."""
    for place in (-6, -2):  # in the key, in the value, of a record that stays while its batch is made anew
        fs = MemFs()
        log = open_log(fs, COMPACT)
        put(log, (b"a", b"1"), (b"b", b"2"))
        put(log, (b"a", b"3"))
        roll(log)
        whole = stored(log)
        end = len(whole[0])
        path = log.segments[0].path(".log")
        fs.names[path].content[end + place] ^= 1
        before = stored(log)
        assert before != whole
        with pytest.raises(MalformedRecord):
            clean(log)
        assert stored(log) == before


def test_a_key_takes_the_same_memory_however_long_it_is() -> None:
    """40 batches of 130 bytes unpack to 40 keys of 1 MiB. Fails if a cleaning keeps keys as they are."""
    log = open_log(MemFs(), replace(COMPACT, segment_bytes=1 << 20))
    for number in range(40):
        put(log, (b"%2d" % number + bytes(1 << 20), b"value"), codec=compression.ZSTD)
    roll(log)
    assert log.size < 1 << 13
    assert peak(lambda: clean(log)) < 8 << 20
    assert len(pairs(log)) == 40


@pytest.mark.parametrize("superseded", [False, True])
def test_records_of_a_batch_are_not_in_memory_together(superseded: bool) -> None:
    """Fails if a small batch becomes as many objects as it has records: here 10,000, of 250 bytes each."""
    log = open_log(MemFs(), replace(COMPACT, segment_bytes=1 << 22))
    put(log, *[(b"even" if superseded and number % 2 else b"%d" % (number % 500), b"") for number in range(10_000)],
        codec=compression.ZSTD)
    put(log, *[(b"%d" % (number if superseded else -1), b"") for number in range(1000)])
    roll(log)
    assert peak(lambda: clean(log)) < 1 << 20
