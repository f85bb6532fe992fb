"""The answers of one student, judged in processes of their own, with limits.

    judged({"6.1": code, "6.2": code})        {"6.1": Judged("PASS", "..."), "6.2": Judged("FAIL", "...")}

    this process, the teacher's  ->  bench.py, in which the checks run  ->  hand.py, in which the code runs

The parent starts bench.py as a program, gives it the code, and reads one line for each exercise. If the process ends, or is
silent for too long, or writes too much, the exercise that it was at is judged so, and a new process goes on behind it.

What holds: the code gets no variable of the teacher's but those of KEPT; it runs in another process than its check, so it can
change neither the check nor the verdict; a verdict begins with a secret that its process never had.
What does not: it is no prison. The code can read and delete what the account can, also the variables of the account's other
processes; it can end them, and use the network. So a teacher marks as a user who owns nothing, or in docker/. For root also the
memory of bench.py is open. In the exercises of together.tsv the answer is an object that cannot cross to another process; there
the check runs beside the code, and code made for it can forge. What reaches for what no exercise needs is named by remarks.py.

Owns: what the processes get, and their end. Invariants
  nothing that a student's code prints or writes is taken for a verdict, and nothing that it writes raises here
  what the code has started ends with its process, unless it began a session of its own
"""
from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from minikafka.cluster.process import EXEC_WITH_PARENT_DEATH
from minikafka.lab.marking.bench import ANSWERS, ENDS, PR_GET_DUMPABLE, PR_SET_DUMPABLE, prctl
from minikafka.lab.marking.cell import FILE
from minikafka.machine.files import cache_folder

ROOT = Path(__file__).resolve().parents[3]
SPARE = 60.0            # seconds beyond the limit of a check, in which its verdict has to be there: labs may start a session
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "JAVA_HOME", "MINIKAFKA_ENGINE", "MINIKAFKA_SPARK_JAVA")     # variables
ROOM = 64 << 10         # bytes that are read for a verdict
DISK = 1 << 30          # bytes that a student's processes may write
LOOK = 1.0              # seconds between two looks at what they have written
OUTCOMES = ("PASS", "FAIL", "UNKNOWN")


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


@contextmanager
def closed() -> Iterator[None]:
    """Close this process's variables and memory to /proc, for all but root, while strangers' code runs."""
    before = prctl(PR_GET_DUMPABLE)
    prctl(PR_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        prctl(PR_SET_DUMPABLE, before)


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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for name, text in files.items():
            with suppress(OSError, ValueError):     # a name or a text that no file can have
                (Path(folder) / Path(name).name).write_text(text, encoding="utf-8")
        (Path(folder) / ANSWERS).write_text(json.dumps(code))
        command = [sys.executable, "-I", "-S", str(EXEC_WITH_PARENT_DEATH), str(os.getpid()),
                   sys.executable, "-m", "minikafka.lab.marking.bench", str(its)]
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), pass_fds=[its], start_new_session=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its)
        try:
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin as line:
                line.write(f"{secret}\n".encode())
            yield Verdicts(ours, secret.encode(), process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)      # its leader was not waited for yet: the number is still its own
            process.wait()
            os.close(ours)


def environment(folder: str) -> dict[str, str]:
    """Return the variables that a stranger's code may know; its home is its own folder."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, "HOME": folder, "TMPDIR": folder,
            "LAB_STRICT": "0", "MINIKAFKA_PROGRESS": "off", "MINIKAFKA_CACHE": str(cache_folder()), "PYTHONPATH": str(ROOT)}


class Verdicts:
    """The verdicts that come through a pipe. `ended`: no more of them come."""

    def __init__(self, pipe: int, secret: bytes, session: int) -> None:
        self.ended, self._pipe, self._secret, self._session, self._bytes = False, pipe, secret, session, bytearray()

    def next(self, limit: float) -> Judged:
        """Return the next verdict, within `limit` seconds; whatever else comes is a FAIL, and the end."""
        end, read = time.monotonic() + limit, 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            while True:
                if (stop := self._bytes.find(b"\n")) >= 0:
                    line = bytes(self._bytes[:stop])
                    del self._bytes[:stop + 1]
                    return self._verdict(line)
                if (left := end - time.monotonic()) <= 0:
                    return self._failed(f"there is no verdict after {limit:g} seconds")
                if not selector.select(min(left, LOOK)):
                    if written(self._session) > DISK:
                        return self._failed(f"it writes more than {DISK >> 20} MiB to the disk")
                    continue
                if not (more := os.read(self._pipe, 1 << 12)):
                    return self._failed(ENDS)
                self._bytes += more
                if (read := read + len(more)) >= ROOM:
                    return self._failed(f"it writes more than {ROOM >> 10} KiB into the pipe of verdicts")

    def _verdict(self, line: bytes) -> Judged:
        try:
            assert line.startswith(self._secret)
            outcome, why, self.ended = json.loads(line[len(self._secret):])
            assert outcome in OUTCOMES and isinstance(why, str)
            return Judged(outcome, why)
        except (AssertionError, ValueError, TypeError, RecursionError):
            return self._failed("it writes what is no verdict into the pipe of verdicts")

    def _failed(self, why: str) -> Judged:
        self.ended = True
        return Judged("FAIL", why)


def written(session: int) -> int:
    """Return how many bytes the processes of a session, and those that they waited for, have written to a disk."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, StopIteration):     # it has ended meanwhile
            if os.getsid(int(process.name)) == session:
                lines = (process / "io").read_text().splitlines()
                total += int(next(line for line in lines if line.startswith("write_bytes")).split()[1])
    return total
