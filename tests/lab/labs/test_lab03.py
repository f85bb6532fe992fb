"""Lab 3: that each figure comes from its cause (strict cells compare the figures), and what the picture of a topic shows."""
from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import pytest

from minikafka.lab.labs.lab03 import clients
from minikafka.lab.labs.lab03 import experiment as lab03
from minikafka.lab.picture.draw.sheet import ON_DARK
from minikafka.lab.picture.draw.topic import outline, picture, steps

TRUCKS = lab03.TRUCKS
MANY = [f"truck-{number}" for number in range(1, 1001)]


@cache
def grown(to: int = 4) -> lab03.Grown:
    return lab03.grown(before=20, after=20, to=to)


def record(partition, offset, key, number):
    return SimpleNamespace(partition=partition, offset=offset, key=key and key.encode(), value=str(number).encode())


def test_one_partition_is_in_order():
    """Section 2. Fails if the disorder did not come from the number of partitions."""
    assert [int(r.value) for r in lab03.dealt(30, 1)] == list(range(30))


def test_a_key_stays_in_its_partition():
    """Section 3: fails if trucks come in order that are dealt to partitions by anything but the key."""
    turn = iter(range(10_000))
    assert lab03.backwards(lab03.driven(rounds=3, trucks=TRUCKS[:4], partition_of=lambda key, count: next(turn) % count)) != []


@pytest.mark.parametrize("partitions, keys, brokers, each, speed", [
    (3, ["truck-1"], 3, 100, 100), (3, TRUCKS, 3, 50, 100)])
def test_the_fullest_partition_sets_the_speed(partitions, keys, brokers, each, speed):
    """Section 4. Fails if the speed did not follow the largest share, or not the speed of a broker."""
    assert lab03.speed(partitions, keys, brokers, each=each) == pytest.approx(speed, rel=0.03)


def test_the_number_of_partitions_is_the_cause():
    """Fails if a truck moved that the hash leaves in its place."""
    homes = {t: {r.partition for r in grown().later if r.key.decode() == t} for t in TRUCKS}
    assert homes == {t: {lab03.kafka_partition(t, 3), lab03.kafka_partition(t, 4)} for t in TRUCKS}


def test_the_way_to_the_leader():
    """Section 8: fails if another bootstrap server is not the one that is asked first."""
    other = next(lab03.journey(bootstrap=3).table.itertuples())
    assert (other.broker, other.message) == (3, "Metadata")


def test_a_list_of_addresses():
    """Section 8: fails if a producer could not begin with the one broker of its list, which is up."""
    assert lab03.dead_bootstrap([3], dead=2).startswith("partition 0")


@pytest.mark.parametrize("jars, java", [(False, []), (True, ["java"])])
def test_java_is_asked_only_where_it_is(monkeypatch, jars, java):
    """Section 6 runs without Apache's jars; fails if they, or a Java, were taken for granted."""
    monkeypatch.setattr(clients, "KAFKA", SimpleNamespace(present=jars))
    monkeypatch.setattr(clients, "find_java", lambda: None)
    assert clients.installed() == ["kafka-python", "librdkafka", *java]

    def nothing() -> None:
        raise clients.NoJava
    monkeypatch.setattr(clients, "find_java", nothing)
    assert clients.installed() == ["kafka-python", "librdkafka"]


# --- the picture --------------------------------------------------------------------------------------------------------

SOME = [record(0, 0, "a-1", 0), record(0, 1, "a-2", 0), record(0, 2, "a-1", 1), record(2, 0, "a-1", 2), record(2, 1, None, 7)]


def test_the_picture_says_where_everything_is():
    """Fails if a record stands in another partition, the path of a key in another order, or a step back is not marked."""
    text = picture(SOME, follow="a-1", read=[SOME[3], SOME[0], SOME[2]], partitions=4)[1].splitlines()
    assert text[1:5] == ["partition 0: a-1:0 a-2:0 a-1:1", "partition 1: empty", "partition 2: a-1:2 7", "partition 3: empty"]
    assert text[5:] == ["a-1 in the order of sending: 0/0 -> 0/2 -> 2/0", "a reader got: 2 <0 <1"]
    assert [back for _, back in steps(SOME)] == [False] * 5
    assert [back for _, back in steps([SOME[2], SOME[1], SOME[0]])] == [False, False, True]


def test_keys_differ_by_more_than_colour():
    """Fails if one of 12 keys has the same shape and label as another, or if letters are smaller than 14."""
    svg = lab03.drawn(lab03.driven(rounds=1)).svg
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
    assert min(sizes) >= 14 and "var(" not in svg and "<style" not in svg.replace(ON_DARK, "")
    labels = re.findall(r'font-weight="bold">(\d+)</text>', svg)
    assert sorted(map(int, labels)) == list(range(1, 13))
    assert len({outline(corners, 0, 0, 10) for corners in (0, 4, 6, 45, 5, 8)}) == 6


def test_nothing_is_left_out_in_silence():
    """Fails if a log that does not fit is cut without a word, or if labels of a lane lie on each other."""
    drawing = lab03.drawn([record(0, n, "k", n) for n in range(100)], follow="k")
    hidden = int(re.search(r">(\d+) earlier", drawing.svg)[1])
    assert hidden + len(re.findall('stroke-width="3" stroke-linejoin="round"/><text', drawing.svg)) == 100
    places = [float(x) for x, y in re.findall(r'<text x="([\d.]+)" y="(105)"', drawing.svg)]
    assert len(places) > 20 and all(b - a >= 27 for a, b in pairwise(sorted(places)))
