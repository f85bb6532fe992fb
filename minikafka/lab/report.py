"""`progress()`: one page over all labs: what is passed, which predictions surprised, how long it took, what is next;
and `progress().misconceptions`: what people believe, the cell that refutes each, and what you said there.

The exercises and predictions come from the metadata of the notebooks in labs/; what is passed and measured comes from
the student's file (`record.py`).
"""
from __future__ import annotations

import html
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.lab import beliefs, record
from minikafka.lab.prediction import NEAR, RIGHT, SURPRISE
from minikafka.lab.verdict import AS_IT_IS

HEAD = ("lab", "exercises passed", "tried", "predictions right", "near", "surprising", "minutes")


@dataclass(frozen=True, slots=True)
class Lab:
    """One row of the page."""

    number: int
    title: str
    minutes: int
    exercises: tuple[str, ...]
    predictions: tuple[str, ...]
    refutes: tuple[beliefs.Refutation, ...] = ()

    def row(self, kept: record.Record) -> tuple[str, ...]:
        tried = [e for e in self.exercises if e in kept["exercises"]]
        passed = [e for e in tried if kept["exercises"][e].get("passed")]
        words = [kept["predictions"].get(p, {}).get("word") for p in self.predictions]
        spent = kept["labs"].get(str(self.number), {}).get("seconds", 0.0) / 60
        return (f"{self.number} · {self.title}", f"{len(passed)} of {len(self.exercises)}", str(len(tried)),
                f"{words.count(RIGHT)} of {len(words)}", str(words.count(NEAR)), str(words.count(SURPRISE)),
                f"{spent:.0f} of about {self.minutes}")


@dataclass(frozen=True, slots=True)
class Table:
    """A table, as the last expression of a cell shows it; `print` shows the same as text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        table = [self.head, *self.rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(self.head))]
        return "\n".join("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in table)

    def _repr_html_(self) -> str:
        def cells(row: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f'<{tag} style="text-align: left">{html.escape(word)}</{tag}>' for word in row) + "</tr>"
        return f"<table {AS_IT_IS}>" + cells(self.head, "th") + "".join(cells(row, "td") for row in self.rows) + "</table>"


@dataclass(frozen=True, slots=True)
class Page:
    """The page of `progress()`; `misconceptions` is a second one: what people believe, and what you said."""

    labs: Table
    surprises: tuple[str, ...]
    misconceptions: Table
    next: str
    place: str
    recalled: str
    nights: tuple[str, ...] = ()

    @property
    def met(self) -> str:
        """Say how many misconceptions you have met: a cell that refutes one has answered your prediction."""
        many = sum(bool(row[-1]) for row in self.misconceptions.rows)
        return f"misconceptions met: {many} of {len(self.misconceptions.rows)} (progress().misconceptions lists them)"

    def write(self, question: str, text: str) -> str:
        """Keep a written answer, which is handed in too: progress().write("6.a", "A consumer that ...")."""
        from minikafka.lab.classroom import write
        return write(question, text)

    def hand_in(self, name: str) -> str:
        """Write what you have done to a file for your teacher, under the name that you give; say where it is."""
        from minikafka.lab.classroom import hand_in
        try:
            return (f"written: {hand_in(name).name}. It has your exercises with their code, your written answers, "
                    "your predictions and minutes, and nothing else.")
        except (ValueError, OSError) as error:
            return f"not written: {error}"

    def __repr__(self) -> str:
        told = (*self.surprises, *self.nights)
        return "\n".join([repr(self.labs), "", *told, self.met, self.recalled, f"next: {self.next}", self.place])

    def _repr_html_(self) -> str:
        surprises = "".join(f"<li>{html.escape(line)}</li>" for line in (*self.surprises, *self.nights))
        return (f"<div {AS_IT_IS}>" + self.labs._repr_html_() + (f"<ul>{surprises}</ul>" if surprises else "")
                + f"<p>{html.escape(self.met)}<br>{html.escape(self.recalled)}</p><p><b>Next:</b> {html.escape(self.next)}</p>"
                + f"<p>{html.escape(self.place)}</p></div>")


def progress(root: Path = record.ROOT) -> Page:
    """Return the page that shows where you stand, over all labs."""
    kept, labs, place = record.read(), list(found(root / "labs")), record.place()
    surprises = tuple(f"you mispredicted {p}: you said {e.get('guess')}, measured {e.get('measured')}"
                      for lab in labs for p in lab.predictions
                      if (e := kept["predictions"].get(p, {})).get("word") == SURPRISE)
    where = "nothing is kept: MINIKAFKA_PROGRESS is off, or this is a test" if place is None else f"kept in {shown(place, root)}"
    nights = tuple(f"your shortest night of {exercise}: {moves} moves; the shortest known has {known}"
                   for exercise, moves, known in shortest(kept))
    rows = tuple(lab.row(kept) for lab in labs)
    return Page(Table(HEAD, rows), surprises, misconceptions(labs, kept), to_do(labs, kept), where, recalled(kept), nights)


def misconceptions(labs: list[Lab], kept: record.Record) -> Table:
    """Return a row for each misconception: the belief, what is so, the section that shows it, and what you said there."""
    where: dict[str, list[str]] = {}
    said: dict[str, list[str]] = {}
    for lab in labs:
        for found in lab.refutes:
            where.setdefault(found.belief, []).append(f"{lab.number}: {found.section}")
            answers = (kept["predictions"].get(prediction, {}) for prediction in found.predictions)
            said.setdefault(found.belief, []).extend(
                f"{a.get('guess')}, measured {a['measured']}: {a['word']}" for a in answers if "word" in a)
    return Table(("", "people believe", "it is so", "lab: section", "you said"),
                 tuple((b.id, b.belief, b.truth, "; ".join(dict.fromkeys(where.get(b.id, ()))), "; ".join(said.get(b.id, ())))
                       for b in beliefs.table() if not b.is_claim))


def recalled(kept: record.Record) -> str:
    """Say how the questions from earlier labs went, each by its last answer."""
    right = sum(bool(entry.get("right")) for entry in kept["recalled"].values())
    return f"questions from earlier labs: {right} of {len(kept['recalled'])} right when last asked"


def shortest(kept: record.Record) -> Iterator[tuple[str, int, int]]:
    """Yield (exercise, moves, moves of the shortest known) for each rule that a night of this student has broken."""
    from minikafka.lab.inside.goals import GOALS
    for exercise, goal in GOALS.items():
        if isinstance(moves := kept["exercises"].get(exercise, {}).get("moves"), int):
            yield exercise, moves, goal.shortest


def found(folder: Path) -> Iterator[Lab]:
    """Yield the labs of a folder, in order; each once, also where a student has made copies or notebooks of their own."""
    labs: dict[int, Lab] = {}
    for path in sorted(folder.glob("*.ipynb"), key=lambda path: (len(path.name), path.name)):  # before its own copies
        with suppress(ValueError, KeyError, TypeError, AttributeError, OSError):  # somebody's own notebook, or half a file
            lab = _lab(json.loads(path.read_text()))
            labs.setdefault(lab.number, lab)
    yield from (labs[number] for number in sorted(labs))


def _lab(notebook: dict[str, Any]) -> Lab:
    """Return the lab that a notebook is, under whatever name it lies there. KeyError or another error if it is none."""
    facts = notebook["metadata"]["minikafka"]
    number = int(Path(facts["source"]).name.partition("-")[0])
    return Lab(number, facts["title"], facts["minutes"], tuple(facts["exercises"]), tuple(facts["predictions"]),
               tuple(beliefs.refutations(notebook["cells"])))


def to_do(labs: list[Lab], kept: record.Record) -> str:
    """Name the first exercise that is not passed: of the lab that was worked in last, else of the first lab that has one."""
    last = max(kept["labs"], key=lambda number: kept["labs"][number].get("last", 0.0), default="")
    for lab in sorted(labs, key=lambda lab: str(lab.number) != last):
        left = [e for e in lab.exercises if not kept["exercises"].get(e, {}).get("passed")]
        if left:
            return f"exercise {left[0]} in lab {lab.number}, {lab.title}"
    return "every exercise of the labs that are here is passed"


def shown(place: Path, root: Path) -> str:
    return str(place.relative_to(root)) if place.is_relative_to(root) else str(place)
