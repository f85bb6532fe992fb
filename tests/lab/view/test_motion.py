"""The page's half of a view in a real Chromium, without JupyterLab: what changed moves, and each button can be used."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.frame import Frame, Ghost
from minikafka.lab.view import widget
from tests.lab.picture.frames import lane, leader, partition, slow_follower
from tests.lab.view.page import MARKS, chromium

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

ESM = "\n".join((Path(widget.__file__).parent / name).read_text() for name in ("motion.js", "dock.js", "view.js"))
RENDER = """async source => {
    const handlers = {}, fixed = {id: "one", size: "normal", theme: "light", legend: {}, ...window.options};
    const values = {fixed, marks: [], said: {}, svg: "", state: {mode: "live"}};
    window.handlers = handlers;
    window.model = {values, get: name => values[name], send: () => {}, off: () => {},
                    on: (name, handler) => { handlers[name] = handler; }};
    window.show = (mode, svg) => {
        Object.assign(values, {state: {...values.state, mode, speed: 1}, svg});
        handlers["change:svg"]();
        return document.querySelector('.mk-stage').getAnimations({subtree: true}).length;
    };
    const view = await import(URL.createObjectURL(new Blob([source], {type: "text/javascript"})));
    view.default.render({model: window.model, el: document.querySelector(".cell") ?? document.body});
}"""
COVERED = """() => {  // [share of the way, text of a lane that is seen over a band of an epoch]
    const found = [], box = node => node.getBoundingClientRect(), bands = document.querySelectorAll('[data-part="epoch"] rect');
    for (const share of [0, 0.1, 0.3, 1]) {
        for (const each of document.getAnimations()) {
            each.pause();
            each.currentTime = share * each.effect.getComputedTiming().duration;
        }
        for (const text of document.querySelectorAll('[data-part="lane"] text')) {
            const a = box(text), seen = text.checkVisibility({opacityProperty: true});
            const over = b => a.left < b.right && b.left < a.right && a.top + 2.5 < b.bottom && b.top + 2.5 < a.bottom;
            if (seen && [...bands].some(band => over(box(band)))) found.push([share, text.textContent]);
        }
    }
    return found;
}"""
CSS = (Path(widget.__file__).parent / "view.css").read_text()
PANEL = f"""<style>{CSS}</style><body style='margin:0'>
<div id="main"><div class="jp-NotebookPanel" style="position:relative;height:800px">
<div class="jp-Notebook"><div class="cell"></div></div></div></div>"""
CUT = """said => {  // [width, what stands right of the place], of all widths that the place may have
    Object.assign(window.model.values.said, {text: said});
    window.handlers["change:said"]();
    const panel = document.querySelector('.jp-NotebookPanel'), found = [];
    for (let wide = 380; wide <= 1100; wide += 1) {
        panel.style.setProperty("--mk-wide", `${wide}px`);
        const right = node => node.getBoundingClientRect().right, end = right(document.querySelector(".mk-dock .mk-top"));
        for (const node of document.querySelectorAll(".mk-dock .mk-status > :not([hidden])")) {
            if (right(node) > end + 0.5 || (node.matches("button") && node.scrollWidth > node.clientWidth)) {
                found.push([wide, node.textContent]);
            }
        }
    }
    return found;
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


def test_no_label_of_a_lane_that_comes_back_is_seen_over_a_band(browser: Any) -> None:
    """Fails if "knows HW 38", or the label of a ghost, is seen over a band of an epoch while a replica rises into the ISR."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="no-preference")
    for part, ghosts in (("lane-hw", ()), ("ghost", (Ghost(40, 44, 3, 0, 1.0),))):
        pictures = []
        for back in (False, True):
            lanes = leader(1, 51, 51), lane(2, 51, 51), lane(3, 40, 38, in_sync=back, ghosts=ghosts)
            pictures.append(to_svg(replace(slow_follower(), chosen=partition(*lanes, isr=(1, 2, 3) if back else (1, 2)))))
        page.set_content(f"<body style='margin:0'>{pictures[0]}<script>{SCRIPT}</script>")
        assert "lane" in {moved for moved, _ in page.evaluate(SWAP, [pictures[1], 1])}
        assert page.eval_on_selector(f'[data-part="{part}"] text', "text => text.textContent") and page.evaluate(COVERED) == []
    page.close()


def test_a_controller_has_buttons_of_its_own(browser: Any) -> None:
    """Fails if a controller that is no broker has no Kill, Pause and Restart, if a button does something else than it says, or if
    one that can do nothing is enabled."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_content("<body style='margin:0'></body>")
    page.evaluate("() => { window.options = {controls: true, engine: 'sim', ids: [1]}; }")
    page.evaluate(RENDER, ESM)
    page.evaluate("""() => {
        window.sent = [];
        window.model.send = message => { if (message.do === "order") window.sent.push([message.name, message.args]); };
        window.tell = process => {
            window.model.values.state = {mode: "live", open: true, brokers: [[1, "running"]], controllers: [[101, process]]};
            window.handlers["change:state"]();
        };
    }""")
    here = '[data-controller="101"]'
    enabled = "node => [...node.querySelectorAll('button:enabled')].map(each => each.textContent)"
    found = []
    for process in ("running", "paused", "killed"):
        page.evaluate("process => tell(process)", process)
        found.append(page.eval_on_selector(here, enabled))
        page.click(f"{here} button:enabled")
    sent = page.evaluate("() => sent")
    page.close()
    assert found == [["Kill", "Pause", "Restart"], ["Kill", "Resume"], ["Restart"]]
    assert sent == [["kill", [101]], ["kill", [101]], ["restart", [101]]]


@pytest.mark.parametrize("said", ["", "kill broker 1: done", "restart broker 2: " + "the disk is full " * 12])
def test_beside_the_text_no_button_is_cut(browser: Any, said: str) -> None:
    """Fails if "Into its cell" stands beyond the right end of the place, at any width that the place may have."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_content(PANEL)
    page.evaluate("() => { window.options = {beside: true, controls: true, engine: 'sim', faults: true, ids: [1, 2, 3]}; }")
    page.evaluate(RENDER, ESM)
    page.wait_for_selector(".mk-dock .mk-home:not([hidden])")
    page.evaluate("""() => {
        Object.assign(window.model.values, {state: {mode: "live", open: true, brokers: [1, 2, 3].map(id => [id, "running"])}});
        window.handlers["change:state"]();
    }""")
    cut = page.evaluate(CUT, said)
    page.close()
    assert cut == []


def test_nothing_moves_for_a_viewer_at_an_earlier_moment(browser: Any) -> None:
    """Fails if lanes slide over each other after a step, a jump or a drag, or on the way back to the run as it goes on."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="no-preference")
    page.set_content("<body style='margin:0'></body>")
    page.evaluate(RENDER, ESM)
    steps = [("live", 1), ("live", 2), ("still", 1), ("still", 3), ("live", 2), ("live", 1), ("play", 3), ("play", 1)]
    moving = [page.evaluate("([mode, svg]) => show(mode, svg)", [mode, to_svg(frame(first, 47 + number, 45))]) > 0
              for number, (mode, first) in enumerate(steps)]
    page.close()
    assert moving == [False, True, False, False, False, True, False, True]
