"""What each event does to the picture: processes and links, roles, logs, groups; and traces that tell less."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import minikafka
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.facts.fold import HANDLERS
from minikafka.lab.picture.frame import Frame, Lane, Level
from tests.lab.picture.script import TP, Script
from tests.lab.picture.stories import cluster


def processes(frame: Frame) -> list[str]:
    return [broker.process for broker in frame.brokers]


def lane(s: Script, broker: int) -> Lane:
    chosen = s.frame().chosen
    assert chosen is not None
    return next(lane for lane in chosen.lanes if lane.broker == broker)


@pytest.mark.parametrize(("fault", "args", "shown"), [
    ("kill", [2], "killed"), ("pause", [2], "paused"), ("hold_follower", [2, True, 0.0], "held"),
    ("slow_follower", [2, False, 4096.0], "slow"), ("slow", [2, 3, 0.1, 0.0], "slow"), ("stop", [2], "running")])
def test_a_fault_shows_on_its_broker(fault: str, args: list[Any], shown: str) -> None:
    """Fails if a fault is not shown, or on another broker; `stop` is over only when the broker says so."""
    s = Script(records=5).fault(fault, *args).after(1.0)
    assert processes(s.frame())[1] == shown and processes(s.frame())[0] == "running"
    if fault == "stop":
        assert processes(s.say("stop", 2).frame())[1] == "stopped"


def test_a_process_comes_back() -> None:
    """Fails if a broker that was killed and started again stays dead, or serves before it is let in."""
    s = Script(records=5).fault("kill", 2).after(1.0).fault("restart", 2)
    assert processes(s.frame())[1] == "starting"
    s.say("start", 2, roles=["broker", "controller"])
    assert processes(s.frame())[1] == "starting"
    assert processes(s.say("broker", 2, id=2, state="unfenced").frame())[1] == "running"
    paused = Script(records=5).fault("pause", 2).fault("resume", 2)
    assert processes(paused.frame())[1] == "running"


def test_the_start_may_be_recorded_before_the_restart() -> None:
    """Fails if the cluster's word, which comes after the broker's own, sets a running broker back."""
    s = Script(records=5).fault("kill", 2).say("start", 2, roles=["broker"]).say("broker", 2, id=2, state="unfenced")
    assert processes(s.fault("restart", 2).frame())[1] == "running"


def test_an_unexpected_death() -> None:
    """Fails if a broker that died by itself is shown alive: `crash` is its own last word, `exit` the cluster's."""
    assert processes(Script(records=5).say("crash", 2, error="ENOSPC").frame())[1] == "killed"
    assert processes(Script(records=5).say("exit", broker=2, how="signal 9").frame())[1] == "killed"


def test_cuts_have_a_direction() -> None:
    """Fails if a one-way cut is drawn both ways, clients are not 0, or `heal` leaves something."""
    s = Script(records=5).fault("cut", 1, 2, True).fault("cut", "clients", 3, False)
    assert [lane(s, b).cut_from for b in (1, 2, 3)] == [(), (1,), (0,)]
    s.fault("cut", "a client's machine", 3).fault("cut", 1, 3)
    assert lane(s, 3).cut_from == (0, 1), "a machine that is no broker has no number"
    s.fault("hold_follower", 3, True, 0.0).fault("heal")
    assert [lane(s, b).cut_from for b in (1, 2, 3)] == [(), (), ()] and processes(s.frame())[2] == "running"


def test_a_dead_broker_believes_nothing_and_keeps_its_log() -> None:
    """Fails if a kill takes the log from the picture, or leaves a dead leader acting as one (I-STATE-2)."""
    s = Script(records=30).fault("kill", 1).after(0.5)
    dead = lane(s, 1)
    assert (dead.end, dead.believes_leader, dead.epoch, dead.role) == (30, False, None, "leader")
    assert lane(s, 2).behind_for is None, "nobody judges the followers now"


def test_a_new_disk_is_empty() -> None:
    """Fails if what was on a wiped disk is still drawn as there, or leaves no ghost."""
    s = Script(records=30).produce(range(30)).fault("kill", 3).fault("wipe", 3)
    wiped = lane(s, 3)
    assert (wiped.start, wiped.end, wiped.cells) == (0, 0, ())
    assert [(g.start, g.end, g.acked) for g in wiped.ghosts] == [(0, 30, 30)]


def test_an_older_word_changes_nothing() -> None:
    """Fails if a late broker's view of an earlier epoch moves the crown back (I-PARTITION-1)."""
    s = Script(records=5).decide(2, 3, [2, 3], 5).say("role", 2, tp=TP, role="leader", epoch=3, leader=2, isr=[2, 3], hw=5)
    s.say("role", 3, tp=TP, role="follower", epoch=1, leader=1, isr=[]).isr([1, 2, 3], 1, 2)
    chosen = s.frame().chosen
    assert chosen is not None and (chosen.leader, chosen.epoch, chosen.isr) == (2, 3, (2, 3))


def test_logs_in_epochs() -> None:
    """Fails if records of two epochs are drawn as one, or by the wrong leader."""
    s = Script(records=28).decide(2, 4, [1, 2, 3], 1).lead(2, 4, version=2)
    for b in (1, 2, 3):
        s.append(b, 28, 30, 4)
    chosen = s.frame().chosen
    assert chosen is not None
    assert [(e.epoch, e.start, e.end, e.leader) for e in chosen.epochs] == [(0, 0, 28, 1), (4, 28, 30, 2)]
    assert [cell.epoch for cell in chosen.lanes[0].cells[-3:]] == [0, 4, 4]


def test_long_logs_are_open_at_the_high_watermark() -> None:
    """Fails if a fold hides where readable ends."""
    s = Script(records=100).append(1, 100, 1000)
    first, last = lane(s, 1).folded
    assert (first.start, last.end) == (0, 1000 - len(lane(s, 1).cells) + last.start - first.end)
    assert first.end <= 98 and last.start >= 101 and lane(s, 2).folded == (first,)
    assert [cell.offset for cell in lane(s, 2).cells] == [*range(first.end, 100)]


def test_a_recovered_log() -> None:
    """Fails if records that a crash took are not ghosts, or a log that was there before the trace is drawn from 0."""
    s = Script(records=30).fault("kill", 3).say("start", 3, roles=["broker"])
    s.say("recover", 3, tp=TP, start=0, leo=25, epochs=[[0, 0]], truncated_bytes=9)
    assert (lane(s, 3).end, [(g.start, g.end) for g in lane(s, 3).ghosts]) == (25, [(25, 30)])
    other = Script().say("recover", 3, tp=TP, start=10, leo=40, epochs=[[2, 10], [3, 30]], truncated_bytes=0)
    assert (lane(other, 3).start, lane(other, 3).end) == (10, 40)
    assert {cell.offset: cell.epoch for cell in lane(other, 3).cells}[30] == 3


def test_the_dead_stay_in_the_picture_of_their_group() -> None:
    """Fails if a killed member vanishes with the group's next generation, if one that left politely stays, or if a new process of
    the name goes on from the position of the dead one."""
    s = Script(records=20)
    for name in ("C1", "C2"):
        s.say("member", client=name, group="jobs", state="running", session=6.0)
    s.say("position", client="C1", group="jobs", tp=TP, first=0, position=12)
    s.say("position", client="C2", group="jobs", tp=TP, first=0, position=7)
    s.say("member", client="C1", group="jobs", state="killed", session=6.0).say("member", client="C2", group="jobs", state="left")
    assert [finger.who for finger in s.frame().chosen.fingers] == ["C1"]                # type: ignore[union-attr]
    s.say("group", 1, group="jobs", state="Empty", generation=3, members=[], assignment={})
    group = s.frame().groups[0]
    assert [(each.name, each.process) for each in group.processes] == [("C1", "killed")] and group.members == ()
    assert "C1 (killed)" in to_text(s.frame())
    s.say("member", client="C1", group="jobs", state="running", session=6.0)
    assert [each.process for each in s.frame().groups[0].processes] == ["running"] and s.frame().chosen.fingers == ()  # type: ignore[union-attr]
    s.say("member", client="C1", group="jobs", state="killed")
    s.say("position", client="C1", group="jobs", tp=TP, first=0, position=3)
    assert [each.process for each in s.frame().groups[0].processes] == ["running"], "one of the same name reads again"


def test_groups_know_who_reads_what() -> None:
    """Fails if an assignment is not shown by the client's name, or a partition without a commit shows 0."""
    s = Script(records=20).say("group", 1, group="billing", state="Stable", generation=2, members=["a-1", "b-1"],
                               names={"a-1": "A", "b-1": "B"}, assignment={"a-1": [TP], "b-1": []})
    s.say("position", client="A", group="billing", tp=TP, first=0, position=12)
    group = s.frame().groups[0]
    assert (group.members, group.generation, group.state) == (("A", "B"), 2, "Stable")
    assert [(p.member, p.position, p.committed, p.lag) for p in group.progress] == [("A", 12, None, None)]
    s.say("commit", 2, group="billing", tp=TP, offset=7)
    assert [(p.committed, p.lag) for p in s.frame().groups[0].progress] == [(7, 13)]
    s.say("assigned", client="A", group="billing", partitions=[])
    assert s.frame().groups[0].progress[0].position is None and s.frame().chosen.fingers[0].kind == "committed"  # type: ignore[union-attr]


def test_a_group_without_members_names_nobody() -> None:
    """Fails if a consumer that was killed is still shown as the reader once its group has counted it out."""
    s = Script(records=20).say("position", client="A", group="billing", member="a-1", tp=TP, first=0, position=12)
    s.say("commit", 2, group="billing", tp=TP, offset=7)
    s.say("group", 1, group="billing", state="Stable", generation=1, members=["a-1"], names={"a-1": "A"},
          assignment={"a-1": [TP]})
    assert f"{TP} by A: position 12, committed 7" in to_text(s.frame())
    s.say("group", 1, group="billing", state="Empty", generation=2, members=[])
    assert f"{TP} by nobody: position ?, committed 7" in to_text(s.frame())


def test_what_a_voter_said_last() -> None:
    """Fails if a role outlives its process, if a vote does not (it is on the disk), if a new disk keeps one, if a vote of an
    older epoch is shown, or if a controller that serves no clients starts for ever."""
    s = Script()
    each = lambda: [(v.id, v.role, v.epoch, v.vote) for v in s.frame().quorum.each]  # noqa: E731
    assert each() == [(1, "leader", 1, None), (2, "follower", 1, None), (3, "follower", 1, None)]
    assert "no vote" not in to_text(s.frame())         # this trace tells of no votes
    s.say("vote", 2, epoch=2, candidate=2).say("raft", 2, role="candidate", epoch=2, leader=-1)
    assert each() == [(1, "leader", 1, None), (2, "candidate", 2, 2), (3, "follower", 1, None)]
    said = to_text(s.frame())
    assert "1: leads epoch 1, no vote" in said and "2: candidate, voted for 2" in said and s.frame().quorum.epoch == 2
    s.fault("kill", 2)
    assert each()[1] == (2, None, None, 2) and "2: killed, voted for 2" in to_text(s.frame())
    s.fault("wipe", 2)
    assert each()[1] == (2, None, None, None)
    s.say("vote", 1, epoch=2, candidate=2).say("vote", 3, epoch=3, candidate=3)
    assert [vote for *_, vote in each()] == [None, None, 3]
    s.say("start", 104, roles=["controller"], voters=[1, 2, 3, 104])
    assert s.frame().quorum.each[-1].process == "starting"
    s.say("raft", 104, role="follower", epoch=3, leader=3)
    assert s.frame().quorum.each[-1].process == "running"


NOT_DRAWN = {"compact", "lag", "transaction"}          # a cleaned log, a busy machine, what a coordinator decides


def test_every_event_of_a_broker_is_understood() -> None:
    """Fails if a broker tells of something that the picture passes over without saying so here."""
    sources = "".join(path.read_text() for path in (Path(minikafka.__file__).parent / "broker").rglob("*.py"))
    kinds = set(re.findall(r"""\btrace\(["'](\w+)["']""", sources))
    assert len(kinds) > 15 and kinds - set(HANDLERS) == NOT_DRAWN


def test_polled_brokers_tell_less() -> None:
    """Fails if what polling cannot see (ends, stopwatches, beliefs) is drawn as 0 or as false, or raises (I-PICTURE-2)."""
    s = Script()
    s.events = []
    for b in (1, 2, 3):
        s.say("broker", b, id=b, state="unfenced", polled=True)
        s.say("role", b, tp=TP, role="leader" if b == 2 else "follower", epoch=4, leader=2, isr=[2, 3], polled=True)
    s.say("raft", 3, role="leader", epoch=7, leader=3, polled=True)
    s.say("isr", 2, tp=TP, isr=[2, 3], leader_epoch=4, polled=True).say("hw", 2, tp=TP, hw=51, polled=True).after(1.0)
    frame = s.frame()
    assert frame.chosen is not None
    assert (frame.chosen.leader, frame.chosen.isr, frame.chosen.high_watermark) == (2, (2, 3), 51)
    assert (frame.chosen.min_isr, frame.chosen.log_end, frame.chosen.log_start) == (None, None, None)
    assert [(a.broker, a.end, a.behind_for, a.lag_limit, a.in_sync, a.cells) for a in frame.chosen.lanes] == [
        (2, None, None, None, True, ()), (3, None, None, None, True, ()), (1, None, None, None, False, ())]
    assert (frame.quorum.active, frame.quorum.voters, frame.quorum.log_end) == (3, None, None)
    s.say("sent", client="p", topic="flights", partition=0, record=1).say("acked", client="p", tp=TP, offset=50, record=1)
    ledger = s.frame().ledger
    assert (ledger.acknowledged, ledger.readable, ledger.lost) == (1, 1, None)
    assert frame.ledger.lost is None and frame.sentence.level in (Level.GOOD, Level.WAIT)
    s.say("broker", 2, id=2, state="fenced", polled=True)
    s.say("role", 3, tp=TP, role="leader", epoch=5, leader=3, isr=[3], polled=True)
    assert s.frame().chosen.leader == 3                                                 # type: ignore[union-attr]


def test_simulated_faults_name_their_author() -> None:
    """Fails if the fault of a link overwrites `b`, as "cut from a to b" once did (I-CONDITION-1), or if a broker that cannot
    hear another one bears no mark of it."""
    with cluster(3) as (c, run):
        c.cut(1, 2)
        c.slow(2, 3, latency=0.1)
        c.cut(3, "clients", one_way=True)
        faults = [event for event in c.trace.events("fault") if "ends" in event]
        assert [event["b"] for event in faults] == [0, 0, 0]
        run.refresh()
        frame = run.at(None, "flights-0")
        assert {lane.broker: lane.cut_from for lane in frame.chosen.lanes} == {1: (2,), 2: (1,), 3: ()}
        assert [broker.process for broker in frame.brokers] == ["cut", "cut", "slow"]


def test_the_metadata_log_is_a_lane_like_any_other() -> None:
    """Fails if the quorum's own log, its roles or its voters are not told."""
    with cluster(3) as (c, run):
        c.kill(next(n for n in c.ids if n != c.controller()))
        c.admin().create_topic("more", 1, 2)
        c.sleep(1.0)
        run.refresh()
        frame = run.at(None, "__cluster_metadata-0")
        active = c.world.broker(c.controller()).quorum
        assert frame.chosen is not None and frame.chosen.leader == c.controller() == frame.quorum.active
        assert frame.quorum.voters == (1, 2, 3) and set(frame.quorum.alive) == set(c.alive)
        own = {n: c.world.broker(n).quorum.raft.state for n in c.alive}
        assert {v.id: (v.role, v.epoch) for v in frame.quorum.each if v.id in own} == {
            n: (state.role_name, state.epoch) for n, state in own.items()}
        votes = {v.id: v.vote for v in frame.quorum.each if v.id in own}
        assert votes == {n: state.election_state.voted if state.election_state.voted >= 0 else None for n, state in own.items()}
        assert (frame.chosen.log_end, frame.chosen.high_watermark) == (active.log.end_offset, active.applied)
        for lane in frame.chosen.lanes:
            broker = c.world.broker(lane.broker)
            assert broker is None or lane.end == broker.quorum.log.end_offset


def test_members_of_one_name_are_distinguished() -> None:
    """Fails if two consumers that call themselves "kafka-python" are one in the picture, or a watched one loses its name."""
    s = Script(records=20).say("group", 1, group="g", state="Stable", generation=1, members=["k-aaaa", "k-bbbb", "k-cccc"],
                               names=dict.fromkeys(["k-aaaa", "k-bbbb", "k-cccc"], "k"), assignment={"k-aaaa": [TP]})
    s.say("position", client="desk", group="g", member="k-bbbb", tp="flights-9", first=0, position=1)
    assert s.frame().groups[0].members == ("k-aaaa", "desk", "k-cccc")
    assert s.frame().groups[0].progress[0].member == "k-aaaa"


def test_an_open_transaction() -> None:
    """Fails if the last stable offset is not shown while a transaction is open, or stays after it."""
    s = Script(records=20).say("hw", 1, tp=TP, hw=20, lso=12)
    assert s.frame().chosen.last_stable == 12                                           # type: ignore[union-attr]
    assert s.say("hw", 1, tp=TP, hw=21).frame().chosen.last_stable is None              # type: ignore[union-attr]


def test_a_leader_of_the_past_judges_nobody() -> None:
    """Fails if what a cut-off leader tells of its followers, after another was elected, is taken for the present's word."""
    s = Script(records=5).decide(2, 1, [2, 3], 1).lead(2, 1, version=2).append(1, 5, 6)
    s.say("behind", 1, tp=TP, epoch=0, follower=3, behind=4.0, check_in=1.0, every=5.0).after(1.0)
    assert lane(s, 3).behind_for == 0.0
    s.say("behind", 2, tp=TP, epoch=1, follower=3, behind=4.0, check_in=1.0, every=5.0)
    assert round(lane(s, 3).behind_for or 0.0, 3) == 4.0


def test_a_broker_serves_from_its_own_event_on() -> None:
    """Fails if the controller's word, or another word of its own, makes a starting broker a running one."""
    s = Script(records=5).fault("kill", 2).say("start", 2, roles=["broker"])
    s.say("broker", 1, id=2, state="unfenced").say("broker", 2, id=2, state="registered")
    assert processes(s.frame())[1] == "starting"


def test_behind_since_the_first_record_that_is_missing() -> None:
    """I-PARTITION-2, where the leader tells no figure. Fails if the clock starts at another record than the first that the
    follower lacks, or at what a leader of the past has written."""
    s = Script(records=5).after(1.0).append(1, 5, 6).append(2, 5, 6).after(1.0).append(1, 6, 7).after(1.0)
    assert [round(lane(s, b).behind_for or 0.0, 3) for b in (2, 3)] == [1.0, 2.0]
    s = Script(records=5).decide(2, 1, [1, 2, 3], 1)
    s.say("role", 2, tp=TP, role="leader", epoch=1, leader=2, isr=[1, 2, 3], hw=5).append(2, 5, 6, 1).after(1.0)
    s.append(1, 5, 6).after(1.0)
    assert round(lane(s, 3).behind_for or 0.0, 3) == 2.0


def test_how_a_partition_stands() -> None:
    """Fails if the colour in the strip is not that of the worst that is known of it."""
    def level(s: Script) -> Level:
        return s.frame().rows[0].level
    assert level(Script(records=5)) is Level.GOOD
    assert level(Script(records=5).isr([1, 2])) is Level.WAIT
    assert level(Script(min_isr=2, records=5).isr([1])) is Level.BAD
    assert level(Script(records=5).decide(-1, 1, [1])) is Level.BAD
    assert level(Script(records=5).fault("pause", 1)) is Level.BAD
    assert [level(Script(records=5).append(1, 5, 6).after(t)) for t in (0.4, 0.6)] == [Level.GOOD, Level.WAIT]
    assert level(Script(records=5).append(1, 5, 6).after(9.0).say("hw", 1, tp=TP, hw=6)) is Level.GOOD


def test_the_strip_shows_the_group_that_is_furthest_behind() -> None:
    """Fails if the lag in the strip is another group's, or 0 where nobody committed."""
    s = Script(records=20)
    assert s.frame().rows[0].lag is None
    s.say("commit", 2, group="billing", tp=TP, offset=7).say("commit", 2, group="audit", tp=TP, offset=12)
    assert s.frame().rows[0].lag == 13


def test_a_rebalance_lasts_from_its_first_step() -> None:
    """Fails if the second step of a rebalance starts the clock anew, or the end does not stop it."""
    def group(state: str) -> dict[str, Any]:
        return {"group": "billing", "state": state, "generation": 2, "members": ["a"]}
    s = Script(records=5).say("group", 1, **group("PreparingRebalance")).after(0.8)
    s.say("group", 1, **group("CompletingRebalance")).after(0.5)
    assert s.sentence().startswith("Group billing is rebalancing for 1.3 s")
    assert "rebalancing" not in s.say("group", 1, **group("Stable")).sentence()


def test_which_partitions_are_in_the_strip() -> None:
    """Fails if a topic without records is left out, or an internal one is shown before it holds something."""
    s = Script(records=5)
    for name in ("empty-0", "__consumer_offsets-0"):
        s.say("role", 1, tp=name, role="leader", epoch=0, leader=1).say("recover", 1, tp=name, leo=0, start=0, epochs=[])
    assert [row.name for row in s.frame().rows] == ["empty-0", "flights-0"]
    s.say("append", 1, tp="__consumer_offsets-0", base=0, last=0, epoch=0, count=1, bytes=1)
    assert [row.name for row in s.frame().rows] == ["empty-0", "flights-0", "__consumer_offsets-0"]
