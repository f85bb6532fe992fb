"""Lab 12: the rule by which a row is too late, the picture of a stream, page by page."""
from __future__ import annotations

import re
from datetime import timedelta

import pytest

from minikafka.lab.labs.streaming import START, Step
from minikafka.lab.picture.draw.flipbook import Flipbook
from minikafka.lab.picture.draw.stream import book, picture, too_late


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


def test_a_book_has_a_page_for_each_step() -> None:
    """Fails if a page is missing, more than one shows, or words are not in it."""
    pages = book(STEPS)
    html = pages._repr_mimebundle_()["text/html"]
    assert html.count("data-page=") == 5 and html.count(" hidden>") == 4 and 'max="4"' in html
    assert repr(pages).endswith("1 too late") and "step 2 of 5" in html
    assert "range" not in Flipbook([picture(STEPS)], ["<one>"]).html()
    assert "&lt;one&gt;" in Flipbook([picture(STEPS)], ["<one>"]).html()
