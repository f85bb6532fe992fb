"""The night shift of lab 4's decision: members work off a backlog until a deadline, and four things happen to them.

    night = shift({**DEFAULTS, "members": 4})         # a simulated cluster; the plan is the student's
    night.seconds, night.twice, night.waits           # until all is done (None: never); rides again; how long nobody read

Each of the four happens at a ride of its own, to whoever has that ride first: a crash, a cable that is out for four seconds, a
ride that takes eight seconds, a deadlock (the heartbeats go on, and the work does not).

Owns: the four accidents and the count. Times are seconds of the simulator's clock from the first ride on.
Invariants
  nothing is computed from the plan: a ride counts when a member's work on it has ended
"""
from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.client import Consumer
from minikafka.lab.labs.lab04.experiment import TOPIC, fill, topic
from minikafka.lab.labs.stage import simulated
from minikafka.protocol.errors import KafkaError
from minikafka.sim.engine.watched import Told, killed

PARTITIONS, RIDES, TAKES = 4, 400, 0.1
DEADLINE = 30.0
OUT, SLOW = 4.0, 8.0           # seconds that a cable is out; that one ride takes
GIVES_UP = 400.0               # seconds after which a shift counts as never done
DEFAULTS = {"members": 4, "group.protocol": "classic", "session.timeout.ms": 45_000, "max.poll.interval.ms": 300_000}
ACCIDENTS = {(0, 30): "crash", (1, 20): "cable", (3, 40): "slow", (2, 50): "deadlock"}  # by (partition, offset)


class Wait(NamedTuple):
    """A partition that nobody worked on, from when on, for how long, and the accident of that partition."""

    partition: int
    begin: float
    seconds: float
    after: str


@dataclass
class NightShift:
    """The outcome of a plan."""

    plan: dict[str, Any]
    seconds: float | None                  # until every ride was worked on; None: that never came
    twice: int                             # rides that were worked on again
    left: int                              # rides that nobody worked on
    waits: list[Wait]                      # the longest of each partition

    @property
    def row(self) -> dict[str, Any]:
        return {"done after": "never" if self.seconds is None else f"{self.seconds:.0f} s", "twice": self.twice,
                "longest wait": f"{max(self.waits, key=lambda wait: wait.seconds).seconds:.0f} s"}


def shift(plan: Mapping[str, Any]) -> NightShift:
    """Let the members of a plan work through the night."""
    settings = {"group.consumer.session.timeout.ms": int(plan["session.timeout.ms"]),
                "group.consumer.min.session.timeout.ms": 100, "group.min.session.timeout.ms": 100,
                "group.consumer.heartbeat.interval.ms": int(min(3000, plan["session.timeout.ms"] / 3)),
                "group.consumer.min.heartbeat.interval.ms": 30}
    with simulated(seed=4, brokers=1, config=settings) as cluster:
        topic(cluster, PARTITIONS)
        fill(cluster, RIDES, PARTITIONS)
        return _Shift(cluster, dict(plan)).run()


class _Shift:
    def __init__(self, cluster: Any, plan: dict[str, Any]) -> None:
        self.cluster, self.world, self.plan = cluster, cluster.world, plan
        self.done: list[tuple[float, int, int]] = []      # when, partition, offset
        self.began, self.gone = 0.0, 0
        self.happened: dict[int, str] = {}                # partition -> accident
        self.tasks: list[asyncio.Task[None]] = []

    def run(self) -> NightShift:
        self.began = self.world.now()
        for number in range(1, self.plan["members"] + 1):
            self._start(f"M{number}")
        until = self.began + GIVES_UP
        while not self._all() and self.gone < len(self.tasks) and self.world.now() < until:
            self.cluster.sleep(1.0)
        for task in self.tasks:
            task.cancel()
        times = Counter((p, offset) for _, p, offset in self.done)
        seconds = max(t for t, *_ in self.done) - self.began if self._all() else None
        return NightShift(self.plan, seconds, sum(n - 1 for n in times.values()), RIDES - len(times),
                     [self._wait(p) for p in range(PARTITIONS)])

    def _all(self) -> bool:
        return len({(p, offset) for _, p, offset in self.done}) == RIDES

    def _wait(self, partition: int) -> Wait:
        times = [self.began, *(t for t, p, _ in self.done if p == partition)]
        if len({offset for _, p, offset in self.done if p == partition}) < RIDES // PARTITIONS:
            times.append(self.world.now())
        length, begin = max((b - a, a) for a, b in zip(times, times[1:]))
        return Wait(partition, begin - self.began, length, self.happened.get(partition, "nothing"))

    def _start(self, name: str) -> None:
        session, poll = self.plan["session.timeout.ms"] / 1000, self.plan["max.poll.interval.ms"] / 1000
        protocol = self.plan["group.protocol"]
        with self.world.loop.entered():
            member = Consumer(self.world.client_env(name), self.world.bootstrap, "billing", [TOPIC], name=name,
                              history=Told(self.world, name, None), protocol=protocol,
                              assignor="uniform" if protocol == "consumer" else "range", max_records=10, max_wait=5.0,
                              session_timeout=session, heartbeat_interval=min(3.0, session / 3),
                              max_poll_interval=poll, rebalance_timeout=poll)
        self.tasks.append(self.world.loop.create_task(self._work(name, member)))

    async def _work(self, name: str, member: Consumer) -> None:
        while True:
            for record in (records := await member.poll(5.0)):
                place = record.partition, record.offset
                what = ACCIDENTS.get(place) if place[0] not in self.happened else None
                if what:
                    self.happened[record.partition] = what
                    await self._accident(what, name, member)
                await self.world.sleep(TAKES)
                self.done.append((self.world.now(), *place))
            if records:
                try:
                    await member.commit()
                except KafkaError:                        # the group has given it up: its batch comes again
                    continue

    async def _accident(self, what: str, name: str, member: Consumer) -> None:
        if what == "slow":
            await self.world.sleep(SLOW)
        elif what == "cable":
            for broker in self.cluster.ids:
                self.world.cut(name, broker)
            await self.world.sleep(OUT)
            self.world.heal()
        else:
            self.gone += 1
            if what == "crash":
                killed(self.world, name, member)
                await member.kill()
            await self.world.sleep(2 * GIVES_UP)          # a deadlock: its heartbeats go on
