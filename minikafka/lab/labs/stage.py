"""What most experiments and demos begin with: three simulated brokers, and a partition that all three of them have.

    with simulated(seed=6, controllers=3) as cluster:
        replicated(cluster, "positions", [1, 2, 3])       # broker 1 leads; returns when all are in sync
"""
from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

from minikafka import Cluster


def simulated(seed: int, **settings: Any) -> Any:
    """Start a simulated class cluster that prints nothing about its settings; `settings` are those of Cluster."""
    with contextlib.redirect_stdout(io.StringIO()):
        return Cluster(**{"engine": "sim", "seed": seed, "preset": "class", **settings})


def replicated(cluster: Any, topic: str, brokers: Sequence[int] = (1, 2, 3), **configs: Any) -> Any:
    """Create a topic with one partition on these brokers, of which the first leads, and wait until all are in sync; return the
    cluster. `configs`: of the topic, with underscores: `min_insync_replicas=2`."""
    cluster.admin().create_topic(topic, assignment={0: list(brokers)},
                                 configs={name.replace("_", "."): str(value) for name, value in configs.items()})
    cluster.wait(lambda: len(cluster.isr(topic)) == len(brokers))
    return cluster
