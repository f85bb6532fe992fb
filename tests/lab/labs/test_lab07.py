"""Lab 7: that each figure follows its fault or its distance; strict cells compare the figures themselves."""
from __future__ import annotations

import random
from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from minikafka import Cluster
from minikafka.cluster.errors import NotReady
from minikafka.lab.labs.lab07 import checks, own
from minikafka.lab.labs.lab07 import experiment as lab07
from minikafka.lab.labs.lab07.chart import SMALLEST, over_time, shares
from minikafka.lab.labs.lab07.experiment import ALL, NEEDS, AcksCluster, Price, latencies, quantile
from minikafka.lab.picture.draw.chart import Panel, to_svg


@pytest.mark.parametrize("acks, near, far, isr, expected",
                         [room for room in checks.ROOMS if [*room[2]] == [2, 3] and room[3] == [1, 2, 3]])
def test_what_the_check_expects_is_what_the_brokers_do(acks, near, far, isr, expected):
    """Fails if the answers of exercise 7.2 and a cluster disagree."""
    with AcksCluster([far[2] / 1000, far[3] / 1000], near / 1000) as room:
        writer = room.writer({"all": ALL}.get(acks, acks), rate=2, count=8)
        room.until_sent(writer, 8)
        writer.finish()
        times = [1000 * ack.latency for ack in writer.acked]
    assert quantile(times, 0.5) == pytest.approx(expected, abs=0.01)


def test_who_sends_one_at_a_time_has_no_queue():
    """Section 3: fails if the 554 ms at fifty a second did not come from requests that wait behind each other."""
    times = latencies(ALL, 0.05, rate=50, count=300, max_in_flight=1)
    assert 102 <= round(quantile(times, 0.5)) <= 203


def test_one_connection_has_no_queue_with_acks_1():
    """Fails if the queue of section 3 came from anything but the wait for the followers."""
    assert round(quantile(latencies(1, 0.05, rate=50, count=100), 0.99)) == 2


def test_what_stale_followers_cost():
    """Section 4: fails if the losses did not follow the time that the followers stood still."""
    end = lab07.stale_followers(1, 70)
    assert (end.told_before, end.told, len(end.lost), end.in_sync, end.leader) == (70, 100, 10, (2, 3), 2)


def test_fresher_metadata_loses_less():
    """Fails if `metadata.max.age.ms` made no difference."""
    assert len(lab07.faulty_leader(metadata_max_age=1.0).lost) < 50


@pytest.mark.parametrize("acks, lost", [(0, 9), (1, 6), (ALL, 0)])
def test_a_node_that_fails_under_load(acks, lost):
    """Section 6: nine of a thousand, six, none."""
    with AcksCluster() as room:
        writer = room.writer(acks, rate=1000, count=1000)
        room.until_sent(writer, 300)
        room.cluster.kill(1)
        room.until_sent(writer, 1000)
        writer.finish()
        room.cluster.restart(1)
        assert len(room.lost(writer)) == lost


def test_a_node_that_is_back_too_early_takes_more_along():
    """Section 6, in brackets: fails if a restarted broker, which leads no more, were no trap for acks=0."""
    with AcksCluster() as room:
        writer = room.writer(0, rate=1000, count=1000)
        room.until_sent(writer, 300)
        room.cluster.kill(1)
        room.until_sent(writer, 1000)
        room.cluster.restart(1)
        writer.finish()
        assert len(room.lost(writer)) > 600


def test_who_waits_for_too_many_records_is_told_how_many_there_are():
    """Fails if a wait in vain names a lambda."""
    with AcksCluster() as room, pytest.raises(NotReady, match=r"2000 records are sent \(this writer sends 10 in all\)"):
        room.until_sent(room.writer(1, rate=10, count=10), 2000)


def test_one_slow_member():
    """Section 7: fails if the follower that was thrown out lacks fewer than the 300 records of the text."""
    slow = lab07.slow_member()
    assert slow.behind == 300 and slow.in_sync == (1, 2)


def test_who_gets_what():
    """Section 9: metrics 0, orders all, logs 1, the bids nothing; fails if a closer city changed nothing."""
    table = {0: Price(0, 702, False), 1: Price(2, 702, True), "all": Price(42, 0, True)}
    assert [checks.good_enough(need, table)[:1] for need in NEEDS.values()] == [[0], ["all"], [1], []]
    assert checks.good_enough(NEEDS["bids of an auction"], table | {"all": Price(6, 0, True)}) == ["all"]
    assert quantile(latencies(ALL, 0.02, count=20), 0.5) == 42


def test_the_charts_show_every_record():
    """I-L7-3: fails if a value were averaged away; the SVG has a dot for each record, and a line for each phase with its name."""
    rng = random.Random(7)
    samples = {name: [rng.uniform(1, 100) for _ in range(50)] for name in ("one", "two")}
    for line, values in zip(shares(samples, "title").data, samples.values()):
        assert list(line.x) == [min(values), *sorted(values)] and list(line.y) == pytest.approx([2 * n for n in range(51)])
    dots = over_time([(1.0, 5.0), (2.0, 50.0), (3.0, 0.0)], [("a phase", 0.5)], "title")
    assert list(dots.data[0].y) == [5.0, 50.0, SMALLEST]
    svg = to_svg(dots)
    assert svg.count("a3 3") == 3 and svg.count('stroke-dasharray="3 3"') == 1 and ">a phase</text>" in svg


@pytest.mark.parametrize("values, ticks", [
    ([0.2, 60], ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100"]), ([102, 600], ["100", "200", "500", "1,000"]),
    ([4, 14_000], ["1", "10", "100", "1,000", "10,000", "100,000"])])
def test_every_figure_at_an_axis_is_a_whole_one(values, ticks):
    """Fails if a "2" stands for 0.2 or 20, as plotly writes it by itself, or a "10k" for 10,000."""
    assert list(shares({"a": values}, "title").layout.xaxis.ticktext) == ticks


@pytest.mark.parametrize("samples", [{"a": [1.0]}, {"a": [0.0, 0.0]}, {"a": [0.01, 100_000.0], "b": [3.0]}])
def test_a_chart_of_odd_samples_stays_on_its_card(samples):
    """Fails if one record, or only zeros, or six powers of ten broke the scale."""
    chart = shares(samples, "title")
    panel = Panel(chart, "x", "y")
    left, top, right, bottom = panel.box
    for line in chart.data:
        assert all(left <= panel.place("x", x) <= right for x in line.x)
        assert all(top <= panel.place("y", y) <= bottom for y in line.y)


@pytest.mark.slow
def test_the_deadly_night_of_real_processes():
    """Section 8: with acks=1 the records are lost that nobody copied, with all none; fails if one night's records were taken
    for another's.
    """
    with Cluster(brokers=3, controllers=1, preset="class") as cluster:
        with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
            admin.create_topics({"orders": {"assignments": {0: [1, 2, 3]}}}, wait_for_metadata=True)
        told = own.deadly(cluster, 1, "orders")
        assert len(told.acknowledged) == 60 and told.lost == [f"storm {n}" for n in range(20)][-len(told.lost):]
        assert 18 <= len(told.lost) <= 20 and not told.unpromised
        told = own.deadly(cluster, "all", "orders")
        assert told.acknowledged == [f"peace {n}" for n in range(40)] and not told.lost and len(told.unpromised) >= 15
