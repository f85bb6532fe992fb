"""Coordinators come and go (KIP-848): the next one knows every group as the last one left it.

A coordinator describes only what it knows to be committed: in Kafka that may at first be less than what it has loaded.
"""

from __future__ import annotations

from typing import Any

import pytest

from minikafka import Cluster
from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.consumer_protocol import (
    LEAVE_FOR_A_WHILE,
    Group,
    Member,
    all_of,
    beat_until,
    refusal,
    until,
)
from tests.wire.consumer_groups.test_offsets import Shelf

pytestmark = [pytest.mark.slow]


def coordinator(cluster: Cluster, group: Group) -> int:
    here = f":{group.raw.socket.getpeername()[1]}"
    return next(broker for broker in cluster.ids if cluster.address(broker).endswith(here))


def move(cluster: Cluster, group: Group, how: str) -> None:
    """End the coordinator, and find the next one."""
    old = coordinator(cluster, group)
    getattr(cluster, how)(old)
    group.find()
    assert coordinator(cluster, group) != old


def picture(group: Group) -> Any:
    """Return the description of a group, sorted."""
    found = group.describe()
    members = sorted(
        (m.member_id, m.instance_id, m.rack_id, m.member_epoch, m.client_id, m.client_host, m.subscribed_topic_names,
         m.subscribed_topic_regex, sorted(group.as_names(m.assignment.topic_partitions)),
         sorted(group.as_names(m.target_assignment.topic_partitions)), m.member_type) for m in found.members)
    return found.group_state, found.group_epoch, found.assignment_epoch, found.assignor_name, members


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_stable_group(cluster: Cluster, group: Group, how: str) -> None:
    """Fails if anything described is lost, an epoch is made, or a member has to join again."""
    topic = group.topic(4)
    shelf = Shelf(group, topic)
    first = group.member(topic, rack_id="r", server_assignor="range")
    second = Member(group, subscribed_topic_regex=f"{topic}|nothing", instance_id="i", server_assignor="range")
    beat_until(lambda: len(first.owned) == len(second.owned) == 2 and group.is_stable(), first, second)
    assert shelf.commit(5, first.id, first.epoch) == Err.NONE
    before = picture(group)
    move(cluster, group, how)
    until(lambda: picture(group) == before, lambda: (before, picture(group)))
    epochs = first.epoch, second.epoch
    assert (first.told(first.beat()), second.told(second.beat())) == (None, None)
    assert (first.epoch, second.epoch) == epochs
    until(lambda: shelf.fetch(first.id, first.epoch) == [5])
    assert picture(group) == before
    assert refusal(second.ask(second.epoch + 1))[0] == Err.FENCED_MEMBER_EPOCH


def test_in_the_middle_of_a_revocation(cluster: Cluster, group: Group) -> None:
    """One was told to give up, and has not yet. Fails if the next coordinator takes it as done, or asks for it for ever."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    first.beat()
    assert (first.epoch, len(first.owned)) == (2, 2)
    before = picture(group)
    move(cluster, group, "kill")
    until(lambda: picture(group) == before, lambda: (before, picture(group)))
    assert second.told(second.beat()) is None
    first.beat()
    second.beat()
    assert (first.epoch, second.epoch, first.owned | second.owned) == (3, 3, all_of(topic, 4))
    assert group.state() == ("Stable", 3, 3)


def test_an_instance_that_is_away(cluster: Cluster, group: Group) -> None:
    """Fails if its partitions do not wait for its heir across coordinators."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic, instance_id="i")
    first.beat()
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), second, first)
    kept = second.owned
    second.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    move(cluster, group, "kill")
    assert first.told(first.beat()) is None
    heir = group.member(topic, instance_id="i")
    heir.beat()
    assert (heir.epoch, heir.owned, group.state()) == (3, kept, ("Stable", 3, 3))


def test_groups_that_are_empty_or_gone(cluster: Cluster, group: Group) -> None:
    """Fails if an epoch begins again at 1, or a deleted group returns."""
    topic = group.topic(2)
    member = group.member(topic)
    member.beat()
    member.leave()
    move(cluster, group, "kill")
    until(lambda: group.state() == ("Empty", 3, 2), group.state)
    back = group.member(topic)
    back.beat()
    assert (back.epoch, back.owned) == (4, all_of(topic, 2))
    back.leave()
    assert group.delete() == Err.NONE
    cluster.mend()
    move(cluster, group, "kill")
    until(lambda: group.describe().error_code == Err.GROUP_ID_NOT_FOUND, group.describe)
    again = group.member(topic)
    again.beat()
    assert again.epoch == 2
