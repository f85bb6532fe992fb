"""Lab 12: the rule by which a row is too late, the picture of a stream, page by page, the bill of a delay."""
from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from itertools import islice, product
from xml.etree import ElementTree

import pytest

from minikafka.lab.datasets import Trip, taxi_trips
from minikafka.lab.labs.lab12.experiment import DELAYS, EVERY, SERVICES, Measured, bill, measure
from minikafka.lab.labs.streaming import START, Step
from minikafka.lab.picture.draw.flipbook import Flipbook
from minikafka.lab.picture.draw.paper import Label, width
from minikafka.lab.picture.draw.stream import book, picture, too_late
from tests.lab.picture.test_svg import clashes

DAY = datetime(2025, 6, 2, tzinfo=timezone.utc)


def window(start: int, count: int) -> dict[str, object]:
    return {"window": {"start": (START + timedelta(seconds=start)).replace(tzinfo=None)}, "count": count}


STEPS = [Step((1, 4, 9), None, -1, [], 1), Step((12, 15), -1, 5, [], 2), Step((8,), 5, 5, [], 2),
         Step((31,), 5, 21, [window(0, 4), window(10, 2)], 1), Step((7, 22), 21, 21, [], 2, 1)]


@pytest.mark.parametrize(("second", "before", "dropped"), [
    (7, None, False), (7, 5, False), (7, 9.5, False), (7, 10, True), (14, 21, True), (20, 21, False), (22, 30, True)])
def test_a_row_goes_with_its_window(second: float, before: float | None, dropped: bool) -> None:
    """Fails if a row is held against its own time, or if the window that ends at the watermark stays open."""
    assert too_late(second, before, 10) is dropped


def test_the_picture_of_a_stream() -> None:
    """I-STREAM-1, I-STREAM-2. Fails if a row too late looks like another, a window is not told, or a letter is too small."""
    svg, text = picture(STEPS)
    crosses = re.findall(r'<path d="M[\d.]+ [\d.]+l14 14m0 -14l-14 14"', svg)
    assert len(crosses) == 1 and len(re.findall(r'rx="8"', svg)) == 8
    assert text.splitlines()[3:] == [
        "step 4: 31 arrived; watermark 21; emitted [0, 10) = 4, [10, 20) = 2; 1 in the state",
        "step 5: 7, 22 arrived; watermark 21; emitted nothing; 2 in the state; 1 too late"]
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)} == {14.0} and "var(" not in svg
    assert "4 counted" in svg and svg.count(">closed<") == 2


def test_two_partitions_and_windows_without_a_row() -> None:
    """Fails if records of two partitions look alike, or if a window that holds nothing is called open."""
    steps = [Step((1,), None, -1), Step((35,), -1, 25), Step((27,), 25, 25, partition=1)]
    svg, text = picture(steps)
    assert len(re.findall(r'rx="8"', svg)) == 2 and len(re.findall(r'width="16" height="16" rx="0"', svg)) == 1
    assert "partition 1" in svg and text.splitlines()[-1].startswith("step 3: 27 arrived in partition 1;")
    assert re.findall(r">(closed|open|no row)<", svg) == ["closed", "no row", "open", "open"]
    texts = [each for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("text")]
    assert clashes([_label(each) for each in texts]) == []


def _label(text: ElementTree.Element) -> Label:
    """Return where an element's letters stand."""
    said, x, y = text.text or "", float(text.get("x", 0)), float(text.get("y", 0))
    wide = width(said, 14, text.get("font-weight") == "bold")
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")] * wide
    return Label(said, left, y - 11, left + wide, y + 3)


def test_a_book_has_a_page_for_each_step() -> None:
    """Fails if a page is missing, more than one shows, or words are not in it."""
    pages = book(STEPS)
    html = pages._repr_mimebundle_()["text/html"]
    assert html.count("data-page=") == 5 and html.count(" hidden>") == 4 and 'max="4"' in html
    assert repr(pages).endswith("1 too late") and "step 2 of 5" in html
    assert "range" not in Flipbook([picture(STEPS)], ["<one>"]).html()
    assert "&lt;one&gt;" in Flipbook([picture(STEPS)], ["<one>"]).html()


def trip(began: int, ended: int) -> Trip:
    """A trip between two minutes of a day."""
    start, end = (DAY + timedelta(minutes=minute) for minute in (began, ended))
    return Trip(0, "taxi-1", "station", "harbour", start, end, 1.0, 5.4)


def test_a_choice_is_measured_by_hand() -> None:
    """Fails if a window waits for another moment than the report that closes it, if a lost trip keeps a window, or if the
    watermark goes back. Five trips, two a micro-batch, a delay of 5: the watermark is 7, 21, 21; row 3 is too late."""
    trips = [trip(1, 8), trip(12, 14), trip(26, 30), trip(4, 31), trip(3, 40)]
    assert measure(trips, delay=5, every=2) == Measured(lost=1, wait=(21 + 11) / 2, state=4 / 3, batches=3)
    assert measure(trips, delay=0, every=5).lost == 0


def test_each_service_chooses_for_itself() -> None:
    """Fails if two of the three services are best served by the same choice, or the figures of the text are not so."""
    trips = list(islice(taxi_trips(), 4000))
    best = {min(product(DELAYS, EVERY), key=lambda pair, costs=costs: bill(trips, *pair, costs)) for costs in SERVICES.values()}
    assert best == {(10, 20), (90, 500), (30, 100)}
    price, accounts = measure(trips, 10, 20), measure(trips, 90, 500)
    assert (price.lost, round(price.wait)) == (572, 19) and accounts.wait > 180 and round(measure(trips, 60, 100).wait) == 86
    slow, patient = measure(trips, 0, 500), measure(trips, 20, 100)
    assert (slow.lost, round(slow.wait), patient.lost, round(patient.wait)) == (100, 116, 104, 46)
