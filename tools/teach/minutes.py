"""Minutes of labs and demos: a lab's are in its source, a demo's follow from its recordings.

    labs()      {0: Lab("00-first-cluster", "Your first cluster", 45, ...), ...}
    demos()     {"D1": DemoMinutes("the leader is killed", scenes=1, seconds=8.8, stops=6), ...}, from demos.tsv
    measure()   plays every demo and returns the text of demos.tsv

Owns: demos.tsv, and how minutes follow from it. Reading a recorded run takes a second each, so its figures are kept.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tools.notebooks.build import ROOT
from tools.notebooks.source import Lab, read

TABLE = Path(__file__).with_name("demos.tsv")
HEAD = "# Made by `tools/teaching.py plans --measure`: demo, scenes, seconds from the first stop to the last, stops, title.\n"
VOTE, STOP = 2.0, 0.5  # minutes for the question with its vote, and for what is said at a stop


@dataclass(frozen=True)
class DemoMinutes:
    """What a class sees of a demo, all scenes together."""

    title: str
    scenes: int
    seconds: float
    stops: int

    @property
    def minutes(self) -> int:
        return math.ceil(VOTE + self.seconds / 60 + STOP * self.stops)


def labs() -> dict[int, Lab]:
    """Return the labs by number, as their sources have them."""
    return {lab.number: lab for lab in map(read, sorted((ROOT / "solutions" / "source").glob("[0-9]*.md")))}


def demos() -> dict[str, DemoMinutes]:
    rows = (line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {name: DemoMinutes(title, int(scenes), float(seconds), int(stops)) for name, scenes, seconds, stops, title in rows}


def measure() -> str:
    from minikafka.lab import demos
    from minikafka.lab.demos.runner import record
    lines = []
    for name in demos.names():
        one = demos.demo(name)
        played = [record(scene) for scene in one.scenes]
        seconds = sum((scene.end - scene.begin) / scene.scene.pace for scene in played)
        stops = sum(moment.stop for scene in played for moment in scene.moments)
        lines.append(f"{name}\t{len(played)}\t{seconds:.0f}\t{stops}\t{one.title}\n")
    return HEAD + "".join(lines)
