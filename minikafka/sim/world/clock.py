"""The wall clock of one simulated host: it drifts with the host's own pace and can jump.

Invariants: a jump moves the wall clock only; the clock that measures durations never jumps.
"""

from __future__ import annotations

from minikafka.sim.world.loop import ProcessLoop

EPOCH_MS = 1_700_000_000_000  # the wall clock of every world starts here


class SimClock:
    """The clock of a host on which `rate` seconds pass in one of the world."""

    def __init__(self) -> None:
        self.jumped_ms = 0
        self.rate = 1.0

    def jump(self, seconds: float) -> None:
        self.jumped_ms += round(seconds * 1000)

    def wall_ms(self, loop: ProcessLoop) -> int:
        return EPOCH_MS + self.jumped_ms + int(loop.time() * 1000)
