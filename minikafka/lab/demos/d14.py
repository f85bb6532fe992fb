"""D14, bootstrap works, the second connection does not: the address that the answer names is the one that counts."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from minikafka.lab.demos.caller import CallerRun, CallingClient
from minikafka.lab.demos.demo import Choice, Demo, MustSee, Scene, Stage
from minikafka.lab.demos.facts import SceneFacts
from minikafka.lab.labs.steady import Writer

TOPIC = "positions"
INSIDE, GIVEN = "kafka.internal:9092", "broker-1:9092"
TIMEOUT = 12.0             # seconds until the client gives its record up


def story(stage: Stage, advertised: str) -> None:
    """Play one broker that names this address to its clients, and a client with one record."""
    cluster = stage.cluster(seed=14, brokers=1, config={"advertised.listeners": f"PLAINTEXT://{advertised}"})
    cluster.admin().create_topic(TOPIC, replicas=1)
    caller = CallingClient(cluster, "laptop", advertised.partition(":")[0])
    cluster.sleep(0.2)
    stage.moment("ask", f"A client has one address, {caller.given}. It is right: broker 1 listens there. The client has one "
                        "record to write.")
    cluster.sleep(0.1)
    writer = Writer(caller, TOPIC, rate=1, count=1, name="laptop", delivery_timeout=TIMEOUT)
    cluster.wait(lambda: bool(caller.knows))
    if advertised == GIVEN:
        stage.moment("freeze", "One line of the broker's file has changed, advertised.listeners. The answer names an address "
                               "that leads to broker 1.")
        cluster.wait(lambda: bool(writer.acked), timeout=30)
        cluster.sleep(0.2)
        stage.moment("explain", "The client opens a second connection, to the address in the answer, and the record is stored.")
        return
    stage.moment("freeze", "The first connection works. The answer names another address of broker 1, and the client calls it at "
                           "once. What if nobody listens there?")
    cluster.wait(lambda: refused(cluster) == 1)
    stage.moment("refused", "Nobody does. The first connection is open all the time, and the record does not go over it.")
    cluster.wait(lambda: refused(cluster) == 3)
    stage.moment("again", "Each retry calls the same address: the answer names no other one.")
    cluster.wait(lambda: bool(writer.failed), timeout=30)
    cluster.sleep(0.2)
    stage.moment("explain", "The record has timed out. Broker 1 has no error in its log: it answered each question, and nobody "
                            "sent a record to it.")


def refused(cluster: Any) -> int:
    """Return how many calls of the client nobody has taken."""
    return sum(event["k"] == "called" and not event["opened"] for event in cluster.world.events)


def nobody_there(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see: one address that works, and one that nobody serves."""
    frozen, end = (run.at(facts.t(name)) for name in ("freeze", "explain"))
    yield MustSee(frozen.view.first.opened == 1 and frozen.view.second.address == INSIDE,
                  f"{GIVEN} answers; the answer names {frozen.view.second.address}")
    yield MustSee(frozen.view.second.refused == 0, "at the freeze nobody has called the second address yet")
    yield MustSee(end.view.second.opened == 0 and end.view.second.refused >= 3,
                  f"{end.view.second.refused} calls of {INSIDE}, and nobody answers")
    yield MustSee(end.producers[0].acked == 0 and bool(end.producers[0].last_error),
                  f"the record: {end.producers[0].last_error}")
    yield MustSee(end.chosen is not None and end.chosen.log_end == 0, "the log of broker 1 is empty")


def stored(run: Any, facts: SceneFacts) -> Iterator[MustSee]:
    """Yield what the class must see of an address that leads to the broker."""
    end = run.at(facts.t("explain"))
    yield MustSee(end.view.second.address == GIVEN and end.view.second.opened > 0 == end.view.second.refused,
                  f"the answer names {end.view.second.address}, and the second connection opens")
    yield MustSee(end.producers[0].acked == 1, "the record is stored")


def _scene(title: str, advertised: str, see: Any) -> Scene:
    return Scene(title, partial(story, advertised=advertised), see, run=CallerRun)


DEMO = Demo(
    name="D14",
    title="The second connection",
    purpose="The first address is for one question. The address in the answer is the one that counts.",
    exercise=("21.2", "repair the listeners of a broker"),
    question="A client reaches its bootstrap server and gets an answer. Can it write a record now?",
    answers=(
        Choice("Yes: it is connected, and the record goes the same way.",
               "The first connection is for Metadata. Records go to the leader, at the address that the answer names."),
        Choice("Only if the address in the answer leads to a broker, too.",
               "Right: clients learn advertised.listeners, and use it from then on.", right=True),
        Choice("Yes: if another address fails, it goes back to the first one.",
               "It goes back to ask again, and gets the same answer. No record goes over the first connection."),
        Choice("No: bootstrap.servers must name every broker.",
               "One that answers is enough: the answer names all of them."),
    ),
    notes=(
        "Ask, vote, run. The commonest wrong answer is A: who sees one open connection thinks that it is the only one.",
        "At the freeze point at both rows. Who has written each of the two addresses? (The client's owner; the broker's owner.)",
        "At 'refused' ask what a test of the port says now. (It is open: that is why this fault takes hours.)",
        "At 'again' ask what another client on the broker's own network sees. (It works.)",
        "At the end: no error in the broker's log. Nobody came.",
        "Scene 2: one line of the broker's file is changed, advertised.listeners. Nothing in the client.",
        "`kcat -L` prints the answer. Elective 21 has real brokers, and nine more faults.",
    ),
    scenes=(_scene("a wrong address", INSIDE, nobody_there),
            _scene("repaired", GIVEN, stored)),
    seeds=("S0.22", "S2.11"),
)
