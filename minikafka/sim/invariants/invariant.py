"""What an invariant is to the watch: a few methods, each called at its own occasion; those it does not need it leaves.

Owns: Invariant, the base of all, and the reasons for which a replica is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minikafka.log.batch import Header

if TYPE_CHECKING:
    from minikafka.sim.invariants.cluster_view import ClusterView
    from minikafka.sim.invariants.known import Known
    from minikafka.sim.invariants.replica import Seen, Truth

# Why a replica is looked at: what its broker's trace said of it in this step.
GREW, MOVED, CUT, ROLE = 1, 2, 4, 8
LED = 16  # its high watermark moved while it led; it may follow already: one step can replay a lot of metadata
REASONS = {"append": GREW, "hw": MOVED, "truncate": CUT, "recover": CUT, "role": ROLE, "isr": ROLE}


class Invariant:
    """`events`: the kinds of trace events that `on_event` is called with. A `patient` one may take its time at the end:
    it waits before the others look."""

    id = ""
    patient = False
    events: tuple[str, ...] = ()

    def __init__(self, watch: Known) -> None:
        self.watch = watch

    @property
    def cluster(self) -> ClusterView:
        return self.watch.cluster

    def fail(self, text: str, *about: Any) -> None:
        """It does not hold; told once for the same `about` (the text, if there is none)."""
        self.watch.report(self.id, text, about)

    def on_event(self, event: dict[str, Any]) -> None:
        """An event of the trace, at once: in the middle of a step."""

    def on_fault(self, event: dict[str, Any]) -> None:
        """Something was done to the world."""

    def on_replica(self, seen: Seen, why: int) -> None:
        """After a step in which this replica changed."""

    def on_committed(self, truth: Truth, header: Header, raw: bytes) -> None:
        """A batch came to lie below the true high watermark; in the order of the log."""

    def on_lost(self, truth: Truth) -> None:
        """Committed batches are gone, with permission: forget what was learned of them."""

    def on_metadata(self, changed: Iterable[tuple[str, int]]) -> None:
        """More metadata is committed; `changed` partitions are not as they were."""

    def on_sample(self) -> None:
        """Every few steps."""

    async def at_end(self) -> None:
        """After healing: wait for what must come, then look at everything."""
