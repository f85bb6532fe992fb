"""What a cell says beside Python's error: which cell makes a name that is missing, where a tool of the labs is that no cell has
fetched, and what helps when Spark was too slow.

After the kernel was restarted, or when cells run out of order, Python says only `name 'cluster' is not defined`. A kernel that
`make lab` starts imports the labs at its start (startup.py), so that the sentence is there before any cell has run;
in every other kernel it is there from the first `import minikafka.lab` on (beside.py).

Owns: nothing; it reads the notebook's file, whose path Jupyter gives to the kernel (JPY_SESSION_NAME), and the cell that runs.
"""
from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)
ELSEWHERE = re.compile(r"\s*%%(?!time|capture)")  # the cell's text is no code of the notebook: %%writefile, %%bash
HEADING = re.compile(r"^##? +(.+)$", re.MULTILINE)
LETTERS = 20_000  # of a cell that is kept
SHOWN = 50  # letters of the line that makes the name
SLOW = "Python worker failed to connect back"  # Spark's words; the ten seconds are written into it, no setting changes them
TOO_SLOW = ("Spark gives a Python process ten seconds to start, and this machine was busy with other programs. Nothing is "
            "broken: end some of them, and run this cell again. (After `make apache` streams need no such process.)")
REMEDY = "Run the cells before this one: in the menu, Run > Run All Above Selected Cell."


def told(name: str, cells: Iterable[tuple[str, str]]) -> str:
    """Return a sentence that says which cell makes a name, "" if none does. `cells`: section and code of each, in order."""
    line, section = made(name, cells)
    return (f"`{name}` is made by the line `{line}` of the section “{section}”, which has not run since the kernel "
            f"was started. {REMEDY}") if line else ""


def made(name: str, cells: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the first line that makes a name, in short, and the section that it stands in; ("", "") if there is none."""
    for section, source in cells:
        for statement in statements(source):
            if name in bound(statement):
                line = source.splitlines()[statement.lineno - 1].strip()
                return line if len(line) <= SHOWN else line[:SHOWN - 1] + "…", section
    return "", ""


def maker(name: str) -> tuple[str, str]:
    """Return the same for this notebook: from its file, or from the cells that have run."""
    try:
        found = made(name, cells_of(Path(os.environ["JPY_SESSION_NAME"])))
    except (KeyError, OSError, ValueError):  # no notebook, or one that was renamed
        found = "", ""
    cells = getattr(shell(), "user_ns", {}).get("In", [])
    return found if found[0] else made(name, [("", source) for source in cells])


def statements(source: str) -> list[ast.stmt]:
    """Return the statements of a cell, [] if it cannot be read; lines for Jupyter itself (%magic, !command) are none."""
    if ELSEWHERE.match(source):
        return []
    try:
        return ast.parse(MAGIC.sub("", source)).body
    except SyntaxError:
        return []


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds in the notebook."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    return set(_stored(statement))


def _stored(node: ast.AST) -> Iterator[str]:
    """Yield the names that are stored in a statement, but for those inside a function or a comprehension, which stay there."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield child.name
        elif not isinstance(child, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            yield from _stored(child)


def cells_of(path: Path) -> list[tuple[str, str]]:
    """Return the section and the code of each code cell of a notebook. OSError or ValueError if it cannot be read."""
    section, found = "the beginning", []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            found.append((section, source))
        elif headings := HEADING.findall(source):
            section = headings[-1]
    return found


def after_cell(result: Any) -> None:
    """Print the sentence if a cell has ended by an error that it is for. `result`: IPython's ExecutionResult."""
    error = result.error_in_exec
    if error is not None and SLOW in str(error):
        print(TOO_SLOW)
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError) and error.name:
        try:
            sentence = told(error.name, cells_of(Path(os.environ["JPY_SESSION_NAME"])))
        except (KeyError, OSError, ValueError):  # no notebook, or one that was renamed
            sentence = ""
        if sentence := sentence or tool(error.name):
            print(sentence)


def shell() -> Any:
    """Return IPython's shell of this process, None where there is none."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def source_of(answer: Any) -> str:
    """Return the cell of an answer that is being checked: the one that runs now, or one that would write the file which the
    answer names; "" where there is none."""
    if isinstance(answer, str) and answer.endswith(".py"):
        with suppress(OSError, ValueError):
            return f"%%writefile {answer}\n{Path(answer).read_text(encoding='utf-8')}"[:LETTERS]
    return ran()[-1][:LETTERS]


def ran() -> list[str]:
    """Return the cells that have run, the one that runs now last; one empty cell where there is no notebook."""
    history = getattr(shell(), "history_manager", None)
    return list(history.input_hist_raw) if history is not None else [""]


def tool(name: str) -> str:
    """Return a sentence that says how to get a tool of the labs, such as `progress`; "" if it is none."""
    known = name in sys.modules["minikafka.lab"].__all__
    return f"`{name}` is a tool of the labs. Fetch it first: from minikafka.lab import {name}" if known else ""
