"""A notebook's cells, run one after the other in the page by a real Chromium.

    .venv/bin/python tools/browser.py --run labs/00-first-cluster.ipynb

Needs a Chromium (Debian: apt install chromium). Each run begins with an empty browser.
"""
from __future__ import annotations

import json
import re
import shutil
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 600_000  # milliseconds for one cell on a busy machine
APPEARS = "() => window.jupyterapp && window.jupyterapp.serviceManager.isReady"
OPEN = """async ([name, notebook]) => {
    const app = window.jupyterapp;
    await app.restored;
    const before = app.shell.currentWidget;
    if (before?.sessionContext) {
        await before.sessionContext.shutdown();
        before.dispose();
    }
    if (notebook)
        await app.serviceManager.contents.save(name, {type: 'notebook', format: 'json', content: notebook});
    const panel = await app.commands.execute('docmanager:open', {path: name, factory: 'Notebook'});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
}"""
RUN_CELL = """async number => {
    const content = window.jupyterapp.shell.currentWidget.content;
    content.activeCellIndex = number;
    await window.jupyterapp.commands.execute('notebook:run-cell');
    return content.widgets[number].model.outputs.toJSON();
}"""

MEMORY = """async () => {
    let said = '';
    const asked = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute(
        {code: 'import pyodide_js; print(pyodide_js._module.HEAPU8.length)', store_history: false});
    asked.onIOPub = message => { said += message.content.text ?? ''; };
    await asked.done;
    return Number(said);
}"""


class Tab:
    """The course in one tab; `asked` are the hosts that it asked, `complaints` what its console said of errors."""

    def __init__(self, page: Any, seconds: Callable[[], float], address: str) -> None:
        """`seconds` returns those of processor of the process that has the page and its Python."""
        self.page, self.address, self._seconds = page, address, seconds
        self.asked: set[str] = set()
        self.complaints: list[str] = []
        self._before = 0.0
        page.on("request", self._watch)
        page.on("console", lambda said: said.type == "error" and self.complaints.append(f"{said.text} {said.location['url']}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(f"{address}lab/index.html")
        page.wait_for_function(APPEARS)

    def open(self, name: str, notebook: dict[str, Any] | None = None) -> None:
        """Open a notebook of the page, or put this one there first; returns when its Python has started. The one before ends."""
        self._before = self._seconds()
        self.page.evaluate(OPEN, [name, notebook])

    def run(self, number: int) -> list[dict[str, Any]]:
        """Run the cell of this number (also texts count); return what it put out."""
        return self.page.evaluate(RUN_CELL, number)

    def cost(self) -> str:
        """Return what the notebook has cost so far: seconds of its page's process, with Python's start, and Python's memory."""
        return f"{self._seconds() - self._before:.0f} s of processor, {self.page.evaluate(MEMORY) / 1e6:.0f} MB"

    def _watch(self, request: Any) -> None:
        asked = urllib.parse.urlsplit(request.url)
        if asked.scheme not in ("data", "blob", "about"):
            self.asked.add(asked.netloc)


@contextmanager
def chromium() -> Iterator[tuple[Any, Callable[[], float]]]:
    """A page in a Chromium of its own, and what returns the seconds of processor of the page's process."""
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.set_default_timeout(PATIENCE)
            ask = browser.new_browser_cdp_session().send
            yield page, lambda: max(each["cpuTime"] for each in ask("SystemInfo.getProcessInfo")["processInfo"]
                                    if each["type"] == "renderer")
        finally:
            browser.close()


@contextmanager
def tab(folder: Path, browser: Callable[[], AbstractContextManager[Any]] = chromium) -> Iterator[Tab]:
    """Serve the built page, and open it in a browser of its own: Chromium, or that of firefox.py."""
    from tools.browser import server
    with server(folder) as serving, browser() as (page, seconds):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield Tab(page, seconds, f"http://127.0.0.1:{serving.server_port}/")
        finally:
            serving.shutdown()


def words(outputs: list[dict[str, Any]]) -> str:
    """Return what a cell put out, as plain text; an exception as its traceback."""
    said = []
    for each in outputs:
        if each["output_type"] == "error":
            said.append("\n".join(each["traceback"]))
        else:
            said.append("".join(each.get("text") or each.get("data", {}).get("text/plain", "")))
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(text.rstrip() for text in said))


def run(notebook: Path, folder: Path) -> int:
    """Run a notebook's cells, print each with what it put out and how long it took; return 1 if one failed."""
    cells = json.loads(notebook.read_text())
    failed = []
    with tab(folder) as page:
        began = time.monotonic()
        page.open("labs/run.ipynb", cells)
        print(f"# the notebook is open after {time.monotonic() - began:.1f} s")
        for number, cell in enumerate(cells["cells"]):
            if cell["cell_type"] != "code":
                continue
            began = time.monotonic()
            outputs = page.run(number)
            print(f"# --- {cell.get('id', number)}, {time.monotonic() - began:.1f} s\n{words(outputs)}", flush=True)
            if any(each["output_type"] == "error" for each in outputs):
                failed.append(str(cell.get("id", number)))
        ran = sum(cell["cell_type"] == "code" for cell in cells["cells"])
        print(f"# {ran - len(failed)} of {ran} cells ran, {page.cost()}")
        print(f"# hosts asked: {sorted(page.asked)}", *page.complaints, sep="\n# ")
    print(f"# cells that ended in an exception: {', '.join(failed) or 'none'}")
    return bool(failed)
