"""Bits that flip on a disk without anybody's doing: where they may, and which logs have such damage.

Where: in a batch that is committed, in the bytes that its checksum covers or in the checksum itself. What lies before it
(offset, length, leader epoch, magic) no checksum covers, in Kafka's logs as in ours, so that nobody could be asked to
notice; and what is not committed yet nobody was promised.
What must hold then, and does in Apache Kafka: no client is given the batch, for readers look at checksums, not leaders; a
follower appends nothing of an answer with such a batch, and asks again; recovery after a crash ends the log before it,
above the recovery point. So a leader's copy is not mended by itself, and who needs that batch from it waits until somebody
does it (operator.py). Ours asks for more in two places where Apache Kafka does not look: a coordinator does not load such
a batch, and compaction does not make a new one of it.

Owns: nothing; it reads disks. Source: AbstractFetcherThread.processFetchRequest, CompletedFetch, UnifiedLog (append),
LogSegment.recover, LogLoader.recoverLog, MemoryRecords.filterTo.
"""

from __future__ import annotations

from typing import Any

from minikafka.log.batch import CRC_AT, frames
from minikafka.sim.invariants.replica import whole

Place = tuple[str, int, int]  # path, first byte, end


def places(broker: Any) -> list[Place]:
    """The stretches in which a bit may flip, one for each committed batch of a running broker."""
    found = []
    for partition in broker.replicas.partitions.values():
        for segment in partition.log.segments if not partition.failed else ():
            data = bytes(segment.log.inode.content[: segment.size])
            found += [(segment.path(".log"), at + CRC_AT, at + header.size) for at, header in frames(data)
                      if header.next_offset <= partition.high_watermark]  # fmt: skip
    return found


def damaged(world: Any, node: int) -> list[tuple[str, int]]:
    """The partitions of a running broker whose logs have a batch with a wrong checksum."""
    broker = world.broker(node)
    logs = [] if broker is None else [(key, p.log) for key, p in broker.replicas.partitions.items() if not p.failed]
    return [key for key, log in logs if not whole(world.hosts[node].disk, log)]
