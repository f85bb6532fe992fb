"""The text says what the picture says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.draw.theme import WIDTHS
from minikafka.lab.picture.frame import Frame
from minikafka.lab.picture.sentences import words
from tests.lab.picture.frames import FRAMES, no_commit, unknown
from tests.lab.picture.invented import frames
from tests.lab.picture.script import TP, Script

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(words: str) -> set[str]:
    return {number.rstrip(",") for number in NUMBER.findall(words)}


def labels(picture: str) -> tuple[list[str], list[str]]:
    """(offsets of cells, folds and the ruler, all other labels); of a shortened label not the word that is cut."""
    root = ElementTree.fromstring(picture)
    places = {id(text) for group in root.iter() if group.get("data-part") in ("ruler", "folded") for text in group}
    axis, others = [], []
    for each in root.iter():
        if each.tag.endswith("}text"):
            label = "".join(piece for piece in (each.text, *(child.tail for child in each)) if piece)
            (axis if {"n", "q"} & set(each.get("class", "").split()) or id(each) in places else others).append(
                re.sub(r"\S*…", "", label)
            )
    return axis, others


@pytest.mark.parametrize("size", sorted(WIDTHS))
@pytest.mark.parametrize("name", sorted(FRAMES))
def test_every_number_on_the_picture_is_in_the_text(name: str, size: str) -> None:
    """Fails if a part is drawn and not told, or told in another format: leave the stopwatches out of to_text.

    Offsets of cells are told as spans (28-46), all other numbers as they are drawn.
    """
    told = to_text(FRAMES[name]())
    spans = [(int(a), int(b or a)) for a, b in re.findall(r"(\d+)(?:-(\d+))?", told)]
    axis, others = labels(to_svg(FRAMES[name](), size=size))
    offsets = [int(offset) for label in axis for offset in NUMBER.findall(label)]
    assert [offset for offset in offsets if not any(a <= offset <= b for a, b in spans)] == []
    assert numbers(" ".join(others)) - numbers(told) == set()


def test_what_is_unknown_is_a_question_mark_in_the_text_and_not_in_the_picture() -> None:
    """Fails if None is told as 0: a group without a commit has not committed 0."""
    assert "committed ?" in to_text(no_commit()) and ">–<" in to_svg(no_commit())
    assert "high watermark ?" in to_text(unknown()) and "Ledger" not in to_text(unknown())
    assert " 0" not in to_text(unknown()).split("Brokers")[1].replace("partition 0", "")


@pytest.mark.parametrize("size", sorted(WIDTHS))
@pytest.mark.parametrize("name", sorted(FRAMES))
def test_no_picture_has_a_question_mark(name: str, size: str) -> None:
    """Fails if something that the trace does not tell is drawn: a row of "?", a watermark "?", a state "?"."""
    axis, others = labels(to_svg(FRAMES[name](), size=size))
    assert [label for label in axis + others if "?" in label and "<" not in label] == []


def test_the_sentence_comes_first_with_its_level() -> None:
    """Fails if the one thing to hear is not the first."""
    assert to_text(FRAMES["dead_leader"]()).startswith("[BAD] Broker 2, which leads flights-0, was killed 1.8 s ago.")


def test_the_text_names_every_broker_partition_and_mark() -> None:
    """Fails if to_text caps what the picture has to cap."""
    frame = FRAMES["twelve_partitions"]()
    told = to_text(frame)
    assert all(row.name in told for row in frame.rows) and all(mark.text in told for mark in frame.marks)
    assert told.count("flights-11 by consumer") == 2


@settings(max_examples=80, suppress_health_check=list(HealthCheck), derandomize=True)
@given(frames)
def test_any_frame_can_be_described(frame: Frame) -> None:
    """Fails if a None or an empty tuple somewhere stops the telling."""
    assert frame.sentence.text in to_text(frame)


def test_a_lane_in_words() -> None:
    """Fails if the text of a lane leaves out its fault, its stopwatch or what the leader does next, or invents one."""
    s = Script(records=147).append(1, 147, 151).append(2, 147, 151).fault("cut", "clients", 3, True).fault("cut", 2, 3, True)
    s.say("behind", 1, tp=TP, epoch=0, follower=3, behind=0.7, check_in=4.0, every=5.0).after(6.5)
    lines = to_text(s.frame()).splitlines()
    assert "flights partition 0: leader 1, epoch 0" in lines
    assert "  log start 0, high watermark 147, end 151" in lines
    second = lines.index("  Broker 2: follower, running, in sync, epoch 0, start 0, high watermark 147, end 151, 0/s")
    assert lines[second + 1] == "    not caught up for 0.0 of 10 s"
    third = lines.index("  Broker 3: follower, cut, in sync, epoch 0, start 0, high watermark 147, end 147, 0/s")
    assert lines[third + 1:third + 4] == [
        "    cannot hear clients, 2", "    not caught up for 7.2 of 10 s; the leader looks again in 2.5 s", "    folded 0-89"]
    assert "flights partition 0: no leader, epoch 1" in to_text(s.decide(-1, 1, [1]).frame())


@pytest.mark.parametrize(("said", "expected"), [
    (words.seconds(None), "?"), (words.seconds(0.0), "0.0 s"), (words.seconds(0.0004), "under 1 ms"),
    (words.seconds(0.001), "1 ms"), (words.seconds(0.012), "12 ms"), (words.seconds(0.1), "0.1 s"),
    (words.rate(0), "0/s"), (words.rate(9.94), "9.9/s"), (words.rate(10.0), "10/s"), (words.rate(1234.0), "1,234/s"),
    (words.span(4, 5), "4"), (words.span(4, 6), "4-5"), (words.brokers(()), "none"), (words.brokers(None), "?"),
    (words.ends((0, 2)), "clients, 2"), (words.count(1208), "1,208"), (words.offset(1208), "1208")])
def test_how_values_read(said: str, expected: str) -> None:
    """Fails if a value reads otherwise: an unknown as 0 or nothing, a place in a log with commas, a short time as none."""
    assert said == expected


def test_only_what_went_wrong_with_a_producer_is_marked() -> None:
    """Fails if a card warns of nothing, or does not warn of records in doubt or refused."""
    def looks(s: Script) -> dict[str, str]:
        return {label: look for label, _, look in words.producer(s.frame().producers[0]) if look}
    s = Script(records=3).produce(range(3))
    assert looks(s) == {}
    for record, certain in ((10, True), (11, False)):
        s.say("sent", client="pilot", topic="flights", partition=0, record=record)
        s.say("failed", client="pilot", topic="flights", error="E", record=record, certain=certain)
    assert looks(s) == {"in doubt": "wait", "failed": "wait"}


def test_a_missing_detail_of_a_producer_is_left_out() -> None:
    """Fails if a producer of a library that does not tell its acks (confluent-kafka, aiokafka) is shown with some."""
    frame = Script(records=3).produce(range(3)).frame()
    assert "Producer" in to_svg(frame) and "acks=" not in to_text(frame) + to_svg(frame)


def test_the_ledger_counts_redelivered_because_it_cannot_see_what_is_stored_twice() -> None:
    """Fails if the strip calls what it counts by a name that claims more: a record that a retry appended twice has two
    offsets, and no event tells that they hold the same."""
    s = Script(records=4).say("position", client="one", group="a", tp=TP, first=0, position=4)
    counted = {label: value for label, value, _ in words.ledger(s.frame().ledger)}
    assert counted["redelivered"] == "0" and "duplicate" not in counted
