"""What a class handed in: the files of a folder, one hand-in for each student.

    the file                                 who handed it in
    minikafka-Ada.json                       the name that she typed (lab/classroom.py)
    progress.json, the student's record      the folder in which it lies; in FOLDER itself the file's own name
    06-replication.ipynb, a notebook         the same
    anything in a student's folder           the folder: FOLDER/Ada/; nbgrader's submitted/Ada/LAB/; of Moodle's
                                             Ada_7_assignsubmission_file_/ the first part

A browser gives a second download of one name another one, `progress (1).json`: without a folder this is another student.

Owns: whose a file is, and which exercises a notebook answers. Invariants
  a student with several files has each exercise, guess and answer from the file with most work, among those that have it
  a file that is no hand-in is named, and the others are read
"""
from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from minikafka.lab import classroom, names, record
from minikafka.lab.classroom import HandIn
from minikafka.lab.marking.cell import FILE
from minikafka.lab.uses import uses

PLACES = {"*": None, "*/*": -2, "submitted/*/*/*": -3}  # where files lie, and which part of the path is the student's name
KINDS = (".json", ".ipynb")
MOODLE = re.compile(r"_\d+_assignsubmission_file_?$")  # behind the name of a folder
UNREAD = (ValueError, OSError, RecursionError, MemoryError, KeyError, TypeError)  # of what is no notebook


def read_all(folder: Path, unread: list[str]) -> list[HandIn]:
    """Return the hand-ins of a folder, one for each student, by name. Why a file is no hand-in goes into `unread`."""
    return sorted(together(_each(folder, unread)), key=lambda one: one.name.lower())


def _each(folder: Path, unread: list[str]) -> Iterator[HandIn]:
    for place, part in PLACES.items():
        for path in sorted(folder.glob(place)):
            if path.suffix not in KINDS or any(each.startswith(".") for each in path.relative_to(folder).parts):
                continue
            name = MOODLE.sub("", path.parts[part]) if part else ""
            try:
                yield notebook(path, name) if path.suffix == ".ipynb" else classroom.read(path, name)
            except ValueError as error:
                unread.append(str(error))


def together(files: Iterator[HandIn]) -> list[HandIn]:
    """Return one hand-in for each name, of all its files. A file has no date: what counts is that with most tries and minutes.
    Names that differ in case or spaces are one student."""
    by_name: dict[str, list[HandIn]] = {}
    for one in files:
        by_name.setdefault(" ".join(one.name.split()).casefold(), []).append(one)
    found = []
    for same in by_name.values():
        same.sort(key=_work)
        kept = {part: {key: entry for one in same for key, entry in one.kept.get(part, {}).items()} for part in record.PARTS}
        found.append(replace(same[-1], kept=kept, files=len(same)))
    return found


def _work(one: HandIn) -> tuple[float, float]:
    return (sum(float(entry.get("tried", 0)) for entry in one.kept["exercises"].values()),
            sum(float(lab.get("seconds", 0.0)) for lab in one.kept["labs"].values()))


# --- a notebook -----------------------------------------------------------------------------------------------------------

def notebook(path: Path, name: str = "") -> HandIn:
    """Read a notebook. Raises ValueError, with the remedy, if it answers no exercise."""
    try:
        if path.stat().st_size > classroom.MOST:
            raise ValueError
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8-sig"))["cells"] if cell["cell_type"] == "code"]
        answered = _answered([("".join(cell["source"]), json.dumps(cell.get("outputs"), ensure_ascii=False)) for cell in cells])
    except UNREAD:
        answered = {}
    if not answered:
        raise ValueError(f'{path.name} is no notebook with answers: ask for the file that progress().hand_in("NAME") writes')
    return HandIn(name or path.stem, {**record.empty(), "exercises": answered})


def _answered(cells: list[tuple[str, str]]) -> dict[str, Any]:
    """Return the entries of a record (lab/record.py) for the exercises that these cells, each with what it put out, answer."""
    found, files, earlier = dict[str, Any](), dict[str, str](), list[str]()
    for source, output in cells:
        if file := FILE.match(source):
            files[file[1]] = source
        for exercise, answer in _asked(source):
            code = files.get(answer, source)[:names.LETTERS]
            found[exercise] = {"tried": 1, "passed": f"{exercise} PASS" in output, "code": code,
                               "uses": uses(code, earlier)[:names.LETTERS]}
        earlier.append(source)
    return found


def _asked(source: str) -> Iterator[tuple[str, str]]:
    """Yield the exercises that a cell checks, each with the file that it names or ""; none if the cell stands at todo()."""
    calls = [node for statement in names.statements(source) for node in ast.walk(statement)
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    if any(call.func.id == "todo" for call in calls):
        return
    for call in calls:
        texts = [each.value if isinstance(each, ast.Constant) and isinstance(each.value, str) else "" for each in call.args]
        if call.func.id == "check" and len(texts) > 1 and texts[0]:
            yield texts[0], texts[1]
