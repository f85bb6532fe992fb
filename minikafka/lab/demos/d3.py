"""D3, a slow follower: it fetches without a pause, and is thrown out."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab08.experiment import LIMIT, TP, C, D, FetchPace, LagCluster, records_a_fetch

SLOW_AT, FAST_AT = 9.5, 29.5
EVERY, EACH = 0.5, 1      # seconds between two fetches, records in each: two a second
FAST = 0.05               # seconds between two fetches later: twenty a second


def story(stage: Stage, each: int = EACH) -> None:
    """Let broker 3 copy only `each` records every half second, for twenty seconds; five records a second are sent."""
    with stage.borrow(LagCluster(rate=5, own={D: records_a_fetch(each)})) as room:
        room.until(SLOW_AT - 1)
        stage.moment("ask", "Five records a second, acks=1. From now on broker 3 gets only two a second. It never stops "
                            "fetching.")
        room.until(SLOW_AT)
        pace = FetchPace(room, D, every=EVERY)
        room.until(SLOW_AT + 4)
        stage.moment("behind", "It fetches twice a second, and falls behind by three records each second.")
        overdue(room)
        stage.moment("freeze", "Its stopwatch has passed ten seconds, and broker 3 is still in sync. Who looks at it, and when?")
        room.until(FAST_AT)
        stage.fact("fetches", len(pace.sent))
        stage.moment("out", "The leader looked, and broker 3 is out. It fetches as before. Now it gets twenty a second.")
        pace.every = FAST
        room.until(room.now + 8)
        stage.moment("explain", "It is in again: not when it was fast, but when it had reached the end.")
        stage.fact("notes", room.notes)
        stage.fact("changes", room.isr_changes())


def overdue(room: Any) -> None:
    """Wait until broker 3's stopwatch is past the limit."""
    while room.notes[-1].watch[D] <= LIMIT:
        room.until(room.now + 0.1)


def must_see(run: Any, facts: SceneFacts, each: int = EACH) -> Iterator[MustSee]:
    """Yield what the class must see: broker 3 never stops fetching, and the leader removes it from the ISR all the same."""
    notes, changes = facts["notes"], facts["changes"]
    frozen, end = run.at(facts.t("freeze"), TP).chosen, run.at(facts.t("explain"), TP).chosen
    lane = next(lane for lane in frozen.lanes if lane.broker == D)
    yield MustSee(facts["fetches"] >= 38, f"{facts['fetches']} fetches in {FAST_AT - SLOW_AT:.0f} s: it never stops")
    yield MustSee(D in frozen.isr and lane.behind_for is not None and lane.behind_for > LIMIT,
               f"at the freeze it has not been caught up for {lane.behind_for:.1f} s, and is in sync: {list(frozen.isr)}")
    out = next((change for change in changes if D not in change[1]), None)
    watch = next((note.watch[D] for note in reversed(notes) if out and note.t <= out[0]), 0)
    yield MustSee(out is not None and LIMIT < watch <= 1.5 * LIMIT,
                  f"the leader throws it out {watch:.1f} s after it was caught up")
    behind = max(note.behind(D) for note in notes)
    yield MustSee(behind > 55, f"it is {behind} records behind at most")
    back = changes[-1]
    there = [note for note in notes if note.t >= back[0]][0]
    yield MustSee(sorted(back[1]) == [1, 2, 3] and back[0] > FAST_AT and there.behind(D) <= 2,
               f"it is let in {back[0] - FAST_AT:.1f} s after it was fast, {there.behind(D)} records behind")
    yield MustSee(end.leader == C and len(end.isr) == 3, "three in sync at the end; the leader has never changed")


DEMO = Demo(
    name="D3",
    title="A slow follower",
    purpose="Fetching is not enough: in sync is who has caught up within the last ten seconds.",
    exercise=("8.6", "write the rule by which a leader removes a follower from the ISR"),
    question="Five records a second are written. A follower copies two a second and never stops. Is it in sync?",
    answers=(
        Choice("Yes: it fetches all the time, so it is alive and well.",
               "Alive, yes. The leader does not ask for life but for one moment, within the last ten seconds, with everything."),
        Choice("No: it is out as soon as it is too many records behind.",
               "Kafka counted records until 0.8. A burst then threw healthy followers out. There is no such setting any more."),
        Choice("For more than ten seconds yes, then no.",
               "Right: replica.lag.time.max.ms, 10 s here and 30 s by default, and then the leader has to look, which it does at "
               "every half of that time.", right=True),
        Choice("It comes and goes with each fetch.", "A fetch moves the stopwatch only if it reached the leader's end."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answers are A (it fetches) and B (it counts records).",
        "At 'behind': the lane of broker 3 grows, only more slowly than the leader's. Show the stopwatch beside it.",
        "At the freeze: more than ten seconds, and still in the bracket. The leader looks every five seconds: when next?",
        "At 'out' look at the high watermark: it stands at the end of broker 2 now. Before, it waited for broker 3.",
        "At the end: it was fast again at once, but was let in only at the end of the log.",
    ),
    scenes=(Scene("two records a second of five", partial(story, each=EACH), must_see),),
    seeds=("S3.18",),
    counters=("behind",),
)
