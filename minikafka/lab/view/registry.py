"""Which views live, so that Run All twice leaves one thread and a closing cluster can tell its views.

Owns: the living views of this process.
Invariants
  I-REGISTRY-1  at most one living view per cluster, and those of a cell end when it is run again: a new one stops its
                namesakes first
"""
from __future__ import annotations

import atexit
import threading
from typing import Any

_lock = threading.Lock()
_living: list[Any] = []


def enter(view: Any) -> None:
    """Register a new view, and stop those of the same cluster or the same cell."""
    with _lock:
        namesakes = [v for v in _living if v is not view and _same(v, view)]
        if view not in _living:
            _living.append(view)
    for old in namesakes:
        old.stop()


def leave(view: Any) -> None:
    with _lock:
        if view in _living:
            _living.remove(view)


def living() -> list[Any]:
    """Return the views that have not been stopped, oldest first."""
    with _lock:
        return list(_living)


def cluster_closed(cluster: Any) -> None:
    """Tell the views of a cluster that it has ended; the cluster calls this."""
    for view in living():
        if view.cluster is cluster:
            view.cluster_closed()


def _same(a: Any, b: Any) -> bool:
    if a.cluster is not None and a.cluster is b.cluster:
        return True
    return a.cell is not None and a.cell == b.cell and a.execution != b.execution  # one cell may show two runs


@atexit.register
def _stop_all() -> None:
    """Stop all views when the kernel ends, and leave still pictures behind while the page may still listen."""
    for view in living():
        view.stop()
