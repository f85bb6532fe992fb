"""What a cell shows while it waits for something that takes long: for what, and for how long already.

    with waiting("Spark starts (10 to 60 seconds)"):
        ...

Owns: one line below the cell, gone when the wait is over. Elsewhere than in a notebook: nothing.
Invariants
  I-WAIT-1  what is shown is HTML alone, and empty at the end: what a cell puts out is the same, however long it has waited
"""
from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from minikafka.lab.verdict import AS_IT_IS

SOON, EVERY = 2.0, 1.0  # seconds until something is shown, and between two figures
_numbers = itertools.count(1)
_one = threading.Lock()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show `what` and the seconds below the running cell, from SOON on, until the block ends, however it ends.

    A wait within a wait shows nothing of its own.
    """
    if not in_a_notebook() or not _one.acquire(blocking=False):
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, over, time.monotonic()), name="waiting", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        _one.release()


def _tell(what: str, over: threading.Event, began: float) -> None:
    """Show the line every second until `over`, then show nothing in its place."""
    from IPython.display import display, update_display
    if over.wait(SOON):
        return
    name, put = f"waiting-{os.getpid()}-{next(_numbers)}", display
    while not over.is_set():
        put(line(what, time.monotonic() - began), raw=True, display_id=name)
        put = update_display
        over.wait(EVERY)
    update_display({"text/html": ""}, raw=True, display_id=name)


def line(what: str, seconds: float) -> dict[str, str]:
    """Return the line as a mime bundle."""
    return {"text/html": f"<small {AS_IT_IS}>{escape(what)}: {seconds:.0f} s so far</small>"}


def in_a_notebook() -> bool:
    """Return whether a kernel runs this: there somebody looks at a cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")
