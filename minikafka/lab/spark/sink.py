"""The sink: rows of Arrow batches become Kafka records.

Owns: which columns mean what, and the one producer of a task.

Invariants
  A task succeeds only after every one of its records was acknowledged by all in-sync replicas (acks=all,
              idempotent); the first failure fails the task.
  The topic is the option `topic` if given, else the column `topic`; a null topic is an error. Columns:
    value (required), key, topic, partition, headers. Others are ignored, `timestamp` too, as the connector
    does.

At least once, as with the connector: a task that is repeated, or a micro-batch that is replayed, writes its records
again. Unlike the connector: a header without a value is refused (kafka-python cannot send it).
"""
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from kafka import KafkaProducer
from kafka.serializer import Serializer
from pyspark.errors import AnalysisException
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructType

from .fetch import HEADERS
from .offsets import KafkaIllegalState
from .options import client_config

ALLOWED: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),), "key": (StringType(), BinaryType()), "value": (StringType(), BinaryType()),
    "headers": (HEADERS,), "partition": (IntegerType(),)}
NOTHING = object()                               # a null value: kafka-python takes None only beside a key
DEFAULTS = {"linger_ms": 20, "batch_size": 128 << 10, "max_request_size": 8 << 20, "metrics_enabled": False}


class Values(Serializer):
    """Gives the producer the bytes as they are, and null for NOTHING."""

    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
        return None if data is NOTHING else data


class KafkaWriterCommitMessage(WriterCommitMessage):
    """The number of records that a task wrote."""

    def __init__(self, records: int) -> None:
        self.records = records


@dataclass
class KafkaDataWriter:
    """The work of one task. Picklable; the producer is made in the executor."""
    topic: str | None
    client: dict[str, Any]

    @classmethod
    def make(cls, options: Mapping[str, str], schema: StructType) -> "KafkaDataWriter":
        """Check the columns on the driver; AnalysisException with the connector's words."""
        topic = options["topic"].strip() if "topic" in options else None
        columns = {field.name: field.dataType for field in schema}
        if topic is None and "topic" not in columns:
            raise AnalysisException(message="topic option required when no 'topic' attribute is present. "
                                            "Use the topic option for setting a topic.")
        if "value" not in columns:
            raise AnalysisException(message="Required attribute 'value' not found")
        for name, allowed in ALLOWED.items():
            found = columns.get(name)
            if found is not None and found.simpleString() not in [a.simpleString() for a in allowed]:
                must = " or ".join(a.simpleString() for a in allowed)
                raise AnalysisException(
                    message=f"{name} attribute unsupported type {found.simpleString()}. {name} must be a(n) {must}"
                )
        return cls(topic, client_config(options, KafkaProducer.DEFAULT_CONFIG))

    def write(self, batches: Iterator[pa.RecordBatch]) -> KafkaWriterCommitMessage:
        """Send every row and wait until all are acknowledged."""
        producer, records, failures = None, 0, []
        try:
            for batch in batches:
                producer = producer or KafkaProducer(**(DEFAULTS | self.client), value_serializer=Values())
                for topic, key, value, partition, headers in self._rows(batch):
                    producer.send(topic, value, key, headers, partition).add_errback(failures.append)
                records += batch.num_rows
            if producer:
                producer.flush()
        finally:
            if producer:
                producer.close()
        if failures:
            raise failures[0]
        return KafkaWriterCommitMessage(records)

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        n = batch.num_rows
        column = {name: batch.column(name).to_pylist() for name in ALLOWED if name in batch.schema.names}
        topics = [self.topic] * n if self.topic is not None else column["topic"]
        if None in topics:
            raise KafkaIllegalState("The Kafka message data sent to the producer contains a null topic. "
                                    "Use the `topic` option for setting a default topic.")
        nothing = [None] * n
        headers = [[(h["key"], h["value"]) for h in hs or ()] for hs in column.get("headers", nothing)]
        if any(None in header for of_row in headers for header in of_row):
            raise KafkaIllegalState("A header without a key, or without a value: kafka-python cannot send it. Give it an "
                                    "empty value in the column `headers`, or use the official connector.")
        return zip(
            topics,
            map(_bytes, column.get("key", nothing)),
            (NOTHING if value is None else _bytes(value) for value in column["value"]),
            column.get("partition", nothing),
            headers,
        )


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
