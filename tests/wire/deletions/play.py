"""How a cell is played: its work begins, something is deleted, the work goes on; what is left is recorded before and after."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.wire.deletions.scene import Scene
from tests.wire.deletions.work import WORKS

CALM = 0.6  # seconds for which nothing changes when a transcript is written


class Begun(NamedTuple):
    """A work that is open."""

    work: str
    scene: Scene
    steps: Iterator[None]

    def go_on(self) -> str:
        """Look at what is left, let the work go on, look again; return the block of the transcript."""
        see(self.scene)
        assert next(self.steps, None) is None
        see(self.scene)
        return "\n".join([self.work, *self.scene.lines]) + "\n"


def begin(cluster: Any, name: str, closing: ExitStack, touches: frozenset[str], path: Path, rewrite: bool,
          leader: int = 1) -> Iterator[Begun]:
    """Begin one work after the other, of those that hold something of `touches`."""
    known = {} if rewrite else blocks(path.read_text())
    for number, (work, (play, holds)) in enumerate(WORKS.items()):
        if holds & touches:
            scene = Scene(cluster, f"{name}-{number}", closing, known.get(work, []), leader)
            steps = play(scene)
            next(steps)
            yield Begun(work, scene, steps)


def blocks(text: str) -> dict[str, list[str]]:
    """Return the lines of each work of a transcript."""
    found = [block.splitlines() for block in text.split("\n\n")]
    return {lines[0]: lines[1:] for lines in found[1:]}


def see(scene: Scene) -> None:
    """Add what is left, as soon as it is what is expected (it takes a moment until each broker has the change); without an
    expectation, what is left when nothing has changed for a while."""
    wanted = []
    for line in scene.expected[len(scene.lines):]:
        if not line.startswith("    "):
            break
        wanted.append(line)
    deadline, calm, last = time.monotonic() + (60 if wanted else 30), time.monotonic(), scene.left()
    while last != wanted and time.monotonic() < deadline and (wanted or time.monotonic() < calm + CALM):
        time.sleep(0.05)
        now = scene.left()
        calm, last = (calm if now == last else time.monotonic()), now
    scene.lines += last
