"""The widget: what travels between kernel and page, and nothing else.

To the page (traits): `svg` the picture, `state` what the controls need to know, `marks` [[t, kind, level, text], ...],
`said` the line below the picture, `fixed` what never changes. From the page (custom messages): {"do": ..., ...}; the words
are those of cursor.py ("go", "step", ...) and "order", "hello", "ack", "visible".
"""
from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

HERE = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    """One live picture. The page draws nothing itself: it swaps in the SVG that Python drew."""

    _esm = HERE / "view.js"
    _css = HERE / "view.css"

    svg = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Dict({}).tag(sync=True)
    marks = traitlets.List([]).tag(sync=True)
    said = traitlets.Dict({}).tag(sync=True)
    fixed = traitlets.Dict({}).tag(sync=True)
