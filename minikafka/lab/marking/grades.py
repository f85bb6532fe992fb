"""The points of a class in the file that a learning system gave out, so that it takes the file back.

    --grades FILE       FOLDER/FILE is written: the same rows and columns, with the points of those whose names are found

    system       the file that it gives out       who a row is                              where the points go
    Moodle       the offline grading worksheet    Full name, Email address, ID number       Grade, in parts of Maximum grade
    Canvas       the gradebook (export)           Student, SIS User ID, SIS Login ID, ID    a new column, minikafka
    nbgrader     grades.csv (nbgrader export)     student_id, email                         score, and max_score

Each system knows its students by numbers of its own, so a file without them cannot be taken back.

Owns: which columns a system has. Invariant
  no other cell of the file is changed, and a row whose student handed nothing in stays as it is
"""
from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

Rows = list[list[str]]


@dataclass(frozen=True)
class LearningSystem:
    """The columns of one system's file: by which it is known, who a row is, where points and the most of them stand."""

    name: str
    known_by: frozenset[str]
    who: tuple[str, ...]
    grade: str
    most: str = ""


SYSTEMS = (
    LearningSystem("Moodle", frozenset({"Identifier", "Grade"}), ("Full name", "Email address", "ID number", "Username"), "Grade",
                   "Maximum grade"),
    LearningSystem("Canvas", frozenset({"Student", "ID", "Section"}), ("Student", "SIS User ID", "SIS Login ID", "ID"),
                   "minikafka"),
    LearningSystem("nbgrader", frozenset({"student_id", "score"}), ("student_id", "email"), "score", "max_score"))
POSSIBLE = "Points Possible"    # in the second row of Canvas: what each column is worth


def filled(text: str, points: Mapping[str, float], of: float) -> tuple[str, list[str]]:
    """Return the file with these points, each `of` the same most, and the names that are in no row of it. ValueError, with the
    remedy, if it is no system's file."""
    rows = [row for row in csv.reader(io.StringIO(text.lstrip("\ufeff"))) if row]
    system = next((each for each in SYSTEMS if rows and each.known_by <= {*map(str.strip, rows[0])}), None)
    if system is None:
        raise ValueError("its first row is none of " + ", ".join(each.name for each in SYSTEMS) + ": give the file that your "
                         "learning system exports, unchanged")
    head = [*map(str.strip, rows[0])]
    if "assignment" in head and len(several := {row[head.index("assignment")] for row in rows[1:]}) > 1:
        raise ValueError(f"it has several assignments ({', '.join(sorted(several))}): keep the rows of one")
    if system.grade not in head:
        head.append(system.grade)
        rows = [row + [""] * (len(head) - len(row)) for row in rows]
        rows[0][-1] = system.grade
    left = {plain_name(name): name for name in points}
    for row in rows[1:]:
        row += [""] * (len(head) - len(row))
        names = [plain_name(row[head.index(column)]) for column in system.who if column in head]
        if found := next((name for name in names if name in left), None):
            _fill(row, head, system, points[left.pop(found)], of)
        elif plain_name(row[0]) == plain_name(POSSIBLE) and system.grade == head[-1]:
            row[-1] = f"{of:g}"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue(), [*left.values()]


def _fill(row: list[str], head: list[str], system: LearningSystem, points: float, of: float) -> None:
    place = head.index(system.most) if system.most in head else None
    try:
        most = float(row[place]) if place is not None else of
    except ValueError:      # it says nothing yet
        most = row[place] = of      # type: ignore[assignment,index,call-overload]
    row[head.index(system.grade)] = f"{points * most / of if of else 0:g}"


def plain_name(name: str) -> str:
    """Return a name without capitals and double spaces; "Lovelace, Ada" is "ada lovelace"."""
    last, comma, first = name.partition(",")
    return " ".join((f"{first} {last}" if comma else name).split()).casefold()
