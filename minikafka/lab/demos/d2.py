"""D2, cut the network: two brokers believe that they lead, and only one of them can keep a promise."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.demos.machine import Machine
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Writer, read_all

TOPIC, TP = "positions", "positions-0"
SLOW, CUT = 2, 8.0        # records a second of each writer; seconds that the network is cut


def story(stage: Stage) -> None:
    """Cut off broker 1, which leads, together with two writers; a third writer is on the other side."""
    cluster = stage.cluster(seed=2, controllers=1)
    replicated(cluster, TOPIC, min_insync_replicas=2)
    near = Machine(cluster, "near", 1)
    loose = Writer(near, TOPIC, rate=SLOW, acks=1, prefix="loose ", name="acks=1")
    strict = Writer(near, TOPIC, rate=SLOW, acks=-1, idempotent=False, prefix="strict ", name="acks=all", delivery_timeout=5.0)
    cluster.sleep(2.0)
    stage.moment("ask", "Broker 1 leads. Two writers stand beside it: one with acks=1, one with acks=all. "
                        "I cut broker 1 and its writers off.")
    cluster.sleep(0.7)
    stage.fact("before", [*loose.acked, *strict.acked])
    near.reach_only(1)
    for other in (2, 3, 101, "clients"):
        cluster.world.cut(1, other)
    cut = cluster.now()
    cluster.wait(lambda: cluster.leader(TOPIC) == 2)
    far = Writer(cluster, TOPIC, rate=SLOW, prefix="far ", name="far side")
    cluster.sleep(cut + CUT - cluster.now())
    for writer in (loose, strict):
        writer.stop()
    stage.fact("while cut", ([*loose.acked], [*strict.acked], [*strict.failed]))
    stage.moment("freeze", "Two crowns. Broker 1 does not know that it was replaced. Which of its writers was told the truth?")
    cluster.sleep(0.3)
    cluster.heal()
    cluster.wait(lambda: sorted(cluster.isr(TOPIC)) == [1, 2, 3], timeout=30)
    far.finish()
    cluster.sleep(1.0)
    stage.moment("explain", "Broker 1 has cut off what only it had. Hatched in red: acknowledged, and gone.")
    stage.fact("read", read_all(cluster, TOPIC))


def must_see(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: two crowns, and which of the acknowledgements given by the old leader are kept."""
    loose, strict, failed = facts["while cut"]
    before, frozen, end = facts["before"], run.at(facts.t("freeze"), TP).chosen, run.at(facts.t("explain"), TP)
    crowns = {lane.broker: lane.epoch for lane in frozen.lanes if lane.believes_leader}
    yield MustSee(set(crowns) == {1, 2} and crowns[1] + 1 == crowns[2],
               "two crowns: " + ", ".join(f"broker {broker} in epoch {epoch}" for broker, epoch in crowns.items()))
    cut = facts.of("fault", fault="cut")[-1]["at"]
    alone = [ack for ack in loose if ack not in before]
    yield MustSee(len(alone) > 10, f"in {facts.t('freeze') - cut:.1f} s, broker 1 acknowledges {len(alone)} records with acks=1")
    yield MustSee(all(ack in before for ack in strict) and len(failed) > 0,
               f"with acks=all it acknowledges {len([a for a in strict if a not in before])}; {len(failed)} have timed out: "
               f"{sorted({f.error for f in failed})}")
    cuts = [c for c in facts.cuts(TP) if c.broker == 1]
    yield MustSee(len(cuts) == 1 and cuts[0].end - cuts[0].to > len(alone),
               f"healed, broker 1 cuts {sum(c.end - c.to for c in cuts)} records off, from offset {cuts[0].to} on")
    found = {record.value for record in facts["read"]}
    lost = [ack for ack in loose if ack.value not in found]
    yield MustSee(lost == alone, f"{len(lost)} acknowledged records are lost, all of them with acks=1 after the cut")
    yield MustSee(all(ack.value in found for ack in strict), f"of the {len(strict)} acknowledged with acks=all, none")
    yield MustSee(end.ledger.lost == len(lost), f"the ledger of the picture says it too: lost {end.ledger.lost}")


DEMO = Demo(
    name="D2",
    title="Cut the network",
    purpose="Two believers, one truth: the old leader cannot know that it was replaced.",
    exercise=("8.2", "find the promises that were broken, and what stands there now"),
    question="The leader is cut off from everybody but its own writers. What do those writers get?",
    answers=(
        Choice("Errors at once: it knows that it has lost the others, and steps down.",
               "It knows that nobody fetches. That is also what two slow followers look like. It leads until somebody tells it."),
        Choice("Acknowledgements as before: nothing is lost, the copies are made later.",
               "With acks=1 they get them, and every one is a promise that nobody keeps: a new leader has other records there."),
        Choice("With acks=1 acknowledgements that will be broken; with acks=all none.",
               "Right. acks=all waits for replicas that cannot answer. It tells no lie, because it says nothing.", right=True),
        Choice("Both writers find the new leader by themselves.",
               "They would, if they could reach it. They stand on the wrong side of the cut."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are A (it steps down) and B (it catches up later).",
        "At the freeze: count the crowns, and read both epochs. The hollow one is only believed.",
        "Ask which writer you would like to be. acks=1 is happy. acks=all waits, and has learned more.",
        "When the network heals, say nothing. Then count the red stretch: each of these records was acknowledged.",
        "Close: no clock and no majority of one's own could help broker 1. The epoch is what ends the argument.",
    ),
    scenes=(Scene("cut broker 1 off, with its writers", story, must_see),),
    seeds=("S0.27", "S0.28", "S2.13"),
    counters=("producers",),
)
