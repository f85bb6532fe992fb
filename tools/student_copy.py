"""Makes what students get: the project without the solutions, as a folder and as one archive. `make student-copy`.

    tools/student_copy.py              build/minikafka/ and build/minikafka.zip
    tools/student_copy.py --to FOLDER  FOLDER/minikafka/ and FOLDER/minikafka.zip

Left out: solutions/ (with the wrong answers to each exercise), the tests of the labs, what only maintainers need. The checks, the
hints and the pictures work as before: a check tries an answer on many cases, and its code stays readable, like the broker's.
Fresh notebooks lie in labs/.fresh, so that `make labs LAB=06` works without their source.

Owns: the list of what is left out. Invariants
  I-COPY-1  same sources, same archive, byte for byte
  I-COPY-2  no text of the copy names a file that was left out
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.notebooks.build import FRESH, Project, student_notebook, text
from tools.notebooks.source import LabError, read

LEFT_OUT = re.compile(r"(solutions|tests/lab/(labs|website|web|teaching)|tests/setup|\.ci|\.github|docs/teaching)/"
                      r"|tools/(website|teach|web)/|CONTRIBUTING\.md|tools/(site|browser|teaching|student_copy)\.py|tools/notebooks/gate\.py|labs/[^/]*\.ipynb")
NAMES = re.compile(r"\bsolutions/|docs/teaching|tests/lab/labs|tests/setup|GATE\.md|make (site|browser|student-copy)"
                   r"|CONTRIBUTING\.md|\.ci/")
SECTIONS = ("For authors",)  # of the READMEs: nothing for students
SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z`\[])")
DATE = (1980, 1, 1, 0, 0, 0)  # of every file in the archive


def main(argv: list[str], project: Project | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="default: build")
    options = parser.parse_args(argv)
    project = project or Project()
    folder = (options.to or project.root / "build") / "minikafka"
    try:
        copy(project, folder)
    except (LabError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    archive = folder.with_suffix(".zip")
    pack(folder, archive)
    print(f"{archive}: {sum(path.is_file() for path in folder.rglob('*'))} files, {archive.stat().st_size / 1e6:.1f} MB")
    return 0


def copy(project: Project, folder: Path) -> None:
    """Write the folder anew: what git knows, less what is left out, and each lab's notebook, unsolved."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project.root, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        if name and not LEFT_OUT.match(name):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project.root / name, path)
            if path.suffix == ".md":
                path.write_text(readable(path.read_text()))
    for source in (*project.sources([]), *project.beside):
        notebook = text(student_notebook(read(source)))
        for where in (folder / "labs", folder / FRESH):
            where.mkdir(parents=True, exist_ok=True)
            (where / f"{source.stem}.ipynb").write_text(notebook)


def readable(markdown: str) -> str:
    """A text without the sections for authors, and without rows and sentences that speak of what was left out."""
    inside, out = False, []
    for block in blocks(markdown):
        if block.startswith("## "):
            inside = block[3:].strip() in SECTIONS
        if not inside:
            out.append(without(block))
    return "".join(out)


def without(block: str) -> str:
    """A paragraph or a list item without the sentences that name what was left out; a row of a table goes as a whole."""
    if not NAMES.search(block):
        return block
    kept = [] if block.startswith("|") else [each for each in SENTENCE.split(block.rstrip("\n")) if not NAMES.search(each)]
    return f"{' '.join(kept)}\n" if kept else ""


def blocks(markdown: str) -> Iterator[str]:
    """The text in pieces that can go alone: a paragraph, a list item, one row of a table."""
    block = ""
    for line in markdown.splitlines(keepends=True):
        if block and (line.startswith(("|", "* ", "- ", "#")) or not line.strip() or not block.strip() or block.startswith("|")):
            yield block
            block = ""
        block += line
    yield block


def pack(folder: Path, archive: Path) -> None:
    """The folder as an archive that is the same for the same files."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), DATE)
            entry.external_attr = (0o755 if path.stat().st_mode & 0o100 else 0o644) << 16
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
