"""Lab 7: every number that its prose states, and that each figure follows the fault or the distance that it comes from."""
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


def test_the_ladder():
    """Section 2: 0, 2, and 4, 12, 102 ms; fails if the leader answered before the slowest follower in sync had asked again."""
    table = lab07.ladder()
    assert list(table.loc["acks=0"]) == [0, 0, 0] and list(table.loc["acks=1"]) == [2, 2, 2]
    assert list(table.loc["acks=all"]) == [4, 12, 102]


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


@pytest.mark.parametrize("rate, settings, low, high", [
    (9, {}, 102, 102), (20, {}, 500, 600), (50, {}, 550, 558), (50, {"linger": 0.1}, 160, 164),
    (50, {"max_in_flight": 1}, 102, 203)])
def test_the_queue(rate, settings, low, high):
    """Section 3: a cliff between nine and eleven a second, 554 ms at fifty; less for who waits, or sends one at a time."""
    times = latencies(ALL, 0.05, rate=rate, count=6 * rate, **settings)
    assert low <= round(quantile(times, 0.5)) <= high


def test_one_connection_has_no_queue_with_acks_1():
    """Fails if the queue of section 3 came from anything but the wait for the followers."""
    assert round(quantile(latencies(1, 0.05, rate=50, count=100), 0.99)) == 2


@pytest.mark.parametrize("acks, until, told, lost", [(1, 80, 80, 20), (1, 70, 70, 10), (ALL, 80, 60, 0)])
def test_what_stale_followers_cost(acks, until, told, lost):
    """Section 4: 20 lost with acks=1, in a clean election; fails if the figure did not follow the time that they stood still."""
    end = lab07.stale_followers(acks, until)
    assert (end.told_before, end.told, len(end.lost), end.in_sync, end.leader) == (told, 100, lost, (2, 3), 2)


def test_a_cut_is_worse_than_a_death():
    """Section 5: 1 and 62, nothing for the others, no error anywhere."""
    table = lab07.faults()
    assert list(table["lost, killed"]) == [1, 0, 0] and list(table["lost, cut off"]) == [62, 0, 0]
    assert list(table["errors seen"]) == [0, 0, 0]


@pytest.mark.parametrize("after, lost", [(5.5, 47), (8.5, 17)])
def test_the_rhythm_of_the_metadata_decides(after, lost):
    """Section 5: fails if the losses came from anything but the age of the producer's metadata."""
    assert len(lab07.faulty_leader(after=after).lost) == lost


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


def test_an_isolated_leader_lies():
    """Section 6: 702 with acks=1, as with acks=0, and none with all; fails if the old leader stepped down by itself."""
    lost = {acks: lab07.isolated(acks) for acks in (0, 1, ALL)}
    assert {acks: len(end.lost) for acks, end in lost.items()} == {0: 702, 1: 702, ALL: 0}
    assert {(end.sent, end.told, end.errors) for end in lost.values()} == {(1500, 1500, 0)}


def test_one_slow_member():
    """Section 7: 4, 102, almost 14 s, 4 ms with 300 records missing."""
    slow = lab07.slow_member()
    table = slow.table()
    assert list(table["half within, ms"].round()) == [4, 102, 7163, 4]
    assert 13_500 < table.loc["broker 3 is stuck", "slowest, ms"] < 14_000
    assert slow.behind == 300 and slow.in_sync == (1, 2)
    assert table.loc["broker 3 is out", "slowest, ms"] < 10


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
