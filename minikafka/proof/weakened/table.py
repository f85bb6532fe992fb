"""The table of weakened rules: one change of source for each, as by an engineer who does not know why a line is there.

    weakened()["move_ends_early"].changes[0].apply(source)        the source of its file without that rule

A line of rules.tsv has, between tabs: name, rule (number in RULES.md; 848: KIP-848), file below minikafka/, words of that file,
the words that replace them, title, what falls, and what shows it. `\\n` is a new line. A line without a name is one more change
of the rule above it. What falls are ids of invariants and of anomalies of a history. What shows it is a story (proof/stories),
or a world and its seed. Where these are empty, seeds or tests of its room must notice it (`sim mutate --rules`).

Owns: rules.tsv.
Invariants: I-MUTANT-2 the words of a change stand exactly once in its file: if that line changes, rules.tsv must change too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("rules.tsv")
NAME, RULE, FILE, BEFORE, AFTER, TITLE, FALLS, SHOWN_BY = range(8)


@dataclass(frozen=True)
class SourceChange:
    """Words of one file, and the words that replace them."""

    file: str
    before: str
    after: str

    @property
    def path(self) -> str:
        """Return the file's path from the project's folder on."""
        return f"minikafka/{self.file}"

    def apply(self, source: str) -> str:
        """Return the source with the change. Raises ValueError if the words do not stand there exactly once."""
        if source.count(self.before) != 1:
            raise ValueError(f"{self.before!r} stands {source.count(self.before)} times in {self.file}, not once: "
                             "change its line in proof/weakened/rules.tsv")
        return source.replace(self.before, self.after)

    def line(self, source: str) -> int:
        """Return the number of the line that is changed."""
        return source[: source.index(self.before)].count("\n") + 1 + (self.before[0] == "\n")


@dataclass(frozen=True)
class Weakened:
    """One rule, and the changes that weaken it. `story` and `world` say what shows it, one of them at most."""

    name: str
    rule: str
    title: str
    changes: tuple[SourceChange, ...]
    falls: tuple[str, ...] = ()
    story: str | None = None
    world: tuple[str, int] | None = None

    @property
    def path(self) -> str:
        """Return the file of the first change, from the project's folder on."""
        return self.changes[0].path

    def apply(self, path: str, source: str) -> str:
        """Return the source of one of its files with the rule weakened. Raises ValueError, as SourceChange.apply does."""
        for change in self.changes:
            source = change.apply(source) if change.path == path else source
        return source

    @property
    def shown_by(self) -> str:
        """Return the name of the story or of the world; empty if neither is recorded."""
        return self.story or (self.world[0] if self.world else "")


def weakened() -> dict[str, Weakened]:
    """Return all of them by name, in the order of the table."""
    found: dict[str, Weakened] = {}
    rows = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
    while rows:
        row = rows.pop(0)
        row += [""] * (SHOWN_BY + 1 - len(row))
        changes = [row]
        while rows and not rows[0][NAME]:
            changes.append(rows.pop(0))
        shown, _, seed = row[SHOWN_BY].partition(" ")
        assert row[NAME] not in found, f"two rules are called {row[NAME]}"
        found[row[NAME]] = Weakened(
            row[NAME], row[RULE], row[TITLE], tuple(_change(one) for one in changes), tuple(row[FALLS].split()),
            None if seed else shown or None, (shown, int(seed)) if seed else None)
    return found


def _change(row: list[str]) -> SourceChange:
    return SourceChange(row[FILE], *(words.replace("\\n", "\n") for words in row[BEFORE:AFTER + 1]))
