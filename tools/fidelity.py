"""The tables of minikafka/FIDELITY.md: `python tools/fidelity.py [--check]`.

`fidelity.tsv` says, API by API, what Apache Kafka 4.3 advertises (a test asks the real one) and how close ours is, in
words; what we serve is read from the table of handlers. What Apache Kafka does differently, module by module, is read
from the modules' docstrings. Only the table of mechanisms is written by hand.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import minikafka.broker.handlers  # noqa: F401  (the handlers register themselves)
from minikafka.broker.server.registry import CLIENTS, HANDLERS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tools.map import SOURCE, docstring, folders, modules, paragraph  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
FIDELITY = ROOT / "minikafka" / "FIDELITY.md"
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


def differences() -> Iterator[str]:
    """A row for each module whose docstring says what Kafka does differently."""
    yield "| module | what Apache Kafka does differently |"
    yield "|---|---|"
    for folder in folders():
        for path in modules(folder):
            if said := paragraph(docstring(path), "What Kafka does differently"):
                name = path.relative_to(SOURCE).as_posix()
                yield f"| [{name}]({name}) | " + said.replace("|", "\\|") + " |"


def put(text: str, name: str, rows: Iterator[str]) -> str:
    """`text` with the table between the two marks called `name` replaced."""
    begin, end = f"<!-- {name}: made by tools/fidelity.py -->\n", f"<!-- end of {name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n" + "\n".join(rows) + "\n\n" + end + rest.split(end)[1]


def main(arguments: list[str]) -> int:
    text = FIDELITY.read_text()
    made = put(put(text, "apis", table()), "modules", differences())
    if "--check" in arguments:
        if made != text:
            print("minikafka/FIDELITY.md: its tables are not current; run `python tools/fidelity.py`")
        return int(made != text)
    FIDELITY.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
