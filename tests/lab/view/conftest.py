"""A simulated run in which a leader dies and comes back: exact, and quick enough for every test."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minikafka import Cluster
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view import living


def disaster(cluster: Cluster) -> None:
    """Twelve records, the death of their leader in the middle, its return."""
    cluster.admin().create_topic("flights", partitions=2)
    producer = cluster.watch(cluster.producer(), "pilot")
    for number in range(6):
        producer.send("flights", f"before {number}", partition=0)
    dead = cluster.leader("flights", 0)
    cluster.kill(dead)
    cluster.wait(lambda: cluster.leader("flights", 0) not in (None, dead), timeout=60)
    for number in range(6):
        producer.send("flights", f"after {number}", partition=0)
    cluster.restart(dead)
    cluster.wait(lambda: len(cluster.isr("flights", 0)) == 3, timeout=60)


@pytest.fixture
def sim() -> Iterator[Cluster]:
    cluster = Cluster(engine="sim", seed=11, preset="class")
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of such a run."""
    path = tmp_path_factory.mktemp("runs") / "run.mk"
    with Cluster(engine="sim", seed=11, preset="class") as cluster:
        disaster(cluster)
        RecordedRun.of(cluster).save(path)
    return path


@pytest.fixture(autouse=True)
def nobody_stays() -> Iterator[None]:
    yield
    for view in living():
        view.stop()
