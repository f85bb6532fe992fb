"""A simulated run in which a leader dies and comes back: exact, and quick enough for every test."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minikafka import Cluster
from minikafka.lab import background
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


@pytest.fixture(params=["threads", "turns"])
def beside(request: pytest.FixtureRequest) -> Iterator[None]:
    """How something goes on beside the test: in threads, or as in a browser's page, in turns of an event loop."""
    loop = asyncio.new_event_loop() if request.param == "turns" else None
    background.without_threads(loop)
    yield
    background.without_threads(None)
    if loop is not None:
        loop.close()


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait for a condition that somebody beside the test makes true; return what it is."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"in vain: {condition.__code__.co_names}"
        time.sleep(0.01) if background.LOOP is None else background.LOOP.run_until_complete(asyncio.sleep(0.01))
    return found


@pytest.fixture
def sim(beside: None) -> Iterator[Cluster]:
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
