"""Reconciliation (KIP-848): a member with surplus partitions gives them up first; their next member waits until they are free.

Each broker's assignor may choose which partitions a member keeps, but not how many, nor in which order they move.
"""

from __future__ import annotations

from kafka.protocol.admin import CreatePartitionsRequest, DeleteTopicsRequest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import Group, Member, Partitions, all_of, beat_until, refusal


def share(group: Group, member: Member) -> tuple[int, Partitions, Partitions]:
    """Return the member's epoch, partitions and target, as described."""
    found = group.described()[member.id]
    return (found.member_epoch, group.as_names(found.assignment.topic_partitions),
            group.as_names(found.target_assignment.topic_partitions))


def test_a_second_member_waits_for_what_the_first_gives_up(group: Group) -> None:
    """Step by step. Fails if a partition has two owners for a moment, an epoch comes early, or a state is called otherwise."""
    topic = group.topic(6)
    first, second = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    assert (second.epoch, second.owned, group.state()) == (3, set(), ("Reconciling", 3, 3))
    epoch, has, target = share(group, first)
    assert (epoch, has, len(target)) == (2, all_of(topic, 6), 3)
    assert share(group, second) == (3, set(), all_of(topic, 6) - target)

    told = first.ask()                                      # it hears what to give up, and says nothing of it
    assert (told.member_epoch, first.told(told)) == (2, target)
    assert first.told(first.ask()) is None                  # once is enough
    assert first.told(first.ask(owned=all_of(topic, 6))) is None
    assert second.told(second.beat()) is None
    assert share(group, first) == (2, all_of(topic, 6), target)

    first.owned = target
    given = first.beat()                                    # it has given it up
    assert (given.member_epoch, first.told(given)) == (3, None)
    assert (share(group, first), group.state()) == ((3, target, target), ("Reconciling", 3, 3))
    second.beat()
    assert (second.epoch, second.owned) == (3, all_of(topic, 6) - target)
    assert group.state() == ("Stable", 3, 3)


def test_a_third_member_gets_what_is_free_piece_by_piece(group: Group) -> None:
    """Fails if it must wait until both have given up theirs, or is given a partition that one still has."""
    topic = group.topic(6)
    first, second, third = group.member(topic), group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    beat_until(lambda: len(second.owned) == 3 and group.is_stable(), first, second)
    before = {first: first.owned, second: second.owned}
    third.beat()
    assert (third.epoch, third.owned, group.state()) == (4, set(), ("Reconciling", 4, 4))
    second.beat()
    (one,) = before[second] - second.owned
    third.beat()
    assert (second.epoch, third.owned) == (3, set())        # told, but not yet given up
    second.beat()
    third.beat()
    assert (second.epoch, third.epoch, third.owned) == (4, 4, {one})
    assert group.state() == ("Reconciling", 4, 4)
    first.beat()
    first.beat()
    (other,) = before[first] - first.owned
    third.beat()
    assert (first.epoch, third.owned, group.state()) == (4, {one, other}, ("Stable", 4, 4))


def test_who_may_not_go_on_keeps_its_epoch(group: Group) -> None:
    """A member that does not give up stays behind while others move on. Fails if it is taken along, or holds up the others."""
    topic = group.topic(4)
    slow, second = group.member(topic), group.member(topic)
    slow.beat()
    second.beat()
    third = group.member(topic)
    third.beat()
    assert group.state() == ("Reconciling", 4, 4)
    told = slow.told(slow.ask())
    assert slow.ask().member_epoch == 2
    second.beat()
    assert (second.epoch, second.owned) == (4, set())
    third.leave()
    assert group.state() == ("Assigning", 5, 4)
    second.beat()
    assert (second.epoch, second.owned, group.state()) == (5, set(), ("Reconciling", 5, 5))
    slow.owned = told
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), slow, second)
    assert slow.owned | second.owned == all_of(topic, 4)
    assert (slow.epoch, second.epoch, group.state()) == (5, 5, ("Stable", 5, 5))


def test_what_is_revoked_in_one_epoch_and_given_back_in_the_next(group: Group) -> None:
    """The other leaves before it got anything. Fails if a partition that was to be given up is lost on the way."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    first.beat()
    assert len(first.owned) == 2 and first.epoch == 2
    second.leave()
    first.beat()
    beat_until(lambda: first.owned == all_of(topic, 4), first)
    assert (first.epoch, group.state()) == (4, ("Stable", 4, 4))


def test_a_fenced_member_gives_up_what_it_had(group: Group) -> None:
    """It joins again while another waits for its partitions. Fails if the other waits for ever, or both have them."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    assert refusal(first.ask(9))[0] == Err.FENCED_MEMBER_EPOCH
    back = first.fresh()
    back.beat()
    assert (back.epoch, len(back.owned)) == (3, 2)
    second.beat()
    assert (second.epoch, second.owned, group.state()) == (3, all_of(topic, 4) - back.owned, ("Stable", 3, 3))


def test_more_members_than_partitions(group: Group) -> None:
    """Fails if one has two, or the one without any is not stable."""
    topic = group.topic(2)
    members = [group.member(topic) for _ in range(3)]
    for member in members:
        member.beat()
    beat_until(lambda: sorted(len(m.owned) for m in members) == [0, 1, 1] and group.is_stable(), *members)
    assert set().union(*(m.owned for m in members)) == all_of(topic, 2)
    assert {m.epoch for m in members} == {4} and group.state() == ("Stable", 4, 4)


def test_members_with_different_subscriptions(group: Group) -> None:
    """Fails if one is given what it did not subscribe to, or the shares are not as even as they can be."""
    one, two = group.topic(4, "one"), group.topic(2, "two")
    both, only = group.member(one, two), group.member(one)
    both.beat()
    only.beat()
    beat_until(lambda: len(only.owned) == 3 and group.is_stable(), both, only)
    assert {t for t, _ in only.owned} == {one}
    assert both.owned | only.owned == all_of(one, 4) | all_of(two, 2)
    assert both.owned & only.owned == set()


def test_topics_come_and_grow(group: Group) -> None:
    """Fails if a new topic, or new partitions, do not raise the epoch, or members get no new assignment by heartbeats alone."""
    topic = group.topic(2)
    later = f"{group.name}-later"
    member = group.member(topic, later)
    member.beat()
    assert (member.epoch, member.owned) == (2, all_of(topic, 2))
    row = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=3, assignments=None)
    grown = group.ask(CreatePartitionsRequest(topics=[row], timeout_ms=30_000, validate_only=False), 2)
    assert [r.error_code for r in grown.results] == [Err.NONE]
    beat_until(lambda: member.owned == all_of(topic, 3), member)
    assert (member.epoch, group.state()) == (3, ("Stable", 3, 3))
    assert group.topic(1, "later", settled=False) == later
    beat_until(lambda: member.owned == all_of(topic, 3) | {(later, 0)}, member)
    assert (member.epoch, group.state()) == (4, ("Stable", 4, 4))


def test_topics_go(group: Group) -> None:
    """Fails if a deleted topic's partitions stay with a member, or take others along."""
    topic, gone = group.topic(2), group.topic(2, "gone")
    first, second = group.member(topic, gone), group.member(gone)
    first.beat()
    second.beat()
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), first, second)
    assert (first.owned, second.owned) == (all_of(topic, 2), all_of(gone, 2))
    deleted = group.ask(DeleteTopicsRequest(topics=[], topic_names=[gone], timeout_ms=30_000), 5)
    assert [r.error_code for r in deleted.responses] == [Err.NONE]
    beat_until(lambda: second.owned == set() and group.is_stable(), first, second)
    assert (first.owned, first.epoch, second.epoch, group.state()) == (all_of(topic, 2), 4, 4, ("Stable", 4, 4))
