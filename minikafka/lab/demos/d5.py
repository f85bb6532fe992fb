"""D5, refusal: unavailable on purpose."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.lab08.experiment import TOPIC, TP, A, C, D
from minikafka.lab.labs.lab08.unclean import one_try
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Reader, Writer
from minikafka.sim.engine.watched import Told

RECORDS = 40


def story(stage: Stage, min_insync: int = 2) -> None:
    """Stop brokers 2 and 3 when all three have forty records, send one record with acks=all and one with acks=1, and
    start 2 again."""
    cluster = stage.cluster(seed=5, controllers=1)
    replicated(cluster, TOPIC, [C, A, D], min_insync_replicas=min_insync)
    Writer(cluster, TOPIC, rate=10, count=RECORDS)
    reader = Reader(cluster, TOPIC)
    cluster.sleep(RECORDS / 10 + 1.0)
    for follower in (A, D):
        cluster.stop(follower)
    cluster.wait(lambda: cluster.isr(TOPIC) == [C])
    cluster.sleep(1.0)
    stage.moment("ask", "min.insync.replicas=2. Brokers 2 and 3 are down, only the leader is in sync. "
                        "I send a payment with acks=all.")
    cluster.sleep(0.3)
    strict, loose = Told(cluster.world, "acks=all", None), Told(cluster.world, "acks=1", None)
    stage.fact("strict", one_try(cluster, "a payment", acks=-1, told=strict)[0])
    cluster.sleep(1.0)
    stage.moment("refused", "Refused, and the log has not changed. The same broker, the same second: now with acks=1.")
    cluster.sleep(0.3)
    stage.fact("loose", one_try(cluster, "a log line", acks=1, told=loose)[0])
    cluster.sleep(1.5)
    stage.fact("read while alone", len(reader.records))
    stage.moment("freeze", "Stored and acknowledged, drawn dashed, and nobody may read it. What is it waiting for?")
    cluster.sleep(0.3)
    cluster.restart(A)
    cluster.wait(lambda: len(cluster.isr(TOPIC)) == 2)
    cluster.sleep(1.5)
    stage.fact("read at the end", len(reader.records))
    stage.fact("again", one_try(cluster, "a payment", acks=-1, told=strict)[0])
    cluster.sleep(0.5)
    stage.moment("explain", "Two in sync: the line jumps, the record turns solid and is read, and payments are taken again.")


def must_see(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: the record with acks=all is refused; that with acks=1 is stored, and cannot be
    read at first."""
    ask, frozen, end = (run.at(facts.t(name), TP).chosen for name in ("ask", "freeze", "explain"))
    refused = run.at(facts.t("refused"), TP).chosen
    yield MustSee(facts["strict"] == "NOT_ENOUGH_REPLICAS", f"acks=all: {facts['strict']}")
    yield MustSee(refused.log_end == ask.log_end == RECORDS, f"the log has not changed: it ends at {refused.log_end}")
    failed = facts.failed("acks=all")
    yield MustSee(len(failed) == 1 and failed[0]["certain"], "its producer was told so for certain, not left in doubt")
    yield MustSee(facts["loose"] == "NONE" and (frozen.log_end, frozen.high_watermark) == (RECORDS + 1, RECORDS),
               f"acks=1: accepted at offset {RECORDS}; log end {frozen.log_end}, high watermark {frozen.high_watermark}")
    cell = next(cell for lane in frozen.lanes if lane.role == "leader" for cell in lane.cells if cell.offset == RECORDS)
    yield MustSee(cell.readable is False and cell.acked, "the record stands dashed above the line, with its stamp")
    yield MustSee(facts["read while alone"] == RECORDS, f"the reader has {facts['read while alone']} records and does not get it")
    yield MustSee(facts["read at the end"] == RECORDS + 1 and end.high_watermark > RECORDS,
               f"broker 2 is back: the high watermark jumps to {RECORDS + 1} and beyond, the reader gets the record")
    yield MustSee(facts["again"] == "NONE" and len(end.isr) == 2, f"with {len(end.isr)} in sync the payment is accepted")


DEMO = Demo(
    name="D5",
    title="Refusal",
    purpose="Unavailable on purpose: an honest no instead of a promise that cannot be kept.",
    exercise=("8.8", "choose min.insync.replicas for two services, and let three faults judge it"),
    question="Three replicas, min.insync.replicas=2. Two are down, the leader lives. What happens to a record with acks=all?",
    answers=(
        Choice("It is stored: all replicas in sync have it, and that is the leader alone.",
               "That is what happens with min.insync.replicas=1, the default. acks=all counts the members of the ISR, and an "
               "ISR of one makes it acks=1 without telling anybody."),
        Choice("It waits until a second replica is back.",
               "It would wait if the ISR had shrunk while the record was under way. A new one is refused before it is written: "
               "the log does not change by a byte."),
        Choice("It is refused at once, and the log is not touched.",
               "Right: NOT_ENOUGH_REPLICAS. The producer may try again, and a person is woken before anything is lost.",
               right=True),
        Choice("It is stored, and the producer gets an error.",
               "That was NOT_ENOUGH_REPLICAS_AFTER_APPEND, which hardly occurs any more: the high watermark stands still "
               "below the minimum, so such a record times out instead."),
    ),
    notes=(
        "Ask, vote, run. A is the commonest wrong answer, and it is true for most clusters in this room: 1 is the default.",
        "At 'refused' read the error aloud. Compare log end and high watermark: both at 40.",
        "Before you go on, ask: and acks=1? Most say refused (it is accepted), the rest say readable (it is not).",
        "At the freeze let them look for the record: dashed, stamped, right of the line. Who may read it? Nobody.",
        "When broker 2 is back: one fetch, and the line jumps. Point at the reader's finger as it moves.",
        "Close with the price list: 2 of 3 survives one failure silently, 3 of 3 refuses at every restart, 1 never refuses.",
    ),
    scenes=(Scene("acks=all, then acks=1, then broker 2 comes back", story, must_see),),
    seeds=("S3.20", "S3.21"),
    counters=("acknowledged", "readable", "error"),
)
