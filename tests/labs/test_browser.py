"""Lab 0 in a real JupyterLab in a real Chromium: what a student sees after `make lab`.

Needs /usr/bin/chromium (Debian: apt install chromium); skipped with the reason where there is none. The screenshot lies in
screenshots/ afterwards.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from minikafka.lab.__main__ import arguments, notebook

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]

pytestmark = [
    pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)"),
]

RUN_ALL = """async () => {
    const app = window.jupyterapp, panel = app.shell.currentWidget;
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
    return await app.commands.execute('notebook:run-all-cells');
}"""
OUTPUTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === 'code')
    .map(cell => ({id: cell.model.sharedModel.id, outputs: cell.model.outputs.toJSON()}))"""
SETTLED = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.content?.model && panel.content.widgets.length > 5;
}"""
FONT = "() => getComputedStyle(document.documentElement).getPropertyValue('--jp-code-font-size').trim()"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address and the token of a JupyterLab over a copy of the labs, with folders of its own."""
    project = tmp_path / "project"
    shutil.copytree(ROOT / "labs", project / "labs")
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **folders, "IPYTHONDIR": str(tmp_path / "ipython"), "LAB_STRICT": "0"}
    extra = ["--no-browser", "--ServerApp.port=0", "--LabApp.expose_app_in_browser=True"]
    with open(tmp_path / "jupyter.log", "w") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyterlab", *arguments("00", extra, project)],
                                  env=environment, stdout=log, stderr=log, cwd=project)
    try:
        found = tmp_path / "runtime" / f"jpserver-{server.pid}.json"
        deadline = time.monotonic() + 60
        while not found.exists():
            assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "jupyter.log").read_text()
            time.sleep(0.1)
        served = json.loads(found.read_text())
        yield served["url"], served["token"]
    finally:
        server.terminate()  # one SIGTERM: the server shuts its kernels down, and with them the brokers
        try:
            server.wait(30)
        finally:
            server.kill()


def words(cells: list[dict], cell_id: str) -> str:
    """Everything a cell put out, as plain text."""
    outputs = next(cell["outputs"] for cell in cells if cell["id"] == cell_id)
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join("".join(t) for t in texts)


def test_a_student_runs_lab_0_from_top_to_bottom(lab, tmp_path):
    """Fails if JupyterLab does not open on the notebook, if a cell stops the run, if an unsolved exercise is taken for a
    solved one, if a figure of the lab is wrong, if the projector's fonts are not set, or if the page asks another host.
    """
    from playwright.sync_api import sync_playwright
    url, token = lab
    strangers: set[str] = set()

    def watch(request) -> None:
        address = urllib.parse.urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname not in ("127.0.0.1", "localhost"):
            strangers.add(address.hostname)

    with sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            str(tmp_path / "profile"), executable_path=CHROMIUM, headless=True, args=FLAGS,
            viewport={"width": 1400, "height": 1000})
        page = browser.pages[0]
        page.on("request", watch)
        page.goto(f"{url}lab/workspaces/test/tree/{notebook('00').as_posix()}?token={token}&reset")
        page.wait_for_function(SETTLED, timeout=60_000)
        assert page.evaluate(RUN_ALL) is True
        cells = page.evaluate(OUTPUTS)
        page.get_by_text("0.4 UNKNOWN").scroll_into_view_if_needed()
        picture = ROOT / "screenshots" / "lab-00.png"
        picture.parent.mkdir(exist_ok=True)
        page.screenshot(path=picture)
        font = page.evaluate(FONT)
        browser.close()

    assert [c["id"] for c in cells for o in c["outputs"] if o["output_type"] == "error"] == []
    assert "0.0 PASS" in words(cells, "env")
    assert "0.2 UNKNOWN" in words(cells, "missing") and "0.4 UNKNOWN" in words(cells, "count")
    assert words(cells, "count-show") == "{0: 5, 1: 1, 2: 6}"
    assert "lost: 0" in words(cells, "count-lost")
    assert "brokers alive: []" in words(cells, "clean")
    assert font == "16px"
    assert strangers == set()
