"""The live view in a real JupyterLab in a real Chromium: buttons, slider, keys, themes, and what a reload shows.

Needs a Chromium (Debian: apt install chromium); skipped with the reason where there is none. Screenshots lie in
build/screenshots afterwards, to be looked at. One JupyterLab and one Chromium serve all tests; each has a notebook, a kernel and
a profile of its own.
"""
from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from tests.lab.view.page import MARKS, PATIENCE, RUN_CELL, SAVE, THEME, Page, chromium, jupyter, visit, write_notebook

pytestmark = MARKS
START = """from minikafka import Cluster
from kafka import KafkaAdminClient, KafkaProducer
from minikafka.lab import predict, reveal
import threading, time
cluster = Cluster(3, preset="class")
KafkaAdminClient(bootstrap_servers=cluster.bootstrap).create_topics(
    {"flights": {"num_partitions": 3, "replication_factor": 3, "configs": {"min.insync.replicas": "2"}}},
    wait_for_metadata=True)
producer = cluster.watch(KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all"), "pilot")"""
SEND = """def send(number):
    producer.send("flights", b"a departure", partition=number % 3).get(60); time.sleep(0.05)
number = 0
while len(cluster.alive) == 3:  # only Kill ends this
    send(number := number + 1)
for number in range(60):
    send(number)"""
MEMBERS = """from minikafka.lab.labs.lab05.member import Member
members = [Member(f"C{number}", cluster, "flights", "tower", enable_auto_commit=False) for number in (1, 2)]
for number in range(60):
    producer.send("flights", b"a departure", partition=number % 3).get(60)"""
PLAY = """from minikafka.lab.play import Playground, playground
playground.GONE = 4
play = Playground()"""
CLOSE = f"async () => {{ await ({SAVE})(); window.jupyterapp.shell.currentWidget.close(); }}"
PROCESSES = """import psutil
print("here:", *[process.pid for process in psutil.Process().children(recursive=True)])"""
NUMBER = """([name, least]) => {
    const found = document.querySelector(`.mk-play-numbers [data-number="${name}"]`);
    return found && +found.textContent.replace(',', '') >= least;
}"""
VIEW = 'view = cluster.view("flights-0")'
THREADS = "print(sorted(t.name for t in threading.enumerate() if t.name == 'view-painter'))"
CROWN = """() => document.querySelector('.mk-stage [data-part="partition"] [data-part="crown"]')?.dataset.broker"""
ISR = """() => document.querySelector('.mk-stage [data-part="isr"]')?.dataset.isr.match(/\\d+/g)?.length"""
SAYS = "document.querySelector('.mk-slider').getAttribute('aria-valuetext')"
LANES_IN_SIGHT = """() => {
    document.querySelector('.mk-view[data-size="projector"]').scrollIntoView({block: 'start'});
    const lanes = [...document.querySelectorAll('.mk-view[data-size="projector"] [data-part="lane"]')];
    return lanes.length === 3 && lanes[0].getBoundingClientRect().bottom < innerHeight
        && !document.getElementById('jupyterlab-splash');
}"""
START_CELL = f"id => {{ window.ended = false; ({RUN_CELL})(id).then(() => {{ window.ended = true; }}); }}"


FILLER = {f"filler{number}": "print('a cell')" for number in range(20)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A JupyterLab that all tests of this file share."""
    write_notebook(folder, "90-none.ipynb", none="")
    with jupyter(folder, "90") as served:
        yield served


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with chromium() as found:
        yield found


def write(folder: Path, name: str, **more: str) -> Path:
    write_notebook(folder, f"{name}.ipynb", start=START, view=VIEW, send=SEND, members=MEMBERS, threads=THREADS,
                   stop="view.stop()", play=PLAY, projector='view = cluster.view("flights-0", size="projector")',
                   processes=PROCESSES, guess='predict("0.1", 3)', answer='reveal("0.1", 0)',
                   moment="view.snapshot(view.run.begin)",
                   setting="import dataclasses; print(*dataclasses.astuple(play.traffic.settings))",
                   below='view = cluster.view("flights-0", beside=False)', close="cluster.close()", **more)
    return folder / "project" / "labs" / f"{name}.ipynb"


@pytest.fixture
def page(folder: Path, address: str, opened: Any, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page on a notebook with a view; its name is that of the test."""
    name = request.node.name.removeprefix("test_")[:40]
    write(folder, name, **FILLER)
    with visit(opened, address, name) as shown:
        yield shown
        assert shown.strangers == set() and shown.complaints == []


def until(page: Page, condition: str, argument: object = None) -> None:
    """Wait for a condition. Playwright by itself looks at each frame, and so has sixty drawn in a second."""
    page.page.wait_for_function(condition, arg=argument, polling=100)


def crown(page: Page) -> str:
    until(page, CROWN)
    return page.page.evaluate(CROWN)


def order(page: Page, broker: str, name: str) -> None:
    page.page.click(f'.mk-broker[data-broker="{broker}"] button[data-order="{name}"]')


def process(page: Page, broker: str, state: str) -> None:
    """Wait until the control bar shows this state of a broker."""
    page.page.wait_for_selector(f'.mk-broker[data-broker="{broker}"][data-process="{state}"]')


def look(page: Page, name: str) -> None:
    until(page, "() => !document.getElementById('jupyterlab-splash')")  # it covers the page while a theme is put on
    page.page.evaluate("document.querySelector('.mk-view').scrollIntoView({block: 'start'})")
    page.picture(name)


def test_kill_in_the_control_bar_moves_the_crown_and_the_slider_brings_it_back(page):
    """Fails if Kill waits for the cell that runs, if the crown or the bracket of the ISR do not follow, if restart does not
    bring the broker back, or if the slider and the keys do not show what was.
    """
    assert page.run("start") and page.run("view"), page.errors()
    former, cells = crown(page), len(page.cells())
    until(page, f"{ISR.removeprefix('() => ')} === 3")
    top = "part => document.querySelector(part).getBoundingClientRect().top"
    assert page.page.evaluate(top, ".mk-broker") < page.page.evaluate(top, ".mk-stage"), "button and crown are far apart"
    page.page.evaluate(START_CELL, "send")
    look(page, "view-light")
    order(page, former, "kill")
    process(page, former, "killed")  # the cell sends until then: an order that waited for it would wait for ever
    until(page, f"former => {CROWN.removeprefix('() => ')} !== former", former)
    until(page, f"{ISR.removeprefix('() => ')} === 2")
    look(page, "view-killed")
    until(page, "window.ended")
    order(page, former, "restart")
    process(page, former, "running")
    until(page, f"{ISR.removeprefix('() => ')} === 3")

    page.page.focus(".mk-slider")
    page.page.keyboard.press("Home")
    until(page, "() => document.querySelector('.mk-live').getAttribute('aria-pressed') === 'false'")
    page.page.keyboard.press("f")  # the first fault: the kill
    until(page, f"broker => {SAYS}.includes(`broker ${{broker}} killed`)", former)
    page.page.keyboard.press("ArrowLeft")  # one event before it
    until(page, f"former => {CROWN.removeprefix('() => ')} === former", former)
    assert page.page.evaluate(ISR) == 3
    look(page, "view-back")
    assert page.page.is_enabled(f'.mk-broker[data-broker="{former}"] button[data-order="kill"]')  # it runs again, now
    page.page.keyboard.press("l")
    until(page, f"former => {CROWN.removeprefix('() => ')} !== former", former)
    assert len(page.cells()) == cells  # no key reached the notebook: x and d would have cut cells


@pytest.mark.soak
def test_errors_and_menus_stay_in_the_widget(page):
    """Fails if an order that cannot be carried out is silent, or if the menu's orders do nothing. And of a group: fails if a
    member that the notebook started has no buttons, if a dead one is not crossed out, if the sentence stays green while nobody
    reads its partitions, or if its death is no mark on the line of time."""
    assert page.run("start") and page.run("view"), page.errors()
    crown(page)
    page.page.click('.mk-broker[data-broker="2"] summary')
    page.picture("view-menu")
    page.page.click('.mk-broker[data-broker="2"] .mk-menu button[data-order="hold"]')
    process(page, "2", "held")
    page.page.click('.mk-all button[data-order="heal"]')
    process(page, "2", "running")
    order(page, "3", "pause")
    process(page, "3", "paused")
    assert page.page.get_attribute('.mk-broker[data-broker="3"] button:nth-of-type(2)', "data-order") == "resume"
    page.page.click('.mk-broker[data-broker="3"] button[data-order="resume"]')
    process(page, "3", "running")
    assert page.page.locator(".mk-said").get_attribute("role") == "status"
    assert page.run("members"), page.errors()
    member, buttons = '.mk-stage [data-part="member"][data-name="C1"]', '.mk-member[data-member="C1"] button[data-order={}]'
    page.page.wait_for_selector(f'{member}[data-process="running"][data-idle="false"]', state="attached")
    page.page.click(buttons.format("pause"))
    page.page.wait_for_selector(f'{member}[data-process="paused"]', state="attached")
    until(page, """() => document.querySelector('[data-part="sentence"]').textContent.includes('Nobody reads flights')""")
    page.page.click(buttons.format("kill"))
    page.page.wait_for_selector(f'{member}[data-process="killed"] .struck', state="attached")
    until(page, """() => document.querySelector('[data-part="timeline"]').textContent.includes('consumer C1 killed')""")
    look(page, "view-group")
    assert page.page.is_disabled(buttons.format("kill")) and page.page.is_enabled(buttons.format("kill").replace("C1", "C2"))
    assert page.page.evaluate("[...document.querySelectorAll('.mk-view button')].every(b => b.getAttribute('aria-label'))")
    assert page.errors() == []


@pytest.mark.soak
def test_run_all_twice_leaves_one_thread_and_a_reload_a_picture(page, folder):
    """Fails if a second view leaves the first one's thread, if dark and projector are not followed, if a saved notebook holds a
    widget, or if it shows "model not found" when it is opened again.
    """
    assert page.run("start") and page.run("view") and page.run("view"), page.errors()
    crown(page)
    assert page.run("threads") and page.words("threads").strip() == "['view-painter']"
    page.page.evaluate(THEME, "JupyterLab Dark")
    until(page, "() => document.body.dataset.jpThemeLight === 'false'")
    look(page, "view-dark")
    assert page.run("projector")
    page.page.wait_for_selector('.mk-view[data-size="projector"] svg')
    look(page, "view-projector-dark")
    page.page.evaluate(THEME, "JupyterLab Light")
    until(page, "() => document.body.dataset.jpThemeLight === 'true'")
    look(page, "view-projector-light")
    page.page.set_viewport_size({"width": 1280, "height": 720})
    until(page, LANES_IN_SIGHT)
    look(page, "view-projector-720")
    assert page.run("threads") and page.words("threads").strip() == "['view-painter']"
    assert page.run("stop") and page.run("threads") and page.words("threads").strip() == "[]"
    page.page.evaluate(SAVE)
    path = page.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    saved = nbformat.read(folder / "project" / path, as_version=4)
    assert "widgets" not in saved.metadata or not saved.metadata["widgets"]
    bundles = [set(o["data"]) for cell in saved.cells for o in cell.outputs if "data" in o]
    assert bundles == [{"text/html", "text/plain"}] * 2
    page.reload()
    page.page.wait_for_selector(".jp-OutputArea img")
    assert "model not found" not in page.page.content()
    page.picture("view-reloaded")


@pytest.mark.soak
def test_a_notebook_saved_while_its_view_lives_opens_with_the_last_picture(folder, address, opened):
    """Fails if what is saved holds a widget (it says "model not found" when it is opened without its kernel), another picture
    than the last, or nothing that a page shows of a file that it does not trust.
    """
    file = write(folder, "saved")
    with visit(opened, address, "saved", width=1000) as page:
        assert page.run("start") and page.run("view"), page.errors()
        former = crown(page)
        assert page.page.locator(".jp-OutputArea .mk-stage").count() == 1, "no room beside the text"
        order(page, former, "kill")
        process(page, former, "killed")
        until(page, "former => document.querySelector('.mk-stage svg').getAttribute('aria-label').includes('killed')", former)
        page.page.evaluate(SAVE)
        until(page, "() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
        assert page.page.locator(".mk-stage svg").count() == 1, "the view itself goes on"
        assert page.complaints == []
    written = nbformat.read(file, as_version=4)
    bundles = [o["data"] for cell in written.cells for o in cell.outputs if "data" in o]
    assert [set(bundle) for bundle in bundles] == [{"text/html", "text/plain"}] and "killed" in bundles[0]["text/plain"]
    written.cells[0].source += "  # by somebody else"  # which the server did not sign
    nbformat.write(written, file.with_stem("foreign"))
    for name, trusted in (("saved", True), ("foreign", False)):
        with visit(opened, address, name, width=1000) as page:
            page.page.wait_for_selector(".jp-OutputArea img")
            until(page, "() => document.querySelector('.jp-OutputArea img').naturalWidth > 0")
            page.picture(f"view-saved-{name}")
            assert "model not found" not in page.page.content() and page.complaints == []
            assert "Run the cell again" in page.page.inner_text(".jp-OutputArea small")
            assert page.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted") is trusted


ALL_IN_SIGHT = """() => {
    const rect = part => document.querySelector(`.mk-dock ${part}`)?.getBoundingClientRect();
    const text = document.querySelector('.jp-Notebook').getBoundingClientRect();
    return ['.mk-broker', '[data-part="crown"]', '[data-part="timeline"]', '.mk-slider', '.mk-time'].every(part => {
        const box = rect(part);
        return box?.width && box.top >= 0 && box.bottom <= innerHeight
            && box.left >= text.right - 1 && box.right <= innerWidth;
    });
}"""
LOW_BARS = """() => {  // of three brokers, with what there is to say; and of the time
    const rows = document.querySelector('.mk-dock .mk-live').offsetHeight;
    const high = part => document.querySelector(`.mk-dock ${part}`).offsetHeight / rows;
    return high('.mk-top') < 3.6 && high('.mk-time') < 1.6;
}"""


LETTER = """() => {
    const svg = document.querySelector('.mk-stage svg');
    return 14 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
}"""
FITS = """() => {  // drawn for the place that it has, or for the least width that a layout has
    const stage = document.querySelector('.mk-dock .mk-stage');
    return Math.abs(stage.querySelector('svg').viewBox.baseVal.width - Math.max(640, stage.clientWidth)) < 10;
}"""
MIDDLE = """part => {
    const box = document.querySelector(part).getBoundingClientRect();
    return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
}"""
OPEN = """async path => {
    const before = window.jupyterapp.shell.currentWidget.context?.path;
    await window.jupyterapp.commands.execute('docmanager:open', {path});
    return before;
}"""


FOCUS_SIGN = """() => {  // at once: the next frame has another element in its place
    const sign = document.querySelector(".mk-dock .mk-stage .mk-sign[tabindex='0']");
    sign?.focus();
    return sign && document.activeElement === sign;
}"""
NOTES = "[...document.querySelectorAll('.mk-legend:not([hidden])')].map(note => note.textContent)"
STANDS = f"begins => {NOTES}.some(text => text.startsWith(begins))"


def legend(page: Page, sentence: str) -> None:
    """Wait until this sentence stands beside its sign."""
    until(page, STANDS, sentence)


def point(page: Page, part: str, sentence: str) -> None:
    """Follow a sign with the mouse, as a person does while the picture makes room, until this sentence stands beside it."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.page.evaluate(STANDS, sentence):
        assert time.monotonic() < deadline, f"no legend beside {part}"
        page.page.mouse.move(*page.page.evaluate(MIDDLE, part))


def signs(page: Page) -> set[str]:
    return set(page.page.evaluate("[...document.querySelectorAll('.mk-dock .mk-stage [data-part]')].map(n => n.dataset.part)"))


def test_the_picture_stands_beside_the_text(page, folder):
    """Fails if one must scroll to see picture and controls, if these take many rows, if the picture goes when one reads on, if it
    cannot be folded,
    widened and put into its cell and back, if a new view does not unfold it, if a snapshot does not move it, if a sign says
    nothing under the mouse (also under one that rests while a new picture comes) or with the focus, if letters shrink in a
    narrow window, or if it does not say that its kernel has ended. And of another lab: fails if its picture follows the place
    of the first one's, if lab 0 has signs of later labs, or if its ledger is open before the answer.
    """
    assert page.run("start") and page.run("view"), page.errors()
    crown(page)
    for width, height in ((1440, 900), (1280, 720)):
        page.page.set_viewport_size({"width": width, "height": height})
        assert page.run("filler19")
        until(page, "() => document.querySelector('.jp-WindowedPanel-outer').scrollTop > 100")
        until(page, ALL_IN_SIGHT)
        until(page, LOW_BARS)
        page.picture(f"view-beside-{height}")
    wide = "() => document.querySelector('.mk-stage').clientWidth"
    before = page.page.evaluate(wide)
    page.page.focus(".mk-edge")
    page.page.keyboard.press("ArrowLeft")
    until(page, f"before => ({wide})() > before + 20", before)
    page.page.click(".mk-fold")
    until(page, "() => document.querySelector('.mk-dock').clientWidth < 40")
    page.page.click(".mk-unfold")
    until(page, f"before => ({wide})() > before + 20", before)
    until(page, FITS)
    point(page, ".mk-dock [data-part=isr]", "The bracket holds the replicas in sync")
    page.page.press(".mk-fold", "Enter")
    until(page, f"() => {NOTES}.length === 0")
    assert page.run("view")  # its picture comes under the mouse, which rests
    until(page, f"before => ({wide})() > before + 20", before)
    until(page, FITS)
    legend(page, "The bracket holds the replicas in sync")
    until(page, FOCUS_SIGN)
    page.page.keyboard.press("ArrowDown")
    legend(page, "A tile is a partition")
    assert page.run("moment") and "Live, below the picture" in page.words("moment"), page.errors()
    until(page, "() => document.querySelector('.mk-live').getAttribute('aria-pressed') === 'false'")
    page.page.click(".mk-live")
    page.page.set_viewport_size({"width": 520, "height": 720})
    page.page.wait_for_selector(".jp-OutputArea .mk-stage svg", state="attached")
    until(page, f"() => ({LETTER})() > 9.5")
    look(page, "view-narrow")
    page.page.set_viewport_size({"width": 1440, "height": 900})
    page.page.wait_for_selector(".mk-dock .mk-stage svg")
    page.page.click(".mk-home")
    page.page.wait_for_selector(".jp-OutputArea .mk-stage svg", state="attached")
    until(page, "() => !document.querySelector('.mk-dock')")
    write(folder, "00-another")
    first = page.page.evaluate(OPEN, "labs/00-another.ipynb")
    page.settle()
    assert page.run("start") and page.run("view") and page.run("guess"), page.errors()
    page.page.wait_for_selector('.mk-dock [data-part="crown"]')
    until(page, """() => document.querySelector('.mk-dock [data-part="cover"]')?.textContent.includes('reveal("0.1", ...)')""")
    page.picture("view-lab-0")
    assert signs(page) & {"hw", "isr", "stopwatch", "epoch", "controllers", "ledger"} == set()
    assert page.run("answer") and page.run("moment")
    page.page.click(".mk-dock .mk-live")
    page.page.wait_for_selector('.mk-dock [data-part="cover"]', state="detached")
    assert page.run("close")
    page.page.evaluate(CLOSE)
    page.page.evaluate(OPEN, first)
    page.page.click("button.mk-there")
    page.page.wait_for_selector(".mk-dock .mk-stage svg")
    page.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    until(page, "() => document.querySelector('.mk-dock .mk-what').innerText.startsWith('The kernel has ended')")
    assert page.page.locator(".mk-dock [data-order=kill]:enabled").count() == 0
    page.picture("view-kernel-gone")


@pytest.mark.soak
def test_a_picture_is_as_wide_as_its_cell(page):
    """Fails if the letters of a live picture shrink with the cell, or if the picture is not laid out anew when that changes."""
    assert page.run("start") and page.run("below"), page.errors()
    crown(page)
    stage = "document.querySelector('.mk-stage')"
    scale = f"(svg => svg.clientWidth / svg.viewBox.baseVal.width)({stage}.querySelector('svg'))"
    shown: list[float] = []
    for width in (1250, 1100, 1400):  # from 1400: none is as wide as the one before
        before = page.page.evaluate(f"() => {stage}.clientWidth")
        page.page.set_viewport_size({"width": width, "height": 900})
        until(page, f"before => {stage}.clientWidth !== before", before)  # JupyterLab takes its time to make room
        until(page, f"() => {scale} > 0.98 && {scale} < 1.1")  # until then it is the former one, shrunk or stretched
        look(page, f"view-{width}")
        assert page.page.locator(".mk-stage svg").count() == 1
        shown.append(page.page.evaluate(f"() => {stage}.querySelector('svg').viewBox.baseVal.width"))
    assert shown[1] < shown[0] < shown[2]


@pytest.mark.soak
def test_a_reload_while_the_kernel_lives_goes_on(page):
    """Fails if a page that is loaded again shows an error where the view was, or a picture that no longer moves."""
    assert page.run("start") and page.run("view"), page.errors()
    former = crown(page)
    page.page.evaluate(SAVE)
    page.reload()
    assert crown(page) == former
    order(page, former, "kill")
    until(page, f"former => {CROWN.removeprefix('() => ')} !== former", former)
    assert page.run("close")
    until(page, "() => document.querySelector('.mk-bar').hidden")
    page.page.focus(".mk-slider")
    page.page.keyboard.press("Home")
    until(page, f"former => [undefined, former].includes({CROWN.removeprefix('() => ')})", former)
    assert page.run("stop")
    page.page.wait_for_selector(".jp-OutputArea img")  # and the page that was loaded again is told of the end


FIGURES = {
    "curves": "from minikafka.lab.labs.lab01.drawing import curves\nfrom minikafka.lab.labs.lab01.experiment import flood\n"
              "curves(flood(seconds=2.0))",
    "bars": "from minikafka.lab.labs.lab05.chart import bars\nbars([{'policy': 'auto', 'duplicates': 3, 'lost': 1}], 'a crash')",
    "answers": "from minikafka.lab.labs.lab07.chart import shares\nshares({'acks=0': [1, 2], 'acks=1': [2, 5]}, 'answers')",
    "drawing": "from minikafka.lab.picture.draw.sheet import Sheet\nfrom minikafka.lab.view.front import Still\n"
               "Still(Sheet(600).svg(200, 'a white card'), 'a white card')"}
HEIGHTS = """() => [...document.querySelectorAll('.js-plotly-plot .main-svg:first-child')]
    .map(figure => Math.round(figure.getBoundingClientRect().height))"""
FIT = """() => [...document.querySelectorAll('.js-plotly-plot')].every(figure =>
    Math.abs(figure.querySelector('.main-svg').clientWidth - figure.closest('.jp-OutputArea-output').clientWidth) < 2)"""

LEGENDS = """() => [...document.querySelectorAll('.js-plotly-plot .legend')].every(legend => {
    const figure = legend.closest('.js-plotly-plot'), box = legend.getBoundingClientRect();
    return box.bottom < figure.getBoundingClientRect().bottom + 2 && box.right < figure.getBoundingClientRect().right + 2
        && box.top > figure.querySelector('.xtitle').getBoundingClientRect().bottom - 3;
})"""

MEAN = """async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const paper = new OffscreenCanvas(image.width, image.height).getContext("2d");
    paper.drawImage(image, 0, 0);
    const {data} = paper.getImageData(0, 0, image.width, image.height);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += data[at] + data[at + 1] + data[at + 2];
    return sum / (data.length / 4 * 3);
}"""


def brightness(page: Page, selector: str) -> float:
    """The mean of what one sees of an element, from 0 (black) to 255."""
    return page.page.evaluate(MEAN, base64.b64encode(page.page.locator(selector).last.screenshot()).decode())


@pytest.mark.soak
def test_figures_keep_their_height_and_follow_the_theme(folder, address, opened):
    """Fails if a figure is wider or narrower than the text (in a small window, when the window or the theme changes, when the
    picture opens beside the text or gets wider, also one that is drawn later), if it shrinks to a strip then, if it stays white
    on a dark page, or if its legend covers the plot or hangs over its edge.
    """
    write_notebook(folder, "figures.ipynb", start=START, view=VIEW, close="cluster.close()", later=FIGURES["bars"], **FIGURES)
    with visit(opened, address, "figures", 1024, 768) as page:
        assert all(page.run(cell) for cell in FIGURES), page.errors()
        until(page, f"() => ({HEIGHTS})().length === 3")
        heights = page.page.evaluate(HEIGHTS)
        assert min(heights) > 100
        until(page, FIT)
        page.page.set_viewport_size({"width": 1600, "height": 900})
        until(page, FIT)
        assert brightness(page, ".jp-OutputArea img") > 200
        page.page.evaluate(THEME, "JupyterLab Dark")
        until(page, "() => document.body.dataset.jpThemeLight === 'false'")
        assert brightness(page, ".jp-OutputArea img") < 80 and brightness(page, ".js-plotly-plot") < 80
        page.page.set_viewport_size({"width": 1500, "height": 900})
        assert page.run("start") and page.run("view"), page.errors()
        page.page.wait_for_selector(".mk-dock .mk-view")
        until(page, FIT)
        assert page.run("later") and page.page.evaluate(f"({HEIGHTS})().length") == 4
        until(page, LEGENDS)
        page.page.focus(".mk-edge")
        page.page.keyboard.press("ArrowLeft")
        until(page, FIT)
        page.page.evaluate(THEME, "JupyterLab Light")
        page.page.set_viewport_size({"width": 1400, "height": 900})
        until(page, "() => document.body.dataset.jpThemeLight === 'true'")
        until(page, FIT)
        assert page.page.evaluate(HEIGHTS) == [heights[1], *heights]  # `later` stands above them
        page.picture("figures")
        page.run("close")


def slide(page: Page, name: str, steps: int) -> None:
    """Move a slider of the playground by a number of steps, with the keys."""
    page.page.focus(f".mk-play-{name} .noUi-handle")
    for _ in range(abs(steps)):
        page.page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")


def number(page: Page, name: str) -> int:
    return int(page.page.inner_text(f'.mk-play-numbers [data-number="{name}"]').replace(",", ""))


def processes(page: Page) -> set[int]:
    """The children of the notebook's kernel."""
    assert page.run("processes"), page.errors()
    return {int(word) for word in page.words("processes").split(":")[1].split()}


def press(page: Page, name: str, text: str) -> None:
    page.page.click(f'.mk-play-{name} button:text-is("{text}")')


@pytest.mark.soak
def test_playground_follows_its_sliders_and_survives_its_buttons(page):
    """Fails if a slider or button of the playground changes nothing, if a killed member or brokers that are all dead end it, if
    settings that Kafka refuses do, or if a process is left by a second run or when the notebook is closed.
    """
    assert page.run("play"), page.errors()
    until(page, NUMBER, ["delivered", 1])
    page.page.click('.mk-member[data-member="C1"] button[data-order="kill"]')
    page.page.wait_for_selector('.mk-member[data-member="C1"][data-process="killed"]')
    page.page.click('.mk-member[data-member="C1"] button[data-order="restart"]')
    page.page.wait_for_selector('.mk-member[data-member="C1"][data-process="running"]')
    slide(page, "keys", -9)
    slide(page, "rate", 3)
    slide(page, "work", -9)
    slide(page, "members", 1)
    page.page.wait_for_selector('.mk-member[data-member="C3"]')
    look(page, "play-three")
    press(page, "acks", "0")
    until(page, "() => document.querySelector('.mk-play-numbers').textContent.includes('`acks` must be set to `all`')")
    press(page, "idempotence", "off")
    until(page, NUMBER, ["no answer (acks=0)", 10])
    press(page, "acks", "all")
    press(page, "protocol", "consumer")
    assert page.run("setting") and "100 0 all False 3 consumer 0" in page.words("setting")
    slide(page, "members", -1)
    page.page.wait_for_selector('.mk-member[data-member="C3"]', state="detached")
    until(page, NUMBER, ["delivered", number(page, "delivered") + 200])
    for broker in "123":
        order(page, broker, "kill")
    until(page, NUMBER, ["failed", 1])
    look(page, "play-dead")
    page.page.click('button[data-order="mend"]')
    until(page, NUMBER, ["acknowledged", number(page, "acknowledged") + 100])
    slide(page, "rate", -9)
    first = processes(page)
    assert page.run("play") and page.errors() == []
    until(page, NUMBER, ["acknowledged", 1])
    look(page, "play-again")
    second = processes(page)
    assert len(second) >= 3 and not first & second
    page.page.evaluate(CLOSE)
    psutil.wait_procs([psutil.Process(pid) for pid in second if psutil.pid_exists(pid)], timeout=60)
    assert not any(psutil.pid_exists(pid) for pid in first | second)
    page.reload()
    assert "The playground has ended" in str([cell["outputs"] for cell in page.cells()])
