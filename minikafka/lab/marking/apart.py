"""The answers of one student, judged in a process of its own, with limits.

    judged({"6.1": code, "6.2": code})        {"6.1": Judged("PASS", "..."), "6.2": Judged("FAIL", "...")}

The parent starts this module as a program, gives it the code, and reads one line for each exercise. If the process ends, or is
silent for too long, the exercise that it was at is judged so, and a new process goes on behind it.

It is no prison. The code is a stranger's: it can read what the account can read, so a teacher marks as a user who owns nothing,
or in docker/. A verdict begins with a secret, so that nothing printed is one; who searches the process for the secret, or changes
the check, is named by remarks.py.

Owns: the limits. Invariants
  nothing that a student's code prints or writes is taken for a verdict
  what the code has started ends with its process, unless it began a session of its own
"""
from __future__ import annotations

import json
import os
import resource
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minikafka.cluster.process import EXEC_WITH_PARENT_DEATH
from minikafka.lab.marking.cell import FILE

ROOT = Path(__file__).resolve().parents[3]
ANSWERS = ".answers"    # read and deleted before any code runs
SPARE = 60.0            # seconds beyond the limit of a check, in which its verdict has to be there: labs may start a session
LIMITS = ((resource.RLIMIT_FSIZE, 256 << 20), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, 8 << 30))


@dataclass(frozen=True)
class Judged:
    """The outcome of one exercise: PASS, FAIL or UNKNOWN, and the sentence that says why."""

    outcome: str
    why: str

    def __bool__(self) -> bool:
        return self.outcome == "PASS"


def judged(code: dict[str, str], left_out: Container[str] = ()) -> dict[str, Judged]:
    """Judge the code of each exercise, in order, but for those that are left out. All files that the code writes are there: a
    program of elective 20 goes on from earlier ones."""
    found: dict[str, Judged] = {}
    files = {file[1]: text[file.end():] + "\n" for text in code.values() if (file := FILE.match(text))}
    while left := {e: text for e, text in code.items() if e not in found and e not in left_out}:
        with _process(left, files) as verdicts:
            for exercise in left:
                found[exercise] = verdicts.next(_limit(exercise))
                if verdicts.ended:
                    break
    return found


def _limit(exercise: str) -> float:
    from minikafka.lab.exercise import limit_of
    from minikafka.lab.hints import NoExercise
    try:
        return limit_of(exercise) + SPARE
    except NoExercise:
        return SPARE


@contextmanager
def _process(code: dict[str, str], files: dict[str, str]) -> Iterator[Verdicts]:
    """Start a process that judges this code in a folder with these files; the block ends it, and all that belongs to its
    session."""
    ours, its = os.pipe()
    secret = secrets.token_hex(16)
    environment = {**os.environ, "LAB_STRICT": "0", "MINIKAFKA_PROGRESS": "off", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, text in files.items():
            (Path(folder) / Path(name).name).write_text(text, encoding="utf-8")
        (Path(folder) / ANSWERS).write_text(json.dumps([secret, code]))
        command = [sys.executable, "-I", "-S", str(EXEC_WITH_PARENT_DEATH), str(os.getpid()),
                   sys.executable, "-m", "minikafka.lab.marking.apart", str(its)]
        process = subprocess.Popen(command, cwd=folder, env=environment, pass_fds=[its], start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its)
        try:
            yield Verdicts(ours, secret.encode())
        finally:
            os.killpg(process.pid, signal.SIGKILL)      # its leader was not waited for yet: the number is still its own
            process.wait()
            os.close(ours)


class Verdicts:
    """The verdicts that come through a pipe. `ended`: no more of them can be believed to come."""

    def __init__(self, pipe: int, secret: bytes) -> None:
        self.ended, self._pipe, self._secret, self._bytes = False, pipe, secret, bytearray()

    def next(self, limit: float) -> Judged:
        """Return the next verdict, within `limit` seconds."""
        end = time.monotonic() + limit
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while True:
                while (stop := self._bytes.find(b"\n")) >= 0:
                    line = bytes(self._bytes[:stop])
                    del self._bytes[:stop + 1]
                    if line.startswith(self._secret):
                        return Judged(*json.loads(line[len(self._secret):]))
                left = end - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.ended = True
                    return Judged("FAIL", f"there is no verdict after {limit:g} seconds")
                if not (more := os.read(self._pipe, 1 << 16)):
                    self.ended = True
                    return Judged("FAIL", "its code ends the process that judges it")
                self._bytes += more


# --- the child ----------------------------------------------------------------------------------------------------------------

def main(pipe: int) -> None:
    """Judge the answers that lie in the folder, and write a line for each into the pipe."""
    secret, code = json.loads(Path(ANSWERS).read_text())
    Path(ANSWERS).unlink()
    for which, limit in LIMITS:
        resource.setrlimit(which, (limit, limit))
    os.set_inheritable(pipe, False)
    for exercise, text in code.items():
        verdict = json.dumps(_verdict(exercise, text))
        os.write(pipe, f"\n{secret}{verdict}\n".encode())
    os._exit(0)     # threads that a student's code began do not matter any more


def _verdict(exercise: str, text: str) -> tuple[str, str]:
    from minikafka.lab import guard
    from minikafka.lab.exercise import find, judge, limit_of
    from minikafka.lab.hints import NoExercise
    from minikafka.lab.marking.cell import handed
    try:
        ask = find(exercise)
        given = handed(text, exercise)
        if exercise not in given:
            return "UNKNOWN", "its cell never calls check()"
        with guard.limited(limit_of(exercise)):
            verdict = judge(ask, exercise, given[exercise])
        return verdict.outcome.name, verdict.why
    except NoExercise as none:
        return "UNKNOWN", str(none)
    except guard.TooLong:
        return "FAIL", "its cell was stopped: is there a loop that never ends?"
    except BaseException as error:  # the student's own code, at the top of its cell
        return "UNKNOWN", f"its cell does not run alone, {type(error).__name__}: {error}"


if __name__ == "__main__":
    main(int(sys.argv[1]))
