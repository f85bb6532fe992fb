"""Faults inside our brokers do what they are named after: links, followers, disk, clock. Our engine only."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import confluent_kafka
import pytest

from minikafka import Cluster
from minikafka.broker.server.live import LiveEnv
from minikafka.cluster import BrokerDied, NotReady, nodes, wire
from tests.clients.kit import LIBRARIES, Record, make_topic
from tests.conftest import SETTINGS

PATIENCE = 60.0
send = LIBRARIES["confluent"].send
read = LIBRARIES["confluent"].read


@pytest.fixture(scope="module")
def ours() -> Iterator[Cluster]:
    with Cluster(brokers=3, config=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def c(ours: Cluster) -> Iterator[Cluster]:
    yield ours
    ours.mend()


def values(c: Cluster, topic: str, count: int) -> list[bytes | None]:
    return [record.value for record in read(c.bootstrap, topic, count)]


def answers(c: Cluster, broker: int, within: float = 30.0) -> bool:
    """the broker answers clients"""
    try:
        return bool(wire.live_brokers(c.address(broker), timeout=within))
    except OSError:
        return False


def test_clients_cut_off_are_answered_when_the_link_heals(c: Cluster) -> None:
    """The broker stays a member of the cluster meanwhile. Fails if a cut of clients cuts brokers, or stays."""
    c.cut("clients", 1)
    assert not answers(c, 1, within=1.0)
    assert sorted(wire.live_brokers(c.address(2))) == [1, 2, 3]
    c.heal()
    assert answers(c, 1)


def test_a_fault_is_there_when_the_call_returns(c: Cluster) -> None:
    """Fails if a request right afterwards may still be answered as if nothing had happened (I-NODES-2)."""
    for _ in range(20):
        c.cut("clients", 1)
        assert not answers(c, 1, within=0.1)
        c.heal()
        assert answers(c, 1)


def test_a_broker_that_stands_still_has_not_carried_out_a_fault(c: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a call returns although its fault is not in force, or if a broker that goes on obeys no more (I-NODES-2)."""
    monkeypatch.setattr(nodes, "CARRIED_OUT_WITHIN", 0.3)
    os.kill(c.pid(2), signal.SIGSTOP)  # a machine so busy that the broker has no turn
    try:
        with pytest.raises(NotReady, match="broker 2 has not carried out a fault within 0.3 s"):
            c.cut("clients", 2)
    finally:
        os.kill(c.pid(2), signal.SIGCONT)
    monkeypatch.undo()
    c.heal()
    assert answers(c, 2)
    c.cut("clients", 2)
    assert not answers(c, 2, within=0.1)


def test_a_paused_broker_carries_out_its_faults_when_it_goes_on(c: Cluster) -> None:
    """Fails if `resume` returns before the faults that came during the pause are in force (I-NODES-2)."""
    for _ in range(5):
        c.pause(2)
        for fault in (lambda: c.cut("clients", 2), c.heal, lambda: c.cut("clients", 2)):
            fault()
        c.resume(2)
        told = [event["fault"] for event in c.trace.events("fault") if event["b"] == 2][-3:]
        assert told == ["link", "heal", "link"]
        c.heal()


def test_a_fault_is_told_after_it_is_in_force() -> None:
    """Fails if a broker that loses its turn between the two has answered before it obeys (I-NODES-2)."""
    env = LiveEnv(asyncio.new_event_loop())
    left: list[int | None] = []
    env.trace = lambda kind, **_: left.append(env.fs.budget.left)
    env.faults.apply({"fault": "disk", "budget": 7})
    env.loop.close()
    assert left == [7]


def test_answers_cut_off_do_not_undo_the_request(c: Cluster, name: str) -> None:
    """One way: the request arrives and counts, its answer is held. Fails if the directions are exchanged."""
    make_topic(c, name, assignments={0: [1, 2]})
    send(c.bootstrap, name, [Record(b"before")], acks="all")
    c.cut(1, "clients", one_way=True)
    before = c.trace.last("append", tp=f"{name}-0", b=1)
    with pytest.raises((confluent_kafka.KafkaException, AssertionError)):
        send(c.address(1), name, [Record(b"unanswered")], acks="all", **{
            "message.timeout.ms": 1500, "socket.timeout.ms": 1000, "retries": 0})
    c.heal()
    assert before is not None
    send(c.bootstrap, name, [Record(b"after")], acks="all")
    found = values(c, name, 2)
    assert found[0] == b"before" and found[1] in (b"unanswered", b"after")


def test_a_follower_cut_off_leaves_the_isr_and_returns(c: Cluster, name: str) -> None:
    """Both are alive and unfenced: only their link is cut. Fails if a cut link still replicates."""
    leader, follower = (b for b in c.ids if b != c.controller())
    make_topic(c, name, assignments={0: [leader, follower]}, configs={"min.insync.replicas": "1"})
    c.cut(leader, follower)
    send(c.address(leader), name, [Record(b"alone")], acks=1)
    c.wait(lambda: c.isr(name) == [leader], PATIENCE)
    assert sorted(wire.live_brokers(c.address(leader))) == [1, 2, 3]
    c.heal()
    c.wait(lambda: sorted(c.isr(name)) == sorted([leader, follower]), PATIENCE)


def test_a_leader_cut_off_from_all_brokers_acknowledges_nothing(c: Cluster, name: str) -> None:
    """The zombie leader (A14): acks=all times out, acks=1 is acknowledged and then lost when the link heals."""
    make_topic(c, name, assignments={0: [1, 2, 3]})
    send(c.bootstrap, name, [Record(b"kept")], acks="all")
    c.cut(1, 2)
    c.cut(1, 3)
    send(c.address(1), name, [Record(b"lost")], acks=1)
    assert values(c, name, 1) == [b"kept"]
    led_by = c.wait(lambda: _leader_seen_by(c, 2, name) not in (1, -1) and _leader_seen_by(c, 2, name), PATIENCE)
    send(c.address(led_by), name, [Record(b"new")], acks="all")
    c.heal()
    c.wait(lambda: sorted(c.isr(name)) == [1, 2, 3], PATIENCE)
    assert values(c, name, 2) == [b"kept", b"new"]
    assert c.trace.last("truncate", tp=f"{name}-0", b=1)["to"] == 1


def test_what_an_unclean_election_costs_is_counted(c: Cluster, name: str) -> None:
    """A replica outside the ISR leads, the former leader throws away what only it had; the trace has the number of records. Fails
    if the count is missing, or counts what both had or what the new leader wrote."""
    configs = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    make_topic(c, name, assignments={0: [1, 2]}, configs=configs)
    send(c.bootstrap, name, [Record(b"kept")] * 3, acks="all")
    c.hold_follower(2)
    send(c.bootstrap, name, [Record(b"?")], acks=1)  # the fetch that waits at the leader may still bring this one
    c.wait(lambda: c.isr(name) == [1], PATIENCE)
    send(c.bootstrap, name, [Record(b"lost")] * 5, acks="all")
    c.kill(1)
    c.wait(lambda: c.leader(name) == 2, PATIENCE)
    c.heal()
    survived = max(e["last"] for e in c.trace.events("append") if (e["tp"], e["b"]) == (f"{name}-0", 2)) + 1
    send(c.bootstrap, name, [Record(b"new")] * 2, acks="all")
    c.restart(1)
    c.wait(lambda: sorted(c.isr(name)) == [1, 2], PATIENCE)
    cuts = [e for e in c.trace.events("truncate") if (e["tp"], e["b"]) == (f"{name}-0", 1)]
    assert survived in (3, 4)
    assert [(e["to"], e["from"], e["records"]) for e in cuts] == [(survived, 9, 9 - survived)]
    assert values(c, name, survived + 2) == [b"kept"] * 3 + [b"?"] * (survived - 3) + [b"new"] * 2


def test_a_held_follower_stays_alive_but_falls_behind(c: Cluster, name: str) -> None:
    """Heartbeats go on, replication does not; also after a restart (I-FAULT-1). Fails if the broker is fenced."""
    make_topic(c, name, assignments={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    c.hold_follower(2)
    for _ in range(2):  # the fetch that waits at the leader when the hold begins may still bring something
        send(c.bootstrap, name, [Record(b"x")] * 5, acks=1)
    c.wait(lambda: c.isr(name) == [1], PATIENCE)
    assert sorted(wire.live_brokers(c.address(1))) == [1, 2, 3]
    c.kill(2)
    c.restart(2)
    restarted = c.trace.last("start", b=2)
    send(c.bootstrap, name, [Record(b"x")] * 5, acks=1)
    assert [e for e in c.trace.events("append") if e["tp"] == f"{name}-0" and e["i"] == restarted["i"]] == []
    assert c.isr(name) == [1]
    c.heal()
    c.wait(lambda: sorted(c.isr(name)) == [1, 2], PATIENCE)


def _took(c: Cluster) -> float:
    started = time.monotonic()
    assert wire.live_brokers(c.address(1), timeout=10)
    return time.monotonic() - started


def test_a_slow_link_delays_by_its_latency(c: Cluster) -> None:
    """At least the latency, in each direction. Fails if the delay is not applied, or outlives heal."""
    c.slow("clients", 1, latency=0.3)
    assert _took(c) >= 4 * 0.3  # two questions, there and back
    c.heal()
    assert any(_took(c) < 4 * 0.3 for _ in range(20)), "a busy machine is late, but not each time"


def test_a_jumped_clock_dates_records_and_fences_nobody(c: Cluster, name: str) -> None:
    """Log append time moves an hour; sessions do not expire. Fails if durations are taken from the wall clock."""
    make_topic(c, name, assignments={0: [1]}, configs={"message.timestamp.type": "LogAppendTime"})
    c.jump_clock(1, 3600)
    send(c.bootstrap, name, [Record(b"x")])
    c.jump_clock(1, -3600)
    (record,) = read(c.bootstrap, name, 1)
    assert record.timestamp is not None
    assert 3500 < record.timestamp / 1000 - time.time() < 3700
    assert sorted(wire.live_brokers(c.address(2))) == [1, 2, 3]


def test_a_full_disk_loses_nothing_that_was_acknowledged(c: Cluster, name: str) -> None:
    """The broker with the full disk ends, as Kafka's does; what was acknowledged is on the others."""
    make_topic(c, name, assignments={0: [1, 2, 3]})
    send(c.bootstrap, name, [Record(b"%d" % n) for n in range(10)], acks="all")
    c.fill_disk(1, free=100)
    sent = send(c.bootstrap, name, [Record(b"%d" % n) for n in range(10, 20)], acks="all", enable_idempotence=True)
    assert len(sent) == 10
    c.wait(lambda: 1 not in c.alive, PATIENCE)
    c.heal()
    c.restart(1)
    c.wait(lambda: sorted(c.isr(name)) == [1, 2, 3], PATIENCE)
    assert values(c, name, 20) == [b"%d" % n for n in range(20)]


def _leader_seen_by(c: Cluster, broker: int, topic: str) -> int:
    return wire.partitions(c.address(broker), [topic])[f"{topic}-0"].leader


def test_mend_does_what_is_left_to_do(c: Cluster) -> None:
    """Fails if faults after a first mend() are not undone, if a node that ended is not started although its death was told,
    or if something is done where there is nothing to undo."""
    def faults() -> list[str]:
        return [event["fault"] for event in c.trace.events("fault") if "args" in event]
    for _ in range(2):
        c.cut(1, 2)
        c.pause(3)
        c.mend()
        assert c.alive == [1, 2, 3] and answers(c, 3)
        assert faults()[-4:] == ["cut", "pause", "heal", "resume"]
        c.cut(1, 2)
        c.mend()
        assert faults()[-2:] == ["cut", "heal"]
    before = faults()
    c.mend()
    assert faults() == before
    os.kill(c.pid(3), signal.SIGKILL)
    with pytest.raises(BrokerDied):
        c.wait(c.mend, PATIENCE)
    c.mend()
    assert c.alive == [1, 2, 3] and faults()[len(before):] == ["heal", "restart"]
