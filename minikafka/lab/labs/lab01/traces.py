"""What gets lost and what comes twice: traces of a hundred messages on a simulated cluster, and traces to classify.

    lost_messages()       every fifth message is lost on its way, and nobody waits for an answer
    lost_answers()        every fifth answer is lost on its way, and who gets none sends again
    told(trace)           one line for each message of which something is special

A trace is a list of pairs: ("sent", 3), ("stored", 3), ("acknowledged", 3). "stored" stands once for each copy in the log.

Owns: nothing; each run makes its own cluster and closes it.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from kafka.protocol.producer import ProduceRequest

from minikafka.lab.labs.lab01.experiment import TOPIC
from minikafka.lab.labs.stage import simulated
from minikafka.lab.labs.steady import read_all

Step = tuple[str, int]
Trace = list[Step]
BETWEEN = 0.2  # seconds between two messages: time to connect again


def lost_messages(count: int = 100, every: int = 5) -> Trace:
    """Send with acks=0 and lose every fifth request on its way."""
    return _run(count, every, of_answers=False, acks=0)


def lost_answers(count: int = 100, every: int = 5) -> Trace:
    """Send with acks=1 and lose the first answer to every fifth message; the producer sends again what has no answer."""
    return _run(count, every, of_answers=True, acks=1, idempotent=False)


def _run(count: int, every: int, of_answers: bool, **settings: Any) -> Trace:
    with simulated(1) as cluster:
        cluster.admin().create_topic(TOPIC, 1, 3)
        producer = cluster.producer(**settings)
        trace: Trace = []
        for number in range(count):
            hold = cluster.world.hold(lambda m: m.api is ProduceRequest and m.is_response == of_answers) \
                if every and number % every == every - 1 else None
            trace.append(("sent", number))
            promise = cluster.run(producer.unblocked.post(TOPIC, str(number)))
            if hold is not None:
                cluster.wait(lambda hold=hold: hold.frames)
                hold.drop()
            cluster.sleep(BETWEEN)
            if settings["acks"] and promise.done() and promise.exception() is None:
                trace.append(("acknowledged", number))
        return trace + [("stored", int(record.value)) for record in read_all(cluster, TOPIC)]


def counts(trace: Sequence[Step]) -> dict[str, int]:
    """Return how many messages were sent, how many are there, how many are missing, and how many copies are too many."""
    sent, stored = {n for what, n in trace if what == "sent"}, Counter(n for what, n in trace if what == "stored")
    return {"sent": len(sent), "there": len(stored), "missing": len(sent - stored.keys()),
            "copies too many": sum(stored.values()) - len(stored)}


def told(trace: Sequence[Step], first: int = 12) -> str:
    """Return a line of marks for the first messages: · stored once, 2 stored twice, x missing."""
    stored = Counter(n for what, n in trace if what == "stored")
    sent = sorted({n for what, n in trace if what == "sent"})[:first]
    return " ".join({0: "x", 1: "·"}.get(stored[n], str(stored[n])) for n in sent)


def random_traces(count: int = 20) -> list[Trace]:
    """Return traces for exercise 1.8: some lose, some repeat, some do both, some neither; now and then an
    acknowledgement is false."""
    rng = Random(16)
    traces = []
    for number in range(count):
        losing, repeating = number % 4 in (1, 3), number % 4 in (2, 3)
        size = rng.randint(4, 9)
        gone = set(rng.sample(range(size), rng.randint(1, 2))) if losing else set()
        twice = set(rng.sample([n for n in range(size) if n not in gone], len(gone) or 1)) if repeating else set()
        trace: Trace = []
        for n in range(size):
            trace += [("sent", n)] * (2 if n in twice or rng.random() < 0.2 else 1)
            trace += [("stored", n)] * (n not in gone) + [("stored", n)] * (n in twice)
            trace += [("acknowledged", n)] if rng.random() < 0.7 else []
        traces.append(trace)
    return traces
