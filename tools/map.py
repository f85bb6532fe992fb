"""The map in minikafka/README.md, made from the modules' own docstrings: `python tools/map.py [--check]`.

One row a module: what it is, what it owns, its invariants by id, the KIPs it names, what Kafka does differently. The
docstring is the source; `--check` (a test runs it) fails when the map is not what the docstrings say now.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "minikafka" / "README.md"
BEGIN, END = "<!-- map: made by tools/map.py -->\n", "<!-- end of map -->"
PARTS = {
    "protocol": "bytes <-> messages",
    "log": "one partition on disk",
    "core": "pure state machines: no I/O, no clock, no chance of their own",
    "broker": "the shell: sockets, files, timers around the cores",
    "broker/handlers": "one module per family of requests",
    "cluster": "one interface, several engines",
    "sim": "the seeded world",
    "sim/clients": "clients for the seeded world, plain enough to learn from",
    "sim/invariants": "what must hold after every step, and at the end",
    "sim/stories": "stories of what goes wrong, told step by step",
    "sim/ablations": "rules switched off from outside, and what notices",
    "history": "what clients did and saw, and the verdict on it",
    "chaos": "the same on live processes, under real clients",
    "spark": "Spark's side",
    "demo": "the whole pipeline in one command",
    "datasets": "real flights, made trucks and taxis",
    "lab": "the notebook toolkit",
}


def paragraph(text: str, *starts: str) -> str:
    """The sentence(s) that begin with one of `starts`, up to the next blank or labelled line, on one line."""
    for start in starts:
        found = re.search(rf"^{start}:?[ \n](.+?)(?=\n\s*\n|\n[A-Z][A-Za-z ]+: |\n[A-Z][a-z]+:?\n|\Z)", text, re.S | re.M)
        if found:
            return re.sub(r"\s+", " ", re.split(r" Sources?: ", found[1])[0]).strip()
    return ""


def first_sentence(text: str) -> str:
    return re.sub(r"\s+", " ", text.split("\n\n")[0]).split(". ")[0].rstrip(".")


def row(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    invariants = ", ".join(dict.fromkeys(re.findall(r"\bI-[A-Z]+-\d+(?=[ \n])", text)))
    kips = ", ".join(dict.fromkeys(re.findall(r"KIP-\d+", text)))
    cells = (
        f"`{path.name}`",
        first_sentence(text),
        paragraph(text, "Owns"),
        invariants,
        kips,
        paragraph(text, "What Kafka does differently", "Differences from the connector"),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def tables() -> Iterator[str]:
    for part, title in PARTS.items():
        modules = [p for p in sorted((ROOT / "minikafka" / part).glob("*.py")) if ast.get_docstring(ast.parse(p.read_text()))]
        if modules:
            yield f"### {part}/ - {title}\n\n| file | what it is | owns | invariants | KIPs | what Kafka does differently |\n"
            yield "|---|---|---|---|---|---|\n" + "\n".join(map(row, modules)) + "\n\n"


def main(arguments: list[str]) -> int:
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = before + BEGIN + "\n" + "".join(tables()) + END + after
    if "--check" in arguments:
        if made != text:
            print("minikafka/README.md: the map is not what the docstrings say; run `python tools/map.py`")
        return int(made != text)
    README.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
