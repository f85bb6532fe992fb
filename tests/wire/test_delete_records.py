"""DeleteRecords, DescribeLogDirs and DescribeTopicPartitions by value, as Apache Kafka 4.3 gives them; both engines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import DeleteRecordsRequest, DescribeLogDirsRequest, DescribeTopicPartitionsRequest

from minikafka.log.batch import build
from tests.requests import EARLIEST, fetch, produce, topic
from tests.wire.conftest import end
from tests.wire.raw import Raw

Wanted = tuple[str, list[tuple[int, int]]]


@pytest.fixture
def raw(cluster: Any) -> Iterator[Raw]:
    """A connection to broker 1."""
    with Raw(cluster.plan.nodes[1].address) as connection:
        yield connection


def delete(raw: Raw, *wanted: Wanted, version: int = 2, timeout_ms: int = 20000) -> dict[tuple[str, int], Any]:
    row = DeleteRecordsRequest.DeleteRecordsTopic
    rows = [row(name=name, partitions=[row.DeleteRecordsPartition(partition_index=i, offset=o) for i, o in offsets])
            for name, offsets in wanted]
    answer = raw.ask(DeleteRecordsRequest(topics=rows, timeout_ms=timeout_ms), version)
    found = [((t.name, p.partition_index), (p.low_watermark, p.error_code)) for t in answer.topics for p in t.partitions]
    assert len(dict(found)) == len(found), "a partition was answered twice"
    return dict(found)


def fill(cluster: Any, raw: Raw, name: str, *partitions: list[int], **configs: str) -> str:
    """A topic with these replicas; those that broker 1 leads get a batch of ten records."""
    raw.create(topic(name, assign=list(enumerate(partitions)), **configs))
    stamp = int(time.time() * 1000)
    records = build([(b"k", b"v%d" % n, [], stamp) for n in range(10)], timestamp_ms=stamp)
    led = [i for i, replicas in enumerate(partitions) if replicas[0] == 1]
    for index in led:
        def put(index: int = index) -> bool:
            request = produce(name, records)
            request.topic_data[0].partition_data[0].index = index
            answer = raw.ask(request, 9)
            return bool(answer.responses[0].partition_responses[0].error_code == 0)
        cluster.wait(put, timeout=60)
    return name


# --- DeleteRecords ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_what_stands_before_an_offset_is_gone(cluster: Any, raw: Raw, name: str, version: int) -> None:
    """Fails if the answer comes before every replica has moved, or the log's start goes back."""
    fill(cluster, raw, name, [1, 2])
    for offset, low in ((0, 0), (3, 3), (1, 3), (7, 7), (-1, 10)):
        assert delete(raw, (name, [(0, offset)]), version=version) == {(name, 0): (low, 0)}
        assert end(raw, name, EARLIEST) == low


def test_offsets_outside_of_the_log(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if records that do not exist yet can be deleted."""
    fill(cluster, raw, name, [1, 2])
    for offset in (11, -2):
        assert delete(raw, (name, [(0, offset)])) == {(name, 0): (-1, 1)}
    assert end(raw, name, EARLIEST) == 0


def test_each_partition_has_its_own_verdict(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if a refusal spoils the others, an internal topic is cut, or a repeated partition is answered twice."""
    fill(cluster, raw, name, [1, 2], [2, 1])
    fill(cluster, raw, f"{name}-c", [1], cleanup_policy="compact")
    fill(cluster, raw, f"{name}-cd", [1], cleanup_policy="compact,delete")
    answer = delete(raw, (name, [(0, 5), (1, 1), (9, 1), (0, 6)]), ("nope", [(0, 1)]), (f"{name}-c", [(0, 1)]),
                    (f"{name}-cd", [(0, 1)]))
    assert answer == {(name, 0): (6, 0), (name, 1): (-1, 6), (name, 9): (-1, 3), ("nope", 0): (-1, 3),
                      (f"{name}-c", 0): (-1, 44), (f"{name}-cd", 0): (1, 0)}
    assert delete(raw) == {}


def test_without_time_the_leader_deletes_and_answers_request_timed_out(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if timeout 0 waits for the other replicas, or does nothing."""
    fill(cluster, raw, name, [1, 2])
    assert delete(raw, (name, [(0, 4)]), timeout_ms=0) == {(name, 0): (0, 7)}
    assert end(raw, name, EARLIEST) == 4


def test_a_dead_replica_is_not_waited_for(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if the low watermark counts replicas that are not there."""
    fill(cluster, raw, name, [1, 2, 3])
    cluster.stop(3)
    assert delete(raw, (name, [(0, 4)])) == {(name, 0): (4, 0)}


def test_a_consumer_below_the_start_gets_offset_out_of_range(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if deleted records are still served."""
    fill(cluster, raw, name, [1])
    delete(raw, (name, [(0, 4)]))
    before, at = (raw.ask(fetch(name, offset), 11).responses[0].partitions[0] for offset in (3, 4))
    assert (before.error_code, bool(before.records)) == (1, False)
    assert (at.error_code, at.log_start_offset, bool(at.records)) == (0, 4, True)


# --- DescribeLogDirs -------------------------------------------------------------------------------------------


def folders(raw: Raw, wanted: list[tuple[str, list[int]]] | None, version: int = 5) -> Any:
    row = DescribeLogDirsRequest.DescribableLogDirTopic
    rows = None if wanted is None else [row(topic=name, partitions=indexes) for name, indexes in wanted]
    answer = raw.ask(DescribeLogDirsRequest(topics=rows), version)
    assert answer.error_code == 0
    (folder,) = answer.results
    assert folder.error_code == 0 and folder.log_dir.startswith("/") and not folder.is_cordoned
    found = {(t.name, p.partition_index): (p.partition_size, p.offset_lag, p.is_future_key)
             for t in folder.topics for p in t.partitions}
    return found, folder.total_bytes, folder.usable_bytes


@pytest.mark.parametrize("version", range(1, 6))
def test_the_sizes_of_partitions(cluster: Any, raw: Raw, name: str, version: int) -> None:
    """Fails if a size is not that of the bytes in the log, or a partition of another broker is listed."""
    fill(cluster, raw, name, [1, 2], [1, 3], [2, 3])
    found, total, usable = folders(raw, [(name, [0, 1, 2, 9]), ("nope", [0])], version)
    assert found == {(name, 0): (161, 0, False), (name, 1): (161, 0, False)}
    assert (total > usable > 0) if version >= 4 else (total, usable) == (-1, -1)


def test_all_partitions_and_none(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if null does not mean all, or empty does not mean none."""
    fill(cluster, raw, name, [1], [2])
    everything = folders(raw, None)[0]
    assert (name, 0) in everything and (name, 1) not in everything
    assert folders(raw, [])[0] == {}


# --- DescribeTopicPartitions -----------------------------------------------------------------------------------


def page(raw: Raw, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> tuple[Any, Any]:
    request = DescribeTopicPartitionsRequest
    at = None if cursor is None else request.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    rows = [request.TopicRequest(name=name) for name in names]
    answer = raw.ask(request(topics=rows, response_partition_limit=limit, cursor=at), 0)
    following = answer.next_cursor and (answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    return answer.topics, following


def brief(topics: Any) -> list[tuple[int, str, list[int]]]:
    return [(t.error_code, t.name, [p.partition_index for p in t.partitions]) for t in topics]


@pytest.fixture
def two(cluster: Any, raw: Raw, name: str) -> tuple[str, str]:
    """A topic of three partitions and one of one, known to the broker at the other end of `raw`."""
    first, second = f"{name}-a", f"{name}-b"
    raw.create(topic(first, assign=[(0, [1, 2]), (1, [2, 3]), (2, [3, 1])]), topic(second, assign=[(0, [1, 2])]))
    cluster.wait(lambda: [t.error_code for t in page(raw, first, second)[0]] == [0, 0], timeout=60)
    return first, second


def test_a_topic_with_everything(raw: Raw, two: tuple[str, str]) -> None:
    """Fails if a list is null, which ends Java's client, or a field is wrong."""
    ((answer,), following) = page(raw, two[0], two[0])
    assert following is None and answer.topic_id is not None
    assert (answer.error_code, answer.is_internal, answer.topic_authorized_operations) == (0, False, 0b110111111000)
    rows = [(p.error_code, p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes, p.eligible_leader_replicas,
             p.last_known_elr, p.offline_replicas) for p in answer.partitions]
    assert rows == [(0, 1, 0, [1, 2], [1, 2], [], [], []), (0, 2, 0, [2, 3], [2, 3], [], [], []),
                    (0, 3, 0, [3, 1], [3, 1], [], [], [])]


def test_an_eligible_leader_is_shown(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if the ELR is not told, or an offline replica is taken for alive (KIP-966)."""
    raw.create(topic(name, assign=[(0, [1, 3])]))
    cluster.wait(lambda: page(raw, name)[0][0].error_code == 0, timeout=60)
    cluster.kill(3)

    def shown() -> Any:
        p = page(raw, name)[0][0].partitions[0]
        return p.isr_nodes, p.eligible_leader_replicas, p.last_known_elr, p.offline_replicas

    cluster.wait(lambda: shown() == ([1], [3], [], [3]), timeout=60)


def test_missing_topics(raw: Raw, two: tuple[str, str]) -> None:
    """Fails if an unknown name and an illegal one share a code, or the order is not that of the names."""
    topics, _ = page(raw, "nope", two[0], "a b")
    assert brief(topics) == [(17, "a b", []), *brief(page(raw, two[0])[0]), (3, "nope", [])]
    assert [t.topic_authorized_operations for t in topics] == [0b110111111000] * 3
    (internal,) = page(raw, "__share_group_state")[0]
    assert (internal.error_code, internal.is_internal) == (3, True)


def test_pages(raw: Raw, two: tuple[str, str]) -> None:
    """Fails if pages together do not give every partition once (I-PAGE-1)."""
    first, second = two
    seen, cursor = [], None
    while True:
        topics, cursor = page(raw, second, first, limit=2, cursor=cursor)
        seen.append((brief(topics), cursor))
        if cursor is None:
            break
    assert seen == [([(0, first, [0, 1])], (first, 2)), ([(0, first, [2]), (0, second, [0])], None)]
    assert page(raw, first, second, limit=3)[1] == (second, 0)
    assert page(raw, first, "zzz", limit=3)[1] == ("zzz", 0)
    assert brief(page(raw, first, limit=0)[0]) == [(0, first, [0])]
    assert brief(page(raw, first, second, cursor=(first, 9))[0]) == [(0, first, []), (0, second, [0])]


def test_pages_of_everything(raw: Raw, two: tuple[str, str]) -> None:
    """Fails if no names are not all names, or the cursor's topic must exist."""
    topics, _ = page(raw, cursor=(two[0][:-1], 5))
    names = [t.name for t in topics]
    assert names == sorted(names) and names[:2] == list(two)


@pytest.mark.parametrize(("topic_name", "partition"), [("nope", 0), (None, -1)])
def test_cursors_that_make_no_sense(raw: Raw, two: tuple[str, str], topic_name: str | None, partition: int) -> None:
    """Fails if they are ignored."""
    topics, following = page(raw, two[0], cursor=(topic_name or two[0], partition))
    assert brief(topics) == [(42, two[0], [])] and following is None
    assert topics[0].topic_authorized_operations == -(1 << 31)


def test_an_empty_name_spoils_the_request(raw: Raw, two: tuple[str, str]) -> None:
    """Fails if the other topics are described all the same: Kafka fails on the way."""
    assert brief(page(raw, two[0], "")[0]) == [(-1, two[0], []), (-1, "", [])]
