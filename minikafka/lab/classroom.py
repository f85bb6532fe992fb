"""A class: what students hand in, and one page over all of it.

    progress().hand_in("Ada")                      in a notebook: writes minikafka-Ada.json beside it
    python -m minikafka class FOLDER               reads all of them, prints the tables, writes FOLDER/class.html
    python -m minikafka class FOLDER --mark        judges the answers again, writes FOLDER/marks.csv too (marking/)
    python -m minikafka class --room 30            how many students this machine bears (room.py)

A hand-in has the exercises with their code, the predictions and the minutes of the student's file (record.py), and the name that
the student typed; no times of day, no paths, nothing of the machine.

Owns: the file that is handed in, and the tables: who is where, which exercise falls most, which prediction surprised most, and
the wall of the shortest nights.
"""
from __future__ import annotations

import argparse
import html
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikafka.lab import record
from minikafka.lab.prediction import NEAR, RIGHT, SURPRISE
from minikafka.lab.report import Lab, Table, found, shortest
from minikafka.machine.files import write_atomic

if TYPE_CHECKING:
    from minikafka.lab.marking.rubric import Line

KIND = "minikafka hand-in"
LETTERS = 40  # of a name in the name of a file: no file system takes more than 255 bytes


@dataclass(frozen=True)
class HandIn:
    """The record that one student handed in."""

    name: str
    kept: record.Record


def hand_in(name: str, folder: Path | None = None) -> Path:
    """Write what this student has done to `minikafka-NAME.json` and return its path. The name is the student's own choice."""
    name = "" if name is None or name is ... else str(name).strip()
    if not name:
        raise ValueError('give a name: progress().hand_in("Ada")')
    kept = record.read()
    labs = {number: {"seconds": lab.get("seconds", 0.0)} for number, lab in kept["labs"].items()}
    called = re.sub(r"[^\w-]+", "-", name)[:LETTERS]
    path = (folder or Path.cwd()) / f"minikafka-{called}.json"
    del kept["recalled"]  # a memory that is asked is no mark
    whole = {"kind": KIND, "name": name, **kept, "labs": labs}
    write_atomic(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return path


def read(path: Path) -> HandIn:
    """Read one file. Raises ValueError, with the remedy, if it is none that `hand_in` wrote."""
    remedy = f'{path.name} is no hand-in: ask for the file that progress().hand_in("NAME") writes'
    try:
        found = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise ValueError(remedy) from error
    ours = isinstance(found, dict) and found.get("kind") == KIND and found.get("version") == record.VERSION
    if not ours or not record.whole(found):
        raise ValueError(remedy)
    return HandIn(str(found.get("name", path.stem)), found)


# --- the tables -----------------------------------------------------------------------------------------------------------

def who(class_: Iterable[HandIn], labs: list[Lab]) -> Table:
    """Return a table with a row for each student: the exercises passed in each lab, and the minutes in all labs."""
    rows = [(one.name, *(_passed(one, lab) for lab in labs), f"{_minutes(one):.0f}") for one in class_]
    return Table(("student", *(f"lab {lab.number}" for lab in labs), "minutes"), tuple(rows))


def _passed(one: HandIn, lab: Lab) -> str:
    done = [e for e in lab.exercises if one.kept["exercises"].get(e, {}).get("passed")]
    seen = any(e in one.kept["exercises"] for e in lab.exercises) or any(p in one.kept["predictions"] for p in lab.predictions)
    return f"{len(done)} of {len(lab.exercises)}" if seen else ""


def _minutes(one: HandIn) -> float:
    return sum(float(lab.get("seconds", 0.0)) for lab in one.kept["labs"].values()) / 60


def falls(class_: list[HandIn], labs: list[Lab]) -> Table:
    """Return a table with a row for each exercise that at least one student tried; the one that fewest have passed
    comes first."""
    rows = []
    for exercise in (e for lab in labs for e in lab.exercises):
        tried = [one.kept["exercises"][exercise] for one in class_ if exercise in one.kept["exercises"]]
        if tried:
            passed = sum(bool(each.get("passed")) for each in tried)
            tries = sum(int(each.get("tried", 0)) for each in tried) / len(tried)
            hints = sum(exercise in one.kept["hints"] for one in class_)
            rows.append((passed / len(tried), (exercise, f"{passed} of {len(tried)}", f"{tries:.1f}", str(hints))))
    head = ("exercise", "passed, of those who tried", "tries each", "asked for a hint")
    return Table(head, tuple(row for _, row in sorted(rows)))


def surprises(class_: list[HandIn], labs: list[Lab]) -> Table:
    """Return a table with a row for each prediction that was made, with the commonest guesses; the one that surprised
    most comes first."""
    rows = []
    for question in (p for lab in labs for p in lab.predictions):
        said = [one.kept["predictions"][question] for one in class_ if "word" in one.kept["predictions"].get(question, {})]
        if said:
            words = [each["word"] for each in said]
            guesses = [guess for guess, _ in Counter(str(each.get("guess")) for each in said).most_common(3)]
            rows.append((-words.count(SURPRISE) / len(said), (
                question, f"{words.count(SURPRISE)} of {len(said)}", str(words.count(RIGHT) + words.count(NEAR)),
                ", ".join(guesses), str(said[0].get("measured")))))
    head = ("prediction", "surprised", "right or near", "commonest guesses", "measured")
    return Table(head, tuple(row for _, row in sorted(rows)))


def nights(class_: list[HandIn]) -> Table:
    """Return the wall: a row for each night that broke a rule, the shortest of an exercise first."""
    rows = sorted((exercise, moves, one.name, known) for one in class_ for exercise, moves, known in shortest(one.kept))
    return Table(("exercise", "moves", "student", "shortest known"), tuple(tuple(map(str, row)) for row in rows))


# --- the command ------------------------------------------------------------------------------------------------------------

def main(arguments: list[str]) -> int:
    """Run `python -m minikafka class`; return 1 if there is nothing to read, or a student's kernel failed."""
    parser = argparse.ArgumentParser(prog="python -m minikafka class",
                                     description="Make one page of the files that a class handed in, "
                                     "or test whether this machine can serve a class.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?", help="folder of the files that progress().hand_in(NAME) wrote")
    what.add_argument("--room", type=int, metavar="N",
                      help="test with N students, each with a kernel, three brokers and a fleet")
    parser.add_argument("--mark", action="store_true", help="judge the answers again, and give points")
    parser.add_argument("--rubric", type=Path, metavar="FILE", help="points by exercise: lines such as `6.2 3`")
    options = parser.parse_args(arguments)
    if options.folder is None:
        return _rehearse(options.room)
    from minikafka.lab.marking import rubric
    try:
        worth = rubric.read(options.rubric) if options.rubric else rubric.EACH_ONE_POINT
    except (OSError, ValueError) as error:
        print(f"no rubric: {error}", file=sys.stderr)
        return 1
    return _read_all(options.folder, worth if options.mark or options.rubric else None)


def _rehearse(students: int) -> int:
    from minikafka.lab.room import rehearse
    try:
        rehearse(students, lambda line: print(line, flush=True))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _read_all(folder: Path, rubric: tuple[Line, ...] | None) -> int:
    class_ = sorted(_all(folder), key=lambda one: one.name.lower())
    if not class_:
        print(f'no hand-ins in {folder}: students write one with progress().hand_in("NAME")', file=sys.stderr)
        return 1
    labs = list(found(record.ROOT / "labs"))
    tables = {f"{len(class_)} students": who(class_, labs), "exercises": falls(class_, labs),
              "predictions": surprises(class_, labs)}
    if (wall := nights(class_)).rows:
        tables["shortest nights"] = wall
    if rubric is not None:
        from minikafka.lab.marking import marks
        marked = marks.mark(class_, labs, lambda line: print(line, flush=True))
        tables["marks"] = marks.table(marked, labs, rubric)
        write_atomic(folder / "marks.csv", marks.as_csv(tables["marks"]))
    for title, table in tables.items():
        print(f"{title}\n\n{table}\n")
    write_atomic(folder / "class.html", page(tables))
    print(f"the same as a page: {folder / 'class.html'}")
    return 0


def _all(folder: Path) -> Iterator[HandIn]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield read(path)
        except ValueError as error:
            print(error, file=sys.stderr)


def page(tables: dict[str, Any]) -> str:
    """Return the tables as one HTML page that needs nothing else."""
    style = "body{font:16px sans-serif;margin:2em}td,th{padding:.3em .8em;border-bottom:1px solid #ccc;white-space:nowrap}"
    parts = "".join(f"<h2>{html.escape(title)}</h2><div style='overflow-x:auto'>{table._repr_html_()}</div>"
                    for title, table in tables.items())
    return f"<!doctype html><meta charset=utf-8><title>minikafka: a class</title><style>{style}</style>{parts}\n"
