"""D4, a stuck follower, and two twins that lack equally many records: the rule instead of the slogan."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab08.experiment import LIMIT, TP, A, C, D, FetchPace, LagCluster, records_a_fetch

BEGIN = 6.0               # seconds of peace
LATER = BEGIN + 23.0


def stuck(stage: Stage) -> None:
    """Let broker 3 copy nothing any more; each second a record is sent with acks=all."""
    with stage.borrow(LagCluster(rate=2)) as room:
        room.until(BEGIN)
        stage.moment("ask", "Three in sync. Broker 3 gets stuck now: it lives, it sends heartbeats, it copies nothing.")
        room.until(BEGIN + 0.3)
        room.cluster.hold_follower(D)
        held, probes = room.now, []
        while not [change for change in room.isr_changes(after=held) if D not in change[1]]:
            probes.append(room.ask_for_all())
            room.until(room.now + 1)
            if len(probes) == 9:
                stage.fact("open at the freeze", sum(probe.answered is None for probe in probes))
                stage.moment("freeze", "A record is on two of three. Its producer has waited for nine seconds. For whom?")
        room.until(room.now + 1)
        stage.moment("out", "Broker 3 is out of the ISR. In this moment all that waited is acknowledged.")
        late = room.ask_for_all()
        room.until(room.now + 1)
        stage.fact("waited", [probe.waited for probe in probes])
        stage.fact("after", late.waited)
        stage.moment("explain", "From now on acks=all waits for two. One copy fewer, and quick again.")


def see_stuck(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: how long producers wait for a stuck follower."""
    frozen, out = run.at(facts.t("freeze"), TP), run.at(facts.t("out"), TP)
    oldest = max(producer.oldest_wait or 0 for producer in frozen.producers)
    yield MustSee(facts["open at the freeze"] == 9 and oldest > 8.5,
               f"at the freeze {facts['open at the freeze']} records with acks=all wait, the oldest for {oldest:.1f} s")
    yield MustSee(D in frozen.chosen.isr and D not in out.chosen.isr, f"the ISR shrinks from {list(frozen.chosen.isr)} to "
                                                                   f"{list(out.chosen.isr)}")
    longest = max(facts["waited"])
    yield MustSee(LIMIT < longest < 1.6 * LIMIT, f"the longest wait was {longest:.1f} s; it ended when broker 3 was out")
    yield MustSee(facts["after"] < 0.2, f"after that: {facts['after'] * 1000:.0f} ms")


def twins(stage: Stage) -> None:
    """Let broker 2 fetch little and often, so that it never gets everything, and broker 3 seldom, but everything."""
    with stage.borrow(LagCluster(own={A: records_a_fetch(5)})) as room:
        room.until(BEGIN)
        stage.moment("ask", "Two late twins. Broker 2 fetches five records twice a second; broker 3 all of them, every three "
                            "seconds.")
        FetchPace(room, A, every=0.5, first=3.5)
        FetchPace(room, D, every=3.0, first=3.2)
        room.until(BEGIN + 9.15)
        stage.moment("freeze", "Both lack some thirty records. One of them will be thrown out. Which one?")
        while not room.isr_changes(after=BEGIN):
            room.until(room.now + 0.02)
        stage.moment("verdict", "Both lack as much as before. Out is the one that has not had everything for ten seconds.")
        room.until(LATER)
        stage.fact("notes", [note for note in room.notes if note.t > BEGIN + 4])
        stage.fact("changes", [isr for _, isr, _ in room.isr_changes(after=BEGIN)])
        stage.moment("explain", "And broker 2 does not stay out: half a second later it comes in, until the leader looks again.")


def see_twins(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: two followers lack equally many records, and only one of them leaves the ISR."""
    notes, verdict = facts["notes"], run.at(facts.t("verdict"), TP).chosen
    most = {broker: max(note.behind(broker) for note in notes) for broker in (A, D)}
    watch = {broker: max(note.watch[broker] for note in notes) for broker in (A, D)}
    yield MustSee(abs(most[A] - most[D]) <= 6, f"records behind at most: broker 2 {most[A]}, broker 3 {most[D]}")
    yield MustSee(watch[A] > LIMIT and watch[D] < LIMIT,
               f"longest time without having been caught up: broker 2 {watch[A]:.1f} s, broker 3 {watch[D]:.1f} s")
    yield MustSee(A not in verdict.isr and D in verdict.isr, f"the verdict: in sync are {list(verdict.isr)}")
    for when in ("freeze", "verdict"):
        lanes = {lane.broker: lane for lane in run.at(facts.t(when), TP).chosen.lanes}
        lack, late = [lanes[C].end - lanes[b].end for b in (A, D)], [lanes[b].behind_for for b in (A, D)]
        least = LIMIT if when == "verdict" else 0.8 * LIMIT
        yield MustSee(abs(lack[0] - lack[1]) <= 5 and late[1] < 0.7 * LIMIT and late[0] > least,
                      f"{when}: brokers 2 and 3 lack {lack[0]} and {lack[1]}; late {late[0]:.1f} and {late[1]:.1f} s")
    outs = [A not in isr for isr in facts["changes"]]
    yield MustSee(outs == [True, False] * (len(outs) // 2) and len(outs) >= 4 and all(D in isr for isr in facts["changes"]),
               f"broker 2 goes out {outs.count(True)} times and comes in {outs.count(False)} times; broker 3 stays")


DEMO = Demo(
    name="D4",
    title="A stuck follower, and twins",
    purpose="The rule, not the slogan: how long ago did it last have everything?",
    exercise=("8.4", "compute the second at which a stuck follower is out"),
    question="One of two followers gets stuck: it lives, but copies nothing. What does a producer with acks=all notice?",
    answers=(
        Choice("Nothing: two of three is a majority.",
               "No majority is asked. acks=all waits for every member of the ISR, and the stuck one is a member."),
        Choice("Errors, until the follower works again.",
               "It would, if min.insync.replicas were 3. Here two are enough, as soon as the third is out of the ISR."),
        Choice("It waits for more than ten seconds, once; then all is as before.",
               "Right: until the leader has waited for replica.lag.time.max.ms and looks. From then on the ISR has two members.",
               right=True),
        Choice("Everything gets a little slower, for as long as it is stuck.",
               "One long wait, not many short ones. And nothing in the producer's log tells why."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are A (a majority is enough) and B (errors).",
        "At the freeze: read the producer's oldest wait aloud. Broker 3 sends heartbeats, so the controller is content.",
        "At 'out': all the waiting records are acknowledged in one moment. The high watermark jumps.",
        "Second scene, at the freeze: vote again, by hands. Most of the class throws the lazy twin out.",
        "Then compare the stopwatches. The lazy one goes back to zero every three seconds, the busy one never does.",
        "At the end: to stay in, the stopwatch counts. To come in, it is enough to reach the high watermark, and that waits for "
        "the lazy one. So the busy one flaps.",
    ),
    scenes=(Scene("stuck", stuck, see_stuck), Scene("twins", twins, see_twins)),
    seeds=("S3.18", "S3.19"),
    counters=("wait", "behind"),
)
