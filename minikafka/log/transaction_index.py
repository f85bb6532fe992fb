"""The transaction index of a segment: which transactions were aborted by a marker in this segment (KIP-98).

    <base offset>.txnindex   (version i16 = 0, producer id i64, first offset i64, last offset i64,
                              last stable offset i64) ...     one row per aborted transaction, in log order

A consumer with read_committed gets stored bytes, aborted records included. It also gets these rows, and skips the records that
they cover (rule 54). The file is made with its first row: most segments have none.

Owns: the rows of one segment, in memory and in the file.
Invariants: I-TXNIDX-1 rows are ordered by last offset: that of the marker, which lies in this segment.
            I-TXNIDX-2 the index is derived: a replay of the segment's batches gives the same rows.
            Up to a row's last stable offset read_committed may read when the row is written: no later row concerns
              records below it.
Source: org.apache.kafka.storage.internals.log.TransactionIndex, AbortedTxn, CompletedTxn.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from minikafka.log.disk import File, Fs

SUFFIX = ".txnindex"
VERSION = 0
_ROW = struct.Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """One row. Its first and last offset belong to the transaction; the last stable offset does not."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CompletedTransaction(NamedTuple):
    """The part of the log that a marker ended: the producer's records in [first_offset, last_offset], the marker included."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int

    @property
    def row(self) -> AbortedTransaction:
        return AbortedTransaction(self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset)


class TransactionIndex:
    """The index of the segment that begins at `base_offset`. `rows` as in the file; `file` is None until there is a row."""

    def __init__(self, fs: Fs, path: str, base_offset: int) -> None:
        self._fs, self.path, self.base_offset = fs, path, base_offset
        self.rows: list[AbortedTransaction] = []
        self.file: File | None = fs.open(path) if fs.exists(path) else None

    def load(self) -> bool:
        """Read the file; False if we cannot have written it so (then a replay must fill it again). A loss of power may leave
        zeros where a row was to be."""
        self.rows = []
        if self.file is None:
            return True
        before = self.base_offset - 1
        data = self.file.pread(self.file.size(), 0)
        for version, *fields in _ROW.iter_unpack(data[: len(data) - len(data) % _ROW.size]):
            row = AbortedTransaction(*fields)
            if version != VERSION or row.last_offset <= before:
                break
            self.rows.append(row)
            before = row.last_offset
        return len(data) == len(self.rows) * _ROW.size

    def append(self, row: AbortedTransaction) -> bool:
        """Add a row; True if that made the file."""
        made = self.file is None
        if self.file is None:
            self.file = self._fs.open(self.path)
        self.file.pwrite(_ROW.pack(VERSION, *row), len(self.rows) * _ROW.size)
        self.rows.append(row)
        return made

    def truncate(self, offset: int) -> None:
        """Drop the rows of markers at or beyond `offset`."""
        kept = [row for row in self.rows if row.last_offset < offset]
        if self.file is not None and self.file.size() != len(kept) * _ROW.size:
            self.file.truncate(len(kept) * _ROW.size)
        self.rows = kept

    def agree(self, rows: list[AbortedTransaction]) -> None:
        """Replace the rows by these, which a replay has found. Rows that the file has already are left as they are; the others
        are fsynced at once, because after the next crash the index of a flushed segment is trusted."""
        if rows == self.rows:
            return
        pairs = enumerate(zip(self.rows, rows, strict=False))
        same = next((at for at, (known, found) in pairs if known != found), min(len(rows), len(self.rows)))
        self.truncate(self.rows[same].last_offset if same < len(self.rows) else rows[same].last_offset)
        for row in rows[same:]:
            self.append(row)
        assert self.file is not None
        self.file.fsync()
        self._fs.sync_dir(self.path.rpartition("/")[0])

    def find(self, start: int, end: int) -> Iterator[AbortedTransaction]:
        """Return the rows that concern records in [start, end)."""
        return (row for row in self.rows if row.last_offset >= start and row.first_offset < end)

    def settles(self, end: int) -> bool:
        """Return whether no later segment can have a row that concerns records below `end`."""
        return any(row.last_stable_offset >= end for row in self.rows)

    def moved(self, path: str) -> None:
        """Take over the new names of the segment's files."""
        self.path = path

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def remove(self) -> None:
        if self.file is not None:
            self._fs.remove(self.path)
