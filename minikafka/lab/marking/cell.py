"""The cell of an exercise, run alone: what it gives to `check`, without its notebook.

Every exercise of the course is made so that its cell needs only the names of minikafka.lab; the gate (tools/notebooks/gate.py)
runs each solution in this way. What a student's cell uses of the student's other cells is handed in beside it (lab/uses.py).
"""
from __future__ import annotations

import ast
import re
from typing import Any

from minikafka.lab import guard

LIMIT = 30.0    # seconds for a cell, without its check
FILE = re.compile(r"%%writefile +(\S+) *\n")
MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)      # a line for Jupyter, such as %%time or !ls


def whole(entry: dict[str, Any]) -> str | None:
    """Return the code of an exercise in a hand-in, behind the definitions that it uses; None if there is no code."""
    code, uses = entry.get("code"), entry.get("uses")
    if not isinstance(code, str):
        return None
    code = _without_magic(code)
    return f"{uses}\n{code}" if isinstance(uses, str) and uses and not FILE.match(code) else code


def _without_magic(code: str) -> str:
    """Return the code of a cell without the lines that are for Jupyter and for no Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code if FILE.match(code) else MAGIC.sub(r"\1pass", code)
    return code


def handed(source: str, exercise: str) -> dict[str, Any]:
    """Return what a cell gives to `check`, by exercise; of a cell that writes a file its text, whoever runs it. Raises
    guard.TooLong, and what the cell raises."""
    if file := FILE.match(source):
        return {exercise: source[file.end():] + "\n"}
    import minikafka.lab as lab
    answers: dict[str, Any] = {}
    space = {name: getattr(lab, name) for name in lab.__all__}
    with guard.limited(LIMIT):
        exec(compile(source, "<cell>", "exec"), {**space, "__name__": "__main__", "check": answers.__setitem__})
    return answers
