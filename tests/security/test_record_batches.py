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
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.log import LogConfig, compression
from minikafka.log.batch import HEADER, HEADER_SIZE, Header, batches, build, records
from minikafka.log.records import INSPECTED, MalformedRecord
from minikafka.log.validate import MOST_RECORDS, client_batch
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.env import EPOCH_MS
from tests.security.batches import GZIP, LZ4, SNAPPY, ZSTD, cases, checked, flipped, with_body, with_field
from tests.security.test_fuzz_in_process import broken
from tests.security.world import Client, World
from tests.wire.conftest import Place
from tests.wire.test_produce import end, produce

MEBIBYTE = 1 << 20

# Where we answer otherwise than Kafka, on purpose.
OURS = {
    "endless varint": Err.INVALID_RECORD,  # there an IllegalArgumentException that nobody catches: -1
    "gzip around negative record length": Err.INVALID_RECORD,  # taken there, though no consumer can read it
}


def expected() -> dict[str, int]:
    lines = (Path(__file__).parent / "verdicts.txt").read_text().splitlines()
    rows = [line.rsplit(": ", 1) for line in lines if not line.startswith("#")]
    return {name: int(code) for name, code in rows}


@pytest.mark.judge_fast
def test_every_wrong_batch_gets_kafkas_code_and_leaves_no_trace(at: Place, engine: str) -> None:
    """Fails if a check is missing, comes in another order than Kafka's, or if what is refused moves the log's end."""
    wanted = expected() | (OURS if engine == "minikafka" else {})
    got, log_end = {}, 0
    for name, batch in cases(int(time.time() * 1000)):
        answer = produce(at, batch)
        got[name] = answer.error_code
        if answer.error_code == 0:
            assert answer.base_offset == log_end, f"something before {name!r} was appended, though it was refused"
            log_end += Header.parse(batch).count
    assert {name: (code, wanted.get(name)) for name, code in got.items() if code != wanted.get(name)} == {}
    assert len(got) == len(wanted) > 200
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
    topic = ProduceRequest.TopicProduceData
    data = topic(name="t", partition_data=[topic.PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(transactional_id=None, acks=1, timeout_ms=1000, topic_data=[data])


async def put(client: Client, batch: bytes) -> Any:
    return (await client.ask(request(batch), 9)).responses[0].partition_responses[0]


def stored(world: World) -> Iterator[tuple[Header, bytes]]:
    log = world.broker(1).replicas.get("t", 0).log
    data = log.read(log.start_offset, 1 << 26, log.end_offset)
    return ((header, bytes(one)) for header, one in batches(data))


@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_are_refused_or_can_be_read(seed: int, caplog: Any) -> None:
    """Fails if a batch is taken that consumers cannot read, or if one that is refused leaves anything in the log."""

    async def story(world: World) -> tuple[int, int]:
        client, taken, refused = await world.connect(), 0, 0
        for batch in flipped(EPOCH_MS, seed):
            before = world.log_end
            answer = await put(client, batch)
            assert world.log_end - before == (0 if answer.error_code else Header.parse(batch).count)
            assert answer.error_code in (0, -1, 10, 32, 87)
            taken, refused = taken + (answer.error_code == 0), refused + (answer.error_code != 0)
        assert sum(len(records(one)) for _, one in stored(world)) == world.log_end
        return taken, refused

    taken, refused = World(seed).play(story)
    assert broken(caplog) == []
    assert taken > 20 and refused > 20


@pytest.mark.parametrize("seed", range(5))
def test_random_headers_are_refused_or_stored_well(seed: int, caplog: Any) -> None:
    """Fails if any 61 bytes with a right checksum break the append, the producer states, or the log they get into."""

    async def story(world: World) -> int:
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

    assert World(seed).play(story) > 5
    assert broken(caplog) == []


def test_a_record_nobody_looked_into_harms_only_its_readers(caplog: Any) -> None:
    """A leader looks into the first INSPECTED records only; fails if the broker stumbles over a later one afterwards."""
    rows = [(b"k", b"v", [], EPOCH_MS)] * (INSPECTED + 1) + [(b"k", b"v", [], EPOCH_MS + 1)]
    many = build(rows, timestamp_ms=EPOCH_MS)
    body = bytearray(many[HEADER_SIZE:])
    body[-5] = 0x7E  # the last key's length
    poison = with_body(many, bytes(body))

    async def story(world: World) -> None:
        client = await world.connect()
        assert (await put(client, poison)).error_code == 0
        with pytest.raises(MalformedRecord):
            list(records(next(stored(world))[1]))
        for timestamp, code in [(EPOCH_MS, 0), (EPOCH_MS + 1, 2), (-3, 2), (-1, 0), (-2, 0)]:
            wanted = ListOffsetsRequest.ListOffsetsTopic
            row = wanted.ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=timestamp)
            answer = await client.ask(ListOffsetsRequest(
                replica_id=-1, isolation_level=0, topics=[wanted(name="t", partitions=[row])]), 7)
            assert answer.topics[0].partitions[0].error_code == code
        part = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        answer = await client.ask(FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, isolation_level=0,
            topics=[FetchRequest.FetchTopic(topic="t", partitions=[part])]), 4)
        assert answer.responses[0].partitions[0].error_code == 0
        assert (await put(client, build([(b"k", b"v")], timestamp_ms=EPOCH_MS))).base_offset == INSPECTED + 2

    World(1).play(story)
    assert broken(caplog) == []
