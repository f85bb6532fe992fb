"""Events of brokers that write no trace: their metadata is polled, and each change becomes an event.

Owns the polling thread of a cluster of Apache's brokers, or of a cluster that is run elsewhere.

Events, each with the broker it is about as `b` and `polled` true: broker{id, state}, raft{role, epoch, leader},
role{tp, role, epoch, leader, isr, replicas}, isr{tp, isr, leader_epoch}, hw{tp, hw}. Our own brokers write more events. These
come up to one poll late, and a change that is undone between two polls is not seen, as with any monitoring of a real cluster.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from . import wire
from .trace import TraceWriter

INTERVAL = 0.5  # seconds


class Polled(Protocol):
    """The part of a cluster that a poller needs."""

    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def alive(self) -> Sequence[int]: ...
    def address(self, broker: int) -> str: ...


class Poller:
    """A poller that runs until it is closed; the first round is over when the constructor returns."""

    def __init__(self, cluster: Polled, say: TraceWriter) -> None:
        self._cluster, self._write = cluster, say
        self._seen: dict[tuple[Any, ...], Any] = {}
        self._over = threading.Event()
        self._round()
        self._thread = threading.Thread(target=self._run, name="poller", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(INTERVAL):
            self._round()

    def _round(self) -> None:
        """Read everything from the first broker that answers, except for the offsets, which only leaders know."""
        for broker in self._cluster.alive:
            address = self._cluster.address(broker)
            try:
                self._see(wire.live_brokers(address), wire.partitions(address), wire.quorum_leader(address))
                return
            except OSError:
                continue

    def _see(self, live: dict[int, str], partitions: dict[str, wire.PartitionInfo], leads: tuple[int, int] | None) -> None:
        for broker in self._cluster.ids:
            self._tell(broker, "broker", id=broker, state="unfenced" if broker in live else "fenced")
        if leads is not None:
            self._tell(leads[0], "raft", role="leader", epoch=leads[1], leader=leads[0])
        for tp, p in partitions.items():
            for replica in p.replicas:
                role = "leader" if replica == p.leader else "follower"
                self._tell(replica, "role", tp=tp, role=role, epoch=p.epoch, leader=p.leader, isr=p.isr,
                           replicas=p.replicas)
            if p.leader >= 0:
                self._tell(p.leader, "isr", tp=tp, isr=p.isr, leader_epoch=p.epoch)
        self._offsets(live, partitions)

    def _offsets(self, live: dict[int, str], partitions: dict[str, wire.PartitionInfo]) -> None:
        for broker, address in live.items():
            led = [(tp.rpartition("-")[0], int(tp.rpartition("-")[2])) for tp, p in partitions.items()
                   if p.leader == broker]
            for tp, offset in (wire.end_offsets(address, led) if led else {}).items():
                self._tell(broker, "hw", tp=tp, hw=offset)

    def _tell(self, broker: int, kind: str, **fields: Any) -> None:
        """Write the event if it differs from the last one of its kind about the same broker or partition."""
        key = (broker, kind, fields.get("tp"))
        if self._seen.get(key) != fields:
            self._seen[key] = fields
            self._write(kind, b=broker, polled=True, **fields)
