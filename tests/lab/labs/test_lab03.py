"""Lab 3: its clients, and what the picture of a topic shows. Strict cells compare the figures."""
from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace

import pytest

from minikafka.lab.labs.lab03 import clients
from minikafka.lab.labs.lab03 import experiment as lab03
from minikafka.lab.picture.draw.sheet import ON_DARK
from minikafka.lab.picture.draw.topic import outline, picture, steps


def record(partition, offset, key, number):
    return SimpleNamespace(partition=partition, offset=offset, key=key and key.encode(), value=str(number).encode())


@pytest.mark.parametrize("jars, java", [(False, []), (True, ["java"])])
def test_java_runs_only_where_it_is_installed(monkeypatch, jars, java):
    """Section 6 runs without Apache's jars; fails if they, or a Java, were taken for granted."""
    monkeypatch.setattr(clients, "KAFKA", SimpleNamespace(present=jars))
    monkeypatch.setattr(clients, "find_java", lambda: None)
    assert clients.installed() == ["kafka-python", "librdkafka", *java]

    def nothing() -> None:
        raise clients.NoJava
    monkeypatch.setattr(clients, "find_java", nothing)
    assert clients.installed() == ["kafka-python", "librdkafka"]


@pytest.mark.parametrize("size, a_batch", [(100, 164), (1000, 17)])
def test_without_a_key_a_partition_gets_whole_batches(size, a_batch):
    """Section 7. Fails if a producer changes the partition within a batch of 16 KiB: in turn, or at random for each record."""
    *runs, _ = lab03.without_key(2000, size)
    assert len(runs) > 1 and 0.8 * 16_384 < a_batch * size < 1.1 * 16_384
    assert [run % a_batch for run in runs] == [0] * len(runs)


# --- the picture --------------------------------------------------------------------------------------------------------

SOME = [record(0, 0, "a-1", 0), record(0, 1, "a-2", 0), record(0, 2, "a-1", 1), record(2, 0, "a-1", 2), record(2, 1, None, 7)]


def test_the_picture_has_the_place_of_everything():
    """Fails if a record stands in another partition, the path of a key in another order, or a step back is not marked."""
    text = picture(SOME, follow="a-1", read=[SOME[3], SOME[0], SOME[2]], partitions=4)[1].splitlines()
    assert text[1:5] == ["partition 0: a-1:0 a-2:0 a-1:1", "partition 1: empty", "partition 2: a-1:2 7", "partition 3: empty"]
    assert text[5:] == ["a-1 in the order of sending: 0/0 -> 0/2 -> 2/0", "a reader got: 2 <0 <1"]
    assert [back for _, back in steps(SOME)] == [False] * 5
    assert [back for _, back in steps([SOME[2], SOME[1], SOME[0]])] == [False, False, True]


def test_keys_differ_by_more_than_colour():
    """Fails if one of 12 keys has the same shape and label as another, or if letters are smaller than 14."""
    svg = lab03.drawn(lab03.grown(before=1, after=0, to=3).later).svg
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
