"""A batch as a log was given it, read from bytes without the broker's eyes.

    seen(raw)               one batch in bytes as a SeenBatch
    in_file(data)           every batch of a segment's file

Owns: SeenBatch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from minikafka.log.batch import BatchHeader, batches, crc_ok, records
from minikafka.log.records import Record
from minikafka.proof.small_worlds.checks import that

COMMIT, ABORT, EMPTY = "commit", "abort", "empty"  # how a marker ends a transaction; EMPTY: compaction left its header only
MOST_SEQUENCE = 2**31 - 1


class SeenBatch(NamedTuple):
    """One batch: what its header says, and its records."""

    base: int
    last: int
    timestamp: int
    leader_epoch: int = 0
    producer: int = -1
    epoch: int = -1
    sequence: int = -1
    transactional: bool = False
    ends: str = ""  # COMMIT, ABORT or EMPTY: it is a marker
    coordinator: int = -1  # epoch of the coordinator that sent the marker
    rows: tuple[Record, ...] = ()
    horizon: int | None = None  # when its tombstones, or it as a marker, may go
    codec: int = 0
    append_time: bool = False
    known: bool = True  # whether a retry of it is recognised: not if a snapshot left it out

    @property
    def last_sequence(self) -> int:
        return (self.sequence + self.last - self.base) % (MOST_SEQUENCE + 1)

    @property
    def end(self) -> int:
        return self.last + 1


@lru_cache(4096)  # most of a log is as it was when it was looked at last
def seen(raw: bytes) -> SeenBatch:
    """Return what one batch says. Raises RuleFallen for a wrong checksum."""
    header = BatchHeader.parse(raw)
    that("I-SEEN-1", crc_ok(raw, 0, header), f"a wrong checksum at {header.base_offset}")
    rows = tuple(records(raw))
    that("I-SEEN-1", header.count == len(rows), f"{header.count} records are {rows}")
    ends, coordinator = "", -1
    if header.is_control:
        ends = EMPTY
        if rows:
            version, kind = struct.unpack(">hh", rows[0].key or b"")
            _, coordinator = struct.unpack(">hi", rows[0].value or b"")
            ends = {(0, 0): ABORT, (0, 1): COMMIT}[version, kind]
    return SeenBatch(header.base_offset, header.last_offset, header.max_timestamp, header.leader_epoch, header.producer_id,
                     header.producer_epoch, header.base_sequence, header.is_transactional, ends, coordinator, rows,
                     header.delete_horizon, header.codec, header.is_log_append_time)


def in_file(data: bytes) -> Iterator[tuple[SeenBatch, int]]:
    """Yield each batch of a file with its size. Raises RuleFallen for bytes that are no batch."""
    used = 0
    for _, raw in batches(data):
        used += len(raw)
        yield seen(bytes(raw)), len(raw)
    that("I-SEEN-1", used == len(data), f"{len(data) - used} bytes at the end are no batch")
