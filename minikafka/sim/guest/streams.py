"""The standard streams of a program inside a simulated world.

Owns: the lines that it was given and has not read, and the text that it has written.
Invariants: a read waits for a whole line, as from a terminal or from a pipe that is written by lines.
What real pipes do differently: nothing is held back in a buffer here, and no writer waits for a reader.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from minikafka.sim.guest.threads import Threads


class Input(io.TextIOBase):
    """Standard input: `give` from outside, `readline`, `read` or a loop over lines inside."""

    def __init__(self, threads: Threads) -> None:
        self._threads, self._lines, self._waiters = threads, list[str](), list[Any]()
        self._ended = False

    def give(self, lines: Iterable[str]) -> None:
        self._lines += [f"{line}\n" for line in lines]
        self._threads.wake(self._waiters)

    def end(self) -> None:
        self._ended = True
        self._threads.wake(self._waiters)

    def readable(self) -> bool:
        return True

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        self._threads.block(lambda: self._lines or self._ended, self._waiters)
        return self._lines.pop(0) if self._lines else ""

    def read(self, size: int | None = -1) -> str:
        return "".join(iter(self.readline, ""))


class Output(io.TextIOBase):
    """Standard output, or errors; `text` holds all of it."""

    def __init__(self, threads: Threads) -> None:
        self._threads, self.text = threads, ""

    @property
    def lines(self) -> list[str]:
        """Return the whole lines so far, without their ends."""
        return self.text.split("\n")[:-1]

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._threads.current is not None:
            self._threads.monotonic()  # so that a program which prints for ever lets the others go on (I-GUEST-1)
        self.text += text
        return len(text)
