"""D1, kill the leader: failover is automatic, and it is not instant."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka.protocol.consumer import FetchRequest

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.steady import Writer, read_all

TOPIC, TP = "positions", "positions-0"


def story(stage: Stage, session_ms: int = 3000) -> None:
    """Kill the leader when one record has reached it and no other broker; ten records a second are sent with acks=all."""
    cluster = stage.cluster(seed=1, config={"broker.session.timeout.ms": session_ms})
    cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]}, configs={"min.insync.replicas": "2"})
    writer = Writer(cluster, TOPIC, rate=10)
    cluster.sleep(3.0)
    stage.moment("ask", "Ten records a second, acks=all. Broker 1 wears the crown. I am about to pull its plug.")
    cluster.sleep(1.5)
    copies = cluster.world.hold(lambda m: m.is_response and m.api is FetchRequest and m.src == 1 and m.dst in (2, 3))
    cluster.wait(lambda: copies.frames)
    stage.moment("kill", "One record is with the leader only, dashed: it is not acknowledged. Now!")
    cluster.kill(1)
    copies.drop()
    cluster.sleep(1.5)
    stage.moment("freeze", "The leader is dead, two replicas have everything that was acknowledged, and nothing moves. Why not?")
    cluster.wait(lambda: cluster.leader(TOPIC) == 2)
    cluster.sleep(0.6)
    stage.moment("crown", "The silence is over: broker 2 leads in epoch 1, and everything that waited arrives at once.")
    cluster.sleep(2.0)
    stage.moment("restart", "Broker 1 starts again. It still has the record that nobody else had.")
    cluster.restart(1)
    cluster.wait(lambda: len(cluster.isr(TOPIC)) == 3)
    cluster.sleep(1.5)
    writer.finish()
    cluster.sleep(0.5)
    stage.moment("explain", "It has cut that record off, copied what it missed, and is in sync. The crown stays where it is.")
    stage.fact("read", read_all(cluster, TOPIC))
    stage.fact("sent", writer.sent)


def must_see(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: nobody can write for about a session, one crown moves, nothing acknowledged is lost."""
    killed = facts.of("fault", fault="kill", node=1)[0]["at"]
    quiet, again = facts.silence(TP, facts.t("ask"))
    yield MustSee(quiet <= killed and 2.0 <= again - killed <= 3.5,
               f"no acknowledgement for {again - killed:.1f} s after the kill")
    before, after = facts.leaders(TP)[0], facts.leaders(TP)[-1]
    yield MustSee((before.leader, after.leader) == (1, 2) and after.epoch == before.epoch + 1,
               f"the crown moves from broker {before.leader} to {after.leader}, epoch {before.epoch} to {after.epoch}")
    yield MustSee(len(before.isr) == 3 and after.isr == (2, 3), f"the ISR shrinks from {list(before.isr)} to {list(after.isr)}")
    cut = facts.cuts(TP)
    yield MustSee([c.broker for c in cut] == [1] and cut[0].end - cut[0].to >= 1,
               f"broker 1 cuts {sum(c.end - c.to for c in cut)} record off that was never acknowledged")
    last = facts.isrs(TP)[-1]
    yield MustSee(sorted(last.isr) == [1, 2, 3], f"the ISR grows to {sorted(last.isr)} ({last.why})")
    yield MustSee(len(facts.leaders(TP)) == 2, "leadership does not return by itself")
    promised, found = {a.offset for a in facts.acked(TP)}, [r.offset for r in facts["read"]]
    yield MustSee(promised <= {*found} and len(found) == facts["sent"] and not facts.failed(),
               f"{len(promised)} acknowledged, {len(promised - {*found})} lost, {len(found) - len({*found})} twice")
    frozen, end = run.at(facts.t("freeze"), TP), run.at(facts.t("explain"), TP)
    yield MustSee(frozen.chosen.leader != 2 and end.chosen.leader == 2 and end.chosen.epoch == 1,
               "the picture shows it: no new crown at the freeze, broker 2 crowned at the end")


DEMO = Demo(
    name="D1",
    title="Kill the leader",
    purpose="Failover is automatic, and it is not instant.",
    exercise=("0.5", "count what the kill has cost: which promises were broken?"),
    question="I kill the leader of a partition with three replicas, acks=all. What will the producer notice?",
    answers=(
        Choice("Nothing: a follower takes over at once.",
               "A dead broker looks exactly like a slow one. Somebody has to decide that it is dead, and in this cluster that "
               "takes broker.session.timeout.ms = 3 s without a heartbeat."),
        Choice("Some records are lost, and it gets errors for them.",
               "Look at the dashed record: it was never acknowledged, the producer still holds it and sends it again. "
               "Acknowledged with acks=all means that every replica in sync has it, and only one of those may lead."),
        Choice("A pause of some seconds, then everything goes on; no error, no loss.",
               "Right: two to three seconds of silence and a short election. Kafka's own default for the timeout is 9 s.",
               right=True),
        Choice("It stops until broker 1 is back.", "Only if no replica in sync were left. Two are."),
    ),
    notes=(
        "Ask first, count hands (keys a to d), then run. The commonest wrong answers are A (instant) and B (loss).",
        "At the freeze: wait. Let them say who would have to decide that broker 1 is dead, and how it could know.",
        "When the crown moves, point at the epoch: it went up by one. By it the old leader will learn that it leads no more.",
        "After the restart: broker 1 cuts its dashed record off. Ask whether that is a loss (it is not: never acknowledged, "
        "and the producer has sent it again, to broker 2).",
        "The crown does not go back by itself. Lab 6 shows the preferred election that brings it back.",
    ),
    scenes=(Scene("kill the leader, then bring it back", story, must_see),),
    seeds=("S0.25", "S1.11", "S2.12"),
    counters=("acknowledged", "wait"),
)
