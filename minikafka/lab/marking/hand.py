"""The process in which a student's code runs. It has no verdict to give, but in the exercises of `TOGETHER`.

    bench.py                         here
    run 6.2, its cell          ->    the cell runs; what it gives to `check` is the answer: a value, or the number of a function
    call function 0 with ...   ->    what it returns, or raises
    judge 6.8                  ->    only for TOGETHER: the check itself runs here, beside the code

Each request has a token, and its answer must begin with it: what the code prints into every file it finds open is no answer.

Owns: the student's functions. The whole answer is at most ROOM bytes.
"""
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minikafka.lab import guard
from minikafka.lab.marking import plain
from minikafka.lab.marking.cell import handed

ROOM = 64 << 10     # bytes of an answer
SOLUTIONS = str(Path(__file__).resolve().parents[3] / "solutions")
TOGETHER = frozenset(
    line.partition("\t")[0] for line in Path(__file__).with_name("together.tsv").read_text().splitlines()[1:])


def serve(requests: int, answers: int) -> None:
    """Answer the requests of a pipe, until it ends."""
    hand = StrangersCode()
    sys.addaudithook(_close_solutions)
    with open(requests, encoding="ascii") as lines:
        for line in lines:
            token, do, *more = json.loads(line)
            try:
                text = json.dumps(getattr(hand, do)(*more))
            except BaseException as error:  # whatever a stranger's code raises
                text = json.dumps(["raised", *told(error)])
            if len(text) > ROOM:
                text = json.dumps(["raised", "builtins", "ValueError", f"it returns more than {ROOM >> 10} KiB"])
            _write(answers, f"{token}{text}\n".encode())


def _close_solutions(event: str, args: tuple[Any, ...]) -> None:
    """Refuse to open a file of the solutions. A hook cannot be taken away; another program can still read them."""
    if event == "open" and isinstance(args[0], str | bytes) and os.path.realpath(os.fsdecode(args[0])).startswith(SOLUTIONS):
        raise PermissionError("its code reads the solutions")


def told(error: BaseException) -> tuple[str, str, str]:
    """Return module and name of an error's class, and its text; a stranger's class may have none that can be read."""
    try:
        text = error.args[0] if error.args and type(error.args[0]) is str else str(error)
        return type(error).__module__, type(error).__qualname__, text[:2000]
    except BaseException:
        return "builtins", "Exception", "an error whose text cannot be read"


def _write(pipe: int, text: bytes) -> None:
    while text:
        text = text[os.write(pipe, text):]


class StrangersCode:
    """The answer of one cell after the other, and its functions."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.functions: list[Callable[..., Any]] = []

    def run(self, exercise: str, text: str) -> list[Any]:
        self.functions = []
        try:
            self.given = handed(text, exercise)
        except guard.TooLong:
            return ["long"]
        if exercise not in self.given:
            return ["none"]
        return ["together"] if exercise in TOGETHER else ["answer", plain.encoded(self.given[exercise], self._number, lend=True)]

    def _number(self, answer: Any) -> list[Any]:
        """Return what stands for a function: its number, its name and its parameters."""
        import inspect
        if not callable(answer) or isinstance(answer, type):
            raise plain.Unplain(f"{type(answer).__name__} is not plain")
        self.functions.append(answer)
        try:
            parameters = [[each.name, int(each.kind), each.default is not each.empty]
                          for each in inspect.signature(answer).parameters.values()]
        except (TypeError, ValueError):  # a function of C that tells nothing of itself
            parameters = [["args", int(inspect.Parameter.VAR_POSITIONAL), False]]
        return [len(self.functions) - 1, str(getattr(answer, "__name__", ""))[:80], parameters]

    def call(self, number: int, given: str) -> list[Any]:
        """Call a function; return what it returned, and the arguments as they are then: a function may change a list."""
        args, named = plain.decoded(given)
        returned = self.functions[number](*args, **named)
        after = plain.encoded([args, named])
        return ["returned", plain.encoded(returned, lend=True), "" if after == given else after]

    def judge(self, exercise: str) -> list[Any]:
        """Judge here; and once more an answer that is none: a check that lets it pass was changed by the code."""
        from minikafka.lab.exercise import find, judge
        verdict = judge(find(exercise), exercise, self.given[exercise])
        if verdict and judge(find(exercise), exercise, object()):
            return ["verdict", "FAIL", "its code changes the check: any answer passes"]
        return ["verdict", verdict.outcome.name, str(verdict.why)]
