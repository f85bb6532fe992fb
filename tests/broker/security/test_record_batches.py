"""Wrong record batches through Produce: the error code of Apache Kafka, a log that did not change, bounded memory."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.producer import ProduceRequest
from kafka.record import MemoryRecords

from minikafka.log import LogConfig, compression
from minikafka.log.batch import HEADER, HEADER_SIZE, BatchHeader, batches, build, records
from minikafka.log.validate import MOST_RECORDS, client_batch
from minikafka.proof.chaos.one_broker import OneBroker, RawClient
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.env import EPOCH_MS
from tests import requests
from tests.broker.security.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, cases, checked, flipped, with_body, with_field
from tests.broker.security.odd_batches import COUNT, ODD, odd_batches, spelled
from tests.broker.security.test_fuzz_in_process import broken
from tests.wire.conftest import Place
from tests.wire.test_produce import end, produce

MEBIBYTE, NOW = 1 << 20, 1_700_000_000_000

# Where we answer otherwise than Kafka, on purpose.
OURS = {
    "endless varint": Err.INVALID_RECORD,  # there an IllegalArgumentException that nobody catches: -1
    "gzip around negative record length": Err.INVALID_RECORD,  # taken there, though no consumer can read it
    "record length one too small, gzip": Err.INVALID_RECORD,
    "record length one too large, gzip": Err.INVALID_RECORD,
    "record length negative, gzip": Err.INVALID_RECORD,
}


def expected(file: str, engine: str = "minikafka") -> dict[str, int]:
    lines = (Path(__file__).parent / file).read_text().splitlines()
    rows = [line.rsplit(": ", 1) for line in lines if not line.startswith("#")]
    return {name: int(OURS.get(name, code) if engine == "minikafka" else code) for name, code in rows}


@pytest.mark.parametrize("batches, file", [(cases, "verdicts.txt"), (odd_batches, "verdicts_odd.txt")])
def test_every_wrong_batch_gets_kafkas_code_and_leaves_no_trace(at: Place, engine: str, batches: Any, file: str) -> None:
    """Fails if a check is missing, comes in another order than Kafka's, or if what is refused moves the log's end."""
    wanted = expected(file, engine)
    got, log_end = {}, 0
    for name, batch in batches(int(time.time() * 1000)):
        answer = produce(at, batch)
        got[name] = answer.error_code
        if answer.error_code == 0:
            assert answer.base_offset == log_end, f"something before {name!r} was appended, though it was refused"
            log_end += BatchHeader.parse(batch).count
    assert {name: (code, wanted.get(name)) for name, code in got.items() if code != wanted.get(name)} == {}
    assert len(got) == len(wanted) > 80
    assert end(at) == log_end


# --- bombs ------------------------------------------------------------------------------------------------------------


def of_zeros(codec: int, size: int) -> bytes:
    """`size` zero bytes, compressed as small as the codec can."""
    if codec == SNAPPY:
        block = compression.compress(SNAPPY, bytes(size))
        return block if len(block) < MEBIBYTE else block[:MEBIBYTE]
    return compression.compress(codec, bytes(size))


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: with_body(build([(b"k", b"v")], timestamp_ms=0), of_zeros(GZIP, 200 * MEBIBYTE), GZIP),
    "lz4": lambda: with_body(build([(b"k", b"v")], timestamp_ms=0), of_zeros(LZ4, 200 * MEBIBYTE), LZ4),
    "zstd": lambda: with_body(build([(b"k", b"v")], timestamp_ms=0), of_zeros(ZSTD, 200 * MEBIBYTE), ZSTD),
    "snappy that claims 2 GiB": lambda: with_body(
        build([(b"k", b"v")], timestamp_ms=0), b"\xff\xff\xff\xff\x07" + bytes(100), SNAPPY),
    "snappy block that claims 1 GiB": lambda: with_body(
        build([(b"k", b"v")], timestamp_ms=0),
        compression.XERIAL_HEADER + struct.pack(">i", 20) + b"\x80\x80\x80\x80\x04" + bytes(15), SNAPPY),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_goes_off(name: str) -> None:
    """Fails if records may unpack to more than the cap, or if memory is taken for a size that is only claimed."""
    batch = BOMBS[name]()
    cap = compression.limit(len(batch))
    tracemalloc.start()
    with pytest.raises(KafkaError) as refusal:
        client_batch(batch, LogConfig(max_message_bytes=16 * MEBIBYTE), "t-0", 0, 9)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refusal.value.code == Err.MESSAGE_TOO_LARGE
    assert most < 3 * cap + 16 * MEBIBYTE


def test_records_without_number_are_refused_unseen() -> None:
    """Fails if the time for a batch is not bounded: ten million records of seven bytes compress to nothing."""
    count = MOST_RECORDS + 1
    body = compression.compress(GZIP, b"\x0c\0\0\0\1\1\0" * count)
    batch = with_body(build([(None, None)], timestamp_ms=0), body, GZIP)
    batch = with_field(with_field(batch, "count", count), "last offset delta", count - 1)
    with pytest.raises(KafkaError) as refusal:
        client_batch(batch, LogConfig(max_message_bytes=16 * MEBIBYTE), "t-0", 0, 9)
    assert refusal.value.code == Err.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("records_, headers", [(1, 10_001), (1, 3_000_000), (100, 1000)])
@pytest.mark.parametrize("odd", [False, True])
def test_headers_without_number_are_refused(records_: int, headers: int, odd: bool) -> None:
    """Fails if the time for a few records is not bounded: three million headers of two bytes compress to nothing."""
    count = spelled(headers)
    one = b"\0\0%b\1\1" + count + b"\0\1" * headers
    rows = [one.replace(b"%b", spelled(index)) for index in range(records_)]
    if odd:
        rows[0] = b"\5" + rows[0][1:]
    body = compression.compress(GZIP, b"".join(spelled(len(row)) + row for row in rows))
    batch = with_body(build([(None, None)] * records_, timestamp_ms=0), body, GZIP)
    with pytest.raises(KafkaError) as refusal:
        client_batch(batch, LogConfig(max_message_bytes=16 * MEBIBYTE), "t-0", 0, 9)
    assert refusal.value.code in (Err.INVALID_RECORD, Err.MESSAGE_TOO_LARGE)


def test_errors_without_number_are_not_listed() -> None:
    """Fails if each of a hundred thousand bad timestamps becomes an object and a text in the answer."""
    batch = build([(None, None, [], 1 << 60)] * 100_000, timestamp_ms=0, codec=GZIP)
    with pytest.raises(KafkaError) as refusal:
        client_batch(batch, LogConfig(), "t-0", 0, 9)
    assert refusal.value.code == Err.INVALID_TIMESTAMP
    assert len(refusal.value.record_errors) == 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_thousands_of_empty_streams_are_refused(codec: int) -> None:
    """Fails if a batch of tiny streams costs the square of its size."""
    body = compression.compress(codec, b"") * 20_000
    with pytest.raises(compression.DecompressionError, match="too many"):
        compression.decompress(codec, body)


# --- at random, in virtual time -----------------------------------------------------------------------------------------


def request(batch: bytes) -> ProduceRequest:
    return requests.produce("t", batch, acks=1)


async def put(client: RawClient, batch: bytes) -> Any:
    return (await client.request(request(batch), 9)).responses[0].partition_responses[0]


def stored(world: OneBroker) -> Iterator[tuple[BatchHeader, bytes]]:
    log = world.broker(1).replicas.get("t", 0).log
    data = log.read(log.start_offset, 1 << 26, log.end_offset)
    return ((header, bytes(one)) for header, one in batches(data))


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_are_refused_or_can_be_read(seed: int, caplog: Any) -> None:
    """Fails if a batch is taken that consumers cannot read, or if one that is refused leaves anything in the log."""

    async def story(world: OneBroker) -> tuple[int, int]:
        client, taken, refused = await world.connect(), 0, 0
        for batch in flipped(EPOCH_MS, seed):
            before = world.log_end
            answer = await put(client, batch)
            assert world.log_end - before == (0 if answer.error_code else BatchHeader.parse(batch).count)
            assert answer.error_code in (0, -1, 10, 32, 87)
            taken, refused = taken + (answer.error_code == 0), refused + (answer.error_code != 0)
        assert sum(len(records(one)) for _, one in stored(world)) == world.log_end
        return taken, refused

    taken, refused = OneBroker(seed).play(story)
    assert broken(caplog) == []
    assert taken > 20 and refused > 20


@pytest.mark.parametrize("seed", range(5))
def test_random_headers_are_refused_or_stored_well(seed: int, caplog: Any) -> None:
    """Fails if any 61 bytes with a right checksum break the append, the producer states, or the log they get into."""

    async def story(world: OneBroker) -> int:
        rng = random.Random(seed)
        client, taken = await world.connect(), 0
        good = build([(b"k", b"v")], timestamp_ms=EPOCH_MS, producer_id=5, producer_epoch=0, base_sequence=0)
        fields = list(HEADER.unpack_from(good))
        for _ in range(300):
            values = list(fields)
            for number in rng.sample(range(13), rng.randint(1, 2)):
                bits = {0: 64, 3: 8, 5: 16, 7: 64, 8: 64, 9: 64, 10: 16}.get(number, 32)
                if number not in (1, 4):
                    values[number] = rng.choice([0, 1, -1, rng.randrange(-(1 << bits - 1), 1 << bits - 1)])
            values[5] &= 0xFFFF
            before = world.log_end
            answer = await put(client, checked(struct.pack(">qiibIHiqqqhii", *values) + good[HEADER_SIZE:]))
            new = answer.error_code == 0 and answer.base_offset == before  # else a repeat of an earlier batch
            assert world.log_end - before == new
            taken += new
        assert [header.base_offset for header, _ in stored(world)] == list(range(world.log_end))
        return taken

    assert OneBroker(seed).play(story) > 5
    assert broken(caplog) == []


# --- what is taken can be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression_type", ["producer", "zstd", "uncompressed"])
def test_what_is_taken_is_stored_as_every_client_reads_it(compression_type: str) -> None:
    """Fails if an odd record far behind the first is stored as it came: readers would fail over it, or lose records."""
    taken, config = 0, LogConfig(compression_type=compression_type)
    for name, batch in odd_batches(NOW):
        try:
            stored = bytes(client_batch(batch, config, "t-0", NOW, 9))
        except KafkaError:
            continue
        wanted = b"".join(b"value %d" % i for i in range(COUNT) if i != ODD)
        ours = records(stored)
        read = list(MemoryRecords(stored).next_batch())
        assert [r.offset for r in ours] == [r.offset for r in read] == list(range(COUNT)), name
        assert b"".join(bytes(r.value) for r in read if r.offset != ODD) == wanted, name
        assert [(r.timestamp, r.key, r.value) for r in ours] == [(r.timestamp, r.key, r.value) for r in read], name
        codec = BatchHeader.parse(stored).codec
        assert not codec or compression.unpack(codec, stored[HEADER_SIZE:])[1], name
        taken += 1
    assert taken > 50


def test_what_is_in_order_keeps_every_byte() -> None:
    """Fails if the way to look at all records writes batches anew that any client may send."""
    for codec in (NONE, GZIP, SNAPPY, LZ4, ZSTD):
        rows = [(b"k" * (i % 300), b"v" * (7 * i), [("name", b"x" * i), ("naïve", None)] * (i % 3), NOW + i * i - 1000)
                for i in range(300)]
        batch = build([(None, None), *rows], timestamp_ms=NOW, codec=codec)
        assert client_batch(batch, LogConfig(max_message_bytes=1 << 24), "t-0", NOW, 9) == batch


def test_timestamps_that_overflow_are_kept_as_kafka_reads_them() -> None:
    """Fails if a sum of a time and a delta beyond 64 bits is stored for readers that do not overflow as Java does."""
    batch = with_field(build([(b"k", b"v", [], NOW), (b"k", b"v", [], NOW + (1 << 62))], timestamp_ms=NOW), "base timestamp",
                       (1 << 63) - 1)
    config = LogConfig(message_timestamp_after_max_ms=(1 << 63) - 1, message_timestamp_before_max_ms=(1 << 63) - 1)
    stored = bytes(client_batch(batch, config, "t-0", NOW, 9))
    times = [r.timestamp for r in MemoryRecords(stored).next_batch()]
    assert times == [r.timestamp for r in records(stored)] == [(1 << 63) - 1, -(1 << 62) - 1 - (1 << 62) + (1 << 62)]
