"""D10, decapitate the quorum: who decides is not who stores."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Writer, read_all

TOPIC, TP = "positions", "positions-0"
RATE = 4
LIMIT = 10.0              # replica.lag.time.max.ms of the class cluster, in seconds


def story(stage: Stage) -> None:
    """Kill two of three controllers, one after the other, and then a follower; three brokers stand beside the controllers."""
    cluster = stage.cluster(seed=10, controllers=3)
    replicated(cluster, TOPIC, min_insync_replicas=2)
    writer = Writer(cluster, TOPIC, rate=RATE, name="writer", delivery_timeout=60.0)
    cluster.sleep(3.0)
    first = cluster.controller()
    stage.moment("ask", f"Three brokers store. Three controllers decide, {first} is the active one. I kill it.")
    cluster.sleep(0.5)
    cluster.kill(first)
    cluster.wait(lambda: cluster.controller() not in (None, first))
    cluster.sleep(2.0)
    second = cluster.controller()
    stage.moment("one dead", f"Controller {second} is active now. Was a record late? No: a record asks no controller. "
                             f"Now I kill {second}, too.")
    cluster.sleep(0.5)
    cluster.kill(second)
    cluster.sleep(6.0)
    stage.moment("two dead", "No majority, nobody decides. And the records? As before. So why do we need controllers at all?")
    cluster.sleep(0.5)
    cluster.kill(3)
    cluster.sleep(LIMIT * 1.5 + 2)
    stage.moment("freeze", "Follower 3 has been dead for 17 s, and is in sync. Two of three have everything. Nothing is "
                           "acknowledged. Why?")
    cluster.sleep(0.5)
    cluster.restart(first)
    cluster.wait(lambda: 3 not in cluster.isr(TOPIC), timeout=40)
    cluster.sleep(2.0)
    writer.finish()
    stage.moment("explain", f"Controller {first} is back: two of three decide again, 3 leaves the ISR, and all that waited is "
                            "acknowledged.")
    stage.fact("dead", (first, second))
    stage.fact("sent", writer.sent)
    stage.fact("read", read_all(cluster, TOPIC))


def must_see(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: no record is late while controllers die; it is when a broker dies that writing stops."""
    kills = {e["node"]: e["at"] for e in facts.of("fault", fault="kill")}
    first, second = facts["dead"]
    acks = [ack.t for ack in facts.acked(TP)]

    def longest(begin: float, end: float) -> float:
        inside = [begin, *(t for t in acks if begin < t < end), end]
        return max(b - a for a, b in zip(inside, inside[1:]))

    one, two = longest(kills[first], kills[second]), longest(kills[second], kills[3])
    yield MustSee(one < 2 / RATE, f"controller {first} is killed: no record is late (longest silence {one:.2f} s)")
    yield MustSee(two < 2 / RATE, f"controller {second} is killed too: none either, for {kills[3] - kills[second]:.1f} s")
    frozen, end = run.at(facts.t("freeze"), TP), run.at(facts.t("explain"), TP)
    stalled = longest(kills[3], facts.t("freeze"))
    yield MustSee(stalled > LIMIT * 1.5 and 3 in frozen.chosen.isr,
               f"broker 3 is killed: no acknowledgement for {stalled:.1f} s; the ISR is still {list(frozen.chosen.isr)}")
    held = {lane.broker: lane.end for lane in frozen.chosen.lanes}
    yield MustSee(held[1] == held[2] > frozen.chosen.high_watermark,
               f"brokers 1 and 2 hold records up to {held[1]}, the high watermark is {frozen.chosen.high_watermark}")
    yield MustSee(len(end.chosen.isr) == 2 and len(facts.leaders(TP)) == 1,
               f"with {first} back the ISR is {list(end.chosen.isr)}; the leader of the partition has never changed")
    found = [record.offset for record in facts["read"]]
    yield MustSee(found == [*range(facts["sent"])] and not facts.failed(),
                  f"{facts['sent']} sent, {len(found)} stored, none lost")


DEMO = Demo(
    name="D10",
    title="Decapitate the quorum",
    purpose="Who decides is not who stores: the data goes on without controllers, until something has to be decided.",
    exercise=("9.6", "be a controller: whom do you give your vote?"),
    question="Three brokers, three controllers. I kill the active controller, then a second one. What does a producer notice?",
    answers=(
        Choice("It stops at the first: no controller, no Kafka.",
               "Producers talk to the leader of a partition, and never to a controller. And the other two elect one at once."),
        Choice("It stops at the second: a majority of controllers is gone.",
               "Nobody can decide anything then. But to store a record nothing has to be decided."),
        Choice("Nothing, until a broker fails as well.",
               "Right. Then the ISR ought to shrink, and nobody can write that down. acks=all waits.", right=True),
        Choice("It loses what was written meanwhile.", "The records are with the brokers. Controllers hold metadata only."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are A (the head is off) and B (the majority is gone).",
        "At 'one dead': ask whether anybody saw a gap. Step back and forth over the kill.",
        "At 'two dead': ask what would fail now. (A new topic, a new leader, a change of the ISR.)",
        "At the freeze: the leader wants broker 3 out since five seconds and may not say so by itself. Read the high watermark.",
        "At the end: one controller is back, and two of three are a majority. Ask how many controllers you need to survive two.",
    ),
    scenes=(Scene("two controllers, then a follower", story, must_see),),
    seeds=("S0.28", "S3.7"),
    counters=("controllers", "wait"),
)
