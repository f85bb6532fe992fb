"""Checks of lab 5: the sums after a crash (5.3), a loop that loses nothing (5.5), stale commits (5.7), each record once (5.8),
a policy for a bill (5.9), records that cannot be parsed (5.10), a member from nothing (5.11)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from numbers import Number
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab05.bill import COMMIT, CRASHES, NIGHT, TWICE, bill_of, bills
from minikafka.lab.labs.lab05.from_nothing import killed_and_started_again, verdict
from minikafka.lab.labs.lab05.paper import PaperWorld, Place, Ride, every_crash, life
from minikafka.lab.labs.lab05.poison import POISON, PoisonWorld, every_end, live
from minikafka.lab.labs.lab05.poison import TWO as POISONED
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import file_exercise
from minikafka.lab.values import shown

Event = dict[str, Any]
TWO = {"partitions": 2, "size": 13, "short": 2}  # the topic on which the loop of 5.5 runs


# --- 5.3 -------------------------------------------------------------------------------------------------------------

NOTES = {"auto": "a poll commits when five seconds have passed since the last note",
         "sync per batch": "the note is written when the ten records of a poll are done",
         "sync per record": "the note is written after each record",
         "before the work": "the note says that the ten records of the poll are done, before one of them is"}
POLICIES = tuple(NOTES)
MOMENTS = {12.48: (124, 100, 120, 124, 130), 3.25: (32, 0, 30, 32, 40), 0.05: (0, 0, 0, 0, 10), 0.45: (4, 0, 0, 4, 10),
           2.45: (24, 0, 20, 24, 30), 4.95: (49, 0, 40, 49, 50), 5.03: (50, 50, 50, 50, 60), 8.75: (87, 50, 80, 87, 90),
           9.96: (99, 50, 90, 99, 100), 10.04: (100, 100, 100, 100, 110), 15.09: (150, 150, 150, 150, 160),
           33.33: (333, 300, 330, 333, 340)}  # second: records finished, and what each policy has committed
FIELDS = ("processed", "committed", "duplicates", "lost")


def sums(policy: str, t: float) -> tuple[int, int, int, int]:
    """Return (processed, committed, duplicates, lost) for one of the MOMENTS, if commits take no time."""
    processed, committed = MOMENTS[t][0], MOMENTS[t][1 + POLICIES.index(policy)]
    return processed, committed, max(0, processed - committed), max(0, committed - processed)


hints("5.3", "At which moments does each policy commit, and which offset?",
      "Duplicates are records that were processed beyond the committed offset; lost are records that were committed and never "
      "processed.",
      "minikafka/lab/labs/lab05/experiment.py: the five functions at the top")


@checks("5.3", matters="Duplicates grow with what lies between two commits; at 10,000 records a second, five seconds are 50,000.")
def after_crash(answer: Callable[[str, float], tuple[int, int, int, int]]) -> str:
    """Check crash times that the lab's table does not show, before the first commit among them. A loss that is not told of comes
    first; a number that follows from the student's other numbers is not blamed."""
    wrong = []
    for policy in POLICIES:
        for t in MOMENTS:
            said, right = tuple(answer(policy, t)), sums(policy, t)
            if said[1:2] == (None,):  # nothing is committed
                said = (said[0], 0, *said[2:])
            if len(said) != len(FIELDS) or not all(isinstance(each, Number) for each in said):
                raise Wrong(f"four numbers are wanted, ({', '.join(FIELDS)}); you returned {shown(said)}")
            if said != right:
                wrong.append((policy, t, said, right))
    if not wrong:
        return f"right for {len(POLICIES)} policies at {len(MOMENTS)} moments"
    policy, t, said, right = next((case for case in wrong if case[2][3] < case[3][3]), wrong[0])
    ahead = said[0] - said[1]
    why = {"lost": "" if said[3] == max(0, -ahead) else "what is committed and not processed is lost",
           "processed": "a record counts when its tenth of a second is over", "committed": NOTES[policy],
           "duplicates": "" if said[2] == max(0, ahead) else "what is processed and not committed comes twice"}
    faults = [name for name in why if said[FIELDS.index(name)] != right[FIELDS.index(name)]][:2]
    told = [f"{name} = {right[FIELDS.index(name)]}, not {said[FIELDS.index(name)]}" for name in faults]
    raise Wrong(f"{policy}, crash at {t} s: {'; '.join(told)} ({'; '.join(why[name] for name in faults if why[name])})")


# --- 5.5 -------------------------------------------------------------------------------------------------------------

hints("5.5", "When may you say that a batch is done?",
      "Commit after the work on a whole batch, not before it, and not only at the very end. An empty poll means: return.",
      "minikafka/lab/labs/lab05/experiment.py: sync_batch; minikafka/lab/labs/lab05/paper.py: what your loop gets")


@checks("5.5", matters="Nobody tests the line between the work and the commit. It is where the process dies.")
def run_at_least_once(loop: Callable[[Any, Callable[[Any], None]], Any]) -> str:
    """Check a run without a crash, then one for every step at which the program can crash. Losses come first, then records that
    come twice, then commits too many."""
    calm = PaperWorld(**TWO)
    life(loop, calm)
    _lose_nothing(calm, "without any crash ")
    worlds = list(every_crash(loop, **TWO))
    for world in worlds:
        _lose_nothing(world, "")
    assert len(calm.done) == len({*calm.done}), f"without any crash you worked twice on {_some(_twice(calm))}"
    assert calm.commits, "your loop never commits: after a crash all of it comes again"
    assert calm.committed == [calm.size] * 2, (
        f"without any crash you leave {calm.committed} committed; the logs end at {calm.size}")
    for world in worlds:
        if len(_twice(world)) > world.batch:
            raise Wrong(f"{len(_twice(world))} records came twice after one crash; with a commit after each batch it is "
                        f"{world.batch} at most", _around_crash(world.said))
    assert calm.commits <= calm.polls, f"{calm.commits} commits for {calm.polls} polls: once a batch is enough"
    worst = max(len(_twice(world)) for world in worlds)
    return f"{len(worlds)} crashes and errors, at every step: nothing lost, at most {worst} records twice"


def _lose_nothing(world: PaperWorld, when: str) -> None:
    """Raise Wrong if there is a record that nobody worked on."""
    idle = [(p, n) for p in range(world.partitions) for n in range(world.size) if (p, n) not in world.done]
    total = world.partitions * world.size
    if lost := [(p, n) for p, n in idle if n < world.committed[p]]:
        raise Wrong(f"{when}{len(lost)} of {total} records lost (committed, and never worked on): {_some(lost)}",
                    _around_crash(world.said))
    if idle:
        raise Wrong(f"{when}{len(idle)} of {total} records never worked on, your loop returned before them: {_some(idle)}",
                    _around_crash(world.said))


def _twice(world: PaperWorld) -> list[Place]:
    """Return a record as often as it was worked on too often."""
    return list((Counter(world.done) - Counter({*world.done})).elements())


def _some(places: list[Place]) -> str:
    told = ", ".join(f"rides-{p} offset {n}" for p, n in places[:3])
    return told + (" and more" if len(places) > 3 else "")


def _around_crash(said: list[str]) -> list[str]:
    at = next((i for i, line in enumerate(said) if line.startswith("--")), 8)
    return said[max(0, at - 4) : at + 4]


# --- 5.7 -------------------------------------------------------------------------------------------------------------

def group_life(rng: random.Random, length: int = 14) -> tuple[list[Event], list[Event]]:
    """Return the events of a group in which members come and go, and those that must be refused. Each member believes in the last
    generation that it was told of, and commits when it likes; now and then its offset goes back."""
    names, generation, believes, members = ["C1", "C2", "C3"], 0, dict[str, int](), list[str]()
    events: list[Event] = []
    stale: list[Event] = []
    for t in range(length):
        if not events or rng.random() < 0.35:
            generation += 1
            members = sorted(rng.sample(names, rng.randint(1, 2)))
            believes |= dict.fromkeys(members, generation)
            events.append({"t": float(t), "k": "generation", "generation": generation, "members": members})
        else:
            member = rng.choice(sorted(believes))
            told = believes[member] if rng.random() < 0.8 else rng.randint(1, generation + 1)
            events.append({"t": float(t), "k": "commit", "member": member, "generation": told,
                           "offset": 10 * t if rng.random() < 0.8 else 5 * t})
            stale += [events[-1]] * (member not in members or told != generation)
    return events, stale


hints("5.7", "What did the coordinator know at the moment when the commit arrived?",
      "Two things must be true: the sender is a member now, and the generation that it names is the current one. Go through "
      "the events once and remember the last generation.",
      "minikafka/broker/groups/shell/coordinator.py: check_commit; minikafka/broker/groups/classic/group.py asks the same two "
      "questions")


@checks("5.7", matters="A stale commit that is accepted moves the group of somebody else.")
def zombies(answer: Callable[[list[Event]], list[Event]]) -> str:
    """Check with eighty lives of groups: first whether a stale commit passes, then whether an honest one is refused."""
    lives = [group_life(random.Random(seed)) for seed in range(80)]
    answers = [list(answer(deepcopy(events))) for events, _ in lives]
    for said, (events, _) in zip(answers, lives):
        if strange := [each for each in said if each not in events or each["k"] == "generation"]:
            raise Wrong(f"return the refused commits themselves, each a dictionary as it came; you have {shown(strange[0])}")
    for said, (events, stale) in zip(answers, lives):
        if missed := [event for event in stale if event not in said]:
            raise Wrong(f"you let a stale commit pass: {_why(events, missed[0])}", _until(events, missed[0]))
    for said, (events, stale) in zip(answers, lives):
        if honest := [event for event in said if event not in stale]:
            raise Wrong(f"you refuse a commit that is in order: {_why(events, honest[0])}", _until(events, honest[0]))
        if said != stale:
            twice = len(said) > len(stale)
            raise Wrong("a commit is twice in your list" if twice else "the right commits, in another order than they came")
    return f"{sum(len(stale) for _, stale in lives)} stale commits found in {len(lives)} groups, and no honest one refused"


def _why(events: list[Event], one: Event) -> str:
    """Say who commits, and what the group is at that moment."""
    now = [e for e in events if e["k"] == "generation" and e["t"] < one["t"]][-1]
    return (f"{one['member']} commits {one['offset']} as generation {one['generation']}; the group is at generation "
            f"{now['generation']}, its members are {', '.join(now['members'])}")


def _until(events: list[Event], one: Event) -> list[str]:
    return [f"{e['t']:5.1f}  " + (f"generation {e['generation']}: {', '.join(e['members'])}" if e["k"] == "generation" else
                                  f"{e['member']} commits {e['offset']} as generation {e['generation']}")
            for e in events[: events.index(one) + 1][-6:]]


# --- 5.8 -------------------------------------------------------------------------------------------------------------

def deliveries(rng: random.Random) -> list[Ride]:
    """Return deliveries of three partitions, each read in order; now and then a crash sends one of them back to its committed
    offset. A record has the same value each time that it comes."""
    numbers = (0, 1, 11)
    position, committed, found = dict.fromkeys(numbers, 0), dict.fromkeys(numbers, 0), []
    for _ in range(75):
        p = rng.choice(numbers)
        if rng.random() < 0.1:
            position[p] = committed[p]
        elif rng.random() < 0.25:
            committed[p] = position[p]
        found.append(Ride("rides", p, position[p], b"%d euros" % (5 + (7 * position[p] + p) % 4)))
        position[p] += 1
    return found


hints("5.8", "By what can you tell one record from every other record?",
      "Partition and offset together name a record; two different rides may have equal values. Remember what you have seen.",
      "minikafka/proof/history/polls.py looks for the same in the histories of whole test campaigns")


@checks("5.8", matters="At least once, and each effect once by (partition, offset): this pair is what people call exactly once.")
def once(answer: Callable[[list[Ride]], list[Ride]]) -> str:
    """Check with fifty lists of deliveries with rewinds: first whether a record is gone, then whether one is there twice,
    then their order."""
    given = [deliveries(random.Random(seed)) for seed in range(50)]
    kept = [list(answer(list(records))) for records in given]
    for said, records in zip(kept, given):
        if strange := [each for each in said if not isinstance(each, tuple) or each not in records]:
            raise Wrong(f"return the records themselves, as they came; you have {shown(strange[0])}")
    for rule in (_gone, _repeated, _moved):
        for said, records in zip(kept, given):
            if told := rule(said, records):
                raise Wrong(f"{told}; {len(records)} deliveries of {len({*records})} records, you kept {len(said)}")
    assert kept == [list(dict.fromkeys(records)) for records in given]
    dropped = sum(len(records) - len({*records}) for records in given)
    return f"{dropped} second deliveries dropped, every record kept once"


def _gone(said: list[Ride], records: list[Ride]) -> str:
    gone = next((record for record in records if record not in said), None)
    if gone is None:
        return ""
    told = [f"{_name(gone)} is gone, no delivery of it is left"]
    for what in ("offset", "value"):
        like = [record for record in said if getattr(record, what) == getattr(gone, what)]
        told += [f"{_name(record)} has the same {what}" for record in like[:1]]
    return "; ".join(told)


def _repeated(said: list[Ride], records: list[Ride]) -> str:
    return next((f"{_name(record)} is there twice" for record, count in Counter(said).items() if count > 1), "")


def _moved(said: list[Ride], records: list[Ride]) -> str:
    places = [records.index(record) for record in said]
    return next((f"the order has changed: {_name(b)} came before {_name(a)}" for (a, b), (i, j)
                 in zip(pairwise(said), pairwise(places)) if j < i), "")


def _name(record: Ride) -> str:
    return f"partition {record.partition} offset {record.offset}"


# --- 5.9 -------------------------------------------------------------------------------------------------------------

LIMIT = 750  # euros

hints("5.9", "How many rides lie between two of your commits, and what does one more or one less cost in a month?",
      "A commit after every ride costs 1,000 euros. A commit after every tenth lets four or five rides of each crash come "
      "twice. The cheapest is between them: commit after a few rides, with the offset of the next ride, or poll fewer at a time.",
      "minikafka/lab/labs/lab05/bill.py: the prices, and how a month is played; kafka.KafkaConsumer.poll, max_records")


@checks("5.9", matters="The price of a duplicate decides, not the name of the method. Ask for it before you write the loop.")
def my_policy(loop: Callable[[Any, Callable[[Any], None]], Any]) -> str:
    """Check by the bill of a month; what is left out comes first, whatever it costs."""
    calm = PaperWorld(**NIGHT)
    life(loop, calm)
    if left := calm.size - len({*calm.done}):
        raise Wrong(f"without any crash {left} of {calm.size} rides were never charged; your loop returned before them")
    if len(calm.done) > calm.size:
        raise Wrong(f"without any crash {counted(len(calm.done) - calm.size, 'ride')} charged twice")
    bill = bill_of(loop)
    told = [f"{name}: {row['euros']:,} euros" for name, row in bills().items()]
    twice = counted(round(CRASHES * bill.twice), "ride")
    month = (f"{bill.total:,.0f} euros a month: {bill.commits:,} commits, {twice} charged twice, "
             f"{CRASHES * bill.skipped:.0f} never")
    if bill.skipped:
        raise Wrong(f"{month}. A ride that is never charged is the dearest: a commit came before the work", told)
    if bill.total > LIMIT:
        why = "The commits cost" if bill.commits * COMMIT > CRASHES * bill.twice * TWICE else "What comes twice costs"
        raise Wrong(f"{month}; {LIMIT} are allowed. {why} most", told)
    return month


# --- 5.10 ------------------------------------------------------------------------------------------------------------

hints("5.10", "Which error says that the record will never be readable, and which one that it may work in a minute?",
      "Only the parsing may fail for good: json.loads raises a ValueError for both kinds of poison. Set that record aside and go "
      "on. An error of charge() must end the loop before the commit, so that the ride comes again.",
      "minikafka/lab/labs/lab05/poison.py: the two records, and the bank; json.loads")


@checks("5.10", matters="A loop that sets everything aside stays green while the bank is down, and nobody pays.")
def charge_all(loop: Callable[[Any, Callable[[Any], None], Callable[[Any], None]], Any]) -> str:
    """Check a run without a fault, then a death at each step and a bank that is down at each charge. What is lost comes first."""
    calm = PoisonWorld(**POISONED)
    if (error := live(loop, calm)) and not isinstance(error, ValueError):
        raise error
    if error:
        raise Wrong(f"your loop ended with {type(error).__name__} after {counted(len(calm.charged), 'charge')}; each restart "
                    "ends at the same record", calm.said[-4:])
    _judge(calm, "without any fault ")
    if len(calm.aside) > len(POISON) or len(calm.charged) > len({*calm.charged}):
        raise Wrong("without any fault a record was charged or set aside twice")
    worlds = list(every_end(loop))
    for world in worlds:
        _judge(world, "")
    return (f"{len(worlds)} deaths and unanswered charges: every ride charged, both records that are none in rides.dead, "
            "and nothing else there")


def _judge(world: PoisonWorld, when: str) -> None:
    """Raise Wrong for a ride that nobody charges, poison that is in no topic, or a ride that was set aside."""
    places = [(p, n) for p in range(world.partitions) for n in range(world.size)]
    told = _around_crash(world.said)
    if strange := [place for place in world.aside if place not in POISON]:
        raise Wrong(f"{when}a ride that can be parsed was set aside: {_some(strange)}. The bank had not answered; it will, and "
                    "nobody charges what lies in rides.dead", told)
    if lost := [place for place in places if place not in POISON and place not in world.charged]:
        raise Wrong(f"{when}{len(lost)} ride{'s' * (len(lost) > 1)} never charged: {_some(lost)}", told)
    if gone := [place for place in POISON if place not in world.aside]:
        raise Wrong(f"{when}neither charged nor in rides.dead: {_some(gone)}; nobody will ever learn of it", told)
    ends = [world.size] * world.partitions
    if world.committed != ends:
        raise Wrong(f"{when}the logs end at {ends}; committed is {world.committed}", told)


# --- 5.11 ------------------------------------------------------------------------------------------------------------

hints("5.11", "What must stand in the cluster before your program asks for more rides?",
      "A group, and the oldest ride for a new group. Work off what one poll returned, commit, poll again. At `end` "
      "commit what is done, close, and end.",
      "minikafka/lab/labs/lab05/from_nothing.py: when your program is killed; kafka.KafkaConsumer.commit")

file_exercise("5.11", killed_and_started_again, verdict,
              matters="A program is started again every day, by a deployment if by nothing worse.")
