"""The checks of a client's bytes before a leader appends any of them, with Kafka's codes and texts.

Owns: the order of the checks. It matters: the first check that fails decides the error code that the client gets.
    framing   one whole batch of magic 2                INVALID_RECORD, CORRUPT_MESSAGE
    header    base offset 0, size, checksum, codec      INVALID_RECORD, MESSAGE_TOO_LARGE, CORRUPT_MESSAGE
    counts    offsets, count, no control batch          INVALID_RECORD
    records   lengths, timestamps, keys if compacted    INVALID_RECORD, INVALID_TIMESTAMP
A batch that passes is stored as it is if every client reads the same in it (record_validation.py); else it is written again.
Invariants: a refusal is raised before any state is touched.
            I-VALID-2 the maximum timestamp in the log's header is that of the records, whatever the client claimed.
            I-VALID-3 every client can read a batch that passes: n ordinary records with the offsets 0 to n-1.
Only RecordValidationError and OwnLimit carry a text to the client; all others are a code alone on the wire, as in Kafka.
Source: org.apache.kafka.common.requests.ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords,
LogValidator. What Kafka does differently: it takes more than a million records in a batch, names every one of them that it
refuses, and stores batches that some of its clients cannot read.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable

from minikafka.log import batch as record_batch
from minikafka.log import compression
from minikafka.log.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
    BatchHeader,
)  # fmt: skip
from minikafka.log.config import LogConfig
from minikafka.log.record_validation import RecordValidation, validate_records
from minikafka.log.records import MalformedRecord, Record, TooManyHeaders, iter_records
from minikafka.protocol.errors import Err, KafkaError, OwnLimit

Buffer = bytes | bytearray | memoryview
_SIGNED = struct.Struct(">b")

MINIMUM_LENGTH = 14  # of the oldest message format: what Kafka's reader of frames accepts as a length
MAX_INT = 0x7FFFFFFF
ZSTD_SINCE_VERSION = 7  # of Produce
MOST_RECORDS = 1_000_000  # of a batch: the whole broker waits while they are checked
MANY_RECORDS, MANY_BYTES = 2000, 1 << 16  # from here on a batch is heavy: it is checked in a thread
MOST_ERRORS = 1000  # that a response names one by one
KNOWN_ATTRIBUTES = CODEC_MASK | TRANSACTIONAL | CONTROL | DELETE_HORIZON


class RecordValidationError(KafkaError):
    """Some records of the batch are refused; `record_errors` is [(index in the batch, text)] for the response."""

    def __init__(self, code: Err, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


def is_heavy(data: Buffer) -> bool:
    """Return whether the check of this one whole batch takes long."""
    header = BatchHeader.parse(data)
    return header.count > MANY_RECORDS or (header.codec != compression.NONE and header.size > MANY_BYTES)


def client_batch(data: Buffer, config: LogConfig, partition: str, now_ms: int, version: int) -> bytearray:
    """Check what a Produce request of `version` brought; returns a copy of the batch, fit to be stamped and written. Raises
    KafkaError with Kafka's code; `partition` is "topic-0", for the texts."""
    header = one_batch(data, version)
    batch = bytearray(memoryview(data)[: header.size])
    _check_header(batch, header, config, partition)
    _check_counts(header, partition)
    try:
        seen = _check_records(batch, header, config, partition, now_ms)
        wanted = compression.NAMES.get(config.compression_type, header.codec)
        if wanted != header.codec or not seen.ordinary:
            batch = _write_anew(batch, header, config, wanted)
            header = BatchHeader.parse(batch)
    except TooManyHeaders as error:
        raise _own_limit(Err.INVALID_RECORD, partition, error, "Put them into the value.") from None
    except MalformedRecord as error:
        raise KafkaError(Err.INVALID_RECORD, str(error)) from None
    except compression.TooCostly as error:
        raise _own_limit(Err.UNKNOWN_SERVER_ERROR, partition, error, "Send smaller batches (batch.size).") from None
    except compression.DecompressionError as error:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR, str(error)) from None
    except compression.TooLarge as error:
        raise _own_limit(Err.MESSAGE_TOO_LARGE, partition, error,
                         "Send smaller batches (batch.size), or without compression (compression.type).") from None
    _fix_times(batch, header, config, now_ms if config.log_append_time else max(seen.latest, -1))
    return batch


def own_batch(data: Buffer) -> bytearray:
    """Return a batch that this broker built itself (coordinators, Raft): only its shape is checked."""
    header = BatchHeader.parse(data)
    if header.magic != 2 or header.size != len(data) or header.count != header.last_offset_delta + 1:
        raise KafkaError(Err.INVALID_RECORD, "Not exactly one whole record batch")
    return bytearray(data)


# --- framing ----------------------------------------------------------------------------------------------------


def is_transactional(data: Buffer) -> bool:
    """Return whether the first batch belongs to a transaction. Raises CORRUPT_MESSAGE or UNKNOWN_SERVER_ERROR where
    that cannot be known."""
    whole = _next_batch(data, 0) > 0 and data[MAGIC_AT] == 2
    return whole and bool(struct.unpack_from(">h", data, ATTRIBUTES_AT)[0] & TRANSACTIONAL)


def one_batch(data: Buffer, version: int) -> BatchHeader:
    """Return the header of the one whole batch that `data` has to be, but for some bytes too few to begin another."""
    size = _next_batch(data, 0)
    if size == 0:
        raise KafkaError(Err.INVALID_RECORD, f"Produce requests with version {version} must have at least one record "
                                             "batch per partition")  # fmt: skip
    if data[MAGIC_AT] != 2:
        raise KafkaError(Err.INVALID_RECORD, f"Produce requests with version {version} are only allowed to contain "
                                             "record batches with magic version 2")  # fmt: skip
    if size < HEADER_SIZE:
        raise KafkaError(Err.CORRUPT_MESSAGE, f"Record batch is corrupt (the size {size} is smaller than the minimum "
                                              f"allowed overhead {HEADER_SIZE})")  # fmt: skip
    header = BatchHeader.parse(data)
    if version < ZSTD_SINCE_VERSION and header.codec == compression.ZSTD:
        raise KafkaError(Err.UNSUPPORTED_COMPRESSION_TYPE, f"Produce requests with version {version} are not allowed "
                                                           "to use ZStandard compression")  # fmt: skip
    if len(data) > size and _next_batch(data, size):
        raise KafkaError(Err.INVALID_RECORD, f"Produce requests with version {version} are only allowed to contain "
                                             "exactly one record batch per partition")  # fmt: skip
    return header


def _next_batch(data: Buffer, pos: int) -> int:
    """Return the size of the batch at `pos`; 0 if what is left is too short to be one (such bytes are ignored)."""
    left = len(data) - pos
    if left < LOG_OVERHEAD:
        return 0
    length = struct.unpack_from(">i", data, pos + 8)[0]
    if length < MINIMUM_LENGTH:
        raise KafkaError(Err.CORRUPT_MESSAGE, f"Record size {length} is less than the minimum record overhead (14)")
    if left <= MAGIC_AT:
        return 0
    if data[pos + MAGIC_AT] > 2:
        raise KafkaError(Err.CORRUPT_MESSAGE, f"Invalid magic found in record: {_SIGNED.unpack_from(data, pos + MAGIC_AT)[0]}")
    if length > MAX_INT - LOG_OVERHEAD:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR, f"Batch size overflows: {length}")  # an int overflow in Java
    return length + LOG_OVERHEAD if left >= length + LOG_OVERHEAD else 0


# --- header -----------------------------------------------------------------------------------------------------


def _check_header(batch: bytearray, header: BatchHeader, config: LogConfig, partition: str) -> None:
    if header.base_offset != 0:
        raise KafkaError(Err.INVALID_RECORD, f"The baseOffset of the record batch in the append to {partition} should "
                                             f"be 0, but it is {header.base_offset}")  # fmt: skip
    if header.size > config.max_message_bytes:
        raise KafkaError(
            Err.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {partition} is {header.size} bytes which exceeds the maximum "
            f"configured value of {config.max_message_bytes}.",
        )
    if not record_batch.crc_ok(batch, 0, header):
        raise KafkaError(Err.CORRUPT_MESSAGE,
                         f"Record is corrupt (stored crc = {header.crc}) in topic partition {partition}.")  # fmt: skip
    if header.codec > compression.ZSTD:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {header.codec}")


def _check_counts(header: BatchHeader, partition: str) -> None:
    fault = None
    span = f"[{header.base_offset}, {header.last_offset}]"
    if header.last_offset_delta < 0:
        fault = f"Batch has an invalid offset range: {span} in topic partition {partition}"
    elif header.count <= 0:
        fault = f"Invalid reported count for record batch: {header.count} in topic partition {partition}"
    elif header.last_offset_delta + 1 != header.count:
        fault = (f"Inconsistent batch offset range {span} and count of records {header.count} in topic partition "
                 f"{partition}")  # fmt: skip
    elif header.is_control:
        fault = f"Clients are not allowed to write control records in topic partition {partition}"
    elif header.producer_id >= 0 and header.base_sequence < 0:
        fault = (f"Invalid sequence number {header.base_sequence} in record batch with producerId "
                 f"{header.producer_id} in topic partition {partition}")  # fmt: skip
    if fault:
        raise KafkaError(Err.INVALID_RECORD, fault)
    if header.count > MOST_RECORDS:
        raise _own_limit(Err.MESSAGE_TOO_LARGE, partition, f"it has {header.count:,} records, at most {MOST_RECORDS:,} are taken",
                         "Send smaller batches (batch.size).")  # fmt: skip


def _own_limit(code: Err, partition: str, fault: object, remedy: str) -> OwnLimit:
    return OwnLimit(code, f"minikafka does not take the record batch in the append to {partition}: {fault}. {remedy}")


# --- records ----------------------------------------------------------------------------------------------------


def _check_records(batch: bytearray, header: BatchHeader, config: LogConfig, partition: str, now_ms: int) -> RecordValidation:
    """Look at all records; build each one only where a rule about single records is broken, or may be."""
    body, ordinary = memoryview(batch)[HEADER_SIZE:], True
    if header.codec:
        body, ordinary = compression.unpack(header.codec, body)
    seen = validate_records(body, header.count, header.base_timestamp)
    if header.is_log_append_time:
        seen = seen._replace(latest=header.max_timestamp, earliest=header.max_timestamp)
    suspicious = not config.log_append_time and (
        seen.latest - now_ms > config.message_timestamp_after_max_ms
        or now_ms - seen.earliest > config.message_timestamp_before_max_ms
    )
    if suspicious or config.compact and seen.keyless or header.is_log_append_time:
        append_time = header.max_timestamp if header.is_log_append_time else None
        _check_each(iter_records(body, header.count, 0, header.base_timestamp, append_time),
                    header, config, partition, now_ms)  # fmt: skip
    return seen._replace(ordinary=ordinary and seen.ordinary)


def _check_each(records: Iterable[Record], header: BatchHeader, config: LogConfig, partition: str, now_ms: int) -> None:
    keyless, late = [], []
    for index, record in enumerate(records):
        if len(keyless) + len(late) == MOST_ERRORS:
            break
        if config.compact and record.key is None:
            keyless.append((index, f"Compacted topic cannot accept message without key in topic partition {partition}"))
        elif fault := _timestamp_fault(record, header, config, now_ms):
            late.append((index, fault))
    errors = sorted(keyless + late)
    if late:
        raise RecordValidationError(
            Err.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors
        )
    if keyless:
        shown = ", ".join(f"RecordError(batchIndex={index}, message='{text}')" for index, text in errors[:3])
        raise RecordValidationError(
            Err.INVALID_RECORD,
            f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
            f"first three errors at most: [{shown}]",
            errors,
        )


def _timestamp_fault(record: Record, header: BatchHeader, config: LogConfig, now_ms: int) -> str:
    before, after = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
    if not config.log_append_time and record.timestamp != record_batch.NO_TIMESTAMP:
        if now_ms - before <= record.timestamp <= now_ms + after:
            return ""
        return (f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The timestamp "
                f"should be within [{now_ms - before}, {now_ms + after}]")  # fmt: skip
    if not header.is_log_append_time:
        return ""
    kind = "PartialDefaultRecord" if header.codec else "DefaultRecord"
    shown = (f"{kind}(offset={record.offset}, timestamp={record.timestamp}, key={len(record.key or b'')} bytes, "
             f"value={len(record.value or b'')} bytes)")  # fmt: skip
    return f"Invalid timestamp type in message {shown}. Producer should not set timestamp type to LogAppendTime."


def _fix_times(batch: bytearray, header: BatchHeader, config: LogConfig, max_timestamp: int) -> None:
    """Make type and maximum of the timestamps true; only then does the checksum change (I-VALID-2)."""
    if header.is_log_append_time == config.log_append_time and header.max_timestamp == max_timestamp:
        return
    attributes = header.attributes & KNOWN_ATTRIBUTES | TIMESTAMP_TYPE * config.log_append_time
    record_batch.restamp_time(batch, attributes, max_timestamp)


def _write_anew(batch: bytearray, header: BatchHeader, config: LogConfig, codec: int) -> bytearray:
    """Return a batch of the same records as ordinary ones, in the topic's own compression.type. Many records are read twice, one
    by one: a batch of a few KB may have a million of them."""
    few = record_batch.records(batch) if header.count <= MANY_RECORDS else None
    times, in_order = array("q"), True
    for record in few or record_batch.each_record(batch):
        in_order &= record.offset == len(times)
        times.append(record.timestamp)
    _check_builder(in_order, min(times), header, codec)
    result = record_batch.build(
        ((r.key, r.value, r.headers) for r in few or record_batch.each_record(batch)), times=times,
        timestamp_ms=record_batch.NO_TIMESTAMP, codec=codec, level=config.compression_level(codec),
        producer_id=header.producer_id, producer_epoch=header.producer_epoch, base_sequence=header.base_sequence,
        transactional=header.is_transactional,
    )  # fmt: skip
    if len(result) > config.max_message_bytes:
        raise KafkaError(Err.MESSAGE_TOO_LARGE, f"Message batch size is {len(result)} bytes in append topartition "
                         f"which exceeds the maximum configured size of {config.max_message_bytes}.")  # fmt: skip
    return bytearray(result)


def _check_builder(in_order: bool, earliest: int, header: BatchHeader, codec: int) -> None:
    """Refuse a batch that has to be built anew, if Kafka's builder cannot do that."""
    if codec == header.codec:
        fails = bool(codec) and not in_order
    else:
        epochless = header.producer_id >= 0 and header.producer_epoch == record_batch.NO_PRODUCER_EPOCH
        fails = epochless or earliest < record_batch.NO_TIMESTAMP
    if fails:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR, "Kafka's builder of batches refuses to build this one again")
