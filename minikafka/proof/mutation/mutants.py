"""The errors that a tired engineer makes: every small change of a source file that still compiles.

    found = mutants(source)             all of them, in the order of the file
    found[3].line, found[3].text        where it is, and what became of it: "a <= b -> a < b"
    found[3].function                   the function around it: with the text it names the change while lines come and go
    tree(source, 3)                     the file with that change, to be compiled

Owns: the kinds of changes. Texts, traces, logs, assertions and annotations are not changed: no property can see them.
Invariants: the same source gives the same mutants in the same order, so a number names one.
Source: the operators of Mothra (King and Offutt 1991) that fit Python.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
UNSEEN = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Mutant:
    """One change: the line at which it is, what it is, and the innermost function around it ("-": none)."""

    line: int
    text: str
    function: str


@cache
def mutants(source: str) -> list[Mutant]:
    """Return every mutant of a source."""
    parsed = ast.parse(source)
    functions = [node for node in ast.walk(parsed) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = {line: node.name for node in functions  # an inner function comes after the outer one
              for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return [Mutant(line, f"{before} -> {after}", around.get(line, "-")) for line, before, after in _changes(parsed)]


def tree(source: str, number: int) -> ast.Module:
    """Return the tree of the source with mutant `number`. Raises IndexError if there is none."""
    parsed = ast.parse(source)
    for place, _ in enumerate(_changes(parsed)):
        if place == number:
            return ast.fix_missing_locations(copy.deepcopy(parsed))
    raise IndexError(f"there is no mutant {number}")


def _changes(root: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Make each change in turn, yield while it is there, and take it back."""
    for parent, field, place, node in list(_places(root)):
        for other in _variants(node):
            _put(parent, field, place, other)
            yield node.lineno, _shown(node), _shown(other)
            _put(parent, field, place, node)


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def _shown(node: ast.AST) -> str:
    return "(dropped)" if isinstance(node, ast.Pass) else ast.unparse(node).splitlines()[0][:70]


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, Any]]:
    """Yield every node below this one that may be changed, with its place in its parent."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "type_ignores", "msg"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, UNSEEN) and not _only_describes(child):
                yield node, field, place, child
                yield from _places(child)


def _only_describes(node: ast.AST) -> bool:
    """Return whether a statement is a docstring, a trace, a line of the log, or a method for people."""
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__str__", "__repr__")
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")) | ast.Attribute(attr="trace" | "_trace"))):
            return True
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
            return True
    return False


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield ast.Compare(left, [SWAPS[type(op)]()], [right])
            if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                yield ast.Compare(right, [op], [left])
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = values[:place] + values[place + 1:]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            yield left
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield ast.BinOp(right, ast.Sub(), left)
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            yield ast.Call(ast.Name("min" if name == "max" else "max", ast.Load()), node.args, node.keywords)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.If(orelse=[]):
            yield ast.Pass()
