"""The snapshots of the metadata log: the files `NNNNNNNNNNNNNNNNNNNN-EEEEEEEEEE.checkpoint` (end offset, epoch).

A file is a sequence of record batches, as in a log, with offsets from 0 on: a control batch with the header (the time of
the last record that the snapshot stands for), batches of metadata records that rebuild the image, and a control batch with
the footer, without which the snapshot is not complete. Kafka's tools can read the file.

Owns: these files, and which of them exist.
Invariants: I-SNAP-1 a file under its final name is complete and on disk; pieces that a leader sends are gathered in
              `...checkpoint.part`, which a restart deletes.
            I-SNAP-2 the newest snapshot is never deleted, with one exception: at the start, if it is damaged and there is
              an older one. The log still has the records after the older one.
            I-SNAP-5 a snapshot with a wrong checksum is neither loaded nor sent.
What Kafka does differently: it deletes in the background, under the name `.deleted`; a damaged snapshot ends the node,
also the node to which it was sent.
Source: KIP-630; org.apache.kafka.snapshot.Snapshots, RecordsSnapshotWriter, FileRawSnapshotWriter.
"""

from __future__ import annotations

import logging
import re

from minikafka.broker.metadata.records import MetadataRecord, decode, encode
from minikafka.broker.raft import wire
from minikafka.broker.raft.messages import SnapshotAnswer, SnapshotId
from minikafka.broker.storage.shell.log_dir import LogDirError
from minikafka.log import batch as batches
from minikafka.log.disk import File, Fs
from minikafka.log.records import MalformedRecord

log = logging.getLogger("minikafka.quorum")

SUFFIX, PART = ".checkpoint", ".part"
RECORDS_PER_BATCH = 500
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def file_name(id: SnapshotId) -> str:
    return f"{id.end_offset:020}-{id.epoch:010}{SUFFIX}"


def build(id: SnapshotId, records: list[MetadataRecord], last_timestamp_ms: int) -> bytes:
    """Return the bytes of a snapshot of `records`."""
    groups = [[(wire.SNAPSHOT_HEADER, wire.snapshot_header(last_timestamp_ms))]]
    values = [(None, encode(record)) for record in records]
    groups += [values[at : at + RECORDS_PER_BATCH] for at in range(0, len(values), RECORDS_PER_BATCH)]
    groups.append([(wire.SNAPSHOT_FOOTER, wire.snapshot_footer())])
    made, offset = b"", 0
    for group in groups:
        control = group[0][0] is not None
        made += batches.build(group, base_offset=offset, leader_epoch=id.epoch, timestamp_ms=last_timestamp_ms,
                              control=control)  # fmt: skip
        offset += len(group)
    return made


def parse(data: bytes) -> tuple[int, list[MetadataRecord]]:
    """Return (time of the last record in ms, the records); ValueError if the snapshot is damaged or not complete."""
    require_checksums(data)
    records, control = [], {}
    for header, batch in batches.batches(data):
        for record in batches.each_record(batch):
            if header.is_control:
                control[bytes(record.key)] = bytes(record.value)
            else:
                records.append(decode(bytes(record.value)))
    if wire.SNAPSHOT_HEADER not in control or wire.SNAPSHOT_FOOTER not in control:
        raise ValueError("the snapshot has no header or no footer")
    return wire.snapshot_header_time(control[wire.SNAPSHOT_HEADER]), records


def require_checksums(data: bytes) -> None:
    """Raise ValueError if a snapshot of these bytes is damaged, or cut within a batch."""
    found = list(batches.frames(data))
    if not found or found[-1][0] + found[-1][1].size != len(data):
        raise ValueError("the snapshot ends within a batch")
    if not all(batches.crc_ok(data, at, header) for at, header in found):
        raise ValueError("a checksum in the snapshot is wrong")


class SnapshotFiles:
    """The snapshots in one folder."""

    def __init__(self, fs: Fs, folder: str) -> None:
        self._fs, self._folder = fs, folder
        self._sizes: dict[SnapshotId, int] = {}  # the oldest first
        self._part: tuple[SnapshotId, File] | None = None
        for name in fs.listdir(folder):
            if name.endswith(SUFFIX + PART):
                fs.remove(f"{folder}/{name}")
            elif match := _NAME.fullmatch(name):
                self._sizes[SnapshotId(int(match[1]), int(match[2]))] = fs.size(f"{folder}/{name}")
        self._drop_damaged()

    def _drop_damaged(self) -> None:
        """Delete the newest snapshots while they are damaged and there is an older one (I-SNAP-2)."""
        while len(self._sizes) > 1:
            id = self.ids[-1]
            try:
                return require_checksums(self._fs.read(self._path(id)))
            except ValueError as error:
                log.error("%s: %s: deleted, for there is an older one", self._path(id), error)
                self._delete(id)

    @property
    def ids(self) -> list[SnapshotId]:
        """Return the ids of the snapshots, the oldest first."""
        return list(self._sizes)

    @property
    def oldest(self) -> SnapshotId | None:
        return next(iter(self._sizes), None)

    @property
    def latest(self) -> SnapshotId | None:
        return next(reversed(self._sizes), None)

    @property
    def total_size(self) -> int:
        return sum(self._sizes.values())

    def size(self, id: SnapshotId) -> int | None:
        """Return the size in bytes; None if there is no such snapshot."""
        return self._sizes.get(id)

    def write(self, id: SnapshotId, data: bytes) -> None:
        """Write a snapshot and make it durable; then call `add`. Blocks."""
        self._fs.write_atomic(self._path(id), data)

    def add(self, id: SnapshotId) -> None:
        """Take a snapshot whose file is written into the list."""
        self._sizes[id] = self._fs.size(self._path(id))
        self._sizes = dict(sorted(self._sizes.items()))

    def read(self, id: SnapshotId) -> tuple[int, list[MetadataRecord]]:
        """Return (time of the last record in ms, the records); LogDirError if the snapshot is damaged."""
        try:
            return parse(self._fs.read(self._path(id)))
        except ValueError as error:
            raise LogDirError(f"{self._path(id)}: {error}. When a majority of the other voters runs, remove the *.log and "
                              "*.checkpoint files here, nothing else, and start again: the others have what was in "
                              "them.") from error

    def last_time(self, id: SnapshotId) -> int:
        """Return the time of the last record, in ms; 0 if the header is damaged, so that the snapshot counts as old and goes."""
        try:
            header = next(batches.checked(self._pread(id, 0, 256)))[1]
        except (MalformedRecord, StopIteration):
            return 0
        return wire.snapshot_header_time(bytes(batches.records(header)[0].value))

    def read_piece(self, id: SnapshotId, position: int, max_bytes: int) -> bytes:
        """Return a piece for a follower. Before the first piece the whole snapshot is checked: LogDirError if it is damaged."""
        if position == 0:
            self.read(id)
        return self._pread(id, position, max_bytes)

    def _pread(self, id: SnapshotId, position: int, max_bytes: int) -> bytes:
        file = self._fs.open(self._path(id), create=False)
        try:
            return file.pread(max_bytes, position)
        finally:
            file.close()

    def append_piece(self, id: SnapshotId, position: int, data: bytes) -> None:
        """Write a piece of a snapshot that a leader sends; position 0 starts a new file."""
        if position == 0:
            self._drop_part()
            self._part = id, self._fs.open(self._path(id) + PART)
            self._part[1].truncate(0)
        assert self._part is not None and self._part[0] == id, "I-SNAP-1: a piece of another snapshot"
        self._part[1].pwrite(data, position)

    def is_corrupt(self, answer: SnapshotAnswer) -> bool:
        """Return whether this piece completes the snapshot, and the snapshot is damaged."""
        if answer.error or answer.position + len(answer.data) < answer.size:
            return False
        if answer.position and (self._part is None or self._part[0] != answer.snapshot):
            return False  # a piece of a snapshot that we no longer fetch
        data = self._part[1].pread(answer.position, 0) if self._part is not None and answer.position else b""
        try:
            parse(data + answer.data)
        except ValueError:
            return True
        return False

    def finish_pieces(self, id: SnapshotId) -> list[MetadataRecord]:
        """Give the complete snapshot its final name, and return its records. ValueError if it is damaged. Blocks."""
        assert self._part is not None and self._part[0] == id
        self._part[1].fsync()
        self._part[1].close()
        self._part = None
        path = self._path(id)
        _, records = parse(self._fs.read(path + PART))
        self._fs.rename(path + PART, path)
        self._fs.sync_dir(self._folder)
        self.add(id)
        return records

    def remove(self, id: SnapshotId) -> None:
        assert id != self.latest, "I-SNAP-2"
        self._delete(id)

    def _delete(self, id: SnapshotId) -> None:
        del self._sizes[id]
        self._fs.remove(self._path(id))
        self._fs.sync_dir(self._folder)

    def close(self) -> None:
        self._drop_part()

    def _drop_part(self) -> None:
        if self._part is not None:
            self._part[1].close()
            self._fs.remove(self._path(self._part[0]) + PART)
            self._part = None

    def _path(self, id: SnapshotId) -> str:
        return f"{self._folder}/{file_name(id)}"
