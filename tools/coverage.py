"""labs/COVERAGE.md, made from the labs' cells: `python tools/coverage.py [--check]`.

Which section of which lab covers each item of the lectures, refutes each misconception, and tests each claim of the lectures
that today's Kafka qualifies. The cells' metadata are the source; `--check` (a test runs it) fails when the page is not current.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from minikafka.lab.beliefs import SECTION, refutations, table  # noqa: E402
from tools.notebooks.build import ROOT, Project  # noqa: E402
from tools.notebooks.source import Lab, read  # noqa: E402

PAGE = ROOT / "labs" / "COVERAGE.md"
ITEMS = ROOT / "tests" / "lab" / "labs" / "seeds.tsv"
HEAD = """# Which cell does which

Made by `python tools/coverage.py` from the metadata of the labs' cells. A number behind a lab is a section of its notebook.
`progress().misconceptions` lists in a notebook what you believed yourself.
"""
Places = dict[str, list[str]]                   # by item or belief: "[2](02-one-partition-is-a-file.ipynb) 6 7"


def places(labs: Iterable[Lab]) -> tuple[Places, Places]:
    """Return where each item of the lectures is covered, and where each belief is refuted, a string a lab."""
    covered: Places = defaultdict(list)
    refuted: Places = defaultdict(list)
    for lab in labs:
        link = f"[{lab.number}]({lab.name}.ipynb)"
        for found, pairs in ((covered, items(lab)), (refuted, [(r.belief, r.section) for r in refutations(lab.cells)])):
            sections: dict[str, list[str]] = defaultdict(list)
            for id_, section in pairs:
                sections[id_].append(section.split(" ")[0] if section[:1].isdigit() else "top")
            for id_, numbers in sections.items():
                found[id_].append(f"{link}: {', '.join(dict.fromkeys(numbers))}")
    return covered, refuted


def items(lab: Lab) -> list[tuple[str, str]]:
    """Return the items of the lectures that a lab covers, each with the heading of its section."""
    section, found = "", []
    for cell in lab.cells:
        if cell.cell_type == "markdown":
            heads = [head for head in SECTION.findall(cell.source) if head[:1].isdigit()]
            section = heads[-1] if heads else section
        found += [(seed, section) for seed in cell.metadata.get("seeds", ())]
    return found


def page() -> str:
    """Return the text of the page."""
    covered, refuted = places([read(path) for path in Project().sources([])])
    beliefs = table()
    subjects = [line.split("\t") for line in ITEMS.read_text().splitlines() if line.count("\t") == 2]
    misconceptions = [[b.id, b.belief, b.truth, "; ".join(refuted[b.id])] for b in beliefs if not b.is_claim]
    claims = [[b.id, b.belief, b.truth, "; ".join(refuted[b.id])] for b in beliefs if b.is_claim]
    lectures = [[id_, subject, "; ".join(covered[id_]) or ("demos" if labs == "-" else "")] for id_, labs, subject in subjects]
    return "\n".join([
        HEAD,
        *lines(f"{done(misconceptions)} misconceptions", ("", "people believe", "it is so", "labs"), misconceptions),
        *lines(f"{done(claims)} claims that today's Kafka qualifies", ("item", "the lectures say", "today", "labs"), claims),
        *lines(f"{done(lectures)} items of the lectures", ("item", "subject", "labs"), lectures)])


def done(rows: list[list[str]]) -> str:
    return f"{sum(bool(row[-1]) for row in rows)} of {len(rows)}"


def lines(title: str, head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    """Return one section of the page: a heading and a table."""
    return [f"## {title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(word.replace("|", "\\|") for word in row) + " |" for row in rows), ""]


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print("labs/COVERAGE.md is not what the cells say: run `python tools/coverage.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
