"""The trace of a cluster in a notebook inside a world: events that others than its brokers write go into that world's events.

Owns: nothing. The folder of such a trace has no trace files: it is a name for the world, and a place for logs of members.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minikafka.cluster import trace
from minikafka.sim.engine.cluster import SimTrace
from minikafka.sim.guest.modules import like
from minikafka.sim.world.world import World


class WorldTrace(SimTrace):
    """A world's events, with the folder by which writers know it."""

    def __init__(self, world: World, path: Path) -> None:
        super().__init__(world)
        self.path = path


def trace_module(worlds: Mapping[Path, World]) -> dict[str, Any]:
    """Return the module of traces for a process of a notebook, by its name; `worlds` by the folders of their traces."""
    class Writer:
        """Has the methods of `TraceWriter`."""

        def __init__(self, path: Path) -> None:
            self._world = worlds[path.parent]

        def __call__(self, kind: str, b: int = trace.CLUSTER, **fields: Any) -> None:
            self._world.tell(kind, **fields)

        def flush(self) -> None: ...

        def close(self) -> None: ...

    return {"minikafka.cluster.trace": like(trace, TraceWriter=Writer)}
