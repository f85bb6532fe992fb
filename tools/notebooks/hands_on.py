"""The cells of a lab that work on the live cluster, and how what they said on two engines differs.

A lab has cells in the simulated world, which say the same everywhere, and hands-on cells: those that use a cluster made with
`engine=ENGINE`, or anything that was made from it. The judge (`make judge`) runs the hands-on part of each lab on Apache Kafka.
"""
from __future__ import annotations

import re
from collections.abc import Iterable

from nbformat import NotebookNode

from .parts import hands_on, needed

__all__ = ["difference", "hands_on", "hands_on_part", "text_of", "words"]
FIGURE = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,]\d+)*|\b(?:minikafka|apache)\b")
RANDOM_NIGHTS = re.compile(r" and \d+ random ones?\b|, and no time was left for random ones")  # how many: as the machine has time


def hands_on_part(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return the hands-on cells, the cells that bind what these load, and so on; and all predictions. In order."""
    cells = list(cells)
    return needed(cells, {cell.id for cell in hands_on(cells)})


def text_of(cell: NotebookNode) -> list[str]:
    """Return the lines of text that a cell put out, without blank ones."""
    texts = []
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            texts.append(output.text)
        elif "data" in output:
            texts.append(output.data.get("text/markdown") or output.data.get("text/plain", ""))
    return [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]


def difference(ours: list[str], theirs: list[str]) -> tuple[str, str] | None:
    """Return the first two lines that differ in words, ("", "") if only figures differ, None if nothing does.

    Where one has no such line its word is "".
    """
    if ours == theirs:
        return None
    if words(ours) == words(theirs):
        return "", ""
    rest = max(len(ours), len(theirs))
    pairs = zip(ours + [""] * (rest - len(ours)), theirs + [""] * (rest - len(theirs)), strict=True)
    return next(pair for pair in pairs if words([pair[0]]) != words([pair[1]]))


def words(lines: list[str]) -> list[str]:
    """Return lines without their figures, and without the spaces that figures of another width need; nor what `inside` says of
    random nights."""
    return [" ".join(FIGURE.sub("#", RANDOM_NIGHTS.sub("", line)).split()) for line in lines]
