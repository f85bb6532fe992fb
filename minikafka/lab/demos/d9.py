"""D9, the lost acknowledgement: an error is not an absence."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.demos.twins import surplus
from minikafka.lab.demos.twins import twins as framed
from minikafka.lab.labs.lab10.experiment import TOPIC, TP, ProduceWire, answered, lose
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import read_all

SENDS, EVERY, SHOWN = 100, 10, 20     # of each tenth record the first answer is lost; the story stops at the twentieth


def story(stage: Stage, idempotent: bool) -> None:
    """Send a hundred records, one after the other; the answer to every tenth is lost, and the producer sends that
    record again."""
    cluster = stage.cluster(seed=9, controllers=1)
    replicated(cluster, TOPIC)
    wire, told = ProduceWire(cluster), []
    producer = cluster.watch(cluster.producer(idempotent=idempotent, name="till"), "till")
    for number in range(1, SENDS + 1):
        hold = wire.hold_answer() if number % EVERY == 0 else None
        promise = producer.post(TOPIC, f"order {number}", partition=0)
        if hold is not None:
            cluster.wait(lambda hold=hold: hold.frames)
            if number == SHOWN:
                _freeze(stage, cluster)
            lose(cluster, hold)
        told.append(cluster.run(answered(promise))[1])
        if number == SHOWN - 4:
            stage.moment("ask", f"{number} records are sent. enable.idempotence={str(idempotent).lower()}. "
                                "Soon an answer is lost on its way back.")
        cluster.sleep(0.5 if SHOWN - 4 <= number <= SHOWN else 0.05)
        if number == SHOWN:
            _again(stage, idempotent, told[-1])
            cluster.sleep(0.05)  # the next record is sent after the moment
    cluster.sleep(0.5)
    found = [record.value for record in read_all(cluster, TOPIC)]
    stage.moment("explain", f"{SENDS} records were sent, {SENDS} acknowledged. In the log stand {len(found)}.")
    stage.fact("told", told)
    stage.fact("found", found)
    stage.fact("attempts", wire.attempts)


def _freeze(stage: Stage, cluster: Any) -> None:
    """Freeze when the record is on every broker and its producer does not know it."""
    cluster.sleep(0.4)
    stage.moment("freeze", "The last record is on all three brokers, solid, and without a stamp. Its answer gets lost now. "
                           "What will the producer do?")
    cluster.sleep(0.1)


def _again(stage: Stage, idempotent: bool, offset: int) -> None:
    stage.moment("again", f"Sent again, recognised, and acknowledged at its old offset, {offset}." if idempotent else
                          f"Sent again, and written again, at {offset}. The twin at {offset - 1} has no stamp, and is read too.")


def must_see(run: Any, facts: SceneFacts, written: int) -> Iterator[MustSee]:
    """Yield what the class must see when the log must hold `written` records: twins stand side by side, or there are none."""
    told, found = facts["told"], facts["found"]
    before, after, end = (run.at(facts.t(name), TP) for name in ("freeze", "again", "explain"))
    last = before.chosen.lanes[0].cells[-1]
    yield MustSee(last.readable is True and not last.acked and {lane.end for lane in before.chosen.lanes} == {last.offset + 1},
               f"at the freeze record {last.offset} is on {len(before.chosen.lanes)} brokers, readable, and not acknowledged")
    grew = after.chosen.log_end - before.chosen.log_end
    yield MustSee(grew == (written > SENDS), f"sent again, it makes the log longer by {grew}")
    yield MustSee(len(told) == SENDS and len(found) == written, f"{len(told)} acknowledged, {len(found)} in the log")
    twins = [value for value in dict.fromkeys(found) if found.count(value) > 1]
    beside = all(found[found.index(value) + 1] == value for value in twins)
    yield MustSee(len(twins) == written - SENDS and beside,
               f"{len(twins)} twins, side by side: {', '.join(twins[:3])} ..." if twins else "no twins")
    pairs = [(a, b) for a, b in zip(facts["attempts"], facts["attempts"][1:]) if (a.sequence, b.sequence) != (-1, -1)]
    same = [b.offset for a, b in pairs if a.sequence == b.sequence]
    if written == SENDS:
        yield MustSee(len(same) == SENDS // EVERY and all(a.offset == b.offset for a, b in pairs if a.sequence == b.sequence),
                   f"{len(same)} times the same producer id and sequence came again, and was acknowledged with the old offset")
    drawn = framed(after.chosen.lanes[0])
    yield MustSee([surplus(each) for each in (after, end)] == ([2, 10] if written > SENDS else [0, 0]),
                  f"the counter of what is written twice says {surplus(after)}, and {surplus(end)} at the end")
    yield MustSee(drawn[-1:] == ([last.offset] if written > SENDS else []), f"framed as twins on the page: {drawn or 'none'}")
    yield MustSee(not facts.failed() and end.ledger.lost == 0, "the producer was told of no error, and nothing is lost")


def _scene(idempotent: bool, written: int) -> Scene:
    return Scene("with idempotence" if idempotent else "without idempotence", partial(story, idempotent=idempotent),
                 partial(must_see, written=written))


DEMO = Demo(
    name="D9",
    title="The lost acknowledgement",
    purpose="An error is not an absence: no answer does not mean no record.",
    exercise=("10.3", "be the leader: recognise a batch that was sent twice"),
    question="A hundred records are sent without idempotence. Ten answers get lost. How many records are in the log?",
    answers=(
        Choice("90: what was not acknowledged is not there.",
               "The answer was lost, not the record. A producer cannot tell these two apart."),
        Choice("100: the broker sees that it has these records already.",
               "It could compare nothing but bytes, and two equal records may both be meant. It needs a number for each."),
        Choice("110: ten records are there twice.",
               "Right. The retry protects against loss, and pays with duplicates.", right=True),
        Choice("100, but the producer got ten errors.",
               "It got none. It tried again by itself, and learned the offset of the second copy."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are B (the broker notices) and A (no answer, no record).",
        "At the freeze: the last record has no stamp. For its producer it is as if nothing had been written.",
        "At 'again': count from the stamps. The record without one is a copy that no producer knows of, and all consumers read.",
        "Second scene: the same loss. Producer id and sequence number are the two numbers that the broker compares.",
        "The log does not get longer, the stamp lands on the old record. This is the default since Kafka 3.0.",
        "Ask at the end: what if the program calls send() twice? (Then two records are right. Only retries are recognised.)",
    ),
    scenes=(_scene(False, SENDS + SENDS // EVERY), _scene(True, SENDS)),
    seeds=("S0.15", "S3.10"),
    counters=("sent", "acknowledged", "log end", "twins"),
)
