"""Retention: which of the oldest segments may be deleted, by start offset, size and age (cleanup.policy=delete).

Invariants: I-RETAIN-1 nothing at or beyond the high watermark is deleted, so the start offset never passes it.
            I-RETAIN-2 segments are deleted from the oldest on, never from the middle.
As in Kafka the active segment may be deleted too (it is rolled first). A segment's age is that of its newest record, so the next
check deletes a segment whose records all have old timestamps. If no record has a timestamp, Kafka takes the file's
modification time, and we the time when the segment was opened.
Source: org.apache.kafka.storage.internals.log.UnifiedLog.deleteOldSegments.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.log.config import LogConfig
from minikafka.log.segment import Segment


def expired_segments(
    segments: list[Segment], config: LogConfig, start_offset: int, now_ms: int, high_watermark: int
) -> int:
    """Return how many of the oldest segments retention deletes."""
    count = _leading(segments, high_watermark, lambda at: _before_start(segments, at, start_offset))
    if not config.delete:
        return count
    count += _leading(segments[count:], high_watermark, _too_large(segments[count:], config))
    count += _leading(segments[count:], high_watermark, _too_old(segments[count:], config, now_ms))
    return count


def _leading(segments: list[Segment], high_watermark: int, goes: Callable[[int], bool]) -> int:
    """Number of segments from the first on that lie below the high watermark and satisfy `goes`."""
    count = 0
    for at, segment in enumerate(segments):
        if segment.next_offset > high_watermark or segment.size == 0 or not goes(at):
            break
        count += 1
    return count


def _before_start(segments: list[Segment], at: int, start_offset: int) -> bool:
    return at + 1 < len(segments) and segments[at + 1].base_offset <= start_offset


def _too_large(segments: list[Segment], config: LogConfig) -> Callable[[int], bool]:
    """Return a function of a segment's place: True if the log without the segment still has retention.bytes."""
    return lambda at: 0 <= config.retention_bytes <= sum(segment.size for segment in segments[at + 1 :])


def _too_old(segments: list[Segment], config: LogConfig, now_ms: int) -> Callable[[int], bool]:
    def goes(at: int) -> bool:
        newest = segments[at].max_timestamp if segments[at].max_timestamp >= 0 else segments[at].created_ms
        return 0 <= config.retention_ms < now_ms - newest

    return goes
