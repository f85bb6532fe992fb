"""The safety rules, each weakened once by hand, as by an engineer who does not know why a line is there.

    weakened()["move_ends_early"].change(source)        the source of its file without that rule

rules.tsv has a line for each: name, rule (RULES.md), file below minikafka/, the words in the file, and the words that replace
them; `\\n` is a new line. `sim mutate --rules` runs them: seeds or tests must notice each one.

Owns: rules.tsv.
Invariants: I-MUTANT-2 the words of a rule stand exactly once in its file: if that line changes, rules.tsv must change too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("rules.tsv")


@dataclass(frozen=True)
class Weakened:
    """One rule and the change that weakens it."""

    name: str
    rule: str
    file: str
    before: str
    after: str

    @property
    def path(self) -> str:
        """Return the file's path from the project's folder on."""
        return f"minikafka/{self.file}"

    def change(self, source: str) -> str:
        """Return the source with the rule weakened. Raises ValueError if its words do not stand there exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.name}: {self.before!r} stands {source.count(self.before)} times in {self.file}")
        return source.replace(self.before, self.after)

    def line(self, source: str) -> int:
        """Return the number of the line that is changed."""
        return source[: source.index(self.before)].count("\n") + 1 + (self.before[0] == "\n")


def weakened() -> dict[str, Weakened]:
    """Return all of them by name."""
    rows = [line.replace("\\n", "\n").split("\t") for line in TABLE.read_text().splitlines()[1:]]
    return {row[0]: Weakened(*row) for row in rows}
