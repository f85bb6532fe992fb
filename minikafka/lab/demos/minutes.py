"""How many minutes a demo takes in front of a class.

    minutes.kept()      {"D1": DemoMinutes("Kill the leader", scenes=1, seconds=9, stops=6), ...}, from minutes.tsv
    minutes.measure()   plays every demo and returns the text of minutes.tsv

Owns: minutes.tsv, and how minutes follow from it. Playing a demo takes a second a scene, so the figures are kept.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("minutes.tsv")
HEAD = "# Made by `tools/teaching.py plans --measure`: demo, scenes, seconds from the first stop to the last, stops, title.\n"
VOTE, STOP = 2.0, 0.5  # minutes for the question with its vote, and for what is said at a stop


@dataclass(frozen=True, slots=True)
class DemoMinutes:
    """The scenes, seconds and stops of a demo, all scenes together."""

    title: str
    scenes: int
    seconds: float
    stops: int

    @property
    def minutes(self) -> int:
        return math.ceil(VOTE + self.seconds / 60 + STOP * self.stops)


def kept() -> dict[str, DemoMinutes]:
    """Return the minutes of each demo as they were measured."""
    rows = (line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {name: DemoMinutes(title, int(scenes), float(seconds), int(stops)) for name, scenes, seconds, stops, title in rows}


def measure() -> str:
    """Play every demo; return the table."""
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
