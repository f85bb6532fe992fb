"""Consumer groups with three libraries: sharing, leaving, static members. Refusals, by value: tests/wire/test_groups.py."""

from __future__ import annotations

import pytest

from .conftest import EACH, PARTITIONS
from .kit import admin_of
from .members import LONG_SESSION_MS, MEMBERS

library = pytest.mark.parametrize("library", MEMBERS)


@library
def test_two_members_share_and_the_last_one_takes_over(cluster, filled, members, library) -> None:
    """Fails if a join does not rebalance the members that are there, or a leave does not give its partitions on."""
    first = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: first.assignment() == [0, 1, 2, 3])
    second = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: members.shared())
    members.leave(first)
    members.until(lambda: second.assignment() == [0, 1, 2, 3])
    members.until(lambda: {(r.partition, r.offset) for r in members.records()}
                  == {(p, n) for p in range(PARTITIONS) for n in range(EACH)})


@library
def test_a_static_member_returns_without_a_rebalance(cluster, filled, members, library) -> None:
    """Fails if a static member's return makes a new generation for the others (KIP-345)."""
    stays = members.join(library, cluster.bootstrap, filled, filled, instance="a", session_ms=LONG_SESSION_MS)
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])
    goes = members.join(library, cluster.bootstrap, filled, filled, instance="b", session_ms=LONG_SESSION_MS)
    members.until(lambda: members.shared())
    kept = stays.assignment()
    with admin_of(cluster) as admin:
        before = {m["group_instance_id"]: m["member_id"] for m in _described(admin, filled)}
        members.leave(goes)
        back = members.join(library, cluster.bootstrap, filled, filled, instance="b", session_ms=LONG_SESSION_MS)
        members.until(lambda: len(back.assignment()) == 2)
        after = {m["group_instance_id"]: m["member_id"] for m in _described(admin, filled)}
    assert stays.assignment() == kept
    assert sorted(kept + back.assignment()) == [0, 1, 2, 3]
    assert sorted(after) == sorted(before) == ["a", "b"]
    assert after["a"] == before["a"]


def test_a_member_that_dies_is_missed_after_its_session(cluster, filled, members) -> None:
    """Fails if sessions do not expire: a member that vanished without leaving keeps its partitions for ever."""
    stays = members.join("confluent", cluster.bootstrap, filled, filled, session_ms=LONG_SESSION_MS)
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])
    static = members.join("confluent", cluster.bootstrap, filled, filled, instance="gone", session_ms=2000)
    members.until(lambda: members.shared())
    members.leave(static)  # a static member says no goodbye
    members.until(lambda: stays.assignment() == [0, 1, 2, 3])


@library
def test_a_member_goes_on_where_the_group_committed(cluster, filled, members, library) -> None:
    """Fails if the committed offset is not what a new member starts from."""
    first = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: len(members.records()) == PARTITIONS * EACH)
    first.commit({(filled, p): (10 + p, "") for p in range(PARTITIONS)})
    members.leave(first)
    second = members.join(library, cluster.bootstrap, filled, filled)
    expected = [(p, n) for p in range(PARTITIONS) for n in range(10 + p, EACH)]
    members.until(lambda: len(members.seen[second]) >= len(expected))
    assert sorted((r.partition, r.offset) for r in members.seen[second]) == expected


def _described(admin, group: str) -> list[dict]:
    return admin.describe_groups([group])[group]["members"]
