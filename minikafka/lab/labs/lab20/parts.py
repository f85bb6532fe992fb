"""The student's broker: files of one stage each, joined to one program and run as a process.

    with running("20.3", text) as broker:      the files of stages 1 and 2 beside the notebook, and this text as stage 3
        broker.port

The program is what the files say one after the other, and one more line: `main()`. It gets a port as its argument. The file of
20.10 is no part of it: the controller is a program of its own.

Owns: which file belongs to which exercise, and where a line of the program stands in the files.
"""
from __future__ import annotations

import bisect
import contextlib
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

from minikafka.cluster.plan import free_ports
from minikafka.lab.exercise import Todo, Unknown, Wrong
from minikafka.lab.program import LOOK, Program, source

STAGES = {"20.1": "my_1_frame.py", "20.2": "my_2_metadata.py", "20.4": "my_3_produce.py", "20.5": "my_4_fetch.py",
          "20.6": "my_5_list_offsets.py", "20.7": "my_6_commits.py", "20.8": "my_7_group.py",
          "20.9": "my_8_replicas.py", "20.10": "my_9_controller.py"}
ALONE = "20.8"  # the last stage at which the program needs nothing but a port
FIRST = 10.0  # seconds in which it has to listen
SOON = 0.5    # seconds after a closed connection in which a thread has written its error
NAME = "my_broker.py"


@dataclass(frozen=True)
class Whole:
    """The program, and the line at which each file begins in it."""

    text: str
    begins: dict[str, int]

    def place(self, line: int) -> str:
        """Return where a line of the program stands: `my_3_produce.py, line 7`."""
        names = [*self.begins]
        at = bisect.bisect_right([*self.begins.values()], line) - 1
        return f"{names[at]}, line {line - self.begins[names[at]] + 1}"


def whole(exercise: str, text: str | None = None) -> Whole:
    """Return the program up to a stage; `text` stands for that stage's file. Todo or Unknown if an earlier one is missing."""
    names = [name for number, name in STAGES.items() if int(number[3:]) <= int(exercise[3:])]
    texts = {name: _earlier(name) for name in names[:-1]}
    texts[names[-1]] = source(names[-1]) if text is None else text
    begins, line = {}, 1
    for name, part in texts.items():
        begins[name] = line
        line += part.count("\n") + 1
    return Whole("\n".join([*texts.values(), "main()\n"]), begins)


def _earlier(name: str) -> str:
    try:
        return source(name)
    except Todo as empty:
        raise Todo(f"{name} comes before this one. {empty}") from None


@dataclass
class StudentsBroker:
    """A running broker of the student's."""

    program: Program
    port: int
    whole: Whole

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def errors(self) -> list[str]:
        """Return the last lines of its errors, with the places in the student's files; an error that is printed is whole soon."""
        end = time.monotonic() + SOON
        while time.monotonic() < end and (self.program.errors or [" "])[-1].startswith((" ", "Traceback", "Exception in")):
            time.sleep(LOOK)
        lines = [re.sub(rf'File ".*{self.program.name}", line (\d+)', lambda found: self.whole.place(int(found[1])), line)
                 for line in self.program.errors]
        return [line for line in lines if "File \"" not in line and not re.fullmatch(r"[\s~^]*", line)]


@contextlib.contextmanager
def running(exercise: str, text: str | None = None) -> Iterator[StudentsBroker]:
    """Start the program and wait until it listens. Wrong if it does not."""
    program_text, (port,) = whole(exercise, text), free_ports(1)
    with Program(program_text.text, str(port), name=NAME) as program:
        yield listening(StudentsBroker(program, port, program_text))


def listening(broker: StudentsBroker) -> StudentsBroker:
    """Wait until a broker listens, and return it. Wrong if it does not."""
    end = time.monotonic() + FIRST
    while not _listens(broker.port):
        if broker.program.code is not None:
            raise Wrong(f"your broker ended with exit code {broker.program.code} before anybody had asked it", broker.errors)
        if time.monotonic() > end:
            raise Wrong(f"your broker did not listen at 127.0.0.1 on the port of its argument within {FIRST:g} s", broker.errors)
        time.sleep(LOOK)
    return broker


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def write_down() -> str:
    """Write the whole broker into one file beside the notebook, and return what it is."""
    try:
        program = whole(ALONE)
    except (Todo, Unknown) as missing:
        return f"not whole yet: {missing}"
    with open(NAME, "w", encoding="utf-8") as file:
        file.write(program.text)
    count = sum(bool(line.strip()) for line in program.text.splitlines())
    return f"{NAME}: {count} lines of yours. In a terminal: python {NAME} 9092"
