"""Three questions from earlier labs, at the start of a lab: two sentences each, and one of them is so.

    recall("4")             in a notebook's page two buttons a question; elsewhere the questions as text
    recall("4", "a b a")    the answers, where there are no buttons

A question is a misconception (beliefs.tsv): what people believe, and what is so. First come those whose prediction surprised the
student, then those that were answered wrong here, then such as the student never met, then what was asked longest ago. Nothing is
marked.

Owns: which questions a lab asks, in which order the two sentences stand, and the answers in the student's file.

Invariants
  I-RECALL-1  no question tells of this lab or of a later one
  I-RECALL-2  without a record a lab asks the same questions each time
"""
from __future__ import annotations

import html
from collections import defaultdict
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from minikafka.lab import beliefs, record
from minikafka.lab.prediction import BLUE, ORANGE, RIGHT, SURPRISE
from minikafka.lab.verdict import AS_IT_IS, panel

MANY = 3
LETTERS = "ab"
HEAD = "Before you begin: which is so, a or b? Nothing is marked."
_shown: dict[str, list[Question]] = {}  # by lab, in this kernel: what `recall("4", "a b a")` answers


@dataclass(frozen=True, slots=True)
class Question:
    """One question: the two sentences as they stand, the letter of what is so, and the section that showed it."""

    id: str
    sentences: tuple[str, str]
    so: str
    where: str

    def answer(self, said: str) -> str:
        """Return what to tell somebody who said `said`, a letter."""
        return f"{self.so} is so: {self.sentences[LETTERS.index(self.so)]} {self.where}".rstrip()


class Recall:
    """The questions of one call, and the answers so far; the last expression of a cell shows it."""

    def __init__(self, lab: str, questions: list[Question], said: str = "") -> None:
        self.lab, self.questions, self.said = lab, questions, said

    def __repr__(self) -> str:
        if not self.questions:
            return "There is no question from an earlier lab."
        lines = [HEAD]
        for number, question in enumerate(self.questions):
            lines += ["", *(f"{number + 1}{letter}  {sentence}" for letter, sentence in zip(LETTERS, question.sentences))]
            if self.said:
                lines.append(f"    {self.word(number)}: {question.answer(self.said[number])}")
        example = " ".join("aba"[:len(self.questions)])
        return "\n".join(lines if self.said else [*lines, "", f'Your answers: recall("{self.lab}", "{example}")'])

    def word(self, number: int) -> str:
        return RIGHT if self.said[number] == self.questions[number].so else SURPRISE

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from minikafka.lab.view.front import PAGE, kind  # not above: who only checks an answer needs no picture
        text = {"text/plain": repr(self)}
        if self.said or not self.questions or kind() != PAGE:
            return text
        try:
            return {**buttons(self)._repr_mimebundle_(), **text}
        except ImportError:  # no widgets here
            return text


def recall(lab: str, answers: str | None = None) -> Recall | str:
    """Ask three questions from the labs before `lab` ("4"), or judge `answers` ("a b a") to those that were asked last."""
    number = str(lab).strip()
    if not number.isdecimal():
        return 'the number of the lab comes first, in quotes, such as recall("4")'
    number = str(int(number))
    if answers is None or number not in _shown:
        _shown[number] = questions(int(number), record.read())
    asked = _shown[number]
    if answers is None:
        return Recall(number, asked)
    said = "".join(letter for letter in str(answers).lower() if letter.isalnum())
    if len(said) != len(asked) or not set(said) <= {*LETTERS}:
        return f'a letter for each of the {len(asked)} questions, such as recall("{number}", "{" ".join("aba"[:len(asked)])}")'
    for question, letter in zip(asked, said):
        note(number, question, letter)
    return Recall(number, asked, said)


def questions(lab: int, kept: record.Record) -> list[Question]:
    """Return the questions of a lab for a student with this record, the one that is needed most first."""
    from minikafka.lab.report import found
    shown: dict[str, list[str]] = defaultdict(list)
    words: dict[str, list[str]] = defaultdict(list)
    for each in found(record.ROOT / "labs"):
        for refuted in each.refutes if each.number < lab else ():
            shown[refuted.belief].append(f"(Lab {each.number}, section {refuted.section})")
            words[refuted.belief] += [word for one in refuted.predictions
                                      if (word := kept["predictions"].get(one, {}).get("word"))]
    earlier = [b for b in beliefs.table() if not b.is_claim and min(b.labs) < lab and lab not in b.labs]
    earlier.sort(key=lambda b: (need(words[b.id], kept["recalled"].get(b.id)), dice(lab, b)))
    return [asked(lab, b, shown[b.id][0] if shown[b.id] else "") for b in earlier[:MANY]]


def need(words: list[str], entry: dict[str, Any] | None) -> tuple[int, int]:
    """Return how soon to ask about a belief, the smallest first: the words that its predictions got, and its last answer here."""
    if entry is not None:
        return (4, entry.get("turn", 0)) if entry.get("right") else (1, entry.get("turn", 0))
    return (0 if SURPRISE in words else 3 if words else 2), 0


def asked(lab: int, belief: beliefs.Belief, where: str) -> Question:
    """Return a belief as a question. Which sentence stands first depends on the belief and the lab, on nothing else."""
    first = dice(lab, belief) % 2
    wrong, so = belief.sentences
    return Question(belief.id, (so, wrong) if first else (wrong, so), LETTERS[0] if first else LETTERS[1], where)


def dice(lab: int, belief: beliefs.Belief) -> int:
    """Return a number that looks like chance, and is the same each time."""
    return sha256(f"{lab} {belief.id}".encode()).digest()[0]


def note(lab: str, question: Question, said: str) -> None:
    """Write an answer into the student's file."""
    def alter(kept: record.Record) -> None:
        turn = max((entry.get("turn", 0) for entry in kept["recalled"].values()), default=0) + 1
        kept["recalled"][question.id] = {"right": said == question.so, "turn": turn}
    record.change(lab, alter)


def buttons(recall: Recall) -> Any:
    """Return the questions as widgets: a press answers, and shows at once what is so and which section has shown it."""
    import ipywidgets as widgets
    rows = [widgets.HTML(f"<b>{html.escape(HEAD)}</b>")]
    for question in recall.questions:
        told = widgets.HTML()
        presses = [widgets.Button(description=letter, tooltip=f"{letter} is so", layout={"width": "3em", "flex": "0 0 auto"})
                   for letter in LETTERS]

        def answered(press: Any, question: Question = question, told: Any = told, presses: list[Any] = presses) -> None:
            right = press.description == question.so
            for each in presses:
                each.disabled = True
            note(recall.lab, question, press.description)
            told.value = panel(BLUE if right else ORANGE, RIGHT if right else SURPRISE, question.answer(press.description))
        for press, sentence in zip(presses, question.sentences):
            press.on_click(answered)
            rows.append(widgets.HBox([press, widgets.HTML(f"<span {AS_IT_IS}>{html.escape(sentence)}</span>")]))
        rows.append(told)
    return widgets.VBox(rows)
