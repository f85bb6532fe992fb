"""Where a view is shown: a page that runs widgets, a place for still pictures, or nowhere.

A page tells in every request which cell it runs (`cellId`); a program that executes notebooks (nbclient, nbconvert, nbval)
does not, and there only a still picture makes sense: it is what remains in the file.

Where the environment says MINIKAFKA_VIEW=film, a still picture of a run carries the run itself, and another program can
play it (`make site` does).

Owns: the display ids. Every picture is shown under one, so that it can be replaced when the view has stopped.
"""
from __future__ import annotations

import itertools
import os
import re
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

from minikafka.lab.picture.draw.element import image
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.draw.theme import STILL_WIDTH
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame

PAGE, STILL, NOWHERE = "page", "still", "nowhere"
LAST = "The last picture of this run. Run the cell again for a live one."  # view.js has the same
WIDGET = "application/vnd.jupyter.widget-view+json"
PANEL = "minikafka_panel"  # metadata: the id of a widget that is not saved: what else the bundle has is (view.js)
FILM = "film"
RUN = "application/vnd.recorded-run+json"  # {"run": the packed run in base64, "tp": partition, "t": seconds}
_numbers = itertools.count(1)


def shell() -> Any:
    """Return IPython's shell of this process, or None."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def kind() -> str:
    """Return PAGE, STILL or NOWHERE; MINIKAFKA_VIEW=still|page overrules it (for a page that does not name its cells)."""
    asked, running = os.environ.get("MINIKAFKA_VIEW"), shell()
    if running is None:
        return NOWHERE
    if asked in (PAGE, STILL) and hasattr(running, "kernel"):
        return asked
    return PAGE if cell() is not None else STILL


def cell() -> str | None:
    """Return the id of the cell that runs, as the page names it; None outside of a page."""
    running = shell()
    if running is None or not hasattr(running, "kernel"):
        return None
    return (running.kernel.get_parent() or {}).get("metadata", {}).get("cellId")


def lab() -> int | None:
    """Return the number of the lab whose notebook runs, as Jupyter names it; None elsewhere."""
    found = re.match(r"(\d\d)-", Path(os.environ.get("JPY_SESSION_NAME", "")).name)
    return int(found[1]) if found else None


def count() -> int | None:
    """Return the number of the execution under way, or None; only the main thread executes cells."""
    running = shell()
    return running.execution_count if running is not None and threading.current_thread() is threading.main_thread() else None


def still(svg: str, text: str, note: str = "") -> dict[str, Any]:
    """Return a still picture as a mime bundle (view.js makes the same of a live one when the notebook is saved)."""
    return {"text/html": image(svg) + (f"<small>{note}</small>" if note else ""), "text/plain": text}


def show(bundle: dict[str, Any], metadata: dict[str, Any] | None = None) -> str:
    """Display a bundle below the running cell; returns its display id."""
    from IPython.display import display
    name = f"minikafka-view-{os.getpid()}-{next(_numbers)}"
    display(bundle, metadata=metadata or {}, raw=True, display_id=name)
    return name


def replace(name: str, bundle: dict[str, Any]) -> None:
    """Show something else where `show` displayed."""
    from IPython.display import update_display
    update_display(bundle, raw=True, display_id=name)


def recorded(run: RecordedRun, frame: Frame) -> dict[str, Any]:
    """Return the run of which a frame is shown, for the mime bundle; an empty bundle where the page does not play runs."""
    if os.environ.get("MINIKAFKA_VIEW") != FILM:
        return {}
    tp = f"{frame.chosen.topic}-{frame.chosen.index}" if frame.chosen is not None else None
    return {RUN: {"run": b64encode(run.packed()).decode(), "tp": tp, "t": frame.t}}


class Still:
    """A picture that stays as it is: what `view.snapshot()` returns for a later cell to display."""

    def __init__(self, svg: str, text: str, film: dict[str, Any] | None = None) -> None:
        self.svg, self.text, self._film = svg, text, film or {}

    @classmethod
    def of(cls, run: RecordedRun, t: float | None = None, tp: str | None = None) -> Still:
        """Return the picture of a run at `t` seconds (None: its end), with the partition `tp` in full."""
        frame = run.at(t, tp)
        return cls(to_svg(frame, pixels=STILL_WIDTH), to_text(frame), recorded(run, frame))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**still(self.svg, self.text), **self._film}

    def __repr__(self) -> str:
        return self.text
