"""The widget: what travels between kernel and page, and nothing else.

To the page (traits): `svg` the picture, `state` what the controls need to know, `marks` [[t, kind, level, text], ...],
`said` the line below the picture, `fixed` what never changes (the widget's own id among it). From the page (custom messages):
{"do": ..., ...}; the words are those of cursor.py ("go", "step", ...) and "order", "hello", "ack", "visible". A kernel inside of
the page takes them only between two cells, so there (`fixed.channel`) they come by a BroadcastChannel named as the widget's id.

The page's half is one module in three files: motion.js, dock.js, and view.js, which uses both.
"""
from __future__ import annotations

import json
from collections.abc import Callable
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


def listen(widget: Any, take: Callable[[dict[str, Any]], None]) -> None:
    """Have `take` called with each message of the page, also while a cell runs."""
    if widget.fixed.get("channel"):
        from js import BroadcastChannel
        from pyodide.ffi import create_proxy
        widget.channel = BroadcastChannel.new(widget.fixed["id"])
        widget.channel.onmessage = create_proxy(lambda event: take(json.loads(event.data)))
    else:
        widget.on_msg(lambda _, message, __: take(message))
        listen_beside_cells(widget)


def listen_beside_cells(widget: Any) -> None:
    """Have the page's messages to a widget handled in the thread that the page asked for, not in the one that runs cells.

    A page sends a widget's messages to a subshell, a thread of the kernel beside that of the cells. But ipykernel
    prefers the thread that last sent something (BaseComm._reply_subshell_for), and a painter's counts as that of the
    cells: then Kill would wait for the cell that one wants to disturb.
    """
    if hasattr(widget.comm, "_reply_subshell_for"):
        widget.comm._reply_subshell_for = lambda data, asked: asked
