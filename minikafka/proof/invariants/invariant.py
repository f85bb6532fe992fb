"""The base of all invariants: a few methods, each called at its own occasion; a subclass overrides those that it needs.

Owns: Invariant, and the reasons for which a replica is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minikafka.log.batch import BatchHeader

if TYPE_CHECKING:
    from minikafka.proof.invariants.known import Known
    from minikafka.proof.invariants.replica import ReplicaSeen, Truth

# Why a replica is looked at: what its broker's trace said of it in this step.
GREW, MOVED, CUT, ROLE = 1, 2, 4, 8
LED = 16  # its high watermark moved while it led; it may follow already: one step can replay a lot of metadata
REASONS = {"append": GREW, "hw": MOVED, "truncate": CUT, "recover": CUT, "role": ROLE, "isr": ROLE}


class Invariant:
    """One invariant. `events`: the kinds of trace events that `on_event` is called with. A `patient` one may wait at the end,
    before the others look."""

    id = ""
    patient = False
    events: tuple[str, ...] = ()

    def __init__(self, watch: Known) -> None:
        self.watch, self.cluster = watch, watch.cluster

    def fail(self, text: str, *about: Any) -> None:
        """Report that the invariant does not hold; once for the same `about` (the text, if there is none)."""
        self.watch.report(self.id, text, about)

    def on_event(self, event: dict[str, Any]) -> None:
        """Look at an event of the trace, at once: in the middle of a step."""

    def on_fault(self, event: dict[str, Any]) -> None:
        """Look at something that was done to the world."""

    def on_replica(self, seen: ReplicaSeen, why: int) -> None:
        """Look at a replica after a step in which it changed."""

    def on_committed(self, truth: Truth, header: BatchHeader, raw: bytes) -> None:
        """Look at the next batch, in the order of the log, that the true high watermark has passed."""

    def on_lost(self, truth: Truth) -> None:
        """Forget what was learned from committed batches that are gone, with permission."""

    def on_metadata(self, changed: Iterable[tuple[str, int]]) -> None:
        """Look at newly committed metadata; `changed` partitions are not as they were."""

    def on_sample(self) -> None:
        """Look at everything, every few steps."""

    async def at_end(self) -> None:
        """Wait, after healing, for what must happen, then look at everything."""
