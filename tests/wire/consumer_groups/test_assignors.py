"""The coordinator's own assignors (KIP-848): `uniform` levels all partitions, `range` puts topics side by side."""

from __future__ import annotations

from tests.wire.consumer_groups.consumer_protocol import Group, Member, Partitions, beat_until


def shares(group: Group, members: list[Member], count: int) -> list[Partitions]:
    """Return the partitions of each member, once the group is stable and its members have `count` partitions together."""
    def balanced() -> bool:
        """all partitions have an owner"""
        return sum(len(m.owned) for m in members) == count and group.is_stable()
    for member in members:
        member.beat()
    beat_until(balanced, *members)
    found = [m.owned for m in members]
    assert len(set().union(*found)) == count
    return found


def test_uniform_levels_all_partitions(group: Group) -> None:
    """Fails if it is not the default, or one member has two more than another."""
    topics = [group.topic(3, suffix) for suffix in "abc"]
    found = shares(group, [group.member(*topics) for _ in range(2)], 9)
    assert sorted(map(len, found)) == [4, 5]
    assert group.describe().assignor_name == "uniform"


def test_uniform_moves_as_little_as_it_can(group: Group) -> None:
    """Fails if the others lose more than a new member needs, or lose anything when a member leaves."""
    topic = group.topic(9)
    members = [group.member(topic) for _ in range(2)]
    before = shares(group, members, 9)
    third = group.member(topic)
    now = shares(group, [*members, third], 9)
    assert [len(share) for share in now] == [3, 3, 3]
    assert now[0] < before[0] and now[1] < before[1]
    members[0].leave()
    after = shares(group, [members[1], third], 9)
    assert sorted(map(len, after)) == [4, 5]
    assert after[0] > now[1] and after[1] > now[2]


def test_range_puts_topics_side_by_side(group: Group) -> None:
    """Equal numbers of different topics go to one member. Fails if ranges have holes, or the rest is not with the first."""
    one, two = group.topic(3, "one"), group.topic(3, "two")
    members = [Member(group, f"m{n}", subscribed_topic_names=[one, two], server_assignor="range") for n in range(2)]
    first, second = shares(group, members, 6)
    assert group.describe().assignor_name == "range"
    assert first == {(topic, p) for topic in (one, two) for p in (0, 1)}
    assert second == {(one, 2), (two, 2)}


def test_range_by_topic(group: Group) -> None:
    """Each topic is divided among its subscribers. Fails if other members count."""
    one, two = group.topic(4, "one"), group.topic(3, "two")
    both = Member(group, "a", subscribed_topic_names=[one, two], server_assignor="range")
    only = Member(group, "b", subscribed_topic_names=[one], server_assignor="range")
    first, second = shares(group, [both, only], 7)
    assert first == {(one, 0), (one, 1), (two, 0), (two, 1), (two, 2)}
    assert second == {(one, 2), (one, 3)}


def test_range_gives_static_members_the_same_range_again(group: Group) -> None:
    """They are in the order of their instances. Fails if they are in that of their member ids."""
    topic = group.topic(3)
    members = [Member(group, str(9 - n), instance_id=f"i{n}", subscribed_topic_names=[topic], server_assignor="range")
               for n in range(3)]
    assert shares(group, members, 3) == [{(topic, n)} for n in range(3)]


def test_the_majority_chooses(group: Group) -> None:
    """Fails if the first member's choice beats two others, or a member without a choice votes."""
    topic = group.topic(2)
    members = [group.member(topic, server_assignor=name) for name in ("range", "uniform", "uniform")]
    members[0].beat()
    assert group.describe().assignor_name == "range"
    indifferent = group.member(topic)
    indifferent.beat()
    assert group.describe().assignor_name == "range"
    members[1].beat()
    members[2].beat()
    assert group.describe().assignor_name == "uniform"
    members[1].leave()
    members[2].leave()
    assert group.describe().assignor_name == "range"


def test_a_member_changes_its_mind(group: Group) -> None:
    """Its choice is described at once and is no new epoch. Fails if it has to join again."""
    one, two = group.topic(3, "one"), group.topic(3, "two")
    member = group.member(one, two)
    member.beat()
    assert group.describe().assignor_name == "uniform"
    member.beat(server_assignor="range")
    assert (group.describe().assignor_name, group.state()) == ("range", ("Stable", 2, 2))
