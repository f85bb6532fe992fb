"""From time to offset (ListOffsets by timestamp): which record was the first at or after a moment.

Timestamps come from clients and need not increase, so the time index only gives a place to start. From there the batches are
walked by their maximum timestamps, and the first one that can hold the answer is walked record by record.

Source: org.apache.kafka.storage.internals.log.LogSegment.findOffsetByTimestamp, UnifiedLog.fetchOffsetByTimestamp.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.log.batch import each_place
from minikafka.log.compression import DecompressionError, TooLarge
from minikafka.log.records import MalformedRecord, Place
from minikafka.log.segment import Segment, scan
from minikafka.protocol.errors import Err, KafkaError

Found = tuple[int, int, int]  # offset, timestamp in ms, leader epoch


def first_at_or_after(segments: list[Segment], timestamp: int, start_offset: int) -> Found | None:
    """Return the first record with an offset of at least `start_offset` whose timestamp is at least `timestamp`."""
    for segment in segments:
        if segment.max_timestamp >= timestamp:
            found = _search(segment, timestamp, start_offset)
            if found:
                return found
    return None


def _search(segment: Segment, timestamp: int, start_offset: int) -> Found | None:
    position = segment.search_from(timestamp, start_offset)
    for _, header, batch in scan(segment.log, position, segment.size):
        if header.max_timestamp < timestamp or header.last_offset < start_offset:
            continue
        place = _first(batch, lambda offset, time: time >= timestamp and offset >= start_offset)
        if place is not None:
            return *place, header.leader_epoch
    return None


def first_with_max_timestamp(segments: list[Segment]) -> Found | None:
    """Return the first record with the highest timestamp of all segments; None if no record has one."""
    newest = max(segments, key=lambda segment: segment.max_timestamp)
    position, header = newest.locate(newest.max_timestamp_offset)
    if newest.max_timestamp < 0 or header is None:
        return None
    batch = newest.log.pread(header.size, position)
    place = _first(batch, lambda _, time: time == header.max_timestamp)
    return None if place is None else (*place, header.leader_epoch)


def _first(batch: bytes, wanted: Callable[[int, int], bool]) -> Place | None:
    """Return the place of the first record that is `wanted`. Raises CORRUPT_MESSAGE if the batch is unreadable before it: since
    the append the disk may have damaged it."""
    try:
        return next((place for place in each_place(batch) if wanted(*place)), None)
    except (MalformedRecord, DecompressionError, TooLarge) as error:
        raise KafkaError(Err.CORRUPT_MESSAGE, str(error)) from None
