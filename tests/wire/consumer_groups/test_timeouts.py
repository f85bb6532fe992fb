"""Members that fall silent, or keep what they were to give up (KIP-848): the group goes on without them.

Sessions are long enough here that a member which heartbeats in a loop stays alive also on a slow machine.
"""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from minikafka.protocol.errors import Err
from tests.wire.consumer_groups.classic_members import Classic
from tests.wire.consumer_groups.consumer_protocol import (
    LEAVE_FOR_A_WHILE,
    Group,
    Member,
    all_of,
    beat_until,
    refusal,
    until,
)

pytestmark = pytest.mark.slow
SESSION_MS = 6000


def configure(group: Group, **values: int) -> list[tuple[int, str | None]]:
    """Set the group's own configuration; dots are underscores."""
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    configs = [kind.AlterableConfig(name=name.replace("_", "."), config_operation=0, value=str(value))
               for name, value in values.items()]
    row = kind(resource_type=32, resource_name=group.name, configs=configs)
    answer = group.ask(IncrementalAlterConfigsRequest(resources=[row], validate_only=False), 1)
    return [(r.error_code, r.error_message) for r in answer.responses]


def shorten_sessions(group: Group, session_ms: int = SESSION_MS) -> None:
    """Wait until the coordinator knows the new configuration, which its responses show by their heartbeat interval."""
    assert configure(group, consumer_session_timeout_ms=session_ms, consumer_heartbeat_interval_ms=777) == [(Err.NONE, None)]
    first = group.member()

    def heard() -> Any:
        """the response has the group's own heartbeat interval"""
        return first.beat().heartbeat_interval_ms == 777
    until(heard)
    first.leave()
    assert group.delete() == Err.NONE


def test_a_silent_member_is_missed(group: Group) -> None:
    """Fails if sessions do not expire, or other members do not get the dead member's partitions."""
    topic = group.topic(4)
    shorten_sessions(group)
    lives, dies = group.member(topic), group.member(topic)
    lives.beat()
    beat_until(lambda: len(dies.owned) == 2 and group.is_stable(), dies, lives)
    beat_until(lambda: lives.owned == all_of(topic, 4), lives)
    assert (lives.epoch, set(group.described()), group.state()) == (4, {lives.id}, ("Stable", 4, 4))
    assert refusal(dies.ask()) == (Err.UNKNOWN_MEMBER_ID, f"Member {dies.id} is not a member of group {group.name}.")
    back = dies.fresh()
    back.beat()
    assert back.epoch == 5


def test_the_last_member_dies(group: Group) -> None:
    """Fails if the group is not empty after the session: no member heartbeats, only the coordinator's clock decides."""
    topic = group.topic(2)
    shorten_sessions(group)
    group.member(topic).beat()
    until(lambda: group.state() == ("Empty", 3, 2))
    assert group.described() == {}


def test_a_heartbeat_keeps_the_session(group: Group) -> None:
    """For twice as long as a session. Fails if it is not counted from the last heartbeat."""
    topic = group.topic(2)
    shorten_sessions(group)
    lives, dies = group.member(topic), group.member(topic)
    lives.beat()
    for _ in range(2):
        dies.fresh().beat()
        beat_until(lambda: set(group.described()) == {lives.id}, lives)
    beat_until(lambda: lives.owned == all_of(topic, 2) and group.is_stable(), lives)


def test_an_instance_that_does_not_come_back(group: Group) -> None:
    """Fails if a static member that left for a while keeps its partitions for ever."""
    topic = group.topic(4)
    shorten_sessions(group)
    lives, leaves = group.member(topic), group.member(topic, instance_id="i")
    lives.beat()
    beat_until(lambda: len(leaves.owned) == 2 and group.is_stable(), leaves, lives)
    leaves.leave(LEAVE_FOR_A_WHILE, instance_id="i")
    assert leaves.id in group.described()
    beat_until(lambda: lives.owned == all_of(topic, 4), lives)
    assert (lives.epoch, set(group.described())) == (4, {lives.id})


def test_who_does_not_give_up_is_fenced(group: Group) -> None:
    """After its own rebalance timeout, though it heartbeats. Fails if others wait for its partitions for ever."""
    topic = group.topic(4)
    keeps, waits = group.member(topic, rebalance_timeout_ms=2000), group.member(topic)
    keeps.beat()
    waits.beat()
    told = keeps.ask()
    assert (told.member_epoch, len(keeps.told(told) or ())) == (2, 2)
    last: list[Any] = []

    def fenced() -> bool:
        """the heartbeat of the member that keeps its partitions is refused"""
        last.append(keeps.ask(owned=all_of(topic, 4)))
        return bool(last[-1].error_code != Err.NONE)
    until(fenced)
    assert refusal(last[-1]) == (Err.UNKNOWN_MEMBER_ID, f"Member {keeps.id} is not a member of group {group.name}.")
    waits.beat()
    beat_until(lambda: waits.owned == all_of(topic, 4), waits)
    assert group.state() == ("Stable", 4, 4)


def test_who_gives_up_in_time_is_not_fenced(group: Group) -> None:
    """The timer ends with the revocation. Fails if it goes on, and fences a member that did as it was told."""
    topic = group.topic(4)
    shorten_sessions(group)
    first = group.member(topic, rebalance_timeout_ms=SESSION_MS)
    second, third = group.member(topic), group.member(topic)
    first.beat()
    second.beat()
    beat_until(lambda: len(first.owned) == len(second.owned) == 2 and group.is_stable(), first, second)
    third.beat()                                # its session is as long as the timer would have been, and began later
    beat_until(lambda: third.id not in group.described(), first, second)
    assert {first.id, second.id} == set(group.described())
    beat_until(lambda: first.owned | second.owned == all_of(topic, 4) and group.is_stable(), first, second)


def joined_by_a_consumer(group: Group, topic: str, **said: int) -> tuple[Classic, Member]:
    """A classic group of one that a consumer has joined: the classic member is called to join again."""
    classic = Classic(group, topic, **said)
    classic.join()
    classic.sync({topic: [0, 1, 2, 3]})
    member = group.member(topic)
    member.beat()
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS
    return classic, member


def test_a_classic_member_that_is_called_and_does_not_come(group: Group) -> None:
    """Its rebalance timeout counts from the call. Fails if the others wait for it as long as it heartbeats."""
    topic = group.topic(4)
    classic, member = joined_by_a_consumer(group, topic, rebalance_timeout_ms=2000)
    beat_until(lambda: classic.heartbeat() != Err.REBALANCE_IN_PROGRESS, member)
    assert classic.heartbeat() == Err.UNKNOWN_MEMBER_ID
    beat_until(lambda: member.owned == all_of(topic, 4), member)
    assert set(group.described()) == {member.id}


def test_a_classic_member_that_joins_and_does_not_sync(group: Group) -> None:
    """Fails if a member that never sends SyncGroup stays a member."""
    topic = group.topic(4)
    classic, member = joined_by_a_consumer(group, topic, rebalance_timeout_ms=2000)
    classic.join()
    beat_until(lambda: member.owned == all_of(topic, 4), member)
    assert (classic.heartbeat(), set(group.described())) == (Err.UNKNOWN_MEMBER_ID, {member.id})


def test_a_classic_member_has_a_session_of_its_own(group: Group) -> None:
    """Fails if the session timeout of the consumer protocol is applied to a classic member."""
    topic = group.topic(4)
    classic, member = joined_by_a_consumer(group, topic, session_timeout_ms=2000)
    beat_until(lambda: member.owned == all_of(topic, 4), member)
    assert (classic.heartbeat(), set(group.described())) == (Err.UNKNOWN_MEMBER_ID, {member.id})


def test_the_last_consumer_dies_among_classic_members(group: Group) -> None:
    """Fails if the group stays a consumer group when none is left, or the classic member goes with it."""
    topic = group.topic(4)
    shorten_sessions(group)
    classic, _ = joined_by_a_consumer(group, topic)
    classic.join()
    assert len(classic.sync()[topic]) == 2
    until(lambda: group.describe().error_code == Err.GROUP_ID_NOT_FOUND)
    assert classic.heartbeat() == Err.REBALANCE_IN_PROGRESS
    assert classic.join().leader == classic.id
    assert classic.sync({topic: [0, 1, 2, 3]}) == {topic: [0, 1, 2, 3]}


def test_a_groups_own_times_have_bounds(group: Group) -> None:
    """Fails if a group may have times that its brokers do not allow, or a session shorter than two heartbeats' interval."""
    assert configure(group, consumer_session_timeout_ms=10) == [(
        40, "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms")]
    assert configure(group, consumer_session_timeout_ms=99_000) == [(
        40, "consumer.session.timeout.ms must be less than or equal to group.consumer.max.session.timeout.ms")]
    assert configure(group, consumer_heartbeat_interval_ms=10) == [(
        40, "consumer.heartbeat.interval.ms must be greater than or equal to group.consumer.min.heartbeat.interval.ms")]


def test_assignments_have_an_interval(group: Group) -> None:
    """A group's first is computed at once, the next when the interval is over. Fails if each join is an assignment."""
    topic = group.topic(4)
    first, second = group.member(topic), group.member(topic)
    assert configure(group, consumer_assignment_interval_ms=15_000, consumer_heartbeat_interval_ms=778) == [(Err.NONE, None)]
    until(lambda: first.fresh().beat().heartbeat_interval_ms == 778)
    first.beat()
    assert (first.epoch, first.owned) == (2, all_of(topic, 4))
    second.beat()
    assert (second.epoch, second.owned, group.state()) == (2, set(), ("Assigning", 3, 2))
    second.beat()
    first.beat()
    assert (first.owned, group.state()) == (all_of(topic, 4), ("Assigning", 3, 2))
    beat_until(lambda: len(second.owned) == 2 and group.is_stable(), first, second)
    assert (first.epoch, second.epoch, group.state()) == (3, 3, ("Stable", 3, 3))
