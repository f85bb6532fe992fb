"""D13, two rules side by side: the one that the class votes for, and Kafka's, in the same night."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.inside.goals import two_are_enough
from minikafka.lab.inside.night import TOPIC, TP
from minikafka.lab.inside.student import Student
from minikafka.lab.inside.table import in_brokers, rule
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Writer

A, C, D = 1, 2, 3
ASK, FREEZE, LED, BACK = 4.2, 9.2, 14.2, 15.9     # seconds of the cluster's clock
FOUR = ("ask", "freeze", "led", "explain")
Mark = Callable[[dict[int, int], list[int]], int]
KAFKA = "Kafka: all in sync"


def leader_alone(leo: dict[int, int], isr: list[int]) -> int:
    """Return a high watermark for which only the leader has to have a record."""
    return max(leo[broker] for broker in isr)


def every_replica(leo: dict[int, int], isr: list[int]) -> int:
    """Return a high watermark for which every replica has to have a record, in sync or not."""
    return min(leo.values())


def story(stage: Stage, mark: Mark | None, captions: tuple[str, ...], held: tuple[int, ...]) -> None:
    """Play the night with this high watermark, or Kafka's own: those held copy nothing, broker 1 dies, and 2 leads."""
    row = rule("6.2")
    with in_brokers(row, Student(mark)) if row and mark else nullcontext():
        cluster = replicated(stage.cluster(seed=13, controllers=1), TOPIC, (A, C, D))

        said = iter(zip(FOUR, captions))

        def moment(t: float) -> None:
            cluster.sleep(t - cluster.now())
            stage.moment(*next(said))

        writer = Writer(cluster, TOPIC, rate=0.6, name="truck", acks=-1, idempotent=False)
        moment(ASK)
        cluster.sleep(0.3)
        for follower in held:
            cluster.hold_follower(follower)
        moment(FREEZE)
        cluster.sleep(0.3)
        cluster.kill(A)
        cluster.heal()
        moment(LED)
        cluster.sleep(0.3)
        cluster.run(cluster.world.restart(A))
        moment(BACK)
        cluster.sleep(0.1)
        writer.stop()


def loses(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see of a rule that promises too early: quick at the freeze, and records lost at the end."""
    frozen, led, end = (run.at(facts.t(name), TP) for name in FOUR[1:])
    promised, had = frozen.ledger.acknowledged, _end(frozen, C)
    yield MustSee(promised > had and _waiting(frozen) == 0, f"left: {promised} acknowledged; broker 2, in sync, ends at {had}")
    yield MustSee(frozen.other.ledger.acknowledged == had and _waiting(frozen.other) == promised - had,
                  f"right: {had} acknowledged, {_waiting(frozen.other)} wait for broker 2")
    yield MustSee(led.chosen.leader == led.other.chosen.leader == C, "broker 1 dies, broker 2 leads on both sides")
    yield MustSee(end.ledger.lost == promised - had > 0, f"left: {end.ledger.lost} of {end.ledger.acknowledged} are lost")
    yield from _kept(end.other)


def stands(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see of a rule that waits for the dead: nothing is lost, and writers wait until all are back."""
    frozen, led, end = (run.at(facts.t(name), TP) for name in FOUR[1:])
    yield MustSee(_waiting(frozen) == _waiting(frozen.other) > 0, f"at the freeze {_waiting(frozen)} wait on both sides")
    yield MustSee(_waiting(led) > _waiting(frozen) and _waiting(led.other) == 0,
                  f"broker 2 leads: left {_waiting(led)} wait, right {_waiting(led.other)}")
    yield MustSee(A not in led.chosen.isr and _end(led, C) > led.chosen.high_watermark,
                  "left they wait for broker 1, which is dead and not in sync")
    yield MustSee(end.ledger.lost == 0 == _waiting(end), f"broker 1 is back: {end.ledger.acknowledged} acknowledged, 0 lost")
    yield from _kept(end.other)


def _kept(frame: Any) -> Iterator[MustSee]:
    yield MustSee(frame.ledger.lost == 0 and _waiting(frame) == 0, f"right: {frame.ledger.acknowledged} acknowledged, 0 lost")


def _end(frame: Any, broker: int) -> int:
    ends = {lane.broker: lane.end for lane in frame.chosen.lanes}
    return int(ends[broker] or 0)


def _waiting(frame: Any) -> int:
    return sum(producer.waiting for producer in frame.producers)


SAME = "Two clusters, one night; only the rule differs: who must have a record? "
WAITS = "Left, everything is acknowledged. Right, the producer waits for {}. Now broker 1 dies. Which side is better?"
HEIR = "Broker 2 leads on both sides: it was in sync. Left, it never had three of the records that were acknowledged."
ALONE = (SAME + "Now brokers 2 and 3 copy nothing any more.", WAITS.format("brokers 2 and 3"), HEIR,
         "Broker 1 is back, and cuts off what broker 2 does not have. Left, three acknowledged records are gone. They were on "
         "broker 1 alone.")
PAIR = (SAME + "Now broker 2 copies nothing any more.", WAITS.format("broker 2"), HEIR,
        "Broker 1 is back. Left, three acknowledged records are gone. They were on two of three brokers, 1 and 3, and both have "
        "cut them off.")
DEAD = (SAME + "Now broker 2 copies nothing any more.",
        "Both sides wait: broker 2 is in sync. So far the rules say the same. Now broker 1 dies.",
        "Broker 2 leads on both sides. Right, the producer goes on. Left, it waits: for whom?",
        "Left, all waited for broker 1, which was dead. Nothing is lost, but one death stopped every writer.")


def _scene(title: str, mark: Mark, see: Any, captions: tuple[str, ...], *held: int) -> Scene:
    same = partial(story, captions=captions, held=held)
    return Scene(f"your rule: {title}", partial(same, mark=mark), see, beside=(KAFKA, partial(same, mark=None)))


DEMO = Demo(
    name="D13",
    title="Two rules side by side",
    purpose="A promise counts only if everybody who may lead can keep it.",
    exercise=("6.8", "plan the night in which the weaker rule loses a record"),
    question="Three brokers have a copy. Which of them must have a record before its producer reads that it is stored?",
    answers=(
        Choice("The leader: it has written it to its log.",
               "That is acks=1. If the leader dies, the next one may never have had the record.", scene=0),
        Choice("Two of the three: a majority.",
               "Any broker in sync may lead next, also the third. A majority needs an election that compares logs.", scene=1),
        Choice("All that are in sync.",
               "Right: each of them may lead next. One that is slow leaves the ISR; then nobody waits for it.", right=True),
        Choice("All three, always.",
               "Nothing is lost, but one dead broker stops every writer.", scene=2),
    ),
    notes=(
        "Ask, vote. After the answer the page goes to the rule with the most hands; space runs it. Key s: the next rule.",
        "If most are right, take the answer in second place: the page does that by itself.",
        "At the freeze vote again, by hands: which cluster is better? (Most say left: nobody waits there.)",
        "At 'led' compare the lanes of broker 2. It has the crown on both sides, and left its log is short.",
        "At the end count the red boxes. They had a tick: a producer has read that they are stored.",
        "'All three' looks safe until the death. Ask who decides that a broker does not count any more. (The controller.)",
        "Lab 6, exercises 6.2 and 6.8: there the class writes the rule, and breaks one.",
    ),
    scenes=(_scene("the leader alone", leader_alone, loses, ALONE, C, D), _scene("two of three", two_are_enough, loses, PAIR, C),
            _scene("all three", every_replica, stands, DEAD, C)),
    seeds=("S3.16", "S0.25"),
)
