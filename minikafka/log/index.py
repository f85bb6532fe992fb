"""The two sparse indexes of a segment: offset -> position in the file, timestamp -> offset.

    .index      8 bytes an entry: offset relative to the segment's base u32, position u32
    .timeindex 12 bytes an entry: timestamp i64, offset relative to the base u32

There is about one entry per index.interval.bytes of log. An offset entry names the *last* offset of the batch at that
position; a time entry says that up to this offset no timestamp is greater. Both are derived from the log, so a damaged index
is rebuilt. Entries are kept in two arrays and written to the file in `write`, before the segment counts as flushed. A crash
before that loses nothing: recovery rebuilds the indexes of all that was not flushed.

Invariants: I-INDEX-1 offsets increase strictly (offset index); timestamps strictly, offsets weakly (time index).
            I-INDEX-2 a lookup returns the last entry not above its target, or the segment's start.
            I-INDEX-3 a file that is not a whole number of entries in order loads as None, never as a wrong index.
            I-INDEX-4 an entry from a file counts only if the log agrees with it. If a bit of it had flipped, a lookup could
              start too late and miss records without an error. Segments compare each entry that they use, and when they are
              loaded the last timestamp; if one does not agree, both indexes are rebuilt.
Apache Kafka maps the files into memory (mmap) and preallocates 10 MiB; ours are as long as their entries. It believes
each entry in a file of the right size.
Source: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from itertools import pairwise

from minikafka.log.disk import File

MAX_RELATIVE = 0x7FFFFFFF


class SparseIndex:
    """Two parallel lists of increasing numbers and the part of them that is in the file already."""

    entry: struct.Struct

    def __init__(self, file: File, base_offset: int) -> None:
        self.file = file
        self.base_offset = base_offset
        self.keys: list[int] = []
        self.values: list[int] = []
        self.written = 0
        self.loaded = False  # from a file: what it says must be compared with the log (I-INDEX-4)

    def __len__(self) -> int:
        return len(self.keys)

    def load(self) -> bool:
        """Read the file. If it is damaged (I-INDEX-3), leave the index empty and return False."""
        size = self.file.size()
        if size % self.entry.size:
            return False
        pairs = [self._decode(*pair) for pair in self.entry.iter_unpack(self.file.pread(size, 0))]
        if not self._in_order(pairs):
            return False
        self.keys = [key for key, _ in pairs]
        self.values = [value for _, value in pairs]
        self.written = len(pairs)
        self.loaded = True
        return True

    def write(self) -> None:
        """Bring the file up to the entries (no fsync)."""
        count = len(self.keys)
        if count > self.written:
            pairs = zip(self.keys[self.written : count], self.values[self.written : count], strict=True)
            data = b"".join(self.entry.pack(*self._encode(key, value)) for key, value in pairs)
            self.file.pwrite(data, self.written * self.entry.size)
            self.written = count

    def cut(self, entries: int) -> None:
        """Keep only the first `entries`."""
        del self.keys[entries:], self.values[entries:]
        if self.written > entries or self.file.size() != self.written * self.entry.size:
            self.written = min(self.written, entries)
            self.file.truncate(self.written * self.entry.size)

    def close(self) -> None:
        self.file.close()

    def _decode(self, first: int, second: int) -> tuple[int, int]:
        raise NotImplementedError

    def _encode(self, key: int, value: int) -> tuple[int, int]:
        raise NotImplementedError

    def _in_order(self, pairs: list[tuple[int, int]]) -> bool:
        raise NotImplementedError


class OffsetIndex(SparseIndex):
    """Last offset of a batch -> its position in the file, in bytes."""

    entry = struct.Struct(">II")

    def append(self, offset: int, position: int) -> None:
        self.keys.append(offset)
        self.values.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return a position from which to read for `offset`, and one at or before which its batch begins (-1: not known)."""
        slot = bisect_right(self.keys, offset)
        return (self.values[slot - 1] if slot else 0), (self.values[slot] if slot < len(self.values) else -1)

    def boundary_before(self, position: int) -> int:
        """Return the last batch boundary at or before `position` that the index knows; 0 if none."""
        slot = bisect_right(self.values, position)
        return self.values[slot - 1] if slot else 0

    def agrees(self, position: int, last_offset: int) -> bool:
        """Return whether the index says that the batch at `position` ends at `last_offset`, or says nothing of it."""
        slot = bisect_left(self.values, position)
        return self.values[slot : slot + 1] != [position] or self.keys[slot] == last_offset

    def truncate(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.cut(bisect_left(self.keys, offset))

    def _decode(self, first: int, second: int) -> tuple[int, int]:
        return self.base_offset + first, second

    def _encode(self, key: int, value: int) -> tuple[int, int]:
        return key - self.base_offset, value

    def _in_order(self, pairs: list[tuple[int, int]]) -> bool:
        return all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))


class TimeIndex(SparseIndex):
    """Timestamp in ms -> the last offset of the first batch that has it as its maximum."""

    entry = struct.Struct(">qI")

    @property
    def last(self) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry; (-1, base offset) when there is none."""
        return (self.keys[-1], self.values[-1]) if self.keys else (-1, self.base_offset)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note the highest timestamp so far, unless it is noted already."""
        if timestamp > self.last[0]:
            self.keys.append(timestamp)
            self.values.append(offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return the last entry not above `timestamp`, (-1, base offset) if there is none: up to its offset every timestamp is
        below or equal."""
        slot = bisect_right(self.keys, timestamp)
        return (self.keys[slot - 1], self.values[slot - 1]) if slot else (-1, self.base_offset)

    def truncate(self, offset: int) -> None:
        """Drop the entries that point at or above `offset`."""
        self.cut(bisect_left(self.values, offset))

    def _decode(self, first: int, second: int) -> tuple[int, int]:
        return first, self.base_offset + second

    def _encode(self, key: int, value: int) -> tuple[int, int]:
        return key, value - self.base_offset

    def _in_order(self, pairs: list[tuple[int, int]]) -> bool:
        return all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(pairs))
