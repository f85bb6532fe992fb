"""The picture, its control bar and the playground on a cluster that is closed: nobody does a step by hand."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minikafka.lab.play import Playground
from minikafka.lab.play.traffic import Settings
from tests.lab.view.conftest import until


@pytest.fixture
def play() -> Iterator[Playground]:
    made = Playground(brokers=1, partitions=1, replication=1, security="tls+scram", settings=Settings(rate=20, work=0, members=1))
    yield made
    made.stop()


def test_traffic_members_and_picture_of_a_closed_cluster(play: Playground) -> None:
    """Fails if the topic, the producer, a member, the picture or an order of the control bar does not get in, or if a member has
    the password on its command line (I-CLOSED-1)."""
    until(lambda: play._crew.delivered > 20)
    frame = play.view.at()
    assert frame.producers[0].acked > 0 and frame.groups and play.numbers["failed"] == 0
    (member,) = play.cluster.members.values()
    password = play.cluster.for_kafka_python()["sasl_plain_password"]
    assert password not in Path(f"/proc/{member.process.pid}/cmdline").read_text()
    before = play._crew.delivered
    play.view._orders.begin("restart", 1)
    until(lambda: not play.view._orders.busy and play._crew.delivered > before + 20)
