"""From one source to two files: solutions/NN-title.ipynb (solved, outputs kept) and labs/NN-title.ipynb (unsolved).

A source without a number (playground.md) is no lab: nothing is asked in it, and it has a notebook in labs/ only.

Both carry, in their metadata's `minikafka`: the source's name, title and minutes, the ids of the exercises and predictions
in order, and `sha256`, the hash of the cells that they were made with; the solved one also `ran` (I-NB-6).

Invariants
  I-NB-1  building is a function of the source and of the outputs that are there: same source, same bytes
  I-NB-2  equal hashes mean "fresh", whatever a student has typed in a copy
  I-NB-7  building again throws nobody's work away: a student's notebook that was changed is kept in .cache/labs/
"""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from . import here, outputs
from .source import Lab, LabError, read
from .student import BEGIN, FILE, unsolved_cells

ROOT = Path(__file__).resolve().parents[2]
KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
}
FRESH = Path("labs") / ".fresh"  # in a copy for students, which has no sources: each lab's notebook as it was
CALLED = re.compile(r"\b(check|predict)\(\s*[\"'](\d+\.\d+)[\"']")


class Project:
    """The folders of a project; tests use one of their own."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.source, self.solutions, self.labs = root / "solutions" / "source", root / "solutions", root / "labs"

    def sources(self, wanted: list[str]) -> list[Path]:
        """The sources of these labs ("6", "06"), all of them for none. LabError if one is not there."""
        found = {path.name[:2]: path for path in sorted(self.source.glob("*.md")) if path not in self.beside}
        numbers = [f"{int(number):02d}" for number in wanted] or list(found)
        missing = [number for number in numbers if number not in found]
        if missing:
            raise LabError(f"no source solutions/source/{missing[0]}-*.md")
        return [found[number] for number in numbers]

    @property
    def beside(self) -> list[Path]:
        """The sources that are no labs."""
        return [path for path in sorted(self.source.glob("*.md")) if not path.name[0].isdigit()]

    def solved(self, lab: Lab) -> Path:
        return self.solutions / f"{lab.name}.ipynb"

    def student(self, lab: Lab) -> Path:
        return self.labs / f"{lab.name}.ipynb"

    def map(self, lab: Lab) -> Path:
        """The drawing "you are here" of a lab that says where it is."""
        return self.labs / "pictures" / here.name(lab.here)


def fingerprint(cells: list[NotebookNode]) -> str:
    """A hash of kinds, ids, metadata and sources of cells, in order; of no output."""
    shown = [(c.cell_type, c.id, sorted(c.metadata.items()), c.source) for c in cells]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


def exercises(cells: Iterable[NotebookNode]) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the exercises in order, each with the cell in which its solution stands: that of its `check`, or one before it that
    writes the file which the check names.
    """
    files: dict[str, NotebookNode] = {}
    for cell in cells:
        solved = cell.cell_type == "code" and any(BEGIN.match(line) for line in cell.source.splitlines())
        if solved and (file := FILE.match(cell.source)):
            files[file[1]] = cell
        elif cell.cell_type == "code":
            for number in [number for call, number in CALLED.findall(cell.source) if call == "check"]:
                written = [files[name] for name in files if f'"{name}"' in cell.source]
                if solved or written:
                    yield number, cell if solved else written[0]


def called(lab: Lab) -> dict[str, list[str]]:
    """The ids that a lab asks: `exercises` (there is a solution), `predictions`."""
    solved = [number for number, _ in exercises(lab.cells)]
    guessed = [number for cell in lab.cells if cell.cell_type == "code" for call, number in CALLED.findall(cell.source)
               if call == "predict"]
    return {"exercises": list(dict.fromkeys(solved)), "predictions": list(dict.fromkeys(guessed))}


def metadata(lab: Lab, cells: list[NotebookNode]) -> dict[str, Any]:
    facts = {"source": f"solutions/source/{lab.name}.md", "title": lab.title, "minutes": lab.minutes, **called(lab)}
    return {**KERNEL, "minikafka": {**facts, "sha256": fingerprint(cells)}}


def student_notebook(lab: Lab) -> NotebookNode:
    cells = unsolved_cells(lab.cells)
    notebook = nbformat.v4.new_notebook(metadata=metadata(lab, cells), cells=cells)
    notebook.metadata["minikafka"]["typed"] = typed(cells)
    return notebook


def solved_notebook(lab: Lab, before: NotebookNode | None) -> NotebookNode:
    """The solved notebook, with the outputs of `before` where the code is the same."""
    notebook = nbformat.v4.new_notebook(metadata=metadata(lab, lab.cells), cells=nbformat.from_dict(lab.cells))
    if before is not None:
        outputs.keep(notebook.cells, before.cells)
        ran = before.metadata.get("minikafka", {}).get("ran")
        if ran:
            notebook.metadata.minikafka["ran"] = ran
    return notebook


def text(notebook: NotebookNode) -> str:
    """The file's text: one way of writing, so that equal notebooks are equal bytes."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


def load(path: Path) -> NotebookNode | None:
    return nbformat.read(path, as_version=4) if path.exists() else None


def restore(project: Project, wanted: list[str]) -> list[Path]:
    """Puts fresh notebooks in their places where there are no sources: of these labs ("6", "06"), all of them for none."""
    found = {path.name[:2]: path for path in sorted((project.root / FRESH).glob("*.ipynb"))}
    numbers = [f"{int(number):02d}" for number in wanted] or list(found)
    missing = [number for number in numbers if number not in found]
    if missing or not found:
        raise LabError(f"no {FRESH}/{''.join(missing[:1])}*.ipynb, and no solutions/source")
    places = [project.labs / found[number].name for number in numbers]
    for place, number in zip(places, numbers):
        keep_work(place, project)
        place.write_bytes(found[number].read_bytes())
    return places


def build(path: Path, project: Project) -> Lab:
    """Writes the notebooks of one source, and its map."""
    lab = read(path)
    if lab.here:
        project.map(lab).parent.mkdir(parents=True, exist_ok=True)
        project.map(lab).write_text(here.drawing(lab.here))
    solved = solved_notebook(lab, load(project.solved(lab)))
    project.labs.mkdir(exist_ok=True)
    keep_work(project.student(lab), project)
    project.student(lab).write_text(text(student_notebook(lab)))
    if path in project.beside:
        return lab
    project.solved(lab).write_text(text(solved))
    return lab


def keep_work(path: Path, project: Project) -> None:
    """Puts a copy of a notebook in which somebody has typed into .cache/labs/, under a name that is free."""
    notebook = load(path)
    if notebook is None or notebook.metadata.get("minikafka", {}).get("typed") == typed(notebook.cells):
        return
    number, folder = 1, project.root / ".cache" / "labs"
    while (copy := folder / f"{path.stem}-{number}.ipynb").exists():
        number += 1
    folder.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(path.read_bytes())


def typed(cells: list[NotebookNode]) -> str:
    """A hash of what one can type: the sources of the cells."""
    return hashlib.sha256(json.dumps([c.source for c in cells]).encode()).hexdigest()


def stale(path: Path, project: Project) -> list[str]:
    """Why the two notebooks are not what this source makes, or show what its code does not."""
    lab = read(path)
    again = f"run `make labs LAB={lab.name[:2]}`"
    student, solved = load(project.student(lab)), load(project.solved(lab))
    if path in project.beside:
        made = student is not None and student.metadata.get("minikafka") == student_notebook(lab).metadata["minikafka"]
        return [] if made else [f"labs/{lab.name}.ipynb is not what its source makes: run `make labs`"]
    if student is None or solved is None:
        return [f"{lab.name}.ipynb is missing in labs/ or solutions/: {again}"]
    problems = []
    if lab.here and not (project.map(lab).exists() and project.map(lab).read_text() == here.drawing(lab.here)):
        problems.append(f"labs/pictures/{here.name(lab.here)} is not what its source makes: {again}")
    if student.metadata.get("minikafka") != student_notebook(lab).metadata["minikafka"]:
        problems.append(f"labs/{lab.name}.ipynb is not what its source makes: {again}")
    if project.solved(lab).read_text() != text(solved_notebook(lab, solved)):
        problems.append(f"solutions/{lab.name}.ipynb is not what its source makes: {again}")
    if solved.metadata.get("minikafka", {}).get("ran") != outputs.code_hash(lab.cells):
        problems.append(f"solutions/{lab.name}.ipynb shows what older code put out: {again} RUN=1")
    problems += [f"solutions/{lab.name}.ipynb: {word}" for word in outputs.personal(solved.cells)]
    return problems


def orphans(project: Project) -> list[str]:
    names = {path.stem for path in (*project.sources([]), *project.beside)}
    maps = {project.map(lab) for lab in map(read, project.sources([])) if lab.here}
    left = [f"labs/pictures/{path.name} is the map of no lab: delete it"
            for path in sorted((project.labs / "pictures").glob("here-*.svg")) if path not in maps]
    return left + [f"{folder.name}/{path.name} has no source in solutions/source/"
            for folder in (project.labs, project.solutions) for path in sorted(folder.glob("*.ipynb")) if path.stem not in names]
