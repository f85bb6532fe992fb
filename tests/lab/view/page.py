"""JupyterLab in a real Chromium, for tests: a server over a folder of notebooks, a page, and what one asks of it.

Needs a Chromium (Debian: apt install chromium). Server and browser have folders of their own; no request leaves the machine.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from minikafka.lab.__main__ import arguments, notebook

PATIENCE = 240_000  # milliseconds that a page may take for anything; a busy machine needs 30 s for a screenshot
ROOT = Path(__file__).resolve().parents[3]
SCREENSHOTS = ROOT / "build" / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
MARKS = [
    pytest.mark.proof, pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)"),
]

JUPYTERLAB = "import minikafka.machine.grammars; from jupyterlab.labapp import main; main()"
READY = """async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
RUN_CELL = """async (id) => {
    const content = window.jupyterapp.shell.currentWidget.content;
    content.activeCellIndex = content.widgets.findIndex(cell => cell.model.sharedModel.id === id);
    return await window.jupyterapp.commands.execute('notebook:run-cell');
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code')
    .map(cell => ({id: cell.model.sharedModel.id, outputs: cell.model.outputs.toJSON()}))"""
SETTLED = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.content?.model && panel.content.widgets?.length > 0 && panel.sessionContext?.session?.kernel;
}"""
END_KERNEL = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"
SAVE = "() => window.jupyterapp.commands.execute('docmanager:save')"
THEME = "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})"


def await_end_of_kernels(server: subprocess.Popen[bytes]) -> None:
    """Return when a server that was told to end has no kernel left; AssertionError after the time that a page may take.

    The server's own process may stay although its work is done: a thread of AnyIO's that waits for more keeps it there.
    """
    deadline = time.monotonic() + PATIENCE / 1000
    while server.poll() is None and psutil.Process(server.pid).children():
        assert time.monotonic() < deadline, "the server has been told to end, and its kernels live"
        time.sleep(0.1)


@contextmanager
def jupyter(folder: Path, lab: str) -> Iterator[str]:
    """A JupyterLab over `folder`/project; yields the address that opens its lab `lab` ("00")."""
    project = folder / "project"
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **own, "IPYTHONDIR": str(folder / "ipython"), "LAB_STRICT": "0",
                   "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    extra = ["--no-browser", "--ServerApp.port=0", "--LabApp.expose_app_in_browser=True"]
    with open(folder / "jupyter.log", "w") as log:
        server = subprocess.Popen([sys.executable, "-c", JUPYTERLAB, *arguments(lab, extra, project)],
                                  env=environment, stdout=log, stderr=log, cwd=project)
    try:
        found = folder / "runtime" / f"jpserver-{server.pid}.json"
        deadline = time.monotonic() + 60
        while not (found.exists() and found.read_text().endswith("}")):  # it is there before it is written
            assert server.poll() is None and time.monotonic() < deadline, (folder / "jupyter.log").read_text()
            time.sleep(0.1)
        served = json.loads(found.read_text())
        yield f"{served['url']}lab/workspaces/test/tree/{notebook(lab, project).as_posix()}?token={served['token']}"
    finally:
        server.terminate()  # one SIGTERM: the server shuts its kernels down, and with them the brokers
        try:
            await_end_of_kernels(server)
        finally:
            server.kill()
            server.wait()


class Page:
    """One page of a browser on a notebook; `strangers` are the hosts it asked besides this machine."""

    def __init__(self, context: Any, address: str) -> None:
        self.page, self.address = context.pages[0], address
        self.strangers: set[str] = set()
        self.complaints: list[str] = []
        self.page.on("request", self._watch)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address + "&reset")
        self.settle()

    def settle(self) -> None:
        self.page.wait_for_function(SETTLED)
        self.page.evaluate(READY)

    def reload(self) -> None:
        self.page.goto("about:blank")
        self.page.goto(self.address)
        self.settle()

    def run_all(self) -> bool:
        """Run every cell; false if one failed."""
        return self.page.evaluate(RUN_ALL)

    def run(self, cell: str) -> bool:
        """Run the cell of this id; false if it failed."""
        return self.page.evaluate(RUN_CELL, cell)

    def cells(self) -> list[dict[str, Any]]:
        return self.page.evaluate(OUTPUTS)

    def words(self, cell: str) -> str:
        """Everything a cell put out, as plain text."""
        return words(self.cells(), cell)

    def errors(self) -> list[str]:
        """The ids of cells that ended in an exception, with its last line."""
        return [f"{c['id']}: {o['ename']}: {o['evalue']}" for c in self.cells() for o in c["outputs"]
                if o["output_type"] == "error"]

    def picture(self, name: str) -> Path:
        """A screenshot of what one sees, kept in build/screenshots."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path

    def _watch(self, request: Any) -> None:
        address = urllib.parse.urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about") and address.hostname not in ("127.0.0.1", "localhost"):
            self.strangers.add(str(address.hostname))


@contextmanager
def chromium() -> Iterator[Any]:
    """A Chromium for pages of one's own."""
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def browser(folder: Path, address: str, width: int = 1400, height: int = 1000) -> Iterator[Page]:
    """A Chromium with a new profile, open on a notebook."""
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(folder / "profile"), executable_path=CHROMIUM, headless=True, args=FLAGS, timeout=PATIENCE,
            viewport={"width": width, "height": height})
        context.set_default_timeout(PATIENCE)
        try:
            yield Page(context, address)
        finally:
            context.close()


@contextmanager
def visit(opened: Any, address: str, name: str, width: int = 1400, height: int = 1000) -> Iterator[Page]:
    """A page of its own (nothing kept of others) on the notebook `name` of a server that several tests share; `opened` is a
    browser of `chromium`. When it closes, the notebook's kernel is told to end.
    """
    lab = re.search("/tree/labs/([^?]*)", address)
    assert lab is not None
    own = address.replace(lab[1], f"{name}.ipynb").replace("/workspaces/test/", f"/workspaces/{name}/")
    context = opened.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    context.new_page()
    try:
        page = Page(context, own)
        yield page
        page.page.evaluate(END_KERNEL)
    finally:
        context.close()


def words(cells: list[dict[str, Any]], cell: str) -> str:
    outputs = next(c["outputs"] for c in cells if c["id"] == cell)
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join("".join(text) for text in texts)


def write_notebook(folder: Path, name: str, **cells: str) -> None:
    """A notebook project/labs/`name` of code cells; the names of the arguments are the cells' ids."""
    labs = folder / "project" / "labs"
    labs.mkdir(parents=True, exist_ok=True)
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, id=cell) for cell, source in cells.items()],
                                    metadata={"kernelspec": {"display_name": "Python 3", "language": "python",
                                                             "name": "python3"}})
    nbformat.write(made, labs / name)
