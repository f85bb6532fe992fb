"""Committing offsets in every mode, on both engines. Refusals, by value: tests/wire/test_groups.py."""

from __future__ import annotations

import pytest

from .kit import LIBRARIES, Record, admin_of, make_topic
from .members import MEMBERS

library = pytest.mark.parametrize("library", MEMBERS)


@pytest.fixture
def filled(cluster, name) -> str:
    """Two partitions with 20 records each."""
    make_topic(cluster, name, partitions=2)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [
        Record(b"%d" % n, partition=p) for p in range(2) for n in range(20)])
    return name


def committed(cluster, group: str) -> dict[int, tuple[int, str]]:
    """Partition -> (offset, metadata) as the coordinator answers."""
    with admin_of(cluster) as admin:
        found = admin.list_group_offsets(group)[group]
    return {tp.partition: (value.offset, value.metadata) for tp, value in found.items()}


@library
def test_synchronous_commits_keep_offset_and_metadata(cluster, filled, members, library) -> None:
    """Fails if metadata is dropped, or an offset is answered before it is replicated and applied."""
    member = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: member.assignment() == [0, 1])
    member.commit({(filled, 0): (7, "seven"), (filled, 1): (0, "")})
    end = "\0" if library == "confluent" else ""  # librdkafka's binding sends the C string's end too
    assert committed(cluster, filled) == {0: (7, "seven" + end), 1: (0, "")}
    member.commit({(filled, 0): (3, "back again")})
    assert committed(cluster, filled) == {0: (3, "back again" + end), 1: (0, "")}


@library
def test_asynchronous_commits_arrive(cluster, filled, members, library) -> None:
    """Fails if the answer to a commit that nobody waits for is out of step with later ones."""
    member = members.join(library, cluster.bootstrap, filled, filled)
    members.until(lambda: member.assignment() == [0, 1])
    for offset in (1, 2, 3):
        member.commit({(filled, 1): (offset, "")}, wait=False)
    members.until(lambda: committed(cluster, filled) == {1: (3, "")})


@library
def test_automatic_commits_follow_what_was_handed_out(cluster, filled, members, library) -> None:
    """Fails if commits at the interval are refused in a stable group."""
    members.join(library, cluster.bootstrap, filled, filled, auto_commit=True)
    members.until(lambda: {p: o for p, (o, _) in committed(cluster, filled).items()} == {0: 20, 1: 20})
    assert len(members.records()) == 40
