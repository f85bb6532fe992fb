"""What a cell shows while it works on for long: at what, and for how long already.

Nobody has to ask for it: from the third second on a cell shows the line of its own that is running (`install`). Where there is
something better to say, a block says it:

    with waiting("Spark starts (10 to 60 seconds)"):
        ...

Owns: one line below the running cell, gone when the cell or the block is over. Elsewhere than in a notebook: nothing.
Invariants
  I-WAIT-1  what is shown is HTML alone, and empty at the end: what a cell puts out is the same, however long it has waited
"""
from __future__ import annotations

import itertools
import linecache
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from minikafka.lab.background import Background
from minikafka.lab.names import shell
from minikafka.lab.verdict import AS_IT_IS

SOON, LONG, EVERY = 2.0, 3.0, 1.0  # seconds until a block, and a cell, is shown; and between two figures
LOOK = 5.0  # seconds between two looks at a cluster that a cell waits for
WAITS = "waits for"
NOTHING = {"text/html": ""}
SHOWN = 80  # letters of a line of the cell
_numbers = itertools.count(1)
_one = threading.Lock()
_cell: _Teller | None = None


@contextmanager
def waiting(what: str | Callable[[], str]) -> Iterator[None]:
    """Show `what` (asked anew each second, if it is a function) and the seconds below the running cell, from SOON on, until the
    block ends, however it ends.

    A wait within a wait shows nothing of its own.
    """
    if not in_a_notebook() or not _one.acquire(blocking=False):
        yield
        return
    teller = _Teller(SOON, what if callable(what) else lambda: what)
    try:
        yield
    finally:
        teller.end()
        _one.release()


def before_cell(_: Any) -> None:
    """Show from LONG on the line at which the cell is that begins now."""
    global _cell
    if in_a_notebook():
        after_cell(None)
        _cell = _Teller(LONG, _RunningLine().now)


def after_cell(_: Any) -> None:
    """Show nothing any more of the cell that ends now."""
    global _cell
    if _cell is not None:
        _cell.end()
        _cell = None


class _Teller:
    """A job that shows what `what()` returns from `after` seconds on, every second anew, and nothing at its end."""

    def __init__(self, after: float, what: Callable[[], str]) -> None:
        self._what, self._began = what, time.monotonic()
        self._name, self._shown = f"waiting-{os.getpid()}-{next(_numbers)}", False
        self._job = Background("waiting", self._tell)
        self._job.wake(after)

    def end(self) -> None:
        """Show nothing any more; returns when that is so."""
        self._job.stop()
        if self._shown:
            self._put(NOTHING)

    def _tell(self) -> float:
        if (what := self._what()) or self._shown:
            self._put(line(what, time.monotonic() - self._began) if what else NOTHING)
        return EVERY

    def _put(self, bundle: dict[str, str]) -> None:
        from IPython.display import display
        display(bundle, raw=True, display_id=self._name, update=self._shown)
        self._shown = True


class _RunningLine:
    """The line of a cell that is running, and what it waits for."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._state, self._looked = "", 0.0

    def now(self) -> str:
        """Return it in words, with the picture's sentence if a cluster is not well; "" while a block says something better."""
        from minikafka.cluster.words import in_words
        if _one.locked():
            return ""
        said, own, frame = "", getattr(shell(), "user_ns", {}), sys._current_frames().get(self._thread)
        while frame is not None:
            if frame.f_globals is own:
                said = said if said.startswith(WAITS) else linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            elif frame.f_code.co_name == "wait" and (condition := frame.f_locals.get("condition")) is not None:
                said = f"{WAITS} {in_words(condition)}" if condition.__doc__ or condition.__globals__ is own else ""
            frame = frame.f_back
        said = said if len(said) <= SHOWN else said[:SHOWN - 1] + "…"
        return f"{said}. {state}" if (state := self._held_up()) else said

    def _held_up(self) -> str:
        """Return the picture's sentence, which takes a moment, once every LOOK seconds."""
        if time.monotonic() > self._looked + LOOK:
            from minikafka.lab.trouble import held_up
            self._state, self._looked = held_up(), time.monotonic()
        return self._state


def line(what: str, seconds: float) -> dict[str, str]:
    """Return the line as a mime bundle."""
    return {"text/html": f"<small {AS_IT_IS}>{seconds:.0f} s so far: {escape(what)}</small>"}


def in_a_notebook() -> bool:
    """Return whether a kernel runs this: there a reader sees the cell."""
    return hasattr(shell(), "kernel")
