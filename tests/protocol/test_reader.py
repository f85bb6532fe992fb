"""Our strict reader against kafka-python's codec: equal where the bytes are good, an error where they are not."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.api_message import ApiMessage

from minikafka.protocol.codec import REQUESTS, RESPONSES, encode_request, parse_header
from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.reader import read_message, read_uvarint

MESSAGES = [*REQUESTS.values(), *RESPONSES.values()]


def random_value(field: Any, version: int, rng: random.Random) -> Any:
    """A random value of `field`, null where the version allows it."""
    if field.nullable_for_version_q(version) and rng.random() < 0.3:
        return None
    if field.is_array():
        if field.is_struct_array():
            return [random_struct(field.array_of, version, rng) for _ in range(rng.randrange(3))]
        return [random_simple(field.array_of.type_str, rng) for _ in range(rng.randrange(3))]
    if field.is_struct():
        return random_struct(field, version, rng)
    return random_simple(field.type_str, rng)


def random_simple(kind: str, rng: random.Random) -> Any:
    if kind in ("int8", "int16", "int32", "int64"):
        bits = int(kind[3:]) - 1
        return rng.randrange(-(1 << bits), 1 << bits)
    simple = {
        "uint16": lambda: rng.randrange(1 << 16),
        "float64": lambda: rng.random(),
        "bool": lambda: rng.random() < 0.5,
        "uuid": lambda: uuid.UUID(int=rng.getrandbits(128)),
        "bitfield": lambda: {rng.randrange(31)},
        "string": lambda: "".join(rng.choice("aé漢") for _ in range(rng.randrange(200))),
        "bytes": lambda: rng.randbytes(rng.randrange(300)),
        "records": lambda: rng.randbytes(rng.randrange(300)),
    }
    return simple[kind]()


def random_struct(struct: Any, version: int, rng: random.Random) -> Any:
    fields = [f for f in struct._fields if f.for_version_q(version)]
    return struct.data_class(version=version, **{f.name: random_value(f, version, rng) for f in fields})


def body(message: ApiMessage, version: int) -> bytes:
    return bytes(message.encode(version=version))


def samples(cls: type[ApiMessage]) -> Iterator[tuple[int, ApiMessage]]:
    """Five messages of each version, by chance."""
    rng = random.Random(cls.name)
    low, high = cls.valid_versions
    for version in range(low, high + 1):
        for _ in range(5):
            fields = [f for f in cls._struct._fields if f.for_version_q(version)]
            yield version, cls(version=version, **{f.name: random_value(f, version, rng) for f in fields})


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.name)
def test_reads_what_the_codec_writes(cls: type[ApiMessage]) -> None:
    """Fails if any field of any version is read at another place, with another type or another null."""
    for version, message in samples(cls):
        data = body(message, version)
        ours = read_message(cls, version, memoryview(data))
        assert body(ours, version) == data


@pytest.mark.parametrize("cls", list(REQUESTS.values()), ids=lambda cls: cls.name)
def test_every_cut_is_refused(cls: type[ApiMessage]) -> None:
    """Fails if a request that lacks its last bytes is taken for a whole one (I-READ-3)."""
    rng = random.Random(cls.name)
    version = cls.valid_versions[1]
    fields = [f for f in cls._struct._fields if f.for_version_q(version)]
    data = body(cls(version=version, **{f.name: random_value(f, version, rng) for f in fields}), version)
    for end in range(len(data)):
        with pytest.raises(ProtocolError):
            read_message(cls, version, memoryview(data)[:end])


def test_random_bytes_raise_only_protocol_errors() -> None:
    """Fails if garbage can raise anything else than ProtocolError, or hang (I-READ-1, I-READ-3)."""
    rng = random.Random(7)
    refused = 0
    for _ in range(4000):
        cls = rng.choice(list(REQUESTS.values()))
        version = rng.randrange(cls.valid_versions[0], cls.valid_versions[1] + 1)
        try:
            read_message(cls, version, memoryview(rng.randbytes(rng.randrange(60))))
        except ProtocolError:
            refused += 1
    assert refused > 1000


def test_negative_length_of_a_nullable_array_is_null() -> None:
    """Metadata with array length -2 means every topic, as for Kafka."""
    request = read_message(REQUESTS[3], 1, memoryview(b"\xff\xff\xff\xfe"))
    assert request.topics is None


def test_negative_length_of_another_array_is_refused() -> None:
    with pytest.raises(ProtocolError, match="must not be null"):
        read_message(REQUESTS[19], 2, memoryview(b"\xff\xff\xff\xfe" + b"\0" * 5))


def test_a_claimed_collection_is_not_allocated() -> None:
    """Fails if a list of 2^31-1 elements is begun before the bytes are counted (I-READ-1)."""
    with pytest.raises(ProtocolError, match="Tried to allocate a collection of size 2147483647"):
        read_message(REQUESTS[3], 1, memoryview(b"\x7f\xff\xff\xff" + b"\0" * 8))


def test_varints_are_java_ints_of_at_most_five_bytes() -> None:
    assert read_uvarint(memoryview(b"\xff\xff\xff\xff\x0f"), 0) == (-1, 5)
    with pytest.raises(ProtocolError, match="longer than 5"):
        read_uvarint(memoryview(b"\xff\xff\xff\xff\xff\x01"), 0)


def test_record_sets_are_views_not_copies() -> None:
    """Fails if Produce copies its records on the way in."""
    cls = REQUESTS[0]
    partition = cls.TopicProduceData.PartitionProduceData(version=9, index=0, records=b"x" * 100)
    topic = cls.TopicProduceData(version=9, name="t", partition_data=[partition])
    data = body(cls(version=9, acks=-1, timeout_ms=1, topic_data=[topic]), 9)
    records = read_message(cls, 9, memoryview(data)).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview) and records.obj is data


def test_header_of_an_unknown_version_is_read() -> None:
    """ApiVersions 99 must get far enough to be answered as version 0 (KIP-511)."""
    frame = b"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x02me\x00"
    header = parse_header(memoryview(frame))
    assert (header.api_key, header.version, header.correlation_id, header.client_id) == (18, 99, 7, "me")


def test_headers_round_trip() -> None:
    for key, cls in REQUESTS.items():
        version = cls.valid_versions[1]
        fields = {f.name: random_value(f, version, random.Random(1)) for f in cls._struct._fields}
        frame = encode_request(cls(version=version, **fields), version, 42, "client")
        header = parse_header(memoryview(frame)[4:])
        assert (header.api_key, header.version, header.correlation_id) == (key, version, 42)


@pytest.mark.parametrize("frame", [b"", b"\x00", b"\x00\x03\x00\x01\x00\x00\x00\x01\x7f\xff", b"\x7f\x00" + b"\0" * 20])
def test_broken_headers_are_refused(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_header(memoryview(frame))
