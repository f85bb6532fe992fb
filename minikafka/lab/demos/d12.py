"""D12, Spark restarts under a broker's failure: three books of progress, and a batch that is written twice.

What is shown was recorded with real brokers and a real Spark (restart.py), so that a class needs neither Java nor a network.
"""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, Event, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.demos.restart import FIRST, LATER, RECORDINGS, WAITING, sealed

DEAD_AT = FIRST + WAITING          # the end of the batch after which Spark dies
ALL = DEAD_AT + LATER
AGAIN = [*range(FIRST, DEAD_AT)]


def story(stage: Stage, kind: str) -> None:
    """Play a recorded run with a sink of this kind, and tell at its last moment what the notary says of the evidence."""
    from minikafka.lab.picture.facts.run import RecordedRun
    tape = RecordedRun.open(RECORDINGS / f"d12-{kind}.mk")
    events = list(tape.events)
    report = sealed(events)
    cries, rows = report.cries, report.counts["rows in the sink"]
    stage.replay([*events, _verdict(events, cries)], tape.engine)
    stage.moment("ask", f"Spark copies trips from Kafka to a database, which {_SINKS[kind]}. All agree: {FIRST} trips.")
    stage.moment("killed", f"The leader is killed. {WAITING} trips are about to come, Spark goes on asking. What will be lost?")
    stage.moment("freeze", f"The next leader took {WAITING} trips, Spark wrote them, and died: no commits/1. "
                           "Three books, two answers.")
    stage.moment("restart", "One more trip is in the log, the broker is back. Spark starts again. What does it write first?")
    again = [event for event in events if event["k"] == "written" and event["batch"] == 1][-1]["rows"]
    stage.moment("again", f"Exactly batch 1 again: offsets/1 says {again[0][0]} to {again[-1][0]}. Trip {DEAD_AT} has to wait. "
                          f"The sink has each of them {'twice' if again[0][1] == 2 else 'once'}.")
    stage.moment("explain", f"Log and checkpoint agree again. {ALL} trips were sent, the sink has {rows} rows: "
                            f"{cries['lost']} lost, {cries['duplicate']} duplicates.")
    stage.fact("cries", cries)


_SINKS = {"append": "appends a row for each", "keyed": "has one row for each trip's number"}


def _verdict(events: list[Event], cries: dict[str, int]) -> Event:
    """Return the notary's report as an event at the last moment of a run."""
    (last,) = (event for event in events if event["k"] == "moment" and event["name"] == "explain")
    client = next(event["client"] for event in events if event["k"] == "written")
    return {**last, "n": last["n"] + 1, "k": "verdict", "client": client, "counts": cries}


def must_see(run: Any, facts: SceneFacts, kind: str) -> Iterator[MustSee]:
    """Yield what the class must see for a sink of this kind: the leader dies, Spark dies after a write, and which rows
    come again."""
    tp = f"trips-{kind}-0"
    before, after = run.at(facts.t("ask"), tp).chosen, run.at(facts.t("freeze"), tp).chosen
    first, last = before.leader, after.leader
    yield MustSee(first != last and last is not None and after.epoch > before.epoch,
               f"broker {first} is killed, broker {last} leads in epoch {after.epoch}")
    killed = next(event["at"] for event in facts.of("fault", fault="kill"))
    silent = next(acked.t for acked in facts.acked(tp) if acked.t > killed) - killed
    planned = next(event["at"] for event in facts.of("batch", batch=1)) - killed
    yield MustSee(1 < silent < planned,
                  f"the next trip is acknowledged after {silent:.1f} s, batch 1 planned after {planned:.1f} s")
    yield from _at_its_death(after)
    restarted, (query,) = run.at(facts.t("restart"), tp).chosen, run.at(facts.t("explain"), tp).chosen.queries
    yield MustSee(restarted.log_end == ALL, f"before the restart the log has {restarted.log_end} trips")
    again = [offset for event in facts.of("written", batch=1) for offset, _ in event["rows"]]
    second = next(batch for batch in run.at(facts.t("again"), tp).chosen.queries[0].batches if batch.number == 1)
    yield MustSee(again == AGAIN * 2 and not second.done,
               f"batch 1 is written twice, offsets {AGAIN[0]} to {AGAIN[-1]} both times, without {DEAD_AT}")
    yield MustSee(all(batch.done for batch in query.batches) and query.done == 2, "in the end each plan has its commit: 0, 1, 2")
    rows = {each.offset: each.rows for each in query.sink}
    wanted = {offset: 2 if kind == "append" and offset in AGAIN else 1 for offset in range(ALL)}
    yield MustSee(rows == wanted, f"the sink has {sum(rows.values())} rows for {ALL} trips")
    cries = facts["cries"]
    twice = len(AGAIN) if kind == "append" else 0
    yield MustSee((cries["lost"], cries["duplicate"], cries["reordered"], cries["phantom"]) == (0, twice, 0, 0)
               and (cries["totals"] == 0) == (kind == "keyed") and query.verdict == tuple(cries.items()),
               "the notary: " + ", ".join(f"{count} {name}" for name, count in cries.items()))


def _at_its_death(chosen: Any) -> Iterator[MustSee]:
    """Yield what the three books say after the crash."""
    (query,) = chosen.queries
    yield MustSee(query.running is False and [(b.number, b.start, b.end, b.done) for b in query.batches if b.number] == [
        (1, FIRST, DEAD_AT, False)], f"Spark is dead: offsets/1 plans up to {DEAD_AT}, there is no commits/1")
    there = {each.offset: each.rows for each in query.sink}
    yield MustSee(there == dict.fromkeys(range(DEAD_AT), 1), f"the sink has all {len(there)} trips already, each once")


def _scene(kind: str, title: str) -> Scene:
    return Scene(title, partial(story, kind=kind), partial(must_see, kind=kind))


DEMO = Demo(
    name="D12",
    title="Spark restarts",
    purpose="A broker fails, then Spark. Only the sink knows what was written twice, so the sink has to bear it.",
    exercise=("13.4", "write the sink that bears a repetition"),
    question="The leader dies. Later Spark dies, after it wrote batch 1 and before it noted that. What does the restart do?",
    answers=(
        Choice("It goes on with what is new: batch 1 is in the database.",
               "Spark never asks the database. It asks its checkpoint, and there is no commits/1."),
        Choice("It writes exactly batch 1 again, then what is new.",
               "Right: offsets/1 says from where to where. Whether that makes duplicates is decided by the sink.", right=True),
        Choice("Nothing comes twice: Spark promises exactly once.",
               "It promises that for its state and for sinks that bear repetition. A plain INSERT does not."),
        Choice("Trips are lost: the leader died with them.",
               "With acks=all the next leader has what was acknowledged; the others were sent again by the producer."),
    ),
    notes=(
        "A recorded run of real brokers and a real Spark; it needs no Java here. Lab 13 does it live, lab 14 has the notary.",
        "Ask, vote, run. The commonest wrong answers are A (Spark looks into the database) and C (exactly once).",
        "At the freeze read the lanes aloud: log 5, commits up to 2, sink 5. Which of them does Spark believe?",
        "At 'restart' trip 5 is in the log. Will it be in the first batch? (No: offsets/1 is older.)",
        "At 'again' commits/1 is still missing. If Spark died now, the rows would come a third time.",
        "Scene 2: the same with a key. Batch 1 is written twice again ('2 writes'), and each trip has one row.",
        "Ask what was changed: a line of the sink. Nothing in Kafka, nothing in Spark.",
    ),
    scenes=(_scene("append", "the sink appends"), _scene("keyed", "the sink has a key")),
    seeds=("S2.17", "S2.18"),
    counters=("books", "notary"),
)
