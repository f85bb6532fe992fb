"""A playground over a simulated cluster, without a page and without processes: its clients, its sliders, its members."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from minikafka.lab.play import Playground
from minikafka.lab.play.simulated import REFUSED
from minikafka.lab.play.traffic import Settings
from tests.lab.view.conftest import beside, until  # noqa: F401

pytestmark = pytest.mark.parametrize("beside", ["turns"], indirect=True)  # as in a browser's page, where this is used


@pytest.fixture
def play(beside: None) -> Iterator[Playground]:  # noqa: F811
    made = Playground(engine="sim", settings=Settings(rate=10, work=0))
    yield made
    made.stop()


def test_records_are_sent_and_delivered_and_a_member_that_is_killed_and_restarted_goes_on(play):
    """Fails if time does not pass, if the members read nothing, or if the control bar does nothing to a member."""
    until(lambda: play._crew.delivered > 20)
    members = play.cluster.members
    assert sorted(members) == ["C1", "C2"]
    play.view._orders.begin("kill", "C1")
    until(lambda: members["C1"].state == "killed")
    delivered = members["C2"].delivered
    play.view._orders.begin("pause", "C2")
    until(lambda: members["C2"].state == "paused")
    play.view._orders.begin("resume", "C2")
    until(lambda: members["C2"].delivered > delivered)
    delivered = members["C1"].delivered
    play.view._orders.begin("restart", "C1")
    until(lambda: members["C1"].delivered > delivered)
    assert play.numbers["failed"] == 0 and play.view.at().groups


def test_sliders_change_the_members_and_the_producer(play):
    """Fails if a member that is too many stays, if the other protocol reads nothing, or if a refusal of settings is not shown."""
    play.change("members", 1)
    until(lambda: sorted(getattr(play.cluster, "members", ())) == ["C1"])
    before = play._crew.delivered
    play.change("protocol", "consumer")
    until(lambda: play._crew.delivered > before + 10)
    play.change("acks", "0")
    until(lambda: play._sender.refusal == REFUSED)
    play.change("idempotence", False)
    until(lambda: play.traffic.no_answer > 5)
    assert play._sender.refusal is None
