"""Bits that flip on a disk by themselves: where a run may flip them, and which logs have such damage.

In a partition's log: in a committed batch, in its checksum or the bytes that the checksum covers. No checksum covers the bytes
before it (offset, length, leader epoch, magic), in Kafka's logs as in ours, so no reader can notice damage there. A batch that
is not committed was promised to no client.
The following must hold then, and does in Apache Kafka. Consumers check checksums (leaders do not), so no application gets the
batch. A follower appends nothing of an answer with such a batch, and fetches again. Recovery after a crash, above the recovery
point, ends the log before the batch. So a leader's copy stays damaged, and a reader that needs the batch waits until an operator
repairs it (recovery.py). Our brokers check in two more places: a coordinator does not load such a batch, and compaction does not
copy its records into a new one.

In the metadata log and its snapshots: in the same bytes; in a voter's log only below the offset that the voter knows to be on
disk, because damage above it counts as a torn write, as in Kafka. A node that reads the damage ends (I-MLOG-5), and a voter does
not start again (I-MLOG-6) until an operator has removed the damaged files.
In derived files: anywhere in the two indexes of a segment, whose entries can be compared with the log; in the version and the
count of a checkpoint, which then counts as lost. No checksum covers the other numbers of a checkpoint and the rows of a
transaction index, in Kafka's files as in ours; only a replay of the log could check them.

Owns: nothing; it reads disks. Source: AbstractFetcherThread.processFetchRequest, CompletedFetch, UnifiedLog (append),
LogSegment.recover, LogLoader.recoverLog, MemoryRecords.filterTo.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.raft.shell.snapshot_files import SUFFIX as SNAPSHOT
from minikafka.broker.storage.shell.log_dir import HIGH_WATERMARKS, RECOVERY_POINTS
from minikafka.log.batch import CRC_AT, crc_ok, frames
from minikafka.proof.invariants.replica import whole
from minikafka.sim.world.disk import SimDisk

Place = tuple[str, int, int]  # path, first byte, end


def places(broker: Any) -> list[Place]:
    """Return the ranges in which a bit may flip, one for each committed batch of a running broker."""
    found = []
    for partition in broker.replicas.partitions.values():
        for segment in partition.log.segments if not partition.failed else ():
            data = bytes(segment.log.inode.content[: segment.size])
            found += [(segment.path(".log"), at + CRC_AT, at + header.size) for at, header in frames(data)
                      if header.next_offset <= partition.high_watermark]  # fmt: skip
    return found


def metadata_places(disk: SimDisk, broker: Any) -> list[Place]:
    """Return the same for the metadata log and the snapshots of a running node."""
    quorum = broker.quorum
    if not hasattr(quorum, "raft"):
        return []  # it has only begun
    log, end = quorum.log.log, quorum.applied
    if quorum.raft.state.is_voter:
        end = min(end, max(log.producers.snapshots, default=0))
    found = []
    for path in metadata_files(disk, log.path):
        data = bytes(disk.names[path].content)
        found += [(path, at + CRC_AT, at + header.size) for at, header in frames(data)
                  if path.endswith(SNAPSHOT) or header.next_offset <= end]  # fmt: skip
    return found


def metadata_files(disk: SimDisk, folder: str) -> list[str]:
    """Return the paths of the metadata log and its snapshots."""
    return [path for path in disk.files(folder) if path.endswith((".log", SNAPSHOT))]


def metadata_damaged(disk: SimDisk, folder: str) -> bool:
    """Return whether one of them has a batch with a wrong checksum."""
    contents = [bytes(disk.names[path].content) for path in metadata_files(disk, folder)]
    return any(not crc_ok(data, at, header) for data in contents for at, header in frames(data))


def derived_places(disk: SimDisk, broker: Any) -> list[Place]:
    """Return the ranges of indexes and checkpoints in which a bit may flip."""
    logs = [partition.log for partition in broker.replicas.partitions.values() if not partition.failed]
    indexes = [segment.path(suffix) for log in logs for segment in log.segments for suffix in (".index", ".timeindex")]
    folder = broker.replicas.log_manager.dir.path
    checkpoints = [f"{folder}/{name}" for name in (HIGH_WATERMARKS, RECOVERY_POINTS)] + [log.epochs.path for log in logs]
    found = [(path, 0, disk.size(path)) for path in indexes if path in disk.names and disk.size(path)]
    for path in checkpoints:
        if path in disk.names:
            data = bytes(disk.names[path].content)
            found.append((path, 0, data.find(b"\n", 2) + 1))
    return [place for place in found if place[2]]


def damaged(world: Any, node: int) -> list[tuple[str, int]]:
    """Return the partitions of a running broker whose logs have a batch with a wrong checksum."""
    broker = world.broker(node)
    logs = [] if broker is None else [(key, p.log) for key, p in broker.replicas.partitions.items() if not p.failed]
    return [key for key, log in logs if not whole(world.hosts[node].disk, log)]
