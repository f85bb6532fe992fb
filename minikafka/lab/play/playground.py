"""A playground: brokers, a topic, the picture, a producer and a group whose settings are sliders.

    play = Playground(partitions=3, replication=3)      # shows itself; play.cluster for more
    play.stop()                                         # no process is left

A second run of the cell stops the first one's playground, and so does the end of its notebook, closed or with its kernel.

Owns: the cluster, the picture, the panel, the clients, and two threads: one sends, one lets members join and leave.
Invariants
  no exception leaves a thread: its first line stands below the numbers
"""
from __future__ import annotations

import contextlib
import io
import threading
import time
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient

from minikafka import Cluster
from minikafka.lab.play.members import SESSION, Crew
from minikafka.lab.play.panel import Sliders
from minikafka.lab.play.producer import Taxis
from minikafka.lab.play.traffic import Settings, Traffic
from minikafka.lab.view.orders import first_line

TOPIC = "rides"
TICK, TELL = 0.02, 0.4  # seconds: between two steps of the traffic, between two lines of numbers
GONE = 10.0  # seconds without a place in any page after which the playground ends: its notebook was closed
GROUPS = {"group.consumer.session.timeout.ms": SESSION, "group.consumer.min.session.timeout.ms": SESSION,
          "group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 1000}


class Playground:
    """Shows a new cluster with the topic "rides", and its traffic. `configs`: of the topic, with underscores:
    `min_insync_replicas=2`. `settings`: where the sliders stand first."""

    def __init__(self, brokers: int = 3, partitions: int = 3, replication: int = 3, settings: Settings | None = None,
                 **configs: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # what the preset has changed: here no text
            self.cluster = Cluster(brokers, config=GROUPS, preset="class")
        try:
            with contextlib.closing(KafkaAdminClient(bootstrap_servers=self.cluster.bootstrap)) as admin:
                named = {name.replace("_", "."): str(value) for name, value in configs.items()}
                admin.create_topics({TOPIC: {"num_partitions": partitions, "replication_factor": replication,
                                             "configs": named}}, wait_for_metadata=True)
            self._begin(settings or Settings())
        except BaseException:
            self.cluster.close()
            raise

    def _begin(self, settings: Settings) -> None:
        self._lock, self._over, self.closed = threading.Lock(), threading.Event(), False
        self._trouble: dict[str, str] = {}  # by thread: what went wrong in its last step
        self.traffic, self._told_at = Traffic(settings), 0.0
        self._seen = float("inf")  # when the picture last had a place in a page: a program or a slow page has none yet
        self._sender, self._crew = Taxis(self.cluster, TOPIC, self.traffic), Crew(self.cluster, TOPIC)
        self.view = self.cluster.view(f"{TOPIC}-0")
        self._panel = Sliders(settings, self.change)
        self._panel.show()
        self._threads = [threading.Thread(target=self._go_on, args=(name, step, pause), name=f"play-{name}", daemon=True)
                         for name, step, pause in (("sender", self._send, TICK), ("crew", self._muster, 0.1))]
        for thread in self._threads:
            thread.start()

    def change(self, name: str, value: Any) -> None:
        """Change one setting, as its slider does."""
        with self._lock:
            self.traffic.change(time.monotonic(), **{name: value})

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

    def _go_on(self, name: str, step: Callable[[], None], pause: float) -> None:
        while not self._over.wait(pause):
            try:
                step()
                self._trouble.pop(name, None)
            except Exception as error:
                self._trouble[name] = first_line(error)

    def _send(self) -> None:
        now = time.monotonic()
        with self._lock:
            self._sender.step(now)
        if now - self._told_at > TELL:
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
        self._over.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(1.0)
        self._crew.kill()
        self._sender.close()
        self._panel.close()
        self.view.stop()
        self.cluster.close()
