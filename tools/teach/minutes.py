"""Minutes of labs, which stand in their sources. Those of demos: minikafka/lab/demos/minutes.py.

    labs()      {0: Lab("00-first-cluster", "Your first cluster", 45, ...), ...}
"""
from __future__ import annotations

from tools.notebooks.build import ROOT
from tools.notebooks.source import Lab, read


def labs() -> dict[int, Lab]:
    """Return the labs by number, as their sources have them."""
    return {lab.number: lab for lab in map(read, sorted((ROOT / "solutions" / "source").glob("[0-9]*.md")))}
