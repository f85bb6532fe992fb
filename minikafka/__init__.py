"""A small Kafka: real brokers for real clients, small enough to read. `from minikafka import Cluster` starts one.

README.md in this folder says how to read the source. Beside the folders stand __main__.py (`python -m minikafka`), and what
set-up needs: jars.py (which jars of Apache Kafka and Spark are fetched), download.py (how), trust.py (with which
certificates), java.py (which Java runs them), environment.py (what other courses left
behind is set aside), files.py (small helpers for files).
"""

from __future__ import annotations

from typing import Any

__all__ = ["BrokerDied", "Cluster", "ClusterError", "NotReady", "NotSupported", "Trace"]


def __getattr__(name: str) -> Any:
    # On first use: a broker's process imports this package too, and has no use for the machinery that starts brokers.
    if name in __all__:
        from . import cluster
        return getattr(cluster, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
