"""The folder of a broker's partitions: whose it is, whether it was closed clean, and its checkpoints.

    meta.properties                    whose folder this is: cluster id, node id, its own directory id
    .lock                              held as long as the process lives
    .kafka_cleanshutdown               written last by a clean shutdown, deleted first by the next start
    recovery-point-offset-checkpoint   up to where each log is known to be on disk
    replication-offset-checkpoint      high watermarks
    log-start-offset-checkpoint        where each log begins, if not at its first segment
    flights-0/  flights-1/ ...         the partitions; `NAME.HEX-delete` is one being deleted

Owns: these files. Invariants
  I-DIR-1  two brokers never work in one folder, and none in a folder of another node or cluster.
  I-DIR-2  the clean-shutdown marker is gone for good before the first log is opened (rule 64, KAFKA-10471).
What Kafka does differently: several folders per broker (JBOD); here log.dirs names one, and its failure is the broker's.
Source: kafka.log.LogManager, MetaProperties, CleanShutdownFileHandler, KIP-858, KIP-966.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from uuid import UUID

from minikafka.broker.server.env import Fs
from minikafka.log import checkpoint

META, LOCK, CLEAN = "meta.properties", ".lock", ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS)
DELETED = "-delete"
LONGEST_NAME = 255  # bytes of a file's name; a topic's name has at most 249, of ASCII (Kafka cuts it for this name too)
METADATA_LOG = "__cluster_metadata-0"

Offsets = dict[tuple[str, int], int]


class LogDirError(Exception):
    """The folder cannot be used; the text says why and what to do."""


class LogDir:
    """The folder at `path` of node `node_id` in cluster `cluster_id`."""

    def __init__(self, fs: Fs, path: str, cluster_id: str, node_id: int) -> None:
        self.fs, self.path, self.cluster_id, self.node_id = fs, path, cluster_id, node_id
        self.clean_epoch: int | None = None         # broker epoch of the last clean shutdown, if the last one was clean
        self.noted: dict[str, Offsets] = {name: {} for name in CHECKPOINTS}     # what each checkpoint says

    @property
    def was_clean(self) -> bool:
        return self.clean_epoch is not None

    def claim(self, new_id: UUID) -> None:
        """Lock the folder and see whose it is; a new folder gets `new_id`. Raises LogDirError."""
        self.fs.mkdir(self.path)
        try:
            self.fs.lock(self._file(LOCK))
        except OSError as error:
            raise LogDirError(f"{self.path} is in use by another process: {error}") from error
        self._check_owner(new_id)

    def open(self, new_id: UUID) -> None:
        """Claim the folder and read its files. Raises LogDirError."""
        self.claim(new_id)
        self._take_clean_marker()
        for name in self.fs.listdir(self.path):
            if name.endswith(DELETED):
                self.fs.rmtree(self._file(name))
        self.noted = {name: checkpoint.read(self.fs, self._file(name)) for name in CHECKPOINTS}

    def _check_owner(self, new_id: UUID) -> None:
        path = self._file(META)
        mine = {"cluster.id": self.cluster_id, "node.id": str(self.node_id)}
        if not self.fs.exists(path):
            directory = base64.urlsafe_b64encode(new_id.bytes).decode().rstrip("=")
            lines = [f"{key}={value}" for key, value in ({"version": "1"} | mine | {"directory.id": directory}).items()]
            self.fs.write_atomic(path, "\n".join([*lines, ""]).encode())
            return
        lines = self.fs.read(path).decode(errors="replace").splitlines()
        stored = dict(line.split("=", 1) for line in lines if "=" in line)
        for key, value in mine.items():
            if stored.get(key) != value:
                raise LogDirError(f"{path} says {key}={stored.get(key)}, but this broker is configured with {value}. "
                                  "This folder belongs to another broker or cluster.")

    def _take_clean_marker(self) -> None:
        path = self._file(CLEAN)
        if self.fs.exists(path):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self.clean_epoch = int(json.loads(self.fs.read(path))["brokerEpoch"])
            self.fs.remove(path)
        self.fs.sync_dir(self.path)  # also for a start that was killed right after it had deleted the marker

    def partitions(self) -> Iterator[tuple[str, int]]:
        """Return the partitions that have a folder here, by name."""
        for name in self.fs.listdir(self.path):
            topic, _, index = name.rpartition("-")
            if topic and index.isdecimal() and name != METADATA_LOG:
                yield topic, int(index)

    def partition_path(self, topic: str, index: int) -> str:
        """Return the folder of a partition. Topic names were validated when the topic was created (no separators in them)."""
        assert "/" not in topic and topic not in ("", ".", ".."), f"{topic!r} is no topic name"
        return self._file(f"{topic}-{index}")

    def set_aside(self, topic: str, index: int, unique: UUID) -> str:
        """Rename a partition's folder out of the way; returns the path that is now to be deleted."""
        mark = f"-{index}.{unique.hex}{DELETED}"
        aside = self._file(topic[:LONGEST_NAME - len(mark)] + mark)
        self.fs.rename(self.partition_path(topic, index), aside)
        return aside

    def write(self, name: str, offsets: Offsets) -> None:
        """Replace one of the checkpoints."""
        self.noted[name] = offsets
        checkpoint.write(self.fs, self._file(name), offsets)

    def write_clean_marker(self, broker_epoch: int) -> None:
        """Write the mark of a clean shutdown, which does this last of all."""
        self.fs.write_atomic(self._file(CLEAN), json.dumps({"version": 0, "brokerEpoch": broker_epoch}).encode())

    def _file(self, name: str) -> str:
        return f"{self.path}/{name}"
