"""The members of a playground's group: processes like lab 5's, with librdkafka's consumer, which speaks both group protocols.

As a program (`python -m minikafka.lab.play.members`): one member. It reads, works on each record for a while, commits, and prints
how many records it has worked on. Its standard input has its settings, then the milliseconds that a record needs, a line for each
change.

Owns: its process.
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from minikafka.cluster.security import NAMES, Security
from minikafka.lab.labs.lab05.member import Member, tell_the_picture
from minikafka.lab.play.traffic import BATCH, SESSION

CLASSIC_ONLY = {"session.timeout.ms": SESSION, "heartbeat.interval.ms": 1000}  # of the other protocol the brokers have them
FAREWELL = 4.0  # seconds


class Player(Member):
    """A member in a process of its own; `delivered` is the number of records that it has worked on."""

    program = __name__
    delivered = 0
    _takes = 0

    def __init__(self, name: str, cluster: Any, topic: str, group: str, protocol: str) -> None:
        super().__init__(name, cluster, topic, group, protocol=protocol)

    def _worked(self, number: int) -> None:
        self.delivered += number

    def work(self, milliseconds: int) -> None:
        """Let each record need this much time from now on."""
        self._takes = milliseconds
        with suppress(OSError, ValueError):  # it has ended
            assert self.process.stdin is not None
            self.process.stdin.write(f"{milliseconds}\n")
            self.process.stdin.flush()

    def restart(self) -> None:
        super().restart()
        self.work(self._takes)

    def end(self) -> None:
        """Let it leave its group, and kill it if it takes long: the brokers may be dead, the process may stand still."""
        with suppress(OSError):
            if self.state == "paused":
                self.resume()
        try:
            self.leave(FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Work:
    """The parent's orders: the seconds for a record, and whether to go on."""

    def __init__(self) -> None:
        self.seconds, self.over = 0.0, False

    def listen(self) -> None:
        """Follow the standard input; end this process when the parent ends."""
        for line in sys.stdin:
            self.seconds = int(line) / 1000
        os._exit(0)

    def leave(self, *_: Any) -> None:
        self.over = True


def consume(name: str, topic: str, settings: dict[str, Any], trace: str, work: Work) -> None:
    """Run a member until it is told to leave."""
    import confluent_kafka

    protocol = settings["protocol"]
    doors = Security({name: value for name, value in settings.items() if name in NAMES})
    consumer = tell_the_picture(confluent_kafka.Consumer({
        "bootstrap.servers": settings["bootstrap_servers"], **doors.librdkafka(), "group.id": settings["group_id"],
        "client.id": name, "group.protocol": protocol, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        **(CLASSIC_ONLY if protocol == "classic" else {})}), name, trace)
    consumer.subscribe([topic])
    while not work.over:
        most = min(100, max(1, int(BATCH / work.seconds))) if work.seconds else 100
        done = 0
        for record in consumer.consume(most, 0.1):
            if record.error() is None and not work.over:
                time.sleep(work.seconds)
                done += 1
        if done:
            print(done, flush=True)
            with suppress(confluent_kafka.KafkaException):  # the coordinator is dead or the partition is another's: once more
                consumer.commit(asynchronous=True)
    consumer.close()


if __name__ == "__main__":
    asked, told = json.loads(sys.stdin.readline()), Work()
    signal.signal(signal.SIGTERM, told.leave)
    threading.Thread(target=told.listen, daemon=True).start()
    consume(sys.argv[1], sys.argv[2], asked, sys.argv[3], told)
