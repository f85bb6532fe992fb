"""Checks of lab 9: leadership from the metadata log (9.2), the controller's decision (9.3, 9.4), a voter's (9.6),
an administrator's program (9.9), a night that breaks an election (9.10), up to where a leader has decided (9.11)."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.inside.breaking import judged
from minikafka.lab.inside.goals import GOALS
from minikafka.lab.labs.lab09.from_nothing import verdict, while_brokers_die
from minikafka.lab.labs.lab09.night import Decision, Now, Occasion, in_short, night
from minikafka.lab.labs.lab09.votes import Voter, decides, gives
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.program import file_exercise
from minikafka.lab.values import shown

# --- 9.2 -------------------------------------------------------------------------------------------------------------

hints("9.2", "A change names no leader. Who leads after it, and in which epoch?",
      "Start with the record of kind new: its leader, epoch 0. Each later record that names a leader begins the next epoch; "
      "what a record does not name stays as it was.",
      "minikafka/broker/metadata/registrations.py: Partition; minikafka/lab/labs/lab09/metadata.py: history")


@checks("9.2", matters="Every broker does this, and so each of them knows at each offset who leads. Nobody has to be asked.",
        wants="a pair (leader, epoch)")
def leadership(answer: Callable[[list[dict[str, Any]], int], Any]) -> str:
    """Check with eighty seeded histories of a partition: elections, changes of the ISR alone, times without a leader."""
    rng = random.Random(96)
    for _ in range(80):
        records, offset = [{"offset": rng.randrange(5, 20), "kind": "new", "leader": 1, "isr": [1, 2, 3]}], 0
        for _ in range(rng.randrange(1, 7)):
            offset = records[-1]["offset"] + rng.randrange(1, 5)
            change: dict[str, Any] = {"offset": offset, "kind": "change"}
            if rng.random() < 0.6:
                change["leader"] = rng.choice((1, 2, 3, -1))
            if "leader" not in change or rng.random() < 0.5:
                change["isr"] = sorted(rng.sample((1, 2, 3), rng.randrange(1, 4)))
            records.append(change)
        for at in (records[0]["offset"], rng.randrange(records[0]["offset"], offset + 1), offset, offset + 3):
            right, said = _leadership(records, at), answer([dict(record) for record in records], at)
            assert isinstance(said, (tuple, list)) and len(said) == 2, \
                f"a pair is wanted: (leader, epoch); you returned {shown(said)}"
            if tuple(said) != right:
                raise Wrong(f"at offset {at}, that record included: you said {shown(said)}, it is {right} (leader, epoch)"
                            f"{_overlooked(records, at, tuple(said), right)}", [str(r) for r in records])
    return "eighty histories, each at four offsets"


def _overlooked(records: list[dict[str, Any]], at: int, said: tuple[Any, ...], right: tuple[int, int]) -> str:
    """Return the rule that a wrong answer does not follow."""
    named = [record for record in records if record["offset"] <= at and "leader" in record]
    if said == _leadership(records, records[-1]["offset"]):
        return ": later records do not count"
    if said == right[::-1]:
        return ": the leader comes first"
    if said[0] != right[0] == -1:
        return ": nobody leads, which is -1"
    if said[0] != right[0]:
        left_out = said[1] == right[1] - 1 and named[-1]["offset"] == at
        return f": {'the record at the offset counts, too' if left_out else 'the last record that names a leader says who leads'}"
    if said[1] > right[1]:
        return ": the first epoch is 0, and only a record that names a leader begins the next one"
    return ": a record that names the same leader again, or -1, begins an epoch, too"


def _leadership(records: list[dict[str, Any]], at: int) -> tuple[int, int]:
    """Return what a broker's own image says: the registration of the first record, with each change merged into it."""
    from minikafka.broker.metadata.records import NO_LEADER_CHANGE, ZERO_UUID, PartitionChangeRecord
    from minikafka.broker.metadata.registrations import PartitionRegistration
    first, *later = records
    image = PartitionRegistration("positions", ZERO_UUID, 0, (1, 2, 3), tuple(first["isr"]), first["leader"])
    for record in (record for record in later if record["offset"] <= at):
        isr = tuple(record["isr"]) if "isr" in record else None
        image = image.merge(PartitionChangeRecord(0, ZERO_UUID, isr=isr, leader=record.get("leader", NO_LEADER_CHANGE)))
    return image.leader, image.leader_epoch


# --- 9.3 -------------------------------------------------------------------------------------------------------------

hints("9.3", "Which two things must be true of a broker that leads? And who is asked first?",
      "It is alive, and it has every acknowledged record: it is in the ISR, or, if nobody of the ISR is alive, in the ELR. "
      "The present leader is asked first, because a change that is not needed makes every client look for the new one. Then the "
      "replicas, in their order.",
      "minikafka/broker/controller/leader_election.py, function `_choose`: `clean`, and the order")


@checks("9.3", matters="One line of this rule is the promise of acks=all: only who is in the ISR has everything, or was in it "
                       "when the last record was acknowledged.",
        wants="the number of a broker, or -1")
def next_leaders(answer: Callable[[Now, list[int]], int]) -> str:
    """Check with the night of the simulated cluster, whose controller has decided, and with five hundred drawn states, some of
    them with an ELR."""
    for moment in night(False):
        said = _broker(answer(_copied(moment.now), list(moment.alive)))
        if said != moment.decided[0]:
            raise Wrong(f"second {moment.t:g}, {moment.what}: {_wrong_leader(moment, said)}", _told(moment))
    for now, alive, _ in drawn(500, eligible=True):
        said, right = _broker(answer(_copied(now), list(alive))), decided(now, alive, False)[0]
        if said != right:
            raise Wrong(f"the brokers of the night are all chosen rightly; here {_by_rule(now, alive, said, right)}",
                        [f"now {now}", f"alive {alive}"])
    return f"the same leader as the cluster's controller in {len(night(False))} moments of a night, and in 500 drawn ones"


def _broker(said: Any) -> Any:
    assert isinstance(said, (int, Integral)), f"the number of a broker is wanted, and -1 for nobody; you returned {shown(said)}"
    return said


def _wrong_leader(moment: Occasion, said: int) -> str:
    """Return what a wrong leader costs, as it was measured in the cluster."""
    right = moment.decided[0]
    if said == -1:
        return f"you let nobody lead. Broker {right} is alive and in the ISR; no record can be written for {moment.lasts:g} s"
    if said not in moment.alive:
        cost = f"nobody leads for {moment.lasts:g} s" if right != -1 else "nobody leads, which is written as -1"
        return f"your leader is broker {shown(said)}, and it is not alive: {cost}"
    if said not in moment.now["isr"]:
        return (f"your leader is broker {said}, not in the ISR {moment.now['isr']}. Its log ends at {moment.ends[said]}, "
                f"and {counted(moment.acknowledged, 'record')} {verb(moment.acknowledged, 'is', 'are')} acknowledged: "
                f"{moment.lost(said)} of them are lost")
    return f"you make broker {said} the leader; {_order(moment.now, right)}"


def _order(now: Now, right: int) -> str:
    if right == now["leader"]:
        return f"broker {right} leads, is alive and in the ISR: it stays, for each change makes all clients look for the leader"
    return f"broker {right} comes before it in `replicas`, is alive and in the ISR"


def _by_rule(now: Now, alive: list[int], said: int, right: int) -> str:
    if right in now["elr"] and said not in now["elr"]:
        return (f"you say {said}, it is {right}: nobody in the ISR {now['isr']} is alive, and broker {right} is in the ELR "
                f"{now['elr']}: it has everything")
    if said == -1 or right == -1:
        return f"you say {said}, it is {right}"
    if said in now["elr"] and right in now["isr"]:
        return f"you say {said}, it is {right}: the ELR {now['elr']} is asked only if nobody in the ISR is alive"
    complete = said in now["isr"] + now["elr"]
    why = "is not alive" if said not in alive else "is not in the ISR" if not complete else _order(now, right)
    return f"you say {said}, it is {right}: {f'broker {said} {why}' if why.startswith('is ') else why}"


# --- 9.4 ------------------------------------------------------------------------------------------------------------

hints("9.4", "Three things are decided: who leads, whether that is a new epoch, and whom the ISR names from now on. For which "
              "of them does it matter that an unclean election is allowed?",
      "The ISR keeps who is alive. If nobody of it is alive, it stays as it was: that is the only note of who has "
      "everything. If `clean` is -1 and an unclean election is allowed, the first living replica leads, and "
      "is the whole ISR. The epoch grows by one when the leader is another one than before, -1 included.",
      "minikafka/broker/controller/leader_election.py, functions `change` and `_elect`")


@checks("9.4", matters="A controller does this for every partition of a broker that has died: thousands in a second.",
        wants="three values: leader, epoch, ISR")
def decisions(answer: Callable[[Now, list[int], bool, int], Any]) -> str:
    """Check with both nights of the simulated cluster, and with three hundred drawn states judged by the brokers' own code."""
    for moment in (*night(False), *night(True)):
        clean = decided(moment.now, moment.alive, False)[0]
        said, isr = _three(answer(_copied(moment.now), list(moment.alive), moment.unclean, clean))
        if (*said, isr) != (*moment.decided[:2], set(moment.decided[2])):
            raise Wrong(f"second {moment.t:g}, {moment.what}, unclean election {'on' if moment.unclean else 'off'}: "
                        f"{_wrong_decision(moment, *said, isr)}", _told(moment))
    for now, alive, unclean in drawn(300):
        right = decided(now, alive, unclean)
        said, isr = _three(answer(_copied(now), list(alive), unclean, decided(now, alive, False)[0]))
        if (*said, isr) != (*right[:2], set(right[2])):
            first = (f": of the replicas {now['replicas']} broker {right[0]} is the first that is alive"
                     if decided(now, alive, False)[0] == -1 and -1 != right[0] != said[0] else "")
            raise Wrong(f"both nights are right; here you say {in_short((*said, sorted(isr)))}, it is {in_short(right)}{first}",
                        [f"now {now}", f"alive {alive}", f"unclean {unclean}"])
    count = len(night(False)) + len(night(True))
    return f"the same {count} decisions as the cluster's controller in two nights, and 300 drawn ones"


def _three(said: Any) -> tuple[tuple[int, int], set[int]]:
    assert isinstance(said, (tuple, list)) and len(said) == 3, \
        f"three values are wanted: (leader, epoch, ISR); you returned {shown(said)}"
    leader, epoch, isr = said
    assert isinstance(isr, Iterable) and not isinstance(isr, str), f"the ISR is a list of brokers; you gave {shown(isr)}"
    assert isinstance(epoch, (int, Integral)), f"the epoch is a number; you gave {shown(epoch)}"
    return (_broker(leader), epoch), set(isr)


def _wrong_decision(moment: Occasion, leader: int, epoch: int, isr: set[int]) -> str:
    """Return what is wrong in a decision, and what it costs: leader first, then epoch, then ISR."""
    right, number, members = moment.decided
    if leader != right and moment.unclean and right != -1 and not {*moment.now["isr"]} & {*moment.alive}:
        return (f"you say {leader}. Nobody in the ISR {moment.now['isr']} is alive, and an unclean election is allowed: "
                f"the first living replica leads, broker {right}")
    if leader != right:
        return _wrong_leader(moment, leader)
    if epoch != number:
        return f"the epoch is {number}, you say {epoch}: it was {moment.now['epoch']}, and {_epoch(moment)}"
    if not isr:
        return f"your ISR is empty: nobody knows any more that broker {members[0]} has everything, and it never leads again"
    if dead := sorted(isr - {*moment.alive} - {*members}):
        return f"broker {dead[0]} is gone and in your ISR: with acks=all every writer waits for it, at least {moment.lasts:g} s"
    if strangers := sorted(isr - {*members}):
        return f"broker {strangers[0]} is in your ISR, and does not have what counts: it must copy first; then its leader asks"
    return f"broker {min({*members} - isr)} has everything, and your ISR leaves it out: it could not lead if the leader died"


def _epoch(moment: Occasion) -> str:
    before, after = moment.now["leader"], moment.decided[0]
    return "the leader is the same as before" if before == after else f"the leader was {before} and is {after} now"


def _told(moment: Occasion) -> list[str]:
    ends = ", ".join(f"{broker} at {end}" for broker, end in sorted(moment.ends.items()))
    return [f"now {moment.now}", f"alive {moment.alive}", f"log ends: {ends}; acknowledged {moment.acknowledged}",
            f"the cluster's controller: {in_short(moment.decided)}"]


def _copied(now: Now) -> Now:
    return {**now, "replicas": list(now["replicas"]), "isr": list(now["isr"]), "elr": list(now["elr"])}


def drawn(count: int, eligible: bool = False) -> Iterator[tuple[Now, list[int], bool]]:
    """Yield states of a partition, who is alive after one broker went or came, and whether an unclean election is allowed;
    some of them with eligible leaders beside the ISR."""
    rng, chance = random.Random(99), random.Random(98)
    for _ in range(count):
        replicas = rng.sample(range(1, 7), rng.randrange(2, 6))
        once = rng.sample(replicas, rng.randrange(1, len(replicas) + 1))
        alive = set(rng.sample(replicas, rng.randrange(0, len(replicas) + 1)))
        unclean, isr = rng.random() < 0.5, [broker for broker in once if broker in alive]
        if not isr and unclean:
            alive.clear()                           # else somebody would lead
        now = {"leader": rng.choice(isr) if isr else -1, "epoch": rng.randrange(9), "replicas": replicas, "isr": isr or once[:1],
               "elr": []}
        if eligible and chance.random() < 0.5:
            others = [broker for broker in replicas if broker not in now["isr"]]
            now["elr"] = [broker for broker in chance.sample(others, chance.randrange(len(others) + 1))
                          if isr or broker not in alive]      # else somebody of them would lead
        alive ^= {rng.choice(replicas)}
        yield now, sorted(alive), unclean


def decided(now: Now, alive: list[int], unclean: bool) -> Decision:
    """Return what the brokers' own code decides."""
    from minikafka.broker.controller.leader_election import Election, Rules, Target, change
    from minikafka.broker.metadata.records import ZERO_UUID
    from minikafka.broker.metadata.registrations import PartitionRegistration
    eligible, replicas = tuple(now["elr"]), tuple(now["replicas"])
    before = PartitionRegistration("positions", ZERO_UUID, 0, replicas, tuple(now["isr"]), now["leader"], now["epoch"],
                                   elr=eligible)
    kept = tuple(broker for broker in now["isr"] if broker in alive)
    record = change(before, Rules(lambda broker: broker in alive, len(replicas) if eligible else 1, elr=bool(eligible)),
                    Election.UNCLEAN if unclean else Election.ONLINE, Target(kept))
    after = before.merge(record) if record else before
    return after.leader, after.leader_epoch, list(after.isr)


# --- 9.6 ------------------------------------------------------------------------------------------------------------

hints("9.6", "No second leader in an epoch, no leader who lacks a decision, and somebody wins in the end. Which part of a "
              "request tells of each?",
      "Refuse an older epoch. In the epoch that you know, your vote belongs to the candidate that has it, if one has. In a "
      "newer epoch it is free. In every case compare the logs: the newer last epoch wins; if both are the same, the longer log.",
      "minikafka/broker/raft/election.py, `_may_vote_for` and `_is_up_to_date`")

ME, ASK = ("epoch", "voted", "last_epoch", "end"), ("candidate", "epoch", "last_epoch", "end")
VOTES = (  # me, ask, and what the other answer would do
    ((7, None, 6, 40), (103, 7, 6, 40), "the vote is free and both logs are alike, as in every new cluster: "
        "there nobody would ever lead"),
    ((7, 101, 6, 40), (103, 7, 6, 40), "101 has your vote in epoch 7. If 103 has it too, each has two of three: "
        "two leaders in one epoch"),
    ((7, 103, 6, 40), (103, 7, 6, 40), "103 has your vote in epoch 7, the answer was lost, and it asks again: "
        "without it nobody leads"),
    ((7, 101, 6, 40), (103, 8, 6, 40), "epoch 8 is new, and a vote counts for one epoch: "
        "if nobody votes twice in a life, elections end"),
    ((7, None, 5, 40), (103, 6, 5, 44), "epoch 6 is over: "
        "you know of epoch 7, and take no part in an older one"),
    ((7, None, 6, 40), (103, 8, 6, 39), "record 39 is missing from its log: "
        "a majority may have it, and would lose it to this leader"),
    ((7, None, 6, 40), (103, 8, 5, 44), "its log is longer, but it ends in epoch 5: "
        "your record 39, of epoch 6, may be decided, and it has another"),
    ((7, None, 6, 40), (103, 8, 7, 38), "its log ends in epoch 7, which is newer: "
        "the leader of that epoch had all that was decided"),
    ((7, 101, 6, 40), (101, 8, 6, 39), "your vote for it was of epoch 7: "
        "in epoch 8 it lacks record 39, as any other would"))


@checks("9.6", matters="Two conditions, and no clock: so Raft is safe even if every timer of the control room is wrong.",
        wants="True or False")
def votes(answer: Callable[[Voter, Voter], bool]) -> str:
    """Check with nine requests, each for a reason, and with four hundred drawn ones."""
    for mine, its, why in VOTES:
        me, ask = dict(zip(ME, mine)), dict(zip(ASK, its))
        said, right = bool(answer(dict(me), dict(ask))), gives(me, ask)
        if said != right:
            raise Wrong(f"you {'give' if said else 'refuse'} this vote: {why}", [f"me  {me}", f"ask {ask}"])
    rng = random.Random(911)
    for _ in range(400):
        epoch, asked = rng.randrange(3, 6), rng.randrange(3, 6)
        mine = (epoch, rng.choice((None, 101, 103)), rng.randrange(1, epoch + 1), rng.randrange(8, 12))
        its = (rng.choice((101, 103)), asked, rng.randrange(1, asked), rng.randrange(8, 12))
        me, ask = dict(zip(ME, mine)), dict(zip(ASK, its))
        said, right = bool(answer(dict(me), dict(ask))), gives(me, ask)
        if said != right:
            raise Wrong(f"nine requests are right; here you {'give' if said else 'refuse'} the vote, and a voter "
                        f"{'gives' if right else 'refuses'} it", [f"me  {me}", f"ask {ask}"])
    return "nine requests, each for a reason of its own, and 400 drawn ones"



# --- 9.9 ------------------------------------------------------------------------------------------------------------

hints("9.9", "What tells you that a broker has everything: that it is alive, or that it is in a list? And what do you do if no "
              "answer comes?",
      "Ask in a loop, with a pause. `isr_nodes` is the ISR, `replica_nodes` are all replicas: go on until the two name the same "
      "brokers. A KafkaError means that the answer did not come: ask again.",
      "section 10 of this lab, where `describe_topics` stands; the order of the faults: minikafka/lab/labs/lab09/from_nothing.py")

file_exercise("9.9", while_brokers_die, verdict,
              matters="Who goes on with a rolling restart while a replica is missing takes the next one away.")


# --- 9.10 ------------------------------------------------------------------------------------------------------------

hints("9.10", "Which broker is first among those that live, and lacks something? A broker that is dead writes nothing down.",
      "Take a follower out of the ISR: kill it, or hold it for ten seconds while reports come. What is acknowledged then "
      "it does not have. Then the leader has to die, and the follower has to be the first that lives.",
      "minikafka/lab/inside/election.py: `the_one_that_lacks_something` is such a night")


@checks("9.10", matters="unclean.leader.election.enable=true is this rule, for the time when nobody in sync lives.",
        wants="a night, made with Night()")
def broken_election(answer: Any) -> str:
    """Play the night with the first that lives as leader, then with Kafka's own rule."""
    return judged(GOALS["9.10"], answer)


# --- 9.11 -----------------------------------------------------------------------------------------------------------

hints("9.11", "Of four controllers, how many must have a record? And how far has that many come together?",
      "Sort the ends, the largest first. Up to the one at place len(ends) // 2 a majority has everything. If that is not beyond "
      "`start`, the record at `start` is not on a majority: nothing new is decided. Never return less than `before`.",
      "minikafka/broker/raft/roles.py, `Leader.committed_offset`; figure 8 of the Raft paper")

COUNTED = (  # where the logs end, where the epoch starts, what was decided before
    ((20, 17, 14), 10, 14), ((20, 14, 14), 10, 14), ((20, 0, 20), 10, 14), ((14, 17, 17), 10, 14), ((20, 20, 14, 14), 10, 14),
    ((20, 17, 17, 0), 10, 14), ((20, 20, 17, 14, 0), 10, 14), ((21, 20, 12), 20, 12), ((21, 18, 12), 20, 12),
    ((21, 21, 12), 20, 12), ((21, 0, 0), 20, 15), ((30, 25, 0), 10, 30))


@checks("9.11", matters="Four controllers survive one death, as three do, and one more must agree each time: take three or five.",
        wants="an offset, a number")
def commits(answer: Callable[[list[int], int, int], int]) -> str:
    """Check with twelve cases, each for a reason, and with four hundred drawn ones; the brokers' own leader judges."""
    rng = random.Random(912)
    drawn = [([rng.randrange(8, 16) for _ in range(rng.randrange(1, 8))], rng.randrange(6, 14), rng.randrange(6, 12))
             for _ in range(400)]
    for ends, start, before in (*COUNTED, *drawn):
        said, right = answer(list(ends), start, before), decides([*ends], start, before)
        assert isinstance(said, (int, Integral)) and not isinstance(said, bool), \
            f"an offset is wanted, such as {right}; you returned {shown(said)}"
        if said != right:
            raise Wrong(_miscounted([*ends], start, before, said, right),
                        [f"ends   {[*ends]}", f"start  {start}", f"before {before}", f"it is  {right}, you said {shown(said)}"])
    return "twelve cases of three, four and five controllers, and 400 drawn ones of one to seven"


def _miscounted(ends: list[int], start: int, before: int, said: int, right: int) -> str:
    """Return what a wrong offset would do."""
    having, enough, all_of = sum(end >= said for end in ends), sum(end >= right for end in ends), len(ends)
    if said < before:
        return f"you go back to {said}, and brokers have applied everything below {before}; what is decided stays so"
    if said > right and 2 * having <= all_of:
        if 2 * having == all_of:
            return (f"record {said - 1} is on {having} of {all_of} disks, and {having} of {all_of} are no majority: "
                    "the other half can decide something else")
        return f"record {said - 1} is on {having} of {all_of} disks: the others can elect a leader that lacks it"
    if said > right:
        return (f"a majority has record {said - 1}, which is of an older epoch, and not yet record {start}, the first of yours: "
                "a controller that lacks it, and has a newer epoch than it, can still be elected")
    if said == right - 1:
        return f"record {said} is decided as well: you return an end, and {right} means records 0 to {said}"
    return (f"record {right - 1} is on {enough} of {all_of} disks, a majority, and of your epoch: it is decided. If you wait for "
            f"more, the death of {all_of - enough or 1} stops all decisions")
