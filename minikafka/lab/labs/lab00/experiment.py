"""Lab 0: a fleet of trucks that goes on reporting while you break things.

Owns: one producer and the thread that feeds it. What was acknowledged is known from the producer itself.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from kafka import KafkaProducer

from minikafka.lab.datasets import truck_gps

DRIVING: dict[tuple[str, str], Fleet] = {}  # by cluster and topic: when a cell runs again, the same trucks drive on
TRUCKS = 12
PER_SECOND = 24.0


class Fleet:
    """Twelve trucks report in turn, 24 positions a second, until `stop()`.

    A second fleet on a topic goes on with the trucks of the first. `acknowledged`: (partition, offset) of every record that the
    cluster promised to keep, in the order of the promises; `failed`: the errors of the others; `slowest`: the longest wait for a
    promise, in seconds. `options` go to the producer.
    """

    def __init__(self, cluster: Any, topic: str, **options: Any) -> None:
        before = DRIVING.get((cluster.bootstrap, topic))
        if before is not None:
            before.stop()
        DRIVING[cluster.bootstrap, topic] = self
        self.acknowledged: list[tuple[int, int]] = before.acknowledged if before else []
        self.failed: list[Exception] = before.failed if before else []
        self._positions = before._positions if before else truck_gps(trucks=TRUCKS, offline=0)  # made, the same for everyone
        self.slowest = 0.0
        self._topic = topic
        self._producer = cluster.watch(
            KafkaProducer(bootstrap_servers=cluster.bootstrap, **{"acks": "all", **options}), "trucks")
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="fleet", daemon=True)
        self._thread.start()

    def kept(self, partition: int) -> int:
        """Return how many records of a partition are acknowledged by now."""
        return sum(place[0] == partition for place in list(self.acknowledged))

    def lost(self, found: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the places that were acknowledged and are not in `found`."""
        return sorted(set(self.acknowledged) - set(found))

    def stop(self) -> None:
        """End after a whole round of all trucks, and wait until every record has its answer."""
        self._ends.set()
        self._thread.join()
        self._producer.flush()
        self._producer.close()

    def _drive(self) -> None:
        while not self._ends.is_set():
            for _ in range(TRUCKS):
                self._report(next(self._positions))
                self._ends.wait(1 / PER_SECOND)

    def _report(self, position: Any) -> None:
        began = time.monotonic()
        promise = self._producer.send(self._topic, key=position.key, value=position.encode())
        promise.add_callback(self._kept, began)
        promise.add_errback(self.failed.append)

    def _kept(self, began: float, answer: Any) -> None:
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.acknowledged.append((answer.partition, answer.offset))
