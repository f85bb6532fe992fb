"""A class: what students hand in, and tables over all of it (the command `class`: marking/command.py).

    progress().write("6.a", "A consumer that ...")      in a notebook: keeps a written answer; the teacher gives the question
    progress().hand_in("Ada")                           writes minikafka-Ada.json beside the notebook

A hand-in has the exercises with their code, the written answers, the predictions and the minutes of the student's file
(record.py), and the name that the student typed; no times of day, no paths, nothing of the machine.

Owns: the file that is handed in, and the tables: who is where, which exercise falls most, which prediction surprised most, and
the wall of the shortest nights, and what was written.
"""
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minikafka.lab import record
from minikafka.lab.prediction import NEAR, RIGHT, SURPRISE
from minikafka.lab.report import Lab, Table, shortest
from minikafka.machine.files import write_atomic

KIND = "minikafka hand-in"
WRITTEN = 4000  # letters of a written answer
MOST = 8 << 20  # bytes of a file
LONGEST = 100  # letters of a name
LETTERS = 40  # of a name in the name of a file: no file system takes more than 255 bytes


@dataclass(frozen=True)
class HandIn:
    """The record that one student handed in, and the number of files that it came in."""

    name: str
    kept: record.Record
    files: int = 1


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


def write(question: str, text: str) -> str:
    """Keep a written answer; a later one to the same question replaces it. Return what is kept, in a sentence."""
    if not isinstance(question, str) or not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,2}\.\w{1,20}", question):
        return 'a question and a text are wanted, both in quotes: progress().write("6.a", "A consumer that ...")'
    kept = text.strip()[:WRITTEN].encode(errors="replace").decode()
    record.change(question.partition(".")[0], lambda record: record["written"].update({question: {"text": kept}}))
    cut = f"; it had {len(text.strip())}, and the rest is left out" if len(text.strip()) > WRITTEN else ""
    return f"{question}: {len(kept)} letters are kept, for the teacher to mark{cut}"


def read(path: Path, name: str = "") -> HandIn:
    """Read one file that `hand_in` wrote, or a student's record itself. `name`: who handed it in, where somebody else than the
    file says it. Raises ValueError, with the remedy, if it is neither."""
    remedy = f'{path.name} is no hand-in: ask for the file that progress().hand_in("NAME") writes'
    try:
        if path.stat().st_size > MOST:
            raise ValueError(remedy)
        found = json.loads(path.read_text(encoding="utf-8-sig"))
        # half of a letter (\ud800) can be loaded and not be printed
        found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, OSError, RecursionError) as error:
        raise ValueError(remedy) from error
    ours = isinstance(found, dict) and (found.get("kind") == KIND or "kind" not in found and record.whole(found))
    if ours and type(version := found.get("version")) is int and version != record.VERSION:
        raise ValueError(f"{path.name} is of another version of the course ({version}, and this one reads {record.VERSION}): "
                         "ask for a hand-in that this version has written")
    if not ours or found.get("version") != record.VERSION or not record.whole(found) or not _counts(found):
        raise ValueError(remedy)
    typed = " ".join("".join(each if each.isprintable() else " " for each in str(found.get("name", ""))).split())
    return HandIn(name or typed[:LONGEST] or path.stem, found)


def _counts(found: record.Record) -> bool:
    """Return whether what is added up is a number in each entry: a file can be made by hand."""
    numbers = [entry.get(name, 0) for part, name in (("exercises", "tried"), ("labs", "seconds"))
               for entry in found[part].values()]
    return all(type(each) in (int, float) and 0 <= each < 1e9 for each in numbers)


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


def written(class_: list[HandIn]) -> Table:
    """Return a row for each written answer, those to one question together; its points are left open."""
    rows = sorted((question, one.name, " ".join(str(entry.get("text", "")).split())[:WRITTEN])
                  for one in class_ for question, entry in one.kept.get("written", {}).items())
    return Table(("question", "student", "answer", "points"), tuple((*row, "") for row in rows))
