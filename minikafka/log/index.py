"""The two sparse indexes of a segment: offset -> position in the file, timestamp -> offset.

    .index      8 bytes an entry: offset relative to the segment's base u32, position u32
    .timeindex 12 bytes an entry: timestamp i64, offset relative to the base u32

There is about one entry per index.interval.bytes of log. An offset entry names the *last* offset of the batch at that
position; a time entry says that up to this offset no timestamp is greater. Both are derived from the log, so a damaged index
is rebuilt. Entries are kept in two arrays, in 16 bytes each, and written to the file in `write`, before the segment counts as
flushed. A crash before that loses nothing: recovery rebuilds the indexes of all that was not flushed.

Invariants: I-INDEX-1 offsets increase strictly (offset index); timestamps strictly, offsets weakly (time index).
            I-INDEX-2 a lookup returns the last entry not above its target, or the segment's start.
            I-INDEX-3 a file that is not a whole number of entries in order loads as None, never as a wrong index.
            I-INDEX-4 an entry from a file counts only if the log agrees with it. If a bit of it had flipped, a lookup could
              start too late and miss records without an error. Segments compare each entry that they use, and when they are
              loaded the last timestamp; if one does not agree, both indexes are rebuilt.
Apache Kafka maps the files into memory (mmap) and preallocates 10 MiB; ours are as long as their entries. It trusts
each entry in a file of the right size.
Source: org.apache.kafka.storage.internals.log.OffsetIndex, TimeIndex.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import le, lt

from minikafka.log.disk import File

MAX_RELATIVE = 0x7FFFFFFF


class SparseIndex:
    """Two parallel arrays of increasing numbers and the part of them that is in the file already."""

    entry: struct.Struct
    increases: Callable[[int, int], bool]  # whether one value may follow another; keys increase strictly

    def __init__(self, file: File, base_offset: int, from_key: int, from_value: int) -> None:
        self.file = file
        self.base_offset = base_offset
        self._from = from_key, from_value  # what the numbers in the file are relative to
        self.keys, self.values = array("q"), array("q")
        self.written = 0
        self.loaded = False  # from a file: its entries must be compared with the log (I-INDEX-4)

    def __len__(self) -> int:
        return len(self.keys)

    def load(self) -> bool:
        """Read the file. If it is damaged (I-INDEX-3), leave the index empty and return False."""
        size = self.file.size()
        if size % self.entry.size:
            return False
        data, (from_key, from_value) = self.file.pread(size, 0), self._from
        try:
            keys = array("q", (from_key + key for key, _ in self.entry.iter_unpack(data)))
            values = array("q", (from_value + value for _, value in self.entry.iter_unpack(data)))
        except OverflowError:  # no offset is so large
            return False
        if not (all(map(lt, keys, keys[1:])) and all(map(self.increases, values, values[1:]))):
            return False
        self.keys, self.values = keys, values
        self.written = len(keys)
        self.loaded = True
        return True

    def write(self) -> None:
        """Bring the file up to the entries (no fsync)."""
        count = len(self.keys)
        if count > self.written:
            pairs = zip(self.keys[self.written : count], self.values[self.written : count], strict=True)
            from_key, from_value = self._from
            data = b"".join(self.entry.pack(key - from_key, value - from_value) for key, value in pairs)
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


class OffsetIndex(SparseIndex):
    """Last offset of a batch -> its position in the file, in bytes."""

    entry = struct.Struct(">II")
    increases = staticmethod(lt)

    def __init__(self, file: File, base_offset: int) -> None:
        super().__init__(file, base_offset, from_key=base_offset, from_value=0)

    def append(self, offset: int, position: int) -> None:
        assert not self.keys or (self.keys[-1] < offset and self.values[-1] < position), f"I-INDEX-1 {offset} {position}"
        self.keys.append(offset)
        self.values.append(position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return a position from which to read for `offset`, and one at or before which its batch begins (-1: not known)."""
        slot = bisect_right(self.keys, offset)
        return (self.values[slot - 1] if slot else 0), (self.values[slot] if slot < len(self.values) else -1)

    def boundary_before(self, position: int) -> int:
        """Return the last batch boundary at or before `position` in the index; 0 if none."""
        slot = bisect_right(self.values, position)
        return self.values[slot - 1] if slot else 0

    def agrees(self, position: int, last_offset: int) -> bool:
        """Return False if the index has another last offset than `last_offset` for the batch at `position`."""
        slot = bisect_left(self.values, position)
        return slot == len(self.values) or self.values[slot] != position or self.keys[slot] == last_offset

    def truncate(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.cut(bisect_left(self.keys, offset))


class TimeIndex(SparseIndex):
    """Timestamp in ms -> the last offset of the first batch that has it as its maximum."""

    entry = struct.Struct(">qI")
    increases = staticmethod(le)

    def __init__(self, file: File, base_offset: int) -> None:
        super().__init__(file, base_offset, from_key=0, from_value=base_offset)

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
