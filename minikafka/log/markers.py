"""The control batch that ends a transaction in one partition: a marker (KIP-98).

    key    version i16 = 0 | type i16: 0 abort, 1 commit
    value  version i16 = 0 | epoch of the transaction coordinator i32

The batch carries the producer's id and epoch, no sequence, and one record; consumers never see it, but it has an offset.

Owns: how a marker is made and read. Source: EndTransactionMarker, ControlRecordType, MemoryRecords.
"""

from __future__ import annotations

import struct

from minikafka.log import batch as record_batch

Buffer = bytes | bytearray | memoryview

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
ABORT, COMMIT = 0, 1


def marker(producer_id: int, epoch: int, coordinator_epoch: int, commit: bool, timestamp_ms: int) -> bytes:
    """Return the batch that commits or aborts what the producer has written in this partition."""
    record = (_KEY.pack(0, COMMIT if commit else ABORT), _VALUE.pack(0, coordinator_epoch))
    return record_batch.build([record], timestamp_ms=timestamp_ms, producer_id=producer_id, producer_epoch=epoch,
                              control=True, transactional=True)


def is_commit(batch: Buffer) -> bool:
    """Return whether this marker commits."""
    return _KEY.unpack_from(record_batch.records(batch)[0].key or bytes(_KEY.size))[1] == COMMIT


def coordinator_epoch(batch: Buffer) -> int:
    """Return the epoch of the coordinator that sent this marker."""
    return int(_VALUE.unpack_from(record_batch.records(batch)[0].value or bytes(_VALUE.size))[1])
