"""The report of an invariant that does not hold.

Owns: Violation. Nothing is decided here.
"""

from __future__ import annotations


class Violation(AssertionError):
    """An invariant that does not hold: `id` (as "I7"), `text` with the brokers and numbers, `t` in virtual seconds."""

    def __init__(self, id: str, text: str, t: float) -> None:
        super().__init__(id, text, t)
        self.id, self.text, self.t = id, text, t

    def __str__(self) -> str:
        return f"{self.id} at {self.t:.3f} s: {self.text}"


class Loss(Violation):
    """A permitted loss of committed records, `start` to `end` (exclusive) of `name`: an unclean election was allowed, or more
    disks lost data than min.insync.replicas promises to survive. It is reported, but it is no failure."""

    def __init__(self, name: str, start: int, end: int, text: str, t: float) -> None:
        super().__init__("loss", text, t)
        self.name, self.start, self.end = name, start, end
