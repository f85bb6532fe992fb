"""Consumer groups on real brokers in the simulated world: when a request is answered, and what a new coordinator loads."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin.groups import DeleteGroupsRequest

from minikafka.protocol.apis import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from minikafka.protocol.errors import Err
from tests.broker.groups.test_shell_groups import GROUP, Groups
from tests.stage import staged

JOIN: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"], "topic_partitions": []}


class Consumers(Groups):
    async def beat(self, node: int, epoch: int, **news: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m", member_epoch=epoch, **news)
        return await self.ask(node, request, 1)

    async def describe(self, node: int) -> Any:
        request = ConsumerGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=False)
        return (await self.ask(node, request, 1)).groups[0]


@pytest.mark.parametrize("seed", range(3))
@staged(Consumers)
async def test_rule_58_nothing_is_answered_before_it_is_replicated(world: Consumers, seed: int) -> None:
    """Fails if an epoch, an assignment or a group is seen that a new coordinator might not know of."""
    node = await world.begin()
    release = world.hold()
    refused = await world.beat(node, 0, **JOIN)
    assert (refused.error_code, refused.assignment) == (Err.COORDINATOR_NOT_AVAILABLE, None)
    assert (await world.describe(node)).error_code == Err.COORDINATOR_NOT_AVAILABLE
    release()
    joined = await world.beat(node, 0, **JOIN)
    assert (joined.error_code, joined.member_epoch) == (Err.NONE, 2), "what was written then holds now"
    assert [p for topic in joined.assignment.topic_partitions for p in topic.partitions] == [0, 1]
    described = await world.describe(node)
    assert (described.group_state, described.group_epoch) == ("Stable", 2)


@pytest.mark.parametrize("seed", range(3))
@staged(Consumers)
async def test_rule_62_the_next_coordinator_goes_on(world: Consumers, seed: int) -> None:
    """Fails if members, epochs or assignments are lost at a failover, or a silent member stays for ever after it."""
    node = await world.begin()
    joined = await world.beat(node, 0, **JOIN)
    assert await world.commit(node, 7) is Err.UNKNOWN_MEMBER_ID
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert (await world.beat(node, joined.member_epoch)).error_code == Err.NONE
    (member,) = (await world.describe(node)).members
    assert (member.member_id, member.member_epoch) == ("m", joined.member_epoch)
    assert [p for topic in member.assignment.topic_partitions for p in topic.partitions] == [0, 1]
    await world.client.sleep(46)
    assert (await world.describe(node)).group_state == "Empty"


@staged(Consumers, 1)
async def test_a_deleted_group_stays_deleted(world: Consumers) -> None:
    """Fails if a tombstone is missing: the next coordinator would find a piece of the group."""
    node = await world.begin()
    await world.beat(node, 0, **JOIN)
    await world.beat(node, -1)
    deleted = await world.ask(node, DeleteGroupsRequest(groups_names=[GROUP]), 2)
    assert [r.error_code for r in deleted.results] == [Err.NONE]
    assert (await world.describe(node)).error_code == Err.GROUP_ID_NOT_FOUND
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert (await world.describe(node)).error_code == Err.GROUP_ID_NOT_FOUND


@staged(Consumers, 1)
async def test_the_trace_tells_who_has_what(world: Consumers) -> None:
    """Fails if a picture of the group could miss a change."""
    node = await world.begin()
    await world.beat(node, 0, **JOIN)
    await world.beat(node, -1)
    told = world.events(node, "group")
    assert [(e["state"], e["generation"], e["members"]) for e in told] == [("Stable", 2, ["m"]), ("Empty", 3, [])]
    assert told[0]["assignment"] == {"m": ["t-0", "t-1"]}
