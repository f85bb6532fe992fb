"""A playground: brokers, a topic, the picture, a producer and a group whose settings are sliders.

    play = Playground(partitions=3, replication=3)      # shows itself; play.cluster for more
    play.stop()                                         # no process is left

A second run of the cell stops the first one's playground, and so does the end of its notebook, closed or with its kernel.

Owns: the cluster, the picture, the panel, the clients, and its jobs: one sends, one lets members join and leave.
Invariants
  no exception leaves a job: its first line stands below the numbers
"""
from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka import Cluster
from minikafka.lab.background import Background
from minikafka.lab.play.crew import Crew
from minikafka.lab.play.panel import Sliders
from minikafka.lab.play.simulated import Pace
from minikafka.lab.play.traffic import SESSION, Settings, Traffic
from minikafka.lab.view.orders import first_line, turn_of

TOPIC = "rides"
TICK, TELL = 0.02, 0.4  # seconds: between two steps of the traffic, between two lines of numbers
GONE = 10.0  # seconds without a place in any page after which the playground ends: its notebook was closed
GROUPS = {"group.consumer.session.timeout.ms": SESSION, "group.consumer.min.session.timeout.ms": SESSION,
          "group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 1000}


class Playground:
    """Shows a new cluster with the topic "rides", and its traffic. `configs`: of the topic, with underscores:
    `min_insync_replicas=2`. `settings`: where the sliders stand first. `security` closes the cluster."""

    def __init__(self, brokers: int = 3, partitions: int = 3, replication: int = 3, settings: Settings | None = None,
                 engine: str = "minikafka", security: str | None = None, **configs: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # what the preset has changed: here no text
            self.cluster = Cluster(brokers, config=GROUPS, preset="class", engine=engine, security=security)
        try:
            create_topic, sender, member = _clients_of(self.cluster)
            create_topic(self.cluster, TOPIC, partitions, replication,
                         {name.replace("_", "."): str(value) for name, value in configs.items()})
            self.traffic = Traffic(settings or Settings())
            self._sender, self._crew = sender(self.cluster, TOPIC, self.traffic), Crew(self.cluster, TOPIC, member)
            self._begin()
        except BaseException:
            self.cluster.close()
            raise

    def _begin(self) -> None:
        self._lock, self.closed = threading.Lock(), False
        self._trouble: dict[str, str] = {}  # by job: what went wrong in its last step
        self._told_at = 0.0
        self._seen = float("inf")  # when the picture last had a place in a page: a program or a slow page has none yet
        self.view = self.cluster.view(f"{TOPIC}-0")
        self._panel = Sliders(self.traffic.settings, self.change)
        self._panel.show()
        self._now = time.monotonic
        steps: dict[str, tuple[Callable[[], None], float]] = {"sender": (self._send, TICK), "crew": (self._muster, 0.1)}
        if self.cluster.engine == "sim":
            self._now = self.cluster.now
            steps["time"] = (Pace(self.cluster).go_on, TICK)
        self._jobs = [Background(f"play-{name}", partial(self._go_on, name, *step)) for name, step in steps.items()]
        for job in self._jobs:
            job.wake()

    def change(self, name: str, value: Any) -> None:
        """Change one setting, as its slider does."""
        with self._lock:
            self.traffic.change(self._now(), **{name: value})

    @property
    def numbers(self) -> dict[str, int | None]:
        """Return what was sent, acknowledged, ... so far; `lag` as the picture has it, None if nobody knows it."""
        with self._lock:
            t = self.traffic
            counts = {"sent": t.sent, "acknowledged": t.acked, "failed": t.gave_up, "waiting": t.waiting}
            if t.no_answer:
                counts["no answer (acks=0)"] = t.no_answer
        lags = [p.lag for group in self.view.at().groups for p in group.progress if p.lag is not None]
        return {**counts, "delivered": self._crew.delivered, "lag": sum(lags) if lags else None}

    def _go_on(self, name: str, step: Callable[[], None], pause: float) -> float:
        try:
            with turn_of(self.cluster):
                step()
            self._trouble.pop(name, None)
        except Exception as error:
            self._trouble[name] = first_line(error)
        return pause

    def _send(self) -> None:
        with self._lock:
            self._sender.step(self._now())
        if (now := time.monotonic()) - self._told_at > TELL:
            self._told_at = now
            numbers = {name: "?" if number is None else f"{number:,}" for name, number in self.numbers.items()}
            last = self.traffic.last_error
            self._panel.say(numbers, self._sender.refusal or next(iter(self._trouble.values()), None)
                            or (last and f"last error: {last}"))

    def _muster(self) -> None:
        settings = self.traffic.settings
        self._crew.step(settings.members, settings.protocol, settings.work)
        if self.view.places:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > GONE:
            self.stop()

    def stop(self) -> None:
        """End the traffic, the members and the cluster; the picture stands still."""
        if self.closed:
            return
        self.closed = True
        for job in self._jobs:
            job.stop(1.0)
        self._crew.kill()
        self._sender.close()
        self._panel.close()
        self.view.stop()
        self.cluster.close()


def _clients_of(cluster: Any) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return how a topic, the producer and a member are made: clients of real brokers, or of a simulated world."""
    if cluster.engine == "sim":
        from minikafka.lab.play.simulated import SimulatedPlayer, SimulatedTaxis, create_topic
        return create_topic, SimulatedTaxis, SimulatedPlayer
    from minikafka.lab.play.members import Player
    from minikafka.lab.play.producer import Taxis
    from minikafka.lab.play.producer import create_topic as create
    return create, Taxis, Player
