"""Groups that change from one protocol to the other, with members of both."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, write_assignment
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    CompleteCall,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Store,
    StoredGroup,
    Sync,
)
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer import classic_members as classic
from minikafka.broker.groups.consumer import migration
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.group import GroupContext
from minikafka.proof.small_worlds.groups.lone_consumer_group import LoneConsumerGroup
from minikafka.protocol.errors import Err, KafkaError


def subscription(*topics: str, owned: dict[str, list[int]] | None = None, version: int = 1) -> bytes:
    kind = ConsumerProtocolSubscription.TopicPartition
    rows = [kind(topic=topic, partitions=partitions) for topic, partitions in (owned or {}).items()]
    return ConsumerProtocolSubscription(topics=list(topics), user_data=None, owned_partitions=rows, generation_id=-1,
                                        rack_id=None).encode(version=version)


def request(member: str, *topics: str, owned: dict[str, list[int]] | None = None, **more: Any) -> Join:
    protocols = more.pop("protocols", (("range", subscription(*topics, owned=owned)),))
    return Join(member, "consumer", protocols, 10_000, 30_000, "c", "/h", **more)


class Mixed(LoneConsumerGroup):
    """A world whose group also takes requests of the classic protocol."""

    def classic_join(self, member: str, *topics: str, **more: Any) -> JoinResult:
        answer: Any = self.carry_out(classic.join(self.group, "call", request(member, *topics, **more), self.context))
        return answer

    def classic_sync(self, member: str, generation: int) -> dict[str, list[int]]:
        answer = classic.sync(self.group, Sync(member, generation, (), None, "consumer", "range"), self.context)
        return {row.topic: list(row.partitions) for row in read_assignment(answer.assignment).assigned_partitions}

    def classic_beat(self, member: str, generation: int) -> Err:
        return classic.heartbeat(self.group, member, None, generation, self.context)


def stable(**topics: list[int]) -> ClassicGroup:
    """Return a world with a classic group of one member, C, in generation 5."""
    group = ClassicGroup("g", GroupConfig(0), lambda: "0")
    group.join("call", request("", *topics, must_return=False), GroupContext(0.0))
    group.tick(GroupContext(0.0))
    (member,) = group.members.by_id
    group.sync("call", Sync(member, 1, ((member, write_assignment(topics, 1)),)), GroupContext(0.0))
    group.generation = 5
    stored = group.snapshot({member: write_assignment(topics, 1)})
    return ClassicGroup.restore("g", stored, GroupConfig(0), lambda: "0")


def upgraded(world: LoneConsumerGroup, old: ClassicGroup) -> ConsumerGroup:
    migration.upgrade(old, world.group, world.context)
    world.log += world.group.state.written
    return world.group


# --- up ------------------------------------------------------------------------------------------------------------

def test_a_group_goes_over_with_its_members() -> None:
    """Fails if C loses its partitions, or is not called back to share them, or D gets one before C gave it up."""
    w, old = Mixed({"t": 2}), stable(t=[0, 1])
    (c,) = old.members.by_id
    upgraded(w, old)
    assert w.classic_beat(c, 5) is Err.NONE
    w.now += 2
    assert w.told(w.join("D", "t")) == []
    assert w.has(c) == ["t-0", "t-1"]
    assert w.classic_beat(c, 5) is Err.REBALANCE_IN_PROGRESS
    again = w.classic_join(c, "t", owned={"t": [0, 1]})
    assert (again.error, again.generation, again.protocol_type, again.protocol_name) == (
        Err.NONE, 5, "consumer", "range")
    assert w.classic_sync(c, 5) == {"t": [0]}
    assert w.classic_beat(c, 5) is Err.REBALANCE_IN_PROGRESS, "it has something to give up"
    assert w.classic_join(c, "t", owned={"t": [0]}).generation == 6
    assert w.classic_sync(c, 6) == {"t": [0]}
    assert w.told(w.beat("D", 6)) == ["t-1"]
    assert w.replayed().state.members == w.group.state.members


@pytest.mark.parametrize(("policy", "change", "reason"), [
    ("downgrade", {}, "online upgrade is disabled."), ("disabled", {}, "online upgrade is disabled."),
    ("upgrade", {"protocol_type": "connect"}, "the group does not use the consumer embedded protocol."),
])
def test_groups_that_stay_what_they_are(policy: str, change: dict[str, str], reason: str) -> None:
    w, old = Mixed({"t": 1}, migration_policy=policy), stable(t=[0])
    for name, value in change.items():
        setattr(old, name, value)
    with pytest.raises(KafkaError) as refused:
        migration.upgrade(old, w.group, w.context)
    assert (refused.value.code, refused.value.message) == (
        Err.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group g to consumer group because {reason}")


def test_groups_that_cannot_be_read() -> None:
    for blob, reason in ((b"\0", "the embedded consumer protocol is malformed."),
                         (write_assignment({"t": [0]}, 1)[:-4] + b"\0\0\0\1x", "an unsupported custom assignor is in use.")):
        w, old = Mixed({"t": 1}), stable(t=[0])
        next(iter(old.members)).assignment = blob
        with pytest.raises(KafkaError, match=reason):
            migration.upgrade(old, w.group, w.context)


def test_who_waits_in_a_classic_group_is_called_back() -> None:
    group = ClassicGroup("g", GroupConfig(3000), lambda: "0")
    group.join("waits", request("", "t", must_return=False), GroupContext(0.0))
    (reply,) = migration.called_back(group)
    assert isinstance(reply, CompleteCall)
    assert (reply.call, reply.result.error) == ("waits", Err.REBALANCE_IN_PROGRESS)


# --- classic members -----------------------------------------------------------------------------------------------

def test_a_classic_member_joins_a_consumer_group() -> None:
    w = Mixed({"t": 2})
    w.join("A", "t")
    w.now += 2
    first = w.classic_join("", "t")
    assert first.error is Err.MEMBER_ID_REQUIRED
    assert list(w.group.state.members) == ["A"]
    joined = w.classic_join(first.member_id, "t")
    assert (joined.error, joined.generation) == (Err.NONE, 3)
    assert w.classic_sync(first.member_id, 3) == {}
    w.beat("A", 2, ["t-0"])
    assert w.classic_beat(first.member_id, 3) is Err.REBALANCE_IN_PROGRESS, "t-1 is free now"
    w.classic_join(first.member_id, "t")
    assert w.classic_sync(first.member_id, 3) == {"t": [1]}
    assert w.classic_beat(first.member_id, 3) is Err.NONE


def test_what_a_classic_member_is_refused() -> None:
    w = Mixed({"t": 1})
    w.join("A", "t")
    w.now += 2
    w.classic_join("C", "t")
    for protocols, kind in (((("roundrobin", subscription("t")),), "consumer"), ((("range", b""),), "connect")):
        with pytest.raises(KafkaError) as refused:
            classic.join(w.group, "call", Join("X", kind, protocols, 10_000, 30_000), w.context)
        assert refused.value.code is Err.INCONSISTENT_GROUP_PROTOCOL
    for member, generation, error in (("A", 2, Err.UNKNOWN_MEMBER_ID), ("X", 3, Err.UNKNOWN_MEMBER_ID),
                                      ("C", 2, Err.ILLEGAL_GENERATION)):
        with pytest.raises(KafkaError) as refused:
            w.classic_beat(member, generation)
        assert refused.value.code is error
        with pytest.raises(KafkaError) as refused:
            w.classic_sync(member, generation)
        assert refused.value.code is error


def test_a_classic_member_that_is_not_heard_of_is_given_up() -> None:
    """Fails if the member's own session timeout, or the time limit for its SyncGroup, is not applied."""
    w = Mixed({"t": 1})
    w.join("A", "t")
    w.classic_join("C", "t")
    w.pass_time(11)
    assert list(w.group.state.members) == ["A"], "no heartbeat in ten seconds"
    w.classic_join("C", "t")
    for _ in range(4):
        w.pass_time(9)
        if "C" in w.group.state.members:
            w.classic_beat("C", w.group.state.members["C"].current.epoch)
        w.beat("A", w.group.state.members["A"].current.epoch)
    assert list(w.group.state.members) == ["A"], "no SyncGroup in thirty"


def test_a_classic_member_that_has_synced_is_not_waited_for() -> None:
    """Fails if the time limit for a SyncGroup goes on after it came: a member that works would be removed."""
    w = Mixed({"t": 2})
    w.join("A", "t")
    w.now += 2
    w.classic_join("C", "t")
    assert w.classic_sync("C", 3) == {}
    w.beat("A", 2, ["t-0"])
    w.classic_join("C", "t")
    assert w.classic_sync("C", 3) == {"t": [1]}
    for _ in range(8):
        w.pass_time(9)
        assert w.classic_beat("C", 3) is Err.NONE
        w.beat("A", 3)
    assert sorted(w.group.state.members) == ["A", "C"]


def test_who_leaves() -> None:
    """Fails if an administrator cannot remove members of either protocol, by member id or instance id."""
    w = Mixed({"t": 2})
    w.join("A", "t", instance_id="i")
    w.classic_join("C", "t")
    asked = [Leaving("C"), Leaving("", "i"), Leaving("X"), Leaving("B", "i"), Leaving("", "j")]
    assert classic.leave(w.group, asked) == (
        [Err.NONE, Err.NONE, Err.UNKNOWN_MEMBER_ID, Err.FENCED_INSTANCE_ID, Err.UNKNOWN_MEMBER_ID], ["C", "A"])


# --- and down ------------------------------------------------------------------------------------------------------

def test_the_last_of_its_kind_leaves_a_classic_group() -> None:
    """Fails if a member loses its protocols, or is not called back."""
    w = Mixed({"t": 2})
    w.join("A", "t")
    w.now += 2
    w.classic_join("C", "t")
    kept = w.group.state
    assert migration.may_downgrade(kept, ["A"], w.settings, 10)
    assert not migration.may_downgrade(kept, ["C"], w.settings, 10)
    assert not migration.may_downgrade(kept, ["A", "C"], w.settings, 10)
    assert not migration.may_downgrade(kept, ["A"], w.settings, 0)
    assert not migration.may_downgrade(kept, ["A"], Mixed(migration_policy="upgrade").settings, 10)
    stored = migration.downgrade(kept, ["A"], w.image)
    assert isinstance(stored, StoredGroup)
    assert (stored.generation, stored.protocol, stored.leader) == (3, "range", "C")
    (member,) = stored.members
    (row,) = read_assignment(member.assignment).assigned_partitions
    assert (member.session_timeout_ms, row.topic, list(row.partitions)) == (10_000, "t", [1])
    group = migration.restored(kept, ClassicGroup.restore("g", stored, GroupConfig(0), lambda: "0"))
    assert group.members.get("C").protocols == request("C", "t").protocols
    assert not [e for e in group.rebalance_or_complete(0.0) if isinstance(e, Store)]
    assert group.state is ClassicGroupState.PREPARING_REBALANCE
    w.join("B", "t")
    assert not migration.may_downgrade(w.group.state, ["A"], w.settings, 10), "B is no classic member either"
