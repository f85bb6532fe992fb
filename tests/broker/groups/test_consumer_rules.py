"""The consumer group's rules, one by one: which member may do what in which epoch, and which records are written."""

from __future__ import annotations

from uuid import UUID

import pytest

from minikafka.broker.groups.consumer.commit_fencing import check_commit, check_fetch
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, check
from minikafka.broker.groups.consumer.reconciliation import STABLE, ConsumerGroupMember, Goal, reconcile, unpack
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    MEMBER,
    PARTITIONS,
    REGEX,
    TARGET,
    TARGET_MEMBER,
    CurrentMember,
)
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.broker.groups.group import ConsumerGroupSettings, OffsetCommit
from minikafka.proof.small_worlds.groups.lone_consumer_group import LoneConsumerGroup
from minikafka.protocol.errors import Err, KafkaError


def refusal(world: LoneConsumerGroup, *args: object, **more: object) -> tuple[Err, str | None]:
    with pytest.raises(KafkaError) as refused:
        world.beat(*args, **more)
    return refused.value.code, refused.value.message


def pair() -> LoneConsumerGroup:
    """Return a world in which A has t-0 and t-1, and has to share them with B, which just joined."""
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t")
    w.now += 2
    w.join("B", "t")
    return w


# --- one member ----------------------------------------------------------------------------------------------------

def test_a_member_gets_everything_with_its_first_heartbeat() -> None:
    """Fails if the group begins in another epoch than Kafka's, or the records come in another order."""
    w = LoneConsumerGroup({"t": 3})
    joined = w.join("A", "t")
    assert (joined.epoch, w.told(joined)) == (2, ["t-0", "t-1", "t-2"])
    assert [key.kind for key, _ in w.log] == [MEMBER, GROUP, TARGET_MEMBER, TARGET, CURRENT]
    assert w.group.state.phase is ConsumerState.STABLE


def test_what_is_no_news_is_not_told_and_not_written() -> None:
    w = LoneConsumerGroup({"t": 3})
    w.join("A", "t")
    written = len(w.log)
    assert w.told(w.beat("A", 2)) is None
    assert len(w.log) == written
    full = w.beat("A", 2, ["t-0", "t-1", "t-2"], topics=("t",), rebalance_timeout_ms=30_000)
    assert w.told(full) == ["t-0", "t-1", "t-2"]


def test_who_leaves_is_gone_with_all_it_had() -> None:
    w = LoneConsumerGroup({"t": 3})
    w.join("A", "t")
    assert w.beat("A", -1).epoch == -1
    assert w.group.state.phase is ConsumerState.EMPTY
    assert (w.group.state.epoch, w.group.state.targets, w.group.next_deadline()) == (3, {}, None)
    assert refusal(w, "A", 2) == (Err.UNKNOWN_MEMBER_ID, "Member A is not a member of group g.")


# --- epochs --------------------------------------------------------------------------------------------------------

def test_who_is_not_where_it_should_be_starts_anew() -> None:
    w = LoneConsumerGroup({"t": 1})
    w.join("A", "t")
    more = "than the one known by the group coordinator (2). The member must abandon all its partitions and rejoin."
    assert refusal(w, "A", 3) == (
        Err.FENCED_MEMBER_EPOCH, f"The consumer group member has a greater member epoch (3) {more}")
    assert refusal(w, "A", 1) == (
        Err.FENCED_MEMBER_EPOCH, f"The consumer group member has a smaller member epoch (1) {more}")
    assert w.join("A", "t").epoch == 2, "the same assignment holds"


def test_a_lost_answer_is_forgiven_to_who_owns_nothing_else() -> None:
    """Fails if the previous epoch is refused, or taken from a member that uses more than it was given."""
    w = pair()
    w.beat("A", 2, ["t-0"])
    assert w.group.state.members["A"].current.epoch == 3
    assert w.told(w.beat("A", 2, ["t-0"], topics=("t",), rebalance_timeout_ms=30_000)) == ["t-0"]
    assert refusal(w, "A", 2, ["t-0", "t-1"])[0] is Err.FENCED_MEMBER_EPOCH
    assert refusal(w, "A", 2)[0] is Err.FENCED_MEMBER_EPOCH
    assert refusal(w, "A", 1, ["t-0"])[0] is Err.FENCED_MEMBER_EPOCH


# --- two members ---------------------------------------------------------------------------------------------------

def test_a_partition_goes_over_when_it_is_given_up() -> None:
    """Fails if B is given a partition that A still has, or A is stopped for one that it keeps."""
    w = pair()
    assert w.has("B") == []
    asked = w.beat("A", 2)
    assert (asked.epoch, w.told(asked)) == (2, ["t-0"])
    assert w.group.state.phase is ConsumerState.RECONCILING
    assert w.told(w.beat("B", 3)) is None
    assert w.told(w.beat("A", 2, ["t-0", "t-1"])) is None, "it says that it still owns t-1"
    assert w.beat("A", 2, ["t-0"]).epoch == 3
    assert w.told(w.beat("B", 3)) == ["t-1"]
    assert w.group.state.phase is ConsumerState.STABLE


def test_many_that_come_at_once_make_one_assignment() -> None:
    """Fails if each join makes an assignment, or no heartbeat does when the interval is over (KIP-1263)."""
    w = LoneConsumerGroup({"t": 6})
    for name in "ABC":
        w.join(name, "t")
    assert (w.group.state.epoch, w.group.state.target.epoch) == (4, 2)
    assert w.group.state.phase is ConsumerState.ASSIGNING
    w.now += 1
    w.beat("B", 2)
    assert w.group.state.target.epoch == 4
    assert [len(w.group.state.targets[name]) for name in "ABC"] == [2, 2, 2]


def test_a_group_may_be_full() -> None:
    w = LoneConsumerGroup({"t": 1}, max_size=1)
    w.join("A", "t")
    with pytest.raises(KafkaError, match="The consumer group has reached its maximum capacity of 1 members.") as full:
        w.join("B", "t")
    assert full.value.code is Err.GROUP_MAX_SIZE_REACHED
    assert w.beat("A", 2).epoch == 2


def test_an_id_is_made_for_who_has_none() -> None:
    w = LoneConsumerGroup({"t": 1})
    assert w.join("", "t").member_id in w.group.state.members


# --- time ----------------------------------------------------------------------------------------------------------

def test_a_silent_member_is_given_up() -> None:
    w = pair()
    w.pass_time(42)
    w.beat("B", 3)
    w.pass_time(2)
    assert list(w.group.state.members) == ["B"]
    assert w.told(w.beat("B", 3)) == ["t-0", "t-1"]


def test_who_does_not_give_up_in_time_is_driven_out() -> None:
    """Fails if heartbeats alone keep a member that does not give up a partition for which another member waits."""
    w = pair()
    w.beat("A", 2)
    for _ in range(6):
        w.pass_time(4.9)
        w.beat("A", 2, ["t-0", "t-1"])
        w.beat("B", 3)
    assert "A" in w.group.state.members
    w.pass_time(1)
    assert list(w.group.state.members) == ["B"]


def test_who_gave_up_in_time_stays() -> None:
    w = pair()
    w.beat("A", 2)
    w.pass_time(20)
    assert w.beat("A", 2, ["t-0"]).epoch == 3
    w.pass_time(20)
    assert list(w.group.state.members) == ["A", "B"]


# --- static members ------------------------------------------------------------------------------------------------

def test_a_static_member_comes_back_to_what_it_had() -> None:
    """Fails if a new assignment is made when a static member leaves for a while, or returns."""
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t", instance_id="i")
    assert w.beat("A", -2, instance_id="i").epoch == -2
    assert w.group.state.members["A"].current.epoch == -2
    back = w.join("A2", "t", instance_id="i")
    assert (back.epoch, w.told(back), w.group.state.epoch) == (2, ["t-0", "t-1"], 2)
    assert list(w.group.state.members) == ["A2"]
    assert [(value.epoch, value.previous_epoch) for key, value in w.log if key == (CURRENT, "g", "A2")] == [(0, 0), (2, 0)]
    assert refusal(w, "A", 2, instance_id="i") == (
        Err.FENCED_INSTANCE_ID, "Static member A with instance id i was fenced by member A2.")


def test_an_instance_id_in_use_is_not_taken_over() -> None:
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t", instance_id="i")
    with pytest.raises(KafkaError) as refused:
        w.join("B", "t", instance_id="i")
    assert (refused.value.code, refused.value.message) == (
        Err.UNRELEASED_INSTANCE_ID,
        "Static member B with instance id i cannot join the group because the instance id is owned by A member.")
    assert refusal(w, "B", 1, instance_id="j") == (Err.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_a_static_member_that_does_not_come_back_is_given_up() -> None:
    w = LoneConsumerGroup({"t": 2})
    w.join("A", "t", instance_id="i")
    w.beat("A", -2, instance_id="i")
    w.pass_time(46)
    assert w.group.state.phase is ConsumerState.EMPTY


# --- topics --------------------------------------------------------------------------------------------------------

def test_what_happens_to_topics_is_assigned() -> None:
    w = LoneConsumerGroup({"t": 1})
    w.join("A", "t", "u")
    w.now += 2
    w.create("u", 2)
    assert w.told(w.beat("A", 2)) == ["t-0", "u-0", "u-1"]
    w.now += 2
    w.grow("t", 2)
    assert w.told(w.beat("A", 3)) == ["t-0", "t-1", "u-0", "u-1"]
    w.now += 2
    w.delete("u")
    assert w.told(w.beat("A", 4)) == ["t-0", "t-1"]


def test_another_subscription_takes_away_at_once() -> None:
    w = LoneConsumerGroup({"t": 1, "u": 1})
    w.join("A", "t")
    assert w.told(w.beat("A", 2, topics=("u",))) == []
    assert w.group.state.members["A"].current.state == 1, "before another assignment may be made"
    w.now += 2
    assert w.told(w.beat("A", 2, [])) == ["u-0"]


def test_topics_by_expression() -> None:
    """Fails if an expression matches a part of a name, is not resolved again, or stays when no member subscribes to it."""
    w = LoneConsumerGroup({"ta": 1, "tb": 1, "x-ta": 1})
    first = w.beat("A", 0, (), regex="t.*", rebalance_timeout_ms=30_000)
    assert w.told(first) == []
    w.now += 2
    assert w.told(w.beat("A", first.epoch)) == ["ta-0", "tb-0"]
    w.create("tc", 1)
    assert w.told(w.beat("A", 2)) is None, "not more often than every ten seconds"
    w.now += 11
    w.beat("A", 2)
    assert w.told(w.beat("A", 2)) == ["ta-0", "tb-0", "tc-0"]
    w.beat("A", 3, ["ta-0", "tb-0", "tc-0"], regex="", topics=())
    assert w.group.state.regexes == {}
    assert [value for key, value in w.log if key.kind == REGEX][-1] is None


def test_a_new_expression_takes_partitions_away_at_once() -> None:
    """Fails if a member keeps partitions that its former expression matched until the new one is resolved."""
    w = LoneConsumerGroup({"ta": 1, "u": 1})
    first = w.beat("A", 0, (), regex="t.*", rebalance_timeout_ms=30_000)
    w.now += 2
    assert w.told(w.beat("A", first.epoch)) == ["ta-0"]
    w.beat("A", 2, ["ta-0"])
    assert w.told(w.beat("A", 2, ["ta-0"], regex="u.*", topics=(), rebalance_timeout_ms=30_000)) == []


@pytest.mark.parametrize(("expression", "reason"), [
    ("[", "missing closing ]"), ("(", "missing closing )"), ("*a", "missing argument to repetition operator"),
    ("(?=a)", "invalid or unsupported Perl syntax"), (r"\1", "invalid escape sequence"),
    ("a**", "invalid nested repetition operator"), ("a{1001}", "invalid repeat count")])
def test_what_is_no_expression_of_re2(expression: str, reason: str) -> None:
    w = LoneConsumerGroup({"t": 1})
    with pytest.raises(KafkaError) as refused:
        w.beat("A", 0, (), regex=expression, rebalance_timeout_ms=30_000)
    assert (refused.value.code, refused.value.message) == (
        Err.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {reason}.")
    assert w.group.state.members == {}


def test_the_majority_chooses_the_assignor() -> None:
    w = LoneConsumerGroup({"t": 2, "u": 2})
    w.join("A", "t", "u", assignor="range")
    w.now += 2
    w.join("B", "t", "u")
    w.beat("A", 2, ["t-0", "u-0"])
    assert [w.names(w.group.state.targets[name]) for name in "AB"] == [["t-0", "u-0"], ["t-1", "u-1"]]


# --- offsets -------------------------------------------------------------------------------------------------------

def commit(w: LoneConsumerGroup, member: str, epoch: int, *names: str, version: int = 9, transactional: bool = False) -> Err:
    try:
        who = OffsetCommit(member, None, epoch, version, transactional)
        check_commit(w.group.state, who, w.partitions(*names))
    except KafkaError as refused:
        return refused.code
    return Err.NONE


def test_who_may_commit() -> None:
    """Fails if a commit of an older epoch is taken for a partition that another member may have read since."""
    w = pair()
    w.beat("A", 2, ["t-0"])
    w.beat("B", 3)
    assert commit(w, "A", 3, "t-0", "t-1") is Err.NONE, "its own epoch may say anything"
    assert commit(w, "A", 2, "t-0") is Err.NONE, "on its way when the epoch rose"
    assert commit(w, "A", 2, "t-1") is Err.STALE_MEMBER_EPOCH
    assert commit(w, "A", 4, "t-0") is Err.STALE_MEMBER_EPOCH
    assert commit(w, "B", 2, "t-1") is Err.STALE_MEMBER_EPOCH
    assert commit(w, "C", 3, "t-0") is Err.UNKNOWN_MEMBER_ID
    assert commit(w, "", -1, "t-0") is Err.UNKNOWN_MEMBER_ID
    assert commit(w, "A", 3, "t-0", version=8) is Err.UNSUPPORTED_VERSION
    assert commit(w, "", -1, "t-0", transactional=True) is Err.NONE
    assert commit(w, "A", 4, "t-0", transactional=True) is Err.ILLEGAL_GENERATION
    for name in "AB":
        w.beat(name, -1)
    assert commit(w, "", -1, "t-0") is Err.NONE, "without a member, in an empty group"


def test_who_may_fetch() -> None:
    w = pair()
    check_fetch(w.group.state, None, -1)
    check_fetch(w.group.state, "A", 2)
    for member, epoch, error in (("A", 3, Err.STALE_MEMBER_EPOCH), ("A", -1, Err.STALE_MEMBER_EPOCH),
                                 ("C", 1, Err.UNKNOWN_MEMBER_ID), (None, 2, Err.UNKNOWN_MEMBER_ID)):
        with pytest.raises(KafkaError) as refused:
            check_fetch(w.group.state, member, epoch)
        assert refused.value.code is error


# --- requests that are invalid in every group ----------------------------------------------------------------------

FIRST = {"rebalance_timeout_ms": 1, "topics": ("t",), "owned": frozenset()}


@pytest.mark.parametrize(("group", "beat", "version", "text"), [
    ("g", ConsumerGroupHeartbeat("", 1), 1, "MemberId can't be empty."),
    ("g", ConsumerGroupHeartbeat("", 0, **FIRST), 1, "MemberId can't be empty."),
    (" ", ConsumerGroupHeartbeat("", 0, **FIRST), 0, "GroupId can't be empty."),
    ("g", ConsumerGroupHeartbeat("m", 0, instance_id=" ", **FIRST), 1, "InstanceId can't be empty."),
    ("g", ConsumerGroupHeartbeat("m", 0, rack_id="", **FIRST), 1, "RackId can't be empty."),
    ("g", ConsumerGroupHeartbeat("m", 0, topics=("t",), owned=frozenset()), 1,
     "RebalanceTimeoutMs must be provided in first request."),
    ("g", ConsumerGroupHeartbeat("m", 0, rebalance_timeout_ms=1, topics=("t",)), 1,
     "TopicPartitions must be empty when (re-)joining."),
    ("g", ConsumerGroupHeartbeat("m", 0, rebalance_timeout_ms=1, owned=frozenset()), 1,
     "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."),
    ("g", ConsumerGroupHeartbeat("m", -2), 1, "InstanceId can't be null."),
    ("g", ConsumerGroupHeartbeat("m", -3), 1, "MemberEpoch is invalid."),
])
def test_requests_that_make_no_sense(group: str, beat: ConsumerGroupHeartbeat, version: int, text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check(group, beat, version, ConsumerGroupSettings())
    assert (refused.value.code, refused.value.message) == (Err.INVALID_REQUEST, text)


def test_an_assignor_that_there_is_not() -> None:
    with pytest.raises(KafkaError) as refused:
        check("g", ConsumerGroupHeartbeat("m", 1, assignor="mine"), 1, ConsumerGroupSettings())
    assert (refused.value.code, refused.value.message) == (
        Err.UNSUPPORTED_ASSIGNOR, "ServerAssignor mine is not supported. Supported assignors: uniform, range.")


# --- the log -------------------------------------------------------------------------------------------------------

def test_a_new_coordinator_goes_on_where_the_old_one_was() -> None:
    w = pair()
    w.beat("A", 2)
    twin = w.replayed()
    assert twin.state == w.group.state
    w.group = twin
    twin.start(w.context)
    assert w.beat("A", 2, ["t-0"]).epoch == 3
    assert w.told(w.beat("B", 3)) == ["t-1"]
    w.group = w.replayed()
    w.group.start(w.context)
    w.pass_time(46)
    assert w.group.state.phase is ConsumerState.EMPTY, "sessions run from the start on"


def test_compaction_takes_nothing_that_counts() -> None:
    w = pair()
    w.beat("A", 2, ["t-0"])
    w.beat("B", 3)
    latest = dict(w.log)
    assert w.replayed(latest.items()).state == w.group.state


def test_tombstones_delete_a_group() -> None:
    w = pair()
    records = [*w.log, *w.group.state.tombstones()]
    assert w.replayed(records).state == LoneConsumerGroup().group.state
    assert w.group.state.tombstones()[-1][0].kind == GROUP
    assert {key.kind for key, _ in w.group.state.tombstones()} == {
        GROUP, PARTITIONS, MEMBER, TARGET, TARGET_MEMBER, CURRENT}


def test_a_partition_is_a_members_from_the_epoch_in_which_it_got_it() -> None:
    """Fails if a commit of an older epoch would be taken for it (I-COFF-1), or if it is given a topic that it does not want."""
    wanted, other = (UUID(int=1), 0), (UUID(int=2), 0)
    member = ConsumerGroupMember(current=CurrentMember(4, 3, STABLE, (), ()))
    after = reconcile(member, Goal(7, {wanted, other}, {wanted[0]}, set()), subscription_changed=False, owned=set())
    assert (unpack(after.assigned), after.epoch) == ({wanted: 7}, 7)


def test_a_static_member_that_returns_under_its_old_id_has_a_session() -> None:
    """Fails if its partitions stay with it for ever when it dies after that: it was removed and added by one batch."""
    world = LoneConsumerGroup({"t": 2})
    world.join("m", "t", instance_id="i")
    world.beat("m", -2, instance_id="i")
    assert world.join("m", "t", instance_id="i").epoch > 0
    world.pass_time(46)
    assert world.group.state.members == {}
