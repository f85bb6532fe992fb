"""Cells in a kernel of their own, with everything that they showed on the way."""
from __future__ import annotations

from typing import Any

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook


def run_cells(cells: dict[str, str], timeout: float = 120) -> dict[str, tuple[list[Any], list[str]]]:
    """Run the cells in one kernel, errors or not. Return by name: the cell's outputs in the end, and each HTML shown below it."""
    shown: dict[int, list[str]] = {}

    class Watched(NotebookClient):
        def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
            if "text/html" in msg["content"].get("data", {}):
                shown.setdefault(cell_index, []).append(msg["content"]["data"]["text/html"])
            return super().process_message(msg, cell, cell_index)

    notebook = new_notebook(cells=[new_code_cell(source) for source in cells.values()])
    Watched(notebook, kernel_name="python3", allow_errors=True, timeout=timeout).execute()
    return {name: (cell.outputs, shown.get(place, [])) for place, (name, cell) in enumerate(zip(cells, notebook.cells))}
