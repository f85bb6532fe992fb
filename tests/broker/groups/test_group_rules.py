"""The rules of groups (56 to 60 of the protocol rules), one test each, on the bare state machine."""

from __future__ import annotations

import pytest

from minikafka.broker.groups.classic.messages import GroupConfig, Leaving, Store
from minikafka.broker.groups.classic.states import ANSWERS, NEXT, ClassicGroupState
from minikafka.broker.groups.group import GroupContext, OffsetCommit
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


def test_rule_57_a_new_member_first_gets_an_id_and_is_no_member_until_it_returns() -> None:
    """Fails if MEMBER_ID_REQUIRED is not answered from version 4 on, or is answered before."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("a")
    assert world.answers["a"].error is Err.MEMBER_ID_REQUIRED
    assert len(world.group.members) == 0 and world.group.state is ClassicGroupState.EMPTY
    world.join("old", version=3)
    assert len(world.group.members) == 1


def test_rule_57_the_generation_goes_up_once_per_join_phase() -> None:
    """Fails if a join phase that ends does not count, or a refused request does."""
    world = stable("a")
    assert world.group.generation == 1
    world.heartbeat("a", generation=9)
    world.sync("a", generation=9)
    assert world.group.generation == 1
    world.join("a")
    assert (world.group.generation, world.group.state) == (2, ClassicGroupState.COMPLETING_REBALANCE)


def test_rule_57_the_rebalance_timeout_ends_a_join_phase() -> None:
    """Fails if members that do not come back hold up the group for ever."""
    world = stable("a", "b", session=50_000, rebalance=20_000)
    world.enter("c", rebalance=20_000)
    world.join("a", rebalance=20_000)
    world.advance(19.9)
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE
    world.advance(0.2)
    assert [m.client_id for m in world.group.members] == ["a", "c"]
    assert world.group.generation == 2


def test_rule_58_the_generation_and_the_member_fence_a_sync() -> None:
    """Fails if a stale generation or an unknown id gets an assignment."""
    world = stable("a", "b")
    world.sync("a", generation=0)
    assert world.answers["a"].error is Err.ILLEGAL_GENERATION
    world.sync("stranger", generation=1)
    assert world.answers["stranger"].error is Err.UNKNOWN_MEMBER_ID


def test_rule_58_nobody_sees_stable_before_the_record_is_committed() -> None:
    """Fails if syncs are answered, or the state changes, when the record is appended and not when it commits."""
    world = LoneClassicGroup(NO_DELAY)
    world.enter("a")
    world.advance(0)
    world.answers.clear()
    world.sync("a", {"a": "t-0"})
    assert world.log and world.group.state is ClassicGroupState.COMPLETING_REBALANCE and not world.answers
    world.committed()
    assert world.group.state is ClassicGroupState.STABLE and world.client("a").assignment == "t-0"


def test_rule_58_an_assignment_that_commits_too_late_is_for_nobody() -> None:
    """Fails if state and generation are not checked again after the commit."""
    world = LoneClassicGroup(NO_DELAY)
    world.enter("a")
    world.advance(0)
    world.sync("a", {"a": "t-0"})
    world.join("a", protocols=(("range", b"new"),))     # generation 2 begins while the record is on its way
    world.committed()
    assert (world.group.state, world.group.generation) == (ClassicGroupState.COMPLETING_REBALANCE, 2)
    assert world.group.members.get(world.client("a").member_id).assignment == b""


def test_rule_59_a_static_member_returns_without_a_rebalance() -> None:
    """Fails if the generation goes up, or the others are called back, or the assignment is lost."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("a", instance="one")
    world.join("b", instance="two")
    world.advance(0)
    assign(world, "a", "b")
    world.forget("b")
    world.join("b", instance="two")
    world.committed()
    world.sync("b")
    assert (world.group.generation, world.client("b").assignment) == (1, "t-1")
    assert world.heartbeat("a") is Err.NONE


def test_rule_59_the_replaced_member_is_fenced_on_every_call() -> None:
    """Fails if any request lets the old id of a static member through, or calls it unknown."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("old", instance="one")
    world.advance(0)
    assign(world, "old")
    world.join("new", instance="one", member_id="")
    world.committed()
    assert world.heartbeat("old") is Err.FENCED_INSTANCE_ID
    assert world.commit("old") is Err.FENCED_INSTANCE_ID
    assert world.leave("old") == [Err.FENCED_INSTANCE_ID]
    world.sync("old")
    assert world.answers["old"].error is Err.FENCED_INSTANCE_ID
    world.join("old", instance="one")
    assert world.answers["old"].error is Err.FENCED_INSTANCE_ID
    assert world.heartbeat("new") is Err.NONE


def test_rule_59_whoever_waits_under_the_old_id_is_fenced_at_once() -> None:
    """Fails if the JoinGroup of a replaced static member is left hanging."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("old", instance="one")
    world.join("new", instance="one", member_id="")
    assert world.answers["old"].error is Err.FENCED_INSTANCE_ID


def test_rule_59_an_administrator_removes_a_static_member_by_its_instance() -> None:
    """Fails if LeaveGroup needs a member id."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("a", instance="one")
    world.advance(0)
    reply, *_ = world.group.leave("call", [Leaving("", "one"), Leaving("", "two"), Leaving("", None)], world.context)
    assert reply.result == [Err.NONE, Err.UNKNOWN_MEMBER_ID, Err.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize(("generation", "member", "expected"), [
    (1, "a", Err.NONE), (0, "a", Err.ILLEGAL_GENERATION), (1, "stranger", Err.UNKNOWN_MEMBER_ID),
    (-1, "", Err.UNKNOWN_MEMBER_ID), (-1, "a", Err.ILLEGAL_GENERATION)])
def test_rule_60_commits_to_a_stable_group_are_fenced(generation: int, member: str, expected: Err) -> None:
    """Fails if a client that is no member of this generation may commit while the group has members."""
    world = stable("a")
    member_id = world.client("a").member_id if member == "a" else member
    assert world.group.check_commit(OffsetCommit(member_id, None, generation), world.context) is expected


@pytest.mark.parametrize(("generation", "expected"), [(1, Err.NONE), (0, Err.ILLEGAL_GENERATION), (2, Err.ILLEGAL_GENERATION)])
def test_rule_61_a_transaction_commits_for_a_member_of_this_generation(generation: int, expected: Err) -> None:
    """Fails if a producer that names its member may commit for a former generation: another member reads there now."""
    world = stable("a")
    commit = OffsetCommit(world.client("a").member_id, None, generation, transactional=True)
    assert world.group.check_commit(commit, world.context) is expected


@pytest.mark.parametrize(("generation", "expected"), [(1, Err.NONE), (0, Err.ILLEGAL_GENERATION), (2, Err.ILLEGAL_GENERATION)])
def test_rule_57_heartbeats_of_another_generation_are_no_signs_of_life(generation: int, expected: Err) -> None:
    """Fails if a member that has missed a rebalance is kept in the group by its heartbeats."""
    world = stable("a", session=6000)
    member = world.client("a").member_id
    for _ in range(3):
        world.advance(2.5)
        said = world.group.heartbeat(member, None, generation, world.context)
        assert said is (expected if len(world.group.members) else Err.UNKNOWN_MEMBER_ID)
    assert len(world.group.members) == (expected is Err.NONE)


def test_rule_60_commits_go_on_while_the_rebalance_is_prepared_and_stop_until_the_sync() -> None:
    """Fails if the last commit before a partition moves is refused, or one from between join and sync is taken."""
    world = stable("a")
    world.enter("b")
    assert world.commit("a") is Err.NONE
    world.join("a")
    assert world.commit("a") is Err.REBALANCE_IN_PROGRESS


def test_a_commit_is_a_sign_of_life() -> None:
    """Fails if a member that only commits is taken for dead."""
    world = stable("a", session=6000)
    for _ in range(3):
        world.advance(5)
        assert world.commit("a") is Err.NONE
    assert len(world.group.members) == 1


def test_a_member_that_waits_for_us_does_not_time_out() -> None:
    """Fails if the session timeout runs while a JoinGroup is held back: the client could not send a heartbeat."""
    world = stable("a", "b", session=6000, rebalance=60_000)
    world.join("b", session=6000, rebalance=60_000, protocols=(("range", b"new"),))
    for _ in range(4):
        world.advance(4)
        world.heartbeat("a")
    assert len(world.group.members) == 2


def test_a_new_member_whose_join_is_never_answered_is_given_up() -> None:
    """Fails if a client that vanished while its JoinGroup was held back stays a member for ever (five minutes, as in Kafka)."""
    world = stable("a", session=1_000_000, rebalance=1_000_000)
    world.enter("b", session=1_000_000, rebalance=1_000_000)
    world.advance(301)
    assert [m.client_id for m in world.group.members] == ["a"]


def test_a_group_that_empties_during_the_initial_delay_ends_empty() -> None:
    """Fails if a group without members looks for a leader."""
    world = LoneClassicGroup()
    world.enter("a")
    world.leave("a")
    world.advance(3)
    assert world.group.state is ClassicGroupState.EMPTY and world.group.generation == 1


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


def test_a_member_that_leaves_while_it_joins_is_answered() -> None:
    """Fails if a member that is removed in the middle of a rebalance waits for the answer to its JoinGroup for ever."""
    world = stable("a", "b")
    world.enter("c")
    assert "c" in world.waiting.values()
    assert world.leave("c") == [Err.NONE]
    assert "c" not in world.waiting.values() and world.answers["c"].error is Err.UNKNOWN_MEMBER_ID


def test_absent_static_members_keep_the_group_waiting_for_their_session() -> None:
    """Fails if a static member is removed at the rebalance timeout like a dynamic one."""
    world = LoneClassicGroup(NO_DELAY)
    world.join("a", instance="one", session=30_000, rebalance=10_000)
    world.join("b", instance="two", session=30_000, rebalance=10_000)
    world.advance(0)
    assign(world, "a", "b")
    world.join("a", instance="one", session=30_000, rebalance=10_000, protocols=(("range", b"new"),))
    world.advance(11)
    assert len(world.group.members) == 2 and world.group.generation == 2
    world.advance(30)
    assert "b" not in [m.client_id for m in world.group.members]


def test_a_restored_group_gives_every_member_a_fresh_session() -> None:
    """Fails if members are lost, or never expire, after the coordinator moved."""
    world = stable("a", "b", session=6000)
    restored = type(world.group).restore("g", world.log[-1], NO_DELAY, world.group.new_id)
    assert (restored.state, restored.generation, restored.members.leader) == (ClassicGroupState.STABLE, 1, "a-1")
    assert restored.snapshot() == world.log[-1]
    restored.start(GroupContext(100.0))
    assert restored.next_deadline() == 106.0


def test_a_group_loaded_above_its_maximum_has_to_shrink() -> None:
    """Fails if a lowered group.max.size is never enforced on a loaded group."""
    world = stable("a", "b")
    restored = type(world.group).restore("g", world.log[-1], GroupConfig(0, 1), world.group.new_id)
    restored.start(GroupContext(0.0))
    assert restored.state is ClassicGroupState.PREPARING_REBALANCE


@pytest.mark.parametrize(("protocol_type", "expected"), [("consumer", Err.NONE), ("connect", Err.NON_EMPTY_GROUP)])
def test_offsets_are_deleted_topic_by_topic_where_subscriptions_can_be_read(protocol_type: str, expected: Err) -> None:
    """Fails if all offsets of living consumers are kept, or those of other living members, who may read anything, are not."""
    world = stable("a", protocol_type=protocol_type)
    assert world.group.check_offset_delete() is expected
    world.leave("a")
    assert world.group.check_offset_delete() is Err.NONE


def test_unloading_answers_everybody_once() -> None:
    """Fails if a client waits for ever for a broker that is no longer the coordinator (I-GROUP-8)."""
    world = stable("a", "b")
    world.enter("c")
    world.join("b")
    world.run(world.group.unload())
    assert not world.waiting
    assert [world.answers[n].error for n in ("b", "c")] == [Err.NOT_COORDINATOR] * 2
    assert world.group.state is ClassicGroupState.DEAD
    assert world.group.check_offset_delete() is world.group.check_delete() is Err.GROUP_ID_NOT_FOUND


def test_an_empty_generation_is_written_down() -> None:
    """Fails if the group's last generation is not in the log when every member has left."""
    world = stable("a")
    effects = world.group.leave("call", [Leaving(world.client("a").member_id)], world.context)
    stores = [e for e in effects if isinstance(e, Store)]
    assert [(s.group.generation, s.group.members) for s in stores] == [(2, ())]


def test_a_leader_that_is_absent_does_not_lead_the_new_generation() -> None:
    """Fails if an absent static member stays the leader: no member would ever get an assignment."""
    world = LoneClassicGroup(NO_DELAY)
    for name in ("a", "b"):
        world.join(name, instance=name, session=30_000, rebalance=10_000)
    world.advance(0)
    assign(world, "a", "b")
    world.join("b", instance="b", session=30_000, rebalance=10_000, protocols=(("range", b"new"),))
    world.advance(11)
    assert world.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert world.group.members.leader == world.client("b").member_id


def test_the_most_patient_member_decides_how_long_a_join_phase_lasts() -> None:
    """Fails if members are removed before the longest of the rebalance timeouts is over."""
    world = stable("a", session=50_000, rebalance=20_000)
    world.enter("b", session=50_000, rebalance=5_000)
    world.advance(19.9)
    assert [m.client_id for m in world.group.members] == ["a", "b"] and world.group.state is ClassicGroupState.PREPARING_REBALANCE
    world.advance(0.2)
    assert [m.client_id for m in world.group.members] == ["b"]


def test_a_member_may_ask_for_another_session_when_it_joins_again() -> None:
    """Fails if the session timeout of the first join stays for ever."""
    world = stable("a", session=10_000)
    world.join("a", session=30_000, protocols=(("range", b"new"),))
    assign(world, "a")
    world.advance(29.9)
    assert len(world.group.members) == 1
    world.advance(0.2)
    assert len(world.group.members) == 0


def test_a_static_member_that_returned_still_has_to_sync() -> None:
    """Fails if the list of awaited SyncGroups keeps the old id: the generation would wait for no member, or remove
    another member."""
    world = LoneClassicGroup(NO_DELAY)
    for name in ("a", "b"):
        world.join(name, instance=name, session=50_000, rebalance=10_000)
    world.advance(0)
    world.sync("a", {"a": "t-0", "b": "t-1"})
    world.committed()
    world.forget("b")
    world.join("b", instance="b", session=50_000, rebalance=10_000)
    world.committed()
    assert world.group.state is ClassicGroupState.STABLE
    world.advance(11)
    assert [m.client_id for m in world.group.members] == ["a"]


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


def test_rule_59_a_sync_that_waits_under_the_old_id_is_fenced_at_once() -> None:
    """Fails if a replaced static member is left waiting for an assignment."""
    world = LoneClassicGroup(NO_DELAY)
    for name in ("a", "b"):
        world.join(name, instance=name)
    world.advance(0)
    world.sync("b")
    world.join("again", instance="b")
    assert world.answers["b"].error is Err.FENCED_INSTANCE_ID
