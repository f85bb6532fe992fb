"""Kafka's small text files: a version, a count, and that many lines; and partition.metadata, which has two lines.

    0                      0                            version: 0
    2                      2                            topic_id: 5nUe4wTTRAO7pYwXbYXNqA
    flights 0 4711         4 0          <- epoch, its first offset
    flights 1 4712         7 4711

Owns: reading and writing of `recovery-point-offset-checkpoint`, `replication-offset-checkpoint`,
`log-start-offset-checkpoint` (by partition), `leader-epoch-checkpoint` and `partition.metadata`.
Invariants: I-CKPT-1 a reader sees the old file or the whole new one. A file that makes no sense is read like a missing one:
              the caller then takes the facts from the log itself (rule 64).
Source: org.apache.kafka.server.common.CheckpointFile, OffsetCheckpointFile, PartitionMetadataFile.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from minikafka.log.disk import Fs
from minikafka.protocol.record_codec import Uuid

VERSION = "0"


def read(fs: Fs, path: str) -> dict[tuple[str, int], int]:
    """Return offsets by (topic, partition); empty when the file is missing or unreadable."""
    try:
        return {(topic, int(partition)): int(offset) for topic, partition, offset in read_lines(fs, path) or ()}
    except ValueError:
        return {}


def write(fs: Fs, path: str, offsets: dict[tuple[str, int], int]) -> None:
    """Replace the file durably (fsync)."""
    fs.write_atomic(path, _text((topic, partition, offset) for (topic, partition), offset in offsets.items()))


def read_lines(fs: Fs, path: str) -> list[list[str]] | None:
    """Return the fields of each line; None when there is no such file or its version or count is wrong."""
    if not fs.exists(path):
        return None
    lines = fs.read(path).decode(errors="replace").split("\n")
    if len(lines) < 3 or lines[0] != VERSION or lines[1] != str(len(lines) - 3) or lines[-1]:
        return None
    return [line.split() for line in lines[2:-1]]


def write_lines(fs: Fs, path: str, rows: Iterable[tuple], durable: bool) -> None:
    """Replace the file; only with `durable` does it also survive a power failure."""
    if durable:
        fs.write_atomic(path, _text(rows))
    else:
        replace(fs, path, _text(rows))


def replace(fs: Fs, path: str, data: bytes) -> None:
    """Write another file and rename it: every reader sees a whole file, also after kill -9, but it is not fsynced."""
    beside = path + ".tmp"
    file = fs.open(beside)
    try:
        file.truncate(0)
        file.pwrite(data, 0)
    finally:
        file.close()
    fs.rename(beside, path)


def _text(rows: Iterable[tuple]) -> bytes:
    lines = [" ".join(map(str, row)) for row in rows]
    return "\n".join([VERSION, str(len(lines)), *lines, ""]).encode()


def read_topic_id(fs: Fs, path: str) -> Any:
    """Return the topic id (uuid.UUID) in a partition.metadata file; None when missing or unreadable."""
    if not fs.exists(path):
        return None
    fields = dict(line.split(": ", 1) for line in fs.read(path).decode(errors="replace").split("\n") if ": " in line)
    try:
        return Uuid(bytes=base64.urlsafe_b64decode(fields["topic_id"] + "=="))
    except (KeyError, ValueError):
        return None


def write_topic_id(fs: Fs, path: str, topic_id: Any) -> None:
    """Write partition.metadata durably: it keeps a recreated topic from inheriting these bytes (rule 68)."""
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    fs.write_atomic(path, f"version: 0\ntopic_id: {text}".encode())
