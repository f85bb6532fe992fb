"""One client under test as a thread: it repeats the same small step, whatever its outcome is.

Owns: the thread, what the client's library raised, and the moment of its last sign of life.
Invariants: I-CHAOS-1 an error of a library ends neither the campaign nor the client: it is counted, and the client is
              made again. Operations without an answer stay unknown in the history.
            A client made again is a new process of the history: nothing is promised across its death.
"""

from __future__ import annotations

import copy
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

from minikafka.proof.history import History

PAUSE_AFTER_ERROR = 0.5  # seconds


class Worker(ABC):
    """A client under test. Subclasses open it, take a step with it and close it. `name` is its process in the history."""

    def __init__(self, name: str, bootstrap: str, history: History) -> None:
        self.title, self.bootstrap, self.history = name, bootstrap, history
        self.errors: Counter[str] = Counter()
        self.lives = 0
        self._prepare()

    @property
    def name(self) -> str:
        return self.title if self.lives <= 1 else f"{self.title}#{self.lives}"

    @abstractmethod
    def open(self) -> None:
        """Make the client."""

    @abstractmethod
    def step(self) -> None:
        """Take a step: something that takes less than a second if all is well."""

    @abstractmethod
    def close(self) -> None:
        """End the client; records that it still has to send get their time."""

    def successor(self) -> Worker:
        """Return another worker in its place; the old thread may hang on, and is fenced or ignored."""
        other = copy.copy(self)
        other.lives = 100 * (self.lives // 100 + 1)
        other.errors = Counter()
        other._prepare()
        return other

    def _prepare(self) -> None:
        self.alive_at = time.monotonic()
        self._over, self._renew = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.title, daemon=True)

    # --- the thread -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def renew(self) -> None:
        """Close the client and make another one, as if its program were started again."""
        self._renew.set()

    def finish(self) -> None:
        """Ask it to end; `wait` waits."""
        self._over.set()

    def wait(self, timeout: float) -> bool:
        """Return whether it ends within that time."""
        self._thread.join(max(0.0, timeout))
        return not self._thread.is_alive()

    def where(self) -> str:
        """Return the stack of its thread."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "ended"

    def nap(self, seconds: float) -> None:
        """Wait, unless the end comes first."""
        self._over.wait(seconds)

    def _run(self) -> None:
        while not self._over.is_set():
            self.lives += 1
            self._renew.clear()
            if self._guarded(self.open):
                while not self._over.is_set() and not self._renew.is_set():
                    self.alive_at = time.monotonic()
                    if not self._guarded(self.step):
                        break
            self._guarded(self.close)

    def _guarded(self, act: Any) -> bool:
        try:
            act()
        except Exception as error:  # any error of any library is counted, and shown in the report
            self.errors[f"{type(error).__name__} in {act.__name__}"] += 1
            self.history.record(self.name, "ok", "error", where=act.__name__, error=repr(error)[:200])
            self.nap(PAUSE_AFTER_ERROR)
            return False
        return True


class ThroughputThrottler:
    """A pace of `rate` steps a second, without catching up on missed ones."""

    def __init__(self, rate: float) -> None:
        self.interval, self.next = 1 / rate, time.monotonic()

    def wait(self, worker: Worker) -> None:
        self.next = max(self.next + self.interval, time.monotonic() - self.interval)
        worker.nap(max(0.0, self.next - time.monotonic()))
