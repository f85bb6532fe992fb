"""A rubric: how many points an exercise is worth.

    # exercise      points        the first line that fits counts; * stands for any letters
    6.2             3
    20.*            0
    *               1

Owns: how the file is read. Without a file each exercise is worth one point.
"""
from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class Worth(NamedTuple):
    """A line of a rubric."""

    pattern: str
    points: float


EACH_ONE_POINT = (Worth("*", 1.0),)


def read(path: Path) -> tuple[Worth, ...]:
    """Read a rubric. Raises ValueError, with the line, if it is none."""
    lines = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = text.partition("#")[0].split()
        if not words:
            continue
        try:
            pattern, points = words[0], float(words[1])
        except (IndexError, ValueError):
            raise ValueError(f"{path.name}, line {number}: an exercise and its points are expected, such as `6.2 3`") from None
        if len(words) > 2 or not 0 <= points < 1e6:
            raise ValueError(f"{path.name}, line {number}: one exercise and one number, 0 or more, are expected: `6.2 3`")
        lines.append(Worth(pattern, points))
    return tuple(lines)


def points(rubric: tuple[Worth, ...], exercise: str) -> float:
    """Return what an exercise is worth; 0 if no line fits."""
    return next((line.points for line in rubric if fnmatchcase(exercise, line.pattern)), 0.0)
