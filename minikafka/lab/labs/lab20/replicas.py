"""Three of the student's brokers (20.9): a follower is held, the leader is killed, and what was acknowledged is counted.

    python my_broker.py PORT NODE FILE     FILE: {"ports": {"1": 9092, ...}, "leader": 1, "epoch": 0, "isr": [1, 2, 3]}

The check is the controller: it writes FILE, and a broker reads it. So who leads is decided by hand, and what a promise is worth
by the student's high watermark. The night:

    1. broker 1 leads; twenty records are written with acks=all
    2. broker 3 is stopped while it is in the ISR; ten more are sent, and nobody may get a promise of them
    3. broker 1 is killed, broker 3 goes on and leads, with 2 in sync; twenty more are written
    4. broker 3 is killed, and broker 2 leads alone: all that was acknowledged is read from it

Owns: this night, and what the records say of it.
"""
from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import confluent_kafka
from kafka import TopicPartition

from minikafka.cluster.plan import free_ports
from minikafka.lab.exercise import Todo, Unknown, Wrong
from minikafka.lab.labs.lab20.clients import LIBRDKAFKA, PATIENCE, blamed, python_consumer
from minikafka.lab.labs.lab20.parts import NAME, StudentsBroker, Whole, listening, whole
from minikafka.lab.labs.lab20.side_by_side import NoAnswer, WireLine, read_fields
from minikafka.lab.labs.lab20.stages import LATEST, at, names, wanted
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import Program

TOPIC, HELD = "orders", 1.0  # seconds for which nothing may be acknowledged
SETTINGS = {"acks": "all", "linger.ms": 0, "retry.backoff.ms": 50, "topic.metadata.refresh.interval.ms": 200,
            "message.timeout.ms": 20_000}
FIRST, DOUBTFUL, LATER = range(20), range(20, 30), range(30, 50)


class ThreeBrokers:
    """The student's brokers and who leads them; a block ends them."""

    def __init__(self, program: Whole, stack: contextlib.ExitStack, leader: int = 1, **more: Any) -> None:
        self._program, self._stack = program, stack
        self.file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "cluster.json"
        self.state: dict[str, Any] = {"ports": dict(zip("123", free_ports(3))), "epoch": -1, **more}
        self.elect(leader, [1, 2, 3])
        self.brokers: dict[int, StudentsBroker] = {}
        for node in (1, 2, 3):
            self.start(node)
        for broker in self.brokers.values():
            listening(broker)

    def start(self, node: int) -> StudentsBroker:
        """Start a broker, or one that was killed anew: it has nothing then."""
        port = self.state["ports"][str(node)]
        started = self._stack.enter_context(Program(self._program.text, str(port), str(node), str(self.file), name=NAME))
        self.brokers[node] = StudentsBroker(started, port, self._program)
        return self.brokers[node]

    @property
    def addresses(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def elect(self, leader: int, isr: Sequence[int]) -> None:
        """Write down who leads from now on; the file is replaced, so that nobody reads half of it."""
        self.state = {**self.state, "leader": leader, "isr": [*isr], "epoch": self.state["epoch"] + 1}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.state))
        os.replace(new, self.file)

    @property
    def errors(self) -> list[str]:
        """Return the errors of the first broker that has printed some."""
        return next((found for broker in self.brokers.values() if (found := broker.errors)), [])

    def ends(self, leader: int, *followers: int) -> str:
        """Return where the logs end, as each broker answers it to ListOffsets, and whose turn it is to look."""
        ends = {node: self._end(node) for node in (leader, *followers)}
        stand = "By ListOffsets their logs end at " + ", ".join(f"{end} (broker {node})" for node, end in ends.items())
        behind = [str(node) for node in followers if ends[node] != ends[leader]]
        return f"{stand}: {'why does broker ' + behind[0] + ' not copy?' if behind else 'does the leader count its followers?'}"

    def _end(self, node: int) -> object:
        try:
            with WireLine(self.brokers[node].port) as line:
                answer = line.exchange(line.frame("ListOffsets", at(TOPIC, LATEST)))
        except (NoAnswer, OSError):
            return "?"
        return next((field.says for field in read_fields("ListOffsets", answer)[0] if field.name == "offset"), "?")


def judge_replicas(text: str) -> str:
    """Play the night. Raise Wrong with the first promise that was not kept."""
    with contextlib.ExitStack() as stack:
        three = ThreeBrokers(whole("20.9", text), stack)
        asked(three.brokers[1], "Metadata for a new topic at broker 1, which leads", "Metadata", names(TOPIC))
        producer, acknowledged = writer(three), set[int]()
        _a_follower_is_held(three, producer, acknowledged)
        three.brokers[1].program.kill()
        three.brokers[3].program.resume()
        three.elect(3, [2, 3])
        send(producer, LATER, acknowledged)
        if producer.flush(PATIENCE + 4):
            raise Wrong(f"broker 3 leads, broker 2 is in sync, and {len(acknowledged & {*LATER})} of twenty new records were "
                        f"acknowledged: your cluster stands still. {three.ends(3, 2)}", three.errors)
        three.brokers[3].program.kill()
        three.elect(2, [2])
        if lost := sorted(acknowledged - all_of(three.brokers[2], acknowledged)):
            raise Wrong(f"{len(lost)} of {len(acknowledged)} acknowledged records are not in the last broker's log, the first is "
                        f"order-{lost[0]}", three.errors)
    return f"two leaders were killed, and all {len(acknowledged)} acknowledged records are in the last broker's log"


def _a_follower_is_held(three: ThreeBrokers, producer: Any, acknowledged: set[int]) -> None:
    """Write with all in sync, then while broker 3 stands still. Raise Wrong if a client got a promise of those."""
    send(producer, FIRST, acknowledged)
    if producer.flush(PATIENCE):
        raise Wrong(f"three brokers are in sync, and of twenty records {len(acknowledged)} were acknowledged in {PATIENCE:g} s. "
                    f"{three.ends(1, 2, 3)}", three.errors)
    three.brokers[3].program.pause()
    send(producer, DOUBTFUL, acknowledged)
    producer.flush(HELD)
    if promised := acknowledged & {*DOUBTFUL}:
        raise Wrong(f"broker 3 was in the ISR and stood still, and you acknowledged {counted(len(promised), 'record')} that it "
                    "does not have: if it leads next, they are lost. Whom does your high watermark wait for?")
    got = asked(three.brokers[1], "Fetch of a consumer", "Fetch", wanted(TOPIC, 0))
    if unsure := [n for n in DOUBTFUL if b"order-%d" % n in got]:
        raise Wrong(f"broker 3 was in the ISR and stood still, and a consumer got order-{unsure[0]}, which it does not have: "
                    "after the next election this record was never there")


def writer(three: ThreeBrokers) -> Any:
    """Return a producer of librdkafka that asks all of them for acknowledgements."""
    return confluent_kafka.Producer({"bootstrap.servers": three.addresses, **SETTINGS, **LIBRDKAFKA})


def asked(broker: StudentsBroker, what: str, api: str, values: dict[str, Any]) -> bytes:
    with WireLine(broker.port) as line:
        try:
            return line.exchange(line.frame(api, values))
        except NoAnswer as none:
            raise Wrong(f"{what}: {none}", broker.errors) from None


def send(producer: Any, numbers: Sequence[int], acknowledged: set[int]) -> None:
    for n in numbers:
        producer.produce(TOPIC, b"order-%d" % n, partition=0,
                         on_delivery=lambda error, _, n=n: None if error else acknowledged.add(n))
        producer.poll(0)


def all_of(broker: StudentsBroker, numbers: set[int]) -> set[int]:
    """Return the numbers of all records that a client can read at this broker, once these are there."""
    got: set[int] = set()
    with blamed(broker, "kafka-python", "read after the last death"), python_consumer(broker) as consumer:
        consumer.assign([place := TopicPartition(TOPIC, 0)])
        consumer.seek(place, 0)
        end = time.monotonic() + PATIENCE
        while not numbers <= got and time.monotonic() < end:
            for batch in consumer.poll(timeout_ms=200).values():
                got |= {int(record.value.decode().partition("-")[2]) for record in batch}
    return got


def run_replicas(texts: Sequence[str]) -> list[str | Exception]:
    """Play the night with each of these files."""
    def play(text: str) -> str | Exception:
        try:
            return judge_replicas(text)
        except (Wrong, Todo, Unknown) as found:
            return found
    return [play(text) for text in texts]
