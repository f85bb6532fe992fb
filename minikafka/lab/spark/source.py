"""The pure-Python Kafka source and sink of Spark: what the Python Data Source API calls.

Owns: the format "minikafka" (the name "kafka" belongs to the connector and cannot be registered): its reader, its
streaming reader with admission control, its writers. One notebook runs on either:
`spark.read.format(kafka_format(spark))`.

Invariants
  I-SPARK-9   Offsets live in the query's checkpoint, in the connector's form {"topic": {"0": 23}}; a restarted query
              goes on from them, whatever startingOffsets says.
  With availableNow the end is fixed once, when the query starts; later records wait for the next run.

Differences from the connector
  * Where a query dies in its very first micro-batch, before it is committed, the connector finds the start in its own
    file; the Python API gives a source no place for one, so the start is asked again: with startingOffsets=latest that
    fails as data loss.
  * df.write needs mode("append") (the connector also takes the default, errorifexists).
  * Wrong options surface as AnalysisException with the connector's text in it, some at start() instead of load().
"""
import logging
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from .fetch import RangeReader, spark_schema
from .offsets import KafkaDataLoss, KafkaOffsets, OffsetRange, batch_ranges, rate_limit, split, stream_ranges
from .options import EARLIEST, LATEST, Everywhere, Offsets, SourceOptions, offsets_from_json, offsets_to_json
from .sink import KafkaDataWriter

log = logging.getLogger(__name__)
FORMAT = "minikafka"


class RangePartition(InputPartition):
    """One range as Spark's unit of work."""

    def __init__(self, offsets: OffsetRange) -> None:
        self.range = offsets


class KafkaSource(DataSource):
    """The source behind `spark.read.format("minikafka")` and its three siblings."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return spark_schema(SourceOptions.parse(self.options).include_headers)

    def reader(self, schema: StructType) -> "BatchReader":
        return BatchReader(self._source_options(schema))

    def streamReader(self, schema: StructType) -> "StreamReader":
        options = self._source_options(schema)
        options.check_stream(self.options)
        return StreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> "BatchWriter":
        if overwrite:
            raise AnalysisException(message="Save mode Overwrite not allowed for Kafka. Allowed save mode is Append.")
        return BatchWriter(KafkaDataWriter.make(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "StreamWriter":
        return StreamWriter(KafkaDataWriter.make(self.options, schema))

    def _source_options(self, schema: StructType) -> SourceOptions:
        options = SourceOptions.parse(self.options)
        fixed = spark_schema(options.include_headers)
        if schema.simpleString() != fixed.simpleString():
            raise AnalysisException(
                message=f"The user-specified schema doesn't match the actual schema: {fixed.simpleString()}"
            )
        return options


class _Reads:
    """The part that batch and streaming share: a task reads its range. It runs in the executor; no state of the driver
    is used."""
    options: SourceOptions

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, RangePartition) or not partition.range.size:
            return iter(())  # without any partition, Spark makes one of its own
        o = self.options
        return RangeReader(partition.range, o.client, o.fail_on_data_loss, o.include_headers, o.poll_timeout_s).batches()


class BatchReader(_Reads, DataSourceReader):
    """A topic as a table with an end: both ends are fixed when the query is planned."""

    def __init__(self, options: SourceOptions) -> None:
        options.check_batch()
        self.options = options

    def partitions(self) -> Sequence[RangePartition]:
        o, kafka = self.options, KafkaOffsets(self.options)
        try:
            starting = kafka.limits(o.starting or Everywhere(EARLIEST), starting=True)
            ending = kafka.limits(o.ending or Everywhere(LATEST), starting=False)
            ranges = batch_ranges(kafka.resolve(starting), kafka.resolve(ending), o.limit_options)
        finally:
            kafka.close()
        # The connector compares the limits before it resolves them, where earliest is -2 and latest is -1.
        longest = max((ending[tp] - starting[tp] for tp in ending), default=0)
        if len(ranges) < (o.min_partitions or 0) or (o.max_records_per_partition or longest) < longest:
            ranges = split(ranges, o.min_partitions, o.max_records_per_partition)
        return [RangePartition(r) for r in ranges]


class StreamReader(_Reads, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A topic as a stream. Lives in a Python process beside the driver as long as the query runs."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.kafka = KafkaOffsets(options)
        self.newest: dict[str, Any] | None = None
        self.target: dict[str, Any] | None = None                    # availableNow: the end of everything
        self.available_now = False
        self.last_trigger = -math.inf                                # seconds of time.monotonic()

    def initialOffset(self) -> dict[str, Any]:
        return offsets_to_json(self.kafka.resolve(
            self.kafka.limits(self.options.starting or Everywhere(LATEST), starting=True)))

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self.options.max_offsets_per_trigger
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        begin = offsets_from_json(start)
        if self.target is None:
            self.newest = offsets_to_json(self.kafka.latest(known=begin))
            self.target = self.newest if self.available_now else None
        end = offsets_from_json(self.newest or {})
        if self._too_few(begin, end):
            return offsets_to_json(begin)
        if isinstance(limit, ReadMaxRows):
            new = self.kafka.earliest(tp for tp in end if tp not in begin) if end.keys() - begin.keys() else {}
            end = rate_limit(limit.max_rows, begin | new, end)
        return offsets_to_json(end)

    def _too_few(self, begin: Offsets, end: Offsets) -> bool:
        """Return whether this trigger waits for more records (minOffsetsPerTrigger, maxTriggerDelay)."""
        now, waiting = time.monotonic(), sum(end[tp] - begin.get(tp, 0) for tp in end)
        if waiting < (self.options.min_offsets_per_trigger or 0) and now - self.last_trigger < self.options.max_trigger_delay_s:
            return True
        self.last_trigger = now
        return False

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self.newest

    def prepareForTriggerAvailableNow(self) -> None:
        self.available_now = True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[RangePartition]:
        begin, until = offsets_from_json(start), offsets_from_json(end)
        added = until.keys() - begin.keys()
        ranges = stream_ranges(begin, until, self.kafka.earliest(added) if added else {}, self._data_loss)
        o = self.options
        return [RangePartition(r) for r in split(ranges, o.min_partitions, o.max_records_per_partition)]

    def _data_loss(self, reason: str) -> None:
        if self.options.fail_on_data_loss:
            raise KafkaDataLoss(reason)
        log.warning("failOnDataLoss is false, the query goes on. %s", reason)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the checkpoint is the only record of progress (I-SPARK-9)."""

    def stop(self) -> None:
        self.kafka.close()


class _Writes:
    """The part that batch and streaming share: a task writes its rows and waits for the acknowledgements. It runs in
    the executor."""

    def __init__(self, writer: KafkaDataWriter) -> None:
        self.writer = writer

    def write(self, iterator: Iterator[Any]) -> Any:
        return self.writer.write(iterator)


class BatchWriter(_Writes, DataSourceArrowWriter):
    """The writer behind `df.write.format("minikafka").mode("append")`."""


class StreamWriter(_Writes, DataSourceStreamArrowWriter):
    """The writer behind `df.writeStream.format("minikafka")`: at least once, as with the connector (a replayed batch is
    written again)."""
