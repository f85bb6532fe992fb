"""Runs a solved notebook as its tests do, strictly, and keeps what it put out.

The kernel is a new process in the notebook's folder, on our own engine; nothing goes into a student's progress file.
"""
from __future__ import annotations

import os
import time
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from . import outputs
from .build import Project, build, load, text
from .source import LabError

STRICT = {"LAB_STRICT": "1", "MINIKAFKA_PROGRESS": "off", "MINIKAFKA_ENGINE": "minikafka", "PYTHONHASHSEED": "0"}
CELL_LIMIT = 600  # seconds; a busy machine takes ten times as long as a quiet one


def run(path: Path, project: Project) -> str:
    """Builds a lab, runs its solved notebook and keeps the outputs; says how long it took. LabError if a cell fails."""
    lab = build(path, project)
    notebook = load(project.solved(lab))
    began = time.monotonic()
    times = execute(notebook, lab.name, project)
    taken = time.monotonic() - began
    notebook.metadata["minikafka"]["ran"] = outputs.code_hash(lab.cells)
    project.solved(lab).write_text(text(notebook))
    build(path, project)
    personal = outputs.personal(load(project.solved(lab)).cells, outputs.own_names())
    if personal:
        raise LabError(f"{lab.name}: outputs name this machine: {'; '.join(personal)}")
    slowest = ", ".join(f"{cell} {spent:.1f} s" for spent, cell in sorted(times.taken, reverse=True)[:5])
    return f"{lab.name}: {len(times.taken)} cells in {taken:.0f} s; slowest: {slowest}"


def execute(notebook: NotebookNode, name: str, project: Project, client: type[NotebookClient] = NotebookClient,
            **environment: str) -> Times:
    """Runs a notebook in the folder of the solved ones and fills in its outputs. LabError if a cell fails."""
    times = Times()
    try:
        running = client(notebook, timeout=CELL_LIMIT, kernel_name="python3",
                         resources={"metadata": {"path": str(project.solutions)}},
                         on_cell_execute=times.start, on_cell_executed=times.stop)
        running.execute(env={**os.environ, **STRICT, "JPY_SESSION_NAME": f"{name}.ipynb", **environment})
    except CellExecutionError as error:
        raise LabError(f"{name}: {error}") from None
    notebook.metadata.pop("widgets", None)
    return times


class Times:
    """How long each code cell took."""

    def __init__(self) -> None:
        self.taken: list[tuple[float, str]] = []
        self._began = 0.0

    def start(self, cell: NotebookNode, cell_index: int) -> None:
        self._began = time.monotonic()

    def stop(self, cell: NotebookNode, cell_index: int, execute_reply: object) -> None:
        if cell.cell_type == "code":
            self.taken.append((time.monotonic() - self._began, cell.id))
