"""The kinds of exam questions. The brokers' own code, or an answer that the gate has judged right, says what is right.

    KINDS["vote"].draw(Random("2027"))      a Question

A wrong option is what a mistake of `solutions/wrong/` returns for the same state; where these are too few, a number beside.

Owns: how a state is drawn, and its words. Invariants
  the rule of a question stands nowhere here
  the options of a question differ, and one of them is right
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from minikafka.lab.labs.lab09.checks import decided
from minikafka.lab.labs.lab09.votes import decides, gives

MANY = 4  # options


@dataclass(frozen=True)
class Question:
    """One question: the state as lines, what is asked, the options, and which of them is right."""

    lab: int
    state: tuple[str, ...]
    ask: str
    options: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class Kind:
    """A kind of question; `weak`: a rule of the brokers (rules.tsv) without which some keys differ, "" if the gate judges."""

    title: str
    draw: Callable[[Random], Question]
    weak: str = ""


def right_answer(exercise: str) -> Callable[..., Any]:
    """Return an answer to an exercise that the gate has judged right."""
    answers = importlib.import_module(f"solutions.right.lab{int(exercise.split('.')[0]):02d}").RIGHT[exercise]
    found: Callable[..., Any] = next(iter(answers.values()))
    return found


def mistakes(exercise: str, *arguments: Any) -> Iterator[Any]:
    """Yield what the wrong answers to an exercise return; those that raise an error return nothing."""
    answers = importlib.import_module(f"solutions.wrong.lab{int(exercise.split('.')[0]):02d}").WRONG[exercise]
    for answer, *_ in answers.values():
        try:
            yield answer(*deepcopy(arguments))
        except Exception:  # a mistake may fail in any way
            continue


def of_numbers(rng: Random, right: int, wrong: Iterator[Any]) -> tuple[tuple[str, ...], int]:
    """Return four offsets in order, and the place of the right one."""
    others = sorted({n for n in wrong if type(n) is int and n >= 0} - {right})
    near = [n for n in (right + 1, right - 1, right + 2, right + 3) if n >= 0 and n not in others]
    chosen = sorted([*rng.sample(others, min(len(others), MANY - 1)), *near][:MANY - 1] + [right])
    return tuple(map(str, chosen)), chosen.index(right)


def high_watermark(rng: Random) -> Question:
    newest = rng.randrange(60, 100)
    ends = {1: newest, 2: newest - rng.randrange(1, 9), 3: newest - rng.randrange(10, 20), 4: newest - rng.randrange(20, 40)}
    isr = [1, *sorted(rng.sample((2, 3, 4), rng.choice((1, 2))))]
    right = int(right_answer("6.2")(dict(ends), list(isr)))
    options = of_numbers(rng, right, mistakes("6.2", ends, isr))
    state = (*(f"broker {broker}: its log ends at {end}" for broker, end in ends.items()), "leader: broker 1",
             f"in sync: brokers {', '.join(map(str, isr))}", "min.insync.replicas=1; an end is the next offset to be written")
    return Question(6, state, "Where is the high watermark?", *options)


def last_stable(rng: Random) -> Question:
    watermark = rng.randrange(50, 90)
    begins = {1000 + n: rng.randrange(10, watermark + 6) for n in range(rng.choice((2, 3)))}
    right = int(right_answer("10.7")(watermark, dict(begins)))
    options = of_numbers(rng, right, mistakes("10.7", watermark, begins))
    state = (f"the high watermark is {watermark}",
             *(f"the open transaction of producer {producer} began at offset {first}" for producer, first in begins.items()),
             "every other transaction has ended, and its marker is below the high watermark")
    return Question(10, state, "Where is the last stable offset?", *options)


def vote(rng: Random) -> Question:
    epoch = rng.randrange(4, 7)
    me = {"epoch": epoch, "voted": rng.choice((None, 101, 103)), "last_epoch": rng.randrange(1, epoch),
          "end": rng.randrange(30, 40)}
    asked = epoch + rng.choice((-1, 0, 0, 1))
    ask = {"candidate": rng.choice((101, 103)), "epoch": asked, "end": me["end"] + rng.choice((-2, 0, 3)),
           "last_epoch": max(1, min(asked - 1, me["last_epoch"] + rng.choice((-1, 0, 0, 1))))}
    voted = "nobody" if me["voted"] is None else f"controller {me['voted']}"
    state = (f"controller 102 is in epoch {epoch}; in this epoch it has voted for {voted}; it knows no leader",
             f"its log ends at {me['end']}, and its last record is of epoch {me['last_epoch']}",
             f"controller {ask['candidate']} asks for its vote in epoch {ask['epoch']}",
             f"the candidate's log ends at {ask['end']}, and its last record is of epoch {ask['last_epoch']}")
    options = ("It gives its vote.", "It refuses.")
    return Question(9, state, "What does controller 102 answer?", options, 0 if gives(me, ask) else 1)


def majority(rng: Random) -> Question:
    start, count = rng.randrange(20, 30), rng.choice((3, 4, 5))
    ends = [start + 8, *(start + rng.randrange(-6, 8) for _ in range(count - 1))]
    before = start - rng.randrange(7, 10)
    right = decides(list(ends), start, before)
    options = of_numbers(rng, right, mistakes("9.11", ends, start, before))
    state = (*(f"controller {101 + n}: its log ends at {end}" for n, end in enumerate(ends)),
             f"controller 101 is the active one; its epoch began at offset {start}",
             f"until now the high watermark of the metadata log is {before}; an end is the next offset to be written")
    return Question(9, state, "Where is the high watermark of the metadata log now?", *options)


def election(rng: Random) -> Question:
    replicas = rng.sample((1, 2, 3, 4), 3)
    isr = sorted(rng.sample(replicas, rng.choice((1, 2))))
    leader, unclean = rng.choice(isr), rng.random() < 0.5
    alive = sorted(broker for broker in replicas if broker != leader)
    right = decided({"leader": leader, "epoch": 5, "replicas": replicas, "isr": isr, "elr": []}, alive, unclean)[0]
    state = (f"replicas, in this order: {', '.join(map(str, replicas))}", f"in sync: {', '.join(map(str, isr))}",
             f"broker {leader} leads, and dies now; brokers {', '.join(map(str, alive))} are alive",
             f"unclean.leader.election.enable={str(unclean).lower()}; there are no eligible leader replicas (ELR) beside the ISR")
    options = [*(f"Broker {broker}." for broker in sorted(replicas)), "Nobody."]
    return Question(9, state, "Who leads next?", tuple(options), -1 % MANY if right == -1 else sorted(replicas).index(right))


KINDS = {"high-watermark": Kind("Where is the high watermark?", high_watermark),
         "last-stable": Kind("Where is the last stable offset?", last_stable),
         "vote": Kind("Does a controller give its vote?", vote, "votes_by_length_only"),
         "majority": Kind("Up to where have the controllers decided?", majority, "commits_by_minority"),
         "election": Kind("Who leads next?", election, "elected_any_replica")}
