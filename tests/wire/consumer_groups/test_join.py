"""Joining, heartbeating in and leaving a group of the consumer protocol (KIP-848), as asked of Apache Kafka 4.3."""

from __future__ import annotations

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import LEAVE, Group, all_of, beat_until, refusal


def test_a_group_of_one(group: Group) -> None:
    """The first answer has everything. Fails if epochs start elsewhere, or an assignment is sent twice or never."""
    topic = group.topic(4)
    member = group.member(topic)
    first = member.beat()
    assert (first.error_code, first.error_message, first.member_id, first.member_epoch, first.heartbeat_interval_ms) == (
        Err.NONE, None, member.id, 2, 500)
    assert member.owned == all_of(topic, 4)
    assert group.state() == ("Stable", 2, 2)
    again = member.beat()
    assert (again.error_code, again.member_id, again.member_epoch, again.assignment) == (Err.NONE, member.id, 2, None)
    assert group.state() == ("Stable", 2, 2)


def test_version_0_names_its_members(group: Group) -> None:
    """A member of version 0 without an id is given one, a UUID in base 64. Fails if it is not its own from then on."""
    topic = group.topic(2)
    said = {"subscribed_topic_names": [topic], "rebalance_timeout_ms": 60_000}
    first = group.heartbeat("", 0, version=0, owned=set(), **said)
    assert (first.error_code, first.member_epoch, len(first.member_id)) == (Err.NONE, 2, 22)
    again = group.heartbeat(first.member_id, 2, version=0)
    assert (again.error_code, again.member_id, again.member_epoch) == (Err.NONE, first.member_id, 2)
    other = group.heartbeat("", 0, version=0, owned=set(), **said)
    assert (other.error_code, other.member_epoch) == (Err.NONE, 3) and other.member_id != first.member_id


def test_a_full_request_gets_the_assignment_again(group: Group) -> None:
    """A client that lost its answer says everything again. Fails if it is not told what it has."""
    topic = group.topic(2)
    member = group.member(topic)
    member.beat()
    assert member.told(member.ask(owned=member.owned)) is None
    assert member.told(member.ask(**member.said)) is None  # not full: it does not say what it owns
    assert member.told(member.ask(owned=member.owned, **member.said)) == all_of(topic, 2)
    assert member.told(member.ask(owned=set(), **member.said)) == all_of(topic, 2)
    joined = member.fresh().beat()
    assert (joined.member_epoch, member.told(joined)) == (2, all_of(topic, 2))
    assert group.state() == ("Stable", 2, 2)


def test_a_group_that_subscribes_to_nothing(group: Group) -> None:
    """Fails if a subscription to no topic, or to a topic that does not exist, is refused, or makes another epoch."""
    idle = group.member()
    idle.beat()
    assert (idle.epoch, idle.owned, group.state()) == (1, set(), ("Stable", 1, 1))
    idle.leave()
    assert group.state() == ("Empty", 2, 1)


def test_a_group_that_subscribes_to_a_topic_that_there_is_not(group: Group) -> None:
    """Any text will do for a name. Fails if it is refused, or its epoch is not that of a first subscription."""
    hopeful = group.member("no-such-topic", "", "a b/c", "x" * 300)
    hopeful.beat()
    assert (hopeful.epoch, hopeful.owned, group.state()) == (2, set(), ("Stable", 2, 2))


def test_leaving(group: Group) -> None:
    """Fails if a leave is not an epoch of its own, or a target is computed before a member heartbeats."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), first, second)
    assert group.state() == ("Stable", 3, 3)
    left = second.leave()
    assert (left.member_id, left.member_epoch, left.heartbeat_interval_ms, left.assignment) == (second.id, LEAVE, 0, None)
    assert group.state() == ("Assigning", 4, 3)
    first.beat()
    assert (first.epoch, first.owned, group.state()) == (4, all_of(topic, 4), ("Stable", 4, 4))
    first.leave()
    assert group.state() == ("Empty", 5, 4)
    assert refusal(first.ask(2)) == (Err.UNKNOWN_MEMBER_ID, f"Member {first.id} is not a member of group {group.name}.")
    assert refusal(first.ask(LEAVE)) == (Err.UNKNOWN_MEMBER_ID, f"Member {first.id} is not a member of group {group.name}.")
    back = first.fresh()
    back.beat()
    assert (back.epoch, back.owned, group.state()) == (6, all_of(topic, 4), ("Stable", 6, 6))


def test_groups_that_there_are_not(group: Group) -> None:
    """Fails if a heartbeat makes a group, or the texts of the two ways to find none differ from Kafka's."""
    nobody = group.member("t")
    assert refusal(nobody.ask(1)) == (Err.GROUP_ID_NOT_FOUND, f"Consumer group {group.name} not found.")
    assert refusal(nobody.ask(LEAVE)) == (Err.GROUP_ID_NOT_FOUND, f"Group {group.name} not found.")
    assert refusal(nobody.ask(-2, instance_id="i")) == (Err.GROUP_ID_NOT_FOUND, f"Group {group.name} not found.")
    assert group.describe().error_code == Err.GROUP_ID_NOT_FOUND


def test_epochs_fence(group: Group) -> None:
    """Fails if a heartbeat of another epoch passes, which is not the one before with all that it has."""
    topic = group.topic(4)
    member = group.member(topic)
    member.beat()
    ending = "than the one known by the group coordinator (2). The member must abandon all its partitions and rejoin."
    assert refusal(member.ask(7, owned=member.owned)) == (
        Err.FENCED_MEMBER_EPOCH, f"The consumer group member has a greater member epoch (7) {ending}")
    assert refusal(member.ask(1, owned=member.owned)) == (
        Err.FENCED_MEMBER_EPOCH, f"The consumer group member has a smaller member epoch (1) {ending}")
    assert refusal(group.heartbeat("other", 2)) == (Err.UNKNOWN_MEMBER_ID, f"Member other is not a member of group {group.name}.")
    assert member.ask().error_code == Err.NONE
    assert group.state() == ("Stable", 2, 2)


def test_an_answer_that_was_lost(group: Group) -> None:
    """The epoch before is good with a part of what the member has. Fails if a lost answer costs it that, or more passes."""
    topic = group.topic(2)
    member = group.member(topic)
    member.beat()
    other = group.member(topic)
    other.beat()
    member.beat()
    kept = member.owned
    assert len(kept) == 1 and member.epoch == 2
    assert member.beat().member_epoch == 3
    lost = member.ask(2, owned=kept)
    assert (lost.error_code, lost.member_epoch, lost.assignment) == (Err.NONE, 3, None)
    assert member.ask(2, owned=set()).member_epoch == 3
    for owned in (None, all_of(topic, 2)):
        assert refusal(member.ask(2, owned=owned)) == (
            Err.FENCED_MEMBER_EPOCH, "The consumer group member has a smaller member epoch (2) than the one known by the group "
            "coordinator (3). The member must abandon all its partitions and rejoin.")


def test_a_fenced_member_joins_again(group: Group) -> None:
    """Epoch 0 of a known member. Fails if it makes a new epoch, or takes away what the member has by the target."""
    topic = group.topic(4)
    member, other = group.member(topic), group.member(topic)
    member.beat()
    beat_until(lambda: len(other.owned) == 2 and group.is_stable(), other, member)
    kept = member.owned
    back = member.fresh()
    back.beat()
    assert (back.epoch, back.owned, group.state()) == (3, kept, ("Stable", 3, 3))


def test_a_changed_subscription(group: Group) -> None:
    """Fails if what is no longer subscribed to is not revoked at once, or what is new is given before the next epoch."""
    one, two = group.topic(2, "one"), group.topic(1, "two")
    member = group.member(one)
    member.beat()
    changed = member.beat(subscribed_topic_names=[two])
    assert (changed.member_epoch, member.owned) == (2, set())
    assert group.state() == ("Reconciling", 3, 3)
    member.beat()
    assert (member.epoch, member.owned, group.state()) == (3, {(two, 0)}, ("Stable", 3, 3))
    member.beat(subscribed_topic_names=[two])
    assert group.state() == ("Stable", 3, 3)
    member.beat(subscribed_topic_names=[one, two])
    assert (member.epoch, member.owned, group.state()) == (4, all_of(one, 2) | {(two, 0)}, ("Stable", 4, 4))
    member.beat(subscribed_topic_names=[])
    member.beat()
    assert (member.epoch, member.owned, group.state()) == (5, set(), ("Stable", 5, 5))
