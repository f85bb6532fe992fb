"""conftest.py: what makes a notebook's test fail, and what does not. Tiny notebooks in a project of their own."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[3]
UNSOLVED = "from minikafka.lab import check, todo\ndef count(records):\n    todo('count')\ncheck('0.2', count)"


def notebook(source: str, shown: str, html: str = "<b>old</b>") -> nbformat.NotebookNode:
    """One cell that was run once and showed something."""
    output = nbformat.v4.new_output("execute_result", {"text/plain": shown, "text/html": html}, execution_count=1)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, id="a", execution_count=1, outputs=[output])])


NOTEBOOKS = {
    "solutions/wrong-figure": (notebook("# NBVAL_CHECK_OUTPUT\n1 + 1", "3"), "failed"),
    "solutions/right-figure": (notebook("# NBVAL_CHECK_OUTPUT\n1 + 1", "2"), "passed"),
    "solutions/other-html": (notebook("# NBVAL_CHECK_OUTPUT\nfrom IPython.display import HTML\nHTML('new')",
                                      "<IPython.core.display.HTML object>"), "passed"),
    "solutions/unmarked": (notebook("1 + 1", "3"), "passed"),
    "solutions/unsolved": (notebook(UNSOLVED, ""), "failed"),
    "labs/with-a-gap": (notebook(UNSOLVED, ""), "passed"),
    "labs/keeps-nothing": (notebook("import os\nassert os.environ['MINIKAFKA_PROGRESS'] == 'off'", ""), "passed"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """"passed" or "failed" by notebook."""
    project = tmp_path_factory.mktemp("project")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, project)
    for name, (content, _) in NOTEBOOKS.items():
        path = project / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(content, path)
    environment = {k: v for k, v in os.environ.items() if k not in ("LAB_STRICT", "MINIKAFKA_ENGINE", "MINIKAFKA_PROGRESS")}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rpf", "-p", "no:cacheprovider", "labs", "solutions"],
                          cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("PASSED ", "FAILED "))]
    return {words[1].partition(".ipynb")[0]: words[0].lower() for words in lines}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_what_fails_a_notebook(results, name):
    """Fails if a wrong figure passes, if a picture drawn anew fails, if an unsolved exercise is taken for a solved one,
    or if a student's progress file is written.
    """
    assert results[name] == NOTEBOOKS[name][1]
