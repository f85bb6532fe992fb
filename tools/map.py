"""minikafka/MAP.md, made from the modules' own docstrings: `python tools/map.py [--check]`.

A section a folder, a row a module: what it is, what it owns, its invariants by id, the KIPs it names, its lines. Before
them, the reading paths of minikafka/README.md with their lines added up. The docstrings are the source; `--check` (a test
runs it) fails when the map is not what they say now.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "minikafka"
MAP = SOURCE / "MAP.md"
# What to learn first comes first; folders within these are in the order of their names.
PARTS = ("", "protocol", "log", "broker", "client", "cluster", "sim", "history", "chaos", "bench", "lab", "spark", "demo",
         "datasets")
ROOMS = ("", "server", "metadata", "raft", "controller", "replication", "storage", "coordinator", "groups", "transactions",
         "config", "quotas", "compat")
HEAD = """# Map of minikafka/

Made by `python tools/map.py` from the modules' docstrings. [README.md](README.md) says how to read the source,
[RULES.md](RULES.md) why it is so, [FIDELITY.md](FIDELITY.md) where Apache Kafka differs.
"""


def paragraph(text: str, start: str) -> str:
    """The sentences that begin with `start`, up to the next blank or labelled line, on one line; "" if there are none."""
    found = re.search(rf"^{start}:?[ \n](.+?)(?=\n\s*\n|\n[A-Z][A-Za-z ]+: |\n[A-Z][a-z]+:?\n|\Z)", text, re.S | re.M)
    return re.sub(r"\s+", " ", re.split(r" Sources?: ", found[1])[0]).strip() if found else ""


def first_sentence(text: str) -> str:
    return re.sub(r"\s+", " ", text.split("\n\n")[0]).split(". ")[0].rstrip(".")


@cache
def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def code_lines(path: Path) -> int:
    """Lines that hold code: not blank, not a comment, not a docstring."""
    text = path.read_text()
    code = {number for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def modules(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


def folders() -> list[Path]:
    """Every folder with modules, in the order in which they are best met."""
    def place(folder: Path) -> tuple[int, int, tuple[str, ...]]:
        parts = folder.relative_to(SOURCE).parts
        part = parts[0] if parts else ""
        room = parts[1] if part == "broker" and len(parts) > 1 else ""
        return PARTS.index(part) if part in PARTS else len(PARTS), ROOMS.index(room) if room in ROOMS else len(ROOMS), parts
    found = {path.parent for path in SOURCE.rglob("*.py")}
    return sorted((folder for folder in found if modules(folder)), key=place)


def row(path: Path) -> str:
    text = docstring(path)
    invariants = ", ".join(dict.fromkeys(re.findall(r"\bI-[A-Z]+-\d+(?=[ \n])", text)))
    kips = ", ".join(dict.fromkeys(re.findall(r"KIP-\d+", text)))
    name = f"[{path.name}]({path.relative_to(SOURCE).as_posix()})"
    cells = (name, str(code_lines(path)), first_sentence(text), paragraph(text, "Owns"), invariants, kips)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def section(folder: Path) -> str:
    inside = folder.relative_to(SOURCE).as_posix()
    title = first_sentence(docstring(init)) + ". " if (init := folder / "__init__.py").exists() and docstring(init) else ""
    lines = sum(map(code_lines, modules(folder)))
    return (f"## {'minikafka' if inside == '.' else inside}/\n\n{title}{lines:,} lines of code.\n\n"
            "| file | code | what it is | owns | invariants | KIPs |\n|---|---|---|---|---|---|\n"
            + "\n".join(map(row, modules(folder))) + "\n")


def paths() -> Iterator[tuple[str, list[Path]]]:
    """The reading paths of minikafka/README.md: each heading "### ..." and the modules that are linked below it."""
    text = (SOURCE / "README.md").read_text().split("## Reading paths")[-1].split("\n## ")[0]
    for part in text.split("\n### ")[1:]:
        yield part.split("\n")[0], [SOURCE / link for link in dict.fromkeys(re.findall(r"\]\(([\w/]+\.py)\)", part))]


def reading() -> str:
    rows = [f"| {title} | {len(files)} | {sum(len(f.read_text().splitlines()) for f in files):,} "
            f"| {sum(map(code_lines, files)):,} |" for title, files in paths()]
    return ("## Reading paths\n\n| path | files | lines | of them code |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")


def main(arguments: list[str]) -> int:
    made = "\n".join([HEAD, reading(), *map(section, folders())])
    if "--check" in arguments:
        current = MAP.exists() and MAP.read_text() == made
        if not current:
            print("minikafka/MAP.md: the map is not what the docstrings say; run `python tools/map.py`")
        return int(not current)
    MAP.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
