"""The coordinator's shell on three real brokers in virtual time: what is in the log shows, and only that."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.admin.groups import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)

from minikafka.broker.coordinator.hashing import java_hash, partition_of
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.protocol.errors import Err
from tests import requests
from tests.stage import Stage, staged

GROUP = "readers"


class Groups(Stage):
    """A world with a topic `t` and a client that speaks the group protocol."""

    async def begin(self) -> int:
        """Start, create the topic, wait for a coordinator; return the coordinator's node."""
        await self.start()
        await self.create("t")
        return await self.coordinator()

    async def delete(self, name: str, node: int) -> None:
        names = [DeleteTopicsRequest.DeleteTopicState(name=name)]
        answer = await self.ask(node, DeleteTopicsRequest(topics=names, timeout_ms=9000), 6)
        assert [topic.error_code for topic in answer.responses] == [Err.NONE]

    async def create(self, name: str, node: int = 1, replicas: int = 3) -> None:
        answer = await self.ask(node, requests.create_topics(requests.topic(name, 2, replicas)), 7)
        assert [topic.error_code for topic in answer.topics] == [Err.NONE]

    async def coordinator(self, instead_of: int | None = None) -> int:
        return await self.coordinator_of(GROUP, instead_of=instead_of)

    async def commit(self, node: int, offset: int, member: str = "", generation: int = -1) -> Err:
        request = requests.commit(GROUP, "t", offset, generation_id_or_member_epoch=generation, member_id=member)
        answer = await self.ask(node, request, 8)
        return Err(answer.topics[0].partitions[0].error_code)

    async def fetch(self, node: int, require_stable: bool = False) -> tuple[Err, int]:
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        topic = group.OffsetFetchRequestTopics(name="t", partition_indexes=[0])
        request = OffsetFetchRequest(groups=[group(group_id=GROUP, topics=[topic])], require_stable=require_stable)
        answer = (await self.ask(node, request, 8)).groups[0]
        error = Err(answer.error_code)
        return error, -1 if error is not Err.NONE else answer.topics[0].partitions[0].committed_offset

    async def join(self, node: int, member: str = "") -> Any:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
        request = JoinGroupRequest(group_id=GROUP, session_timeout_ms=30_000, rebalance_timeout_ms=30_000, member_id=member,
                                   protocol_type="consumer", protocols=[protocol])
        return await self.ask(node, request, 9)

    async def enter(self, node: int) -> tuple[str, int]:
        """Join and sync as the only member; return (member id, generation)."""
        member = (await self.join(node)).member_id
        joined = await self.join(node, member)
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=b"all")
        request = SyncGroupRequest(group_id=GROUP, generation_id=joined.generation_id, member_id=member,
                                   protocol_type="consumer", protocol_name="range", assignments=[assignment])
        synced = await self.ask(node, request, 5)
        assert (synced.error_code, bytes(synced.assignment)) == (0, b"all")
        return member, joined.generation_id

    async def heartbeat(self, node: int, member: str, generation: int) -> Err:
        request = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=member)
        return Err((await self.ask(node, request, 4)).error_code)


@pytest.mark.parametrize("seed", range(3))
@staged(Groups)
async def test_rule_60_a_commit_is_acknowledged_and_shown_when_it_is_replicated(world: Groups, seed: int) -> None:
    """Fails if a commit is answered, or seen by OffsetFetch, before the high watermark has passed it, or if one whose
    client got a timeout is forgotten although it is in the log."""
    node = await world.begin()
    assert await world.commit(node, 3) is Err.NONE
    release = world.hold()
    before = world.loop.time()
    assert await world.commit(node, 5) is Err.COORDINATOR_NOT_AVAILABLE
    assert world.loop.time() - before >= 5                        # offsets.commit.timeout.ms
    assert await world.fetch(node) == (Err.NONE, 3)
    assert await world.fetch(node, require_stable=True) == (Err.NOT_COORDINATOR, -1)
    release()
    assert await world.fetch(node, require_stable=True) == (Err.NONE, 5)
    assert await world.fetch(node) == (Err.NONE, 5)


@pytest.mark.parametrize("seed", range(3))
@staged(Groups)
async def test_rule_62_the_next_coordinator_has_what_the_log_has(world: Groups, seed: int) -> None:
    """Fails if offsets, members, generation or assignment are lost, or a deleted group comes back, at a failover."""
    node = await world.begin()
    member, generation = await world.enter(node)
    for offset in range(10):
        assert await world.commit(node, offset, member, generation) is Err.NONE
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert await world.fetch(node) == (Err.NONE, 9)
    assert await world.heartbeat(node, member, generation) is Err.NONE
    described = (await world.ask(node, DescribeGroupsRequest(groups=[GROUP]), 5)).groups[0]
    assert (described.group_state, bytes(described.members[0].member_assignment)) == ("Stable", b"all")


@staged(Groups, 1)
async def test_rule_62_whoever_waits_when_the_coordinator_goes_is_sent_to_the_next(world: Groups) -> None:
    """Fails if a held back JoinGroup is dropped or left waiting when the leadership moves."""
    node = await world.begin()
    member = (await world.join(node)).member_id
    waiting = world.loop.create_task(world.join(node, member))
    await world.client.sleep(1)                                   # inside the initial delay of three seconds
    assert not waiting.done()
    await world.world.stop(node)
    assert (await waiting).error_code == Err.NOT_COORDINATOR


@staged(Groups, 1)
async def test_rule_62_while_a_partition_loads_nothing_is_decided(world: Groups) -> None:
    """Fails if a loading coordinator answers from half of its log; heartbeats are let pass, as in Kafka."""
    node = await world.begin()
    partition = world.brokers[node].groups.loaded(GROUP)
    partition.loading = True
    assert await world.commit(node, 1) is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert (await world.fetch(node))[0] is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert (await world.join(node)).error_code == Err.COORDINATOR_LOAD_IN_PROGRESS
    assert await world.heartbeat(node, "anybody", 1) is Err.NONE
    listed = await world.ask(node, ListGroupsRequest(), 5)
    assert listed.error_code == Err.COORDINATOR_LOAD_IN_PROGRESS


@staged(Groups, 1)
async def test_a_recreated_topic_inherits_no_offsets(world: Groups) -> None:
    """Fails if the offsets of a deleted topic stay: a new topic of the same name would be read from the middle."""
    node = await world.begin()
    await world.commit(node, 7)
    await world.delete("t", 1)
    while (await world.fetch(node))[1] != -1:
        await world.client.sleep(0.05)
    await world.create("t")
    assert await world.fetch(node) == (Err.NONE, -1)


@staged(Groups, 1)
async def test_an_offset_belongs_to_the_id_of_its_topic(world: Groups) -> None:
    """I-OFFSET-3: fails if a new topic inherits its namesake's offsets because no coordinator saw the deletion."""
    node = await world.begin()
    await world.commit(node, 7)
    controller, asked = world.world.controller(), next(other for other in world.peers if other != node)
    assert controller != node, "another seed: the deletion needs a controller while the group has no coordinator"
    world.world.kill(node)
    await world.delete("t", asked)
    await world.create("t", asked, replicas=2)
    heir = await world.coordinator(instead_of=node)
    assert await world.fetch(heir, require_stable=True) == (Err.NONE, -1)
    assert await world.commit(heir, 2) is Err.NONE and await world.fetch(heir) == (Err.NONE, 2)


@staged(Groups, 1)
async def test_a_commit_that_is_replicated_after_the_deletion_is_not_shown(world: Groups) -> None:
    """I-OFFSET-3: fails if a deletion finds only the offsets that are committed when it comes."""
    node = await world.begin()
    release = world.hold()
    assert await world.commit(node, 7) is Err.COORDINATOR_NOT_AVAILABLE
    await world.delete("t", node)
    await world.create("t", node)
    release()
    await world.client.sleep(5)
    assert await world.fetch(node, require_stable=True) == (Err.NONE, -1)


@staged(Groups, 1)
async def test_the_trace_tells_every_state_and_every_commit(world: Groups) -> None:
    """Fails if a picture of the group could miss a change."""
    node = await world.begin()
    member, generation = await world.enter(node)
    await world.commit(node, 4, member, generation)
    states = [(e["state"], e["generation"]) for e in world.events(node, "group")]
    assert states == [("PreparingRebalance", 0), ("CompletingRebalance", 1), ("Stable", 1)]
    assert [(e["group"], e["tp"], e["offset"]) for e in world.events(node, "commit")] == [(GROUP, "t-0", 4)]


@pytest.mark.parametrize(("text", "hashed"), [("", 0), ("hello", 99162322), ("polygenelubricants", -(2**31)),
                                              ("\N{GRINNING FACE}", 1772899)])
def test_a_groups_partition_is_kafkas(text: str, hashed: int) -> None:
    """Fails if our coordinator of a group is another than Kafka's on the same topic (values of Java's hashCode)."""
    assert java_hash(text) == hashed
    assert partition_of(text, 50) == (0 if hashed == -(2**31) else abs(hashed) % 50)


@staged(Groups, 1)
async def test_the_offsets_topic_is_made_as_kafka_makes_it(world: Groups) -> None:
    """Fails if partitions, replicas or the compaction of __consumer_offsets differ."""
    await world.begin()
    image = world.brokers[1].image
    topic = image.topics[OFFSETS_TOPIC]
    assert [len(p.replicas) for p in topic.partitions.values()] == [3, 3]      # the world asks for two partitions
    assert image.topic_configs(OFFSETS_TOPIC) == {"cleanup.policy": "compact", "compression.type": "producer",
                                                  "segment.bytes": "104857600"}


# --- offset expiration -------------------------------------------------------------------------------------------


class Forgetful(Groups):
    """Offsets are kept for a minute, and looked at every five seconds."""

    extra = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "5000"}

    async def listed(self, node: int) -> list[str]:
        answer = await self.ask(node, ListGroupsRequest(), 5)
        return [group.group_id for group in answer.groups]

    async def leave(self, node: int, member: str) -> None:
        leaving = [LeaveGroupRequest.MemberIdentity(member_id=member)]
        await self.ask(node, LeaveGroupRequest(group_id=GROUP, members=leaving), 5)


@staged(Forgetful, 1)
async def test_offsets_that_nobody_renews_are_forgotten_and_the_group_with_them(world: Forgetful) -> None:
    """Fails if a simple group's offsets go too early, stay, or come back with the next coordinator."""
    node = await world.begin()
    await world.commit(node, 3)
    await world.client.sleep(50)
    assert await world.fetch(node) == (Err.NONE, 3) and await world.listed(node) == [GROUP]
    await world.client.sleep(20)
    assert await world.fetch(node) == (Err.NONE, -1) and await world.listed(node) == []
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert await world.fetch(node) == (Err.NONE, -1) and await world.listed(node) == []


@staged(Forgetful, 1)
async def test_a_group_is_kept_for_a_while_after_its_last_member(world: Forgetful) -> None:
    """Fails if the time runs from the commit, or begins again with another coordinator."""
    node = await world.begin()
    member, generation = await world.enter(node)
    await world.commit(node, 3, member, generation)
    for _ in range(10):
        await world.client.sleep(10)
        assert await world.heartbeat(node, member, generation) is Err.NONE
    await world.leave(node, member)
    await world.client.sleep(30)
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    await world.client.sleep(20)
    assert await world.fetch(node) == (Err.NONE, 3)
    await world.client.sleep(20)
    assert await world.fetch(node) == (Err.NONE, -1) and await world.listed(node) == []
