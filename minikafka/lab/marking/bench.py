"""The process in which checks run: it has a second one with the student's code (hand.py), and calls its functions from here.

    check("6.2") -> high_watermark(ends, isr) -> a stand-in -> a line of text -> the student's function -> a line of text

A check sees functions as in the notebook. What comes back is data (plain.py), so nothing in this process can be changed by the
code: not the check, not the verdict, not the right answer that the check has computed.

The secret that begins each verdict is read after the other process was made, so it is not in that one's memory; and this one is
closed to debuggers and to /proc for all but root.

Owns: the stand-ins, and the limits of both processes. Invariant
  a line of the other process that is no answer is a FAIL, and the last of its process
"""
from __future__ import annotations

import builtins
import ctypes
import inspect
import json
import os
import resource
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from minikafka.lab import guard
from minikafka.lab.marking import hand, plain
from minikafka.lab.marking.cell import FILE

ANSWERS = ".answers"    # in the folder: the code of each exercise
LIMITS = {"DATA": 4 << 30, "FSIZE": 256 << 20, "NPROC": 4096, "NOFILE": 4096, "CPU": 1800, "CORE": 0}   # of each process
PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE = 1, 3, 4
WHY = 2000              # letters of a verdict
LONG = "its code was stopped: is there a loop that never ends?"
ENDS = "its code ends the process that judges it"


class SaysNothing(BaseException):
    """An error: the student's process has ended, or writes what is no answer. No check's `except Exception` swallows it."""


def main(pipe: int) -> None:
    """Judge the answers that lie in the folder, and write a line for each into the pipe."""
    code = json.loads(Path(ANSWERS).read_text())
    Path(ANSWERS).unlink()
    _limit()
    for exercise in code:
        _load(exercise)     # before the fork: both processes know the labs' classes
    other = _fork(pipe)
    secret = sys.stdin.readline().strip()
    for exercise, text in code.items():
        outcome, why = _verdict(other, exercise, text)
        os.write(pipe, f"{secret}{json.dumps([outcome, why[:WHY], other.over])}\n".encode())
        if other.over:
            break
    os._exit(0)     # threads of a check do not matter any more


def prctl(what: int, value: int = 0) -> int:
    """Ask Linux for something about this process."""
    return int(ctypes.CDLL(None).prctl(what, value, 0, 0, 0))


def _limit() -> None:
    prctl(PR_SET_DUMPABLE, 0)
    for name, most in LIMITS.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def _load(exercise: str) -> None:
    from minikafka.lab.exercise import find
    with suppress(KeyError):
        find(exercise)


def _fork(pipe: int) -> Other:
    """Start the student's process; it has neither the pipe of verdicts nor the secret."""
    (its_in, ours_out), (ours_in, its_out) = os.pipe(), os.pipe()
    if os.fork():
        os.close(its_in)
        os.close(its_out)
        return Other(ours_out, ours_in)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 1)
    for each in (pipe, ours_out, ours_in):
        os.close(each)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    hand.serve(its_in, its_out)
    os._exit(0)


class Other:
    """The student's process. `over`: it gives no more answers, for `why`. `strange`: what could not cross, "" so far."""

    def __init__(self, requests: int, answers: int) -> None:
        self.over, self.why, self.strange, self._requests, self._answers = False, ENDS, "", requests, answers
        self._lock = threading.RLock()

    def ask(self, *request: Any) -> list[Any]:
        """Send a request and return its answer, one after the other: a check may call a function from several threads."""
        with self._lock:
            return self._ask(*request)

    def _ask(self, *request: Any) -> list[Any]:
        token, over = secrets.token_hex(8), self.over
        self.over = True    # also if this is stopped, or raises
        if over:
            raise SaysNothing(self.why)
        with suppress(BrokenPipeError):
            hand._write(self._requests, f"{json.dumps([token, *request])}\n".encode())
        try:
            answer = self._line(len(token) + hand.ROOM + 1)
            assert answer.startswith(token.encode())
            kind, *more = json.loads(answer[len(token):])
        except guard.TooLong:
            self.why = LONG
            raise
        except (AssertionError, ValueError, TypeError, RecursionError):
            raise self._ends("it writes what is no answer into the pipe of its process") from None
        self.over = False
        return [kind, *more]

    def _ends(self, why: str) -> SaysNothing:
        self.why = why
        return SaysNothing(why)

    def _line(self, room: int) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            if not (more := os.read(self._answers, room + 1 - len(line))):
                raise self._ends(ENDS)
            line += more
            if len(line) > room:
                raise self._ends(f"it writes more than {hand.ROOM >> 10} KiB into the pipe of its process")
        return bytes(line)


def _verdict(other: Other, exercise: str, text: str) -> tuple[str, str]:
    from minikafka.lab.exercise import find, limit_of
    from minikafka.lab.hints import NoExercise
    other.strange = ""
    try:
        find(exercise)
        with guard.limited(limit_of(exercise)):
            return _judged(other, exercise, text)
    except NoExercise as none:
        return "UNKNOWN", str(none)
    except guard.TooLong:
        return "FAIL", LONG
    except SaysNothing as none:
        return "FAIL", str(none)
    except BaseException as error:
        return "UNKNOWN", f"its check does not run here, {type(error).__name__}: {error}"


def _judged(other: Other, exercise: str, text: str) -> tuple[str, str]:
    from minikafka.lab.exercise import find, judge
    if file := FILE.match(text):    # a program: the check runs it, in a process of its own
        answer: Any = text[file.end():] + "\n"
    else:
        kind, *more = other.ask("run", exercise, text)
        if kind == "together":
            kind, *more = other.ask("judge", exercise)
        match kind, more:
            case "verdict", [("PASS" | "FAIL" | "UNKNOWN") as outcome, str(why)]:
                return outcome, why
            case "none", []:
                return "UNKNOWN", "its cell never calls check()"
            case "long", []:
                return "FAIL", LONG
            case "raised", [_, name, said]:
                return "UNKNOWN", f"its cell does not run alone, {name}: {said}"
            case "answer", [str(said)]:
                answer = plain.decoded(said, lambda made: stand_in(other, *made))
            case _:
                raise SaysNothing("it answers with what is no answer")
    verdict = judge(find(exercise), exercise, answer)
    if other.over:      # whatever the check made of it
        raise SaysNothing(other.why)
    if other.strange:
        return "UNKNOWN", f"it is judged in the notebook only: {other.strange}"
    return verdict.outcome.name, str(verdict.why)


def stand_in(other: Other, number: int, name: str, parameters: list[tuple[str, int, bool]]) -> Callable[..., Any]:
    """Return a function that calls the student's function of this number in its process."""
    def call(args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            given = plain.encoded([list(args), named])
        except plain.Unplain as strange:
            other.strange = str(strange)
            raise
        kind, *more = other.ask("call", number, given)
        match kind, more:
            case "raised", [str(module), str(error), str(text)]:
                other.strange = text if error == plain.Unplain.__name__ else other.strange
                _raise(module, error, text)
            case "returned", [str(returned), str(after)]:
                if after:
                    _change([*args, *named.values()], after)
                return plain.decoded(returned)
        raise SaysNothing("it answers with what is no answer")
    space: dict[str, Any] = {"call": call}      # a file of the student's: errors in it are told as theirs
    exec(compile("def stand_in(*args, **named):\n    return call(args, named)", "<cell>", "exec"), space)
    found = space["stand_in"]
    found.__name__ = found.__qualname__ = name
    found.__signature__ = inspect.Signature([
        inspect.Parameter(each, inspect._ParameterKind(kind), default=None if has_default else inspect.Parameter.empty)
        for each, kind, has_default in parameters])
    return found


def _change(args: list[Any], after: str) -> None:
    """Let arguments be what the student's function made of them."""
    changed, named = plain.decoded(after)
    for arg, now in zip(args, [*changed, *named.values()]):
        if type(arg) is type(now) and isinstance(arg, list | dict | set | bytearray) and arg != now:
            arg.clear()
            arg.extend(now) if isinstance(arg, list | bytearray) else arg.update(now)


def _raise(module: str, name: str, text: str) -> NoReturn:
    """Raise an error of this name: of Python or of this package where it is one, else one that only has its name."""
    found = vars(builtins).get(name) if module == "builtins" else \
        vars(sys.modules[module]).get(name) if module.startswith(plain.OURS) and module in sys.modules else None
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = type(name if name.isidentifier() else "Error", (Exception,), {})
    try:
        error = found(text)
    except TypeError:
        error = type(found.__name__, (Exception,), {})(text)
    raise error


if __name__ == "__main__":
    main(int(sys.argv[1]))
