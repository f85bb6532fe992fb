"""Members of groups while the broker that serves them dies with kill -9; producers and transactions: tests/proof/chaos."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import aiokafka.errors
import confluent_kafka
import kafka.errors
import pytest

from .kit import LIBRARIES, Record, admin_of, make_topic
from .members import LONG_SESSION_MS, MEMBERS

library = pytest.mark.parametrize("library", MEMBERS)
LONG = 60.0
REFUSED = object()
pytestmark = pytest.mark.slow


@library
def test_a_group_reads_on(cluster, name, members, library) -> None:
    """A member reads everything, in order, over the death of the leader. Fails if a follower's log differs.

    Its session is long: where the coordinator dies too, a member that was counted out would rightly begin again.
    """
    make_topic(cluster, name)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(50)], acks="all")
    reader = members.join(library, cluster.bootstrap, name, name, session_ms=LONG_SESSION_MS)
    members.until(lambda: len(members.seen[reader]) == 50)
    cluster.kill(cluster.leader(name))
    writer = threading.Thread(target=LIBRARIES["confluent"].send, args=(
        cluster.bootstrap, name, [Record(b"%d" % n) for n in range(50, 100)]), kwargs={"acks": "all"})
    writer.start()
    members.until(lambda: len({r.offset for r in members.seen[reader]}) == 100, LONG)
    writer.join()
    assert [(r.offset, r.value) for r in members.records()] == [(n, b"%d" % n) for n in range(100)]


@library
def test_commits_survive_their_coordinator(cluster, name, members, library) -> None:
    """The offsets of a group are on the next coordinator. Fails if they are not replicated, or replayed wrongly."""
    make_topic(cluster, name, partitions=2)
    member = members.join(library, cluster.bootstrap, name, name, session_ms=LONG_SESSION_MS)
    members.until(lambda: member.assignment() == [0, 1])
    member.commit({(name, 0): (11, "before"), (name, 1): (12, "")})
    cluster.kill(_coordinator(cluster, name))
    cluster.wait(lambda: patiently(lambda: _committed(cluster, name)) == {0: 11, 1: 12}, LONG)
    members.until(lambda: patiently(lambda: member.commit({(name, 0): (21, "after")})) is not REFUSED, LONG)
    cluster.wait(lambda: patiently(lambda: _committed(cluster, name)) == {0: 21, 1: 12}, LONG)


def test_a_restarted_replica_catches_up_and_leads(cluster, name) -> None:
    """What was written without it is on it when it leads. Fails if it joins the ISR before it has caught up."""
    a, b, _ = cluster.ids
    make_topic(cluster, name, assignments={0: [a, b]}, configs={"min.insync.replicas": "1"})
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(20)], acks="all")
    cluster.kill(a)
    cluster.wait(lambda: cluster.leader(name) == b and cluster.isr(name) == [b], LONG)
    LIBRARIES["confluent"].send(cluster.bootstrap, name, [Record(b"%d" % n) for n in range(20, 40)], acks="all")
    cluster.restart(a)
    cluster.wait(lambda: sorted(cluster.isr(name)) == sorted([a, b]), LONG)
    cluster.kill(b)
    cluster.wait(lambda: cluster.leader(name) == a, LONG)
    assert [r.value for r in LIBRARIES["aiokafka"].read(cluster.bootstrap, name, 40)] == [b"%d" % n for n in range(40)]


def _coordinator(cluster, group: str) -> int:
    with admin_of(cluster) as admin:
        return admin._manager.run(admin._find_coordinator_id, group)


def _committed(cluster, group: str) -> dict[int, int]:
    with admin_of(cluster) as admin:
        return {tp.partition: value.offset for tp, value in admin.list_group_offsets(group)[group].items()}


def patiently(ask: Callable[[], Any]) -> Any:
    """The answer, or REFUSED while a client stumbles over the dead broker: some of them give up at once."""
    try:
        return ask()
    except (kafka.errors.KafkaError, aiokafka.errors.KafkaError, confluent_kafka.KafkaException):
        return REFUSED
