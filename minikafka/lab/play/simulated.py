"""The clients of a playground whose cluster is simulated, as in a browser's page: the world's own producer and consumers
(minikafka/client) stand in for librdkafka's, and for processes.

    SimulatedTaxis    as Taxis in producer.py
    SimulatedPlayer   as Player in members.py; a process of the world
    Pace              lets the world's time pass as fast as the machine's

Owns: nothing that outlives its cluster.
"""
from __future__ import annotations

import time
from typing import Any

from minikafka.client import Consumer
from minikafka.lab.play.traffic import BATCH, NAME, SESSION, ToSend, Traffic
from minikafka.protocol.errors import KafkaError
from minikafka.sim.engine.watched import Told
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.world import CLIENTS

GIVES_UP_AFTER = 10.0  # seconds
ACKS = {"0": 0, "1": 1, "all": -1}
REFUSED = "`acks` must be set to `all` when `enable.idempotence` is true"  # as librdkafka says it
LEAP = 0.1  # seconds that a world passes at once: what is late for longer stays late


def create_topic(cluster: Any, name: str, partitions: int, replication: int, configs: dict[str, str]) -> None:
    cluster.admin().create_topic(name, partitions, replication, configs)


class Pace:
    """Lets a simulated cluster's time pass."""

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._before = cluster, time.monotonic()
        cluster.time_passes()

    def go_on(self) -> None:
        """Let as much time pass as on this machine since the last call."""
        now = time.monotonic()
        passed, self._before = min(now - self._before, LEAP), now
        self._cluster.sleep(passed)


class SimulatedTaxis:
    """Send the rides that the traffic says are due."""

    def __init__(self, cluster: Any, topic: str, traffic: Traffic) -> None:
        self._cluster, self._topic, self._traffic = cluster, topic, traffic
        self._env = cluster.world.client_env()
        self._producer: Any = None
        self._made_with: dict[str, Any] | None = None
        self.refusal: str | None = None  # why there is no producer with these settings

    def step(self, now: float) -> None:
        """Send what is due; the answers come as the world's time passes."""
        if self._traffic.settings.producer != self._made_with:
            self._make()
        if self._producer is not None:
            for record in self._traffic.due(now):
                self._env.spawn(self._send(self._producer, record), NAME)

    def _make(self) -> None:
        wanted = self._made_with = self._traffic.settings.producer
        self.close()
        self._producer, self.refusal = None, None
        acks, idempotent = wanted["acks"], wanted["enable.idempotence"]
        if idempotent and acks != "all":
            self.refusal = REFUSED
            return
        client = self._cluster.producer(acks=ACKS[acks], idempotent=idempotent, delivery_timeout=GIVES_UP_AFTER, name=NAME)
        self._producer = self._cluster.watch(client, NAME).unblocked

    async def _send(self, producer: Any, record: ToSend) -> None:
        try:
            _, offset = await producer.send(self._topic, record.value, record.key)
        except KafkaError as error:
            self._traffic.failed(error.code.name)
        else:
            self._traffic.unanswered() if offset < 0 else self._traffic.acknowledged()

    def close(self) -> None:
        """Let the producer end when its last records have their answers."""
        if self._producer is not None and not self._cluster.closed:
            self._env.spawn(self._producer.close(), NAME)


class SimulatedPlayer:
    """A member of a group; `delivered` is the number of records that it has worked on."""

    def __init__(self, name: str, cluster: Any, topic: str, group: str, protocol: str) -> None:
        self.name, self._world, self._topic, self._group, self._protocol = name, cluster.world, topic, group, protocol
        self.delivered, self._seconds, self._over, self._starts = 0, 0.0, False, 0
        self._start()
        vars(cluster).setdefault("members", {})[name] = self

    def _start(self) -> None:
        world, self._over, self._starts = self._world, False, self._starts + 1
        self._loop = ProcessLoop(world.loop.timeline, self.name)
        seed = f"{world.seed}:{self.name}:{self._starts}"
        self._env = SimEnv(self._loop, world.net, SimDisk(), seed, CLIENTS)
        with self._loop.entered():
            self._consumer = Consumer(self._env, world.bootstrap, self._group, [self._topic], protocol=self._protocol,
                                      session_timeout=SESSION / 1000, history=Told(world, self.name, None), name=self.name)
        self._env.spawn(self._consume(self._consumer, self._env), self.name)
        self._tell("running")

    async def _consume(self, consumer: Consumer, env: SimEnv) -> None:
        while not self._over:
            most = min(100, max(1, int(BATCH / self._seconds))) if self._seconds else 100
            try:
                records = await consumer.poll(0.1, most)
            except KafkaError:  # its position is gone: the next poll begins anew
                continue
            await env.sleep(self._seconds * len(records))
            self.delivered += len(records)
            if records:
                consumer.commit_async()
        await consumer.close()
        self._end()

    def _tell(self, state: str) -> None:
        self.state = "running" if state == "resumed" else state
        self._world.tell("member", client=self.name, group=self._group, state=state, session=SESSION / 1000)

    def _end(self) -> None:
        self._loop.kill()
        self._world.net.died(self._loop)

    def work(self, milliseconds: int) -> None:
        """Let each record need this much time from now on."""
        self._seconds = milliseconds / 1000

    def kill(self) -> None:
        """End it where it stands, as kill -9 does."""
        if self.state in ("running", "paused"):
            self._tell("killed")
        self._end()

    def pause(self) -> None:
        self._loop.pause()
        self._tell("paused")

    def resume(self) -> None:
        self._loop.resume()
        self._tell("resumed")

    def restart(self) -> None:
        """Start a new process in its place; one that runs is killed first."""
        self.kill()
        self._start()

    def end(self) -> None:
        """Let it leave its group."""
        if self.state == "paused":
            self.resume()
        if self.state == "running":
            self._tell("left")
            self._over = True
