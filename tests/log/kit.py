"""What the tests of the log share: short ways to make batches and logs, and to look at what is in them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

from minikafka.log import BatchHeader, Log, LogConfig, batches, build
from tests.log.memfs import MemFs

PATH = "/data/flights-3"
NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=1200, index_interval_bytes=100)


def open_log(fs: MemFs, config: LogConfig = CONFIG, **options: Any) -> Log:
    return Log.open(fs, PATH, config, now_ms=NOW, **options)


def some_batch(number: int, count: int = 2, size: int = 20, **options: Any) -> bytes:
    """A client's batch whose records name themselves."""
    rows = [(b"key", b"%d-%d-" % (number, i) + b"x" * size) for i in range(count)]
    return build(rows, timestamp_ms=NOW + number, **options)


def idempotent(pid: int, epoch: int, sequence: int, count: int = 2) -> bytes:
    return some_batch(sequence % 1000, count, producer_id=pid, producer_epoch=epoch, base_sequence=sequence)


def fill(log: Log, count: int, epoch: int = 0, first: int = 0) -> None:
    for number in range(first, first + count):
        log.append_leader(some_batch(number), epoch, NOW + number)


def stored(log: Log) -> list[bytes]:
    """Every batch of the log, bytes as stored."""
    out = []
    offset = log.start_offset
    while offset < log.end_offset:
        for header, data in batches(log.read(offset, 1000, log.end_offset)):
            out.append(bytes(data))
            offset = header.next_offset
    return out


def offsets(data: bytes) -> list[tuple[int, int]]:
    """First and last offset of each batch."""
    return [(header.base_offset, header.last_offset) for header, _ in batches(data)]


def producers(log: Log, whole: bool = True) -> dict[int, tuple]:
    """Producer state as plain values; without `whole` only what a snapshot keeps."""
    kept = slice(None) if whole else slice(-1, None)
    return {pid: (e.epoch, e.last_timestamp, e.txn_first_offset, tuple(e.batches[kept]))
            for pid, e in log.producers.entries.items()}


def header(data: bytes) -> BatchHeader:
    return BatchHeader.parse(data)


def peak(work: Callable[[], object]) -> int:
    """Bytes that were allocated at once, at most."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
