"""Subscriptions by regular expression (KIP-848): the coordinator resolves them, a little after it was asked to."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import DeleteTopicsRequest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import Group, Member, all_of, beat_until


def by_regex(group: Group, regex: str, **said: object) -> Member:
    return Member(group, subscribed_topic_regex=regex, **said)


def test_joining_by_regex(group: Group) -> None:
    """Fails if what matches is not given, the first epoch counts it before it is known, or names are described."""
    one, two = group.topic(2, "in-1"), group.topic(1, "in-2")
    group.topic(1, "out")
    member = by_regex(group, f"{group.name}-in-.*")
    first = member.beat()
    assert (first.error_code, first.member_epoch, member.owned) == (Err.NONE, 1, set())
    beat_until(lambda: member.owned, member)
    assert (member.epoch, member.owned, group.state()) == (2, all_of(one, 2) | {(two, 0)}, ("Stable", 2, 2))
    described = group.described()[member.id]
    assert (described.subscribed_topic_names, described.subscribed_topic_regex) == ([], f"{group.name}-in-.*")


def test_a_regex_matches_whole_names(group: Group) -> None:
    """Fails if a part of a name is enough."""
    exact = group.topic(1, "a")
    group.topic(1, "ab")
    member = by_regex(group, exact)
    beat_until(lambda: member.owned, member)
    assert member.owned == {(exact, 0)}


def test_no_topic_matches(group: Group) -> None:
    """Fails if nothing found is an error, or an epoch."""
    for regex in ("", f"{group.name}-nothing"):
        member = by_regex(group, regex)
        member.beat()
        assert (member.epoch, member.owned) == (group.state()[1], set())
        member.leave()


def test_members_share_what_matches(group: Group) -> None:
    """Two by regex, one by name. Fails if a regex is not shared, or what a name and a regex mean is kept apart."""
    topic = group.topic(6)
    members = [by_regex(group, topic), by_regex(group, topic), group.member(topic)]
    beat_until(lambda: [len(m.owned) for m in members] == [2, 2, 2] and group.is_stable(), *members)
    assert set().union(*(m.owned for m in members)) == all_of(topic, 6)


def test_a_name_beside_a_regex(group: Group) -> None:
    """Fails if one of the two is forgotten."""
    one, two = group.topic(1, "one"), group.topic(1, "two")
    member = by_regex(group, one)
    beat_until(lambda: member.owned == {(one, 0)}, member)
    member.beat(subscribed_topic_names=[two])
    beat_until(lambda: member.owned == {(one, 0), (two, 0)} and group.is_stable(), member)


def test_a_changed_regex(group: Group) -> None:
    """All is given up at once: what the new one matches is not known yet. Fails if it is kept, or the new one is forgotten."""
    one, two = group.topic(1, "one"), group.topic(1, "two")
    member = by_regex(group, one)
    beat_until(lambda: member.owned == {(one, 0)}, member)
    assert member.epoch == 2
    member.beat(subscribed_topic_regex=two)
    assert (member.epoch, member.owned) == (2, set())
    beat_until(lambda: member.owned == {(two, 0)} and group.is_stable(), member)
    member.beat(subscribed_topic_regex="", subscribed_topic_names=[one])
    assert member.owned == set()
    beat_until(lambda: member.owned == {(one, 0)} and group.is_stable(), member)
    described = group.described()[member.id]
    assert (described.subscribed_topic_names, described.subscribed_topic_regex) == ([one], "")


@pytest.mark.slow
def test_topics_that_match_come_and_go(group: Group) -> None:
    """Within ten seconds and a bit. Fails if a regex is resolved only once, or a second one is not resolved beside it."""
    one = group.topic(1, "one")
    member, late = by_regex(group, f"{group.name}-.*"), by_regex(group, f"{group.name}-(two|three)")
    beat_until(lambda: member.owned == {(one, 0)}, member)
    two = group.topic(2, "two", settled=False)
    everything = {(one, 0)} | all_of(two, 2)
    beat_until(lambda: late.owned and member.owned | late.owned == everything and group.is_stable(), member, late)
    assert (one, 0) in member.owned
    late.leave()
    beat_until(lambda: member.owned == everything, member)
    deleted = group.ask(DeleteTopicsRequest(topics=[], topic_names=[one], timeout_ms=30_000), 5)
    assert [r.error_code for r in deleted.responses] == [Err.NONE]
    beat_until(lambda: member.owned == all_of(two, 2) and group.is_stable(), member)
