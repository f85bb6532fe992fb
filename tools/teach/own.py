"""Sheets with figures of each student's own: the questions of the exam, drawn from a seed and a name, and the key of the class.

    own("2027-blue-kettle", "Ada Lovelace", range(6, 7))        the questions of her sheet

A neighbour's answer is worth nothing. Students answer in a notebook, by `progress().write("6.own1", "b")`, or on the paper.

Owns: what a sheet is, and the numbers of its questions. Invariant
  a name gives the same sheet whatever its capitals and spaces are, and "Lovelace, Ada" that of "Ada Lovelace"
"""
from __future__ import annotations

from collections.abc import Container, Sequence
from html import escape

from minikafka.lab.marking.grades import plain_name
from minikafka.lab.marking.marks import as_csv
from minikafka.lab.report import Table
from tools.teach.exam import LETTERS, drawn, questions
from tools.teach.kinds import Question
from tools.teach.paper import page, table

Rows = list[tuple[str, ...]]


def own(seed: str, name: str, labs: Container[int]) -> list[Question]:
    """Return the questions of one student: one of each kind of these labs."""
    return drawn(f"{seed}/{plain_name(name)}", 1, labs)


def numbers(ones: Sequence[Question]) -> list[str]:
    """Return the number of each question, such as 6.own1, for `progress().write`."""
    return [f"{one.lab}.own{sum(other.lab == one.lab for other in ones[:place])}" for place, one in enumerate(ones, 1)]


def key(seed: str, names: Sequence[str], labs: Container[int]) -> Rows:
    """Return a row for each student: the right letter of each question."""
    sheets = [own(seed, name, labs) for name in names]
    return [("student", *numbers(sheets[0])),
            *((name, *(LETTERS[one.right] for one in ones)) for name, ones in zip(names, sheets))]


def made(seed: str, names: Sequence[str], labs: Container[int], name: str) -> dict[str, str]:
    """Return the files, by `name`: the sheets, which do not name the seed, their key, and the key for a spreadsheet."""
    rows = key(seed, names, labs)
    how = f'One option of each is right. In a notebook: progress().write("{rows[0][1]}", "b") for the first question, and so on.'
    parts = [f"<section class=sheet><h1>{escape(one)}</h1><p>{escape(how)} Your numbers: {', '.join(rows[0][1:])}.</p>"
             + "".join(questions(own(seed, one, labs))) + "</section>" for one in names]
    key_page = page("Key of the sheets", [f"<h1>Key of the sheets</h1><p>Seed: {escape(name)}</p>{table(rows)}"])
    return {f"own-{name}.html": page("Sheets", parts), f"own-{name}-key.html": key_page,
            f"own-{name}-key.csv": as_csv(Table(rows[0], tuple(rows[1:])))}
