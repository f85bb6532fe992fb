"""What a leader refuses, with Kafka's code and text; and that a refusal leaves the log as it was."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from minikafka.log import Log, LogConfig, RecordValidationError, build, compression, records
from minikafka.log.batch import HEADER_SIZE, BatchHeader, crc_ok, seal
from minikafka.log.validate import is_transactional
from minikafka.protocol.errors import Err, KafkaError
from tests.log.kit import NOW, open_log, peak, some_batch, stored
from tests.log.memfs import MemFs

GOOD = some_batch(0, count=3)
CONFIG = LogConfig()


def patched(at: int, form: str, value: int, data: bytes = GOOD, valid: bool = True) -> bytes:
    """The batch with one field changed, and its checksum made right again unless `valid` is false."""
    out = bytearray(data)
    struct.pack_into(form, out, at, value)
    if valid:
        seal(out)
    return bytes(out)


def with_body(body: bytes, count: int = 1, attributes: int = 0) -> bytes:
    """A batch of these record bytes, well-formed outside."""
    data = bytearray(build([(None, None)] * count, timestamp_ms=NOW)[:HEADER_SIZE]) + body
    struct.pack_into(">i", data, 8, len(data) - 12)
    return patched(21, ">h", attributes, bytes(data))


REFUSED = {
    "nothing": (b"", Err.INVALID_RECORD),
    "three bytes": (b"abc", Err.INVALID_RECORD),
    "cut short": (GOOD[:-1], Err.INVALID_RECORD),
    "two batches": (GOOD + GOOD, Err.INVALID_RECORD),
    "magic 0": (patched(16, ">b", 0), Err.INVALID_RECORD),
    "magic 1": (patched(16, ">b", 1), Err.INVALID_RECORD),
    "magic 3": (patched(16, ">b", 3), Err.CORRUPT_MESSAGE),
    "magic -1": (patched(16, ">b", -1), Err.CORRUPT_MESSAGE),
    "12 zero bytes": (bytes(12), Err.CORRUPT_MESSAGE),
    "12 zero bytes behind": (GOOD + bytes(12), Err.CORRUPT_MESSAGE),
    "negative length": (patched(8, ">i", -1), Err.CORRUPT_MESSAGE),
    "huge length": (patched(8, ">i", 0x7FFFFFFF), Err.UNKNOWN_SERVER_ERROR),
    "long length": (patched(8, ">i", 1 << 20), Err.INVALID_RECORD),
    "shorter than a header": (patched(8, ">i", 30)[:42], Err.CORRUPT_MESSAGE),
    "base offset": (patched(0, ">q", 5), Err.INVALID_RECORD),
    "checksum": (patched(17, ">I", 1, valid=False), Err.CORRUPT_MESSAGE),
    "codec 5": (patched(21, ">h", 5), Err.UNKNOWN_SERVER_ERROR),
    "codec 7": (patched(21, ">h", 7), Err.UNKNOWN_SERVER_ERROR),
    "garbage gzip": (with_body(b"no gzip at all", attributes=1), Err.UNKNOWN_SERVER_ERROR),
    "garbage snappy": (with_body(b"no snappy at all", attributes=2), Err.UNKNOWN_SERVER_ERROR),
    "garbage lz4": (with_body(b"no lz4 at all", attributes=3), Err.UNKNOWN_SERVER_ERROR),
    "garbage zstd": (with_body(b"no zstd at all", attributes=4), Err.UNKNOWN_SERVER_ERROR),
    "count too high": (patched(57, ">i", 4), Err.INVALID_RECORD),
    "count 0": (patched(57, ">i", 0), Err.INVALID_RECORD),
    "count negative": (patched(57, ">i", -1), Err.INVALID_RECORD),
    "delta too low": (patched(23, ">i", 1), Err.INVALID_RECORD),
    "delta negative": (patched(23, ">i", -1), Err.INVALID_RECORD),
    "both too high": (patched(57, ">i", 4, patched(23, ">i", 3)), Err.INVALID_RECORD),
    "both too low": (patched(57, ">i", 2, patched(23, ">i", 1)), Err.INVALID_RECORD),
    "control": (some_batch(0, control=True), Err.INVALID_RECORD),
    "id without sequence": (some_batch(0, producer_id=5, producer_epoch=0), Err.INVALID_RECORD),
    "record length": (with_body(b"\x7e" + bytes(9)), Err.INVALID_RECORD),
    "key length": (with_body(b"\x0c\0\0\0\x40\1\0"), Err.INVALID_RECORD),
    "header count": (with_body(b"\x0c\0\0\0\1\1\x40"), Err.INVALID_RECORD),
    "gzip with a wrong count": (patched(57, ">i", 4, patched(23, ">i", 3, some_batch(0, 3, codec=1))), Err.INVALID_RECORD),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """Fails if a malformed batch is appended, or refused with another code than Apache Kafka's."""
    data, code = REFUSED[name]
    fs = MemFs()
    log = open_log(fs, CONFIG)
    before = fs.snapshot()
    with pytest.raises(KafkaError) as refusal:
        log.append_leader(memoryview(data), 0, NOW)
    assert refusal.value.code == code
    assert not isinstance(refusal.value, RecordValidationError)  # a code alone on the wire
    assert fs.snapshot() == before and log.end_offset == 0


ACCEPTED = {
    "three bytes behind": GOOD + b"abc",
    "incomplete batch behind": GOOD + GOOD[:-1],
    "leader epoch": patched(12, ">i", 99),
    "unknown attributes": patched(21, ">h", 0x7F80),
    "delete horizon": patched(21, ">h", 0x40),
    "log append time": patched(21, ">h", 0x08),
    "wrong maximum": patched(35, ">q", 12345),
    "no maximum": patched(35, ">q", -1),
    "timestamp -2": build([(b"k", b"v")], timestamp_ms=-2),
    "odd offset deltas": with_body(b"\x0e\0\0\x14\1\2v\0"),
    "record attributes": with_body(b"\x0e\x55\0\0\1\2v\0"),
    "id with epoch -1": some_batch(0, producer_id=5, producer_epoch=-1, base_sequence=3),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    """Fails if we are stricter than Apache Kafka, or leave an untrue timestamp or checksum in the log (I-VALID-2)."""
    log = open_log(MemFs(), CONFIG)
    info = log.append_leader(ACCEPTED[name], 4, NOW)
    data = log.read(0, 1 << 20, log.end_offset)
    header = BatchHeader.parse(data)
    assert (info.base_offset, header.leader_epoch, header.size) == (0, 4, len(data))
    assert crc_ok(data, 0, header) and not header.is_log_append_time
    assert header.max_timestamp == info.max_timestamp == max(-1, *(r.timestamp for r in records(data))) or (
        name == "log append time"  # the records' own timestamps, hidden by the bit, come to light again
    )


def test_a_good_batch_keeps_every_byte_but_place_and_epoch() -> None:
    """Fails if the hot path rewrites anything else (law 4)."""
    log = open_log(MemFs(), CONFIG)
    log.append_leader(GOOD, 9, NOW)
    data = log.read(0, 1 << 20, 3)
    assert data[8:12] + data[16:] == GOOD[8:12] + GOOD[16:]


def test_a_stream_that_only_java_reads_is_written_anew() -> None:
    """Fails if bytes behind the end of a compressed stream, at which other clients stumble, are stored (I-VALID-3)."""
    one = some_batch(0, 3, codec=1)
    longer = bytearray(one + b"behind")
    struct.pack_into(">i", longer, 8, len(longer) - 12)
    log = open_log(MemFs(), CONFIG)
    log.append_leader(patched(21, ">h", 1, bytes(longer)), 4, NOW)
    data = log.read(0, 1 << 20, log.end_offset)
    assert b"behind" not in data and records(data) == records(one) and crc_ok(data, 0, BatchHeader.parse(data))


def test_which_batches_belong_to_a_transaction() -> None:
    """Fails if a batch of an idempotent producer passes for one of a transaction, or the other way round."""
    for transactional in (False, True):
        batch = some_batch(0, 1, producer_id=7, producer_epoch=0, base_sequence=0, transactional=transactional)
        assert is_transactional(batch) is transactional


def test_the_first_fault_decides() -> None:
    """Fails if the order of the checks differs from Kafka's: base offset, size, checksum, counts."""
    wrong_all = patched(17, ">I", 1, patched(57, ">i", 9, patched(0, ">q", 5)), valid=False)
    small = replace(CONFIG, max_message_bytes=50)
    for data, code in [(wrong_all, Err.INVALID_RECORD), (patched(0, ">q", 0, wrong_all, valid=False), Err.MESSAGE_TOO_LARGE)]:
        with pytest.raises(KafkaError) as refusal:
            open_log(MemFs(), small).append_leader(data, 0, NOW)
        assert refusal.value.code == code
    with pytest.raises(KafkaError) as refusal:
        open_log(MemFs(), CONFIG).append_leader(patched(0, ">q", 0, wrong_all, valid=False), 0, NOW)
    assert refusal.value.code == Err.CORRUPT_MESSAGE


def test_size_limit_is_inclusive() -> None:
    """Fails if max.message.bytes refuses a batch of exactly that size, or takes one byte more."""
    log = open_log(MemFs(), replace(CONFIG, max_message_bytes=len(GOOD)))
    log.append_leader(GOOD, 0, NOW)
    log.config = replace(CONFIG, max_message_bytes=len(GOOD) - 1)
    with pytest.raises(KafkaError) as refusal:
        log.append_leader(GOOD, 0, NOW)
    assert refusal.value.code == Err.MESSAGE_TOO_LARGE


def test_larger_than_a_segment() -> None:
    """Fails if a batch above segment.bytes is not RECORD_LIST_TOO_LARGE."""
    with pytest.raises(KafkaError) as refusal:
        open_log(MemFs(), replace(CONFIG, segment_bytes=100)).append_leader(some_batch(0, 9), 0, NOW)
    assert refusal.value.code == Err.RECORD_LIST_TOO_LARGE


def test_zstd_needs_produce_7() -> None:
    """Fails if Produce v6 may bring zstd, which its clients cannot read."""
    data = some_batch(0, codec=4)
    with pytest.raises(KafkaError) as refusal:
        open_log(MemFs(), CONFIG).append_leader(data, 0, NOW, request_version=6)
    assert refusal.value.code == Err.UNSUPPORTED_COMPRESSION_TYPE
    assert open_log(MemFs(), CONFIG).append_leader(data, 0, NOW, request_version=7).count == 2


def test_timestamps_out_of_range_name_their_records() -> None:
    """Fails if code, text or record_errors of a far timestamp differ from Kafka's."""
    day = 86_400_000
    rows = [(b"k", b"v", [], NOW), (b"k", b"v", [], NOW + 10 * day), (b"k", b"v", [], -1)]
    with pytest.raises(RecordValidationError) as refusal:
        open_log(MemFs(), CONFIG).append_leader(build(rows, timestamp_ms=0), 0, NOW)
    error = refusal.value
    assert error.code == Err.INVALID_TIMESTAMP
    assert error.message == "One or more records have been rejected due to invalid timestamp"
    low, high = NOW - ((1 << 63) - 1), NOW + 3_600_000
    assert error.record_errors == [
        (1, f"Timestamp {NOW + 10 * day} of message with offset 1 is out of range. The timestamp should be within "
            f"[{low}, {high}]")]  # fmt: skip
    old = replace(CONFIG, message_timestamp_before_max_ms=day)
    with pytest.raises(RecordValidationError):
        open_log(MemFs(), old).append_leader(build([(b"k", b"v")], timestamp_ms=NOW - day - 1), 0, NOW)
    assert open_log(MemFs(), old).append_leader(build([(b"k", b"v")], timestamp_ms=NOW - day), 0, NOW)
    without = [(b"k", b"v", [], NOW), (b"k", b"v", [], -1)]  # -1: the record has none, so it is not too old
    assert open_log(MemFs(), old).append_leader(build(without, timestamp_ms=0), 0, NOW)


def test_far_timestamp_far_into_a_batch_is_found() -> None:
    """Fails if only the first records' timestamps are looked at."""
    rows = [(b"k", b"v", [], NOW + (i == 90) * 86_400_000) for i in range(100)]
    with pytest.raises(RecordValidationError) as refusal:
        open_log(MemFs(), CONFIG).append_leader(build(rows, timestamp_ms=0), 0, NOW)
    assert [index for index, _ in refusal.value.record_errors] == [90]


def test_compacted_topics_need_keys() -> None:
    """Fails if a keyless record gets into a compacted topic, or the refusal's text differs from Kafka's."""
    compacted = replace(CONFIG, cleanup_policy="compact,delete")
    rows = [(b"k", b"v"), (None, b"v")]
    text = "Compacted topic cannot accept message without key in topic partition flights-3"
    for codec in (0, 3):
        with pytest.raises(RecordValidationError) as refusal:
            open_log(MemFs(), compacted).append_leader(build(rows, timestamp_ms=NOW, codec=codec), 0, NOW)
        assert refusal.value.code == Err.INVALID_RECORD and refusal.value.record_errors == [(1, text)]
        assert refusal.value.message == (
            "One or more records have been rejected due to 1 record errors in total, and only showing the first three "
            f"errors at most: [RecordError(batchIndex=1, message='{text}')]")  # fmt: skip


@pytest.mark.parametrize("codec", range(5))
def test_log_append_time(codec: int) -> None:
    """Fails if the broker's clock is not in every record, with a checksum that fits."""
    log = open_log(MemFs(), replace(CONFIG, message_timestamp_type="LogAppendTime"))
    info = log.append_leader(build([(b"k", b"v", [], 5), (b"k", b"w", [], 9)], timestamp_ms=0, codec=codec), 0, NOW + 7)
    data = log.read(0, 9999, 2)
    assert info.log_append_time == info.max_timestamp == NOW + 7
    assert [r.timestamp for r in records(data)] == [NOW + 7] * 2 and crc_ok(data, 0, BatchHeader.parse(data))
    assert BatchHeader.parse(data).is_log_append_time and BatchHeader.parse(data).codec == codec


def test_log_append_time_from_a_client_is_refused_where_the_topic_uses_it() -> None:
    """Fails if a client may forge the broker's timestamps."""
    log = open_log(MemFs(), replace(CONFIG, message_timestamp_type="LogAppendTime"))
    with pytest.raises(RecordValidationError) as refusal:
        log.append_leader(build([(b"k", b"vv")], timestamp_ms=5, log_append_time=True), 0, NOW)
    assert refusal.value.record_errors == [
        (0, "Invalid timestamp type in message DefaultRecord(offset=0, timestamp=5, key=1 bytes, value=2 bytes). "
            "Producer should not set timestamp type to LogAppendTime.")]  # fmt: skip


@pytest.mark.parametrize(("topic", "codec"), [("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4), ("uncompressed", 0)])
def test_compression_type_of_the_topic(topic: str, codec: int) -> None:
    """Fails if the topic's own compression.type is not used, or recompressing loses part of the batch."""
    log = open_log(MemFs(), replace(CONFIG, compression_type=topic))
    for sent in range(5):
        batch = some_batch(sent, producer_id=3, producer_epoch=1, base_sequence=sent * 2, codec=sent)
        info = log.append_leader(batch, 0, NOW)
        data = log.read(info.base_offset, 1, log.end_offset)
        header = BatchHeader.parse(data)
        assert header.codec == codec and (header.producer_id, header.base_sequence) == (3, sent * 2)
        assert [(r.key, r.value, r.timestamp) for r in records(data)] == [
            (r.key, r.value, r.timestamp) for r in records(batch)]  # fmt: skip


def test_records_of_a_batch_that_is_written_anew_are_not_in_memory_together() -> None:
    """Fails if a batch of a few KB becomes as many objects as it has records: here 6,000, of 250 bytes each."""
    sent = build([(b"k", b"")] * 6_000, timestamp_ms=NOW, codec=compression.GZIP)
    log = open_log(MemFs(), LogConfig(compression_type="zstd"))
    assert len(sent) < 1 << 15
    assert peak(lambda: log.append_leader(sent, 0, NOW)) < 1 << 20
    assert [(r.offset, r.key) for r in records(stored(log)[0])] == [(number, b"k") for number in range(6_000)]


def test_own_batches_are_not_measured_by_client_rules() -> None:
    """Fails if a coordinator or the quorum cannot write control batches, or a malformed own batch passes."""
    log: Log = open_log(MemFs(), CONFIG)
    for origin in ("raft", "coordinator"):
        log.append_leader(build([(b"\0\0\0\2", b"\0\0")], timestamp_ms=NOW, control=True), 1, NOW, origin=origin)
        with pytest.raises(KafkaError):
            log.append_leader(GOOD + b"x", 1, NOW, origin=origin)
    assert log.end_offset == 2
