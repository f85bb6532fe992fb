"""What people believe about Kafka, and what is so instead.

28 misconceptions, and 16 claims of the lectures that today's Kafka qualifies. A cell of a lab that refutes one says so in its
metadata (`misconceptions`, `claims`). `beliefs.tsv` has a line for each: its number (or the lecture's item), the labs, the
belief, the truth; of a misconception also the two sentences between which `recall` lets one choose.

Owns: that table, and which cells of a notebook refute what.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("beliefs.tsv")
SECTION = re.compile(r"^##? (.+)$", re.MULTILINE)
REVEALS = re.compile(r"\breveal\(\s*[\"'](\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Belief:
    """One line of the table. `id` is "16" for a misconception, "S2.10" for a claim of the lectures."""

    id: str
    labs: tuple[int, ...]
    belief: str
    truth: str
    sentences: tuple[str, ...] = ()  # the belief and the truth, as sentences of like length; none for a claim

    @property
    def is_claim(self) -> bool:
        return not self.id.isdigit()


@dataclass(frozen=True, slots=True)
class Refutation:
    """A cell that refutes a belief: the section that it stands in, and the predictions that it answers."""

    belief: str
    section: str
    predictions: tuple[str, ...]


def table() -> list[Belief]:
    """Return all beliefs, the misconceptions first."""
    rows = (line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return [Belief(id_, tuple(map(int, labs.split(","))), belief, truth, tuple(sentences))
            for id_, labs, belief, truth, *sentences in rows]


def refutations(cells: Iterable[Any]) -> Iterator[Refutation]:
    """Yield what the cells of a notebook (as JSON has them: dictionaries) refute, in order."""
    section = ""
    for cell in cells:
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            section = (SECTION.findall(source) or [section])[-1]
        metadata = cell["metadata"]
        for id_ in [*metadata.get("misconceptions", ()), *metadata.get("claims", ())]:
            yield Refutation(id_, section, tuple(REVEALS.findall(source)))
