"""The solved notebooks inside a simulated world, natively: what a browser's page runs (minikafka/lab/page)."""
from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from minikafka.lab import page
from tools.notebooks.build import Project
from tools.notebooks.run import execute

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(page.__file__).parent
STARTUP = FOLDER.parent / "startup.py"
CHEAP = ("00",)
LABS = ("00", "06", "08")  # those that are tried so far


def elsewhere(lab: str) -> dict[str, str]:
    """Return the cells of a lab that need more than a page has, and what they need."""
    with (FOLDER / "elsewhere.tsv").open() as table:
        return {row["cell"]: row["needs"] for row in csv.DictReader(table, delimiter="\t") if row["lab"] == lab}


def shown(cell: nbformat.NotebookNode) -> list[str]:
    """Return the lines that a cell has printed."""
    return "".join(out["text"] for out in cell.outputs if out.get("name") == "stdout").splitlines()


@pytest.mark.parametrize("lab", [lab if lab in CHEAP else pytest.param(lab, marks=pytest.mark.soak) for lab in LABS])
def test_a_solved_notebook_runs_in_the_world_but_for_the_cells_of_the_table(lab: str) -> None:
    """Fails if other cells fail than those of the table, or if a marked figure is not that of the text."""
    path = next((ROOT / "solutions").glob(f"{lab}-*.ipynb"))
    before = nbformat.read(path, as_version=4)
    after = nbformat.read(path, as_version=4)
    execute(after, path.stem, Project(ROOT), partial(NotebookClient, allow_errors=True), MINIKAFKA_ENGINE="world",
            PYTHONSTARTUP=str(STARTUP))
    failed = [cell.id for cell in after.cells if cell.cell_type == "code"
              and any(out.output_type == "error" for out in cell.outputs)]
    assert failed == list(elsewhere(lab))
    marked = [(shown(old), shown(new)) for old, new in zip(before.cells, after.cells)
              if "NBVAL_CHECK_OUTPUT" in old.source and new.id not in failed]
    assert [new for _, new in marked] == [old for old, _ in marked]
    code = [cell for cell in after.cells if cell.cell_type == "code"]
    assert len(failed) <= 0.05 * len(code)
