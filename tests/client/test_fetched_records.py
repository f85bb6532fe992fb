"""What a consumer shows of the batches that it fetched."""

from __future__ import annotations

import struct

from minikafka.client.consumer.fetched_records import visible
from minikafka.log.batch import BatchHeader, build
from minikafka.log.cleaner_filter import empty
from minikafka.log.markers import marker

NOW = 1_700_000_000_000


def at(offset: int, batch: bytes) -> bytes:
    """The batch as it lies in the log at this offset."""
    placed = bytearray(batch)
    struct.pack_into(">q", placed, 0, offset)
    return bytes(placed)


def test_a_marker_that_compaction_has_emptied_ends_no_transaction() -> None:
    """Fails if a consumer of read_committed stumbles over a control batch without a record, or takes it for the end of an aborted
    transaction (found by seed 92091: the consumer died of an IndexError)."""
    old = at(0, marker(7, 0, 0, False, NOW))
    aborted = [at(offset, build([(b"k", b"a")], timestamp_ms=NOW, producer_id=7, producer_epoch=0, base_sequence=sequence,
                                transactional=True)) for sequence, offset in enumerate((1, 3))]
    left = empty(BatchHeader.parse(at(2, marker(7, 0, 0, False, NOW))))
    end, plain = at(4, marker(7, 0, 0, False, NOW)), at(5, build([(b"k", b"plain")], timestamp_ms=NOW))
    assert BatchHeader.parse(left).is_control and not BatchHeader.parse(left).count
    chunks = list(visible(("t", 0), old + aborted[0] + left + aborted[1] + end + plain, 0, [(7, 1)]))
    assert [(len(chunk.records), chunk.next_offset) for chunk in chunks] == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 6)]
