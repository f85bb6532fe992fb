"""The demos' page in a real Chromium, driven by its keys, as an instructor does."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from minikafka.lab.demos import demo
from minikafka.lab.demos.page import Theatre, server
from tests.lab.view.page import MARKS, PATIENCE, chromium

pytestmark = MARKS


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    theatre = Theatre([demo("D1")])
    theatre.prepare()
    with server(theatre) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}/"
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(params=[("light", 1280, 720), ("dark", 1024, 768)], ids=["light wide", "dark tall"])
def page(address: str, browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    scheme, width, height = request.param
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: asked.url.startswith((address, "data:")) or wrong.append(asked.url))
    opened.goto(address)
    opened.wait_for_selector("#picture svg")
    yield opened
    context.close()
    assert wrong == [], "errors of the page, or requests that leave this machine"


def clock(page: Any) -> float:
    return float(page.inner_text("#clock").split()[0])


def test_an_instructor_runs_freezes_steps_and_resets(page):
    """Fails if space does not run to the next moment, if the picture stands, if an arrow skips, or if `r` does not go back."""
    first = page.inner_html("#picture")
    assert page.inner_text("#line") == "ask", "no word about what is to come"
    page.keyboard.press(" ")
    page.wait_for_function("document.getElementById('state').textContent === 'frozen'"
                           " && play.moments[1].t <= t + 1e-6 && !drawing")
    assert "leader only" in page.inner_text("#caption") and page.inner_html("#picture") != first
    at = clock(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("t < play.moments[1].t && !drawing")
    assert at - 0.2 < clock(page) <= at
    for _ in range(9):
        page.keyboard.press("ArrowDown")
    page.wait_for_function("t === play.end && !drawing")
    assert "The crown stays" in page.inner_text("#caption") and "cut off" in page.inner_text("#picture")
    page.keyboard.press("r")
    page.wait_for_function("t === play.begin && !drawing")
    assert clock(page) == 0 and "cut off" not in page.inner_text("#picture") and page.inner_text("#line") == "ask"


def test_the_class_votes(page):
    """Fails if hands are not counted, if the answer shows before its time, or if the dialog does not fit the screen."""
    for key in ("v", "a", "a", "c", "Shift+a"):
        page.keyboard.press(key)
    assert page.inner_text("#vote").count("1 hand") == 2 and not page.query_selector("#vote .right")
    page.keyboard.press("v")
    assert "no error, no loss" in page.inner_text("#vote .right")
    box = page.evaluate("(() => { const d = document.getElementById('vote'); return [d.scrollHeight, d.clientHeight]; })()")
    assert box[0] <= box[1], "the answers are cut off"
    page.keyboard.press("v")
    assert not page.is_visible("#vote")


def test_letters_are_large(page):
    """Fails if the picture has letters of less than 20 pixels on a page 1280 pixels wide, or the caption of less than 28."""
    smallest = page.evaluate("""() => { const svg = document.querySelector('#picture svg'), k = svg.getScreenCTM().a;
        return Math.min(...[...svg.querySelectorAll('text')].map(e => k * parseFloat(e.getAttribute('font-size') || 14))) }""")
    caption = page.evaluate("parseFloat(getComputedStyle(document.getElementById('caption')).fontSize)")
    share = page.viewport_size["width"] / 1280
    assert smallest >= 20 * share and caption >= 28 * share


def test_nothing_is_cut_off(page):
    """Fails if the page is larger than the screen, or if the caption leaves it."""
    assert page.evaluate("(d => d.scrollHeight <= innerHeight && d.scrollWidth <= innerWidth)(document.documentElement)")
    for _ in range(6):
        inside = page.evaluate("(() => { const b = document.getElementById('caption').getBoundingClientRect();"
                               " return b.left >= 0 && b.right <= innerWidth && b.bottom <= innerHeight; })()")
        assert inside, page.inner_text("#caption")
        page.keyboard.press("ArrowDown")
