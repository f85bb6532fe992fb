"""Checks of lab 4: lag per partition (4.3), a member (4.4) and its loop (4.5) on a real broker, an assignment (4.6), a plan for a
night (4.9), the offsets of a moment (4.10)."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from numbers import Integral, Number
from typing import Any

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab04.bench import BATCH, ENDS, TOPIC, settle, the_bench
from minikafka.lab.labs.lab04.night import DEADLINE, RIDES, shift
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.values import shown
from minikafka.lab.wants import kind, whole

Lags = dict[int, int | None]
Shares = dict[str, list[tuple[str, int]]]
Log = list[tuple[int, int]]  # (offset, timestamp) of each record
Logs = dict[int, Log]


# --- 4.3 ----------------------------------------------------------------------------------------------------------------

hints("4.3", "A group has committed 0 in one partition and nothing at all in another. Do you know how far it is in the second?",
      "Where nothing is committed, nobody knows where the group will begin: at the start, at the end, or where a member stands "
      "that has not committed yet. The honest answer is None. Elsewhere: end minus committed, and never below 0.",
      "minikafka/lab/picture/draw/group.py, which writes \"?\" for such a lag")


@checks("4.3", matters="A monitor that takes unknown for 0 stays green while a group has never read anything.")
def lag_of(answer: Callable[[dict[int, int], dict[int, int]], Lags]) -> str:
    """Check with forty groups: with all commits, with some, with none, and with a commit beyond an end that was read
    earlier."""
    for ends, committed in [({0: 100, 1: 100}, {0: 90, 1: 100}), ({0: 100, 1: 7}, {1: 7}), ({0: 5}, {}),
                            ({0: 5, 1: 5}, {0: 0, 1: 6}), *(_group(number) for number in range(36))]:
        said, told = answer(dict(ends), dict(committed)), [f"log ends:  {ends}", f"committed: {committed}"]
        for p, end in sorted(ends.items()):
            if p not in said:
                raise Wrong(f"partition {p} is missing in your answer {shown(dict(said))}", excerpt=told)
            lag, why = None, "nothing is committed there, so nobody can know"
            if p in committed:
                lag = max(end, committed[p]) - committed[p]
                why = (f"the commit, {committed[p]}, is newer than the end that you were given, {end}; a lag is never below 0"
                       if committed[p] > end else f"from the committed offset {committed[p]} to the end {end}")
            if said[p] != lag:
                raise Wrong(f"partition {p}: you said {shown(said[p])}, it is {lag!r}: {why}", excerpt=told)
        if strangers := [p for p in said if p not in ends]:
            raise Wrong(f"there is no partition {shown(strangers[0])}", excerpt=told)
    return "40 groups, unknown lags among them"


def _group(number: int) -> tuple[dict[int, int], dict[int, int]]:
    rng = random.Random(number + 43)
    ends = {p: rng.choice([0, 1, rng.randrange(10_000)]) for p in range(rng.randint(1, 6))}
    committed = {p: min(end + 2, rng.randrange(end + 3)) for p, end in ends.items() if rng.random() < 0.7}
    return ends, committed


# --- 4.4 ----------------------------------------------------------------------------------------------------------------

hints("4.4", "Which three of the settings in the table must differ from what Kafka takes by itself?",
      "A name for the group; where it begins as long as nothing is committed; and that nobody but your own loop commits.",
      "minikafka/lab/labs/lab05/member.py: SETTINGS and `consume`, the program of the members that you have killed")


@checks("4.4", seconds=90,
        matters="A new group with the default `latest` reads nothing of what is there, and nobody sees an error.")
def member(answer: Callable[[str, str], KafkaConsumer]) -> str:
    """Check on a real broker, from outside: is there a member, where does it begin, and what is committed after its close."""
    bench = the_bench()
    group = bench.new_group()
    consumer = answer(bench.bootstrap, group)
    if not isinstance(consumer, KafkaConsumer):
        raise Wrong(f"your function returned {kind(consumer)}; a KafkaConsumer is wanted")
    try:
        if TOPIC not in (consumer.subscription() or ()):
            raise Wrong(f"your consumer has not subscribed to {TOPIC}: the topic is the first argument of KafkaConsumer")
        first = settle(consumer)
        if not bench.members(group):
            raise Wrong(f"the coordinator knows no member of the group that was asked for, {group}: are both parameters used?")
        if behind := {tp.partition: offset for tp, offset in sorted(first.items()) if offset}:
            raise Wrong(f"a new group would begin at {shown(behind)} (partition: offset) and never see what is there already; "
                        "it must begin at 0")
    finally:
        with suppress(Exception):  # an error is told already, or the student has closed it
            consumer.close()
    if committed := bench.committed(group):
        raise Wrong(f"nobody has called commit(), and after close() the group has committed {shown(committed)}: "
                    "the consumer does it by itself")
    return f"the coordinator counts one member of {group}; it began at 0, and committed nothing by itself"


# --- 4.6 ----------------------------------------------------------------------------------------------------------------

hints("4.6", "If you deal out each topic by itself and begin with the same member each time, who gets the odd ones?",
      "Make one list of all partitions of all topics, in order, and deal it out to the members, in order of their names, one "
      "after the other, as one deals cards.",
      "minikafka/client/consumer/assignors.py, `assign_range`: it deals topic by topic; yours must not")


@checks("4.6", matters="A partition that is given to two members is worked on twice; one that is given to nobody is never read.")
def share_out(answer: Callable[[list[str], dict[str, int]], Shares]) -> str:
    """Check with sixty groups: fewer members than partitions, more members, many small topics, members in any order. One rule
    after the other, the gravest first."""
    groups = [_assignment(number) for number in range(60)]
    shares = [_pairs(answer(list(members), dict(topics))) for members, topics in groups]
    for rule in (_all_given, _given_once, _even):
        for said, (members, topics) in zip(shares, groups):
            if told := rule(said, members, topics):
                raise Wrong(told, excerpt=_told(members, topics))
    for said, (members, topics) in zip(shares, groups):
        for order in (members[::-1], members[1:] + members[:1]):
            again = _pairs(answer(list(order), dict(topics)))
            if {m: sorted(each) for m, each in again.items()} != {m: sorted(each) for m, each in said.items()}:
                raise Wrong(f"the same members in another order, {', '.join(order)}, got other partitions: then two members that "
                            "compute the shares do not agree", excerpt=_told(members, topics))
    return "60 groups: every partition exactly once, and nobody has two more than another"


def _told(members: list[str], topics: dict[str, int]) -> list[str]:
    return [f"members: {', '.join(members)}", f"partitions: {topics}"]


def _pairs(said: Any) -> Shares:
    """Return the shares with every pair as a tuple; Wrong where there are no pairs."""
    found: Shares = {}
    for member, share in said.items():
        share = list(share) if isinstance(share, Iterable) and not isinstance(share, (str, Mapping)) else [share]
        found[member] = [tuple(pair) if isinstance(pair, Iterable) else (pair,) for pair in share]
        for pair, each in zip(found[member], share):
            if [isinstance(part, kind) for part, kind in zip(pair, (str, Integral))] != [True, True] or len(pair) > 2:
                raise Wrong(f"{member} gets {shown(each)}; a list of pairs (topic, number) is wanted")
    return found


def _all_given(said: Shares, members: list[str], topics: dict[str, int]) -> str:
    given = {pair for each in said.values() for pair in each}
    missing = [(topic, p) for topic, count in topics.items() for p in range(count) if (topic, p) not in given]
    unknown = [pair for pair in given if pair[1] not in range(topics.get(pair[0], 0))]
    told = [f"nobody gets {missing[0]}"] if missing else []
    if unknown:
        told += [f"there is no partition {unknown[0]}: those of a topic are counted from 0"]
    return "; ".join(told)


def _given_once(said: Shares, members: list[str], topics: dict[str, int]) -> str:
    owners: dict[tuple[str, int], list[str]] = {}
    for member, each in said.items():
        for pair in each:
            owners.setdefault(pair, []).append(member)
    twice = [f"{pair} is given out {len(who)} times: to {', '.join(who)}" for pair, who in owners.items() if len(who) > 1]
    return twice[0] if twice else ""


def _even(said: Shares, members: list[str], topics: dict[str, int]) -> str:
    if absent := sorted({*members} - {*said}):
        return f"{absent[0]} is missing in your answer; a member without partitions gets an empty list"
    if strangers := [member for member in said if member not in members]:
        return f"there is no member {shown(strangers[0])}"
    most, least = max(said, key=lambda m: len(said[m])), min(said, key=lambda m: len(said[m]))
    more = len(said[most]) - len(said[least])
    return f"{most} has {more} partitions more than {least}: {len(said[most])} and {len(said[least])}" if more > 1 else ""


def _assignment(number: int) -> tuple[list[str], dict[str, int]]:
    rng = random.Random(number + 45)
    members = [f"C{n}" for n in range(1, rng.choice([1, 2, 3, 4, 5, 8]) + 1)]
    rng.shuffle(members)
    return members, {f"topic-{n}": rng.randint(1, 4) for n in range(rng.choice([1, 1, 2, 5, 9]))}


# --- 4.5 ----------------------------------------------------------------------------------------------------------------

hints("4.5", "After which line of yours is a batch done, and when does the loop end?",
      "poll returns a dictionary: for each partition the list of its records. Work on all of them, then commit once. An empty "
      "dictionary ends the loop.",
      "labs/05-commit-and-crash.ipynb, section 3, where the place of this line is the whole subject; kafka.KafkaConsumer.commit")


@checks("4.5", matters="A loop that never commits works well, until the first restart: then everything comes again.", seconds=60)
def work_off(answer: Callable[[KafkaConsumer, Callable[[Any], None]], Any]) -> str:
    """Check on a real broker: at each ride, what has the group committed, seen from outside? First what is left out, then what
    is committed too early, then what is committed too late or never."""
    bench = the_bench()
    group = bench.new_group()
    done: list[tuple[int, int]] = []
    notes: list[dict[int, int]] = []            # what was committed when the work on each ride began

    def work(record: Any) -> None:
        if not isinstance(record, ConsumerRecord):
            raise Wrong(f"work() takes one record; your loop gives it {kind(record)}")
        notes.append(bench.committed(group))
        done.append((record.partition, record.offset))

    with closing(bench.joined(group)) as consumer:
        answer(consumer, work)
    committed, total = bench.committed(group), sum(ENDS.values())
    if left := [(p, n) for p, end in ENDS.items() for n in range(end) if (p, n) not in done]:
        raise Wrong(f"your loop returned after {len({*done})} of {total} rides; rides-{left[0][0]} offset {left[0][1]} is left")
    if twice := [place for place in done if done.count(place) > 1]:
        raise Wrong(f"rides-{twice[0][0]} offset {twice[0][1]} was worked on {done.count(twice[0])} times")
    for place, note in enumerate(notes):
        for p, offset in note.items():
            if (behind := sum(q == p for q, _ in done[:place])) < offset:
                raise Wrong(f"the group had committed {offset} in rides-{p} when you had worked on {behind} of its rides: "
                            "if you die here, nobody does the others")
    if committed != ENDS:
        raise Wrong(f"the log ends at {ENDS}; committed is {shown(committed) if committed else 'nothing'}. "
                    "Whoever comes next begins there")
    late = [place for place, note in enumerate(notes) if place - sum(note.values()) >= 2 * BATCH]
    if late:
        raise Wrong(f"after {counted(late[0], 'ride')} {sum(notes[late[0]].values())} were committed; a "
                    f"poll brings {BATCH} at most, and after each of them one commit is wanted")
    return f"{total} rides, each once; the group has committed {committed}, and never ahead of your work"


# --- 4.9 ----------------------------------------------------------------------------------------------------------------

hints("4.9", "Which setting decides how long a dead member is waited for, and which one finds a member that hangs?",
      "session.timeout.ms counts from the last heartbeat: longer than a cable may be out, no longer. max.poll.interval.ms counts "
      "from the last poll: longer than the longest honest batch, no longer. More members than needed are paid for nothing.",
      "minikafka/lab/labs/lab04/night.py: the four accidents, and `shift`")

PLAN = ("members", "group.protocol", "session.timeout.ms", "max.poll.interval.ms")
BOUNDS = (("members", 1, 12), ("session.timeout.ms", 100, 1_800_000), ("max.poll.interval.ms", 100, 3_600_000))
ENOUGH = 4  # members; with three no setting keeps the deadline


@checks("4.9", matters="The defaults fit nobody in particular: 45 seconds for a crash, five minutes for a deadlock.", seconds=60)
def plan(answer: Callable[[], dict[str, Any]]) -> str:
    """Check by the night itself: what hangs for good first, then rides that come twice, the deadline, and the wages."""
    chosen = _plan(dict(answer()))
    found = shift(chosen)
    told = [f"rides-{wait.partition}: nobody for {wait.seconds:.0f} s from second {wait.begin:.0f} on; its accident: {wait.after}"
            for wait in found.waits]
    if found.seconds is None:
        raise Wrong(f"{found.left} of {RIDES} rides were never done: after the crash and the deadlock nobody was left", told)
    if found.twice:
        raise Wrong(f"{counted(found.twice, 'ride')} {verb(found.twice, 'was', 'were')} charged twice: a member that lived was "
                    "given up in the middle of its batch", told)
    if found.seconds > DEADLINE:
        raise Wrong(f"done after {found.seconds:.0f} s; the deadline is {DEADLINE:.0f} s", told)
    if chosen["members"] > ENOUGH:
        raise Wrong(f"done after {found.seconds:.0f} s, in time; but {chosen['members']} members are paid, and {ENOUGH} can "
                    "do it under one of the two protocols")
    return f"done after {found.seconds:.0f} s with {counted(chosen['members'], 'member')}, and no ride was charged twice"


def _plan(said: dict[str, Any]) -> dict[str, Any]:
    """Return a plan with plain values; Wrong where it is none."""
    if left_out := [name for name in PLAN if name not in said]:
        raise Wrong(f"your plan has no {shown(left_out[0])}; its entries are {', '.join(map(shown, said)) or 'none'}")
    if strange := [name for name in said if name not in PLAN]:
        raise Wrong(f"leave out {shown(strange[0])}: a plan has four entries, {', '.join(PLAN)}")
    found: dict[str, Any] = {"group.protocol": str(said["group.protocol"]).strip().lower()}
    if found["group.protocol"] not in ("classic", "consumer"):
        raise Wrong(f"group.protocol is \"classic\" or \"consumer\", not {shown(said['group.protocol'])}")
    for name, least, most in BOUNDS:
        number = whole(said[name])
        if number is None or not least <= number <= most:
            of = " of milliseconds" if name.endswith(".ms") else ""
            raise Wrong(f"{name} is a whole number{of} from {least:,} to {most:,}, not {shown(said[name])}")
        found[name] = number
    return found


# --- 4.10 ---------------------------------------------------------------------------------------------------------------

hints("4.10", "The group shall see everything of the last ten minutes again. Which is the first record that it must see?",
      "In each partition: the smallest offset whose timestamp is not before `since`. Timestamps are given by the senders and "
      "need not be in order, and offsets may have gaps. Where there is no such record, the group has nothing to see: the end.",
      "labs/02-one-partition-is-a-file.ipynb, on looking up a time")


@checks("4.10", matters="An offset that is one too high leaves out a record; a partition that is forgotten is not rewound.")
def rewound(answer: Callable[[Logs, dict[int, int], int], dict[int, int]]) -> str:
    """Check with forty topics: in order, out of order, with gaps, with records of exactly that moment, from offset 0 on, and
    with partitions in which no record is young enough. First whether a record is left out, then whether old ones come again."""
    topics = [({0: [(0, 1_000_000), (1, 1_010_000)]}, {0: 2}, 1_000_000), *(_log(number) for number in range(39))]
    answers = [answer({p: list(log) for p, log in logs.items()}, dict(ends), since) for logs, ends, since in topics]
    for rule in (_left_out, _again):
        for said, (logs, ends, since) in zip(answers, topics):
            for p, log in logs.items():
                if told := rule(said[p], log, ends[p], since) if p in said else "it is missing in your answer":
                    raise Wrong(f"partition {p}: {told}", excerpt=_around(log, ends[p], since))
    return "40 topics, partitions without any young record among them"


def _left_out(said: Any, log: Log, end: int, since: int) -> str:
    """Say which records the group would not see."""
    if not isinstance(said, Number):
        return f"you said {shown(said)}; an offset is wanted, and the end where no record is of `since` or later"
    missed = [(offset, stamp) for offset, stamp in log if stamp >= since and offset < said]
    if not missed:
        return ""
    offset, stamp = missed[0]
    why = "; its timestamp is exactly `since`" if stamp == since else ""
    if older := [each for each, stamp in log if each > offset and stamp < since]:
        why += f"; an older one, {older[0]}, stands behind it"
    many = counted(len(missed), "record") + verb(len(missed), ", that", ", the first of them")
    return f"you said {said}; the group would miss {many} at offset {offset}{why}"


def _again(said: int, log: Log, end: int, since: int) -> str:
    """Say that the group would not begin with a record that is young enough."""
    places = [place for place, (_, stamp) in enumerate(log) if stamp >= since]
    if not places:
        return "" if said == end else f"you said {said}; no record is of `since` or later, so the place is the end, {end}"
    first, place = log[places[0]][0], places[0]
    why = f"; {place} is its place in the list" if said == place else ": older ones would come again"
    return "" if said == first else f"you said {said}; the first record of `since` or later has offset {first}{why}"


def _log(number: int) -> tuple[Logs, dict[int, int], int]:
    rng = random.Random(number + 411)
    since, logs, ends = 1_000_000, {}, {}
    for p in range(rng.randint(1, 4)):
        offset, stamp, log = rng.randrange(50), since - rng.randrange(300_000), []
        for _ in range(rng.choice([0, 1, 5, 20])):
            moved = stamp + rng.choice([0, 0, rng.randrange(-90_000, 90_000)]) * (number % 2)
            log.append((offset, since if number % 5 == 0 and moved >= since else moved))
            offset, stamp = offset + (1 if number % 3 else rng.randint(1, 4)), stamp + rng.randrange(40_000)
        logs[p], ends[p] = log, offset
    return logs, ends, since


def _around(log: Log, end: int, since: int) -> list[str]:
    """Show the log round its first record that is young enough."""
    first = next((place for place, (_, stamp) in enumerate(log) if stamp >= since), len(log))
    begin = max(0, min(first - 3, len(log) - 8))
    shown = [f"offset {offset}: timestamp {stamp}{_beside(stamp, since)}" for offset, stamp in log[begin:begin + 8]]
    return [f"since {since}; the log ends at {end}", *["..."] * (begin > 0), *shown, *["..."] * (begin + 8 < len(log))]


def _beside(stamp: int, since: int) -> str:
    return "" if stamp < since else "  <- exactly that moment" if stamp == since else "  <- later"
