"""The folder `__cluster_metadata-0`: the quorum's log and its ballot, as the Raft core and its shell use them.

    00000000000000000000.log ...     the log, in the files of any partition
    quorum-state                     epoch, leader and vote (JSON, Kafka's fields)

Owns: these files; how metadata records are put into batches and taken out again. A batch of records is one decision of
the controller; a control batch holds the LeaderChange that opens an epoch.
Invariants: I-MLOG-1 `persist` and `flush` return when the disk has it; a ballot that cannot be read stops the node, for
              to forget a vote is worse than not to start (A10).
            I-MLOG-2 fsync is awaited; nothing else changes the log meanwhile (I-QRM-1).
What Kafka does differently: snapshots bound the log (KIP-630).
Source: kafka.raft.KafkaMetadataLog, org.apache.kafka.raft.FileQuorumStateStore.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.broker import quorum_wire as wire
from minikafka.broker.env import Env
from minikafka.core.raft_messages import AppendLeaderChange, Ballot
from minikafka.log import Log, LogConfig
from minikafka.log import batch as batches
from minikafka.protocol.records import decode, encode

FOLDER, BALLOT_FILE = "__cluster_metadata-0", "quorum-state"
READ_BYTES = 1 << 20
SETTINGS = LogConfig(retention_ms=-1, max_message_bytes=8 << 20)


class MetadataLog:
    """Also the core's view of the log (raft_messages.LogView)."""

    def __init__(self, env: Env, metadata_dir: str) -> None:
        """Open and recover the folder in `metadata_dir`, or begin it."""
        self._env = env
        self._folder = f"{metadata_dir}/{FOLDER}"
        self._ballot_path = f"{self._folder}/{BALLOT_FILE}"
        env.fs.mkdir(self._folder)
        self.log = Log.open(env.fs, self._folder, SETTINGS, now_ms=env.wall_ms(), topic=wire.TOPIC,
                            topic_id=wire.TOPIC_ID)  # fmt: skip

    def close(self) -> None:
        self.log.close()

    # --- the ballot ---------------------------------------------------------------------------------------------------

    def read_ballot(self) -> Ballot:
        """What this node last promised; raises ValueError if the file is damaged."""
        exists = self._env.fs.exists(self._ballot_path)
        return wire.decode_ballot(self._env.fs.read(self._ballot_path)) if exists else Ballot()

    async def persist(self, ballot: Ballot, voters: tuple[int, ...]) -> None:
        data = wire.encode_ballot(ballot, voters)
        await self._env.blocking(self._env.fs.write_atomic, self._ballot_path, data)

    # --- the core's view
    # ------------------------------------------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    @property
    def last_epoch(self) -> int:
        return max(self.log.epochs.latest, 0)

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self.log.epochs.end_offset_for(epoch, self.log.end_offset)

    # --- writing
    # --------------------------------------------------------------------------------------------------------

    async def flush(self) -> int:
        """Make the log durable; returns the offset up to which it is."""
        flush = self.log.start_flush()
        await self._env.blocking(flush.sync)
        self.log.finish_flush(flush)
        return flush.end_offset

    def to_batch(self, records: list[Any]) -> bytes:
        """The metadata records of one decision as one batch."""
        return batches.build([(None, encode(record)) for record in records], timestamp_ms=self._env.wall_ms())

    def append(self, batch: bytes, epoch: int) -> None:
        self.log.append_leader(batch, epoch, self._env.wall_ms(), origin="raft")

    def append_leader_change(self, change: AppendLeaderChange) -> None:
        record = [(wire.LEADER_CHANGE, wire.leader_change(change))]
        self.append(batches.build(record, timestamp_ms=self._env.wall_ms(), control=True), change.epoch)

    def append_received(self, records: bytes) -> None:
        self.log.append_follower(records)

    def truncate(self, offset: int) -> None:
        self.log.truncate(offset)

    # --- reading
    # --------------------------------------------------------------------------------------------------------

    def read(self, offset: int) -> bytes:
        """Whole batches from `offset` on, for a follower: as many as one answer holds."""
        return self.log.read(offset, wire.MAX_BYTES, self.log.end_offset)

    def decisions(self, start: int, end: int) -> Iterator[tuple[list[Any], int, int]]:
        """(records, last offset, epoch) of each batch in [start, end); a control batch has no records."""
        while start < end:
            for header, batch in batches.batches(self.log.read(start, READ_BYTES, end)):
                values = [] if header.is_control else batches.records(batch)
                yield [decode(bytes(each.value)) for each in values], header.last_offset, header.leader_epoch
                start = header.next_offset
