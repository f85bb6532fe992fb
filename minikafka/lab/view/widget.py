"""The widget: what travels between kernel and page, and nothing else.

To the page (traits): `svg` the picture, `state` what the controls need to know, `marks` [[t, kind, level, text], ...],
`said` the line below the picture, `fixed` what never changes (the widget's own id among it). From the page (custom messages):
{"do": ..., ...}; the words are those of cursor.py ("go", "step", ...) and "order", "hello", "ack", "visible".

The page's half is one module in three files: motion.js, dock.js, and view.js, which uses both.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

HERE = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    """One live picture. The page draws nothing itself: it swaps in the SVG that Python drew."""

    _esm = "\n".join((HERE / name).read_text() for name in ("motion.js", "dock.js", "view.js"))
    _css = HERE / "view.css"

    svg = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Dict({}).tag(sync=True)
    marks = traitlets.List([]).tag(sync=True)
    said = traitlets.Dict({}).tag(sync=True)
    fixed = traitlets.Dict({}).tag(sync=True)


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a page's message with None for null: Python in a browser has a value of its own for that."""
    return {name: None if type(value).__name__ == "JsNull" else value for name, value in message.items()}


def listen_beside_cells(widget: Any) -> None:
    """Have the page's messages to a widget handled in the thread that the page asked for, not in the one that runs cells.

    A page sends a widget's messages to a subshell, a thread of the kernel beside that of the cells. But ipykernel
    prefers the thread that last sent something (BaseComm._reply_subshell_for), and a painter's counts as that of the
    cells: then Kill would wait for the cell that one wants to disturb.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = lambda data, asked: asked
