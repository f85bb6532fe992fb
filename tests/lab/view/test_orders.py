"""What the control bar does to a cluster: orders in threads of their own, errors as one line."""
from __future__ import annotations

import threading

import pytest

from minikafka import Cluster
from minikafka.lab import background
from minikafka.lab.page.passing import Passing
from minikafka.lab.play.simulated import Pace
from minikafka.lab.view.orders import ORDERS, Orders, words
from minikafka.sim.engine.cluster import SimCluster
from tests.lab.view.conftest import until


class Ear:
    """Hears what is said."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.changes = 0

    def say(self, level: str, text: str) -> None:
        self.lines.append((level, text))

    def changed(self) -> None:
        self.changes += 1


class PageCluster(SimCluster):
    """A simulated cluster whose time passes after a button, as a page's does."""

    def __init__(self) -> None:
        super().__init__(seed=11, preset="class")
        self.passing = Passing(self)


def carry_out(cluster, *order) -> Ear:
    ear = Ear()
    orders = Orders(cluster, ear.say, ear.changed)
    orders.begin(*order)
    until(lambda: not orders.busy)
    return ear


def faults(cluster) -> list[str]:
    return [event["fault"] for event in cluster.trace.events("fault")]


def test_orders_reach_the_cluster(sim):
    """Fails if a button does something else than it says; the trace of a simulated cluster tells what was done."""
    carry_out(sim, "hold", 2), carry_out(sim, "slow", 3), carry_out(sim, "cut", 1, "clients"), carry_out(sim, "cut", 1, 2)
    carry_out(sim, "heal"), carry_out(sim, "pause", 1), carry_out(sim, "resume", 1), carry_out(sim, "kill", 3)
    assert sim.alive == [1, 2]
    carry_out(sim, "restart", 3)
    assert sim.alive == [1, 2, 3]
    wanted = ["hold_follower", "slow_follower", "cut", "cut", "heal", "pause", "resume", "kill"]
    assert [fault for fault in faults(sim) if fault in wanted] == wanted


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_no_time_passes_after_an_order_where_somebody_lets_it_pass_in_any_case(beside):
    """Fails if the time of a playground in a page leaps, and then runs twice as fast, after a button."""
    with PageCluster() as sim:
        Pace(sim)
        before = sim.now()
        carry_out(sim, "heal")
        assert sim.now() == before


@pytest.mark.parametrize("beside", ["turns"], indirect=True)
def test_time_passes_beside_the_cells_of_a_page_after_an_order(beside):
    """I-PASSING-1: fails if nobody sees the crown move after a Kill, or if time passes while a cell drives the world."""
    sim = PageCluster()
    sim.admin().create_topic("flights", 1)
    victim = sim.leader("flights", 0)
    background.cell_begins()
    carry_out(sim, "kill", victim)
    before = sim.now()
    sim.sleep(0.5)
    assert sim.now() == pytest.approx(before + 0.5)
    assert sim.passing._step() is not None and sim.now() == pytest.approx(before + 0.5)
    background.cell_ends()
    until(lambda: sim.leader("flights", 0) != victim)
    sim.passing.stop()
    with sim.turn:
        before = sim.now()
    carry_out(sim, "heal")
    assert sim.now() == pytest.approx(before + 1.0), "the time that a hand needs"
    sim.close()


def test_orders_reach_the_members_that_a_notebook_started():
    """Fails if a button beside a member's name does something to a broker, or if one that is not there is a KeyError."""
    class Clerk:
        def __init__(self) -> None:
            self.told: list[str] = []

        def pause(self) -> None:
            self.told.append("pause")

        def kill(self) -> None:
            self.told.append("kill")

    class Office:
        members = {"C1": Clerk()}

    assert carry_out(Office, "pause", "C1").lines[-1] == ("good", "pause consumer C1: done")
    carry_out(Office, "kill", "C1")
    assert Office.members["C1"].told == ["pause", "kill"]
    assert carry_out(Office, "kill", "C9").lines[-1] == (
        "bad", "kill consumer C9: LookupError: this notebook has started no member C9")


def test_a_controller_is_called_one():
    """Fails if an order for a node that serves no clients names a broker."""
    assert [words("kill", node, controllers=[101]) for node in (1, 101)] == ["kill broker 1", "kill controller 101"]


def test_time_passes_in_a_simulated_world_on_request(sim):
    """Fails if "+10 s" does not drive the world."""
    before = sim.now()
    carry_out(sim, "pass", 10)
    assert sim.now() == pytest.approx(before + 10)


def test_an_error_is_one_line_and_no_traceback(sim, capfd):
    """I-ORDERS-2: fails if an exception leaves the thread, is swallowed, or brings the log of a broker into the line."""
    ear = carry_out(sim, "kill", 77)
    assert ear.lines[-1] == ("bad", "kill broker 77: ClusterError: there is no node 77; there are [1, 2, 3]")
    assert carry_out(sim, "sing").lines == [("bad", "there is no order 'sing'")]
    assert "Traceback" not in capfd.readouterr().err and ear.changes == 1


def test_a_fault_that_is_not_supported_is_named_in_the_line(capfd):
    """Fails if NotSupported of a cluster that somebody else runs ends in a thread's traceback."""
    with Cluster(brokers=1, preset="class") as ours:
        theirs = Cluster.connect(ours.bootstrap)
        for order in (("kill", 1), ("cut", 1, "clients"), ("heal",)):
            level, text = carry_out(theirs, *order).lines[-1]
            assert level == "bad" and "NotSupported" in text and "\n" not in text
        theirs.close()
        assert ours.alive == [1]
    assert "Traceback" not in capfd.readouterr().err


class Slow:
    """A cluster whose restart takes until it is told."""

    def __init__(self) -> None:
        self.may_end, self.began, self.killed = threading.Event(), 0, []

    def restart(self, node: int) -> None:
        self.began += 1
        self.may_end.wait(30)

    def kill(self, node: int) -> None:
        self.killed.append(node)


def test_a_slow_order_stops_no_other_and_is_not_begun_twice():
    """I-ORDERS-1: fails if orders queue up behind a restart, or a second click starts a second restart."""
    ear, cluster = Ear(), Slow()
    orders = Orders(cluster, ear.say, ear.changed)
    orders.begin("restart", 1)
    orders.begin("restart", 1)
    orders.begin("kill", 2)
    while not cluster.killed:
        assert orders.busy
    assert orders.busy[0] == ["restart", 1]
    cluster.may_end.set()
    until(lambda: not orders.busy)
    assert cluster.began == 1


def test_every_order_has_words():
    """Fails if an order is added whose line would be wrong or empty."""
    arguments = {"cut": (1, "clients"), "heal": (), "mend": (), "pass": (10,)}
    lines = {name: words(name, *arguments.get(name, (1,))) for name in ORDERS}
    assert lines["cut"] == "cut broker 1 from the clients" and lines["kill"] == "kill broker 1"
    assert lines["pass"] == "let 10 s pass" and lines["slow"] == "slow follower 1"
    assert len(set(lines.values())) == len(ORDERS)
