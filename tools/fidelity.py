"""The tables of minikafka/FIDELITY.md: `python tools/fidelity.py [--check]`.

`fidelity.tsv` says, API by API, what Apache Kafka 4.3 advertises (a test asks the real one) and how close ours is, in
words; what we serve is read from the table of handlers. What Apache Kafka does differently, module by module, is read
from the modules' docstrings. Only the table of mechanisms is written by hand.
"""

from __future__ import annotations

import ast
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import minikafka.broker.handlers  # noqa: F401  (the handlers register themselves)
from minikafka.broker.server.registry import CLIENTS, HANDLERS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "minikafka"
FIDELITY = SOURCE / "FIDELITY.md"
PARTS = ("protocol", "log", "broker", "client", "cluster", "sim", "machine", "proof", "lab")  # what to learn first comes first
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


def paragraph(text: str, start: str) -> str:
    """The sentences that begin with `start`, up to the next blank or labelled line, on one line; "" if there are none."""
    found = re.search(rf"^{start}:?[ \n](.+?)(?=\n\s*\n|\n[A-Z][A-Za-z ]+: |\n[A-Z][a-z]+:?\n|\Z)", text, re.S | re.M)
    return re.sub(r"\s+", " ", re.split(r" Sources?: ", found[1])[0]).strip() if found else ""


def modules() -> list[Path]:
    """Every module, folder by folder, those of a storey's first part first."""
    def place(path: Path) -> tuple[int, tuple[str, ...], str]:
        *folder, name = path.relative_to(SOURCE).parts
        return PARTS.index(folder[0]) if folder else -1, tuple(folder), name
    return sorted(SOURCE.rglob("*.py"), key=place)


def differences() -> Iterator[str]:
    """A row for each module whose docstring says what Kafka does differently."""
    yield "| module | what Apache Kafka does differently |"
    yield "|---|---|"
    for path in modules():
        if text := paragraph(ast.get_docstring(ast.parse(path.read_text())) or "", "What Kafka does differently"):
            name = path.relative_to(SOURCE).as_posix()
            yield f"| [{name}]({name}) | " + text.replace("|", "\\|") + " |"


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
