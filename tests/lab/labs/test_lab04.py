"""Lab 4: every number that its prose states, that each comes from its cause, and what its two drawings show."""
from __future__ import annotations

import re
from functools import cache

import pytest

from minikafka.lab.labs.lab04 import experiment as lab04
from minikafka.lab.labs.lab04 import live
from minikafka.lab.labs.lab04.shifts import shifts
from minikafka.lab.picture.draw.group import picture, to_text
from minikafka.lab.picture.draw.sheet import ON_DARK
from minikafka.lab.picture.frame import Frame, ShownGroup, ShownProgress
from tests.clients.kit import make_topic


@cache
def change(protocol: str, what: str) -> lab04.Change:
    return lab04.change(protocol, what)


# --- positions ----------------------------------------------------------------------------------------------------------

def test_reading_takes_nothing_away():
    """Section 2: fails if a reader without a group gets less than all, begins elsewhere, or leaves a trace with the groups."""
    desk = lab04.Desk(100)
    assert desk.read(offset=0) == desk.read(offset=0) == list(range(100))
    assert desk.read(offset=57, count=3) == [57, 58, 59] and desk.read(offset=98) == [98, 99]
    before = desk.offsets_topic()
    desk.read(offset=0)
    assert desk.offsets_topic() == before
    desk.read(group="billing", commit=True)
    assert desk.offsets_topic() > before, "the measure sees a commit"


@pytest.mark.parametrize("reset, first, again", [("latest", 0, 0), ("earliest", 100, 0)])
def test_the_reset_counts_only_where_nothing_is_committed(reset, first, again):
    """Section 2. Fails if the setting counted at every start."""
    desk = lab04.Desk(100)
    assert len(desk.read(group="audit", reset=reset, commit=True)) == first
    assert len(desk.read(group="audit", reset="earliest")) == again


def test_a_lag_that_nobody_can_know_is_a_question_mark():
    """Section 3's picture: 50, 50 and "?"; fails if the group without a commit shows 0 or 150."""
    desk = lab04.Desk(100)
    for group in ("audit", "billing"):
        desk.read(group=group, commit=True)
    desk.write(50)
    curious = desk.cluster.consumer("rides", group="maps", reset="latest", name="maps-1")
    curious.poll(2.0)
    text = desk.drawn().text
    assert re.findall(r"lag (\S+)", text) == ["50", "50", "?"] and "maps-1 reads" in text


# --- groups -------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("groups, deliveries", [({"A": 2, "B": 4}, 800), ({"A": 2}, 400), ({"A": 1, "B": 1, "C": 1}, 1200)])
def test_one_member_of_each_group(groups, deliveries):
    """Section 4: 800 deliveries of 400 records. Fails if their number followed the members and not the groups."""
    figure = lab04.figure(groups=groups)
    assert figure.deliveries == deliveries
    for group in groups:
        read = [(h.partition, h.offset) for h in figure.crowd.read if h.group == group]
        assert sorted(read) == [(p, n) for p in range(4) for n in range(100)]


def test_the_figure_of_the_lecture():
    """Section 4's table: two partitions for each of A, one for each of B."""
    table = lab04.figure().table()
    assert [row["partitions"] for row in table.values()] == ["P0, P1", "P2, P3", "P0", "P1", "P2", "P3"]
    assert [row["records"] for row in table.values()] == [200, 200, 100, 100, 100, 100]


@pytest.mark.parametrize("partitions, working, idle, seconds", [(1, 1, 2, 12), (2, 2, 1, 6), (3, 3, 0, 4), (6, 3, 0, 4)])
def test_three_consumers(partitions, working, idle, seconds):
    """Section 6. Fails if more members than partitions were faster, or an error."""
    row = lab04.three_consumers(partitions)
    assert (row["working"], row["idle"]) == (working, idle)
    assert row["seconds"] == pytest.approx(seconds, abs=1)


def test_the_fifth_member():
    """Section 6: nothing read before, one partition after a death; eight seconds; all four have another partition now."""
    fifth = lab04.fifth_member()
    (idle,) = [name for name, held in fifth.before.items() if not held]
    assert (fifth.read_before, len(fifth.after[idle]), fifth.victim, fifth.took_over) == (0, 1, "B1", "B2")
    assert fifth.waited == pytest.approx(8.0, abs=0.3)
    assert all(fifth.before[name] != held for name, held in fifth.after.items()) and len(fifth.after) == 4


def test_the_order_of_work():
    """Section 7: 12 of 100 for the queue, none for the group; none for a queue whose workers are equally quick."""
    queue, group = lab04.disorder(by_queue=True), lab04.disorder(by_queue=False)
    assert len(queue) == len(group) == 100
    assert (len(lab04.overtaken(queue)), lab04.overtaken(queue)[0]) == (12, ("customer-1", 1))
    assert lab04.overtaken(group) == []
    assert lab04.overtaken(lab04.disorder(by_queue=True, slow=0.001)) == []


# --- two protocols --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("protocol, what, moved, stop, seconds", [
    ("classic", "join", 5, 2, 2.0), ("cooperative", "join", 2, 0, 0.0), ("consumer", "join", 2, 0, 0.0),
    ("classic", "die", 5, 2, 4.0), ("cooperative", "die", 3, 0, 0.0), ("consumer", "die", 3, 0, 0.0)])
def test_who_stops(protocol, what, moved, stop, seconds):
    """Section 8's table. Fails if the stop of the others came from anything but the protocol."""
    row = change(protocol, what).row()
    assert (row["change their reader"], row["stay, but stop"]) == (moved, stop)
    assert float(row["for seconds"]) == pytest.approx(seconds, abs=0.2)


def test_the_stop_is_the_slow_member_s():
    """Section 8: "the slowest poll of the group stops all of it". Fails if the others stopped for a quick M2, too."""
    assert lab04.change("classic", "join", slow=0.0).row()["stay, but stop"] == 0


def test_nothing_is_read_twice_at_a_join():
    """Fails if a change of the group repeated or left out a record: then the drawing would not show pauses only. (A cooperative
    member reads on while it joins, and what it reads then comes again.)
    """
    for protocol in ("classic", "consumer"):
        read = change(protocol, "join").read
        for p in range(lab04.PARTITIONS):
            offsets = [h.offset for h in read if h.partition == p]
            assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))


# --- the drawings -------------------------------------------------------------------------------------------------------

def frame(*groups: ShownGroup) -> Frame:
    return Frame(*[None] * 7, rows=(), chosen=None, flows=(), producers=(), groups=groups, quorum=None, ledger=None, marks=())


def test_a_group_at_one_glance():
    """Fails if a place is filled twice, an idle member is not called so, or "?" becomes a number."""
    group = ShownGroup("meter", "Stable", 3, ("C1", "C2", "C3"), (
        ShownProgress("rides-0", "C1", 57, 40, 60), ShownProgress("rides-1", "C2", None, None, None),
        ShownProgress("rides-2", None, None, 5, 1)))
    svg, text = picture(frame(group))
    assert text.splitlines() == [
        "group meter: Stable, generation 3, 3 members", "rides-0: C1 reads, next 57; committed 40 of ?, lag 60",
        "rides-1: C2 reads, next ?; committed ? of ?, lag ?", "rides-2: read by nobody; committed 5 of ?, lag 1", "idle: C3"]
    assert svg.count(">next ") == 2 and svg.count(">idle<") == 1
    assert "var(" not in svg and "<style" not in svg.replace(ON_DARK, "")
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)) >= 14
    assert to_text(frame(group), ["another"]) == "no group has joined or committed yet"


def test_the_shifts_say_who_and_for_how_long():
    """Fails if a gap is not told with its seconds, or the drawing depends on colour alone."""
    drawing = shifts({name: change(name, "join") for name in ("classic", "consumer")})
    assert drawing.text.splitlines()[1].startswith("  P0: M1 from ") and "M1 from 4." in drawing.text.splitlines()[1]
    assert drawing.svg.count(">2.0 s<") == 4 and drawing.svg.count(">M4<") == 4 and "var(" not in drawing.svg
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', drawing.svg)) >= 14


# --- real brokers -------------------------------------------------------------------------------------------------------

def test_both_protocols_from_librdkafka(cluster, name):
    """Section 9's last cell, on both engines: fails if the cluster does not tell the two kinds of groups apart."""
    from kafka import KafkaAdminClient
    make_topic(cluster, name, partitions=2)
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        for protocol in ("classic", "consumer"):
            told = live.join(admin, cluster.bootstrap, name, f"{name}-{protocol}", **{"group.protocol": protocol})
            assert told == (protocol, [0, 1])
    finally:
        admin.close()
