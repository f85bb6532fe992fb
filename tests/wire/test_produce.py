"""Produce, byte by byte: what is refused with which code, and that a refused batch leaves no trace in the log.

Every expectation is an answer of Apache Kafka 4.3 (section "Produce" of our notes); both engines must give it.
"""

from __future__ import annotations

import struct
import time
from typing import Any

import pytest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

from minikafka.log.batch import BatchHeader, build, seal
from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import Err
from tests import requests
from tests.clients.kit import make_topic
from tests.wire.conftest import Place, create, place
from tests.wire.raw import Raw


def batch(*values: bytes, **options: Any) -> bytes:
    options.setdefault("timestamp_ms", int(time.time() * 1000))
    return build([(b"k", value) for value in values or (b"v",)], **options)


def patched(data: bytes, offset: int, layout: str, value: int, recount: bool = True) -> bytes:
    """`data` with one header field replaced, and the checksum made right again."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    if recount:
        seal(changed)
    return bytes(changed)


def produce(at: Place, records: bytes | None, version: int = 9, acks: int = -1, **options: Any) -> Any:
    """Produce to partition 0; returns the partition's answer."""
    return at.raw.ask(message(at, records, acks, **options), version).responses[0].partition_responses[0]


def message(at: Place, records: bytes | None, acks: int, **options: Any) -> ProduceRequest:
    index, name, topic_id = options.pop("index", 0), options.pop("name", at.name), options.pop("topic_id", at.id)
    request = requests.produce(name, records, acks=acks, **options)
    (topic,) = request.topic_data
    topic.topic_id, topic.partition_data[0].index = topic_id, index
    return request


def end(at: Place) -> int:
    """The offset that a new record would get, asked of the leader."""
    return int(at.raw.ask(requests.list_offsets(at.name), 7).topics[0].partitions[0].offset)


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version_appends(at: Place, version: int) -> None:
    """Fails if a version is read or answered wrongly: offsets run on, the times are as asked."""
    assert produce(at, batch(b"a", b"b"), version).base_offset == 0
    answer = produce(at, batch(b"c"), version)
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (Err.NONE, 2, -1)
    assert end(at) == 3


REFUSED = {       # more of them, field by field: tests/broker/security/verdicts.txt
    "empty record set": (b"", Err.INVALID_RECORD),
    "two batches": (batch() + batch(), Err.INVALID_RECORD),
    "three bytes": (b"abc", Err.INVALID_RECORD),
    "12 zero bytes": (bytes(12), Err.CORRUPT_MESSAGE),
    "batch that is cut short": (batch()[:-3], Err.INVALID_RECORD),
    "magic 3": (patched(batch(), 16, ">b", 3, recount=False), Err.CORRUPT_MESSAGE),
    "wrong checksum": (patched(batch(), 17, ">I", 12345, recount=False), Err.CORRUPT_MESSAGE),
    "flipped bit in a value": (batch()[:-2] + b"W" + batch()[-1:], Err.CORRUPT_MESSAGE),
    "control batch": (batch(control=True), Err.INVALID_RECORD),
    "unknown codec 5": (patched(batch(), 21, ">h", 5), Err.UNKNOWN_SERVER_ERROR),
    "unknown codec 7": (patched(batch(), 21, ">h", 7), Err.UNKNOWN_SERVER_ERROR),
    "gzip that is none": (patched(batch(b"garbage"), 21, ">h", 1), Err.UNKNOWN_SERVER_ERROR),
    "ten days ahead": (batch(timestamp_ms=int(time.time() * 1000) + 864_000_000), Err.INVALID_TIMESTAMP),
    "two hours ahead": (batch(timestamp_ms=int(time.time() * 1000) + 7_200_000), Err.INVALID_TIMESTAMP),
    "1.1 MB": (batch(b"x" * 1_100_000), Err.MESSAGE_TOO_LARGE),
    "transactional without an id": (
        batch(transactional=True, producer_id=1, producer_epoch=0, base_sequence=0), Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_batches_leave_no_trace(at: Place, what: str) -> None:
    """The code is Kafka's, the log is as before, and the connection serves the next request."""
    records, error = REFUSED[what]
    answer = produce(at, records)
    assert (answer.error_code, answer.base_offset) == (error, -1)
    assert end(at) == 0
    assert produce(at, batch()).base_offset == 0


TOLD: dict[str, tuple[list[bytes], list[tuple[int, int, str | None]]]] = {
    "a batch that nobody can read spoils the request": (
        [batch(), patched(batch(), 16, ">b", -3, recount=False)],
        [(Err.CORRUPT_MESSAGE, -1, "Invalid magic found in record: -3")] * 2),
    "so does one that is too short": (
        [bytes(12), batch()], [(Err.CORRUPT_MESSAGE, -1, "Record size 0 is less than the minimum record overhead (14)")] * 2),
    "a second one does not": ([batch() + bytes(20), batch()], [(Err.CORRUPT_MESSAGE, -1, None), (Err.NONE, 0, None)]),
    "records that are no batch": ([b"", batch()], [(Err.INVALID_RECORD, -1, None), (Err.NONE, 0, None)]),
    "a batch that a log refuses": ([batch(base_offset=5), batch()], [(Err.INVALID_RECORD, 0, None), (Err.NONE, 0, None)]),
    "a checksum": (
        [patched(batch(), 17, ">I", 1, recount=False), batch()], [(Err.CORRUPT_MESSAGE, -1, None), (Err.NONE, 0, None)]),
    "an epoch below none": ([batch(producer_id=7, producer_epoch=-2, base_sequence=0)], [(Err.INVALID_PRODUCER_EPOCH, 0, None)]),
}


@pytest.mark.parametrize("what", TOLD)
def test_what_a_refusal_tells(cluster: Any, name: str, what: str) -> None:
    """Fails if the log's start or a text is sent where Kafka sends none, or the other way round, or a batch suffers
    from the one beside it."""
    many, told = TOLD[what]
    make_topic(cluster, name, assignments={index: [1, 2, 3] for index in range(len(many))})
    request = requests.produce(name, *many, acks=1)

    def answers() -> Any:
        """the leader knows that it leads"""
        with Raw(cluster.address(1)) as raw:
            found = {p.index: (p.error_code, p.log_start_offset, p.error_message)
                     for t in raw.ask(request, 9).responses for p in t.partition_responses}
        return Err.NOT_LEADER_OR_FOLLOWER not in {code for code, _, _ in found.values()} and found

    assert cluster.wait(answers, timeout=60) == dict(enumerate(told))


def test_what_is_looked_at_first(at: Place) -> None:
    """Fails if acks are checked before the partition exists and the batch can be read, or after the right to write."""
    assert produce(at, batch(), acks=2).error_code == Err.INVALID_REQUIRED_ACKS
    assert produce(at, batch(), acks=2, index=9).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(at, b"", acks=2).error_code == Err.INVALID_RECORD
    assert produce(at, b"", index=9).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    transactional = batch(transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    assert produce(at, transactional, acks=2, index=9).error_code == Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert produce(at, patched(transactional, 16, ">b", 1, recount=False), acks=2).error_code == Err.INVALID_RECORD


def test_a_batch_that_cannot_be_built_again(cluster: Any, name: str) -> None:
    """Kafka's own builder makes the batch in the topic's codec. Fails if ours builds what Kafka's refuses."""
    create(cluster.bootstrap, name, **{"compression.type": "gzip"})
    at = place(cluster, name)
    with at.raw:
        for odd in (batch(timestamp_ms=-2), batch(producer_id=7, producer_epoch=-1, base_sequence=0)):
            assert produce(at, odd).error_code == Err.UNKNOWN_SERVER_ERROR
        assert produce(at, batch(timestamp_ms=-1)).error_code == Err.NONE


ACCEPTED = {
    "wrong leader epoch in the batch": batch(leader_epoch=99),
    "unknown attribute bit": patched(batch(), 21, ">h", 1 << 8),
    "a client's log-append-time bit": patched(batch(), 21, ">h", 8),
    "maximum timestamp -1": patched(batch(), 35, ">q", -1),
    "ten minutes ahead": batch(timestamp_ms=int(time.time() * 1000) + 600_000),
    "trailing bytes too short for a header": batch() + b"abc",
    "an unallocated producer id": batch(producer_id=123456, producer_epoch=0, base_sequence=17),
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepted_oddities(at: Place, what: str) -> None:
    assert produce(at, ACCEPTED[what]).error_code == Err.NONE
    assert end(at) == 1


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_every_codec_is_stored_as_it_came(at: Place, codec: int) -> None:
    """Fails if a compressed batch is unpacked, packed anew or refused."""
    data = batch(b"x" * 1000, b"y" * 1000, codec=codec)
    assert produce(at, data, 9).error_code == Err.NONE
    stored = bytes(at.raw.ask(requests.fetch(at.name), 11).responses[0].partitions[0].records)
    assert stored[16:] == data[16:]  # all but base offset and leader epoch


def test_zstd_needs_version_7(at: Place) -> None:
    assert produce(at, batch(codec=4), 3).error_code == Err.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(at, batch(codec=4), 7).error_code == Err.NONE


def test_unknown_places(at: Place) -> None:
    """Partition, topic and topic id that do not exist."""
    assert produce(at, batch(), index=7).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(at, batch(), name="no-such-topic").error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(at, batch(), 13, topic_id="12345678-1234-1234-1234-123456789abc").error_code == Err.UNKNOWN_TOPIC_ID


def test_null_records_spoil_only_what_exists(at: Place) -> None:
    """Fails if null records for an unknown partition are not answered, or those for one that exists are (K2)."""
    assert produce(at, None, index=7).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(at, None, name="no-such-topic", acks=2).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    at.raw.send(encode_request(message(at, None, acks=2), 9, 1, "raw"))
    assert at.raw.waits()


def test_each_batch_is_checked_for_its_transactional_flag(at: Place) -> None:
    """Fails if a transactional batch passes without a transactional id because its partition is named again after it (K3)."""
    part = ProduceRequest.TopicProduceData.PartitionProduceData
    marked = batch(producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    request = message(at, None, acks=-1)
    request.topic_data[0].partition_data = [part(index=0, records=marked), part(index=0, records=batch())]
    (answer,) = at.raw.ask(request, 9).responses[0].partition_responses
    assert answer.error_code == Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED and end(at) == 0


def test_only_the_leader_takes_records(at: Place) -> None:
    follower = next(address for broker, address in at.addresses.items() if broker != at.leader)
    with Raw(follower) as raw:
        assert produce(at._replace(raw=raw), batch()).error_code == Err.NOT_LEADER_OR_FOLLOWER


def test_acks_all_with_timeout_0_times_out_with_the_real_offset(at: Place) -> None:
    """The record is there although the answer is an error: indeterminate, not failed.

    Followers that happen to fetch between the append and the look at the clock make the answer a plain success, on
    both engines: each answer is one of the two, and the offset is always the record's own.
    """
    for offset in range(100):
        answer = produce(at, batch(), timeout_ms=0)
        assert answer.base_offset == offset and answer.error_code in (Err.NONE, Err.REQUEST_TIMED_OUT)
        if answer.error_code == Err.REQUEST_TIMED_OUT:
            break
    assert answer.error_code == Err.REQUEST_TIMED_OUT
    assert produce(at, batch()).base_offset == offset + 1


def test_acks_0_is_not_answered_and_an_error_closes(at: Place) -> None:
    """The next request's answer comes first: acks=0 has none. An error can only be shown by hanging up."""
    at.raw.send(encode_request(message(at, batch(), acks=0), 9, 5, "raw"))
    assert produce(at, batch()).base_offset == 1
    at.raw.send(encode_request(message(at, batch(), acks=0, index=9), 9, 6, "raw"))
    assert at.raw.receive() is None


def test_record_errors_name_the_record(at: Place) -> None:
    """A timestamp that is refused comes with the index of its batch and a text (v8 and later)."""
    answer = produce(at, REFUSED["ten days ahead"][0])
    assert [e.batch_index for e in answer.record_errors] == [0]
    assert "Timestamp" in answer.record_errors[0].batch_index_error_message
    assert answer.error_message == "One or more records have been rejected due to invalid timestamp"


# --- idempotence --------------------------------------------------------------------------------------------------


def sequenced(producer: int, sequence: int, *values: bytes, epoch: int = 0) -> bytes:
    return batch(*values or (b"v",), producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


def new_producer(at: Place) -> int:
    """A producer id; a broker that is still getting its first block answers with a retriable code."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60000)
    deadline = time.monotonic() + 10
    while (answer := at.raw.ask(request, 4)).error_code == Err.COORDINATOR_LOAD_IN_PROGRESS and time.monotonic() < deadline:
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
    assert (answer.error_code, answer.producer_epoch) == (Err.NONE, 0)
    return answer.producer_id


def test_producer_ids_are_never_given_twice(at: Place) -> None:
    ids = [new_producer(at) for _ in range(5)]
    with Raw(next(a for b, a in at.addresses.items() if b != at.leader)) as other:
        ids += [new_producer(at._replace(raw=other)) for _ in range(5)]
    assert len(set(ids)) == 10


def test_a_repeated_batch_answers_its_old_offset(at: Place) -> None:
    """Fails if a retry is appended again, or answered with another offset (rule 43)."""
    producer = new_producer(at)
    assert produce(at, sequenced(producer, 0, b"a", b"b")).base_offset == 0
    assert produce(at, sequenced(producer, 2, b"c")).base_offset == 2
    again = produce(at, sequenced(producer, 0, b"a", b"b"))
    assert (again.error_code, again.base_offset) == (Err.NONE, 0)
    assert end(at) == 3


def test_only_the_last_five_batches_are_known(at: Place) -> None:
    producer = new_producer(at)
    for sequence in range(6):
        assert produce(at, sequenced(producer, sequence)).base_offset == sequence
    assert produce(at, sequenced(producer, 1)).base_offset == 1
    assert produce(at, sequenced(producer, 0)).error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert end(at) == 6


def test_sequences_may_not_skip(at: Place) -> None:
    producer = new_producer(at)
    produce(at, sequenced(producer, 0))
    assert produce(at, sequenced(producer, 2)).error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(at, sequenced(producer, 1)).error_code == Err.NONE


def test_epochs_fence(at: Place) -> None:
    """A new epoch starts at 0; the old one is refused from then on (rules 44, 45)."""
    producer = new_producer(at)
    produce(at, sequenced(producer, 0))
    assert produce(at, sequenced(producer, 1, epoch=1)).error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(at, sequenced(producer, 0, epoch=1)).error_code == Err.NONE
    assert produce(at, sequenced(producer, 1, epoch=0)).error_code == Err.INVALID_PRODUCER_EPOCH
    assert end(at) == 2


def test_log_append_time(cluster: Any, name: str) -> None:
    """The broker's clock replaces the client's, in the answer and in the log."""
    create(cluster.bootstrap, name, **{"message.timestamp.type": "LogAppendTime"})
    at = place(cluster, name)
    with at.raw:
        before = int(time.time() * 1000)
        answer = produce(at, batch(timestamp_ms=1000))
        assert before <= answer.log_append_time_ms <= int(time.time() * 1000)
        stored = at.raw.ask(requests.fetch(at.name), 11).responses[0].partitions[0].records
        assert BatchHeader.parse(stored).max_timestamp == answer.log_append_time_ms
