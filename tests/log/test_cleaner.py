"""Compaction of one log: what stays of a small one, what is compressed how, what is not touched, and how much memory it takes.

Logs of every kind that are cleaned, and die meanwhile, are played by seeds (tests/proof/small_worlds/test_lone_log.py).
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from minikafka.log import Log, LogConfig, build, compression, records
from minikafka.log.cleaner import Cleaning, cleanable
from minikafka.log.records import MalformedRecord
from tests.log.kit import CONFIG, NOW, open_log, peak, stored
from tests.log.memfs import MemFs

COMPACT = replace(CONFIG, cleanup_policy="compact", segment_bytes=600, delete_retention_ms=1000)


def clean(log: Log, now_ms: int = NOW) -> None:
    """One whole cleaning, as the broker does it."""
    log.flush()
    cleaning = Cleaning(log, cleanable(log, None, log.end_offset, now_ms), now_ms, 1 << 20)
    list(cleaning.read_keys())
    for group in cleaning.groups():
        list(group.rewrite())
        assert group.finish()
    cleaning.close()


def put(log: Log, *rows: tuple[bytes | None, bytes | None], codec: int = 0) -> None:
    log.append_leader(build(list(rows), timestamp_ms=NOW, codec=codec), 0, NOW, origin="coordinator")


def roll(log: Log) -> None:
    """Close what there is; only closed segments are cleaned."""
    log.roll(NOW)


def pairs(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(r.offset, r.key, r.value) for batch in stored(log) for r in records(batch)]


def test_the_last_value_of_each_key_stays_at_its_offset() -> None:
    """Fails if compaction loses or moves a last value, or keeps one that a later record replaces; if a tombstone, or what
    nothing but the open segment replaces, goes at once."""
    log = open_log(MemFs(), COMPACT)
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (b"c", b"4")):
        put(log, (key, value))
    roll(log)
    put(log, (b"c", b"5"))
    clean(log)
    assert pairs(log) == [(2, b"a", b"3"), (3, b"b", None), (4, b"c", b"4"), (5, b"c", b"5")]


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
