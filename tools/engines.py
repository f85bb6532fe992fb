"""The last section of docker/README.md, made by `python tools/engines.py [NN ...]`: the labs on our brokers and on Apache Kafka.

Runs the hands-on part of each solved notebook (tools/notebooks/hands_on.py) on both engines, one after the other, and says of
each hands-on cell whether it shows the same on both. Without a number all labs; with numbers only their rows
are made anew. Needs `make apache`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nbformat import NotebookNode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.notebooks.build import ROOT, Project, load  # noqa: E402
from tools.notebooks.hands_on import difference, hands_on, hands_on_part, text_of, words  # noqa: E402
from tools.notebooks.run import execute  # noqa: E402
from tools.notebooks.source import Lab, read  # noqa: E402

PAGE = ROOT / "docker" / "README.md"
HEAD = "## The same labs on both engines\n"
LEGEND = """
Made by `python tools/engines.py`, which runs the solved notebooks on both engines. Counted are hands-on cells: those that use
the live cluster. On the two engines a cell says the same, or the same but for figures (times, offsets of a moment, ids), or
something else, which the second table shows.

"""
ENGINES = ("minikafka", "apache")
WIDTH, BEFORE = 60, 20  # letters of a line that are shown, and those of them before the first that differs


def compare(lab: Lab, project: Project) -> tuple[str, list[str]]:
    """Return a lab's row of the first table and its rows of the second one. LabError if a cell fails on an engine."""
    ran = [run(lab, project, engine) for engine in ENGINES]
    found = [(cell.id, difference(text_of(cell), text_of(other))) for cell, other in zip(*map(hands_on, ran), strict=True)]
    same = sum(differs is None for _, differs in found)
    figures = sum(differs == ("", "") for _, differs in found)
    link = f"[{lab.number}](../solutions/{lab.name}.ipynb)"
    row = f"| {link} | {len(found)} | {same} | {figures} | {len(found) - same - figures} |"
    return row, [f"| {link} | {id_} | {' | '.join(shown(*differs))} |" for id_, differs in found if differs and any(differs)]


def run(lab: Lab, project: Project, engine: str) -> list[NotebookNode]:
    """Return the hands-on part of a lab's solved notebook with its outputs on an engine; no file is changed."""
    notebook = load(project.solved(lab))
    notebook.cells = hands_on_part(notebook.cells)
    execute(notebook, lab.name, project, MINIKAFKA_ENGINE=engine)
    return list(notebook.cells)


def shown(ours: str, theirs: str) -> list[str]:
    """Return two lines as code in cells of a table: cut where they are long, so that the first word that differs is in sight."""
    mine, other = ours.split(), theirs.split()
    pairs = enumerate(zip(mine, other, strict=False))
    equal = next((n for n, (a, b) in pairs if words([a]) != words([b])), min(len(mine), len(other)))
    return [as_code(" ".join(line), len(" ".join(line[:equal]))) for line in (mine, other)]


def as_code(line: str, place: int) -> str:
    """Return the part of a line around a place as code in a cell of a table."""
    begin = max(0, place - BEFORE) if len(line) > WIDTH else 0
    cut = "…" * (begin > 0) + line[begin:begin + WIDTH] + "…" * (len(line) > begin + WIDTH)
    return "`" + cut.replace("|", "\\|").replace("`", "'") + "`" if line else "(nothing)"


def tables(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the rows that a page has, by lab: those of the first table and those of the second one."""
    rows: dict[str, str] = {}
    differing: dict[str, list[str]] = {}
    for line in text.partition(HEAD)[2].splitlines():
        if line.startswith("| ["):
            lab = line[3:line.index("]")]
            if lab in rows:
                differing.setdefault(lab, []).append(line)
            else:
                rows[lab] = line
    return rows, differing


def page(text: str, rows: dict[str, str], differing: dict[str, list[str]]) -> str:
    """Return the page with its last section anew."""
    order = sorted(rows, key=int)
    first = ["| lab | hands-on cells | the same | but for figures | something else |", "|---|---|---|---|---|",
             *(rows[lab] for lab in order)]
    second = ["| lab | cell | on our brokers | on Apache Kafka |", "|---|---|---|---|",
              *(row for lab in order for row in differing.get(lab, ()))]
    return text.partition(HEAD)[0].rstrip() + "\n\n" + HEAD + LEGEND + "\n".join([*first, "", *second]) + "\n"


def main(wanted: list[str]) -> int:
    project = Project()
    for path in project.sources(wanted):
        lab = read(path)
        row, differing = compare(lab, project)
        rows, others = tables(PAGE.read_text())
        PAGE.write_text(page(PAGE.read_text(), rows | {str(lab.number): row}, others | {str(lab.number): differing}))
        print(row, *differing, sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
