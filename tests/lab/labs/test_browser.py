"""Lab 0 in a real JupyterLab in a real Chromium: what a student sees after `make lab`.

Needs a Chromium (Debian: apt install chromium); skipped with the reason where there is none. The screenshots lie in
build/screenshots afterwards.
"""
from __future__ import annotations

import re
import shutil

import nbformat
import pytest

from tests.lab.view.page import MARKS, ROOT, browser, jupyter

pytestmark = MARKS
FONT = "() => getComputedStyle(document.documentElement).getPropertyValue('--jp-code-font-size').trim()"
SAYS = "document.querySelector('.mk-slider').getAttribute('aria-valuetext')"
DOLLARS = {
    "formula": "from IPython.display import HTML, display\nHTML('this is a formula: $x^2$')",
    "guess-dollars": r"display(predict('0.9', '$a$ or $$b$$ or \\(c\\)')); reveal('0.9', 'nothing of $a$')",
    "check-dollars": r"display(check('0.5', '$a$ or $$b$$ or \\(c\\)')); hint('$a$ or $$b$$')",
}
FITS = """id => {
    const cell = window.jupyterapp.shell.currentWidget.content.widgets.find(cell => cell.model.sharedModel.id === id);
    cell.node.scrollIntoView({block: 'start'});
    const figure = cell.node.querySelector('.js-plotly-plot .main-svg');
    return figure && Math.abs(figure.clientWidth - cell.node.querySelector('.jp-OutputArea-output').clientWidth) < 20;
}"""
LEADER = """() => document.querySelector('.mk-stage [data-part="partition"] [data-part="crown"]')?.dataset.broker"""


def add_cells(path, sources):
    """Put cells of code at the end of a notebook."""
    notebook = nbformat.read(path, 4)
    notebook.cells += [nbformat.v4.new_code_cell(source, id=name) for name, source in sources.items()]
    nbformat.write(notebook, path)


def test_a_student_runs_lab_0_from_top_to_bottom(tmp_path):
    """Fails if JupyterLab does not open on the notebook, if a cell stops the run, if an unsolved exercise is taken for a
    solved one, if a figure of the lab is wrong, if the projector's fonts are not set, if the page asks another host, if
    the run cannot be looked at again once its cluster is gone, if Jupyter warns in the terminal while the notebook is open, or
    if a student's own words are set as a formula.
    """
    shutil.copytree(ROOT / "labs", tmp_path / "project" / "labs")
    add_cells(next((tmp_path / "project" / "labs").glob("00-*.ipynb")), DOLLARS)
    with jupyter(tmp_path, "00") as address, browser(tmp_path, address) as page:
        assert page.run_all() is True, page.errors()
        assert page.errors() == []
        page.page.get_by_text("0.4 UNKNOWN").scroll_into_view_if_needed()
        page.picture("lab-00")
        assert "0.0 PASS" in page.words("env")
        for exercise, cell in {"0.1": "write-topic", "0.3": "write-send", "0.4": "write-read", "0.5": "missing"}.items():
            assert f"{exercise} UNKNOWN" in page.words(cell)
        assert "the broker says: NotEnoughReplicasError" in page.words("one-left")
        assert page.words("count-show") == "{0: 5, 1: 1, 2: 6}"
        assert "lost: 0" in page.words("count-lost")
        assert "brokers alive: []" in page.words("clean")
        assert page.page.evaluate(FONT) == "16px"
        assert page.page.locator("mjx-container").count() == 1  # the one that was meant as a formula
        assert page.page.get_by_text("$a$ or $$b$$").count() >= 3

        page.page.wait_for_function("() => document.querySelector('.mk-bar').hidden")  # nothing left to break
        after = page.page.evaluate(LEADER)
        page.page.focus(".mk-slider")
        page.page.keyboard.press("Home")
        page.page.keyboard.press("f")  # the first fault is the kill of the leader
        page.page.wait_for_function(f"() => {SAYS}.includes('killed')")
        page.page.keyboard.press("ArrowLeft")
        page.page.wait_for_function(f"after => ![undefined, after].includes({LEADER.removeprefix('() => ')})", arg=after)
        page.page.evaluate("document.querySelector('.mk-view').scrollIntoView({block: 'start'})")
        page.picture("lab-00-back")
        assert page.strangers == set() and page.complaints == []
        log = (tmp_path / "jupyter.log").read_text()  # before the end: a kernel that is ended while it writes tells of it
    warned = [line for line in log.splitlines() if re.search(r"^\[[WE] |WARNING|ERROR", line)]
    assert all("is not trusted" in line for line in warned), warned  # so Jupyter calls a notebook that was made elsewhere


@pytest.mark.soak
def test_lab_8_runs_from_top_to_bottom_and_leaves_pictures(tmp_path):
    """Fails if a cell of lab 8 stops the run in a page with widgets, or if its live view leaves no still picture."""
    shutil.copytree(ROOT / "labs", tmp_path / "project" / "labs")
    with jupyter(tmp_path, "08") as address, browser(tmp_path, address) as page:
        assert page.run_all() is True, page.errors()
        assert page.errors() == []
        live = next(cell for cell in page.cells() if cell["id"] == "live-view")
        assert [set(output["data"]) for output in live["outputs"]] == [{"text/html", "text/plain"}]
        page.page.locator(".jp-OutputArea img").last.scroll_into_view_if_needed()
        page.picture("lab-08")
        assert page.strangers == set() and page.complaints == []


@pytest.mark.soak
def test_figures_of_lab_7_have_the_width_of_their_text(tmp_path):
    """Fails if a figure that was out of sight when the picture beside the text went keeps the width that it had beside it."""
    shutil.copytree(ROOT / "labs", tmp_path / "project" / "labs")
    with jupyter(tmp_path, "07") as address, browser(tmp_path, address, 1440, 900) as page:
        assert page.run_all() is True, page.errors()
        page.page.wait_for_function("() => !document.querySelector('.mk-dock')")
        for figure in ("chart-modes", "chart-queue", "chart-slow", "own-chart"):
            page.page.wait_for_function(FITS, arg=figure)
        page.picture("lab-07")
