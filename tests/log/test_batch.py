"""Record batches: the format against kafka-python's own reader and writer, checksums, compression, hostile bytes."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from minikafka.log import BatchHeader, Record, batches, build, compression, records
from minikafka.log.batch import HEADER_SIZE, crc_ok, frames, stamp
from minikafka.log.record_validation import validate_records
from minikafka.log.records import VARLONG, MalformedRecord, decode_records, iter_places, read_varint, write_varint

CODECS = range(5)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)
DATA = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=5), DATA), max_size=3)
TIME = st.integers(-1, 1 << 45)
ROWS = st.lists(st.tuples(DATA, DATA, HEADERS, TIME), min_size=1, max_size=40)


@given(ROWS, st.sampled_from(CODECS), st.integers(0, 1 << 60), st.booleans(), st.integers(0, 100))
def test_what_is_built_is_read_back(rows: list, codec: int, base: int, control: bool, sequence: int) -> None:
    """Fails if a field of header or record is lost, shifted or mixed up on the way (I-BATCH-1)."""
    data = build(rows, base_offset=base, leader_epoch=7, timestamp_ms=0, codec=codec, producer_id=9, producer_epoch=3,
                 base_sequence=sequence, control=control, transactional=True)  # fmt: skip
    header = BatchHeader.parse(data)
    assert crc_ok(data, 0, header) and header.size == len(data)
    assert (header.base_offset, header.next_offset, header.count) == (base, base + len(rows), len(rows))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, sequence)
    assert (header.codec, header.is_control, header.is_transactional) == (codec, control, True)
    assert header.max_timestamp == max(row[3] for row in rows)
    assert records(data) == [Record(base + i, row[3], row[0], row[1], row[2]) for i, row in enumerate(rows)]


@given(ROWS, st.sampled_from(CODECS))
def test_kafka_python_reads_what_we_build(rows: list, codec: int) -> None:
    """Fails if our batches only please our own reader: kafka-python's is the independent one."""
    theirs = DefaultRecordBatch(build(rows, timestamp_ms=0, codec=codec))
    assert theirs.validate_crc()
    assert [(r.key, r.value, r.headers, r.timestamp) for r in theirs] == rows


@given(ROWS, st.sampled_from(CODECS))
def test_we_read_what_kafka_python_builds(rows: list, codec: int) -> None:
    """Fails if our reader only understands our own batches."""
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 20)
    for number, (key, value, headers, timestamp) in enumerate(rows):
        builder.append(number, max(timestamp, 0), key, value, headers)
    data = bytes(builder.build())
    assert [(r.offset, r.key, r.value, r.headers) for r in records(data)] == [
        (number, *row[:3]) for number, row in enumerate(rows)
    ]
    body = compression.decompress(codec, data[HEADER_SIZE:]) if BatchHeader.parse(data).codec else data[HEADER_SIZE:]
    assert validate_records(body, len(rows), BatchHeader.parse(data).base_timestamp).latest == max(max(r[3], 0) for r in rows)


def test_stamping_place_and_epoch_leaves_the_checksum_valid() -> None:
    """Fails if the checksum covered what the leader writes into a client's bytes (I-BATCH-2)."""
    data = bytearray(build([(b"k", b"v")], timestamp_ms=1))
    stamp(data, 1 << 40, 77)
    header = BatchHeader.parse(data)
    assert (header.base_offset, header.leader_epoch) == (1 << 40, 77) and crc_ok(data, 0, header)


def test_every_flipped_bit_behind_the_checksum_is_found() -> None:
    """Fails if part of the batch is left out of the checksum."""
    data = build([(b"key", b"value", [("h", b"x")], 5)], timestamp_ms=1)
    for at in range(17, len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            assert not crc_ok(broken, 0, BatchHeader.parse(broken)), (at, bit)


def test_batches_stop_at_one_that_is_cut_short() -> None:
    """Fails if a fetch's trailing partial batch is handed on, or a lying length read beyond the buffer."""
    one, two = build([(b"a", b"1")], timestamp_ms=1), build([(b"b", b"2")], timestamp_ms=2)
    for cut in range(len(two)):
        assert [bytes(data) for _, data in batches(one + two[:cut])] == [one]
    assert [bytes(data) for _, data in batches(one + two)] == [one, two]
    for length in (-1, 0, 48, 1 << 30):
        assert list(frames(one[:8] + struct.pack(">i", length) + one[12:])) == []


@given(I64)
def test_varints(value: int) -> None:
    """Fails if zig-zag or sign handling is off anywhere in 64 bits."""
    out = bytearray()
    write_varint(out, value)
    assert read_varint(bytes(out), 0, VARLONG) == (value, len(out)) and len(out) <= 10


def test_endless_varint_is_refused() -> None:
    """Fails if a varint may be longer than ten bytes."""
    with pytest.raises(MalformedRecord, match="too long"):
        read_varint(b"\xff" * 11, 0, VARLONG)


@settings(max_examples=300)
@given(ROWS, st.data())
def test_foreign_bytes_raise_nothing_but_malformed(rows: list, data: st.DataObject) -> None:
    """Fails if some bytes crash a reader, or if two of them differ (I-RECORD-1, I-VALREC-1, I-VALREC-2)."""
    body = bytearray(build(rows, timestamp_ms=0)[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    count = data.draw(st.sampled_from([len(rows), len(rows) + 1, max(0, len(rows) - 1)]))
    try:
        read = decode_records(body, count, 0, 0, None)
    except MalformedRecord:
        read = None
    try:
        places = list(iter_places(body, count, 0, 0, None))
    except MalformedRecord:
        places = None
    assert read is None or places == [(r.offset, r.timestamp) for r in read]
    try:
        seen = validate_records(body, count, 0)
    except MalformedRecord:
        assert read is None
        return
    assert read is not None
    assert seen.latest == max((r.timestamp for r in read), default=-(1 << 63))
    assert seen.earliest <= min((r.timestamp for r in read), default=(1 << 63) - 1)
    assert seen.keyless == any(r.key is None for r in read)
    if seen.ordinary:
        assert [r.offset for r in read] == list(range(count))
        again = build([(r.key, r.value, r.headers, r.timestamp) for r in read], timestamp_ms=0)
        assert records(again) == read


@pytest.mark.parametrize("body", [b"\x0e\0\0\0\1\2v", b"\x12\0\0\0\1\2v\0", b"\x02\0\0\0\1\2v\0", b"\x01\0\0\0\1\2v\0"])
def test_a_record_that_does_not_fit_has_no_place(body: bytes) -> None:
    """Fails if a record is told of that ends behind the bytes, or before its own offset (I-RECORD-1)."""
    assert list(iter_places(b"\x0e\0\0\0\1\2v\0", 1, 5, 7, None)) == [(5, 7)]
    with pytest.raises(MalformedRecord):
        list(iter_places(body, 1, 5, 7, None))


def test_a_time_beyond_64_bits_is_javas() -> None:
    """Fails if a look-up by time compares with a sum that no client is shown (I-RECORD-2)."""
    body = b"\x0e\0\2\0\1\2v\0"
    [record] = decode_records(body, 1, 0, (1 << 63) - 1, None)
    assert list(iter_places(body, 1, 0, (1 << 63) - 1, None)) == [(0, record.timestamp)] == [(0, -(1 << 63))]


def one_record(attributes: int = 0, offset: int = 0, key: int = -1, value: bytes = b"v", extra: bytes = b"") -> bytes:
    """The bytes of a record as they come, `key` being the length that stands for null."""
    body = bytearray([attributes])
    for number in (0, offset, key, len(value)):
        write_varint(body, number)
    body += value + b"\0" + extra
    out = bytearray()
    write_varint(out, len(body))
    return bytes(out + body)


ODD = [{"attributes": 1}, {"attributes": 255}, {"offset": 3}, {"offset": -1}, {"key": -2}, {"key": -64}]


@pytest.mark.parametrize("odd", ODD)
def test_what_clients_read_differently_is_not_ordinary(odd: dict[str, int]) -> None:
    """Fails if a record that Java reads, and other clients misread or refuse, is stored as it came (I-VALREC-2)."""
    assert validate_records(one_record(), 1, 0).ordinary
    body = one_record(**odd)
    assert len(decode_records(body, 1, 0, 0, None)) == 1
    assert not validate_records(body, 1, 0).ordinary


@pytest.mark.parametrize("lie", [b"\x01", b"\x7f", b"\x0a", b"\xff\xff\xff\xff\x0f"])
def test_lengths_that_lie_far_into_a_batch_are_found(lie: bytes) -> None:
    """Fails if far behind the first records a negative, tiny or huge length is followed."""
    body = build([(b"k", b"v")] * 40, timestamp_ms=0)[HEADER_SIZE:]
    size = len(body) // 40
    at = size * 30
    with pytest.raises(MalformedRecord):
        validate_records(body[:at] + lie + body[at + len(lie) :], 40, 0)


def test_a_negative_length_is_no_length() -> None:
    """Fails if far behind the first records the sign of a length is dropped: -64 would pass for 63."""
    body = build([(b"k", b"v" * 55)] * 40, timestamp_ms=0)[HEADER_SIZE:]
    size, at = len(body) // 40, len(body) // 40 * 30
    assert body[at] == (size - 1) * 2
    with pytest.raises(MalformedRecord):
        validate_records(body[:at] + bytes([body[at] + 1]) + body[at + 1 :], 40, 0)


@given(st.binary(max_size=3000), st.sampled_from([1, 2, 3, 4]))
def test_codecs_round_trip(data: bytes, codec: int) -> None:
    """Fails if a codec loses bytes, also of nothing at all."""
    assert compression.decompress(codec, compression.compress(codec, data)) == data


@given(st.binary(max_size=200), st.sampled_from([1, 2, 3, 4, 5, 7]))
def test_garbage_for_a_codec_raises_its_error(data: bytes, codec: int) -> None:
    """Fails if a codec's own exception escapes (I-ZIP-2)."""
    try:
        out = compression.decompress(codec, data)
    except (compression.DecompressionError, compression.TooLarge):
        return
    assert (isinstance(out, bytes) and codec in (2, 4)) or compression.compress(codec, out)


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_every_truncation_of_a_stream_is_an_error(codec: int) -> None:
    """Fails if a stream that ends early passes for a shorter one."""
    whole = compression.compress(codec, bytes(range(256)) * 4)
    for cut in range(1, len(whole)):
        try:
            out = compression.decompress(codec, whole[:cut])
        except compression.DecompressionError:
            continue
        assert codec == 4 or out == bytes(range(256)) * 4  # zstd's reader may end between blocks; lz4's end mark


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_refused_at_the_cap(codec: int) -> None:
    """Fails if a batch may unpack to more than its cap (I-ZIP-1)."""
    bomb = compression.compress(codec, bytes(80 << 20))
    cap = compression.limit(len(bomb))
    assert cap < 80 << 20
    with pytest.raises(compression.TooLarge):
        compression.decompress(codec, bomb)


def test_a_snappy_block_that_claims_gigabytes_costs_nothing() -> None:
    """Fails if the declared length is allocated before it is checked (CVE-2023-34455)."""
    claim = b"\xff\xff\xff\xff\x0f" + b"\0" * 20
    with pytest.raises(compression.TooLarge):
        compression.decompress(2, compression.XERIAL_HEADER + struct.pack(">i", len(claim)) + claim)


@pytest.mark.parametrize("size", [-1, -4, -25, 26, 1 << 30])
def test_a_snappy_block_of_a_wrong_size_is_an_error(size: int) -> None:
    """Fails if a block that claims to end before it begins, or behind the batch, is read in some other way, or without
    end."""
    block = compression.compress(2, b"x" * 400)[len(compression.XERIAL_HEADER) + 4 :]
    assert len(block) == 25
    with pytest.raises(compression.DecompressionError):
        compression.decompress(2, compression.XERIAL_HEADER + struct.pack(">i", size) + block)


def test_bytes_after_a_gzip_stream_are_accepted_as_kafka_does() -> None:
    """Fails if trailing bytes make a gzip batch an error."""
    assert compression.decompress(1, gzip.compress(b"records") + b"trailing") == b"records"
    with pytest.raises(compression.DecompressionError):
        compression.decompress(1, zlib.compress(b"no gzip header"))
