"""Random schedules: groups of each kind alone, the committed offsets, and the assignors (proof/small_worlds/groups)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, StoredGroup
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.records import TargetMetadata
from minikafka.broker.groups.offsets import OffsetChange
from minikafka.proof.small_worlds.groups.assignors_life import assignors_alone
from minikafka.proof.small_worlds.groups.group_life import (
    CLASSIC,
    CONSUMER,
    MIXED,
    GroupLife,
    classic_group_alone,
    consumer_group_alone,
    mixed_group_alone,
)
from minikafka.proof.small_worlds.groups.lone_group import LoneGroup
from minikafka.proof.small_worlds.groups.offsets_life import OffsetsLife, offsets_alone
from minikafka.protocol.errors import Err
from tests.broker.groups.test_group_transcripts import ToldGroup, do


@pytest.mark.parametrize(("alone", "seeds"), [(classic_group_alone, range(25, 30)), (consumer_group_alone, range(25, 30)),
                                              (mixed_group_alone, range(25, 30)), (offsets_alone, range(20, 40)),
                                              (assignors_alone, range(100))])
def test_random_schedules(alone: Callable[[int], object], seeds: range) -> None:
    """Fails if an answer breaks a rule of the protocols or of KIP-211, a call is answered twice or never, a partition has two
    owners, or a migration loses anything. Groups and offsets of earlier seeds are counted, too, in the tests below."""
    assert {seed: fallen for seed in seeds if (fallen := alone(seed))} == {}


class MetLife(GroupLife):
    """Counts what the schedules meet: answers, states, migrations."""

    met: Counter[str]

    def judge(self, what: str, answer: Err, may: bool) -> None:
        self.met[f"{what} {answer.name}"] += 1
        super().judge(what, answer, may)

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        self.met[f"upgrade in {old.state_name}"] += 1
        super().upgraded(old, group)

    def downgraded(self, stored: StoredGroup, group: ClassicGroup) -> None:
        self.met["downgrade"] += 1
        super().downgraded(stored, group)

    def check(self) -> None:
        self.met[f"{self.present.kind} {self.present.state_name}"] += 1
        self.met["expressions"] += bool(self.group.state.regexes)
        super().check()


COMMON = {f"{name} {error.name}" for name, error in (
    ("JoinGroup", Err.NONE), ("JoinGroup", Err.MEMBER_ID_REQUIRED), ("JoinGroup", Err.GROUP_MAX_SIZE_REACHED),
    ("JoinGroup", Err.INCONSISTENT_GROUP_PROTOCOL), ("SyncGroup", Err.NONE), ("SyncGroup", Err.UNKNOWN_MEMBER_ID),
    ("SyncGroup", Err.INCONSISTENT_GROUP_PROTOCOL), ("Heartbeat", Err.NONE), ("Heartbeat", Err.REBALANCE_IN_PROGRESS),
    ("Heartbeat", Err.ILLEGAL_GENERATION), ("Heartbeat", Err.UNKNOWN_MEMBER_ID))}


@pytest.mark.proof
@pytest.mark.parametrize(("kind", "wanted"), [
    (CLASSIC, COMMON | {f"classic {state.value}" for state in ClassicGroupState if state is not ClassicGroupState.DEAD} | {
        "Heartbeat FENCED_INSTANCE_ID", "OffsetCommit REBALANCE_IN_PROGRESS", "SyncGroup REBALANCE_IN_PROGRESS"}),
    (CONSUMER, {f"ConsumerGroupHeartbeat {error}" for error in (
        "NONE", "FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID",
        "GROUP_MAX_SIZE_REACHED", "INVALID_REGULAR_EXPRESSION")} | {
        "consumer Reconciling", "consumer Assigning", "expressions", "OffsetCommit STALE_MEMBER_EPOCH"}),
    (MIXED, COMMON | {"upgrade in Stable", "upgrade in Empty", "upgrade in PreparingRebalance", "downgrade",
                      "SyncGroup REBALANCE_IN_PROGRESS"}),
])
def test_the_schedules_meet_what_they_are_meant_to_meet(kind: str, wanted: set[str]) -> None:
    """Fails as test_random_schedules does, or if a state, a refusal or a migration no longer occurs."""
    met: Counter[str] = Counter()
    for seed in range(25):
        life = MetLife(kind, seed)
        life.met = met
        life.live()
    assert wanted <= met.keys()


def test_the_offsets_meet_what_they_are_meant_to_meet() -> None:
    """Fails as test_random_schedules does, or if nothing expires, no transaction is open, or no offset is of a lost topic."""
    swept = opened = foreign = 0
    for seed in range(20):
        life = OffsetsLife(seed)
        life.live()
        swept += life.swept
        opened += sum(isinstance(one, OffsetChange) and one.producer_id is not None for one in life.history.records)
        foreign += len(life.history.stale(life.topics.get))
    assert swept > 20 and opened > 100 and foreign > 5


def test_equal_seeds_give_equal_lives() -> None:
    """Fails if anything in a group depends on the order of a set or on hash()."""
    first, second = GroupLife(MIXED, 3), GroupLife(MIXED, 3)
    for life in (first, second):
        life.live()
    assert first.log == second.log


@pytest.mark.parametrize(("harm", "id"), [
    (lambda g: setattr(g, "state", ClassicGroupState.EMPTY), "I-GROUP-1"),
    (lambda g: setattr(g.members, "static", {"i": "a-1"}), "I-GROUP-4 .* names the static members"),
    (lambda g: g.members.by_id.update({"b-1": g.members.get("a-1")}), "I-GROUP-4 a member is kept under"),
    (lambda g: g.members.pending.update({"a-1": 1.0}), "I-GROUP-4 a member is pending"),
    (lambda g: setattr(g, "protocol", "other"), "I-GROUP-5"),
    (lambda g: setattr(g.members.get("a-1"), "syncing", "a call"), "I-GROUP-7"),
    (lambda g: setattr(g, "join_deadline", 1.0), "I-GROUP-8 a join phase"),
    (lambda g: setattr(g, "sync_deadline", 1.0), "I-GROUP-8 SyncGroup is waited for"),
    (lambda g: vars(g).update(sync_deadline=1.0, pending_sync={"b-1": None}), "I-GROUP-8 the SyncGroup of a stranger"),
    (lambda g: setattr(g.members.get("a-1"), "joining", "a call") or setattr(g, "state", ClassicGroupState.COMPLETING_REBALANCE),
     "I-GROUP-8 a JoinGroup"),
    (lambda g: vars(g).update(sync_deadline=1.0, pending_sync={"a-1": None}, state=ClassicGroupState.COMPLETING_REBALANCE)
     or setattr(g.members.get("a-1"), "syncing", "a call"), "I-GROUP-8 the SyncGroup of a-1 came"),
    (lambda g: setattr(g.members.get("a-1"), "deadline", None), "I-GROUP-8 a-1 may be silent"),
    (lambda g: setattr(g.members, "leader", "nobody"), "I-GROUP-12"),
])
def test_a_classic_group_asserts_its_invariants(harm: Callable[[ClassicGroup], None], id: str) -> None:
    """Fails if check() passes a group whose state, calls or times are impossible."""
    told = ToldGroup(GroupConfig(initial_rebalance_delay_ms=0))
    for line in ("enter a", "advance 0", "sync a assign=a:t-0", "commit-log"):
        do(told, line)
    group = told.classic
    group.check()
    harm(group)
    with pytest.raises(AssertionError, match=id):
        group.check()


def test_a_consumer_group_asserts_its_invariants() -> None:
    """Fails if check() passes a member without a session or ahead of the target, or adopt() a partition with two members."""
    w = LoneGroup({"t": 2}, GroupConfig())
    w.join("A", "t")
    w.group.sessions.clear()
    with pytest.raises(AssertionError, match="I-CGROUP-5"):
        w.group.check()
    for epoch, text in ((1, "ahead of the target"), (9, "the target of epoch 9")):
        w.group.state.target = TargetMetadata(epoch)
        with pytest.raises(AssertionError, match=f"I-CGROUP-2 .*{text}"):
            w.group.check()
    w.group.state.members["B"] = w.group.state.members["A"]
    with pytest.raises(AssertionError, match="I-CMEMBER-1"):
        w.group.adopt((), 0.0)
