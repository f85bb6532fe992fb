"""The time of a cluster of real processes: the machine's own. Simulated engines offer the same four calls.

Owns the timers of `at`.

Invariants
    I-CLOCK-1  An error in a fault set by `at` is not lost: the next call on the cluster raises it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .errors import NotReady
from .words import in_words

POLL = 0.05  # seconds between two calls of the condition in `wait`
LOOK = 0.25  # how long a death may stay unseen while `sleep` waits


class Clock:
    """now, sleep, wait, at; meanwhile they call `check`, which raises the cluster's errors."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._started = time.monotonic()
        self._timers: list[threading.Timer] = []
        self._errors: list[BaseException] = []

    def now(self) -> float:
        return time.monotonic() - self._started

    def sleep(self, seconds: float) -> None:
        until = self.now() + seconds
        self._check()
        while (left := until - self.now()) > 0:
            time.sleep(min(left, LOOK))
            self._check()

    def wait(self, condition: Callable[[], Any], timeout: float) -> Any:
        until = self.now() + timeout
        while True:
            self._check()
            if answer := condition():
                return answer
            if self.now() >= until:
                raise NotReady(f"waited {timeout:g} s in vain for: {in_words(condition)}; the last answer was {answer!r}")
            time.sleep(POLL)

    def at(self, when: float, fault: Callable[[], Any]) -> None:
        self._check()
        timer = threading.Timer(max(0.0, when - self.now()), self._run, [fault])
        timer.daemon = True
        self._timers = [t for t in self._timers if t.is_alive()] + [timer]
        timer.start()

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def raise_error(self) -> None:
        if self._errors:
            raise self._errors.pop(0)

    def _run(self, fault: Callable[[], Any]) -> None:
        try:
            fault()
        except BaseException as error:
            self._errors.append(error)

