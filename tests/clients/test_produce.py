"""Producing with three libraries: offsets, what is read back, on both engines. Refusals, by value: tests/wire/test_produce.py."""

from __future__ import annotations

import confluent_kafka
import kafka.errors
import pytest

from .kit import KEPT, LIBRARIES, Record, make_topic

library = pytest.mark.parametrize("library", LIBRARIES)
CODECS = {"kafka-python": ["gzip", "snappy", "lz4", "zstd"], "confluent": ["gzip", "snappy", "lz4", "zstd"],
          "aiokafka": ["gzip"]}
TEXT = b"the same words again and again, " * 20


@library
def test_offsets_count_from_zero_without_gaps(cluster, name, library) -> None:
    """Fails if the leader does not assign base offsets by record count, or answers another base offset."""
    make_topic(cluster, name)
    client = LIBRARIES[library]
    first = client.send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(50)], acks="all")
    second = client.send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(50, 60)], acks=1)
    assert first + second == [(0, n) for n in range(60)]
    assert [r.value for r in client.read(cluster.bootstrap, name, 60)] == [b"%d" % n for n in range(60)]


@library
def test_keys_values_headers_and_timestamps_come_back_as_sent(cluster, name, library) -> None:
    """Fails if stored bytes differ from sent ones: null key or value, empty ones, headers with equal names."""
    make_topic(cluster, name, configs=KEPT)
    sent = [Record(b"v", b"k", [("a", b"1"), ("a", b"2"), ("b", b"")], 1_700_000_000_000),
            Record(None, b"only a key", [], 1_700_000_000_001),
            Record(b"", b"", [], 1_700_000_000_002),
            Record(b"no key", None, [("empty", b"")], 1_600_000_000_000),
            Record(bytes(range(256)), "ключ".encode(), [("ü", b"\xff")], 1_700_000_000_003)]
    LIBRARIES[library].send(cluster.bootstrap, name, sent)
    for reader in LIBRARIES.values():
        found = reader.read(cluster.bootstrap, name, len(sent))
        assert found == [r._replace(offset=n) for n, r in enumerate(sent)]


@pytest.mark.parametrize(("library", "codec"), [(name, codec) for name, codecs in CODECS.items() for codec in codecs])
def test_every_codec_is_read_by_every_library(cluster, name, library, codec) -> None:
    """Fails if a compressed batch is not stored as it came (or refused, or its count of records is taken wrongly)."""
    make_topic(cluster, name, configs=KEPT)
    sent = [Record(TEXT + b"%d" % n, None, [], 1_700_000_000_000 + n) for n in range(30)]
    LIBRARIES[library].send(cluster.bootstrap, name, sent, compression_type=codec)
    for reader in LIBRARIES.values():
        assert reader.read(cluster.bootstrap, name, 30) == [r._replace(offset=n) for n, r in enumerate(sent)]


def test_a_record_without_a_key_cannot_be_compacted(cluster, name) -> None:
    """INVALID_RECORD. Fails if a compacted topic takes a record without a key."""
    make_topic(cluster, name, configs={"cleanup.policy": "compact"})
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"v")])
    assert raised.value.args[0].code() == confluent_kafka.KafkaError.INVALID_RECORD
    assert LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"v", b"k")]) == [(0, 0)]


def test_too_few_in_sync_replicas_refuse_acks_all_and_take_acks_1(cluster, name) -> None:
    """NOT_ENOUGH_REPLICAS before the append; what acks=1 wrote stays invisible until the ISR is large enough again.

    A leader acts on a smaller ISR a moment after its metadata tells it: what acks=all wrote in between is in the log.
    """
    leader, follower, other = cluster.ids
    make_topic(cluster, name, assignments={0: [leader, follower]})
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"both")], acks="all")
    cluster.pause(follower)
    cluster.wait(lambda: cluster.isr(name) == [leader], 30)
    cluster.wait(lambda: _refused(cluster.address(leader), name, b"early"), 30)
    [(_, one)] = LIBRARIES["confluent"].send(cluster.address(leader), name, [Record(b"one")], acks=1)
    assert _refused(cluster.address(leader), name, b"refused")
    assert LIBRARIES["confluent"].send(cluster.address(leader), name, [Record(b"two")], acks=1) == [(0, one + 1)]
    cluster.resume(follower)
    values = [r.value for r in LIBRARIES["aiokafka"].read(cluster.bootstrap, name, one + 2)]
    assert [value for value in values if value != b"early"] == [b"both", b"one", b"two"]


def _refused(leader: str, name: str, value: bytes) -> bool:
    """Return whether a write with acks=all is refused; False if the leader appended it, and its acknowledgement did not come."""
    try:
        LIBRARIES["kafka-python"].send(leader, name, [Record(value)], acks="all", retries=0, request_timeout_ms=2000)
    except kafka.errors.NotEnoughReplicasError:
        return True
    except kafka.errors.RequestTimedOutError:
        return False
    raise AssertionError(f"{value!r} was acknowledged by too few replicas")
