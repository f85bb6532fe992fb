"""The demos' page in a real Chromium, driven by its keys, as an instructor does."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from minikafka.lab.demos import demo
from minikafka.lab.demos.page import Theatre, server
from tests.lab.view.page import MARKS, PATIENCE, chromium

pytestmark = MARKS


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving("D1") as address:
        yield address


@contextmanager
def serving(name: str) -> Iterator[str]:
    """A page of this demo alone."""
    theatre = Theatre([demo(name)])
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
    assert page.inner_text("#state") == "ask" and not page.inner_text("#line"), "no word about what is to come"
    page.keyboard.press(" ")
    page.wait_for_function("document.getElementById('state').className === 'frozen'"
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
    assert clock(page) == 0 and "cut off" not in page.inner_text("#picture") and page.inner_text("#state") == "ask"


def hands(page: Any, which: str = "span:nth-of-type(3)") -> list[str]:
    return [each.inner_text() for each in page.query_selector_all(f"#vote .d-answer:not(.d-head) > {which}")]


def test_the_class_votes(page):
    """Fails if hands are not counted, if those after a rehearsal are divided, if the answer shows before its time, or if the
    dialog does not fit the screen."""
    page.keyboard.press("ArrowDown")
    page.keyboard.press("r")
    for key in ("v", "a", "a", "c", "Shift+a"):
        page.keyboard.press(key)
    assert hands(page) == ["1", "", "1", ""] and not page.query_selector("#vote .right")
    page.keyboard.press("v")
    assert "no error, no loss" in page.inner_text("#vote .right")
    told = [answer.why in page.inner_text("#vote") for answer in demo("D1").answers]
    assert told == [answer.right for answer in demo("D1").answers], "why the others are wrong is for the speaker to say"
    box = page.evaluate("(() => { const d = document.getElementById('vote'); return [d.scrollHeight, d.clientHeight]; })()")
    assert box[0] <= box[1], "the answers are cut off"
    small = page.evaluate("Math.min(...[...document.querySelectorAll('#vote span')]"
                          ".map(e => parseFloat(getComputedStyle(e).fontSize)))")
    assert small >= 30 * page.viewport_size["width"] / 1280, "the answers are too small for the last row"
    page.keyboard.press("v")
    assert not page.is_visible("#vote")


def test_the_class_votes_again(page):
    """Fails if hands after the demo are added to those before it, or if either is lost with the other window or a new load."""
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    for key in ("v", "a", "a", "v", "v"):
        page.keyboard.press(key)
    page.wait_for_function("play && !drawing")  # the scene of the answer that most have chosen is there
    for key in ("ArrowDown", "v", "c", "c"):
        page.keyboard.press(key)
    opened.value.close()
    assert (hands(page, "span:nth-of-type(2)"), hands(page)) == (["2", "0", "0", "0"], ["0", "0", "2", "0"])
    page.reload()
    page.wait_for_selector("#picture svg")
    page.evaluate("go(play.end)")
    page.keyboard.press(" ")
    assert "A 2 → 0" in page.inner_text("#end") and "C 0 → 2" in page.inner_text("#end .right")


def test_the_speaker_has_a_window_of_its_own(page):
    """Fails if a note or a wrong answer's reason comes on the projector, or if a key of the other window does nothing."""
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    window = opened.value
    window.wait_for_function("document.getElementById('notes').innerText.length > 200")
    first = demo("D1").notes[0]
    assert first in window.inner_text("#notes") and first not in page.inner_text("body")
    assert "leader only" in window.inner_text("#next") and "✔" in window.inner_text("#answers")
    assert demo("D1").question in window.inner_text("#list") and "of 6 min" in window.inner_text("#clock")
    for key in ("v", "b"):
        window.keyboard.press(key)
    page.wait_for_selector("#vote[open]")
    window.click("[data-hand='1'][data-by='1']")
    window.wait_for_function("document.getElementById('answers').innerText.includes('2 → 0')")
    assert hands(page) == ["", "2", "", ""]
    window.keyboard.press(" ")
    page.wait_for_function("!document.getElementById('vote').open && running")
    window.click("[data-demo='D1']")
    page.wait_for_function("play && t === play.begin && !running && !drawing")


def test_the_end_says_that_it_is_the_end(page):
    """Fails if space at the end begins again without a word, or if the card has no way on."""
    page.keyboard.press("ArrowDown")
    page.evaluate("go(play.end)")
    page.keyboard.press(" ")
    card = page.inner_text("#end")
    assert demo("D1").purpose in card and demo("D1").exercise[1] in card and page.evaluate("t === play.end && !running")
    page.keyboard.press("r")
    page.wait_for_function("t === play.begin && !drawing")
    assert not page.is_visible("#end")


def test_each_demo_has_an_address(address, page):
    """Fails if the address does not name the demo, or if the list lacks it."""
    assert page.url == f"{address}#D1"
    page.keyboard.press("l")
    assert page.get_attribute("#list a", "href") == "#D1" and demo("D1").title in page.inner_text("#list a")
    page.keyboard.press(" ")
    assert not page.is_visible("#list") and page.evaluate("!running")


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


def test_the_vote_chooses_the_rule(browser):
    """Fails if the page does not go to the rule with the most hands, if it loses the hands, or if it leaves a scene that runs."""
    with serving("D13") as address, closing(browser.new_context()) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#picture svg")
        for key in ("v", "b", "b", "d", "c", "c", "c", "v", "v"):
            page.keyboard.press(key)
        page.wait_for_function("scene === 1 && play && !drawing")
        assert "two of three" in page.inner_text("#picture") and page.url.endswith("#D13/2") and not page.is_visible("#vote")
        page.keyboard.press("ArrowDown")
        for key in ("v", "d", "d"):
            page.keyboard.press(key)
        assert (hands(page, "span:nth-of-type(2)"), hands(page)) == (["0", "2", "3", "1"], ["0", "0", "0", "2"])
        page.keyboard.press(" ")
        assert not page.is_visible("#vote") and page.evaluate("scene === 1")
