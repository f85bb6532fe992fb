"""The page's first page and the line of a lab, opened in another way than from a host that knows all types of files."""
from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.view.page import CHROMIUM, FLAGS, PATIENCE
from tools.browser import Quiet, server
from tools.web import first

pytestmark = [pytest.mark.soak, pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page and what it writes for labs, around an application that never appears."""
    made = tmp_path_factory.mktemp("page")
    for each in ("lab", "files/labs", "static/pyodide"):
        (made / each).mkdir(parents=True)
    (made / "lab" / "index.html").write_text("<!DOCTYPE html><title>JupyterLite</title>")
    (made / "static" / "pyodide" / "pyodide.mjs").write_text("")
    shutil.copy(first.HERE.parent.parent / "labs" / "playground.ipynb", made / "files" / "labs" / "00-a.ipynb")
    first.write(made)
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with server(folder) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


@pytest.fixture
def page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield browser.new_page()
        browser.close()


def test_a_page_opened_as_a_file_names_the_command_that_serves_it(page: Any, folder: Path, address: str) -> None:
    """Fails if a double click on index.html leads to labs that never start, or if the page of a host speaks of files."""
    page.goto((folder / "index.html").as_uri())
    assert "python3 -m http.server" in page.locator("body").inner_text()
    page.goto(f"{address}/")
    assert "http.server" not in page.locator("body").inner_text()


def test_a_lab_says_why_its_python_cannot_start(page: Any, folder: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if seconds are counted for ever where a file or a host's type of file keeps Python from its start."""
    page.goto((folder / "lab" / "index.html").as_uri())
    assert "python3 -m http.server" in page.get_by_role("alert").inner_text()
    monkeypatch.setitem(Quiet.extensions_map, ".mjs", "application/octet-stream")
    page.goto(f"{address}/lab/index.html")
    assert "sends .mjs files as application/octet-stream" in page.get_by_role("alert").inner_text()


@pytest.mark.parametrize("answer", [{"status": 405, "content_type": "text/html"}, None])
def test_a_host_that_does_not_name_the_type_is_not_accused(page: Any, address: str, answer: dict[str, Any] | None) -> None:
    """Fails if a host that refuses HEAD, or cannot be reached meanwhile, is said to send a wrong type, or if that is an error."""
    errors: list[Any] = []
    page.on("pageerror", lambda error: errors.append(error))
    page.route("**/pyodide.mjs", lambda route: route.fulfill(**answer) if answer else route.abort())
    with page.expect_event("response" if answer else "requestfailed", lambda one: one.url.endswith("pyodide.mjs")):
        page.goto(f"{address}/lab/index.html")
    page.evaluate("() => new Promise(done => setTimeout(done))")
    assert page.get_by_role("alert").count() == 0 and errors == []


def test_a_lab_says_what_needs_another_browser(page: Any, address: str) -> None:
    """Fails if a browser without JSPI is not named as the reason why some cells do not run, or if something is said to others."""
    with page.expect_response("**/pyodide.mjs"):
        page.goto(f"{address}/lab/index.html")
    assert page.get_by_role("alert").count() == 0
    page.add_init_script("delete WebAssembly.Suspending")
    page.reload()
    assert "Cells that use kafka-python" in page.get_by_role("alert").inner_text()


def test_a_lab_says_what_a_browser_has_to_allow(tmp_path: Path, address: str) -> None:
    """Fails if a page stays empty without a word where the browser's settings refuse it all storage."""
    from playwright.sync_api import sync_playwright
    (tmp_path / "Default").mkdir()
    refuses = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(refuses))
    with sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(str(tmp_path), executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        page = browser.new_page()
        page.goto(f"{address}/lab/index.html")
        assert "Allow cookies and site data" in page.get_by_role("alert").inner_text()
        browser.close()
