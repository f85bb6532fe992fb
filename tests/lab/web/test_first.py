"""The page's first page, opened in another way than from a host."""
from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from tests.lab.view.page import CHROMIUM, FLAGS, PATIENCE
from tools.browser import server
from tools.web import first

pytestmark = [pytest.mark.soak, pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")]


def test_a_page_opened_as_a_file_names_the_command_that_serves_it(tmp_path: Path):
    from playwright.sync_api import sync_playwright
    for folder in ("lab", "files/labs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lab" / "index.html").write_text("<title>JupyterLite</title>")
    shutil.copy(first.HERE.parent.parent / "labs" / "playground.ipynb", tmp_path / "files" / "labs" / "00-a.ipynb")
    first.write(tmp_path)
    with sync_playwright() as driver, server(tmp_path) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        page = browser.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        assert "python3 -m http.server" in page.locator("body").inner_text()
        page.goto(f"http://127.0.0.1:{serving.server_port}/")
        assert "http.server" not in page.locator("body").inner_text()
        browser.close()
        serving.shutdown()
