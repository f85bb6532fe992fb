"""The cells of a lab that work on the live cluster, and how what they said on two engines differs.

A lab has cells in the simulated world, which say the same everywhere, and hands-on cells: those that use a cluster made with
`engine=ENGINE`, or anything that was made from it. The judge (`make judge`) runs the hands-on part of each lab on Apache Kafka.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from nbformat import NotebookNode

ENGINE, PREDICT = "ENGINE", "predict("
FIGURE = re.compile(r"\d+(?:[.,]\d+)*|\b[0-9a-f]{8,}\b|\bengine (?:minikafka|apache)\b")
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)


def hands_on(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the code cells that load a name which comes from the live cluster, in order.

    A name comes from it if the statement that bound the name last loads `ENGINE`, or another such name.
    """
    live, found = {ENGINE}, []
    for cell in cells:
        if cell.cell_type != "code":
            continue
        touched = False
        for statement in statements(cell):
            loaded, bound = names(statement)
            touches = bool(live & loaded)
            touched |= touches
            live = live | bound if touches else live - bound | {ENGINE}
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
        pairs = [names(statement) for statement in statements(cell)]
        bound = {name for _, names_bound in pairs for name in names_bound}
        if cell.id in ids or bound & wanted or PREDICT in cell.source:
            wanted = wanted - bound | {name for loaded, _ in pairs for name in loaded}
            part.append(cell)
    return part[::-1]


def statements(cell: NotebookNode) -> list[ast.stmt]:
    """Return the statements of a cell; lines for Jupyter itself (%magic, !command) are none."""
    return ast.parse(MAGIC.sub("", cell.source)).body


def names(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the names that a statement loads, and those that it binds in the notebook."""
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loaded = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return loaded, {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return loaded, {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return loaded, {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}


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
