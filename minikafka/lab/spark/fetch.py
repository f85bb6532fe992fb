"""What a Spark task does: read one range of one partition into Arrow batches.

Owns: the columns of a row, and the reading of exactly [start, end).

Invariants
  I-SPARK-6  A range yields every record in it that is visible, in order, and nothing else. An offset without a record
             is normal (compaction, transaction markers) as long as the log begins at or before it.
  I-SPARK-7  A record that was there when the batch was planned and is gone when it is read is data loss: KafkaDataLoss,
             or with failOnDataLoss=false reading goes on at the first record that exists.
  I-SPARK-8  Waiting is not loss: after a leader died, the next may need seconds before it can serve the range. Only
             after kafkaConsumer.pollTimeoutMs without a record is it an error.
"""
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaTimeoutError, LogTruncationError, OffsetOutOfRangeError
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from .offsets import KafkaDataLoss, OffsetRange

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
COLUMNS = [
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
]
ARROW = [
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()),
]
ARROW_HEADERS = ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))

POLL_MS = 500
# one partition, much of it
DEFAULTS = {"max_poll_records": 20_000, "max_partition_fetch_bytes": 8 << 20, "metrics_enabled": False}


def spark_schema(include_headers: bool) -> StructType:
    """Return the connector's columns; headers are null where a record has none."""
    return StructType(COLUMNS + ([StructField("headers", HEADERS)] if include_headers else []))


@dataclass
class RangeReader:
    """Reads one range. `client`: arguments of KafkaConsumer."""
    range: OffsetRange
    client: dict[str, Any]
    fail_on_data_loss: bool
    include_headers: bool
    poll_timeout_s: float

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield Arrow batches, in the order of offsets. Raises KafkaDataLoss, KafkaTimeoutError and the client's errors."""
        tp = TopicPartition(self.range.topic, self.range.partition)
        consumer = KafkaConsumer(**(DEFAULTS | self.client), auto_offset_reset="none", enable_auto_commit=False)
        try:
            consumer.assign([tp])
            consumer.seek(tp, self.range.start)
            yield from self._read(consumer, tp)
        finally:
            consumer.close(autocommit=False)

    def _read(self, consumer: KafkaConsumer, tp: TopicPartition) -> Iterator[pa.RecordBatch]:
        position, deadline = self.range.start, time.monotonic() + self.poll_timeout_s
        while position < self.range.end:
            try:
                records = consumer.poll(timeout_ms=POLL_MS).get(tp, [])
                after = consumer.position(tp)
            except (OffsetOutOfRangeError, LogTruncationError):
                position = self._after_gap(consumer, tp, position)
                continue
            if after > position:                                     # also past records that nobody may see
                position, deadline = after, time.monotonic() + self.poll_timeout_s
            elif time.monotonic() > deadline:
                position = self._nothing_came(consumer, tp, position)
            if wanted := [r for r in records if r.offset < self.range.end]:
                yield self._batch(wanted)

    def _after_gap(self, consumer: KafkaConsumer, tp: TopicPartition, position: int) -> int:
        """Return where to go on: the broker says that `position` does not exist."""
        if self.fail_on_data_loss:
            raise KafkaDataLoss(f"Could not read records in offset [{position}, {self.range.end}) for topic partition "
                                f"{tp.topic}-{tp.partition} (no consumer group is used).")
        first, end = consumer.beginning_offsets([tp])[tp], consumer.end_offsets([tp])[tp]
        if position >= end or first >= self.range.end:
            return self.range.end                                    # nothing of the range is left
        consumer.seek(tp, max(first, position))
        return max(first, position)

    def _nothing_came(self, consumer: KafkaConsumer, tp: TopicPartition, position: int) -> int:
        if position >= consumer.end_offsets([tp])[tp]:  # the log is shorter than it was, or than the option says
            return self._after_gap(consumer, tp, position)
        raise KafkaTimeoutError(f"Cannot fetch record for offset {position} in {int(self.poll_timeout_s * 1000)} milliseconds")

    def _batch(self, records: list[Any]) -> pa.RecordBatch:
        n = len(records)
        columns = [
            [r.key for r in records], [r.value for r in records], [self.range.topic] * n, [self.range.partition] * n,
            [r.offset for r in records], [r.timestamp * 1000 for r in records], [r.timestamp_type for r in records]]
        types = list(ARROW)
        if self.include_headers:
            columns.append([[{"key": k, "value": v} for k, v in r.headers] or None for r in records])
            types.append(ARROW_HEADERS)
        return pa.RecordBatch.from_arrays([pa.array(c, t) for c, (_, t) in zip(columns, types)],
                                          names=[name for name, _ in types])
