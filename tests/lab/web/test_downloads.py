"""What a student downloads from the page, and a teacher's command that marks it."""
from __future__ import annotations

import csv
import json

from minikafka.__main__ import main
from tests.lab.marking.test_marking import RIGHT
from tests.lab.web.test_page import in_chromium, notebook, page  # noqa: F401
from tools.web.run import words

HAND_IN = "from minikafka.lab import progress\nprint(progress().hand_in('Ada Lovelace'))"
DOWNLOAD = """async () => {
    await window.jupyterapp.commands.execute('docmanager:save');
    await window.jupyterapp.commands.execute('docmanager:download');
}"""
FILL = """() => {
    window.room = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = () => { throw new DOMException("no room", "QuotaExceededError"); };
}"""
EMPTY = "() => { IDBObjectStore.prototype.put = window.room; }"
SAVE = """async source => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.widgets[0].model.sharedModel.setSource(source);
    await panel.context.save().catch(() => null);
    return [panel.context.model.dirty, document.querySelector("[role=alert]")?.innerText ?? ""];
}"""
LIST = """async folder => {
    await window.jupyterapp.commands.execute('filebrowser:go-to-path', {path: folder});
    await window.jupyterapp.commands.execute('filebrowser:refresh');
}"""


@in_chromium
def test_what_is_downloaded_from_the_page_is_marked(page, tmp_path):  # noqa: F811
    """Fails if the file that is handed in, the record or the notebook is not there to be downloaded, or if the command that marks
    gives one of them another point than that of the exercise which was passed in the page."""
    page.open("labs/06-replication.ipynb", notebook("from minikafka.lab import check", RIGHT["6.2"], HAND_IN))
    said = [words(page.run(number)) for number in range(3)]
    assert "6.2 PASS" in said[1] and "written: minikafka-Ada-Lovelace.json" in said[2]
    with page.page.expect_download() as notebooks:
        page.page.evaluate(DOWNLOAD)
    downloads = [notebooks.value]
    for folder, name in (("labs", "minikafka-Ada-Lovelace.json"), ("/", "progress.json")):
        page.page.evaluate(LIST, folder)
        page.page.locator(f".jp-DirListing-item:has-text('{name}')").click(button="right")
        with page.page.expect_download() as files:
            page.page.locator(".lm-Menu-itemLabel", has_text="Download").first.click()
        downloads.append(files.value)
    for each in downloads:
        each.save_as(tmp_path / each.suggested_filename)
    assert json.loads((tmp_path / "progress.json").read_text())["exercises"]["6.2"]["code"] == RIGHT["6.2"]
    assert main(["class", str(tmp_path), "--mark"]) == 0
    with (tmp_path / "marks.csv").open() as file:
        rows = [(row["student"], row["points"], row["look at"]) for row in csv.DictReader(file)]
    assert rows == [(name, "1", "") for name in ("Ada Lovelace", "labs_06-replication", "progress")]


@in_chromium
def test_a_full_disk_is_said_until_there_is_room(page):  # noqa: F811
    """Fails if a student reads only the browser's own words where a notebook cannot be kept, if what was typed is lost, or if the
    sentence stays when it has been kept. (A disk that was really full had the same effect: a DataError of IndexedDB.)"""
    page.open("labs/full.ipynb", notebook("print(1)"))
    assert page.page.evaluate(SAVE, "print(2)") == [False, ""]
    page.page.evaluate(FILL)
    for source in ("print(3)", "print(4)"):
        unsaved, said = page.page.evaluate(SAVE, source)
        assert unsaved and "make room on the disk, then save again (Ctrl+S)" in said
    assert page.page.locator("[role=alert]").count() == 1
    page.page.evaluate(EMPTY)
    assert page.page.evaluate(SAVE, "print(5)") == [False, ""]
