"""Marks of a class: the points of each student, what a teacher should look at, and the same as a file (CSV).

    student    points    of    lab 0 ... lab 14    look at
    Ada        41        93    6 of 6              6.2 passed, and here it is FAIL: ...

Owns: the table and the file. A cell that several students have, but for layout and comments, is judged once.
"""
from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from minikafka.lab.classroom import HandIn
from minikafka.lab.marking import remarks
from minikafka.lab.marking.apart import Judged, closed, judged
from minikafka.lab.marking.cell import FILE, whole
from minikafka.lab.marking.rubric import Worth, points
from minikafka.lab.report import Lab, Table


@dataclass(frozen=True)
class Marked:
    """One student: the verdict on each exercise whose code is in the file, and what to look at."""

    name: str
    found: dict[str, Judged]
    look: tuple[str, ...]


def mark(class_: list[HandIn], labs: list[Lab], tell: Callable[[str], None] = lambda line: None) -> list[Marked]:
    """Judge what was handed in, on all cores. `tell` gets a line for each student."""
    known = [exercise for lab in labs for exercise in lab.exercises]
    code = {one.name: {e: text for e in known if (text := whole(one.kept["exercises"].get(e, {}))) is not None}
            for one in class_}
    keys = {name: {e: (e, name if FILE.match(text) else remarks.without_layout(text)) for e, text in mine.items()}
            for name, mine in code.items()}     # a file goes on from the same student's others
    first: dict[tuple[str, str], str] = {}      # of equal code the student whose process judges it
    for name, mine in keys.items():
        for key in mine.values():
            first.setdefault(key, name)
    verdicts: dict[tuple[str, str], Judged] = {}

    def judge(name: str) -> None:
        found = judged(code[name], [e for e, key in keys[name].items() if first[key] != name])
        verdicts.update({keys[name][e]: verdict for e, verdict in found.items()})
        tell(f"{name}: judged")
    with closed(), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(judge, code))
    shared = remarks.of_shared_code(code)
    marked = []
    for one in class_:
        mine = code[one.name]
        found = {e: verdicts[key] for e, key in keys[one.name].items()}
        several = [f"{one.files} files; each answer is that of the file with most work"] if one.files > 1 else []
        marked.append(Marked(one.name, found, (*remarks.of_passes(one, found), *remarks.of_minutes(one, labs),
                                               *remarks.of_reaches(mine), *shared.get(one.name, ()), *several)))
    return marked


def table(marked: list[Marked], labs: list[Lab], rubric: tuple[Worth, ...]) -> Table:
    """Return a row for each student: the points, those of each lab, and what to look at."""
    def worth(exercises: tuple[str, ...], found: dict[str, Judged] | None = None) -> float:
        return sum(points(rubric, e) for e in exercises if found is None or found.get(e))
    some = [lab for lab in labs if worth(lab.exercises)]
    every = tuple(e for lab in some for e in lab.exercises)
    rows = [(one.name, f"{worth(every, one.found):g}", f"{worth(every):g}",
             *(f"{worth(lab.exercises, one.found):g}" for lab in some), "; ".join(one.look)) for one in marked]
    return Table(("student", "points", "of", *(f"lab {lab.number}" for lab in some), "look at"), tuple(rows))


def with_written(marks: Table, class_: list[HandIn]) -> Table:
    """Return the table with a column for each written question, for a teacher's points; 0 where a student wrote nothing."""
    by_name = {one.name: one.kept.get("written", {}) for one in class_}
    questions = sorted({question for wrote in by_name.values() for question in wrote})
    return Table((*marks.head, *(f"written {question}" for question in questions)),
                 tuple((*row, *("" if question in by_name[row[0]] else "0" for question in questions)) for row in marks.rows))


def as_csv(marks: Table) -> str:
    """Return the table as a file that a spreadsheet or a learning system reads. A name that begins as a formula does is text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (marks.head, *marks.rows):
        writer.writerow([f"'{word}" if word[:1] in ("=", "+", "-", "@", "\t") else word for word in row])
    return out.getvalue()
