"""Cooperative rebalancing (KIP-429): who keeps a partition never stops reading it, and none has two owners.

The broker's part: generations that follow each other at once (a member that gave something up joins again), and the
assignment of every generation handed to all members as the leader wrote it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest

from minikafka import Cluster
from tests.clients.kit import LIBRARIES, PATIENCE, Record, make_topic

PARTITIONS = 6


class Team:
    """Members of one group, polled in turn by one thread, so that what their callbacks see is one sequence of events."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self.settings = {
            "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky", "enable.auto.commit": False,
            "session.timeout.ms": 6000, "heartbeat.interval.ms": 300}
        self.group = group
        self.consumers: dict[str, Any] = {}
        self.owners: dict[int, str] = {}             # partition -> member; checked at every event
        self.revoked: list[tuple[str, int]] = []     # since it was last cleared
        self.values: list[bytes] = []

    def join(self, member: str) -> None:
        def assigned(_: Any, partitions: list[Any]) -> None:
            for p in sorted(tp.partition for tp in partitions):
                assert p not in self.owners, f"{p} given to {member} while {self.owners[p]} has it"
                self.owners[p] = member

        def revoked(consumer: Any, partitions: list[Any]) -> None:
            positions = [tp for tp in consumer.position(partitions) if tp.offset >= 0]
            if positions:
                consumer.commit(offsets=positions, asynchronous=False)
            for p in sorted(tp.partition for tp in partitions):
                assert self.owners.pop(p) == member
                self.revoked.append((member, p))

        def lost(_: Any, partitions: list[Any]) -> None:
            raise AssertionError(f"{member} lost {partitions}")

        self.consumers[member] = confluent_kafka.Consumer({**self.settings, "client.id": member})
        self.consumers[member].subscribe([self.group], on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def leave(self, member: str) -> None:
        self.consumers.pop(member).close()

    def share(self) -> dict[str, list[int]]:
        """What each member owns, by its callbacks."""
        return {member: sorted(p for p, owner in self.owners.items() if owner == member) for member in self.consumers}

    def until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, (self.share(), len(self.values))
            for consumer in self.consumers.values():
                message = consumer.poll(0.1)
                while message is not None:      # one by one: the position at a revocation is behind the last one taken
                    assert message.error() is None, message.error()
                    self.values.append(message.value())
                    message = consumer.poll(0)

    def until_shared(self, *sizes: int) -> dict[str, list[int]]:
        """Wait until the members own so many partitions each, and the group's generation agrees."""
        self.until(lambda: [len(owned) for owned in self.share().values()] == list(sizes) and all(
            sorted(tp.partition for tp in self.consumers[member].assignment()) == owned
            for member, owned in self.share().items()))
        return self.share()


@pytest.fixture
def team(cluster: Cluster, name: str) -> Iterator[Team]:
    make_topic(cluster, name, partitions=PARTITIONS)
    made = Team(cluster.bootstrap, name)
    yield made
    for consumer in made.consumers.values():
        consumer.close()


def send(cluster: Cluster, topic: str, word: bytes) -> list[bytes]:
    """Five records to every partition; returns their values."""
    values = {p: [b"%s %d %d" % (word, p, n) for n in range(5)] for p in range(PARTITIONS)}
    LIBRARIES["confluent"].send(cluster.bootstrap, topic, [Record(v, partition=p) for p in values for v in values[p]])
    return sum(values.values(), [])


def test_only_what_moves_is_revoked(cluster: Cluster, name: str, team: Team) -> None:
    """One member, two, three, two. Fails if a partition has two owners, one that stays is revoked, or a record is read
    twice or never: as when a generation's assignment reaches one member late or a rejoin is not a new generation."""
    expected = send(cluster, name, b"alone")
    team.join("a")
    before = team.until_shared(6)
    assert before == {"a": [0, 1, 2, 3, 4, 5]} and team.revoked == []
    for member, sizes in (("b", (3, 3)), ("c", (2, 2, 2))):
        expected += send(cluster, name, b"before " + member.encode())
        team.revoked.clear()
        team.join(member)
        after = team.until_shared(*sizes)
        moved = after[member]
        assert sorted(p for _, p in team.revoked) == moved                      # nothing else was taken from anyone
        assert after == {m: sorted(set(owned) - set(moved)) for m, owned in before.items()} | {member: moved}
        before = after
        expected += send(cluster, name, b"after " + member.encode())
    team.until(lambda: len(team.values) >= len(expected))
    team.revoked.clear()
    team.leave("b")
    after = team.until_shared(3, 3)
    assert team.revoked == [("b", p) for p in before["b"]]
    assert all(set(before[member]) < set(owned) for member, owned in after.items())
    expected += send(cluster, name, b"without b")
    team.until(lambda: len(team.values) >= len(expected))
    assert sorted(team.values) == sorted(expected)
