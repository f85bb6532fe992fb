"""UnregisterBroker beside work in flight: of a broker that runs, of one that is started again, and of one that is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from minikafka import Cluster
from tests.conftest import SETTINGS
from tests.transcripts import compare
from tests.wire.conftest import describe
from tests.wire.deletions.play import begin
from tests.wire.deletions.scene import Scene
from tests.wire.deletions.work import TOPIC
from tests.wire.raw import Raw
from tests.wire.test_partition_admin import state, unregister
from tests.wire.test_produce import batch, produce

pytestmark = [pytest.mark.slow]
HERE = Path(__file__).parent
ONE_COORDINATOR = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}


@pytest.fixture
def apart(engine: str) -> Iterator[Cluster]:
    """Three brokers and a controller of its own."""
    with Cluster(brokers=3, controllers=1, engine=engine, config=SETTINGS | ONE_COORDINATOR) as cluster:
        yield cluster


def idle_broker(cluster: Cluster, name: str, closing: ExitStack) -> int:
    """Return a broker that coordinates neither groups nor transactions."""
    scene = Scene(cluster, name, closing, [])
    busy = {"{}:{}".format(*raw.socket.getpeername()[:2]) for raw in (scene.group.raw, scene.desk.raw)}
    return next(number for number in (3, 2, 1) if cluster.plan.nodes[number].address not in busy)


def brokers(raw: Raw) -> list[int]:
    return sorted(broker.node_id for broker in describe(raw, "t").brokers)


@pytest.mark.judge_first
def test_a_broker_that_runs_is_unregistered(apart: Cluster, name: str, rewrite: bool) -> None:
    """Fails if the broker comes back by itself, if work that it led does not go on as on Apache Kafka, or if a new process of it
    does not get its replicas back (I-LIFE-4)."""
    path, told = HERE / "unregisterbroker.txt", ["# UnregisterBroker of the leader: what Apache Kafka 4.3 answers, and leaves\n"]
    with ExitStack() as closing:
        victim = idle_broker(apart, name, closing)
        other, itself = (closing.enter_context(Raw(apart.plan.nodes[number].address)) for number in (victim % 3 + 1, victim))
        begun = list(begin(apart, name, closing, frozenset([TOPIC]), path, rewrite, victim))
        assert unregister(other, victim) == (0, "")
        apart.wait(lambda: victim not in brokers(itself), timeout=60)
        for cell in begun:
            before = cell.scene.at
            cell.scene.find_leader()
            cell.scene.tell("Produce to the broker", produce(before, batch()).error_code)
            told.append(cell.go_on())
        assert victim not in brokers(other) and victim not in brokers(itself)
        apart.kill(victim)
        apart.restart(victim)
        apart.wait(lambda: all(state(other, cell.scene.name)[0][3] == [1, 2, 3] for cell in begun), timeout=60)
    compare(path, "\n".join(told), rewrite)
