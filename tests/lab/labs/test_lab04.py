"""Lab 4: what its pictures show. Strict cells compare the figures."""
from __future__ import annotations

import re
from functools import cache

from minikafka.lab.labs.lab04 import experiment as lab04
from minikafka.lab.labs.lab04.night import ACCIDENTS, DEFAULTS, shift
from minikafka.lab.labs.lab04.shifts import shifts
from minikafka.lab.picture.draw.group import picture, to_text
from minikafka.lab.picture.draw.sheet import ON_DARK
from minikafka.lab.picture.frame import Frame, ShownGroup, ShownProgress


@cache
def change(protocol: str, what: str) -> lab04.Change:
    return lab04.change(protocol, what)


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


def test_nothing_is_read_twice_at_a_join():
    """Fails if a change of the group repeated or left out a record: then the drawing would not show pauses only. (A cooperative
    member reads on while it joins, and what it reads then comes again.)
    """
    for protocol in ("classic", "consumer"):
        read = change(protocol, "join").read
        for p in range(lab04.PARTITIONS):
            offsets = [h.offset for h in read if h.partition == p]
            assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))


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


def test_the_shifts_end_after_the_answer():
    """Fails if the axis ends while a partition still waits for its new reader."""
    for protocol in ("classic", "cooperative", "consumer"):
        for line in shifts({protocol: change(protocol, "die")}).text.splitlines()[1:]:
            member, *_, end = line.rpartition(", ")[2].split(": ")[-1].split()
            assert float(end) > 0 and member != "M1", f"{protocol}, {line}"


def test_the_shifts_name_the_owner_and_the_duration():
    """Fails if a gap is not told with its seconds, or the drawing depends on colour alone."""
    drawing = shifts({name: change(name, "join") for name in ("classic", "consumer")})
    assert drawing.text.splitlines()[1].startswith("  P0: M1 from ") and "M1 from 4." in drawing.text.splitlines()[1]
    assert len(re.findall(r">4\.[12] s<", drawing.svg)) == 4 and drawing.svg.count(">M4<") == 4 and "var(" not in drawing.svg
    assert min(float(size) for size in re.findall(r'font-size="([\d.]+)"', drawing.svg)) >= 14


def test_each_accident_of_the_night_is_answered_by_a_setting_of_its_own():
    """Fails if a session or a poll interval decided nothing, or if an accident did not happen: a short session gives up who
    sits behind the cable, a short poll interval whoever has the slow ride, and a long one leaves the deadlock alone.
    """
    plan = {**DEFAULTS, "group.protocol": "consumer", "session.timeout.ms": 6000, "max.poll.interval.ms": 10_000}
    waits = {name: {wait.after: wait.seconds for wait in shift({**plan, **changed}).waits}
             for name, changed in {"so": {}, "minutes": {"max.poll.interval.ms": 100_000}}.items()}
    assert set(waits["so"]) == set(ACCIDENTS.values())
    assert waits["so"]["deadlock"] < 20 and waits["minutes"]["deadlock"] > 100
    assert shift(plan).twice == 0
    assert shift({**plan, "session.timeout.ms": 3000}).twice == shift({**plan, "max.poll.interval.ms": 5000}).twice == 10
