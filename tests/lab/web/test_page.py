"""The course in a browser tab: the page as `make browser` builds it, in a real Chromium."""
from __future__ import annotations

import base64
import io
import json
from contextlib import redirect_stdout

import pytest
import zstandard

from tests.lab.page.test_world_notebooks import LABS, ROOT, shown, solved
from tests.lab.view.page import CHROMIUM
from tools.browser import build
from tools.web.parts import PartMissing, registry
from tools.web.run import tab, words

FIRST = """from minikafka import Cluster
cluster = Cluster(engine="sim", seed=7)
cluster.admin().create_topic("greetings", 1, 3)
producer = cluster.producer()
sent = [producer.send("greetings", "hello")]
leaders = [cluster.leader("greetings", 0)]
cluster.kill(leaders[0])
sent.append(producer.send("greetings", "still here"))
leaders.append(cluster.leader("greetings", 0))
reader = cluster.consumer()
reader.assign([("greetings", 0)])
reader.seek(("greetings", 0), 0)
print(sent, leaders, [record.value for record in reader.poll()])
cluster.close()"""
CODECS = """import base64, crc32c, lz4.frame, re2, zstandard
stream = zstandard.ZstdDecompressor().decompressobj()
print(stream.decompress(base64.b64decode("{zstd}")).decode(), crc32c.crc32c(b"123456789"))"""
ASIDE = """from greenlet import getcurrent, greenlet
said = []
def count(name):
    for number in range(2):
        said.append(f"{name}{number}")
        getcurrent().parent.switch()
    if name == "b":
        raise KeyError(name)
both = [greenlet(lambda name=name: count(name)) for name in "ab"]
for green in both * 3:
    green.parent = getcurrent()
    try:
        green.switch()
    except KeyError as error:
        said.append(str(error))
print(said, [green.dead for green in both])"""
MANY = """import gc, random, sys
from greenlet import getcurrent, greenlet
def deep(depth, act):
    return sorted([depth], key=lambda _: deep(depth - 1, act)) if depth else act()
def live(number):
    for step in range(5):
        deep((number * 7 + step * 11) % 40, getcurrent().parent.switch)
        said.append((number, step))
    if number % 7 == 0:
        raise KeyError(number)
said, chance = [], random.Random(1)
greens = [greenlet(lambda number=number: live(number)) for number in range(20)]
while greens:
    green = chance.choice(greens)
    green.parent = getcurrent()
    try:
        green.switch()
    except KeyError as error:
        said.append(error.args)
    deep(50, lambda: gc.collect(1))
    deep(50, lambda: (sys.settrace(lambda *_: None), sys.settrace(None)))
    if green.dead or chance.random() < 0.02:
        greens.remove(green)
print(len(said), said[-9:])"""
MOVED = "() => document.querySelector('.mk-view').innerText.includes('goes on with 2 of 3')"
DELIVERED = "() => Number(document.querySelector('.mk-play-numbers [data-number=delivered]')?.innerText) > 9"
KEPT = "async tab => JSON.stringify(await window.jupyterapp?.serviceManager.workspaces.list() ?? '').includes(tab)"
STARTED = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
OPEN_TABS = "() => [...jupyterapp.shell.widgets('main')].map(each => each.context?.path)"
CELL = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}

OFTEN = ("00", "04", "06", "08")  # in `make proof`; the others in `make long`


def in_a_page(test):
    """Mark a test that opens the page in a real Chromium."""
    for mark in (pytest.mark.browser, pytest.mark.timeout(1800), pytest.mark.skipif(
            CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)")):
        test = mark(test)
    return test


def in_chromium(test):
    """Mark a test that opens the page, in `make long`."""
    return pytest.mark.soak(in_a_page(test))


def notebook(*sources: str) -> dict:
    cells = [{**CELL, "id": f"cell-{number}", "source": source} for number, source in enumerate(sources)]
    kernel = {"kernelspec": {"name": "python", "display_name": "Python", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}


def natively(cell: str) -> str:
    """What the same cell prints here."""
    said = io.StringIO()
    with redirect_stdout(said):
        exec(cell, {})
    return said.getvalue().strip()


def built(tmp_path_factory):
    """Return the folder of a page that was built for this test."""
    try:
        folder = build(tmp_path_factory.mktemp("page"))
    except PartMissing as missing:
        pytest.skip(f"the page's parts are not here: {str(missing).splitlines()[-1]}")
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 60e6
    return folder


def ran_as_the_text_says(page, lab):
    """Run a solved lab; it is as in the text, and the page asks nobody else for anything."""
    path, solution = solved(lab)
    page.open(f"labs/{path.name}", json.loads(path.read_text()))
    after = [(cell, page.run(number)) for number, cell in enumerate(solution.cells) if cell.cell_type == "code"]
    print(f"\nlab {lab}: {len(after)} cells, {page.cost()}")
    assert [cell.id for cell, outputs in after if any(each["output_type"] == "error" for each in outputs)] == []
    marked = [(shown(cell.outputs), shown(outputs)) for cell, outputs in after if "NBVAL_CHECK_OUTPUT" in cell.source]
    assert [new for _, new in marked] == [old for old, _ in marked]
    assert len(page.asked) == 1 and page.complaints == []


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with tab(built(tmp_path_factory)) as opened:
        yield opened


@in_chromium
def test_three_brokers_run_in_a_page(page):
    """Fails if the page does not open, if a cell of the simulated cluster differs from the same cell natively, if a codec of the
    page cannot read what the native one wrote, if a greenlet of the page goes on elsewhere than a real one, if what looks through
    the frames of all threads finds one put aside, if another host is asked, or if something that is asked for is not there.
    """
    packed = base64.b64encode(zstandard.ZstdCompressor().compress(b"packed natively")).decode()
    page.open("labs/first.ipynb", notebook(FIRST, CODECS.format(zstd=packed), ASIDE, MANY))
    assert "still here" in words(page.run(0)) == natively(FIRST)
    assert words(page.run(1)) == f"packed natively {0xe3069283}"
    assert words(page.run(2)) == natively(ASIDE)
    assert words(page.run(3)) == natively(MANY)
    assert len(page.asked) == 1 and page.complaints == []


@in_a_page
@pytest.mark.proof
@pytest.mark.parametrize("lab", [lab if lab in OFTEN else pytest.param(lab, marks=pytest.mark.soak) for lab in LABS])
def test_a_solved_lab_runs_in_a_page(page, lab):
    """Fails if a cell fails in Chromium, if a marked figure is not that of the text, if another host is asked, or if something
    that is asked for is not there. With -s it prints the lab's row of docs/INSTALL.md."""
    ran_as_the_text_says(page, lab)


@in_chromium
def test_the_playground_runs_in_a_page(page):
    """Fails if the playground's cell fails in Chromium, if no record is delivered while no cell runs, if the picture shows no
    kill of a broker, or if something that is asked for is not there. With -s it prints what it cost."""
    page.open("labs/playground.ipynb")
    cell = next(number for number, cell in enumerate(json.loads((ROOT / "labs" / "playground.ipynb").read_text())["cells"])
                if cell["cell_type"] == "code")
    assert not any(each["output_type"] == "error" for each in page.run(cell))
    page.page.wait_for_function(DELIVERED)
    page.page.locator(".mk-view [data-order='kill']").first.click()
    page.page.wait_for_function(MOVED)
    print(f"\nplayground: {page.cost()}")
    assert len(page.asked) == 1 and page.complaints == []


@in_chromium
def test_each_lab_of_the_first_page_is_open_alone(page):
    """Fails if the tabs of another lab come back with one: each would start a Python, and the wrong one may be on top."""
    own = page.page.context.browser.new_context().new_page()
    own.set_default_timeout(120_000)
    for lab in ("labs/01-from-calls-to-a-log.ipynb", "labs/02-one-partition-is-a-file.ipynb"):
        own.goto(page.address)
        own.locator(f"a[href*='{lab}']").click()
        own.wait_for_function(STARTED)
        own.wait_for_function(KEPT, arg=f"notebook:{lab}")
    own.reload()
    own.wait_for_function(STARTED)
    assert own.evaluate(OPEN_TABS) == [lab]
    own.context.close()


@pytest.mark.parametrize(("environment", "settings", "address"), [
    ({}, "", "https://registry.npmjs.org/"),
    ({}, "fund=false\nregistry = https://mirror.example/npm\n", "https://mirror.example/npm/"),
    ({"NPM_CONFIG_REGISTRY": "https://other.example/"}, "registry=https://mirror.example/npm\n", "https://other.example/"),
])
def test_npms_registry_is_the_one_that_npm_would_ask(tmp_path, environment, settings, address):
    """Fails if a school's own registry, named where npm reads it, is not asked."""
    (tmp_path / ".npmrc").write_text(settings)
    assert registry(environment, tmp_path / ".npmrc") == address
