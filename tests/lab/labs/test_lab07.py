"""Lab 7: its exercise beside brokers, its charts, and a deadly night of real processes. Strict cells compare the figures."""
from __future__ import annotations

import random
from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from minikafka import Cluster
from minikafka.cluster.errors import NotReady
from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab07 import checks, own
from minikafka.lab.labs.lab07.chart import SMALLEST, over_time, shares
from minikafka.lab.labs.lab07.experiment import ALL, AcksCluster, quantile
from minikafka.lab.labs.lab07.from_nothing import FIRST, GIVEN, Survived, verdict
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


@pytest.mark.parametrize("stored, told", [(GIVEN[:-1], "printed, and not in the log"), ([*GIVEN, GIVEN[-1]], "twice in the log")])
def test_a_refusal_for_a_lost_or_a_doubled_order_shows_no_log_of_the_client(stored, told):
    """Fails if eight lines "Connection refused", which the faults of 7.9 make, stand below the sentence."""
    with pytest.raises(Wrong, match=told) as refused:
        verdict(Survived(early=tuple(FIRST), printed=tuple(GIVEN), stored=tuple(stored), code=0, errors=("Connection refused",)))
    assert refused.value.excerpt == ()


def test_a_program_that_sends_nothing_is_not_told_of_a_setting():
    """Fails if orders that are printed and never sent are blamed on the leader that was cut off, and so on `acks`."""
    with pytest.raises(Wrong, match="No fault had happened yet when order-0 came"):
        verdict(Survived(early=tuple(FIRST), printed=tuple(GIVEN), stored=(), code=0))
    with pytest.raises(Wrong, match="Which setting makes it wait"):
        verdict(Survived(early=tuple(FIRST), printed=tuple(GIVEN), stored=tuple(FIRST), code=0))


def test_waiting_for_too_many_records_ends_with_their_number():
    """Fails if a wait in vain names a lambda."""
    with AcksCluster() as room, pytest.raises(NotReady, match=r"2000 records are sent \(this writer sends 10 in all\)"):
        room.until_sent(room.writer(1, rate=10, count=10), 2000)


def test_the_charts_show_every_record():
    """I-L7-3: fails if a value were averaged away; the SVG has a dot for each record, and a line for each phase with its name."""
    rng = random.Random(7)
    samples = {name: [rng.uniform(1, 100) for _ in range(50)] for name in ("one", "two")}
    for line, values in zip(shares(samples, "title").data, samples.values()):
        assert list(line.x) == [min(values), *sorted(values)] and list(line.y) == pytest.approx([2 * n for n in range(51)])
    dots = over_time([(1.0, 5.0), (2.0, 50.0), (3.0, 0.0)], [("a phase", 0.5)], "title")
    assert list(dots.data[0].y) == [5.0, 50.0, SMALLEST]
    svg = to_svg(dots)
    tall = over_time([(1.0, 5.0), (2.0, 50.0)], [("near", 0.0), ("far", 1.0), ("stuck", 2.0)], "title").layout
    assert [line.y1 for line in tall.shapes] == [note.y for note in tall.annotations], "a line goes through an earlier name"
    assert [note.y for note in tall.annotations] == sorted((note.y for note in tall.annotations), reverse=True)
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
