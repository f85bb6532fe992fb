"""Open files: any number of files behind a bounded number of descriptors.

A log has three files a segment for as long as the segment exists; the machine gives a process a few thousand descriptors, for
files and connections together. So a file is opened when it is used, stays open while it is used often, and gives its
descriptor back when other files need one. The code that uses the file does not notice.

Owns: which files have a descriptor now, and in what order they were used.
Invariants: I-OPEN-1 there are never more than `limit` descriptors, apart from those in use at this moment (one a thread).
            A file in use keeps its descriptor.
            I-OPEN-3 what was written is fsynced before a descriptor is given back: the kernel reports a failed write-back
              only to descriptors that were open then. Files without unsynced bytes give theirs back first, so this is rare;
              an error of the fsync is raised at the file's next use.
            I-OPEN-4 when the machine has no descriptor left (EMFILE, ENFILE), idle files give theirs back first; then the
              reserve is used, one descriptor for each thread. So a log never fails because connections took all descriptors.
Apache Kafka keeps the files of all segments open; its guide recommends 100,000 descriptors.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from itertools import islice
from typing import Protocol, TypeVar

T = TypeVar("T")
LOOK = 32  # the number of least recently used files that are searched for one that needs no fsync
RESERVE = 5  # descriptors: for the loop's thread, those of blocking calls, and one that is being renamed or listed
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class Pooled(Protocol):
    """A file that can give its descriptor back. `users` and `held` are set here, the other attributes by the file."""

    users: int
    held: bool
    unsynced: bool
    closed: bool
    gone: bool

    def acquire(self) -> None:
        """Open the file; OSError."""

    def give_back(self) -> None:
        """Sync the file if it is `unsynced`, keep an error for the next use, and close the descriptor."""


class OpenFiles:
    """The files that are open now. `lock` is held around every change, because an fsync runs in a thread of its own."""

    def __init__(self, limit: int, lock: AbstractContextManager[object],
                 reserve: Callable[[], Callable[[], None]] | None = None) -> None:
        self.limit = limit
        self.lock = lock
        self._take_reserve = reserve  # takes one descriptor; what it returns gives it back
        self._reserve: list[Callable[[], None]] = []
        self._fill_reserve()
        self.count = 0  # descriptors
        self._idle: dict[Pooled, None] = {}  # have one and are not in use, the one used longest ago first

    def take(self, file: Pooled) -> None:
        """Give the file a descriptor until `put` is called."""
        with self.lock:
            if file.held:
                self._idle.pop(file, None)
            else:
                while self.count >= self.limit and self._shrink():
                    pass
                self.opened(file.acquire)
                file.held = True
                self.count += 1
            file.users += 1

    def put(self, file: Pooled) -> None:
        """End a use of a file. A file that was closed or removed meanwhile gives its descriptor back at once."""
        with self.lock:
            file.users -= 1
            if file.users == 0:
                self._idle[file] = None
                if file.closed or file.gone:
                    self._release(file)
                    self._fill_reserve()

    def drop(self, file: Pooled) -> None:
        """Close the descriptor of a file that is gone, once nobody uses it."""
        with self.lock:
            if file in self._idle:
                self._release(file)
                self._fill_reserve()

    def opened(self, open_one: Callable[[], T]) -> T:
        """Call a function that opens something, again if idle files had to give back descriptors for it (I-OPEN-4)."""
        while True:
            try:
                return open_one()
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS or not (self._shrink() or self._spend_reserve()):
                    raise

    def _fill_reserve(self) -> None:
        """Take what is missing of the reserve, as far as the machine has it."""
        with suppress(OSError):
            while self._take_reserve is not None and len(self._reserve) < RESERVE:
                self._reserve.append(self._take_reserve())

    def _spend_reserve(self) -> bool:
        """Give one descriptor of the reserve back to the machine; False if there is none."""
        with self.lock:
            if not self._reserve:
                return False
            self._reserve.pop()()
            return True

    def _shrink(self) -> bool:
        """Take one descriptor back; False if all are in use."""
        with self.lock:
            oldest = list(islice(self._idle, LOOK))
            if not oldest:
                return False
            self._release(next((file for file in oldest if not file.unsynced), oldest[0]))
            return True

    def _release(self, file: Pooled) -> None:
        del self._idle[file]
        file.held = False
        self.count -= 1
        file.give_back()
