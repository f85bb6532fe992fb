"""A test before and after a course: 25 misconceptions, in two forms that ask the same in other words and with other figures.

    questions("A")      25 items, one for each misconception
    form("B")           the page that prints; key("B") is its key, a page of its own

Owns: items.tsv, which answer stands at which letter, and where a key comes from: the cell of a lab that shows it. Invariants
  both forms ask about the same misconceptions, in the same order
  one wrong answer of each question is the misconception itself, and the key says which
"""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from minikafka.lab import beliefs
from tools.notebooks.build import ROOT
from tools.teach.exam import LETTERS, questions
from tools.teach.minutes import labs
from tools.teach.paper import page, table
from tools.teach.question import Question

TABLE = Path(__file__).with_name("items.tsv")
FORMS = ("A", "B")


@dataclass(frozen=True)
class Item:
    """One line of items.tsv."""

    belief: str
    form: str
    ask: str
    answers: tuple[str, ...]  # the right one first, then what people believe

    def question(self, lab: int) -> Question:
        """Return it with its answers in an order that depends on nothing but its place in the table."""
        options = list(self.answers)
        Random(f"{self.belief}{self.form}").shuffle(options)
        return Question(lab, (), self.ask, tuple(options), options.index(self.answers[0]))

    def letter(self, answer: int) -> str:
        return LETTERS[self.question(0).options.index(self.answers[answer])]


def items(form: str) -> list[Item]:
    rows = (line.split("\t") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return [Item(belief, of, ask, tuple(answers)) for belief, of, ask, *answers in rows if of == form]


@cache
def sources() -> dict[str, tuple[int, str]]:
    """Return the first lab and section with a cell that refutes each misconception, by its number."""
    found: dict[str, tuple[int, str]] = {}
    for lab, one in labs().items():
        cells = json.loads((ROOT / "solutions" / f"{one.name}.ipynb").read_text())["cells"]
        for refutation in beliefs.refutations(cells):
            found.setdefault(refutation.belief, (lab, refutation.section))
    return found


def form(name: str) -> str:
    """Return the questions of form A or B, as a page."""
    chosen = items(name)
    head = (f"<h1>What do you know of Kafka? Form {name}</h1><p class=name>Name</p><p>{len(chosen)} questions, a minute each. "
            "One answer is right: mark its letter. Nobody is graded by this sheet. Where you do not know, mark nothing.</p>")
    return page(f"Form {name}", [head, *questions(item.question(sources()[item.belief][0]) for item in chosen)])


def key(name: str) -> str:
    """Return the key of form A or B, as a page."""
    head = (f"<h1>Key of form {name}</h1><p>“Believed” is the letter of the misconception itself. Count it apart from other "
            "wrong answers: who marks it before and not after has learned this.</p>")
    return page(f"Key of form {name}", [head, f"<div class=small>{table(_key(items(name)))}</div>"])


def _key(chosen: list[Item]) -> list[tuple[str, ...]]:
    known = {belief.id: belief.belief for belief in beliefs.table()}
    rows: list[tuple[str, ...]] = [("question", "right", "believed", "misconception", "shown in")]
    for number, item in enumerate(chosen, 1):
        lab, section = sources()[item.belief]
        rows.append((str(number), item.letter(0), item.letter(1), known[item.belief], f"lab {lab}, section {section}"))
    return rows
