"""From the bytes of a fetch to the records that a consumer may see.

A broker sends batches as they lie in the log. The first may begin before the requested offset, and control batches and
records of aborted transactions are among them. The answer lists the aborted transactions as (producer id, first offset); a
consumer with read_committed drops the producer's records from that offset up to the abort marker.

Owns: nothing; this is a function of the bytes.
Invariants: no record of an aborted transaction and no control record comes out (read_committed).
Source: org.apache.kafka.clients.consumer.internals.CompletedFetch; KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from minikafka.log.batch import batches, crc_ok, records
from minikafka.protocol.errors import Err, KafkaError

ABORT = 0  # type of a control record, in its key


class ConsumerRecord(NamedTuple):
    """One record as `poll` returns it; timestamp in ms, headers [(name, value), ...]."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class Chunk(NamedTuple):
    """The visible records of one batch. Even if there are none the position moves to `next_offset`."""

    records: list[ConsumerRecord]
    next_offset: int
    leader_epoch: int


def visible(tp: tuple[str, int], data: bytes | memoryview, offset: int, aborted: list[tuple[int, int]] | None
            ) -> Iterator[Chunk]:
    """Yield the visible part of each batch from `offset` on; `aborted` is None for read_uncommitted. Raises
    KafkaError(CORRUPT_MESSAGE) for a wrong checksum."""
    starts = sorted(aborted or (), key=lambda txn: txn[1])
    aborting: dict[int, None] = {}  # producers inside an aborted transaction
    for header, batch in batches(data):
        if not crc_ok(batch, 0, header):
            raise KafkaError(Err.CORRUPT_MESSAGE, f"{tp[0]}-{tp[1]}: wrong checksum at {header.base_offset}")
        while starts and starts[0][1] <= header.last_offset:
            aborting[starts.pop(0)[0]] = None
        if header.is_control:
            if aborted is not None and _is_abort(batch):
                aborting.pop(header.producer_id, None)
            seen: list[ConsumerRecord] = []
        elif header.is_transactional and header.producer_id in aborting:
            seen = []
        else:
            seen = [ConsumerRecord(*tp, *record) for record in records(batch) if record.offset >= offset]
        if header.next_offset > offset:
            yield Chunk(seen, header.next_offset, header.leader_epoch)


def _is_abort(batch: memoryview) -> bool:
    """Return whether the batch has a marker that aborts; compaction leaves batches without one, for the producer's epoch."""
    return any(int.from_bytes((record.key or b"")[2:4], "big") == ABORT for record in records(batch)[:1])



