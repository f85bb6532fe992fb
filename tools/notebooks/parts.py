"""Parts of a notebook that run by themselves: which cells go on from which, by the names that they bind and load.

`make test` runs every cell of the solved notebooks. Of the students' notebooks it then runs the cells that say something new:
those that differ, for a solution is missing there, what goes on from them, and what these need. `make long` runs them whole.
"""
from __future__ import annotations

import ast
from collections.abc import Container, Iterable

from nbformat import NotebookNode

from minikafka.lab.names import bound, statements

from .student import FILE

ENGINE, PREDICT, SOLUTION = "ENGINE", "predict(", "### BEGIN SOLUTION"


def unsolved_part(student: Iterable[NotebookNode], solved: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the code cells of a student's notebook that run otherwise than in the solved one, and what they need. In order.

    A live cluster keeps what was done to it: if one of them works on it, all cells before that one do, too.
    """
    gaps = {cell.id for cell in solved if cell.cell_type == "code" and SOLUTION in cell.source}
    cells = [cell for cell in student if cell.cell_type == "code"]
    ids = {cell.id for cell in needed(cells, {cell.id for cell in dependents(cells, beginning=gaps)})}
    live = [cell.id for cell in hands_on(cells)]
    last = max((place for place, id in enumerate(live, 1) if id in ids), default=0)
    return needed(cells, ids | set(live[:last]))


def hands_on(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the code cells that load a name which comes from the live cluster, in order."""
    return dependents(cells, names=frozenset({ENGINE}))


def dependents(cells: Iterable[NotebookNode], beginning: Container[str] = (),
               names: frozenset[str] = frozenset()) -> list[NotebookNode]:
    """Return the cells with the ids `beginning`, and those that load a name which comes from them or from `names`.

    A name comes from there if the statement that bound the name last is in such a cell, or loads one of `names` or another such
    name.
    """
    come, found = set(names), []
    for cell in cells:
        if cell.cell_type != "code":
            continue
        touched = cell.id in beginning
        for makes, takes in steps(cell.source):
            touches = cell.id in beginning or bool(come & takes)
            touched |= touches
            come = come | makes if touches else come - makes | names
        if touched:
            found.append(cell)
    return found


def needed(cells: Iterable[NotebookNode], ids: Container[str]) -> list[NotebookNode]:
    """Return the cells with these ids, the cells that bind what these load, and so on; and all predictions. In order."""
    wanted: set[str] = set()
    part = []
    for cell in reversed([cell for cell in cells if cell.cell_type == "code"]):
        made = {name for makes, _ in steps(cell.source) for name in makes}
        if cell.id in ids or made & wanted or PREDICT in cell.source:
            wanted = wanted - made | {name for _, takes in steps(cell.source) for name in takes}
            part.append(cell)
    return part[::-1]


def steps(source: str) -> list[tuple[set[str], set[str]]]:
    """Return for each statement of a cell the names that it binds and loads; a cell that writes a file binds the file's name."""
    if file := FILE.match(source):
        return [({file[1]}, set())]
    return [(bound(statement), loaded(statement)) for statement in statements(source)]


def loaded(statement: ast.stmt) -> set[str]:
    """Return the names that a statement loads, and the programs that it names."""
    nodes = [*ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)} | \
        {node.value for node in nodes if isinstance(node, ast.Constant) and str(node.value).endswith(".py")}
