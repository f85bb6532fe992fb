"""The base of all stories: the lines of the transcript, in the order in which things happened.

A story has the steps, and under each step what followed. It has no times, because they change with every change
of the code; the order matters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


class Teller:
    """The base of the stories: `Story` of whole clusters, `QuorumStory` of the controllers alone."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def step(self, text: str) -> None:
        """Write the next thing that happens."""
        self.lines += ["", f"> {text}"]

    def note(self, text: str) -> None:
        """Write one line of what followed from it."""
        self.lines.append(f"  {text}")

    def broke_off(self, error: BaseException) -> None:
        """Write that the story broke off: with a rule off it need not come to its end."""
        self.lines += ["", f"The story breaks off: {type(error).__name__}: {error}"]

    def run(self, tell: Callable[[Any], Awaitable[None]]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Free the world, at the end."""

    def violations(self) -> tuple[str, ...]:
        """Return the ids of the invariants that fell, then the names of the checker's verdicts that are invalid."""
        raise NotImplementedError
