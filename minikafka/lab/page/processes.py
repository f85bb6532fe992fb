"""Processes of Python that a notebook inside a world starts: guests of that world, by the names of `subprocess`.

    process = Process([sys.executable, "-m", "minikafka.lab.labs.lab05.member", ...], stdout=PIPE)
    for line in process.stdout: ...
    process.kill()

Each has a loop, modules and connections of its own, so a kill, a pause or a signal meets it as it meets a real one.

Owns: what a process has printed and nobody has read.
Invariants: whoever waits for a line or for the end waits on the world's clock.
What real processes do differently: programs that are not Python's cannot be started here (FileNotFoundError).
"""
from __future__ import annotations

import importlib.util
import itertools
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from minikafka.lab.page.librdkafka import stand_in
from minikafka.lab.page.trace import trace_module
from minikafka.sim.guest.guest import Guest
from minikafka.sim.guest.modules import Modules, like
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.world import CLIENTS, World

_numbers = itertools.count(1001)


class _Program(Guest):
    """The guest that such a process is."""

    def __init__(self, parent: Modules, worlds: Mapping[Path, World], number: int, text: str, *arguments: str, name: str) -> None:
        self.waiters: list[Any] = []  # threads of the parent
        self._parent, self._number = parent, number
        super().__init__(parent, text, *arguments, name=name)  # type: ignore[arg-type]
        self.own |= {"confluent_kafka": stand_in(self), **trace_module(worlds)}
        self.own["os"] = like(self.own["os"], getpid=lambda: number, _exit=self._end)

    def enter(self, parent: Any) -> None:
        """Become a process of the parent's timeline, at the host of the clients of each of its worlds."""
        def env(way: SimEnv) -> SimEnv:
            return SimEnv(self.loop, way.net, SimDisk(), f"{parent.name}:{self.name}:{self._number}", CLIENTS)

        self.threads.loop = self.loop = ProcessLoop(parent.loop.timeline, self.name)
        self.env = self.network.env = env(parent.env)
        self.network.ports = {port: env(way) for port, way in parent.network.ports.items()}
        self.chance = self.env.rng("chance")

    def _end(self, code: int) -> None:
        super()._end(code)
        self._parent.threads.wake(self.waiters)


class _Lines:
    """The lines that a process prints; a reader waits for the next one."""

    def __init__(self, program: _Program, parent: Modules) -> None:
        self._program, self._parent, self._read = program, parent, 0
        write = program.stdout.write

        def written(text: str) -> int:
            parent.threads.wake(program.waiters)
            return write(text)

        program.stdout.write = written  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[str]:
        program = self._program
        while True:
            self._parent.threads.block(lambda: len(program.stdout.lines) > self._read or program.code is not None,
                                       program.waiters)
            if len(lines := program.stdout.lines) <= self._read:
                return
            self._read += 1
            yield f"{lines[self._read - 1]}\n"


class _Given:
    """The standard input of a process."""

    def __init__(self, program: _Program) -> None:
        self._program = program

    def write(self, text: str) -> None:
        self._program.stdin.give(text.splitlines())

    def flush(self) -> None: ...

    def close(self) -> None:
        self._program.stdin.end()


class Process:
    """Has what the labs call of `subprocess.Popen`."""

    parent: Modules
    worlds: Mapping[Path, World]

    def __init__(self, command: Sequence[str], stderr: Any = None, **_: Any) -> None:
        executable, *arguments = command
        if executable != sys.executable:
            raise FileNotFoundError(f"{executable} cannot run inside a browser's page: this needs `make lab`, on a machine")
        self.args, self.pid = command, next(_numbers)
        text, name, arguments = _source(arguments)
        self._program = _Program(self.parent, self.worlds, self.pid, text, *arguments, name=name)
        if hasattr(stderr, "name"):
            _copy(self._program.stderr, Path(stderr.name))
        self.stdin, self.stdout = _Given(self._program), _Lines(self._program, self.parent)

    @property
    def returncode(self) -> int | None:
        return self._program.code

    def poll(self) -> int | None:
        return self._program.code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code. Raises TimeoutExpired."""
        program = self._program
        if not self.parent.threads.block(lambda: program.code is not None, program.waiters, timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        assert program.code is not None
        return program.code

    def kill(self) -> None:
        self._program.kill()

    def send_signal(self, number: int) -> None:
        acts = {signal.SIGSTOP: self._program.pause, signal.SIGCONT: self._program.resume}
        acts.get(number, lambda: self._program.signal(number))()


def _source(arguments: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return the text of a program, its name and its arguments: of `-m MODULE ...` or `FILE ...`."""
    if arguments[0] != "-m":
        return Path(arguments[0]).read_text(), Path(arguments[0]).name, [*arguments[1:]]
    spec: Any = importlib.util.find_spec(arguments[1])
    return spec.loader.get_source(arguments[1]), f"{arguments[1].rpartition('.')[2]}.py", [*arguments[2:]]


def _copy(output: Any, path: Path) -> None:
    """Let a file have all that is written to an output from now on."""
    write = output.write

    def written(text: str) -> int:
        with path.open("a") as file:
            file.write(text)
        return write(text)

    output.write = written


def subprocess_module(parent: Modules, worlds: Mapping[Path, World]) -> Any:
    """Return `subprocess` for a notebook inside a world; `worlds` by the folders of their traces."""
    made = type("Popen", (Process,), {"parent": parent, "worlds": worlds})

    def run(command: Sequence[str], check: bool = False, **_: Any) -> subprocess.CompletedProcess[str]:
        program = made(command)
        done = subprocess.CompletedProcess(command, program.wait(), "".join(program.stdout))
        if check:
            done.check_returncode()
        return done

    def check_output(command: Sequence[str], **_: Any) -> str:
        return run(command, check=True).stdout

    return like(subprocess, Popen=made, run=run, check_output=check_output)
