"""The solved notebooks with their runs: each is run once, in a copy, with pictures that carry what they show.

Running all of them takes minutes (three brokers each, and Spark), so a copy is kept in .cache/site/ as long as the code of
the lab's cells is the same.

Owns: .cache/site/.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.notebooks import outputs
from tools.notebooks.build import Project, load, solved_notebook, text
from tools.notebooks.run import execute
from tools.notebooks.source import Lab, LabError


def with_runs(lab: Lab, project: Project, show: Callable[[str], None] = print, anew: bool = False) -> NotebookNode:
    """The solved notebook of a lab, its outputs with recorded runs. LabError if a cell fails."""
    kept = project.root / ".cache" / "site" / f"{lab.name}-{outputs.code_hash(lab.cells)[:12]}.ipynb"
    if anew or not kept.exists():
        show(f"{lab.name}: the solved notebook runs, so that its pictures can be played (kept for the next time)")
        for old in kept.parent.glob(f"{lab.name}-*.ipynb"):
            old.unlink()
        keep(run(lab, project), kept)
    return solved_notebook(lab, nbformat.read(kept, as_version=4))


def as_committed(lab: Lab, project: Project) -> NotebookNode:
    """The solved notebook as it is in solutions/: its pictures stand still."""
    found = load(project.solved(lab))
    if found is None:
        raise LabError(f"solutions/{lab.name}.ipynb is missing: run `make labs LAB={lab.name[:2]}`")
    return found


def run(lab: Lab, project: Project) -> NotebookNode:
    notebook = solved_notebook(lab, None)
    execute(notebook, lab.name, project, MINIKAFKA_VIEW="film")
    for count, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        cell.outputs = outputs.tidy(cell.outputs, count)
    personal = outputs.personal(notebook.cells, outputs.own_names())
    if personal:
        raise LabError(f"{lab.name}: outputs name this machine: {'; '.join(personal)}")
    return notebook


def keep(notebook: NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".part")
    half.write_text(text(notebook))
    half.replace(path)
