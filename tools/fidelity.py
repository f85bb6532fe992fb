"""The API half of the fidelity table in minikafka/README.md: `python tools/fidelity.py [--check]`.

`fidelity.tsv` says, API by API, what Apache Kafka 4.3 advertises (a test asks the real one) and how close ours is, in
words; what we serve is read from the table of handlers. Nothing in the README's table is typed by hand twice.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import minikafka.broker.handlers  # noqa: F401  (the handlers register themselves)
from minikafka.broker.server.registry import CLIENTS, HANDLERS

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "minikafka" / "README.md"
BEGIN, END = "<!-- apis: made by tools/fidelity.py -->\n", "<!-- end of apis -->"
GRADES = ("same on the wire", "same meaning", "simplified", "absent")


class Row(NamedTuple):
    """One API that Apache Kafka 4.3 advertises to clients."""

    key: int
    name: str
    min: int
    max: int
    grade: str
    note: str


def rows() -> list[Row]:
    with (ROOT / "tools" / "fidelity.tsv").open() as file:
        found = [Row(int(r["key"]), r["name"], int(r["min"]), int(r["max"]), r["grade"], r["note"] or "")
                 for r in csv.DictReader(file, delimiter="\t")]
    assert all(row.grade in GRADES for row in found)
    return found


def served(key: int) -> tuple[int, int] | None:
    """The versions we advertise to clients, None if we do not serve the API."""
    found = HANDLERS[CLIENTS].get(key)
    return (found.advertised_min, found.max) if found else None


def table() -> Iterator[str]:
    yield "| key | API | ours | Kafka 4.3 | grade | where it differs |"
    yield "|---|---|---|---|---|---|"
    for row in rows():
        ours = served(row.key)
        text = f"{ours[0]}-{ours[1]}" if ours else "-"
        yield f"| {row.key} | {row.name} | {text} | {row.min}-{row.max} | {row.grade} | {row.note} |"


def main(arguments: list[str]) -> int:
    text = README.read_text()
    before, rest = text.split(BEGIN)
    made = before + BEGIN + "\n" + "\n".join(table()) + "\n\n" + END + rest.split(END)[1]
    if "--check" in arguments:
        if made != text:
            print("minikafka/README.md: the table of APIs is not current; run `python tools/fidelity.py`")
        return int(made != text)
    README.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
