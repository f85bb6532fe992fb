"""The states of a classic group (rule 56), and cases by hand that seeds seldom meet. Rules 57 to 60 are checked by seeds
(test_group_random.py), by transcripts (tests/stories/groups), and beside Apache Kafka (tests/wire)."""

from __future__ import annotations

import pytest

from minikafka.broker.groups.classic.messages import GroupConfig
from minikafka.broker.groups.classic.states import ANSWERS, NEXT, ClassicGroupState
from minikafka.broker.groups.records import GroupMetadataValue, stored_group
from minikafka.protocol.errors import Err
from tests.broker.groups.lone_classic_group import LoneClassicGroup

NO_DELAY = GroupConfig(initial_rebalance_delay_ms=0)


def stable(*names: str, **how: object) -> LoneClassicGroup:
    """Return a group of `names` in generation 1, each with a partition of its own."""
    world = LoneClassicGroup(NO_DELAY)
    for name in names:
        world.enter(name, **how)
    world.advance(0)
    assign(world, *names)
    return world


def assign(world: LoneClassicGroup, *names: str) -> None:
    leader = next(name for name in names if world.client(name).member_id == world.group.members.leader)
    for name in names:
        world.sync(name, {n: f"t-{i}" for i, n in enumerate(names)} if name == leader else None)
    world.committed()
    assert world.group.state is ClassicGroupState.STABLE


def test_rule_56_only_kafkas_predecessors_lead_to_a_state() -> None:
    """Fails if a transition is added to or taken from the table (ClassicGroupState.validPreviousStates)."""
    before: dict[ClassicGroupState, set[ClassicGroupState]] = {state: set() for state in ClassicGroupState}
    for state, events in NEXT.items():
        for following in events.values():
            before[following].add(state)
    assert before == {
        ClassicGroupState.EMPTY: {ClassicGroupState.PREPARING_REBALANCE},
        ClassicGroupState.PREPARING_REBALANCE: {
            ClassicGroupState.EMPTY, ClassicGroupState.STABLE, ClassicGroupState.COMPLETING_REBALANCE},
        ClassicGroupState.COMPLETING_REBALANCE: {ClassicGroupState.PREPARING_REBALANCE},
        ClassicGroupState.STABLE: {ClassicGroupState.COMPLETING_REBALANCE},
        ClassicGroupState.DEAD: set(ClassicGroupState),
    }


def test_rule_56_every_request_has_an_answer_in_every_state() -> None:
    """Fails if a state is added without the errors of requests in that state."""
    assert all(list(answers) == list(ClassicGroupState) for answers in ANSWERS.values())


def test_rule_56_a_rebalance_is_announced_to_heartbeats_and_syncs_and_not_before() -> None:
    """Fails if heartbeats between join and sync are refused (older Kafka did), or accepted while members must join."""
    world = stable("a", "b")
    assert world.heartbeat("a") is Err.NONE
    world.enter("c")
    assert world.heartbeat("a") is Err.REBALANCE_IN_PROGRESS
    world.sync("a")
    assert world.answers["a"].error is Err.REBALANCE_IN_PROGRESS
    world.join("a")
    world.join("b")
    assert world.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert world.heartbeat("a") is Err.NONE


def test_a_group_takes_no_member_without_a_kind_of_protocol() -> None:
    """Fails if the first member of a group may leave open what its members are, or what they know."""
    for kind, protocols in (("", (("range", b"t"),)), ("consumer", ())):
        world = LoneClassicGroup(NO_DELAY)
        world.join("a", protocols, protocol_type=kind)
        assert world.answers["a"].error is Err.INCONSISTENT_GROUP_PROTOCOL and not len(world.group.members)


def test_an_old_record_has_no_rebalance_timeout() -> None:
    """Fails if the session's timeout does not stand in for it, or stands in where there is one."""
    for stored, read in ((-1, 10_000), (60_000, 60_000)):
        member = GroupMetadataValue.MemberMetadata("m", None, "c", "h", stored, 10_000, b"", b"")
        group = stored_group(GroupMetadataValue("consumer", 1, "range", "m", 0, [member]))
        assert group.members[0].rebalance_timeout_ms == read


@pytest.mark.parametrize(("protocol_type", "expected"), [("consumer", Err.NONE), ("connect", Err.NON_EMPTY_GROUP)])
def test_offsets_are_deleted_topic_by_topic_where_subscriptions_can_be_read(protocol_type: str, expected: Err) -> None:
    """Fails if all offsets of living consumers are kept, or those of other living members, who may read anything, are not."""
    world = stable("a", protocol_type=protocol_type)
    assert world.group.check_offset_delete() is expected
    world.leave("a")
    assert world.group.check_offset_delete() is Err.NONE


def with_a_static_member_that_returns() -> LoneClassicGroup:
    """Return a stable group of the static members a and b; b has joined again, and its new id is on its way to the log."""
    world = LoneClassicGroup(NO_DELAY)
    for name in ("a", "b"):
        world.join(name, instance=name)
    world.advance(0)
    assign(world, "a", "b")
    world.forget("b")
    world.join("b", instance="b")
    return world


def test_a_replacement_that_was_not_stored_stays_once_the_member_has_joined_under_its_new_id() -> None:
    """Fails if a client is fenced under the id that its JoinGroup was answered with, because a record failed before that."""
    world = with_a_static_member_that_returns()
    world.leave("a")  # and a rebalance begins, which answers the JoinGroup
    assert world.client("b").generation == 2
    world.committed(Err.NOT_ENOUGH_REPLICAS)
    assert world.heartbeat("b") is Err.NONE


@pytest.mark.parametrize("error", [Err.NONE, Err.NOT_ENOUGH_REPLICAS])
def test_a_static_member_that_is_answered_late_has_a_session(error: Err) -> None:
    """B51. Fails if a static member that returned, and whose record took longer than its session, is never removed when it
    then falls silent."""
    world = with_a_static_member_that_returns()
    for _ in range(3):
        world.advance(5)
        world.heartbeat("a")
    world.committed(error)
    for _ in range(3):
        world.advance(5)
        world.heartbeat("a")
    assert [member.instance_id for member in world.group.members] == ["a"]


def test_a_static_member_does_not_return_with_an_id_that_was_given_to_a_dynamic_one() -> None:
    """Fails if a pending id becomes a member under an instance id that was not checked."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("a")
    world.join("a", instance="one")
    assert world.answers["a"].error is Err.UNKNOWN_SERVER_ERROR and len(world.group.members) == 0
