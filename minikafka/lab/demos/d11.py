"""D11, retention overtakes a reader: the log forgets, and does not ask who has read."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.charges import coins, skipped
from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Writer
from minikafka.protocol.errors import KafkaError

TOPIC, TP, GROUP = "positions", "positions-0", "report"
READ, AWAY = 12, 60.0     # records that are read before the break; seconds of the break
RETENTION, SEGMENT = 20, 5  # seconds


def story(stage: Stage, reset: str) -> None:
    """Stop the reader after twelve records and start it again a minute later, under the policy `reset`; records are
    kept for twenty seconds, and one is sent each second."""
    cluster = stage.cluster(seed=11, controllers=1, config={"log.retention.check.interval.ms": 1000,
                                                           "log.initial.task.delay.ms": 1000,
                                                           "offsets.topic.num.partitions": 1})
    replicated(cluster, TOPIC, retention_ms=RETENTION * 1000, segment_ms=SEGMENT * 1000)
    Writer(cluster, TOPIC, rate=1, name="truck")
    with _reader(cluster, "earliest") as reader:
        read = 0
        while read < READ:
            read += len(_read(cluster, reader))
        reader.commit()
    left = cluster.now()
    cluster.sleep(2.0)
    stage.moment("ask", f"One record a second, kept for {RETENTION} seconds. The report has read {READ}. Now it is away for a "
                        "minute.")
    cluster.sleep(left + AWAY - cluster.now())
    stage.moment("freeze", f"The flag of the report stands at {READ}, and there is no log under it. The report comes back, with "
                           f"auto.offset.reset={reset}. Where does it go on?")
    cluster.sleep(0.2)
    stage.fact("ends", tuple(cluster.admin().offset(TOPIC, 0, where) for where in ("earliest", "latest")))
    with _reader(cluster, reset) as reader:
        got, error = _read_on(cluster, reader)
        cluster.sleep(0.5)
        stage.fact("got", got)
        stage.fact("error", error)
        stage.moment("explain", f"{got[0] - READ} records were skipped: it read {READ - 1}, and then {got[0]}. No error."
                     if got else f"It stops with {error}. Somebody is told, and has to decide.")
        cluster.sleep(0.1)                             # the picture of that moment has a reader that still reads


def _reader(cluster: Any, reset: str) -> Any:
    return cluster.watch(cluster.consumer(TOPIC, group=GROUP, reset=reset, name=GROUP, max_records=1), GROUP)


def _read(cluster: Any, reader: Any) -> list[int]:
    """Poll once; return the offsets, which the picture gets, too."""
    offsets = [record.offset for record in reader.poll(0.5)]
    if offsets:
        cluster.world.tell("written", client=GROUP, tp=TP, batch=0, rows=[(offset, 1) for offset in offsets])
    return offsets


def _read_on(cluster: Any, reader: Any) -> tuple[list[int], str]:
    """Return the offsets of the first records (three or more) that a reader gets when it comes back, and the name of
    the error, "" if there is none."""
    got: list[int] = []
    try:
        while len(got) < 3:
            got += _read(cluster, reader)
    except KafkaError as error:
        return got, error.code.name
    return got, ""


def must_see(run: Any, facts: SceneFacts, reset: str) -> Iterator[MustSee]:
    """Yield what the class must see under the policy `reset`: the committed offset is below the log's start, and what
    the reader gets."""
    frozen, (start, end), got = run.at(facts.t("freeze"), TP).chosen, facts["ends"], facts["got"]
    flag = next(finger.offset for finger in frozen.fingers if finger.kind == "committed")
    yield MustSee(flag == READ < frozen.log_start, f"the flag stands at {flag}, the log begins at {frozen.log_start}")
    yield MustSee(frozen.log_start == start and RETENTION <= end - start <= RETENTION + 2 * SEGMENT,
               f"{end - start} records are left of {end}: {RETENTION} s of them and what shares a segment with these")
    first = {"earliest": start, "latest": end, "none": None}[reset]
    if first is None:
        yield MustSee(not got and facts["error"] == "OFFSET_OUT_OF_RANGE", f"none: {facts['error']}, nothing is read")
        return
    yield MustSee(got[0] in (first, first + 1) and not facts["error"],
               f"{reset}: it goes on at {got[0]}, and has skipped {got[0] - READ} records, {start - READ} of them deleted")
    drawn = skipped(coins(run.at(facts.t("explain"), TP).chosen))
    yield MustSee(drawn == [*range(READ, got[0])], f"the picture marks {len(drawn)} that were never read")
    yield MustSee(got == [*range(got[0], got[0] + 3)], f"without an error: {got}")
    at = [finger.offset for finger in run.at(facts.t("explain"), TP).chosen.fingers if finger.kind == "position"]
    yield MustSee(at == [got[-1] + 1], f"its position is {at[0] if at else 'nowhere'}, far from its flag")


def _scene(reset: str) -> Scene:
    return Scene(f"reset={reset}", partial(story, reset=reset), partial(must_see, reset=reset), pace=10)


DEMO = Demo(
    name="D11",
    title="Retention overtakes a reader",
    purpose="The log forgets by time, and does not ask who has read.",
    exercise=("2.2", "write the rule by which retention deletes segments"),
    question="A topic keeps twenty seconds. A consumer is away for a minute, and comes back. What does it read next?",
    answers=(
        Choice("What it had not read yet: Kafka keeps it until the group has committed it.",
               "That is a queue. Retention looks at the age of a segment, and at no group."),
        Choice("It gets an error, and stops.",
               "Only with auto.offset.reset=none. With the two other values nobody is told anything."),
        Choice("It depends on auto.offset.reset, and in most cases nobody notices.",
               "Right: earliest skips what was deleted, latest skips even more, none raises an error.", right=True),
        Choice("From offset 0 again.", "Offset 0 was deleted long ago. earliest is the earliest that there still is."),
    ),
    notes=(
        "Ask, vote, run: the minute passes in six seconds (keys + and - change that). "
        "The commonest wrong answers are A (a queue) and B (an error).",
        "While a minute passes, watch 'log start' walk over the flag. Nothing else happens at that moment.",
        "At the freeze: what stands at offset 12? Nothing, on no broker. Lag is a number all the same.",
        "Scene 1 skips a hole of some forty records, red at the end. Scene 2 skips twenty more, that were there to be read.",
        "Scene 3 is the only one in which a person is told. Ask who has set it. (Almost nobody.)",
        "Which alarm would have come in time? (Lag in seconds, compared with retention.)",
    ),
    scenes=(_scene("earliest"), _scene("latest"), _scene("none")),
    seeds=("S1.5", "S2.9"),
    counters=("lag", "unread"),
)
