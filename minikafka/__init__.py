"""A small Kafka: real brokers for real clients, small enough to read. `from minikafka import Cluster` starts one.

Three storeys, from the ground up (README.md in this folder says how to read them):

    the Kafka   protocol/ log/ broker/ client/ cluster/, the simulated machine that carries it (sim/), and what a real
                machine needs (machine/)
    the proof   proof/: what judges it
    the lab     lab/: what teaches it

__main__.py is `python -m minikafka`.
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
