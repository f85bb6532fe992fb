"""An exam from a seed: a sheet of questions and its key. The same seed gives the same figures, another year gives others."""
from __future__ import annotations

from random import Random

from tools.teach.kinds import KINDS, Question

LETTERS = "abcdef"


def drawn(seed: str, each: int) -> list[Question]:
    """Return `each` questions of each kind."""
    return [kind.draw(Random(f"{seed}/{name}/{number}")) for number in range(each) for name, kind in KINDS.items()]


def questions(seed: str, each: int) -> str:
    """Return the sheet for students."""
    parts = [f"# Exam {seed}", "One option of each question is right."]
    for number, one in enumerate(drawn(seed, each), 1):
        parts += [f"## Question {number}", "\n".join(f"* {line}" for line in one.state), f"**{one.ask}**",
                  "\n".join(f"* {letter}) {option}" for letter, option in zip(LETTERS, one.options))]
    return "\n\n".join(parts) + "\n"


def key(seed: str, each: int) -> str:
    """Return the key."""
    rows = [f"| {number} | {LETTERS[one.right]} | {one.options[one.right]} | {one.lab} |"
            for number, one in enumerate(drawn(seed, each), 1)]
    return "\n".join([f"# Key of exam {seed}", "", "| question | right | answer | lab |", "|---|---|---|---|", *rows]) + "\n"
