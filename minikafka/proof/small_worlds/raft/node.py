"""The parts of the Raft campaign's world: its settings, a request on its way, and one process with its disk.

Owns: no behaviour; that is in world.py and net.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from minikafka.broker.raft.effects import Effect, Times
from minikafka.broker.raft.messages import Request
from minikafka.broker.raft.raft import Raft
from minikafka.proof.small_worlds.raft.disk import Entry, RaftDisk


@dataclass(slots=True)
class QuorumSettings:
    """The settings that are drawn once per seed."""

    voters: int = 3
    observers: int = 1
    latency: tuple[float, float] = (0.0005, 0.005)
    disk: tuple[float, float] = (0.0, 0.0)  # seconds that a Persist or a Flush takes
    reorder: float = 0.0  # the part of messages that may overtake others
    loss: float = 0.0  # the part of messages that break their connection
    max_entries: int = 10  # in one answer to a fetch, or one piece of a snapshot
    append_every: float = 0.15
    drift: float = 0.0  # clocks run faster or slower by up to this part
    pace: float = 1.0  # the quorum's times as a multiple of Kafka's
    seconds: float = 6.0  # of faults


@dataclass(slots=True, frozen=True, eq=False)
class Asked:
    """A request; also the token by which the answering node knows it."""

    src: int
    dst: int
    id: int
    request: Request
    lives: tuple[int, int]  # the incarnations of both ends of the connection
    expires: float


class RaftNode:
    """One process, and the disk that survives it."""

    def __init__(self, id: int, rate: float) -> None:
        self.id, self.rate = id, rate
        self.disk = RaftDisk()
        self.core: Raft | None = None
        self.life = 0
        self.paused = False
        self.high_watermark = 0
        self.loading: list[Entry] = []
        self.inbox: deque[tuple[Callable[..., list[Effect]], tuple[Any, ...]]] = deque()
        self.busy = False  # the node waits for its disk
        self.stalled: tuple[list[Effect], int] | None = None  # the disk is done, but the process is paused
        self.fuse: tuple[int, bool, float] | None = None  # effects until a crash; whether of power; seconds of downtime
        self.disk_delay = 0.0  # on top of the settings', while the disk is slow
        self.armed = float("inf")  # when its next timer fires

    def wait(self) -> bool:
        return self.busy or self.paused


def times(pace: float) -> Times:
    """Return Kafka's times, each multiplied by `pace`."""
    usual = Times()
    return Times(*(getattr(usual, field.name) * pace for field in fields(Times)))
