"""Fetch, ListOffsets and OffsetForLeaderEpoch by value: bounds, sessions, followers, epochs, odd arguments.

Every expectation is an answer of Apache Kafka 4.3; both engines must give it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.consumer import FetchRequest, OffsetForLeaderEpochRequest

from minikafka.log.batch import batches
from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import Err
from tests import requests
from tests.wire.conftest import Place
from tests.wire.raw import FOREVER, Raw
from tests.wire.test_produce import batch, produce

NOBODY = UUID("12345678-1234-1234-1234-123456789abc")
T0 = 1_700_000_000_000


@pytest.fixture
def topic_configs() -> dict[str, str]:
    """These tests write old timestamps: nothing may expire meanwhile."""
    return {"retention.ms": "-1"}


def fetch(at: Place, offset: int, version: int = 12, whole: bool = False, **options: Any) -> Any:
    """Fetch partition 0 from `offset`; the partition's answer, or with `whole` the response."""
    name, topic_id = options.pop("name", at.name), options.pop("topic_id", at.id)
    of_partition = {field: options.pop(key) for key, field in {
        "index": "partition", "epoch": "current_leader_epoch", "last_epoch": "last_fetched_epoch",
        "partition_max_bytes": "partition_max_bytes"}.items() if key in options}
    request = requests.fetch(name, offset, **({"max_wait_ms": 100} | options))
    for topic in [] if "topics" in options else request.topics:
        topic.topic_id = topic_id
        for field, value in of_partition.items():
            setattr(topic.partitions[0], field, value)
    answer = at.raw.ask(request, version)
    return answer if whole else answer.responses[0].partitions[0]


def offsets(records: Any) -> list[int]:
    return [header.base_offset for header, _ in batches(bytes(records or b""))]


def fill(at: Place, count: int = 3, size: int = 10) -> None:
    """`count` batches of two records each: base offsets 0, 2, 4, …; timestamps T0, T0+1000, …"""
    for i in range(count):
        assert produce(at, batch(b"x" * size, b"y" * size, timestamp_ms=T0 + 1000 * i)).error_code == Err.NONE


def visible(at: Place, end: int) -> None:
    """Wait until the high watermark has reached `end`: one fetch is enough, for an acknowledged record is below it."""
    assert fetch(at, 0).high_watermark == end


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_reads(at: Place, version: int) -> None:
    """Fails if a version is read or answered wrongly: same batches, same watermarks."""
    fill(at)
    answer = fetch(at, 0, version)
    assert (answer.error_code, answer.high_watermark, answer.last_stable_offset) == (Err.NONE, 6, 6)
    assert offsets(answer.records) == [0, 2, 4]


def test_a_fetch_from_the_middle_of_a_batch_returns_the_whole_batch(at: Place) -> None:
    fill(at)
    assert offsets(fetch(at, 3).records) == [2, 4]


def test_the_first_batch_comes_whatever_the_limits(at: Place) -> None:
    """max_bytes smaller than a batch, or 0, still returns one batch, or a consumer would hang."""
    fill(at, size=5000)
    assert offsets(fetch(at, 0, max_bytes=1).records) == [0]
    assert offsets(fetch(at, 0, max_bytes=0).records) == [0]
    assert offsets(fetch(at, 2, partition_max_bytes=0).records) == [2]


def test_the_end_is_empty_and_beyond_is_out_of_range(at: Place) -> None:
    fill(at)
    at_end = fetch(at, 6)
    assert (at_end.error_code, bytes(at_end.records or b"")) == (Err.NONE, b"")
    for offset in (7, 1000, -1):
        beyond = fetch(at, offset)
        assert (beyond.error_code, beyond.high_watermark) == (Err.OFFSET_OUT_OF_RANGE, -1)


def test_an_empty_fetch_waits_for_a_record(at: Place) -> None:
    """A long poll ends when a record comes, long before max_wait."""
    at.raw.send(encode_request(requests.fetch(at.name, max_wait_ms=60000), 12, 9, "raw"))
    assert at.raw.waits()
    with Raw(at.addresses[at.leader]) as other:
        produce(at._replace(raw=other), batch())
    assert at.raw.receive()[:4] == b"\0\0\0\x09"


def test_out_of_range_ends_the_wait_at_once_and_an_unknown_partition_does_not(at: Place) -> None:
    fill(at)
    assert fetch(at, 100, max_wait_ms=FOREVER).error_code == Err.OFFSET_OUT_OF_RANGE
    assert fetch(at, 0, index=5, max_wait_ms=300).error_code == Err.UNKNOWN_TOPIC_OR_PARTITION


def test_unknown_topics(at: Place) -> None:
    assert fetch(at, 0, name="no-such-topic").error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(at, 0, 13, topic_id=NOBODY).error_code == Err.UNKNOWN_TOPIC_ID


def test_leader_epochs_fence(at: Place) -> None:
    fill(at)
    assert fetch(at, 0, epoch=0).error_code == Err.NONE
    assert fetch(at, 0, epoch=99).error_code == Err.UNKNOWN_LEADER_EPOCH
    assert fetch(at, 0, last_epoch=99).error_code == Err.OFFSET_OUT_OF_RANGE


def test_any_follower_serves_consumers_from_version_11_on(at: Place) -> None:
    """KIP-392: up to its own high watermark; older versions are sent away."""
    fill(at)
    address = next(address for broker, address in at.addresses.items() if broker != at.leader)
    with Raw(address) as raw:
        follower = at._replace(raw=raw)
        assert fetch(follower, 0, 10).error_code == Err.NOT_LEADER_OR_FOLLOWER
        while fetch(follower, 0, 12).high_watermark < 6:
            pass  # pytest's time limit ends it
        answer = fetch(follower, 0, 12)
        assert (answer.error_code, offsets(answer.records)) == (Err.NONE, [0, 2, 4])


def test_a_client_that_calls_itself_a_replica(at: Place) -> None:
    fill(at)
    assert fetch(at, 0, replica_id=77).error_code == Err.NOT_LEADER_OR_FOLLOWER


# --- sessions (KIP-227) ------------------------------------------------------------------------------------------------


def test_a_session_answers_only_what_changed(at: Place) -> None:
    fill(at, 1)
    first = fetch(at, 0, session_epoch=0, whole=True)
    assert first.error_code == Err.NONE and first.session_id != 0
    assert len(first.responses) == 1
    quiet = fetch(at, 2, session_id=first.session_id, session_epoch=1, whole=True)
    assert (quiet.error_code, quiet.responses) == (Err.NONE, [])
    produce(at, batch())
    fresh = fetch(at, 2, session_id=first.session_id, session_epoch=2, topics=[], whole=True)
    assert offsets(fresh.responses[0].partitions[0].records) == [2]


def test_session_errors(at: Place) -> None:
    fill(at, 1)
    assert fetch(at, 0, session_id=0, session_epoch=1, whole=True).error_code == Err.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(at, 0, session_id=999, session_epoch=1, whole=True).error_code == Err.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(at, 0, session_id=999, session_epoch=0, whole=True).error_code == Err.NONE
    session = fetch(at, 0, session_epoch=0, whole=True).session_id
    assert fetch(at, 0, session_id=session, session_epoch=5, whole=True).error_code == Err.INVALID_FETCH_SESSION_EPOCH


def test_another_connection_may_use_a_session(at: Place) -> None:
    fill(at, 1)
    session = fetch(at, 0, session_epoch=0, whole=True).session_id
    with Raw(at.addresses[at.leader]) as other:
        answer = fetch(at._replace(raw=other), 2, session_id=session, session_epoch=1, whole=True)
    assert (answer.error_code, answer.session_id) == (Err.NONE, session)


def test_forgetting_the_last_partition_closes_the_session(at: Place) -> None:
    session = fetch(at, 0, session_epoch=0, whole=True).session_id
    forgotten = [FetchRequest.ForgottenTopic(topic=at.name, partitions=[0])]
    answer = fetch(at, 0, session_id=session, session_epoch=1, topics=[], forgotten_topics_data=forgotten, whole=True)
    assert (answer.error_code, answer.session_id) == (Err.NONE, 0)


def test_names_and_ids_do_not_mix_in_a_session(at: Place) -> None:
    session = fetch(at, 0, 12, session_epoch=0, whole=True).session_id
    answer = fetch(at, 0, 13, session_id=session, session_epoch=1, whole=True)
    assert answer.error_code == Err.FETCH_SESSION_TOPIC_ID_ERROR


# --- offsets ---------------------------------------------------------------------------------------------------------


def list_offsets(at: Place, *timestamps: int, version: int = 10, epoch: int = -1) -> list[tuple[int, int, int, int]]:
    """(error, offset, timestamp, leader epoch) for each timestamp, one request each."""
    found = []
    for timestamp in timestamps:
        request = requests.list_offsets(at.name, timestamp, timeout_ms=1000)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        p = at.raw.ask(request, version).topics[0].partitions[0]
        found.append((p.error_code, p.offset, p.timestamp, p.leader_epoch))
    return found


LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


def test_special_timestamps(at: Place) -> None:
    fill(at)
    assert list_offsets(at, LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED) == [
        (Err.NONE, 6, -1, 0), (Err.NONE, 0, -1, 0), (Err.NONE, 4, T0 + 2000, 0), (Err.NONE, 0, -1, 0), (Err.NONE, -1, -1, -1)]


def test_special_timestamps_of_an_empty_log(at: Place) -> None:
    found = list_offsets(at, LATEST, EARLIEST, MAX_TIMESTAMP)
    assert found == [(Err.NONE, 0, -1, 0), (Err.NONE, 0, -1, 0), (Err.NONE, -1, -1, -1)]


def test_the_first_record_at_or_after_a_time(at: Place) -> None:
    """By record, not by batch or index entry."""
    fill(at)
    assert list_offsets(at, 0, T0, T0 + 1, T0 + 1000, T0 + 2001) == [
        *[(Err.NONE, 0, T0, 0)] * 2, *[(Err.NONE, 2, T0 + 1000, 0)] * 2, (Err.NONE, -1, -1, -1)]


def test_unknown_special_timestamps(at: Place) -> None:
    """A version that is too old for a special timestamp does not know it; nor does any version know -7."""
    assert list_offsets(at, -7)[0][0] == Err.UNSUPPORTED_VERSION
    assert list_offsets(at, MAX_TIMESTAMP, version=6)[0][0] == Err.UNSUPPORTED_VERSION
    assert list_offsets(at, EARLIEST_LOCAL, version=7)[0][0] == Err.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_lists(at: Place, version: int) -> None:
    fill(at)
    assert [found[:2] for found in list_offsets(at, LATEST, EARLIEST, version=version)] == [(Err.NONE, 6), (Err.NONE, 0)]


def test_only_the_leader_lists(at: Place) -> None:
    address = next(address for broker, address in at.addresses.items() if broker != at.leader)
    with Raw(address) as raw:
        assert list_offsets(at._replace(raw=raw), LATEST)[0][0] == Err.NOT_LEADER_OR_FOLLOWER
    assert list_offsets(at, LATEST, epoch=99)[0][0] == Err.UNKNOWN_LEADER_EPOCH


def epoch_end(at: Place, asked: int, current: int = -1, version: int = 4) -> tuple[int, int, int]:
    part = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=current, leader_epoch=asked)
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=at.name, partitions=[part])
    p = at.raw.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic]), version).topics[0].partitions[0]
    return p.error_code, p.leader_epoch, p.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_end_of_an_epoch(at: Place, version: int) -> None:
    fill(at)
    assert epoch_end(at, 0, version=version) == (Err.NONE, 0, 6)
    assert epoch_end(at, 7, version=version) == (Err.NONE, -1, -1)
    assert epoch_end(at, 0, current=9, version=version) == (Err.UNKNOWN_LEADER_EPOCH, -1, -1)
