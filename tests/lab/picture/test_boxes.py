"""The picture in a real browser: with real letters, nothing touches and nothing is cut off, on every paper and in both themes.

Needs a Chromium (Debian: apt install chromium); skipped with the reason where there is none.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minikafka.lab.picture.draw.paper import Label
from minikafka.lab.picture.draw.svg import to_svg
from tests.lab.picture.frames import FRAMES
from tests.lab.picture.test_svg import PAPERS, clashes
from tests.lab.view.page import MARKS, PATIENCE, chromium

pytestmark = MARKS
BOXES = """() => [...document.querySelectorAll('svg text:not([aria-hidden])')].map(text => {
    const box = text.getBoundingClientRect(), words = [...text.childNodes].filter(node => node.nodeType === 3);
    return [words.map(node => node.data).join(""), box.left, box.top, box.right, box.bottom];
})"""
SPILL = """() => { const svg = document.querySelector('svg').getBoundingClientRect();
    return [...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect()).filter(box =>
        box.left < svg.left || box.right > svg.right || box.top < svg.top || box.bottom > svg.bottom).length; }"""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with chromium() as browser:
        opened = browser.new_page()
        opened.set_default_timeout(PATIENCE)
        yield opened


@pytest.mark.parametrize(("paper", "theme"), [("page", "dark"), *((paper, "light") for paper in PAPERS)])  # other colours only
def test_letters_of_a_real_browser_keep_apart(page: Any, paper: str, theme: str) -> None:
    """Fails if a font is wider than the widths that the paper reckons with, or if a label is drawn elsewhere than it says."""
    size, pixels, lines = (*PAPERS[paper], None)[:3]
    for name in sorted(FRAMES):
        picture = to_svg(FRAMES[name](), theme, size, pixels=pixels, lines=lines)
        wide = int(picture.split('viewBox="0 0 ')[1].split()[0])
        page.set_viewport_size({"width": wide, "height": 800})
        page.set_content(f"<body style='margin:0'>{picture}")
        labels = [Label(*box) for box in page.evaluate(BOXES)]
        assert len(labels) >= 10 and clashes(labels) == [], name
        assert page.evaluate(SPILL) == 0, name
