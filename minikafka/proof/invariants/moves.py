"""I18 and I20: the metadata of replicas that move, and of brokers that register.

I18  a reassignment ends in one of two ways: all its targets are in the ISR, and the other replicas are removed; or it is
     cancelled, and the replicas are those from before. Until then no replica is removed. If another reassignment replaces it,
     the targets are the new ones (KIP-455).
I20  a broker is unfenced only when it has replayed its own registration: by then it knows what it leads (KIP-631, rule 30).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key


class MovesAreWhole(Invariant):
    """The invariant I18."""

    id = "I18"

    def on_metadata(self, changed: Iterable[Key]) -> None:
        for before, now in map(self.cluster.change, changed):
            # Several changes may be replayed in one step; what lay between them is not seen.
            if before is not None and now is not None and now.partition_epoch == before.partition_epoch + 1:
                self._follows(before, now)

    def _follows(self, before: Any, now: Any) -> None:
        if not (before.adding or before.removing):
            return
        name, replicas = f"{now.topic}-{now.index}", {*now.replicas}
        old = {*before.replicas} - {*before.adding}
        if now.adding or now.removing:
            if gone := old - replicas:
                self.fail(f"{name}: replicas {sorted(gone)} left before the reassignment had ended: {before} -> {now}")
        elif replicas != old and (missing := replicas - {*now.isr}):
            self.fail(f"{name}: the reassignment to {sorted(replicas)} ended without {sorted(missing)} in the ISR "
                      f"{list(now.isr)}")


class BrokersComeKnowing(Invariant):
    """The invariant I20."""

    id = "I20"

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self._serving: dict[int, int] = {}  # broker -> the epoch in which it was unfenced

    def on_metadata(self, changed: Iterable[Key]) -> None:
        image = self.cluster.image
        for node, known in image.brokers.items() if image is not None else ():
            if known.fenced or self._serving.get(node) == known.epoch:
                continue
            self._serving[node] = known.epoch
            broker = self.cluster.registered(node)
            if broker is not None and broker.image.offset < known.registration_offset:
                self.fail(f"broker {node} is unfenced in epoch {known.epoch}, but has replayed the metadata up to "
                          f"{broker.image.offset} only")
