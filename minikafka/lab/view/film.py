"""A run and how it is drawn: the one door between a view and the picture.

Owns: the lock under which the run grows and is asked; the painter, the notebook's cells and the page come from different
threads.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Frame
from minikafka.lab.picture.signs import look

_numbers = itertools.count(1)


class Film:
    """Frames of a run, and their pictures. `seen`: what its readers see of a frame (lab/picture/signs.py)."""

    def __init__(self, run: RecordedRun, theme: str = "auto", size: str = "page", seen: Callable[[Frame], Frame] = look) -> None:
        self.run, self.theme, self.size, self._seen = run, theme, size, seen
        self._name = f"mkview{next(_numbers)}"  # the picture's id on the page stays while it is drawn again and again
        self.lock = threading.RLock()

    def refresh(self) -> bool:
        """Take what is new of the trace; true if there was something."""
        with self.lock:
            return bool(self.run.refresh())

    def frame(self, t: float | None = None, tp: str | None = None) -> Frame:
        """Return the frame at `t` seconds (None: now)."""
        with self.lock:
            return self.run.at(t, tp)

    def svg(self, frame: Frame, pixels: float | None = None, lines: float | None = None) -> str:
        """Return the picture; `pixels`: how wide its place is, if that is known; `lines`: how high, if it must not be
        higher."""
        size = self.size if lines is None else "dock"
        return to_svg(self._seen(frame), theme=self.theme, size=size, name=self._name, pixels=pixels, lines=lines)

    def text(self, frame: Frame) -> str:
        from minikafka.lab.picture.draw.text import to_text
        return to_text(self._seen(frame))

    def save(self, path: str | Path) -> Path:
        with self.lock:
            self.run.refresh()
            self.run.save(path)
        return Path(path)
