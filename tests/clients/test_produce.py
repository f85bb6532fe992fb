"""Producing with three libraries: offsets, what is read back, error codes and texts. All on both engines."""

from __future__ import annotations

import time

import confluent_kafka
import kafka.errors
import pytest
from aiokafka.errors import MessageSizeTooLargeError as AioTooLarge

from .kit import LIBRARIES, Record, make_topic

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
    make_topic(cluster, name)
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
    make_topic(cluster, name)
    sent = [Record(TEXT + b"%d" % n, None, [], 1_700_000_000_000 + n) for n in range(30)]
    LIBRARIES[library].send(cluster.bootstrap, name, sent, compression_type=codec)
    for reader in LIBRARIES.values():
        assert reader.read(cluster.bootstrap, name, 30) == [r._replace(offset=n) for n, r in enumerate(sent)]


@library
def test_acks_0_arrives(cluster, name, library) -> None:
    """Fails if the broker answers a Produce with acks=0: the next answer on the connection would be taken for it."""
    make_topic(cluster, name)
    client = LIBRARIES[library]
    client.send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(20)], acks=0)
    assert [r.value for r in client.read(cluster.bootstrap, name, 20)] == [b"%d" % n for n in range(20)]


@library
def test_an_idempotent_producer_writes_each_record_once(cluster, name, library) -> None:
    """Fails if InitProducerId, sequence numbers or producer epochs are not taken as Kafka takes them."""
    make_topic(cluster, name, partitions=2)
    client = LIBRARIES[library]
    for session in range(2):  # two producer ids, one log
        sent = client.send(cluster.bootstrap, name, [Record(b"%d" % n, partition=n % 2) for n in range(40)],
                           enable_idempotence=True, acks="all")
        assert sorted(sent) == [(p, 20 * session + n) for p in range(2) for n in range(20)]
    assert [r.value for r in client.read(cluster.bootstrap, name, 40, partition=1)] == [
        b"%d" % n for n in range(1, 40, 2)] * 2


def test_log_append_time_replaces_the_clients_timestamps(cluster, name) -> None:
    """Fails if message.timestamp.type=LogAppendTime is ignored, or the answer lacks the broker's time."""
    make_topic(cluster, name, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    with kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
        told = producer.send(name, b"x", timestamp_ms=1_000).get(30)
    (read,) = LIBRARIES["confluent"].read(cluster.bootstrap, name, 1)
    assert told.timestamp == read.timestamp
    assert before - 1000 <= read.timestamp <= int(time.time() * 1000) + 1000


def test_a_record_larger_than_max_message_bytes_is_refused(cluster, name) -> None:
    """MESSAGE_TOO_LARGE in each library's words; nothing is appended. Fails if max.message.bytes is not checked."""
    make_topic(cluster, name, configs={"max.message.bytes": "2000"})
    with pytest.raises(kafka.errors.MessageSizeTooLargeError):
        LIBRARIES["kafka-python"].send(cluster.bootstrap, name, [Record(bytes(3000))])
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(bytes(3000))])
    assert raised.value.args[0].code() == confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE
    with pytest.raises(AioTooLarge):
        LIBRARIES["aiokafka"].send(cluster.bootstrap, name, [Record(bytes(3000))])
    assert LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"fits")]) == [(0, 0)]


def test_a_record_without_a_key_cannot_be_compacted(cluster, name) -> None:
    """INVALID_RECORD. Fails if a compacted topic takes a record without a key."""
    make_topic(cluster, name, configs={"cleanup.policy": "compact"})
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"v")])
    assert raised.value.args[0].code() == confluent_kafka.KafkaError.INVALID_RECORD
    assert LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"v", b"k")]) == [(0, 0)]


def test_a_timestamp_far_in_the_future_is_refused(cluster, name) -> None:
    """INVALID_TIMESTAMP beyond message.timestamp.after.max.ms (one hour); the past is taken."""
    make_topic(cluster, name)
    now = int(time.time() * 1000)
    with pytest.raises(kafka.errors.InvalidTimestampError):
        LIBRARIES["kafka-python"].send(cluster.bootstrap, name, [Record(b"v", timestamp=now + 7_200_000)])
    sent = LIBRARIES["kafka-python"].send(cluster.bootstrap, name, [Record(b"v", timestamp=now + 600_000)])
    assert sent == [(0, 0)]


def test_an_unknown_topic_is_not_made_when_that_is_off(cluster, name) -> None:
    """UNKNOWN_TOPIC_OR_PARTITION. Fails if auto.create.topics.enable=false is not obeyed."""
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"v", partition=None)],
                                    **{"topic.metadata.propagation.max.ms": 500})
    assert raised.value.args[0].code() in (confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
                                           confluent_kafka.KafkaError._UNKNOWN_TOPIC)
    assert name not in {tp.rpartition("-")[0] for tp in cluster.partitions()}


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
