"""The command `class`: one page over all that a class handed in, and its marks.

    python -m minikafka class FOLDER               reads all files, prints the tables, writes FOLDER/class.html
    python -m minikafka class FOLDER --mark        judges the answers again too, and writes FOLDER/marks.csv
    python -m minikafka class FOLDER --grades FILE      and fills the file of a learning system (grades.py)
    python -m minikafka class --room 30            how many students this machine bears (lab/room.py)

Owns: the arguments, and the page.
"""
from __future__ import annotations

import argparse
import html
import sys
from pathlib import Path

from minikafka.lab import classroom, record
from minikafka.lab.marking import files, grades, marks, rubric
from minikafka.lab.report import Table, found
from minikafka.machine.files import write_atomic

LONG = ("marks", "written answers", "files that were not read")     # tables with sentences in them


def main(arguments: list[str]) -> int:
    """Run `python -m minikafka class`; return 1 if there is nothing to read, or a student's kernel failed."""
    parser = argparse.ArgumentParser(prog="python -m minikafka class",
                                     description="Make one page of the files that a class handed in, "
                                     "or test whether this machine can serve a class.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?", help="folder of the files that progress().hand_in(NAME) wrote, "
                      "of progress files and of notebooks")
    what.add_argument("--room", type=int, metavar="N",
                      help="test with N students, each with a kernel, three brokers and a fleet")
    parser.add_argument("--mark", action="store_true", help="judge the answers again, and give points")
    parser.add_argument("--rubric", type=Path, metavar="FILE", help="points by exercise: lines such as `6.2 3`")
    parser.add_argument("--grades", type=Path, metavar="FILE",
                        help="fill the points into this file, which Moodle, Canvas or nbgrader has exported")
    options = parser.parse_args(arguments)
    if options.folder is None:
        return _rehearse(options.room)
    try:
        worth = rubric.read(options.rubric) if options.rubric else rubric.EACH_ONE_POINT
    except (OSError, ValueError) as error:
        print(f"no rubric: {error}", file=sys.stderr)
        return 1
    return _read_all(options.folder, worth if options.mark or options.rubric or options.grades else None, options.grades)


def _rehearse(students: int) -> int:
    from minikafka.lab.room import rehearse
    try:
        rehearse(students, lambda line: print(line, flush=True))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _read_all(folder: Path, worth: tuple[rubric.Worth, ...] | None, export: Path | None) -> int:
    unread: list[str] = []
    class_ = files.read_all(folder, unread)
    for why in unread:
        print(why, file=sys.stderr)
    if not class_:
        print(f'no hand-ins in {folder}: students write one with progress().hand_in("NAME")', file=sys.stderr)
        return 1
    labs = list(found(record.ROOT / "labs"))
    tables = {f"{len(class_)} students": classroom.who(class_, labs), "exercises": classroom.falls(class_, labs),
              "predictions": classroom.surprises(class_, labs)}
    if (wall := classroom.nights(class_)).rows:
        tables["shortest nights"] = wall
    if (words := classroom.written(class_)).rows:
        tables["written answers"] = words
    if worth is not None:
        marked = marks.mark(class_, labs, lambda line: print(line, flush=True))
        tables["marks"] = marks.table(marked, labs, worth)
        write_atomic(folder / "marks.csv", marks.as_csv(marks.with_written(tables["marks"], class_)))
    if unread:
        tables["files that were not read"] = Table(("file",), tuple((why,) for why in unread))
    for title, table in tables.items():
        print(f"{title}\n\n{table}\n")
    write_atomic(folder / "class.html", page(tables))
    print(f"the same as a page: {folder / 'class.html'}")
    return 0 if export is None else _fill(export, folder, tables["marks"])


def _fill(export: Path, folder: Path, table: Table) -> int:
    """Write a learning system's file with the points into the folder."""
    points, of = {row[0]: float(row[1]) for row in table.rows}, float(table.rows[0][2])
    try:
        text, left = grades.filled(export.read_text(encoding="utf-8"), points, of)
    except (OSError, ValueError) as error:
        print(f"no grades in {export.name}: {error}", file=sys.stderr)
        return 1
    write_atomic(to := folder / f"filled-{export.name}", text)
    print(f"points filled in: {to}")
    if left:
        print(f"no row there has the name of: {', '.join(left)}")
    return 0


def page(tables: dict[str, Table]) -> str:
    """Return the tables as one HTML page that needs nothing else."""
    style = "body{font:16px sans-serif;margin:2em}td,th{padding:.3em .8em;border-bottom:1px solid #ccc;white-space:nowrap;" \
            "vertical-align:top;text-align:left}.long td{white-space:normal}"
    parts = "".join(f"<h2>{html.escape(title)}</h2><div style='overflow-x:auto' class={'long' * (title in LONG)}>"
                    f"{table._repr_html_()}</div>" for title, table in tables.items())
    return f"<!doctype html><meta charset=utf-8><title>minikafka: a class</title><style>{style}</style>{parts}\n"
