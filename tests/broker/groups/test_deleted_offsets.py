"""A deletion takes every offset that was appended before it, also one for which a replica or a transaction still waits."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.consumer.group import OffsetDeleteRequest
from kafka.protocol.producer import InitProducerIdRequest
from kafka.protocol.producer.transaction import TxnOffsetCommitRequest, WriteTxnMarkersRequest

from minikafka.broker.coordinator.hashing import partition_of
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.protocol.errors import Err
from tests.broker.groups.test_shell_groups import GROUP, Forgetful
from tests.stage import staged

COMMITTED, WAITS = "committed", "waits for its replicas"
WORK = (
    ("plain", COMMITTED), ("plain", WAITS),
    ("of a transaction", COMMITTED), ("of a transaction", WAITS),
    ("of a transaction that ends", COMMITTED), ("of a transaction that ends", WAITS),
)


class Deletions(Forgetful):
    """A group whose offset of partition 0 is in work when it is deleted."""

    async def producer(self) -> tuple[int, int]:
        """Return an identity with an open transaction, to which the group belongs by its offset of partition 1."""
        node = await self.coordinator_of("copier", 1)
        init = InitProducerIdRequest(transactional_id="copier", transaction_timeout_ms=60_000)
        while (found := await self.ask(node, init, 4)).error_code:
            await self.client.sleep(0.05)
        return found.producer_id, found.producer_epoch

    async def stage(self, node: int, who: tuple[int, int], partition: int) -> Err:
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        row = topic.TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=9)
        request = TxnOffsetCommitRequest(transactional_id="copier", group_id=GROUP, producer_id=who[0], producer_epoch=who[1],
                                         member_id="", topics=[topic(name="t", partitions=[row])])
        answer = await self.ask(node, request, 5)
        return Err(answer.topics[0].partitions[0].error_code)

    async def end(self, node: int, who: tuple[int, int]) -> None:
        marker = WriteTxnMarkersRequest.WritableTxnMarker
        topic = marker.WritableTxnMarkerTopic(name=OFFSETS_TOPIC, partition_indexes=[partition_of(GROUP, 2)])
        request = WriteTxnMarkersRequest(markers=[marker(producer_id=who[0], producer_epoch=who[1], transaction_result=True,
                                                         topics=[topic], coordinator_epoch=0)])
        await self.ask(node, request, 1)

    async def remove(self, node: int, what: str) -> None:
        if what == "DeleteGroups":
            await self.ask(node, DeleteGroupsRequest(groups_names=[GROUP]), 2)
        elif what == "OffsetDelete":
            topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
            rows = [topic.OffsetDeleteRequestPartition(partition_index=n) for n in (0, 1)]
            await self.ask(node, OffsetDeleteRequest(group_id=GROUP, topics=[topic(name="t", partitions=rows)]), 0)
        else:
            await self.delete("t", node)
            await self.client.sleep(1)


@pytest.mark.parametrize("what", ["DeleteGroups", "OffsetDelete", "DeleteTopics"])
@pytest.mark.parametrize(("offset", "state"), WORK)
@staged(Deletions, 1)
async def test_a_deletion_takes_what_was_appended_before_it(world: Deletions, what: str, offset: str, state: str) -> None:
    """I-GPART-4. Fails if a deletion finds only what is committed and of no open transaction when it comes: the offset would
    come back with the replicas' answer, or with the commit of the transaction, or at the next coordinator."""
    node = await world.begin()
    who = await world.producer() if offset != "plain" else (-1, -1)
    assert offset == "plain" or await world.stage(node, who, 1) is Err.NONE
    release = world.hold() if state == WAITS else lambda: None
    taken = await (world.commit(node, 5) if offset == "plain" else world.stage(node, who, 0))
    assert taken is (Err.COORDINATOR_NOT_AVAILABLE if state == WAITS else Err.NONE)
    if offset.endswith("ends"):
        await world.end(node, who)
    await world.remove(node, what)
    release()
    if offset == "of a transaction":
        await world.end(node, who)
    if what == "DeleteTopics":
        await world.create("t", node)
    assert await world.fetch(node, require_stable=True) == (Err.NONE, -1)
    await world.world.stop(node)
    node = await world.coordinator(instead_of=node)
    assert await world.fetch(node, require_stable=True) == (Err.NONE, -1)
    assert what != "DeleteGroups" or await world.listed(node) == []


@staged(Deletions, 1)
async def test_an_old_offset_does_not_expire_over_a_new_one_that_waits(world: Deletions) -> None:
    """I-EXPIRE-1. Fails if the sweep finds only what is committed: the tombstone of the old offset would delete the new one,
    which is before it in the log, and the group would go."""
    node = await world.begin()
    assert await world.commit(node, 3) is Err.NONE
    await world.client.sleep(55)
    release = world.hold()
    assert await world.commit(node, 5) is Err.COORDINATOR_NOT_AVAILABLE
    await world.client.sleep(15)
    release()
    await world.client.sleep(5)
    assert await world.fetch(node) == (Err.NONE, 5) and await world.listed(node) == [GROUP]
