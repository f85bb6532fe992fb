"""Derives the students' notebooks (labs/) from the solved ones (solutions/). Run by `make labs`.

    tools/labs.py            derive every lab, tidy the solved notebooks
    tools/labs.py --check    change nothing; exit 1 and say which lab is stale or not tidy
    tools/labs.py --run      run the solved notebooks first and keep their outputs (starts clusters)

A solved notebook is the only source; edit it in JupyterLab. What the students' copy does not have:
  * between `### BEGIN SOLUTION <hint>` and `### END SOLUTION`: one line `todo("<hint>")` stands there instead
  * a line `guess = 2  ### GUESS`: it becomes `guess = ...  # your guess`
  * cells tagged `solution-only`, all outputs, and the marks that tests use (`# NBVAL_...`)

Invariants
  I-NB-1  deriving is a function of the solved notebook's cells: same source, same bytes; ids of cells are kept
  I-NB-2  the derived notebook carries the hash of its source; equal hashes mean "fresh", whatever a student has typed in it
  I-NB-3  no solution reaches labs/: markers that are unclosed, nested or in a text cell are an error
"""
from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
SOLUTIONS, LABS = ROOT / "solutions", ROOT / "labs"
BEGIN = re.compile(r"^(\s*)### BEGIN SOLUTION\s+(.+?)\s*$")
END = re.compile(r"^\s*### END SOLUTION\s*$")
GUESS = re.compile(r"^(\s*\w+ = ).*?\s*### GUESS\s*$")
TEST_MARK = re.compile(r"^\s*# NBVAL_\w+\s*$")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}


class LabError(Exception):
    """A solved notebook that cannot be derived; the text shows the cell."""


def unsolved(source: str) -> str:
    """The source of a code cell without its solutions, guesses and test marks."""
    lines, inside = [], False
    for line in source.splitlines():
        begin = BEGIN.match(line)
        if "### BEGIN SOLUTION" in line and not begin:
            raise LabError(f"a solution without a hint:\n{source}")
        if begin and inside:
            raise LabError(f"a solution inside a solution:\n{source}")
        if END.match(line):
            if not inside:
                raise LabError(f"END SOLUTION without BEGIN SOLUTION:\n{source}")
            inside = False
        elif begin:
            inside = True
            lines.append(f"{begin[1]}todo({json.dumps(begin[2], ensure_ascii=False)})")
        elif not inside and not TEST_MARK.match(line):
            lines.append(GUESS.sub(r"\1...  # your guess", line))
    if inside:
        raise LabError(f"BEGIN SOLUTION without END SOLUTION:\n{source}")
    return "\n".join(lines)


def fingerprint(solved: NotebookNode) -> str:
    """A hash of what a student's notebook is derived from: kinds, ids, tags and sources of the cells, in order."""
    cells = [(c.cell_type, c.id, sorted(c.metadata.get("tags", [])), c.source) for c in solved.cells]
    return hashlib.sha256(json.dumps(cells, ensure_ascii=False).encode()).hexdigest()


def derive(solved: NotebookNode, name: str) -> NotebookNode:
    """The students' notebook of a solved one."""
    student = nbformat.v4.new_notebook(metadata={**METADATA, "minikafka": {
        "source": f"solutions/{name}", "sha256": fingerprint(solved)}})
    for cell in solved.cells:
        if "solution-only" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "code":
            student.cells.append(nbformat.v4.new_code_cell(unsolved(cell.source), id=cell.id))
        elif "SOLUTION" in cell.source:
            raise LabError(f"a solution's marker in a text cell:\n{cell.source}")
        else:
            student.cells.append(nbformat.v4.new_markdown_cell(cell.source, id=cell.id))
    return student


def tidy(solved: NotebookNode) -> NotebookNode:
    """A solved notebook without what changes from run to run: times, widget states, the kernel's version.

    Cells that were run are counted from 1 in their order (nbval compares no cell without a count).
    """
    tidied, count = nbformat.v4.new_notebook(metadata=METADATA), 0
    for cell in solved.cells:
        kept = {"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {}
        if cell.cell_type == "code":
            count += 1
            number = None if cell.execution_count is None else count
            outputs = [NotebookNode({**o, "execution_count": number}) if "execution_count" in o else o for o in cell.outputs]
            tidied.cells.append(nbformat.v4.new_code_cell(
                cell.source, id=cell.id, metadata=kept, outputs=outputs, execution_count=number))
        else:
            tidied.cells.append(nbformat.v4.new_markdown_cell(cell.source, id=cell.id, metadata=kept))
    return tidied


def text(notebook: NotebookNode) -> str:
    """The file's text: one way of writing, so that equal notebooks are equal bytes."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def stale(path: Path) -> str | None:
    """Why this solved notebook and its student's copy do not belong together, or None."""
    solved, student = read(path), LABS / path.name
    if text(tidy(solved)) != path.read_text():
        return f"solutions/{path.name} is not tidy: run `make labs`"
    if not student.exists():
        return f"labs/{path.name} is missing: run `make labs`"
    if read(student).metadata.get("minikafka", {}).get("sha256") != fingerprint(solved):
        return f"labs/{path.name} is older than solutions/{path.name}: run `make labs`"
    return None


def orphans(folder: Path, names: set[str]) -> list[str]:
    return [f"{folder.name}/{p.name} has no source in solutions/" for p in sorted(folder.glob("*.ipynb")) if p.name not in names]


def write(path: Path) -> None:
    solved = tidy(read(path))
    path.write_text(text(solved))
    LABS.mkdir(exist_ok=True)
    (LABS / path.name).write_text(text(derive(solved, path.name)))


def execute(path: Path) -> None:
    """Runs a solved notebook as its students would, and keeps the outputs."""
    from nbclient import NotebookClient
    solved = read(path)
    NotebookClient(solved, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
    solved.metadata.pop("widgets", None)
    path.write_text(text(solved))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a lab is stale")
    parser.add_argument("--run", action="store_true", help="run the solved notebooks first and keep their outputs")
    options = parser.parse_args(argv)
    sources = sorted(SOLUTIONS.glob("*.ipynb"))
    if options.check:
        problems = [p for p in map(stale, sources) if p] + orphans(LABS, {s.name for s in sources})
        print("\n".join(problems) or f"{len(sources)} labs are fresh")
        return bool(problems)
    for path in sources:
        if options.run:
            execute(path)
        write(path)
        print(f"labs/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
