"""CreatePartitions, ElectLeaders, reassignments and UnregisterBroker by value, as Apache Kafka 4.3 gives them; both
engines must."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)

from minikafka import Cluster
from minikafka.log.batch import build
from minikafka.protocol.apis import UnregisterBrokerRequest
from tests.conftest import SETTINGS
from tests.requests import produce, topic
from tests.wire.conftest import describe, end
from tests.wire.raw import Raw
from tests.wire.test_alter_configs import SET, incremental
from tests.wire.test_topics import ask

PREFERRED, UNCLEAN = 0, 1
UNNEEDED = "Leader election not needed for topic partition."


def grow(raw: Raw, *wanted: tuple[str, int, list[list[int]] | None], check: bool = True, version: int = 3,
         timeout_ms: int = 30000) -> list[tuple[str, int, str | None]]:
    row = CreatePartitionsRequest.CreatePartitionsTopic
    rows = [row(name=name, count=count, assignments=None if replicas is None else [
        row.CreatePartitionsAssignment(broker_ids=r) for r in replicas]) for name, count, replicas in wanted]
    answer = raw.ask(CreatePartitionsRequest(topics=rows, timeout_ms=timeout_ms, validate_only=check), version)
    return [(r.name, r.error_code, r.error_message) for r in answer.results]


def elect(raw: Raw, kind: int, *wanted: tuple[str, list[int]], everything: bool = False, version: int = 2,
          timeout_ms: int = 30000) -> tuple[int, list[Any]]:
    rows = [ElectLeadersRequest.TopicPartitions(topic=name, partitions=indexes) for name, indexes in wanted]
    request = ElectLeadersRequest(election_type=kind, topic_partitions=None if everything else rows, timeout_ms=timeout_ms)
    answer = raw.ask(request, version)
    return answer.error_code, [
        (t.topic, [(p.partition_id, p.error_code, p.error_message) for p in t.partition_result])
        for t in answer.replica_election_results]


def move(raw: Raw, *wanted: tuple[str, int, list[int] | None], version: int = 1, other_factor: bool = True,
         timeout_ms: int = 30000) -> tuple[int, str | None, list[Any]]:
    row = AlterPartitionReassignmentsRequest.ReassignableTopic
    rows = [row(name=name, partitions=[row.ReassignablePartition(partition_index=index, replicas=replicas)])
            for name, index, replicas in wanted]
    request = AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=rows,
                                                 allow_replication_factor_change=other_factor)
    answer = raw.ask(request, version)
    return answer.error_code, answer.error_message, [
        (t.name, p.partition_index, p.error_code, p.error_message) for t in answer.responses for p in t.partitions]


def moving(raw: Raw, *wanted: tuple[str, list[int]], everything: bool = False, timeout_ms: int = 9000) -> Any:
    rows = [ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes)
            for name, indexes in wanted]
    request = ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None if everything else rows)
    answer = raw.ask(request, 0)
    assert (answer.error_code, answer.error_message) == (0, None)
    return {(t.name, p.partition_index): (list(p.replicas), list(p.adding_replicas), list(p.removing_replicas))
            for t in answer.topics for p in t.partitions}


def state(raw: Raw, name: str) -> list[tuple[int, int, list[int], list[int]]]:
    """(leader, leader epoch, replicas, sorted ISR) of each partition."""
    return [(p.leader_id, p.leader_epoch, p.replica_nodes, sorted(p.isr_nodes))
            for p in describe(raw, name).topics[0].partitions]


# --- CreatePartitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "replicas", "code", "text"), [
    (4, None, 0, None), (3, [[1, 2]], 0, None),
    (2, None, 37, "Topic already has 2 partition(s)."),
    (1, None, 37, "The topic {} currently has 2 partition(s); 1 would not be an increase."),
    (-1, None, 37, "The topic {} currently has 2 partition(s); -1 would not be an increase."),
    (10002, None, 0, None), (10003, None, -1, None),
    (3, [[1], [2]], 39, "Attempted to add 1 additional partition(s), but only 2 assignment(s) were specified."),
    (3, [], 39, "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified."),
    (3, [[1]], 39, "The manual partition assignment includes a partition with 1 replica(s), but this is not "
     "consistent with previous partitions, which have 2 replica(s)."),
    (3, [[1, 9]], 39, "The manual partition assignment includes broker 9, but no such broker is registered."),
    (3, [[1, 1]], 39, "The manual partition assignment includes the broker 1 more than once."),
    (3, [[]], 39, "The manual partition assignment includes an empty replica list."),
])
def test_more_partitions(raw: Raw, name: str, count: int, replicas: Any, code: int, text: str | None) -> None:
    """Fails if broker/controller/admin/create_partitions.py checks something else, in another order, or has other texts."""
    raw.create(topic(name, 2, 2))
    assert grow(raw, (name, count, replicas)) == [(name, code, text and text.format(name))]


def test_more_partitions_of_unknown_and_repeated_topics(raw: Raw, name: str) -> None:
    """Fails if either spoils the request, or without time something is done."""
    raw.create(topic(name, 1, 1))
    assert grow(raw, ("nope", 3, None)) == [("nope", 3, None)]
    assert grow(raw, ("twice", 3, None), ("twice", 4, None), (name, 2, None)) == [
        ("twice", 42, "Duplicate topic name."), (name, 0, None)]
    assert grow(raw, (name, 2, None), check=False, timeout_ms=0) == [(name, 7, None)]
    twice = ("twice", 3, None), ("twice", 4, None)
    assert grow(raw, *twice, (name, 2, None), timeout_ms=0) == [("twice", 7, None), ("twice", 7, None), (name, 7, None)]
    assert grow(raw, *twice, timeout_ms=0) == [("twice", 42, "Duplicate topic name.")]
    assert grow(raw) == [] and len(state(raw, name)) == 1


@pytest.mark.parametrize("version", range(4))
def test_new_partitions_are_led_and_full(cluster: Any, raw: Raw, name: str, version: int) -> None:
    """Fails if a version is answered in another's form, or the given replicas are not those of the new partition."""
    raw.create(topic(name, 1, 2))
    assert grow(raw, (name, 3, [[3, 1], [2, 3]]), check=False, version=version) == [(name, 0, None)]
    new = [(3, 0, [3, 1], [1, 3]), (2, 0, [2, 3], [2, 3])]
    cluster.wait(lambda: state(raw, name)[1:] == new, timeout=60)


# --- ElectLeaders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_elections_that_are_not_needed(cluster: Any, raw: Raw, name: str, version: int) -> None:
    """Fails if a partition in no need is elected for, or unknown ones are answered otherwise."""
    raw.create(topic(name, assign=[(0, [1, 2])]))
    cluster.wait(lambda: len(state(raw, name)) == 1, timeout=60)
    answer = [(name, [(0, 84, UNNEEDED), (9, 3, f"No such partition as {name}-9")]),
              ("nope", [(0, 3, "No such topic as nope")])]
    kinds = (PREFERRED, UNCLEAN) if version else (PREFERRED,)
    for kind in kinds:
        assert elect(raw, kind, (name, [0, 9]), ("nope", [0]), version=version) == (0, answer)


def test_elections_of_everything_list_only_what_was_elected(raw: Raw, name: str) -> None:
    """Fails if partitions that have the right leader are listed, or topics are not."""
    raw.create(topic(name, assign=[(0, [1, 2])]))
    code, answer = elect(raw, UNCLEAN, everything=True)
    assert code == 0 and (name, []) in answer and not any(partitions for _, partitions in answer)


def test_elections_that_make_no_sense(raw: Raw, name: str) -> None:
    """Fails if an unknown kind or a request without time gets more than an error."""
    raw.create(topic(name, assign=[(0, [1, 2])]))
    text = "Unknown election type 2"
    assert elect(raw, 2, (name, [0])) == (42, [(name, [(0, 42, text)])])
    assert elect(raw, PREFERRED, (name, [0]), timeout_ms=0) == (7, [(name, [(0, 7, None)])])
    assert elect(raw, PREFERRED) == (0, [])


# --- reassignment ----------------------------------------------------------------------------------------------


def put(raw: Raw, name: str, count: int, acks: int = -1) -> int:
    """Write `count` records to partition 0; the error code."""
    records = build([(None, b"v%d" % n) for n in range(count)], timestamp_ms=int(time.time() * 1000))
    return raw.ask(produce(name, records, acks=acks), 9).responses[0].partition_responses[0].error_code


def test_moves_that_are_refused(raw: Raw, name: str) -> None:
    """Fails if broker/controller/admin/alter_reassignments.py checks something else, in another order, or has other texts."""
    raw.create(topic(name, assign=[(0, [1, 2])]))
    prefix = "The manual partition assignment includes "
    for wanted, code, text in [
            ((name, 0, None), 85, None), ((name, 9, [1]), 3, f"Unable to find partition {name}:9."),
            (("nope", 0, [1]), 3, "Unable to find a topic named nope."),
            ((name, 0, [9]), 39, f"{prefix}broker 9, but no such broker is registered."),
            ((name, 0, [1, 1]), 39, f"{prefix}the broker 1 more than once."),
            ((name, 0, []), 39, f"{prefix}an empty replica list.")]:
        assert move(raw, wanted) == (0, None, [(*wanted[:2], code, text)])
    assert move(raw, (name, 0, [3]), other_factor=False) == (
        0, None, [(name, 0, 38, "The replication factor is changed from 2 to 1")])
    assert move(raw, (name, 0, [3]), timeout_ms=0) == (7, None, [(name, 0, 7, None)])
    assert move(raw) == (0, "", [])


@pytest.mark.parametrize("version", (0, 1))
@pytest.mark.parametrize(("target", "after"), [
    ([3, 1], (1, 1, [3, 1], [1, 3])), ([3], (3, 1, [3], [3])), ([2, 3, 1], (1, 0, [2, 3, 1], [1, 2, 3])),
    ([2, 1], (1, 0, [2, 1], [1, 2])), ([2], (2, 1, [2], [2]))])
def test_a_partition_moves(cluster: Any, raw: Raw, name: str, version: int, target: list[int], after: Any) -> None:
    """Fails if it ends elsewhere, the leader moves without need, or its epoch does not grow when a replica goes."""
    raw.create(topic(name, assign=[(0, [1, 2])]))
    cluster.wait(lambda: put(raw, name, 5) == 0, timeout=60)
    assert move(raw, (name, 0, target), version=version) == (0, None, [(name, 0, 0, None)])
    cluster.wait(lambda: state(raw, name) == [after], timeout=60)
    assert moving(raw, (name, [0, 9]), ("nope", [0])) == {}


def test_the_records_move_too(cluster: Any, raw: Raw, name: str) -> None:
    """Fails if a new replica is taken for complete before it has copied everything (I-MOVE-1)."""
    raw.create(topic(name, assign=[(0, [1])], min_insync_replicas="1"))
    cluster.wait(lambda: put(raw, name, 50) == 0, timeout=60)
    move(raw, (name, 0, [3]))
    cluster.wait(lambda: state(raw, name) == [(3, 1, [3], [3])], timeout=60)
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=10000)
    consumer.assign([TopicPartition(name, 0)])
    read = [record.value for record in itertools.islice(consumer, 50)]
    consumer.close()
    assert read == [b"v%d" % n for n in range(50)]


# --- with a broker that is down --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken(engine: str) -> Iterator[Cluster]:
    """Three brokers and a controller of its own; broker 3 is down."""
    with Cluster(brokers=3, controllers=1, engine=engine, config=SETTINGS) as cluster:
        cluster.stop(3)
        yield cluster


@pytest.mark.slow
def test_a_move_to_a_dead_broker_waits_and_can_be_changed_or_cancelled(broken: Cluster, name: str) -> None:
    """Fails if a reassignment does not wait, is listed otherwise, or does not bring the old replicas back."""
    with Raw(broken.bootstrap) as raw:
        raw.create(topic(name, assign=[(0, [1]), (1, [2])]))
        assert move(raw, (name, 0, [3, 2]))[2] == [(name, 0, 0, None)]
        assert moving(raw, everything=True) == {(name, 0): ([3, 2, 1], [2, 3], [1])}
        broken.wait(lambda: state(raw, name)[0] == (1, 0, [3, 2, 1], [1, 2]), timeout=60)
        assert move(raw, (name, 0, [3]))[2] == [(name, 0, 0, None)]
        assert moving(raw, (name, [0, 1])) == {(name, 0): ([3, 1, 2], [2, 3], [1, 2])}
        assert moving(raw, (name, [1])) == moving(raw) == {}
        assert moving(raw, everything=True, timeout_ms=0) != {}
        assert move(raw, (name, 0, None))[2] == [(name, 0, 0, None)]
        broken.wait(lambda: state(raw, name)[0] == (1, 1, [1], [1]), timeout=60)
        assert moving(raw, everything=True) == {}


@pytest.mark.slow
def test_elections_with_dead_replicas(broken: Cluster, name: str) -> None:
    """Fails if a dead replica is elected, or an unclean election needs the topic's setting."""
    with Raw(broken.bootstrap) as raw:
        raw.create(topic(name, assign=[(0, [3, 1])], min_insync_replicas="1"))
        assert elect(raw, PREFERRED, (name, [0])) == (0, [(name, [(0, 80, "The preferred leader was not available.")])])
        assert elect(raw, UNCLEAN, (name, [0])) == (0, [(name, [(0, 84, UNNEEDED)])])


def unregister(raw: Raw, broker: int) -> tuple[int, str | None]:
    answer = raw.ask(UnregisterBrokerRequest(broker_id=broker), 0)
    return answer.error_code, answer.error_message


@pytest.mark.slow
def test_a_broker_is_forgotten_and_may_come_again(broken: Cluster, name: str) -> None:
    """Fails if an unregistered broker stays a replica to place on, cannot register again, or takes its replicas with it: they are
    offline until it is back, may be moved away, and then catch up."""
    stays, moves = f"{name}-stays", f"{name}-moves"

    def offline(raw: Raw, one: str) -> list[list[int]]:
        return [list(p.offline_replicas) for p in describe(raw, one).topics[0].partitions]

    with Raw(broken.bootstrap) as raw:
        raw.create(topic(stays, assign=[(0, [1, 2, 3])]), topic(moves, assign=[(0, [2, 1, 3])]))
        assert unregister(raw, 9) == (102, "Broker ID 9 is not currently registered")
        assert unregister(raw, 3) == (0, "")
        assert unregister(raw, 3) == (102, "Broker ID 3 is not currently registered")
        broken.wait(lambda: len(describe(raw, stays).brokers) == 2, timeout=60)
        assert (state(raw, stays), offline(raw, stays)) == ([(1, 0, [1, 2, 3], [1, 2])], [[3]])
        assert move(raw, (moves, 0, [2, 1]))[2] == [(moves, 0, 0, None)]
        assert move(raw, (stays, 0, [1, 3]))[2] == [(
            stays, 0, 39, "The manual partition assignment includes broker 3, but no such broker is registered.")]
        (refused,) = ask(raw, topic(name, assign=[(0, [3])]))
        assert refused.error_message == ("The manual partition assignment includes broker 3, but no such broker is "
                                         "registered.")
        broken.restart(3)
        raw.create(topic(name, assign=[(0, [3])]))
        broken.wait(lambda: state(raw, stays) == [(1, 0, [1, 2, 3], [1, 2, 3])], timeout=60)
        assert (state(raw, moves)[0][2:], offline(raw, stays)) == (([2, 1], [1, 2]), [[]])
        broken.stop(3)


@pytest.mark.slow
def test_an_unclean_election_on_demand(broken: Cluster, name: str) -> None:
    """Fails if ElectLeaders waits for the controller's next look, or elects a replica that is down."""
    with Raw(broken.bootstrap) as raw:
        raw.create(topic(name, assign=[(0, [2, 1])], min_insync_replicas="1"))
        broken.wait(lambda: state(raw, name) == [(2, 0, [2, 1], [1, 2])], timeout=60)
        broken.stop(1)                      # with a minimum of 1 nobody but the ISR is eligible
    with Raw(broken.plan.nodes[2].address) as second:
        broken.wait(lambda: state(second, name) == [(2, 0, [2, 1], [2])], timeout=60)
    broken.kill(2)
    broken.restart(1)
    with Raw(broken.plan.nodes[1].address) as first:
        broken.wait(lambda: [p[0] for p in state(first, name)] == [-1], timeout=60)
        assert elect(first, PREFERRED, (name, [0]))[1][0][1][0][1] == 80
        assert elect(first, UNCLEAN, (name, [0])) == (0, [(name, [(0, 0, None)])])
        broken.wait(lambda: state(first, name)[0][::3] == (1, [1]), timeout=60)
    broken.restart(2)


@pytest.mark.slow
def test_a_lower_minimum_lets_the_high_watermark_move(broken: Cluster, name: str) -> None:
    """Fails if the leader goes on with the old min.insync.replicas: what was invisible shows, at the latest with the
    next append (Apache's high watermark moves no sooner)."""
    with Raw(broken.bootstrap) as raw:
        raw.create(topic(name, assign=[(0, [1, 3])], min_insync_replicas="2"))
    with Raw(broken.plan.nodes[1].address) as leader:
        broken.wait(lambda: state(leader, name) == [(1, 0, [1, 3], [1])], timeout=60)
        assert put(leader, name, 3) == 19 and put(leader, name, 3, acks=1) == 0
        assert end(leader, name) == 0
        incremental(leader, (2, name, [("min.insync.replicas", SET, "1")]))
        broken.wait(lambda: put(leader, name, 1) == 0, timeout=60)
        assert end(leader, name) == 4
