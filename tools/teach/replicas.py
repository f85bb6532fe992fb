"""Questions about the replicas of a partition (labs 6 and 8): what can be read, who is in sync, what is refused, cut, lost.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

from minikafka.broker.replication.isr import Isr
from minikafka.broker.replication.replica import Replica
from minikafka.lab.labs.lab06.checks import PartitionState
from minikafka.lab.labs.lab08.traces import Case, TracedFetch, members
from minikafka.proof.small_worlds.replication.lone_replica import ReplicaLog
from minikafka.protocol.errors import KafkaError
from tools.teach import drawings
from tools.teach.question import Kind, Question, listed, mistakes, of_numbers, of_texts, right_answer

ENDS_ARE = "an end is the next offset to be written"


def high_watermark(rng: Random) -> Question:
    newest = rng.randrange(60, 100)
    ends = {1: newest, 2: newest - rng.randrange(1, 9), 3: newest - rng.randrange(10, 20), 4: newest - rng.randrange(20, 40)}
    isr = [1, *sorted(rng.sample((2, 3, 4), rng.choice((1, 2))))]
    right = int(right_answer("6.2")(dict(ends), list(isr)))
    options = of_numbers(rng, right, mistakes("6.2", ends, isr))
    state = (f"broker 1 leads; in sync: {listed(isr, 'broker')}; min.insync.replicas=1", ENDS_ARE)
    return Question(6, state, "Where is the high watermark?", *options, drawing=drawings.logs(ends, isr, 1))


REASONS = {"nobody leads": "No: nobody leads the partition.", "it was": "No: retention has deleted it.",
           "it is": "No: it is not written yet.", "the high": "No: not every replica in sync has it.", "": "Yes."}


def readable(rng: Random) -> Question:
    start, newest = rng.randrange(10, 20), rng.randrange(60, 70)
    ends = {1: newest, 2: newest - rng.randrange(2, 9), 3: newest - rng.randrange(10, 20)}
    isr = (1, *rng.sample((2, 3), rng.choice((1, 1, 2))))
    state = PartitionState(rng.choice((1, 1, 1, 1, 1, None)), isr, start, ends)
    n = rng.choice((start - 1, start, *(ends[b] - d for b in (1, 2, 3) for d in (0, 1))))
    said = state.why_not(n) or ""
    right = next(reason for words, reason in REASONS.items() if said.startswith(words))
    lines = (f"{'broker 1' if state.leader else 'nobody'} leads; in sync: {listed(sorted(isr), 'broker')}",
             f"the log starts at {start}; {ENDS_ARE}")
    options = (*REASONS.values(),)
    return Question(6, lines, f"Does a consumer get record {n}?", options, options.index(right),
                    drawing=drawings.logs(ends, isr, state.leader, start))


def stop(rng: Random) -> Question:
    """Which brokers may be stopped: the rule is asked about each broker alone."""
    least, brokers = rng.choice((1, 2, 2, 3)), (1, 2, 3, 4)
    isr = {f"p{n}": sorted(rng.sample(brokers, rng.choice((least, least + 1, least + 1)))) for n in range(3)}

    def words(said: Any) -> str:
        return listed([broker for broker, found in zip(brokers, said) if found == broker], "broker", "none of them")
    right = words([right_answer("6.7")([broker], dict(isr), least) for broker in brokers])
    wrong = map(words, zip(*(mistakes("6.7", [broker], isr, least) for broker in brokers)))
    near = [listed([broker], "broker") for broker in rng.sample(brokers, len(brokers))]
    table = (("partition", "in sync"), *((name, ", ".join(map(str, ids))) for name, ids in isr.items()))
    state = (f"min.insync.replicas={least}; all four brokers are alive",
             "a stop is allowed if every partition then still has that many replicas in sync")
    return Question(6, state, "Which of the brokers 1 to 4 may be stopped now, each of them alone?",
                    *of_texts(rng, right, wrong, near), table)


def fetches(rng: Random, name: int, rate: int, now: int) -> list[TracedFetch]:
    """Return the fetches of a follower: healthy, or silent from some moment on, or with room for few records."""
    until = rng.choice((now, now, now, now - 4, now - 8))
    most = rng.choice((1000, 1000, 1000, 2 * rate))
    offset, found = 0, []
    for t in range(3 + name % 2, until + 1, rng.choice((3, 4))):
        found.append(TracedFetch(float(t), name, offset, rate * t))
        offset = min(rate * t, offset + most)
    return found


def in_sync(rng: Random) -> Question:
    rate, now = rng.choice((2, 5, 10)), rng.choice((20, 21, 22))
    rows = sorted(fetches(rng, 2, rate, now) + fetches(rng, 3, rate, now))
    right = members(Case(0, "", float(now), rate * now, tuple(rows)))
    options = [{1}, {1, 2}, {1, 3}, {1, 2, 3}]
    table = (("second", "broker", "fetches from offset", "the leader's log ends at"),
             *((str(int(row.t)), str(row.follower), str(row.offset), str(row.leader_end)) for row in rows))
    state = ("broker 1 leads; at second 0 its log was empty, and brokers 2 and 3 were in sync; here are all fetches since then",
             f"the leader looks at second {now}, and its log ends at {rate * now} then",
             "replica.lag.time.max.ms=10000: who is late by more than that is removed")
    return Question(8, state, "Who is in sync after this look?", tuple(listed(sorted(one), "broker") for one in options),
                    options.index(right), table)


def leaves(rng: Random) -> Question:
    stopped = rng.randrange(12, 40)
    look = stopped - rng.randrange(0, 8)
    right = int(right_answer("8.4")(stopped, look))
    state = (f"a follower has everything at second {stopped}, and gets nothing from then on",
             f"the leader looks at second {look}, and every 5 seconds after that",
             "replica.lag.time.max.ms=10000: who is late by more than that is removed")
    return Question(8, state, "At which second does the leader remove it from the ISR?",
                    *of_numbers(rng, right, mistakes("8.4", stopped, look), (5, 10, 15)))


ACKS = {0: "acks=0", 1: "acks=1", -1: "acks=all"}


def accepts(rng: Random) -> Question:
    """Which of three requests a broker writes; the broker's own check, before it appends."""
    replicas = (1, 2, 3)[:rng.choice((2, 3, 3))]
    isr, least = replicas[:rng.randrange(1, len(replicas) + 1)], rng.choice((1, 2, 2, 3, 3))
    leader = rng.choice((1, 1, 1, isr[-1]))
    replica = Replica(1, ReplicaLog(), SimpleNamespace(), 10.0, least, leader=leader, replicas=replicas, isr=Isr(isr))
    written = []
    for acks, name in ACKS.items():
        try:
            replica.check_append(acks)
            written.append(name)
        except KafkaError:
            continue
    right = ", ".join(written) or "none"
    options = ("acks=0, acks=1, acks=all", "acks=0, acks=1", "acks=0", "none")
    state = (f"the partition has {listed(replicas, 'broker')} as replicas; in sync: {listed(isr, 'broker')}",
             f"min.insync.replicas={least}; broker {leader} leads",
             "three requests arrive at broker 1: one with acks=0, one with acks=1, one with acks=all")
    return Question(8, state, "The records of which requests does broker 1 write to its log?", options, options.index(right))


def history(parts: list[tuple[int, int]]) -> ReplicaLog:
    log = ReplicaLog()
    for epoch, records in parts:
        log.append(records, epoch)
    return log


def cut(rng: Random) -> Question:
    """A follower that has led returns: it asks and cuts until the leader finds no more difference."""
    common, own, theirs = rng.randrange(10, 30), rng.randrange(2, 9), rng.randrange(2, 9)
    old, led = rng.randrange(1, 4), rng.random() < 0.6
    ours = [(old, common), (old + 1, own), *([(old + 2, rng.randrange(2, 6))] if led else [])]
    leaders = [(old, common), (old + 1, theirs), (old + 3, rng.randrange(3, 12))]
    log, leader = history(ours), Replica(1, history(leaders), SimpleNamespace(), 10.0, leader=1)
    follower, end = Replica(2, log, SimpleNamespace(), 10.0, leader=1), log.end_offset
    for _ in range(len(ours)):
        if (found := leader.divergence(log.end_offset, log.epochs.latest)) is not None:
            for effect in follower.on_diverging(found):
                log.truncate(effect.offset)
    table = (("", "epoch", "first offset", "end"), *_spans("leader", leaders), *_spans("follower", ours))
    state = ("broker 1 leads, broker 2 follows; both logs start at 0; an end is the next offset after the last record",
             "the follower comes back, and has to cut off what the leader does not have")
    wrong = [common, common - 1, common - own, log.end_offset - 1, end, leader.log.end_offset, common + own, common + theirs]
    return Question(8, state, "Where does the follower's log end before it copies the first new record?",
                    *of_numbers(rng, log.end_offset, wrong), table, drawings.spans({1: leaders, 2: ours}, 1))


def _spans(name: str, parts: list[tuple[int, int]]) -> list[tuple[str, ...]]:
    rows, start = [], 0
    for epoch, records in parts:
        rows.append((name, str(epoch), str(start), str(start + records)))
        start += records
    return rows


def broken(rng: Random) -> Question:
    first = rng.randrange(50, 90)
    acknowledged = [(first + n, f"order {100 + n}") for n in range(7)]
    kept = rng.randrange(2, 6)
    readable = [*acknowledged[:kept], *((first + n, f"order {rng.choice((100 + n, 200 + n, 99 + n))}")
                                        for n in range(kept, rng.randrange(kept, 9)))]
    right = len(right_answer("8.2")(list(acknowledged), list(readable)))
    there = dict(readable)
    table = (("offset", "acknowledged", "readable now"),
             *((str(o), dict(acknowledged).get(o, "-"), there.get(o, "-")) for o in sorted({*dict(acknowledged), *there})))
    wrong = [len(said) for said in mistakes("8.2", acknowledged, readable) if isinstance(said, list)]
    state = ("an acknowledgement promises this value at this offset", "a dash: nothing was acknowledged, or nothing stands there")
    return Question(8, state, "How many promises are broken?", *of_numbers(rng, right, wrong), table)


KINDS = {"high-watermark": Kind("Where is the high watermark?", high_watermark),
         "readable": Kind("Does a consumer get this record, and if not, why?", readable),
         "stop": Kind("Which broker may be stopped?", stop),
         "in-sync": Kind("Who is in sync, by the fetches?", in_sync, "caught_up_at_any_fetch"),
         "leaves": Kind("When does a follower leave the ISR?", leaves),
         "accepts": Kind("Which requests does a leader write?", accepts, "min_insync_not_checked"),
         "cut": Kind("Where does a follower cut its log?", cut, "truncates_to_leaders_end_only"),
         "broken": Kind("How many promises are broken?", broken)}
