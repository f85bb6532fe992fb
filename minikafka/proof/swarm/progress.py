"""The progress of a campaign: one line on a terminal, written over and over; without a terminal nothing is written.

Owns: that line, and other lines printed while it stands there.
Invariants: the output in a file or a pipe is the same with a terminal and without.
"""

from __future__ import annotations

import sys
import time

from minikafka.proof.swarm.campaign import SeedOutcome

CLEARED = "\r\x1b[K"  # to the line's beginning, and nothing behind it


class Progress:
    """The progress of a number of seeds; it is told of each as it ends."""

    def __init__(self, seeds: int) -> None:
        self.seeds, self.done, self.failed = seeds, 0, 0
        self._began = time.monotonic()
        self._show()

    def add(self, outcome: SeedOutcome) -> None:
        """Count one more seed; the line of a failing one remains."""
        self.done += 1
        if outcome.violations:
            self.failed += 1
            self.clear()
            print(outcome.line(), flush=True)
        self._show()

    def _show(self) -> None:
        passed = time.monotonic() - self._began
        left = f", {_clock(passed / self.done * (self.seeds - self.done))} left" if self.done else ""
        rate = self.done / passed if self.done else 0.0
        self._write(f"{self.done} of {self.seeds} seeds, {self.failed} with violations, {rate:.1f} seeds/s{left}")

    def clear(self) -> None:
        self._write("")

    def _write(self, line: str) -> None:
        if sys.stderr.isatty():
            print(CLEARED + line, end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
