"""The cells of a lab that work on the live cluster, and how what they said on two engines differs.

A lab has cells in the simulated world, which say the same everywhere, and hands-on cells: those that use a cluster made with
`engine=ENGINE`, or anything that was made from it. The judge (`make judge`) runs the hands-on part of each lab on Apache Kafka.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from nbformat import NotebookNode

from minikafka.lab.names import bound, statements

ENGINE, PREDICT = "ENGINE", "predict("
FIGURE = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,]\d+)*|\b(?:minikafka|apache)\b")


def hands_on(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the code cells that load a name which comes from the live cluster, in order.

    A name comes from it if the statement that bound the name last loads `ENGINE`, or another such name.
    """
    live, found = {ENGINE}, []
    for cell in cells:
        if cell.cell_type != "code":
            continue
        touched = False
        for statement in statements(cell.source):
            touches = bool(live & loaded(statement))
            touched |= touches
            live = live | bound(statement) if touches else live - bound(statement) | {ENGINE}
        if touched:
            found.append(cell)
    return found


def hands_on_part(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the hands-on cells, the cells that bind what these load, and so on; and all predictions. In order."""
    cells = [cell for cell in cells if cell.cell_type == "code"]
    ids = {cell.id for cell in hands_on(cells)}
    wanted: set[str] = set()
    part = []
    for cell in reversed(cells):
        made = {name for statement in statements(cell.source) for name in bound(statement)}
        if cell.id in ids or made & wanted or PREDICT in cell.source:
            wanted = wanted - made | {name for statement in statements(cell.source) for name in loaded(statement)}
            part.append(cell)
    return part[::-1]


def loaded(statement: ast.stmt) -> set[str]:
    """Return the names that a statement loads."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def said(cell: NotebookNode) -> list[str]:
    """Return the lines of text that a cell put out, without blank ones."""
    texts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            texts.append(output.text)
        elif "data" in output:
            texts.append(output.data.get("text/markdown") or output.data.get("text/plain", ""))
    return [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]


def difference(ours: list[str], theirs: list[str]) -> tuple[str, str] | None:
    """Return the first two lines that differ in words, ("", "") if only figures differ, None if nothing does.

    Where one has no such line its word is "".
    """
    if ours == theirs:
        return None
    if words(ours) == words(theirs):
        return "", ""
    rest = max(len(ours), len(theirs))
    pairs = zip(ours + [""] * (rest - len(ours)), theirs + [""] * (rest - len(theirs)), strict=True)
    return next(pair for pair in pairs if words([pair[0]]) != words([pair[1]]))


def words(lines: list[str]) -> list[str]:
    """Return lines without their figures, and without the spaces that figures of another width need."""
    return [" ".join(FIGURE.sub("#", line).split()) for line in lines]
