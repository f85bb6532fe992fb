"""The moments that one may jump to."""
from __future__ import annotations

from minikafka.lab.picture.frame import Level, MomentKind
from tests.lab.picture.script import TP, Script
from tests.lab.picture.stories import recorded


def told(s: Script) -> list[tuple[str, str]]:
    return [(mark.kind.value, mark.text) for mark in s.run.marks if mark.t > 0.001]


def test_faults_and_what_follows() -> None:
    """Fails if a kill, the election after it or the change of the ISR is no mark, or is one twice."""
    s = Script(records=5).after(1.0).fault("kill", 1).after(3.0).decide(2, 1, [2, 3], 1).after(0.01)
    s.say("role", 2, tp=TP, role="leader", epoch=1, leader=2, isr=[2, 3], hw=5).isr([2, 3], 1, 1, 2)
    assert told(s) == [("fault", "broker 1 killed"), ("election", "broker 2 leads flights-0, epoch 1"),
                       ("isr", "broker 1 out of the ISR of flights-0")]


def test_many_partitions_at_once_are_one_mark() -> None:
    """Fails if a kill floods the timeline."""
    s = Script(records=5)
    for n in range(1, 9):
        s.say("partition", 1, tp=f"flights-{n}", leader=1, epoch=0, isr=[1, 2], replicas=[1, 2], partition_epoch=0)
    s.after(1.0)
    for n in range(1, 9):
        s.say("partition", 1, tp=f"flights-{n}", leader=2, epoch=1, isr=[2], replicas=[1, 2], partition_epoch=1)
    assert told(s) == [("election", "broker 2 leads 8 partitions"), ("isr", "broker 1 out of the ISR of 8 partitions")]


def test_a_high_watermark_that_stands() -> None:
    """Fails if a stall is marked when somebody looks, not when it began, or a short one is marked at all (I-JUMP-1)."""
    s = Script(records=47).after(2.0).append(1, 47, 51).after(0.4).say("hw", 1, tp=TP, hw=51)
    assert told(s) == []
    s.after(1.0).append(1, 51, 55)
    began = s.t
    s.after(5.0).say("behind", 1, tp=TP, epoch=0, follower=3, behind=5.0, check_in=1.0, every=5.0)
    stall = next(mark for mark in s.run.marks if mark.kind is MomentKind.STALL)
    assert (stall.text, stall.level) == ("high watermark of flights-0 stands at 51", Level.WAIT)
    assert abs(stall.t - (began - s.run.events[0]["t"])) < 1e-6
    assert sum(mark.kind is MomentKind.STALL for mark in s.run.marks) == 1


def test_losses_rebalances_controllers() -> None:
    """Fails if a loss of acknowledged records, a rebalance or a new controller is no mark."""
    s = Script(records=70).append(1, 70, 100).say("hw", 1, tp=TP, hw=100).produce(range(100)).after(1.0)
    s.decide(2, 1, [1, 2, 3], 1).lead(2, 1).after(1.0)
    s.say("group", 1, group="g", state="PreparingRebalance", generation=1, members=[]).after(1.0)
    s.say("group", 1, group="h", state="Reconciling", generation=1, members=["a"]).after(1.0)
    s.say("raft", 3, role="leader", epoch=2, leader=3)
    assert told(s) == [("election", "broker 2 leads flights-0, epoch 1"), ("loss", "30 acknowledged records of flights-0 lost"),
                       ("rebalance", "group g rebalances"), ("rebalance", "group h moves partitions"),
                       ("election", "broker 3 is the active controller, epoch 2")]


def test_an_election_of_a_controller_step_by_step() -> None:
    """Fails if a candidacy, a vote or its end is no mark, if two steps are one, or if a candidate's vote for itself is a step."""
    s = Script(records=5).after(1.0).fault("kill", 1).after(2.0)
    s.say("raft", 2, role="prospective", epoch=1, leader=1)
    s.say("vote", 2, epoch=2, candidate=2).say("raft", 2, role="candidate", epoch=2, leader=-1)
    s.say("vote", 3, epoch=2, candidate=2).say("raft", 3, role="unattached", epoch=2, leader=-1)
    s.say("raft", 2, role="leader", epoch=2, leader=2).say("raft", 3, role="follower", epoch=2, leader=2)
    assert told(s) == [("fault", "broker 1 killed"), ("election", "controller 2 is a candidate, epoch 2"),
                       ("election", "controller 3 votes for 2, epoch 2"),
                       ("election", "broker 2 is the active controller, epoch 2")]
    steps = [s.run.at(mark.t) for mark in s.run.marks if mark.kind is MomentKind.ELECTION and mark.t > 0.001]
    assert [[each.vote for each in frame.quorum.each] for frame in steps] == [[None, 2, None], [None, 2, 2], [None, 2, 2]]
    assert [frame.quorum.active for frame in steps] == [None, None, 2]
    assert [frame.sentence.text.partition("elect one. ")[2] for frame in steps] == [
        *(f"Broker 2 is a candidate in epoch 2 and has {votes}; it needs 2." for votes in ("1 vote", "2 votes")), ""]


def test_the_first_election_and_nodes_that_only_vote() -> None:
    """Fails if each run begins with the marks of an election, or if a controller that serves no clients is called a broker."""
    s = Script()
    s.events = []
    for n in (101, 102, 103):
        s.say("start", n, roles=["controller"], voters=[101, 102, 103])
    s.say("start", 1, roles=["broker"], voters=[101, 102, 103]).after(1.0)
    s.say("vote", 102, epoch=1, candidate=102).say("raft", 102, role="candidate", epoch=1, leader=-1)
    s.say("vote", 103, epoch=1, candidate=102).say("raft", 102, role="leader", epoch=1, leader=102)
    s.after(1.0).fault("kill", 102).after(1.0).fault("cut", 1, 103)
    assert told(s) == [("election", "controller 102 is the active controller, epoch 1"), ("fault", "controller 102 killed"),
                       ("fault", "broker 1 and controller 103: cut")]


def test_the_death_of_a_consumer() -> None:
    """Fails if what becomes of a member's process is no mark, or if its start is one."""
    s = Script(records=5).after(1.0)
    for state in ("running", "paused", "resumed", "killed"):
        s.say("member", client="C1", group="jobs", state=state, session=6.0).after(1.0)
    assert told(s) == [("fault", "consumer C1 paused"), ("fault", "consumer C1 goes on"), ("fault", "consumer C1 killed")]


def test_without_a_leader() -> None:
    """Fails if the end of a leadership without a successor is not marked as bad."""
    s = Script(records=5).after(1.0).decide(-1, 1, [1], 1)
    assert [(m.kind, m.text, m.level) for m in s.run.marks if m.kind is MomentKind.ELECTION and "flights" in m.text] == [
        (MomentKind.ELECTION, "flights-0 without a leader", Level.BAD)]


def test_the_disaster_in_marks() -> None:
    """Fails if the story of a real run cannot be read from its marks in order."""
    texts = [mark.text for mark in recorded("unclean").marks]
    story = ["stands at 70", "out of the ISR", "killed", "leads flights-0", "30 acknowledged records of flights-0 lost",
             "all faults healed", "starts again"]
    places = [next(n for n, text in enumerate(texts) if part in text) for part in story]
    assert places == sorted(places), texts
