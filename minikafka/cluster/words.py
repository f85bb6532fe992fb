"""A condition in words, for the message of a wait that failed: `<lambda>` helps no reader.

Owns: nothing.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any


def in_words(condition: Callable[[], Any]) -> str:
    """Return the docstring of a condition; else its name, or what a lambda compares, as its author wrote it."""
    if condition.__doc__:
        return condition.__doc__.strip()
    name = getattr(condition, "__name__", type(condition).__name__)
    return f"`{_source(condition)}`" if name == "<lambda>" else f"`{name}()`"


def _source(condition: Callable[[], Any]) -> str:
    """Return the text behind the colon of a lambda, "the condition" where its source cannot be read."""
    try:
        lines, _ = inspect.findsource(condition)
        source = "".join(lines)
        code = condition.__code__  # type: ignore[attr-defined]
        line, _, column, _ = next(place for place in code.co_positions() if place[3])
        found = [node.body for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)
                 and (node.body.lineno, node.body.col_offset) <= (line, column)
                 <= (node.body.end_lineno, node.body.end_col_offset)]
        return " ".join((ast.get_source_segment(source, found[-1]) or "the condition").split())
    except (OSError, TypeError, ValueError, SyntaxError, AttributeError, IndexError, StopIteration):
        return "the condition"
