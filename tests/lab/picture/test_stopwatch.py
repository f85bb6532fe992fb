"""The stopwatch on a follower is the leader's own: what it will be judged by, not what somebody guessed."""
from __future__ import annotations

from typing import Any

import pytest

from minikafka.broker.replication.shell.partition import QUIET_S
from tests.lab.picture.stories import cluster, send


def figures(c: Any, run: Any, follower: int) -> tuple[float, float]:
    """(what the picture shows, what the leader would judge by now), in seconds."""
    run.refresh()
    lane = next(lane for lane in run.at(None, "flights-0").chosen.lanes if lane.broker == follower)
    leader = c.leader("flights", 0)
    own = c.world.broker(leader).replicas.get("flights", 0)
    known = own.replica.followers[follower]
    late = c.world.hosts[leader].env.now() - known.last_caught_up_time
    return lane.behind_for, 0.0 if known.log_end_offset == own.log.end_offset else late


@pytest.mark.parametrize("how", ["hold", "slow"])
def test_the_picture_shows_the_leaders_figure(how: str) -> None:
    """Fails if the leader tells a late follower's time late, seldom or not at all: more than 10 ms off once it is late."""
    with cluster(5) as (c, run):
        producer = c.watch(c.producer(acks=1), "pilot")
        leader = c.leader("flights", 0)
        follower = next(b for b in c.ids if b != leader)
        send(c, producer, 5)
        c.sleep(1.0)
        c.hold_follower(follower) if how == "hold" else c.slow_follower(follower, 0.25)
        late = 0
        for _ in range(80):
            send(c, producer, 1)
            c.sleep(0.1)
            shown, true = figures(c, run, follower)
            if true > QUIET_S + 0.15 and shown is not None:
                late += 1
                assert abs(shown - true) < 0.01, (c.now(), shown, true)
            else:
                assert shown is None or shown <= true + QUIET_S + 0.11, (shown, true)
        assert late > 20, "the follower was late for most of the time"
        c.heal()
        c.wait(lambda: figures(c, run, follower) == (0.0, 0.0), timeout=60)


def test_the_next_check_is_when_the_leader_checks() -> None:
    """Fails if the ISR shrinks at another moment than the picture announced."""
    with cluster(5) as (c, run):
        producer = c.watch(c.producer(acks=1), "pilot")
        leader = c.leader("flights", 0)
        follower = next(b for b in c.ids if b != leader)
        c.hold_follower(follower)
        announced: list[float] = []
        while follower in c.isr("flights", 0):
            send(c, producer, 1)
            c.sleep(0.1)
            run.refresh()
            lane = next(lane for lane in run.at(None, "flights-0").chosen.lanes if lane.broker == follower)
            if lane.in_sync and lane.behind_for > lane.lag_limit:
                announced.append(c.now() + lane.next_check)
        shrink = next(mark.t for mark in run.marks if mark.kind == "isr" and "out of" in mark.text)
        assert announced == pytest.approx([announced[0]] * len(announced), abs=1e-3)
        assert abs(shrink - announced[0]) < 0.1, "and a moment for the controller"


def test_followers_that_keep_up_have_no_entry() -> None:
    """Fails if the leader tells of every fetch: the trace of a healthy, busy partition would be mostly that."""
    with cluster(5) as (c, run):
        producer = c.watch(c.producer(), "pilot")
        for _ in range(200):
            send(c, producer, 3)
            c.sleep(0.02)
        assert c.trace.events("behind") == []
        follower = next(b for b in c.ids if b != c.leader("flights", 0))
        c.hold_follower(follower)
        for _ in range(200):
            send(c, producer, 3)
            c.sleep(0.02)
        told = [event for event in c.trace.events("behind") if event["tp"] == "flights-0"]
        assert len(told) == 1, "one figure that does not change is told once"
        c.heal()
        c.sleep(1.0)
        told = [event for event in c.trace.events("behind") if event["tp"] == "flights-0"]
        assert told[-1]["behind"] is None


def test_who_is_gone_has_no_stopwatch() -> None:
    """Fails if a killed leader is shown as caught up, in green, under the broker that leads in its place."""
    with cluster(5) as (c, run):
        send(c, c.watch(c.producer(), "pilot"), 5)
        c.sleep(1.0)
        killed = c.leader("flights", 0)
        c.kill(killed)
        c.wait(lambda: c.leader("flights", 0) not in (killed, None, -1), timeout=60)
        run.refresh()
        lanes = {lane.broker: lane for lane in run.at(None, "flights-0").chosen.lanes}
        assert not lanes[killed].in_sync and lanes[killed].behind_for is None
        assert all(lane.behind_for == 0.0 for b, lane in lanes.items() if b not in (killed, c.leader("flights", 0)))
