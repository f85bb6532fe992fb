"""Lets a cluster's time pass in a browser's page while no cell runs, after somebody has pressed a button of the picture.

    passing = Passing(cluster)
    passing.hand()      # a hand takes HAND seconds of the world to the button: followers learn meanwhile what was acknowledged
    passing.begin()     # SECONDS of the world, no faster than the page's; a cell that runs drives the world itself

Without a button nothing passes beside the cells, so the same cells are the same run.

Owns: how much time is left to pass.
Invariants
  I-PASSING-1  no time passes here while a cell runs
What a real cluster does differently: its time never stands still.
"""
from __future__ import annotations

import time
from typing import Any

from minikafka.lab import background

SECONDS = 30.0  # of the world: longer than any timeout of the class's preset
HAND = 1.0      # twice as long as a follower's fetch waits
TICK = 0.1      # seconds of the world in a step, and of the page at least between two


class Passing:
    """The time of one cluster beside the cells."""

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._left = cluster, 0.0
        self._job = background.Background("time-passes", self._step)

    def hand(self) -> None:
        """Let the time pass that one needs between a cell and a button, unless a cell runs."""
        if background.LOOP is not None and not background.in_a_cell:
            self._cluster.sleep(HAND)

    def begin(self) -> None:
        """Let time pass, where nothing has a thread."""
        if background.LOOP is not None:
            self._left = SECONDS
            self._job.wake(TICK)

    def stop(self) -> None:
        self._job.stop()

    def _step(self) -> float | None:
        began = time.monotonic()
        if self._left <= 0 or self._cluster.closed:
            return None
        if not background.in_a_cell:  # I-PASSING-1
            self._left -= TICK
            with self._cluster.turn:
                self._cluster.sleep(TICK)
        return max(TICK / 5, began + TICK - time.monotonic())
