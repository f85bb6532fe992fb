"""The students' notebook: a lab's cells without solutions, guesses, outputs and the marks that tests use.

What a student's copy does not have:
  * between `### BEGIN SOLUTION <hint>` and `### END SOLUTION`: `todo("<hint>")` stands there instead, in lines of WIDTH letters
  * a line `guess = 2  ### GUESS`: it becomes `guess = ...  # your guess`, and where a guess is no number, what it looks like:
    `guess = (0, 20)  ### GUESS` becomes `guess = ...  # your guess: (?, ?)`
  * the same in a file that a cell writes (`%%writefile my_producer.py`): a comment with the hint stands there instead
  * cells tagged `solution-only`, and lines `# NBVAL_...`

Invariants
  I-NB-3  no solution reaches labs/: markers that are unclosed, nested or in a text cell are an error
"""
from __future__ import annotations

import ast
import json
import re
import textwrap
from typing import Any

import nbformat
from nbformat import NotebookNode

from minikafka.lab.marking.cell import FILE

from .source import LabError

BEGIN = re.compile(r"^(\s*)### BEGIN SOLUTION\s+(.+?)\s*$")
END = re.compile(r"^\s*### END SOLUTION\s*$")
GUESS = re.compile(r"^(\s*\w+ = )(.*?)\s*### GUESS\s*$")
WIDTH = 60  # letters of a line of code: more break beside the picture
TEST_MARK = re.compile(r"^\s*# NBVAL_\w+\s*$")


def unsolved(source: str) -> str:
    """The source of a code cell without its solutions, guesses and test marks. LabError where a marker is wrong."""
    lines, inside, file = [], False, FILE.match(source)
    for line in source.splitlines():
        begin = BEGIN.match(line)
        if "### BEGIN SOLUTION" in line and not begin:
            raise LabError(f"a solution without a hint:\n{source}")
        if begin and inside:
            raise LabError(f"a solution inside a solution:\n{source}")
        if END.match(line):
            if not inside:
                raise LabError(f"END SOLUTION without BEGIN SOLUTION:\n{source}")
            inside = False
        elif begin:
            inside = True
            lines += textwrap.wrap(begin[2], WIDTH, initial_indent="# ", subsequent_indent="# ") if file else \
                todo(*begin.groups())
        elif not inside and not TEST_MARK.match(line):
            lines += guess(line)
    if inside:
        raise LabError(f"BEGIN SOLUTION without END SOLUTION:\n{source}")
    if "### GUESS" in "\n".join(lines):
        raise LabError(f"a guess is one line such as `guess = 2  ### GUESS`:\n{source}")
    return "\n".join(lines)


def guess(line: str) -> list[str]:
    """Return a line without the guess in it, if there is one; its shape stands before it where both are too long."""
    if not (found := GUESS.match(line)):
        return [line]
    mark = f"# your guess{shape(found[2])}"
    short = f"{found[1]}...  {mark}"
    return [short] if len(short) <= WIDTH else [mark, f"{found[1]}..."]


def todo(indent: str, hint: str) -> list[str]:
    """Return the lines that stand instead of a solution, none longer than WIDTH."""
    parts = textwrap.wrap(hint, WIDTH - len(indent) - len('todo(" ")'), break_long_words=False)
    literals = [quoted(part + " " * (part is not parts[-1])) for part in parts]
    lines = "\n".join(literals).replace("\n", f"\n{indent}     ")
    return f"{indent}todo({lines})".splitlines()


def quoted(text: str) -> str:
    """Return the literal of a text, in double quotes unless that needs a backslash."""
    return repr(text) if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)


def shape(guess: str) -> str:
    """Return what a guess has to look like, for all that is no number: `: (?, ?)` for "(0, 20)"."""
    try:
        value = ast.literal_eval(guess)
    except ValueError:
        return ""
    if isinstance(value, bool):
        return ": True or False"
    return "" if isinstance(value, (int, float)) else f": {_shape(value)}"


def _shape(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_key(key)}: {_shape(each)}" for key, each in value.items()) + "}"
        case set():
            return "{" + _shape(next(iter(value))) + ", ...}"
        case [str(), *_]:  # how many of the names is part of the question
            return '["?", ...]'
        case tuple():
            return "(" + ", ".join(map(_shape, value)) + ")"
        case list():
            return "[" + ", ".join(map(_shape, value)) + "]"
        case str():
            return '"?"'
        case _:
            return "?"


def _key(key: Any) -> str:
    return quoted(key) if isinstance(key, str) else repr(key)


def unsolved_cells(cells: list[NotebookNode]) -> list[NotebookNode]:
    """The cells of the students' notebook; ids, tags and seeds are kept."""
    kept = []
    for cell in cells:
        if "solution-only" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "code":
            kept.append(nbformat.v4.new_code_cell(unsolved(cell.source), id=cell.id, metadata=dict(cell.metadata)))
        elif "### BEGIN SOLUTION" in cell.source or "### END SOLUTION" in cell.source:
            raise LabError(f"a solution's marker in a text cell:\n{cell.source}")
        else:
            kept.append(nbformat.v4.new_markdown_cell(cell.source, id=cell.id, metadata=dict(cell.metadata)))
    return kept
