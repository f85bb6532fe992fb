"""An error that must not happen ends one request, or the work on one partition: never a broker, its connection, or other work.

Each story breaks one function of a running broker, as a bug would, and checks the rest. In the simulator `Env.report` makes
each such error a violation, so that no campaign overlooks it.
"""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest

from minikafka.broker.controller.api import topics
from minikafka.broker.controller.controller import Controller
from minikafka.broker.groups.shell.coordinator import GroupCoordinator
from minikafka.broker.groups.shell.shard import GroupCoordinatorShard
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.storage.shell.log_cleaner import LogCleaner
from minikafka.protocol.errors import Err
from tests import requests
from tests.broker.replication.test_replica_manager import Replicas
from tests.stage import IDS, staged
from tests.story import Decorator, Story, as_test

UNKNOWN = int(Err.UNKNOWN_SERVER_ERROR)


class Bug(Exception):
    """What a broken function raises."""


def fail_for(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, wanted: Any) -> None:
    """From now on the method raises Bug if `wanted(*args)`."""
    before = getattr(owner, name)

    def broken(self: Any, *args: Any, **more: Any) -> Any:
        if wanted(self, *args):
            raise Bug(name)
        return before(self, *args, **more)

    monkeypatch.setattr(owner, name, broken)


def reported(w: Replicas) -> int:
    """Return how many Bugs were reported so far. Nothing else was."""
    found = [error["exception"] for error in w.world.errors]
    assert [error for error in found if not isinstance(error, Bug)] == []
    return len(found)


class Hurried(Replicas):
    """Every five seconds the metadata is written as a snapshot, and retention is checked."""

    extra = {"metadata.log.max.snapshot.interval.ms": "5000", "log.retention.check.interval.ms": "5000",
             "log.initial.task.delay.ms": "5000"}


def story(kind: type[Replicas] = Replicas) -> Decorator:
    """Make a test of a story from the topic `t` on; at least one Bug must be reported, and no broker may die."""
    def run(told: Story, _: dict[str, Any]) -> None:
        stage = kind(1)

        async def whole() -> None:
            await stage.begin()
            await told(stage)

        try:
            stage.world.run(whole())
            assert reported(stage) and stage.world.crashes == []
        finally:
            stage.world.close()
    return as_test(run)


def create(*names: str) -> CreateTopicsRequest:
    return requests.create_topics(*(requests.topic(name, 1, 3) for name in names))


async def serves(w: Replicas) -> bool:
    """Whether all three brokers run, and the topic `t` takes a record from all replicas."""
    return sorted(w.brokers) == list(IDS) and (await w.send(b"x")).error_code == 0


@story()
async def test_a_decision_that_fails_is_answered_once_and_others_go_on(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a forwarded request that breaks the controller is sent again for ever, or keeps other administration waiting."""
    decide = topics.create_topics

    def broken(context: Any, wanted: Any, *rest: Any) -> Any:
        if any(topic.name == "poison" for topic in wanted):
            raise Bug("poison")
        return decide(context, wanted, *rest)

    monkeypatch.setattr(topics, "create_topics", broken)
    answer = await w.ask(1, create("poison"), 7)
    assert [t.error_code for t in answer.topics] == [UNKNOWN] and answer.topics[0].name == "poison"
    assert [t.error_code for t in (await w.ask(1, create("good"), 7)).topics] == [0]
    assert reported(w) == 1 and await serves(w)


@story()
async def test_a_request_that_fails_keeps_its_connection(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a client loses its connection, or the answers behind the failed one, by a bug of ours."""
    with monkeypatch.context() as broken:
        fail_for(broken, MetadataImage, "alive_brokers", lambda _: True)
        assert (await w.ask(1, DescribeClusterRequest(), 1)).error_code == UNKNOWN
    assert (await w.ask(1, DescribeClusterRequest(), 1)).error_code == 0
    assert reported(w) == 1 and await serves(w)


@pytest.mark.parametrize("method", ["host", "tell_role"])
@story()
async def test_a_partition_that_cannot_take_its_role_is_set_aside(
        w: Replicas, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Fails if metadata of one partition ends a broker or keeps the partitions behind it from their roles (I-REP-2)."""

    def poisoned(_: Any, one: Any, *rest: Any) -> bool:
        return (one if isinstance(one, str) else one.topic) == "poison"

    fail_for(monkeypatch, ReplicaManager, method, poisoned)
    await w.ask(1, create("poison", "good"), 7)
    await w.until(lambda: all(("good", 0) in b.replicas.partitions for b in w.brokers.values()))
    await w.client.sleep(1)
    assert reported(w) >= 3 and await serves(w)


@story(Hurried)
async def test_retention_that_fails_in_one_log_goes_on_in_the_others(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if one log's error ends the broker, the timer, or the partition's neighbours (I-SCHED-1)."""
    await w.create("poison")
    kept: list[str] = []
    before = Partition.retain

    def retain(self: Partition, now_ms: int) -> None:
        if self.topic == "poison":
            raise Bug(self.name)
        kept.append(self.name)
        before(self, now_ms)

    monkeypatch.setattr(Partition, "retain", retain)
    await w.client.sleep(10)
    assert kept.count("t-0") == 6 and reported(w) == 3, "two checks on each broker; a failed log is checked once"
    assert await serves(w)


@story()
async def test_a_log_that_cannot_be_cleaned_is_left_as_it_is(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the cleaner ends with its broker, or tries the same log for ever (I-CLEANER-3)."""
    change = IncrementalAlterConfigsRequest.AlterConfigsResource
    compact = change.AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")
    fail_for(monkeypatch, LogCleaner, "_todo", lambda *_: True)
    await w.ask(1, IncrementalAlterConfigsRequest(resources=[change(resource_type=2, resource_name="t", configs=[compact])]), 1)
    await w.client.sleep(120)
    assert reported(w) == 3 and sorted(w.brokers) == list(IDS), "once on each broker"


@story()
async def test_groups_that_cannot_take_new_metadata_end_no_broker(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a bug in the group coordinator stops the replication, which learns of the same metadata."""
    fail_for(monkeypatch, GroupCoordinator, "apply_metadata", lambda *_: True)
    await w.create("good")
    assert reported(w) >= 3 and await serves(w)


@story()
async def test_a_metadata_record_that_fails_is_passed_over(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if one record that no broker can replay ends every broker, now and at each start."""
    fail_for(monkeypatch, MetadataImage, "apply", lambda _, record, *rest: getattr(record, "resource_name", "") == "poison")
    await w.ask(1, create("poison"), 7)
    change = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = change.AlterableConfig(name="retention.ms", config_operation=0, value="1000")
    await w.ask(1, IncrementalAlterConfigsRequest(resources=[change(resource_type=2, resource_name="poison",
                                                                    configs=[config])]), 1)
    await w.create("good")
    await w.world.restart(2)
    await w.world.ready()
    w.connect(2)
    assert reported(w) >= 4 and await serves(w)


@story()
async def test_fetched_records_that_cannot_be_appended_do_not_stop_the_fetcher(
        w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if one partition's poison ends a follower, or stops what it copies from the same leader for other partitions."""
    await w.create("poison")
    fail_for(monkeypatch, Partition, "append_fetched", lambda self, *_: self.topic == "poison")
    await w.client.sleep(1)
    assert reported(w) >= 1 and await serves(w)


@story()
async def test_a_coordinator_that_cannot_read_its_partition_ends_no_broker(
        w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a record that no coordinator can read ends its broker, and the next one, one after the other."""
    find = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    await w.until(lambda: all(w.brokers[n].node.image.partition("t", 0) for n in IDS))
    while (node := (await w.ask(1, find, 6)).coordinators[0].node_id) < 0 or not shard(w, node) or shard(w, node).loading:
        await w.client.sleep(0.1)
    assert (await w.ask(node, requests.commit("g", "t", 3), 8)).topics[0].partitions[0].error_code == 0
    fail_for(monkeypatch, GroupCoordinatorShard, "_replay", lambda *_: True)
    w.world.kill(node)
    asked = next(n for n in IDS if n != node)
    while (heir := (await w.ask(asked, find, 6)).coordinators[0].node_id) in (-1, node):
        await w.client.sleep(0.1)
    await w.until(lambda: reported(w) > 0)
    answer = await w.ask(heir, requests.commit("g", "t", 3), 8)
    assert answer.topics[0].partitions[0].error_code == int(Err.COORDINATOR_LOAD_IN_PROGRESS)
    assert sorted(w.brokers) == sorted({*IDS} - {node})


def shard(w: Replicas, node: int) -> Any:
    """Return what the coordinator on this node keeps of the only partition of group `g`; None before it leads."""
    groups = w.brokers[node].groups
    return groups.partitions.get(groups.partition_for("g"))


@story()
async def test_a_controller_s_own_decision_that_fails_is_tried_again_later(
        w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the controller stops to look at the time, so that no dead broker is ever fenced, or tries without a pause."""
    victim = next(n for n in w.followers if n != w.world.controller())
    with monkeypatch.context() as broken:
        fail_for(broken, Controller, "tick", lambda *_: True)
        w.world.kill(victim)
        await w.client.sleep(20)
        assert 1 <= reported(w) < 100 and victim in w.brokers[w.leader].node.image.partition("t", 0).isr
    await w.until(lambda: victim not in w.brokers[w.leader].node.image.partition("t", 0).isr, within=30)


@story(Hurried)
async def test_a_snapshot_that_fails_is_tried_again(w: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a node ends because its metadata cannot be written as a snapshot: the log has everything, too."""
    with monkeypatch.context() as broken:
        fail_for(broken, MetadataImage, "to_records", lambda *_: True)
        await w.client.sleep(6)
        await w.create("late")
        assert reported(w) >= 1
    await w.client.sleep(6)
    await w.create("later")
    await w.until(lambda: all(b.quorum.log.latest_snapshot is not None for b in w.brokers.values()))
    assert await serves(w)


@staged(Replicas, 1)
async def test_the_longest_name_of_a_topic_can_be_deleted(w: Replicas) -> None:
    """Fails if a name that is made of a topic's name is longer than a file's name may be: 249 characters are allowed."""
    await w.begin()
    name = "x" * 249
    await w.create(name)
    states = [DeleteTopicsRequest.DeleteTopicState(name=name)]
    await w.ask(1, DeleteTopicsRequest(topics=states, timeout_ms=9000), 6)
    await w.until(lambda: all((name, 0) not in b.replicas.partitions for b in w.brokers.values()))
    await w.client.sleep(1)
    assert [n for node in IDS for n in w.disk(node).listdir("/data") if "xxx" in n] == [] and await serves(w)
