"""One trial of a student's answer: its functions are watched while a check calls them, so that the verdict can say what a
function was given, what it returned, and whether an error came from it or from the check.

Owns: the last call of a student's function. Invariants
  no text shows an error of the check's own code: an answer that it stumbles over is told in the exercise's words
  I-TRIAL-2  that a `return` is missing is said of a function that has none
"""
from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import re
import struct
import sysconfig
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minikafka.lab import wants
from minikafka.lab.guard import OURS
from minikafka.lab.values import LINE, clean, reason, shown

LIBRARIES = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "purelib", "platlib"))
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
STUMBLES = (TypeError, AttributeError, ValueError, LookupError, struct.error)
NOTHING = "returned nothing; is there a `return`?"
MISSED = "returned None: its `return` was not reached, or what stands behind it is None"
NONE = "returned None, which is no answer for these arguments"
ALWAYS = "returned None: that is what stands behind its `return` (`print`, `append` and `sort` return None)"

NAMELESS = {"<lambda>": "your lambda", "<genexpr>": "your generator", "<module>": "your code",
            **{f"<{kind}comp>": "your comprehension" for kind in ("list", "set", "dict")}}


class Misfit(AssertionError):
    """An error: a student's function returned something of another kind than the check can judge, or cannot be called."""


@dataclass
class Call:
    """A call of a student's function: its name in a sentence, the arguments in words, and what it has returned so far."""

    function: Callable[..., Any]
    who: str
    given: str
    over: bool = False
    returned: Any = None


class Trial:
    """A check's question about one answer. `answer` is what the check gets: each function in it is watched."""

    def __init__(self, ask: Callable[..., Any], answer: Any, form: str = "") -> None:
        """`form` says in words what is wanted, where the annotation of `ask` cannot."""
        wanted = wants.wanted(ask)
        kind = wants.result(wanted)
        self.ask, self.given, self.last = ask, answer, None
        self.own_form, self.form, self.kind = form, form or (wants.words(kind) if kind else ""), kind
        self.cells = {code.co_filename for code in map(code_of, functions(answer)) if code}
        self.answer = self._watched(wanted, answer)

    def _watched(self, wanted: Any, answer: Any, who: str = "") -> Any:
        several = wants.parts(wanted)
        if several and isinstance(answer, (tuple, list)):
            return tuple(self._watched(part, each, getattr(each, "__name__", "")) for part, each in zip(several, answer))
        if not callable(answer) or not (wants.a_function(wanted) or isinstance(answer, FUNCTIONS)):
            return answer
        who = who if who.isidentifier() else "your function"

        def watched(*args: Any, **named: Any) -> Any:
            self.last = call = Call(answer, who, arguments(answer, args, named))
            call.returned = answer(*args, **named)
            call.over = True
            self._look_at(wanted, call)
            return call.returned
        with contextlib.suppress(Exception):  # an object whose attributes cannot be read
            functools.update_wrapper(watched, answer)
        return watched

    def _look_at(self, wanted: Any, call: Call) -> None:
        """Raise Misfit for a result that is of another kind than the check wants."""
        if inspect.iscoroutine(call.returned):
            call.returned.close()
            raise Misfit(f"{call.who} is an `async def`, and whoever calls it has to wait for it; write `def`")
        kind = wants.result(wanted)
        if call.returned is None and not wants.admits_nothing(wanted):
            told = f"{call.who} {nothing(call.function)}"
            wanted = f"; {self.own_form} is wanted" if self.own_form else ""
            raise Misfit(f"{told} {wanted[2].upper()}{wanted[3:]}" if wanted and told.endswith("?") else told + wanted)
        if kind is not None and not wants.fits(kind, call.returned):
            raise Misfit(f"{call.who} returned {wants.kind(call.returned)}; {self.own_form or wants.words(kind)} is wanted")

    def blames(self, error: BaseException) -> bool:
        """Return whether the student's code raised this, or what it had called. An assertion of the check's is its own verdict,
        also where the student's function had called the check back."""
        codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
        if isinstance(error, AssertionError) and codes and self._ours(codes[-1]):
            return False
        return bool(self.last and not self.last.over) or any(self._theirs(code.co_filename) for code in codes)

    def _theirs(self, file: str) -> bool:
        """Return whether a file is a cell of the student's, or a file of their own that it imports."""
        ours = (OURS, *LIBRARIES, code.co_filename if (code := code_of(self.ask)) else OURS)
        return file in self.cells or Path(file).is_absolute() and not any(map(Path(file).is_relative_to, ours))

    def _ours(self, code: types.CodeType) -> bool:
        return code is code_of(self.ask) or Path(code.co_filename).is_relative_to(OURS) and code.co_filename not in self.cells

    def ended_in(self, error: BaseException) -> bool:
        """Return whether an error was raised in the student's own cell."""
        return [step.filename in self.cells for step in traceback.extract_tb(error.__traceback__)][-1:] == [True]

    def told(self, error: BaseException) -> str:
        """Return in words what the student's code raised, or over which answer the check stumbled."""
        if self.blames(error):
            return self._raised(error)
        what = f"{self.last.who} returned {wants.kind(self.last.returned)}" if self.last else f"you gave {wants.kind(self.given)}"
        said = self.last.returned if self.last else self.given
        # a list is wanted, and a list it is
        is_one = self.kind is not None and self.form in wants.WORDS.values() and wants.fits(self.kind, said)
        if is_one or not self.form:
            return f"{what}; something in it has another form than the exercise asks for"
        return f"{what}; {self.form} is wanted"

    def _raised(self, error: BaseException) -> str:
        """Return in words an error that the student's code raised, or what it called. A client of ours that refuses an argument
        says so itself; where it stumbles over one, its own error would say nothing."""
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        theirs = max((n for n, frame in enumerate(frames) if frame.f_code.co_filename in self.cells), default=len(frames))
        if isinstance(error, STUMBLES) and any(self._ours(frame.f_code) for frame in frames[theirs + 1:]):
            last = traceback.extract_tb(error.__traceback__)[-1]
            refused = self._ours(frames[-1].f_code) and (last.line or "").startswith("raise ")
            return reason(error) if refused else "a call in this line gets something that it cannot use: look at its arguments"
        name = type(error).__name__
        return f"your code raised {name}: {re.sub(rf'^(?:.Error .?[0-9]+. )?{name}: ', '', reason(error))}".rstrip(": ")

    def verdict(self, error: AssertionError) -> str:
        """Return what a check says of an answer. Where it asks for a missing `return`, the code tells whether there is one."""
        if NOTHING in str(error) and self.last and self.last.returned is None:
            return f"{self.last.who} {nothing(self.last.function)}"
        return str(error) or "not what was expected"

    def lines(self, error: BaseException) -> tuple[str, ...]:
        """Return the line of the student's cell that raised an error, and what the function had been given, as far as known."""
        steps = [step for step in traceback.extract_tb(error.__traceback__) if step.filename in self.cells]
        line = [f"in {NAMELESS.get(step.name, step.name)}, line {step.lineno} of its cell: {step.line}" for step in steps[-1:]]
        given = [f"called with {self.last.given}"] if self.last and self.last.given else []
        return tuple(clean(each, LINE) for each in (*line, *given))


def nothing(function: Callable[..., Any]) -> str:
    """Say why a function may have returned None, as far as its code tells."""
    code = code_of(function)
    if code is None or code.co_name == "<lambda>":
        return NONE
    steps = [*dis.get_instructions(code)]
    ends = [step.argval is None if step.opname == "RETURN_CONST" else before.opname == "LOAD_CONST" and before.argval is None
            for before, step in zip([steps[0], *steps], steps) if step.opname in ("RETURN_VALUE", "RETURN_CONST")]
    return NOTHING if all(ends) else MISSED if any(ends) else ALWAYS


def arguments(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return the arguments of a call in short, by name. Misfit if the function does not take them."""
    try:
        bound = inspect.signature(function).bind(*args, **named).arguments
    except TypeError:
        raise Misfit(wants.takes(function, [*args, *named])) from None
    except ValueError:  # a function of C that tells nothing of itself
        return ", ".join(map(shown, args))
    return ", ".join(f"{name}={shown(value)}" for name, value in bound.items())


def functions(answer: Any) -> Iterator[Any]:
    """Yield the functions in an answer."""
    for each in answer if isinstance(answer, (tuple, list)) else (answer,):
        if callable(each):
            yield each


def code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function, also of one in a partial, of a method, or of an object that is called; None if it is C."""
    for _ in range(9):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(function, "__func__"):
            function = function.__func__
        elif hasattr(function, "__code__"):
            return function.__code__ if isinstance(function.__code__, types.CodeType) else None
        elif isinstance(function, type):
            function = function.__init__
        else:
            function = vars(type(function)).get("__call__")
    return None
