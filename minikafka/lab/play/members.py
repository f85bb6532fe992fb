"""The members of a playground's group: processes like lab 5's, with librdkafka's consumer, which speaks both group protocols.

As a program (`python -m minikafka.lab.play.members`): one member. It reads, works on each record for a while, commits, and prints
how many records it has worked on. Its standard input has the milliseconds that a record needs, a line for each change.

Owns: the processes, in the order of their numbers.
Invariants
  a member that was killed stays dead until somebody restarts it, or its number goes
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

from minikafka.lab.labs.lab05.member import Member, tell_the_picture

GROUP = "billing"
SESSION = 6000  # milliseconds
BATCH = 0.2     # seconds of work that a member takes on at once
CLASSIC_ONLY = {"session.timeout.ms": SESSION, "heartbeat.interval.ms": 1000}  # of the other protocol the brokers have them
FAREWELL = 4.0  # seconds


class Player(Member):
    """A member in a process of its own; `delivered` is the number of records that it has worked on."""

    program = __name__
    delivered = 0
    _takes = 0

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


class Crew:
    """Brings the number of members to what the settings say. One thread calls `step`; `kill` may come from another."""

    def __init__(self, cluster: Any, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._members: list[Player] = []
        self._gone = 0  # records of members that are no more
        self._protocol, self._work = "classic", -1
        self._lock, self._over = threading.Lock(), False

    @property
    def delivered(self) -> int:
        """Return how many records were delivered to members that finished their work on them."""
        return self._gone + sum(member.delivered for member in tuple(self._members))

    def step(self, members: int, protocol: str, work: int) -> None:
        """Make it so: a member more joins, the last one leaves; with another protocol all leave first."""
        while self._members and (len(self._members) > members or protocol != self._protocol):
            member = self._members[-1]
            member.end()
            self._gone += member.delivered
            self._members.pop()
            self._cluster.members.pop(member.name, None)
        self._protocol = protocol
        while len(self._members) < members and not self._over:
            self._start(protocol, work)
        if work != self._work:
            self._work = work
            for member in self._members:
                member.work(work)

    def _start(self, protocol: str, work: int) -> None:
        with self._lock:
            if not self._over:
                name = f"C{len(self._members) + 1}"
                self._members.append(Player(name, self._cluster, self._topic, GROUP, protocol=protocol))
                self._members[-1].work(work)

    def kill(self) -> None:
        """End all processes at once, for good."""
        with self._lock:
            self._over = True
            for member in tuple(self._members):
                member.kill()


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
    consumer = tell_the_picture(confluent_kafka.Consumer({
        "bootstrap.servers": settings["bootstrap_servers"], "group.id": settings["group_id"], "client.id": name,
        "group.protocol": protocol, "auto.offset.reset": "earliest", "enable.auto.commit": False,
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
    told = Work()
    signal.signal(signal.SIGTERM, told.leave)
    threading.Thread(target=told.listen, daemon=True).start()
    consume(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4], told)
