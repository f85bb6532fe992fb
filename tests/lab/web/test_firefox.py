"""The course in a browser tab, in Debian's Firefox: as it is, and without what puts a call aside (JSPI), as a browser of 2025."""
from __future__ import annotations

import json
import re
from functools import partial

import pytest

from tests.lab.web.test_page import ASIDE, FIRST, MANY, OFTEN, built, natively, notebook, ran_as_the_text_says, solved
from tools.web import firefox
from tools.web.run import tab, words

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.timeout(1800), pytest.mark.skipif(
    firefox.FIREFOX is None, reason="no Firefox on this machine (Debian: apt install firefox-esr)")]
WITHOUT = {"javascript.options.wasm_js_promise_integration": False}
NEEDS = re.compile(r"kafka-python.*\(JSPI\): a Chrome, Edge or Firefox of 2026\. \(The whole error: `%tb`\)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return built(tmp_path_factory)


@pytest.fixture(scope="module")
def page(folder):
    with tab(folder, firefox.opened) as opened:
        yield opened


def test_three_brokers_run_in_firefox(page):
    """Fails if a cell of the simulated cluster differs from the same cell natively, or if a greenlet of the page goes on
    elsewhere than a real one."""
    page.open("labs/first.ipynb", notebook(FIRST, ASIDE, MANY))
    assert [words(page.run(number)) for number in range(3)] == [natively(cell) for cell in (FIRST, ASIDE, MANY)]
    assert len(page.asked) == 1 and page.complaints == []


@pytest.mark.parametrize("lab", OFTEN)
def test_a_solved_lab_runs_in_firefox(page, lab):
    """Fails if a cell fails in Firefox, if a marked figure is not that of the text, or if another host is asked."""
    ran_as_the_text_says(page, lab)


def test_without_jspi_the_cells_of_a_client_say_which_browser_they_need(folder):
    """Fails if the page does not say it, if a simulated cluster needs it, if a check of a client waits for its time limit, or if
    a cell that makes a client ends in anything but the sentence."""
    path, solution = solved("00")
    cells = {cell.id: number for number, cell in enumerate(solution.cells)}
    with tab(folder, partial(firefox.opened, preferences=WITHOUT)) as page:
        assert "(JSPI). Cells that use kafka-python" in page.page.evaluate("() => document.body.innerText")
        page.open("labs/first.ipynb", notebook(FIRST))
        assert words(page.run(0)) == natively(FIRST)
        page.open(f"labs/{path.name}", json.loads(path.read_text()))
        said = {cell: words(page.run(cells[cell]))
                for cell in ("env", "start", "write-topic", "topic", "missing", "write-send", "send")}
    assert "PASS" in said["env"] and "PASS" in said["missing"] and "[1, 2, 3]" in said["start"]
    assert "0.1 FAIL" in said["write-topic"] and "JSPI" in said["write-topic"]
    assert NEEDS.fullmatch(said["topic"]) and NEEDS.fullmatch(said["send"])
