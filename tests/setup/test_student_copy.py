"""What students get: no solution in it, and everything that a student uses works."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from tools import student_copy
from tools.notebooks.build import Project
from tools.notebooks.source import read

PROJECT = Project()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (PROJECT.root / ".git").exists():
        pytest.skip("not a git checkout: no list of the project's files")
    folder = tmp_path_factory.mktemp("students")
    assert student_copy.main(["--to", str(folder)]) == 0
    return folder / "minikafka"


def run(copy: Path, *command: str) -> str:
    """What a command in the copy prints."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "LAB_STRICT": "0", "MINIKAFKA_PROGRESS": "off"}
    done = subprocess.run([sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_solution_is_in_the_copy(copy):
    """Fails if a notebook of the copy is solved or lacks its map, or if a file outside of the checks has a solution's marker."""
    assert not (copy / "solutions").exists()
    assert not (copy / "tests" / "lab" / "labs").exists()
    sources = PROJECT.sources([])
    made = sorted(f"{source.stem}.ipynb" for source in (*sources, *PROJECT.beside))
    assert made == sorted(path.name for path in (copy / "labs").glob("*.ipynb"))
    assert made == sorted(path.name for path in (copy / "labs" / ".fresh").iterdir())
    for source in sources:
        shown = "\n".join(cell.source for cell in nbformat.read(copy / "labs" / f"{source.stem}.ipynb", 4).cells)
        pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", shown)
        assert pictures and all((copy / "labs" / picture).is_file() for picture in pictures)
        solved = [cell.source for cell in read(source).cells if "### BEGIN SOLUTION" in cell.source]
        assert solved and "###" not in re.sub(r"(?m)^#+ .*$", "", shown)
        for cell in solved:
            answer = re.search(r"### BEGIN SOLUTION[^\n]*\n(.*?)\n *### END SOLUTION", cell, re.DOTALL)
            assert answer is not None and answer[1] not in shown


def test_texts_of_the_copy_name_nothing_that_is_not_there(copy):
    """I-COPY-2. Fails if a text names the solutions, or links to a file that was left out; or if it lost what it is for."""
    for path in copy.rglob("*.md"):
        text = path.read_text()
        assert not student_copy.NAMES.search(text), path
        for address in re.findall(r"\]\(([^)\s:#]+)(?:#[^)]*)?\)", text):
            assert (path.parent / address).exists(), f"{path.relative_to(copy)}: {address}"
    told = (copy / "README.md").read_text()
    assert "make lab LAB=08" in told and "Licence: [Apache 2.0]" in told


def test_checks_and_hints_work_in_the_copy(copy):
    """Fails if a check needs a file that was left out, or lets an empty answer pass."""
    told = run(copy, "-c", """
import minikafka
from minikafka.lab import check, hint, todo
print(minikafka.__file__)
print(repr(check("6.2", lambda leo, isr: min(leo[b] for b in isr))))
print(repr(check("6.2", lambda leo, isr: max(leo.values()))))
print(repr(check("6.2", lambda leo, isr: todo("everyone in sync"))))
print(hint("6.2", 1))
""")
    assert told.startswith(str(copy)) and [told.count(word) for word in ("6.2 PASS", "6.2 FAIL", "6.2 UNKNOWN")] == [1, 1, 1]
    assert len(told.splitlines()[-1]) > 20


def test_whatever_a_notebook_of_the_copy_imports_is_there(copy):
    """Fails if a cell imports a module of minikafka that was left out (lab 14 imported its pipelines from the wrong answers)."""
    missing = {}
    for path in (copy / "labs").glob("*.ipynb"):
        for cell in nbformat.read(path, 4).cells:
            for module in re.findall(r"^from (minikafka[\w.]*) import|^import (minikafka[\w.]*)", cell.source, re.MULTILINE):
                place = copy.joinpath(*"".join(module).split("."))
                if not (place.is_dir() or place.with_suffix(".py").is_file()):
                    missing.setdefault(path.stem, []).append(place.name)
    assert missing == {}


def test_a_fresh_notebook_comes_back_and_work_is_kept(copy):
    """I-NB-7 in the copy. Fails if `make labs LAB=06` needs the sources, or throws away what was typed."""
    place = next((copy / "labs").glob("06-*.ipynb"))
    fresh = place.read_bytes()
    notebook = nbformat.read(place, 4)
    notebook.cells[-1].source += "\n# mine"
    nbformat.write(notebook, place)
    assert run(copy, "tools/labs.py", "06").strip() == place.stem
    assert place.read_bytes() == fresh
    assert "# mine" in (copy / ".cache" / "labs" / f"{place.stem}-1.ipynb").read_text()


def test_the_archive_is_the_same_for_the_same_files(copy, tmp_path):
    """I-COPY-1. Fails if a date gets into the archive, or if the set-up script could not be run from it."""
    for name in ("one.zip", "two.zip"):
        student_copy.pack(copy / "tools", tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(copy.with_suffix(".zip")) as packed:
        assert packed.getinfo("minikafka/tools/setup.sh").external_attr >> 16 & 0o111
        assert not [name for name in packed.namelist() if "solutions" in name or not name.startswith("minikafka/")]
