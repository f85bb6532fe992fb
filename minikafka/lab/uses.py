"""What the cell of an exercise uses of the notebook's other cells: kept with its code, so that it is judged alone elsewhere.

    uses("check('6.2', mine)", ["def mine(): return least()", "def least(): return 1"])      both functions, the used one first

Owns: which statements are kept. Functions, classes, imports, and values that are made without a call; what was started by a call,
such as a cluster, is no definition. The tools of minikafka.lab are there for every cell, `check` as whoever judges has it.
"""
from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from minikafka.lab import names


def uses(cell: str, earlier: Sequence[str]) -> str:
    """Return the definitions of earlier cells that a cell uses, itself or by one of them; "" if it uses none. Of a name that
    was defined twice the last one counts."""
    definitions = [each for source in earlier for each in names.statements(source) if _defines(each)]
    needed: set[int] = set()
    missing = _free(names.statements(cell))
    while missing:
        name = missing.pop()
        number = next((n for n in reversed(range(len(definitions))) if name in names.bound(definitions[n])), None)
        if number is not None and number not in needed:
            needed.add(number)
            missing |= _free([definitions[number]])
    return "\n".join(ast.unparse(definitions[n]) for n in sorted(needed))


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return not any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(statement))
    return isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import) or (
        isinstance(statement, ast.ImportFrom) and statement.module != "minikafka.lab")


def _free(trees: Sequence[ast.AST]) -> set[str]:
    """Return the names that are read in the code, and bound nowhere in it."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - {name for node in nodes for name in _binds(node)} - set(dir(builtins))


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        yield from names.bound(node)
