"""Static members of the consumer protocol (KIP-848, KIP-345): a member that leaves for a while gets its partitions back."""

from __future__ import annotations

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import LEAVE, LEAVE_FOR_A_WHILE, Group, all_of, beat_until, refusal


def test_an_heir_gets_everything_at_once(group: Group) -> None:
    """Fails if leaving for a while is a new epoch, gives its partitions to others, or the heir must wait for them."""
    topic = group.topic(4)
    member, other = group.member(topic, instance_id="i"), group.member(topic, instance_id="j")
    member.beat()
    beat_until(lambda: len(other.owned) == 2 and group.is_stable(), other, member)
    kept = member.owned
    assert {m.instance_id for m in group.described().values()} == {"i", "j"}
    left = member.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    assert (left.member_id, left.heartbeat_interval_ms, left.assignment) == (member.id, 0, None)
    away = group.described()[member.id]
    assert (away.member_epoch, group.as_names(away.assignment.topic_partitions)) == (-2, kept)
    assert group.state() == ("Reconciling", 3, 3)
    assert other.told(other.beat()) is None
    heir = group.member(topic, instance_id="i")
    heir.beat()
    assert (heir.epoch, heir.owned, group.state()) == (3, kept, ("Stable", 3, 3))
    assert set(group.described()) == {heir.id, other.id}


def test_a_member_comes_back_itself(group: Group) -> None:
    """Fails if the same member id may not return after it left for a while."""
    topic = group.topic(2)
    member = group.member(topic, instance_id="i")
    member.beat()
    member.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    member.beat()
    assert (member.epoch, member.owned, group.state()) == (2, all_of(topic, 2), ("Stable", 2, 2))


def test_an_instance_that_is_taken(group: Group) -> None:
    """Fails if two members may live under one instance id, or the text does not name both."""
    topic = group.topic(2)
    member, other = group.member(topic, instance_id="i"), group.member(topic, instance_id="i")
    member.beat()
    for late in (other, member.fresh()):
        assert refusal(late.ask(owned=set(), **late.said)) == (
            Err.UNRELEASED_INSTANCE_ID, f"Static member {late.id} with instance id i cannot join the group because the "
            f"instance id is owned by {member.id} member.")
    assert (member.beat().member_epoch, group.state()) == (2, ("Stable", 2, 2))


def test_who_is_not_the_instance_is_fenced(group: Group) -> None:
    """Fails if another member id may beat or leave in the instance's name."""
    topic = group.topic(2)
    member = group.member(topic, instance_id="i")
    member.beat()
    for epoch in (2, LEAVE, LEAVE_FOR_A_WHILE):
        assert refusal(group.heartbeat("other", epoch, instance_id="i")) == (
            Err.FENCED_INSTANCE_ID, f"Static member other with instance id i was fenced by member {member.id}.")
    assert refusal(member.ask(instance_id="j")) == (Err.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")
    assert refusal(member.ask(LEAVE_FOR_A_WHILE, instance_id="j")) == (Err.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")
    assert refusal(member.ask(LEAVE_FOR_A_WHILE)) == (Err.INVALID_REQUEST, "InstanceId can't be null.")
    assert member.ask().error_code == Err.NONE              # an instance need not be said again
    dynamic = group.member(topic)
    dynamic.beat()
    assert refusal(dynamic.ask(instance_id="new")) == (Err.UNKNOWN_MEMBER_ID, "Instance id new is unknown.")


def test_who_was_replaced_is_fenced(group: Group) -> None:
    """Fails if a member that left for a while may beat, before or after another took its place."""
    topic = group.topic(2)
    member = group.member(topic, instance_id="i")
    member.beat()
    member.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    for said in ({"instance_id": "i"}, {}):
        assert refusal(member.ask(2, **said)) == (
            Err.FENCED_MEMBER_EPOCH, "The consumer group member has a greater member epoch (2) than the one known by the group "
            "coordinator (-2). The member must abandon all its partitions and rejoin.")
    heir = group.member(topic, instance_id="i")
    heir.beat()
    for epoch in (2, LEAVE_FOR_A_WHILE):
        assert refusal(member.ask(epoch, instance_id="i")) == (
            Err.FENCED_INSTANCE_ID, f"Static member {member.id} with instance id i was fenced by member {heir.id}.")
    assert refusal(member.ask(2)) == (Err.UNKNOWN_MEMBER_ID, f"Member {member.id} is not a member of group {group.name}.")


def test_an_heir_with_another_subscription(group: Group) -> None:
    """Fails if it is not a new epoch, or what both subscribe to is taken from the instance."""
    one, two = group.topic(2, "one"), group.topic(1, "two")
    member = group.member(one, instance_id="i")
    member.beat()
    member.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    heir = group.member(one, two, instance_id="i")
    heir.beat()
    assert (heir.epoch, heir.owned, group.state()) == (3, all_of(one, 2) | {(two, 0)}, ("Stable", 3, 3))


def test_leaving_for_good(group: Group) -> None:
    """With -1 an instance is gone, said or unsaid. Fails if its partitions wait for an heir."""
    topic = group.topic(4)
    first, second = group.member(topic, instance_id="i"), group.member(topic, instance_id="j")
    first.beat()
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), second, first)
    second.leave(LEAVE)
    first.beat()
    assert (first.epoch, first.owned, group.state()) == (4, all_of(topic, 4), ("Stable", 4, 4))
    first.leave(LEAVE, instance_id="i")
    assert group.state() == ("Empty", 5, 4)
    again = group.member(topic, instance_id="i")
    again.beat()
    assert (again.epoch, again.owned) == (6, all_of(topic, 4))
