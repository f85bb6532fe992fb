"""What `check` does about a function that does not end, or that prints without an end.

    with limited(30), short_output():    a loop without an end is stopped, thousands of printed lines are counted

Owns: the time limit of a check, and how much a student's function may print.

Invariants
  I-LAB-6  a check comes to an end: a function that runs for longer than the limit is stopped, and the kernel goes on
"""
from __future__ import annotations

import contextlib
import io
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from minikafka.lab.picture.sentences.phrases import counted

OURS = str(Path(__file__).resolve().parents[1])     # no code below it is a student's
LIMIT = 30.0          # seconds for a check
SLOW = 180.0          # of a lab whose checks have a slow beginning (`prepare`, a Spark session)
AGAIN = 0.2           # seconds after which a function that swallowed the stop is stopped again
PRINTED = 4000        # characters of what a function prints


class TooLong(BaseException):
    """An error raised in a function that ran for too long. Not an Exception: a student's `except Exception` must not
    swallow it."""


def seconds(ask: Callable[..., Any]) -> float:
    """Return the time limit of a check."""
    return SLOW if hasattr(sys.modules.get(ask.__module__), "prepare") else LIMIT


@contextlib.contextmanager
def limited(limit: float) -> Iterator[None]:
    """Raise TooLong in the body after `limit` seconds. Without a limit outside of the main thread, which alone gets signals.

    Python in a browser has no signals; there the loops of the student's function look at the clock.

    A bare `except:` swallows it; so it is raised once more at the next line that the student's function runs, which stands in
    that `except:` and so outside of its `try`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not hasattr(signal, "setitimer"):
        with _loops_limited(limit):
            yield
        return

    outside, traced, rung = sys._getframe(2), sys.gettrace(), False

    def ring(_: int, frame: FrameType | None) -> None:
        nonlocal rung
        again, rung = rung, True
        while frame is not None and frame is not outside:
            if not frame.f_code.co_filename.startswith(OURS):
                again, frame.f_trace = False, _raise
                sys.settrace(lambda *_: None)       # calls are not traced, but those frames are
            frame = frame.f_back
        if not again:       # else the function is left
            raise TooLong
    before = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, limit, AGAIN)
    try:
        yield
    finally:
        sys.settrace(traced)
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _loops_limited(limit: float) -> Iterator[None]:
    """Raise TooLong where a loop of code that is not ours begins once more, `limit` seconds from now or later."""
    until, monitoring = time.monotonic() + limit, sys.monitoring  # type: ignore[attr-defined]
    tool, jump = monitoring.DEBUGGER_ID, monitoring.events.JUMP

    def look(code: CodeType, *_: int) -> Any:
        if code.co_filename.startswith((OURS, sys.prefix)):
            return monitoring.DISABLE
        if time.monotonic() > until:
            raise TooLong
        return None

    if monitoring.get_tool(tool) is not None:  # a limit within a limit: the outer one holds
        yield
        return
    monitoring.use_tool_id(tool, "limit")
    monitoring.register_callback(tool, jump, look)
    monitoring.set_events(tool, jump)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


def _raise(frame: FrameType, event: str, _: Any) -> Any:
    """Trace a frame of the student's: raise at its next line. Python ends the tracing when that is done."""
    if event == "line":
        raise TooLong
    return _raise


class _Short(io.TextIOBase):
    """Passes the first characters on and counts the lines of the rest."""

    def __init__(self, out: Any) -> None:
        self.out, self.room, self.more = out, PRINTED, 0

    def write(self, text: str) -> int:
        if self.room:
            self.out.write(text[:self.room])
            self.more += text[self.room:].count("\n")
            self.room = max(0, self.room - len(text))
        else:
            self.more += text.count("\n")
        return len(text)

    def flush(self) -> None:
        self.out.flush()


@contextlib.contextmanager
def short_output() -> Iterator[None]:
    """Let the body print PRINTED characters, and say afterwards how many lines were left out."""
    short = _Short(sys.stdout)
    try:
        with contextlib.redirect_stdout(short):
            yield
    finally:
        if short.more:
            short.out.write(f"\n… and {counted(short.more, 'more line')}, not shown: check calls your function many times\n")
