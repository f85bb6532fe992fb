"""One sentence for each state of affairs, with its numbers; a rule that lacks a fact is silent."""
from __future__ import annotations

from minikafka.lab.picture.frame import Level
from tests.lab.picture.script import TP, Script


def test_a_follower_that_holds_up_the_high_watermark() -> None:
    """Fails if the sketch's own sentence comes out differently: who, how long of how long, which records wait."""
    s = Script(records=47).append(1, 47, 51).append(2, 47, 51)
    s.after(0.7).say("behind", 1, tp=TP, epoch=0, follower=3, behind=0.7, check_in=4.0, every=5.0).after(6.5)
    said = s.frame().sentence
    assert said.text == ("Broker 3 has not caught up for 7.2 s; the limit is 10 s. Until it catches up or leaves the ISR, "
                         "the high watermark waits at 47: 47-50 are written, not readable.")
    assert said.level is Level.WAIT
    lane = s.frame().chosen.lanes[2]                                                    # type: ignore[union-attr]
    assert (round(lane.behind_for, 3), lane.lag_limit, round(lane.next_check, 3)) == (7.2, 10.0, 2.5)  # type: ignore[arg-type]


def test_a_follower_past_the_limit_waits_for_the_next_look() -> None:
    """Fails if the picture promises that a follower leaves at 10 s, when the leader looks only twice in that time."""
    s = Script(records=47).append(1, 47, 48).append(2, 47, 48)
    s.say("behind", 1, tp=TP, epoch=0, follower=3, behind=0.6, check_in=4.0, every=5.0).after(10.4)
    assert "The leader drops it from the ISR at its next look, in 3.6 s; until then" in s.sentence()
    assert "47 is written, not readable" in s.sentence()


def test_a_follower_that_should_be_out_is_in() -> None:
    """Fails if brokers that keep their ISR by another rule are said to drop a follower at once."""
    s = Script(records=47).append(1, 47, 48).append(2, 47, 48)
    s.say("behind", 1, tp=TP, epoch=0, follower=3, behind=0.6, check_in=4.0, every=5.0).after(37.5)
    assert "the limit is 10 s. It is still in the ISR, so that the high watermark waits at 47" in s.sentence()


def test_two_followers_are_named_together() -> None:
    """Fails if a sentence about two brokers speaks of one."""
    s = Script(records=5).append(1, 5, 6).after(2.0)
    assert s.sentence().startswith("Brokers 2 and 3 have not caught up for 2.0 s; the limit is 10 s. "
                                 "Until they catch up or leave the ISR")


def test_a_follower_on_its_way_is_not_worth_a_word() -> None:
    """Fails if every fetch's delay is called late."""
    assert Script(records=5).append(1, 5, 6).after(0.2).frame().sentence.level is Level.GOOD


def test_a_high_watermark_that_stands_is_not_on_its_way() -> None:
    """Fails if a log of which nothing becomes readable for long is said to work, where no follower is behind."""
    s = Script(records=5).append(1, 5, 6).append(2, 5, 6).append(3, 5, 6).after(2.0)
    assert "is at 5 on its way to 6" in s.sentence()
    assert s.after(10.0).sentence() == f"The high watermark of {TP} has stood at 5 for 12 s; the log ends at 6."


def test_no_quorum() -> None:
    """Fails if lost controllers are not the first thing said."""
    s = Script(records=5).fault("kill", 1).fault("kill", 2).after(1.0)
    said = s.frame().sentence
    assert said.level is Level.BAD
    assert said.text == ("No quorum: 2 of 3 controllers are out (1 and 2). No leader can be elected and no ISR changed until "
                         "2 run.")


def test_no_controller() -> None:
    """Fails if an election of a controller goes unmentioned, the dead elect, or a paused controller counts as one that
    works."""
    assert Script().fault("kill", 1).after(0.4).sentence() == "No active controller for 0.4 s: 2 of 3 voters run, and elect one."
    assert "The active controller, broker 1, has been paused for 0.4 s" in Script().fault("pause", 1).after(0.4).sentence()


def test_no_leader_names_the_brokers_that_are_out_and_why_no_other_may_lead() -> None:
    """Fails if the reason for waiting, a clean election only, is left out."""
    s = Script(records=70).lead(2, 1).decide(2, 1, [2], 1).append(2, 70, 100, 1).say("hw", 2, tp=TP, hw=100)
    s.isr([2], 1, 2, 2).fault("kill", 2).after(4.0).decide(-1, 2, [2], 3)
    said = s.frame().sentence
    assert said.level is Level.BAD
    assert said.text == (
        "flights-0 has no leader: nothing can be written or read. In sync was only broker 2, and it is out. Brokers 1 and 3 "
        "run and lack up to 30 records, but must not lead: unclean.leader.election.enable is false.")


def test_an_eligible_broker_that_runs_is_not_called_out() -> None:
    """Fails if a partition without a leader counts a living member of the ELR among those that are out."""
    s = Script(records=5).lead(2, 1).isr([2], 1, 2, 2).fault("kill", 2).after(4.0).decide(-1, 2, [], 3, elr=[2, 3])
    assert "In sync were only brokers 2 and 3; broker 3 runs and may lead." in s.sentence(), s.sentence()


def test_a_dead_leader_that_nobody_has_replaced() -> None:
    """Fails if the picture does not say how long the controller will still believe in a dead leader."""
    s = Script(records=5).lead(2, 1).fault("kill", 2).after(1.2)
    assert s.sentence() == ("Broker 2, which leads flights-0, was killed 1.2 s ago. The controller counts it as dead after 3 s "
                            "without a heartbeat: in at most 1.8 s, then others lead what it led.")


def test_a_dead_broker_that_leads_nothing_is_replaced_by_nobody() -> None:
    """Fails if the picture announces leaders in the place of a broker that led nothing."""
    s = Script(records=5).fault("kill", 3).append(1, 5, 6).append(2, 5, 6).after(1.2)
    assert "in at most 1.8 s" in s.sentence() and "others lead" not in s.sentence(), s.sentence()


def test_a_new_controller_gives_everybody_a_whole_session() -> None:
    """Fails if the time until a broker is fenced is not counted from the controller's election."""
    s = Script(records=5).lead(2, 1).fault("kill", 2).after(1.0).say("raft", 3, role="leader", epoch=2, leader=3).after(0.5)
    assert "in at most 2.5 s" in s.sentence()


def test_a_follower_out_but_not_fenced() -> None:
    """Fails if only leaders are suspected."""
    s = Script(records=5).fault("pause", 3).after(1.0)
    assert s.sentence().startswith("Broker 3 has been paused for 1.0 s. The controller counts it as dead after 3 s")
    cut = Script(records=5).fault("cut", 1, 3, False).after(1.0)
    assert cut.sentence().startswith("Broker 3 has been cut from the active controller, broker 1, for 1.0 s.")
    fenced = Script(records=5).fault("kill", 3).after(3.1).say("broker", 1, id=3, state="fenced").isr([1, 2])
    assert fenced.sentence() == "Broker 3 does not run. flights-0 goes on with 2 of 3 replicas in sync, min.insync.replicas is 1."


def test_too_few_in_sync() -> None:
    """Fails if a partition that refuses acks=all is called anything else."""
    s = Script(min_isr=2, records=70).isr([1]).append(1, 70, 71).after(1.0)
    assert s.sentence() == ("flights-0 refuses acks=all: only broker 1 is in sync, min.insync.replicas is 2. The high watermark "
                            "stands at 70: 70 is written, not readable.")
    assert s.frame().rows[0].level is Level.BAD


def test_min_isr_of_more_than_there_are_replicas() -> None:
    """Fails if min.insync.replicas is compared without regard to the replication factor (rule 3)."""
    assert Script(brokers=1, min_isr=2, records=3).frame().sentence.level is Level.GOOD


def test_two_leaders() -> None:
    """Fails if an old leader that does not know better is not shown as one."""
    s = Script(records=5).fault("cut", 2, 3, False).decide(2, 1, [2, 3], 1)
    s.say("role", 2, tp=TP, role="leader", epoch=1, leader=2, isr=[2, 3], hw=5, replicas=[1, 2, 3]).isr([2, 3], 1, 2, 2)
    said = s.frame().sentence
    assert said.text.startswith("Brokers 1 and 2 both act as leader of flights-0: broker 1 in epoch 0, which ended when epoch 1")
    lanes = s.frame().chosen.lanes                                                      # type: ignore[union-attr]
    assert {lane.broker for lane in lanes if lane.believes_leader} == {1, 2}
    s.say("role", 1, tp=TP, role="leader", epoch=1, leader=1, isr=[2, 3], hw=5, replicas=[1, 2, 3])
    assert s.sentence() == "Brokers 1 and 2 both lead flights-0 in epoch 1: an epoch must have one leader."


def test_lost_records() -> None:
    """Fails if a loss is not said aloud once everything runs again."""
    s = Script(records=70).append(1, 70, 100).say("hw", 1, tp=TP, hw=100).produce(range(100))
    s.decide(2, 1, [1, 2, 3], 1).lead(2, 1).say("truncate", 1, tp=TP, to=70, records=30).say("hw", 2, tp=TP, hw=70)
    assert s.sentence() == ("30 acknowledged records of flights-0 are lost: the log of broker 2, which leads in epoch 1, "
                            "does not hold them.")


def test_groups() -> None:
    """Fails if a rebalance, or a group that everybody has left, goes unmentioned."""
    s = Script(records=20).say("group", 1, group="billing", state="PreparingRebalance", generation=2, members=["a", "b"])
    s.after(0.8)
    assert s.sentence().startswith("Group billing is rebalancing for 0.8 s: 2 members")
    s.say("group", 1, group="billing", state="Reconciling", generation=3, members=["a", "b"]).after(0.4)
    assert s.sentence().startswith("Group billing moves partitions for 1.2 s: what a member must give up nobody else gets")
    s.say("group", 1, group="billing", state="Empty", generation=4, members=[]).say("commit", 1, group="billing", tp=TP, offset=5)
    assert s.sentence() == "Group billing has no members: 15 readable records wait behind what it committed."


def test_nobody_reads() -> None:
    """Fails if the sentence is green while the reader of a partition is dead or stands still, or while no member has it."""
    def reads(owner: str, *others: str) -> Script:
        return s.say("group", 1, group="jobs", state="Stable", generation=2, members=[owner, *others],
                     names={"a": "C1", "b": "C2"}, assignment={owner: [TP], **{other: [] for other in others}})

    s = Script(records=20)
    for name in ("C1", "C2"):
        s.say("member", client=name, group="jobs", state="running", session=6.0)
    assert reads("a", "b").sentence().startswith("flights-0 works: ")
    s.say("member", client="C1", group="jobs", state="paused", session=6.0).after(2.0)
    assert s.sentence() == ("Nobody reads flights-0: consumer C1 of group jobs has been paused for 2.0 s. Its session of 6 s "
                            "ends in at most 4.0 s; then the other member gets what it read.")
    s.say("member", client="C1", group="jobs", state="resumed", session=6.0)
    assert s.sentence().startswith("flights-0 works: ")
    s.say("member", client="C1", group="jobs", state="killed", session=6.0).after(7.0)
    assert s.sentence() == ("Nobody reads flights-0: consumer C1 of group jobs was killed 7.0 s ago. Its session of 6 s is over; "
                            "then the other member gets what it read.")
    assert reads("b").sentence().startswith("flights-0 works: ")
    s.say("commit", 1, group="jobs", tp=TP, offset=20).say("commit", 1, group="jobs", tp="flights-1", offset=5)
    assert reads("b").sentence() == "Nobody reads flights-1: no member of group jobs has it."


def test_catching_up() -> None:
    """Fails if a broker that comes back is not followed until it is in sync."""
    s = Script(records=90).isr([1, 2]).write(120, 90, [1, 2])
    assert s.sentence() == ("Broker 3 catches up with flights-0: it ends at 90, the leader at 120, 30 records to go before it "
                            "is in sync again.")
    s.fault("hold_follower", 3, True, 0.0)
    assert s.sentence().startswith("Broker 3 copies nothing and is out of the ISR of flights-0: 30 records behind")


def test_all_is_well() -> None:
    """Fails if a calm cluster is described without numbers, or an empty one as calm."""
    said = Script(records=125).frame().sentence
    assert said.text == "flights-0 works: 3 of 3 replicas are in sync, everything below 125 is readable."
    assert said.level is Level.GOOD
    shorter = Script(records=125).say("log_start", 1, tp=TP, start=120)
    assert shorter.sentence().endswith("in sync, 120-124 can be read, all before is deleted.")
    shorter.say("log_start", 1, tp=TP, start=125)
    assert shorter.sentence().endswith("no record is left in it: all before 125 is deleted.")
    empty = Script()
    empty.events = [e for e in empty.events if "tp" not in e]
    assert empty.frame(None).sentence.level is Level.UNKNOWN


def test_what_the_trace_lacks_is_not_claimed() -> None:
    """Fails if min.insync.replicas is taken to be 1 where nobody told it (I-SENTENCE-2)."""
    s = Script(min_isr=None, records=5)
    for event in s.events:
        event.pop("min_isr", None)
    assert "min.insync.replicas" not in s.isr([1, 2]).sentence()
    assert s.frame().chosen.min_isr is None                                             # type: ignore[union-attr]


def test_clients_that_do_not_reach_the_leader() -> None:
    """Fails if a cut between clients and the leader, or its direction, is not what the sentence is about."""
    s = Script(records=5).fault("cut", "clients", 1, False).after(3.2)
    s.say("sent", client="p", topic="flights", partition=0, record=1)
    assert s.sentence() == ("No client has reached broker 1, which leads flights-0, for 3.2 s. 1 record waits in producers. Its "
                            "replication goes on.")
    back = Script(records=5).fault("cut", 1, "clients", True).after(2.0)
    assert "hears clients, but its answers have not reached them for 2.0 s." in back.sentence()
    assert "clients" not in Script(records=5).fault("cut", "clients", 3, False).after(1.0).sentence()
