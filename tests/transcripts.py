"""Transcripts: what happens, as text that people read, and as a file that a test compares with what happens now.

    pytest tests/broker tests/proof/stories -k transcript --rewrite      write what happens now

Commit a rewritten transcript only if you understand every line that changed.

Those of the pure cores (raft, groups, transactions) are a sequence of blocks: one command a line, then `----`, then what
happened; an empty line ends a block, and lines that start with # explain.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar


class Told(Protocol):
    """A world that says in `lines` what happened."""

    lines: list[str]


W = TypeVar("W", bound=Told)


def scenarios(folder: str) -> list[Path]:
    """Return the transcripts in tests/stories/`folder`; fail if there are none: a test of each would pass on nothing."""
    found = sorted((Path(__file__).parent / "stories" / folder).glob("*.txt"))
    assert found, f"no transcript in tests/stories/{folder}"
    return found


def compare(path: Path, now: str, rewrite: bool) -> None:
    """Fail if the file says anything else, or is missing; with `rewrite` make it say what happens now."""
    if rewrite:
        path.write_text(now)
    assert path.exists(), f"{path.name} is missing: write it with --rewrite"
    assert now == path.read_text()


def replay(text: str, world: W, do: Callable[[W, str], W | None]) -> str:
    """The transcript as it is today: comments and commands of `text`, and what they lead to. `do` carries out one
    command, and returns the world to go on with if that is another."""
    out, commands, in_result = [], [], False
    for line in text.splitlines():
        if line == "----":
            in_result = True
            out.append(line)
            for command in commands:
                world = do(world, command) or world
            out += world.lines
            world.lines.clear()
            commands = []
        elif not line.strip() or line.startswith("#"):
            in_result = in_result and bool(line.strip())
            if not in_result:
                out.append(line)
        elif not in_result:
            out.append(line)
            commands.append(line)
    return "\n".join(out) + "\n"
