"""What changed between two pictures moves; in a real Chromium, without JupyterLab."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.frame import Frame
from minikafka.lab.view import widget
from tests.picture.frames import lane, leader, partition, slow_follower
from tests.view.page import MARKS, chromium

pytestmark = MARKS
SCRIPT = (Path(widget.__file__).parent / "motion.js").read_text() + "\nObject.assign(window, {places, move});"
SWAP = """([next, speed]) => {
    const old = document.querySelector('svg'), was = places(old);
    const made = new DOMParser().parseFromString(next, 'image/svg+xml').documentElement;
    old.replaceWith(made);
    move(made, was, speed);
    return document.getAnimations().map(each => {
        const part = each.effect.target.dataset.part, {duration} = each.effect.getComputedTiming();
        return [part ?? "number", Math.round(duration)];
    });
}"""


def frame(first: int, end: int, high_watermark: int) -> Frame:
    """Broker `first` leads a log of `end` records."""
    lanes = (leader(first, end, high_watermark), *(lane(b, end, high_watermark) for b in (1, 2, 3) if b != first))
    chosen = replace(partition(*lanes), leader=first, high_watermark=high_watermark, log_end=end)
    return replace(slow_follower(), chosen=chosen)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize("wish", ["no-preference", "reduce"])
def test_the_crown_travels_records_slide_and_the_watermark_moves(browser: Any, wish: str) -> None:
    """Fails if a change jumps, if a faster run moves as slowly, or if anything moves for a viewer who asked for less motion."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion=wish)
    page.set_content(f"<body style='margin:0'>{to_svg(frame(1, 47, 45))}<script>{SCRIPT}</script>")
    moved = page.evaluate(SWAP, [to_svg(frame(2, 49, 47)), 1])
    still = page.evaluate(SWAP, [to_svg(frame(2, 49, 47)), 1]) if wish == "reduce" else None
    fast = page.evaluate(SWAP, [to_svg(frame(3, 51, 49)), 4])
    page.close()
    if wish == "reduce":
        assert moved == still == fast == []
    else:
        assert {"crown", "lane", "hw", "cell", "number"} <= {part for part, _ in moved}
        assert dict(moved)["crown"] == 4 * dict(fast)["crown"]
