"""D6, unclean election: availability bought with data."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab08.experiment import TP, C
from minikafka.lab.labs.lab08.unclean import disaster

COMMON, ALONE, LATER = 70, 30, 20
# Moments of each scene, and what the class reads then; the steps of `disaster` that are not named here are not shown.
DARK = {
    "ask": "Seventy records on all three, min.insync.replicas=1, unclean election off. Brokers 2 and 3 get stuck now.",
    "alone": "Broker 1 has a hundred, 2 and 3 have seventy. All hundred were acknowledged with acks=all. I pull its plug.",
    "later": "Two brokers live and are well, and the partition is dark. Why does neither of them take over?",
    "explain": "Only broker 1's return brings it back. A hundred of a hundred are there.",
}
LOSS = {
    "ask": "The same night, with unclean.leader.election.enable=true.",
    "alone": "Again: broker 1 has a hundred, all acknowledged, 2 and 3 have seventy. Broker 1 dies.",
    "later": "Somebody leads, and the shop is open again. It continues at offset 70. What did 70 use to be?",
    "back": "Twenty new records stand at 70 to 89. Now broker 1 returns, with its hundred. Watch its lane.",
    "explain": "Thirty records fall off, their stamps say acknowledged. The same offsets hold other records now.",
}
SAFE = {
    "ask": "Once more, with min.insync.replicas=2.",
    "alone": "Broker 1 is alone, and has acknowledged nothing since. Thirty records were refused. It dies.",
    "later": "Broker 2 leads, and the election was clean. Why? Because nothing was acknowledged without it.",
    "explain": "Broker 1 returns and loses the one record that was never acknowledged. There was nothing to lose.",
}


def story(stage: Stage, captions: dict[str, str], min_insync: int, unclean: bool) -> None:
    """Play one disaster of lab 8; `captions` has the text for the moments that the class is shown."""
    cluster = stage.cluster(seed=8, controllers=1)

    def moment(name: str) -> None:
        if name in captions:
            stage.moment(name, captions[name])
            cluster.sleep(0.3)                 # the picture shows the moment before the next event

    end = disaster(min_insync, unclean, common=COMMON, alone=ALONE, later=LATER, moment=moment, cluster=cluster)
    stage.fact("end", end)


def night(facts: SceneFacts) -> Any:
    return facts["end"]


def dark(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see with unclean election off: nobody leads, and nothing is lost."""
    end = night(facts)
    frozen = run.at(facts.t("later"), TP)
    yield MustSee(end.accepted == ALONE, f"broker 1, alone in the ISR, acknowledged {end.accepted} records with acks=all")
    yield MustSee(end.successor is None, f"after its death {end.leader} leads, and brokers "
                                      f"{[b.id for b in frozen.brokers if b.process != 'killed']} are alive")
    yield MustSee([led.leader for led in facts.leaders(TP)] == [C, C], "only broker 1 itself leads again, when it is back")
    yield MustSee(not end.lost and len(end.readable) == COMMON + ALONE, f"readable {len(end.readable)}, lost {len(end.lost)}")


def loss(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see with unclean election on: the partition is open again, and thirty acknowledged
    records are lost."""
    end, before, after = night(facts), dict(night(facts).seen), dict(night(facts).readable)
    led = facts.leaders(TP)[-1]
    yield MustSee(led.leader == end.successor != C, f"broker {led.leader}, which was not in sync, leads in epoch {led.epoch}")
    cut = [c for c in facts.cuts(TP) if c.broker == C]
    yield MustSee([(c.to, c.end) for c in cut] == [(COMMON, COMMON + ALONE)],
               f"back again, broker 1 throws {sum(c.end - c.to for c in cut)} records away, from offset {COMMON} on")
    yield MustSee(len(end.lost) == ALONE, f"{len(end.lost)} acknowledged records are lost")
    other = [o for o in before if o in after and before[o] != after[o]]
    yield MustSee(other == list(range(COMMON, COMMON + LATER)),
               f"the reader's copy disagrees with the log at {len(other)} offsets, {other[0]} to {other[-1]}")
    final = run.at(facts.t("explain"), TP)
    yield MustSee(final.ledger.lost == ALONE, f"the ledger of the picture says it too: lost {final.ledger.lost}")
    ghosts = [ghost for lane in final.chosen.lanes if lane.broker == C for ghost in lane.ghosts]
    yield MustSee(sum(g.acked for g in ghosts) == ALONE, f"{sum(g.acked for g in ghosts)} ghosts in its lane wear their stamps")


def safe(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see with min.insync.replicas=2: nothing was promised, and an eligible leader takes over
    cleanly."""
    end = night(facts)
    yield MustSee(end.accepted == 0, f"alone in the ISR, broker 1 acknowledged {end.accepted} records: {dict(end.answers)}")
    eligible = " and ".join(map(str, end.eligible))
    yield MustSee(end.successor in end.eligible,
                  f"broker {end.successor} leads after it, cleanly: eligible were {eligible}")
    yield MustSee(not end.lost and end.written_later == LATER,
                  f"{end.written_later} records more were taken, lost {len(end.lost)}")
    yield MustSee(run.at(facts.t("explain"), TP).ledger.lost == 0, "the ledger of the picture: lost 0")


DEMO = Demo(
    name="D6",
    title="Unclean election",
    purpose="Availability bought with data, and the setting that never has to choose.",
    exercise=("8.10", "be the follower: write where it must cut its log"),
    question="The leader has 100 acknowledged records, its followers, out of sync, 70. It dies. Suppose that unclean "
             "election were on: what would be lost?",
    answers=(
        Choice("Nothing: acks=all means that the records are on all replicas.",
               "On all replicas in sync. The leader was the only one, and min.insync.replicas=1 asks for no more."),
        Choice("Nothing in the end: it comes back and brings them along.",
               "It comes back as a follower. The new leader's log is the truth, and it cuts its own where the two part."),
        Choice("10: there were 100, and when all is over there are 90.",
               "Counting finds 10. But offsets 70 to 89 are filled again, with other records."),
        Choice("30, and 20 of their offsets hold something else.",
               "Right. The 20 are the worst: a consumer that read them before has a copy that contradicts the log.", right=True),
    ),
    notes=(
        "Three scenes: dark, loss, nothing to lose. Vote before the second one; the first shows what the default does.",
        "Scene 1, in the dark: both followers live and send heartbeats. Let somebody say why neither may "
        "lead. (Neither has everything.)",
        "Scene 2, 'later': stop before the new records come. Which offset will the next one get? 70. And what was 70?",
        "Scene 2, 'back': do not talk while the cells of broker 1 fall. Then count the stamps.",
        "Commonest wrong answers: A (acks=all cannot lose) and C (counting). B is what people hope for.",
        "Scene 3: the refusals are the price, paid in front of everybody. The clean election by ELR is new in Kafka 4.x; "
        "before, this cell was dark as in scene 1.",
    ),
    scenes=(
        Scene("unclean election off", partial(story, captions=DARK, min_insync=1, unclean=False), dark),
        Scene("unclean election on", partial(story, captions=LOSS, min_insync=1, unclean=True), loss),
        Scene("min.insync.replicas=2", partial(story, captions=SAFE, min_insync=2, unclean=True), safe),
    ),
    seeds=("S3.19", "S3.20", "S2.13"),
    counters=("acknowledged", "lost"),
)
