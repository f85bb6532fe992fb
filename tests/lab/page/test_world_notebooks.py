"""The solved notebooks inside a simulated world, natively: what a browser's page runs (minikafka/lab/page).

Lab 0 runs in `make test`, the others in `make proof`. Labs 0, 4, 6 and 8 also run in the page itself there, in Chromium
(tests/lab/web/test_page.py).
"""
from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from minikafka.lab import page
from tools.notebooks.build import Project
from tools.notebooks.run import execute

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(page.__file__).parent
STARTUP = FOLDER.parent / "startup.py"
LABS = [f"{number:02}" for number in range(11)]
AGAIN = ("00", "01", "03", "04", "05")  # run twice; lab 2 once took one step more, others were not tried
ENDING = """
from minikafka.lab.page.notebook import enter
print(enter().timeline.steps, enter().timeline.clock, *[way.net.digest for way in enter().network.ways])
"""


def elsewhere(lab: str) -> dict[str, str]:
    """Return the cells of a lab that need more than a page has, and what they need."""
    with (FOLDER / "elsewhere.tsv").open() as table:
        return {row["cell"]: row["needs"] for row in csv.DictReader(table, delimiter="\t") if row["lab"] == lab}


def shown(outputs: list[dict[str, Any]]) -> list[str]:
    """Return the lines that a cell has printed."""
    return "".join(out["text"] for out in outputs if out.get("name") == "stdout").splitlines()


def solved(lab: str) -> tuple[Path, nbformat.NotebookNode]:
    path = next((ROOT / "solutions").glob(f"{lab}-*.ipynb"))
    return path, nbformat.read(path, as_version=4)


@cache
def ran(lab: str, turn: int = 0) -> list[nbformat.NotebookNode]:
    """Return the cells of a notebook after a run in the world, and behind them one that has printed how it ended."""
    path, notebook = solved(lab)
    notebook.cells.append(nbformat.v4.new_code_cell(ENDING, id="ending"))
    with TemporaryDirectory() as folder:  # %%writefile says whether the file was there
        Project(Path(folder)).solutions.mkdir()
        execute(notebook, path.stem, Project(Path(folder)), partial(NotebookClient, allow_errors=True), MINIKAFKA_ENGINE="world",
                PYTHONSTARTUP=str(STARTUP))
    return list(notebook.cells)


def each(labs: Sequence[str], others: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Return labs as parameters: lab 0 for `make test`, and the others with this mark."""
    return pytest.mark.parametrize("lab", [lab if lab == "00" else pytest.param(lab, marks=others) for lab in labs])


@each(LABS, pytest.mark.proof)
def test_a_solved_notebook_runs_in_the_world_but_for_the_cells_of_the_table(lab: str) -> None:
    """Fails if other cells fail than those of the table, or if a marked figure is not that of the text."""
    before, after = solved(lab)[1].cells, ran(lab)
    failed = [cell.id for cell in after if cell.cell_type == "code" and any(out.output_type == "error" for out in cell.outputs)]
    assert failed == list(elsewhere(lab))
    marked = [(shown(old.outputs), shown(new.outputs)) for old, new in zip(before, after)
              if "NBVAL_CHECK_OUTPUT" in old.source and new.id not in failed]
    assert [new for _, new in marked] == [old for old, _ in marked]
    assert len(failed) <= 0.05 * sum(cell.cell_type == "code" for cell in before)


@each(AGAIN, pytest.mark.soak)
def test_a_notebook_in_the_world_is_the_same_run_each_time(lab: str) -> None:
    """Fails if chance that is not the seed's, or the machine's clock, gets into a run: a cell prints something else, or the world
    has taken another step or carried another byte at the end."""
    one, two = ran(lab), ran(lab, turn=1)
    assert shown(one[-1].outputs) and [shown(cell.outputs) for cell in one if cell.cell_type == "code"] == [
        shown(cell.outputs) for cell in two if cell.cell_type == "code"]
