"""The folder `__cluster_metadata-0`: the log and the election state of the quorum.

    00000000000000000000.log ...     the log, in the files of any partition
    quorum-state                     epoch, leader and vote (JSON, Kafka's fields)
    ...-NNNNNNNNNN.checkpoint        snapshots (snapshot_files.py); the log begins at the end of the oldest

Owns: these files, and the form of metadata records in batches. A batch of records is one decision of the controller; a
control batch holds the LeaderChange that opens an epoch.
Invariants: I-MLOG-1 `persist` and `flush` return when the data is on disk. An election state that cannot be read stops the
              node: if it forgot its vote, it could vote twice in an epoch (A10).
            fsync is awaited; nothing else changes the log meanwhile (I-QRM-1).
            I-MLOG-3 a log that ends before its latest snapshot, or in an older epoch, is replaced by an empty one at the
              snapshot's end; if the process died before that, the next start does it.
            I-MLOG-4 records that could not be flushed are cut off before the node ends with the error: the kernel takes them
              for written, so a restart would find them and append more, and a power failure would then lose all of these.
              (Kafka's controller leaves them there.)
            I-MLOG-5 a batch that does not match its checksum is neither applied nor sent: the node ends with an error.
            I-MLOG-6 a voter never forgets a record that was on its disk: if a bit has flipped below the flushed offset, the
              node does not start, because a voter that forgets what it acknowledged can undo what the quorum decided.
              (Kafka's recovery cuts the log there as at a torn write; so does an observer's, here too.)
The trace gets the same events as of any partition's log: recover, append, truncate, log_start of `__cluster_metadata-0`.
Source: kafka.raft.KafkaMetadataLog, org.apache.kafka.raft.FileQuorumStateStore.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from minikafka.broker.metadata.records import MetadataRecord, decode, encode
from minikafka.broker.raft import wire
from minikafka.broker.raft.effects import AppendLeaderChange, ElectionState
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.snapshot_files import SnapshotFiles
from minikafka.broker.server.env import Env, Fs
from minikafka.broker.storage.shell.log_dir import LogDirError
from minikafka.log import AppendInfo, Log, LogConfig, producers
from minikafka.log import batch as batches
from minikafka.log.config import FOREVER
from minikafka.log.records import MalformedRecord
from minikafka.log.segment import scan
from minikafka.protocol.errors import KafkaError

FOLDER, QUORUM_STATE_FILE = "__cluster_metadata-0", "quorum-state"
READ_BYTES = 1 << 20
SETTINGS = LogConfig(retention_ms=-1, max_message_bytes=8 << 20, segment_ms=FOREVER)  # an append begins no file: _roll_if_due


class Decision(NamedTuple):
    """One batch of the log; a control batch has no records."""

    records: list[MetadataRecord]
    last_offset: int
    epoch: int
    size: int  # bytes
    timestamp: int  # ms


class MetadataLog:
    """The log on disk; it is also the core's view of the log (effects.ReplicatedLog)."""

    def __init__(self, env: Env, metadata_dir: str, is_voter: bool = True, segment_bytes: int = SETTINGS.segment_bytes,
                 segment_ms: int = FOREVER) -> None:
        """Open and recover the folder in `metadata_dir`, or begin it. A file of the log has a limit in bytes and ms. Raises
        LogDirError."""
        self._env, self._segment_bytes, self._segment_ms = env, segment_bytes, segment_ms
        self._folder = f"{metadata_dir}/{FOLDER}"
        self._election_state_path = f"{self._folder}/{QUORUM_STATE_FILE}"
        env.fs.mkdir(self._folder)
        self.snapshots = SnapshotFiles(env.fs, self._folder)
        if is_voter:
            self._require_whole(env.fs)
        start = self.snapshots.oldest.end_offset if self.snapshots.oldest else 0
        self.log = Log.open(env.fs, self._folder, SETTINGS, now_ms=env.wall_ms(), topic=wire.TOPIC,
                            topic_id=wire.TOPIC_ID, start_offset=start)  # fmt: skip
        self._durable = self.log.end_offset  # recovery has synced what it found
        self._settle()
        env.trace("recover", tp=FOLDER, leo=self.log.end_offset, truncated_bytes=0, start=self.log.start_offset,
                  epochs=[list(entry) for entry in self.log.epochs.entries])
        latest = self.snapshots.latest
        if latest is not None and (latest.epoch, latest.end_offset) > (self.last_epoch, self.end_offset):
            self.begin_at(latest)

    def _require_whole(self, fs: Fs) -> None:
        """Raise LogDirError if a batch below the flushed offset is damaged (I-MLOG-6). That offset is known because a start, a
        roll and a stop leave a snapshot of the log's producers (which has none in it) at the offset flushed by then."""
        names = fs.listdir(self._folder)
        flushed = max((int(name[:20]) for name in names if name.endswith(producers.SUFFIX)), default=0)
        damaged = first_damage(fs, self._folder)
        if damaged is not None and damaged < flushed:
            raise LogDirError(
                f"{self._folder}: the metadata log is damaged at offset {damaged}, and was whole on this disk up to "
                f"{flushed}: a voter must not forget that. When all other voters run and have caught up, remove the "
                f"*.log files here, nothing else, and start again: the others have what was in them.")

    def close(self) -> None:
        self.snapshots.close()
        self.log.close()

    # --- the election state ---------------------------------------------------------------------------------------------------

    def read_election_state(self) -> ElectionState:
        """Return the epoch, leader and vote on disk; raises ValueError if the file is damaged."""
        exists = self._env.fs.exists(self._election_state_path)
        return wire.decode_election_state(self._env.fs.read(self._election_state_path)) if exists else ElectionState()

    async def persist(self, election_state: ElectionState, voters: tuple[int, ...]) -> None:
        data = wire.encode_election_state(election_state, voters)
        await self._env.blocking(self._env.fs.write_atomic, self._election_state_path, data)

    # --- the core's view -------------------------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    @property
    def oldest_snapshot(self) -> SnapshotId | None:
        return self.snapshots.oldest

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self.snapshots.latest

    def snapshot_size(self, id: SnapshotId) -> int | None:
        return self.snapshots.size(id)

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def last_epoch(self) -> int:
        return max(self.log.epochs.latest, 0)

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self.log.epochs.end_offset_for(epoch, self.log.end_offset)

    # --- writing ---------------------------------------------------------------------------------------------------

    async def flush(self) -> int:
        """Make the log durable; return the offset up to which it is."""
        flush = self.log.start_flush()
        await self._env.blocking(flush.sync)
        if flush.error is not None:
            with contextlib.suppress(KafkaError):  # it need not reach the disk: a restart does not read beyond the cut
                self.log.truncate(self._durable)
        self.log.finish_flush(flush)
        self._durable = flush.end_offset
        self._roll_if_due()
        return flush.end_offset

    def _roll_if_due(self) -> None:
        """Begin a new file after metadata.log.segment.*, once all is flushed: a roll marks its offset as flushed (I-MLOG-6)."""
        now_ms, active = self._env.wall_ms(), self.log.active
        old = active.first_timestamp >= 0 and now_ms - active.first_timestamp > self._segment_ms
        if self._durable == self.log.end_offset and (old or active.size >= self._segment_bytes):
            self.log.roll(now_ms)

    def to_batch(self, records: list[MetadataRecord]) -> bytes:
        """Return the metadata records of one decision as one batch."""
        return batches.build([(None, encode(record)) for record in records], timestamp_ms=self._env.wall_ms())

    def append(self, batch: bytes, epoch: int) -> None:
        self._tell(self.log.append_leader(batch, epoch, self._env.wall_ms(), origin="raft"))

    def append_leader_change(self, change: AppendLeaderChange) -> None:
        record = [(wire.LEADER_CHANGE, wire.leader_change(change))]
        self.append(batches.build(record, timestamp_ms=self._env.wall_ms(), control=True), change.epoch)

    def append_received(self, records: bytes) -> None:
        info = self.log.append_follower(records)
        if info is not None:
            self._tell(info)

    def truncate(self, offset: int) -> None:
        end = self.log.end_offset
        self.log.truncate(offset)
        self._durable = min(self._durable, offset)
        self._settle()
        self._env.trace("truncate", tp=FOLDER, to=offset, records=end - offset, **{"from": end})

    def _tell(self, info: AppendInfo) -> None:
        self._env.trace("append", tp=FOLDER, base=info.base_offset, last=info.last_offset, epoch=info.leader_epoch,
                        count=info.count, bytes=info.bytes)

    # --- shortening ------------------------------------------------------------------------------------------------

    def begin_at(self, snapshot: SnapshotId) -> None:
        """Replace the log by an empty one that begins at the end of `snapshot`, and delete the other snapshots."""
        for id in self.snapshots.ids:
            if id != snapshot:
                self.snapshots.remove(id)
        end = self.log.end_offset
        self.log.truncate_fully(snapshot.end_offset)
        self._durable = snapshot.end_offset
        self._settle()
        self._env.trace("truncate", tp=FOLDER, to=snapshot.end_offset, records=0, **{"from": end})

    def delete_prefix(self, max_bytes: int, max_age_ms: int) -> None:
        """Delete the oldest snapshots while they and the log have more than `max_bytes`, or while they are too old; then delete
        the log below the oldest snapshot that is left. There must be a snapshot."""
        now_ms = self._env.wall_ms()
        while len(self.snapshots.ids) > 1 and self._may_go(self.snapshots.ids[0], max_bytes, max_age_ms, now_ms):
            self.snapshots.remove(self.snapshots.ids[0])
        start = self.snapshots.ids[0].end_offset
        if start > self.log.start_offset:
            self._env.trace("log_start", tp=FOLDER, start=start)
        self.log.advance_start(start)
        if self._durable == self.log.end_offset:  # a roll marks its offset as flushed (I-MLOG-6)
            self.log.roll(now_ms)  # so that the next snapshot can delete this file
        self.log.delete_old_segments(now_ms, start)

    def _may_go(self, oldest: SnapshotId, max_bytes: int, max_age_ms: int, now_ms: int) -> bool:
        too_large = 0 <= max_bytes < self.log.size + self.snapshots.total_size
        return too_large or 0 <= max_age_ms < now_ms - self.snapshots.last_time(oldest)

    def _settle(self) -> None:
        """Complete a cut of the log, also one during which the process died. The marks of flushed offsets beyond the log's end
        are removed for good: a power failure must not bring back one that is too high (I-MLOG-6). If the log is empty, its
        last epoch is that of the oldest snapshot; if it is not, its records may be those that the snapshot was to replace
        (I-MLOG-3)."""
        self._env.fs.sync_dir(self._folder)
        oldest = self.snapshots.oldest
        if oldest is not None and self.end_offset == oldest.end_offset and self.log.epochs.latest < oldest.epoch:
            self.log.epochs.assign(oldest.epoch, oldest.end_offset)

    # --- reading ---------------------------------------------------------------------------------------------------

    def read(self, offset: int) -> bytes:
        """Return whole batches from `offset` on, for a follower: up to the size of one response."""
        data = self.log.read(offset, wire.MAX_BYTES, self.log.end_offset)
        for _ in self._checked(data):
            pass
        return data

    def decisions(self, start: int, end: int) -> Iterator[Decision]:
        """Yield each batch in [start, end)."""
        while start < end:
            for header, batch in self._checked(self.log.read(start, READ_BYTES, end)):
                values = [] if header.is_control else batches.records(batch)
                records = [decode(bytes(each.value)) for each in values]
                yield Decision(records, header.last_offset, header.leader_epoch, header.size, header.max_timestamp)
                start = header.next_offset

    def _checked(self, data: bytes) -> Iterator[tuple[batches.BatchHeader, memoryview]]:
        """Yield each (header, batch) of `data`; raise LogDirError if one does not match its checksum (I-MLOG-5)."""
        try:
            yield from batches.checked(data)
        except MalformedRecord as error:
            raise LogDirError(f"{self._folder}: {error}") from error


def first_damage(fs: Fs, folder: str) -> int | None:
    """Return the offset of the first damaged batch that a sound one follows; None if there is none. Damage at the very end
    is a write that a crash tore."""
    damaged = None
    for name in sorted(name for name in fs.listdir(folder) if name.endswith(".log")):
        file = fs.open(f"{folder}/{name}", create=False)
        try:
            for _, header, batch in scan(file, 0, file.size()):
                sound = batches.crc_ok(batch, 0, header)
                if sound and damaged is not None:
                    return damaged
                if not sound and damaged is None:
                    damaged = header.base_offset
        finally:
            file.close()
    return None
