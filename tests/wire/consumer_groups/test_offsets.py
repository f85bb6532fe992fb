"""Offsets of a group of the consumer protocol (KIP-848): commits and fetches carry the member's epoch."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from kafka.protocol.consumer.group import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import Group, all_of, beat_until, until
from tests.wire.raw import Raw


class Shelf:
    """Where a group keeps the offsets of one topic."""

    def __init__(self, group: Group, topic: str) -> None:
        self.group, self.topic = group, topic
        self.id: UUID = next(topic_id for topic_id, name in group.topics.items() if name == topic)

    def commit(self, offset: int, member: str = "", epoch: int = -1, version: int = 9, partition: int = 0,
               topic_id: UUID | None = None, instance: str | None = None) -> int:
        topics = OffsetCommitRequest.OffsetCommitRequestTopic
        row = topics.OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self.group.name, generation_id_or_member_epoch=epoch, member_id=member, group_instance_id=instance,
            topics=[topics(name=self.topic, topic_id=topic_id or self.id, partitions=[row])], retention_time_ms=-1)
        (answer,) = self.group.ask(request, version).topics
        return int(answer.partitions[0].error_code)

    def fetch(self, member: str | None = None, epoch: int = -1, version: int = 9, everything: bool = False) -> Any:
        """The group's error, or the committed offset of partition 0."""
        groups = OffsetFetchRequest.OffsetFetchRequestGroup
        topic = groups.OffsetFetchRequestTopics(name=self.topic, topic_id=self.id, partition_indexes=[0])
        asked = groups(group_id=self.group.name, member_id=member, member_epoch=epoch,
                       topics=None if everything else [topic])
        (found,) = self.group.ask(OffsetFetchRequest(groups=[asked]), version).groups
        if found.error_code != Err.NONE:
            assert found.topics == []
            return {"error": found.error_code}
        return [p.committed_offset for t in found.topics for p in t.partitions]

    def delete(self, *topics: str) -> dict[str, int]:
        kind = OffsetDeleteRequest.OffsetDeleteRequestTopic
        rows = [kind(name=name, partitions=[kind.OffsetDeleteRequestPartition(partition_index=0)]) for name in topics]
        answer = self.group.ask(OffsetDeleteRequest(group_id=self.group.name, topics=rows), 0)
        assert answer.error_code == Err.NONE
        return {t.name: t.partitions[0].error_code for t in answer.topics}


@pytest.fixture
def shelf(group: Group) -> Shelf:
    return Shelf(group, group.topic(2))


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_of_a_member(group: Group, shelf: Shelf, version: int) -> None:
    """Before version 9 they cannot carry an epoch. Fails if they pass there, or not above, or with another epoch."""
    member = group.member(shelf.topic)
    member.beat()
    if version < 9:
        assert {shelf.commit(5, member.id, epoch, version) for epoch in (-1, 1, 2, 3)} == {Err.UNSUPPORTED_VERSION}
        assert shelf.fetch() == [-1]
    else:
        assert shelf.commit(5, member.id, 2, version) == Err.NONE
        assert {shelf.commit(6, member.id, epoch, version) for epoch in (-1, 0, 1, 3)} == {Err.STALE_MEMBER_EPOCH}
        assert shelf.fetch() == [5]
    assert {shelf.commit(6, *who, version) for who in (("other", 2), ("", -1), ("", 2))} == {Err.UNKNOWN_MEMBER_ID}


def test_what_a_member_commits(group: Group, shelf: Shelf) -> None:
    """Fails if another's partition is refused, an unknown one is taken, or an instance id matters."""
    member, other = group.member(shelf.topic), group.member(shelf.topic)
    member.beat()
    beat_until(lambda: len(other.owned) == 1 and group.is_stable(), other, member)
    ((_, anothers),) = other.owned
    assert shelf.commit(4, member.id, 3, partition=anothers) == Err.NONE
    assert shelf.commit(5, member.id, 3, instance="of-nobody") == Err.NONE
    assert shelf.commit(6, member.id, 3, partition=9) == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert shelf.commit(6, member.id, 3, version=10, topic_id=uuid4()) == Err.UNKNOWN_TOPIC_ID


def test_a_commit_that_was_under_way_as_the_epoch_changed(group: Group, shelf: Shelf) -> None:
    """An older epoch is good for partitions that the member has had since. Fails if such a commit is lost, or one for a
    partition that went to another passes."""
    member, other = group.member(shelf.topic), group.member(shelf.topic)
    member.beat()
    assert member.owned == all_of(shelf.topic, 2)
    other.beat()
    assert shelf.commit(7, member.id, 2, partition=0) == shelf.commit(7, member.id, 2, partition=1) == Err.NONE
    beat_until(lambda: len(other.owned) == 1 and group.is_stable(), member, other)
    ((_, kept),), ((_, gone),) = member.owned, other.owned
    assert shelf.commit(8, member.id, 2, partition=kept) == Err.NONE
    assert shelf.commit(8, member.id, 2, partition=gone) == Err.STALE_MEMBER_EPOCH
    assert shelf.commit(8, other.id, 2, partition=gone) == Err.STALE_MEMBER_EPOCH
    assert shelf.commit(8, member.id, 1, partition=kept) == Err.STALE_MEMBER_EPOCH
    assert shelf.fetch(member.id, 2) == {"error": Err.STALE_MEMBER_EPOCH}  # what is read has no such excuse


@pytest.mark.parametrize("version", [9, 10])
def test_fetches_of_a_member(group: Group, shelf: Shelf, version: int) -> None:
    """The whole group is refused. Fails if an epoch or a member is not looked at, or an administrator is refused."""
    member = group.member(shelf.topic)
    member.beat()
    shelf.commit(5, member.id, 2)
    assert shelf.fetch(member.id, 2, version) == shelf.fetch(None, -1, version) == [5]
    assert shelf.fetch(member.id, 2, version, everything=True) == [5]
    for everything in (False, True):
        for epoch in (-1, 1, 3):
            assert shelf.fetch(member.id, epoch, version, everything) == {"error": Err.STALE_MEMBER_EPOCH}
        for who in (("other", 2), ("", -1), ("", 2)):
            assert shelf.fetch(*who, version, everything) == {"error": Err.UNKNOWN_MEMBER_ID}
    assert shelf.fetch(member.id, 7, 8) == [5]              # version 8 has no epoch


def test_offsets_of_a_group_that_is_empty_again(group: Group, shelf: Shelf) -> None:
    """Fails if they do not outlive the members, or only members may commit."""
    member = group.member(shelf.topic)
    member.beat()
    shelf.commit(5, member.id, 2)
    member.leave()
    assert shelf.fetch() == [5]
    assert shelf.commit(11) == shelf.commit(12, "mm", -1) == Err.NONE
    assert shelf.commit(13, "mm", 1) == Err.UNKNOWN_MEMBER_ID
    assert shelf.fetch() == [12]
    assert shelf.fetch("mm", 1) == {"error": Err.UNKNOWN_MEMBER_ID}
    back = group.member(shelf.topic)
    back.beat()
    assert shelf.fetch(back.id, back.epoch) == [12]


def test_offsets_of_no_group(group: Group, shelf: Shelf) -> None:
    """Fails if a commit with an epoch is taken for a group that does not exist, or refused for a simple group."""
    assert shelf.commit(1, "mm", 1) == Err.GROUP_ID_NOT_FOUND
    assert shelf.fetch("mm", 1) == [-1]
    assert shelf.commit(1, "mm", -1) == Err.NONE
    assert shelf.fetch("mm", 1) == [1]


def test_deleting_offsets(group: Group, shelf: Shelf) -> None:
    """Fails if offsets of a subscribed topic can be deleted while there are members, or others cannot."""
    other = Shelf(group, group.topic(1, "other", settled=False))
    member = group.member(shelf.topic)
    member.beat()
    assert shelf.commit(5, member.id, 2) == other.commit(6, member.id, 2) == Err.NONE
    assert shelf.delete(shelf.topic, other.topic, "none") == {
        shelf.topic: Err.GROUP_SUBSCRIBED_TO_TOPIC, other.topic: Err.NONE, "none": Err.UNKNOWN_TOPIC_OR_PARTITION}
    assert (shelf.fetch(), other.fetch()) == ([5], [-1])
    member.leave()
    assert shelf.delete(shelf.topic) == {shelf.topic: Err.NONE}
    assert shelf.fetch() == [-1]


class Transaction:
    """A transaction whose offsets go to one group."""

    def __init__(self, group: Group) -> None:
        self.group, self.name = group, group.name
        self.raw = until(self._coordinator)
        self.begun = until(self._begin)
        added = self.raw.ask(AddOffsetsToTxnRequest(transactional_id=self.name, group_id=group.name, **self._who()), 3)
        assert added.error_code == Err.NONE

    def _who(self) -> dict[str, int]:
        return {"producer_id": self.begun.producer_id, "producer_epoch": self.begun.producer_epoch}

    def _coordinator(self) -> Raw | None:
        """the transaction's coordinator"""
        found = self.group.ask(FindCoordinatorRequest(key=self.name, key_type=1), 3)
        return Raw(f"{found.host}:{found.port}") if found.error_code == Err.NONE else None

    def _begin(self) -> Any:
        """a producer id"""
        answer = self.raw.ask(InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=60_000), 4)
        return answer if answer.error_code == Err.NONE else None

    def commit(self, topic: str, offset: int, member: str, epoch: int, version: int = 3, partition: int = 0) -> int:
        topics = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        row = topics.TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        answer = self.group.ask(TxnOffsetCommitRequest(
            transactional_id=self.name, group_id=self.group.name, generation_id=epoch, member_id=member,
            topics=[topics(name=topic, partitions=[row])], **self._who()), version)
        return int(answer.topics[0].partitions[0].error_code)

    def end(self) -> int:
        answer = self.raw.ask(EndTxnRequest(transactional_id=self.name, committed=True, **self._who()), 3)
        self.raw.socket.close()
        return int(answer.error_code)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_offsets_in_a_transaction(group: Group, shelf: Shelf, version: int) -> None:
    """They say ILLEGAL_GENERATION where others say STALE_MEMBER_EPOCH. Fails if a member of another epoch writes offsets."""
    member, other = group.member(shelf.topic), group.member(shelf.topic)
    member.beat()
    transaction = Transaction(group)

    def commit(offset: int, who: str, epoch: int, partition: int = 0) -> int:
        return transaction.commit(shelf.topic, offset, who, epoch, version, partition)

    if version < 3:                             # it carries no member
        assert commit(5, "", -1) == Err.NONE
    else:
        assert commit(4, member.id, 2) == Err.NONE
        assert {commit(9, member.id, epoch) for epoch in (-1, 1, 3)} == {Err.ILLEGAL_GENERATION}
        assert commit(9, "other", 2) == Err.UNKNOWN_MEMBER_ID
        assert commit(5, "", -1) == Err.NONE        # who names no member is not asked, here alone
        beat_until(lambda: len(other.owned) == 1 and group.is_stable(), other, member)
        ((_, kept),), ((_, gone),) = member.owned, other.owned
        assert commit(5, member.id, 2, kept) == Err.NONE
        assert commit(5, member.id, 2, gone) == Err.ILLEGAL_GENERATION
        assert commit(5, member.id, 3, gone) == Err.NONE
    assert transaction.end() == Err.NONE
    until(lambda: shelf.fetch() == [5])
