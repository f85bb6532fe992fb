"""What a view leaves in a notebook file: a still picture, whoever executed it."""
from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view import View

ROOT = Path(__file__).resolve().parents[3]
START = """from minikafka import Cluster
cluster = Cluster(engine="sim", seed=5, preset="class")
cluster.admin().create_topic("flights", partitions=1)
producer = cluster.watch(cluster.producer(), "pilot")
producer.send("flights", "one")
view = cluster.view()"""
BREAK = """dead = cluster.leader("flights", 0)
cluster.kill(dead)
cluster.sleep(30)
view.snapshot()"""


def execute(cells: list[str], monkeypatch: pytest.MonkeyPatch, kind: str = "") -> nbformat.NotebookNode:
    """Run cells as nbconvert and tools/labs.py do; `kind` "page" makes the kernel believe that a page shows it."""
    monkeypatch.setenv("MINIKAFKA_VIEW", kind)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def pictures(notebook: nbformat.NotebookNode) -> list[list[dict[str, Any]]]:
    """The mime bundles of each cell."""
    return [[o["data"] for o in cell.outputs if "data" in o] for cell in notebook.cells]


def svg(shown: str) -> str:
    """The picture in an <img>."""
    code = re.search('src="data:image/svg.xml;base64,([^"]*)"', shown)
    assert code is not None and re.search('alt="[^"]+"', shown)
    return base64.b64decode(code[1]).decode()


@pytest.mark.parametrize("kind, last", [("", "view.stop()"), ("", "cluster.close()"), ("page", "view.stop()\ncluster.close()")])
def test_a_file_keeps_the_last_frame_and_no_widget(last, kind, monkeypatch):
    """I-VIEW-1: fails if a saved notebook shows the first frame, nothing, or a widget that no page can find."""
    shown, later, _ = pictures(execute([START, BREAK, last], monkeypatch, kind))
    assert [set(bundle) for bundle in shown] == [{"text/html", "text/plain"}]
    picture = svg(shown[0]["text/html"])
    assert "killed" in picture and 'data-part="crown"' in picture
    assert "killed" in shown[0]["text/plain"]
    assert [set(bundle) for bundle in later] == [{"text/html", "text/plain"}]


def test_a_page_made_of_a_notebook_shows_pictures_and_charts(recorded):
    """Fails if nbconvert finds nothing in a bundle that it can show: plotly's figure alone is an empty place."""
    view = View(RecordedRun.open(recorded))
    bundles = [each._repr_mimebundle_() for each in (view.snapshot(2.0), view.charts())]
    cell = nbformat.v4.new_code_cell("view", outputs=[nbformat.v4.new_output("display_data", bundle) for bundle in bundles])
    made, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    assert [svg(image).startswith("<svg") for image in re.findall("<img[^>]*>", made)] == [True, True]


def test_a_view_at_the_end_of_a_cell_shows_once_and_again_in_a_later_one(monkeypatch):
    """Fails if `cluster.view()` as a cell's last line shows two pictures, or `view` in a later cell none."""
    first, second, _ = pictures(execute([START.replace("view = cluster.view()", "view = cluster.view()\nview"), "view",
                                         "cluster.close()"], monkeypatch))
    assert len(first) == 1 and len(second) == 1
    assert first == second  # both were replaced by the last frame


def test_a_terminal_gets_the_text():
    """Fails if IPython without widgets shows nothing, or an object's address."""
    code = START + "\nview.stop(); cluster.close()"
    done = subprocess.run([sys.executable, "-m", "IPython", "--no-banner", "--quick", "--colors=nocolor", "-c", code],
                          capture_output=True, text=True, timeout=300, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": os.devnull})
    assert done.returncode == 0, done.stderr
    assert "flights" in done.stdout and "leader" in done.stdout and "object at" not in done.stdout
