"""Child processes that never outlive the notebook that started them.

Owns the thread that starts every process of a cluster, and the handles to them.

Invariants
    I-PROC-1  However the parent ends (exit, exception, kill -9, closed notebook), its children end too, also paused ones: by
              the parent-death signal (exec_with_parent_death.py), and our brokers also by the end of their standard input.
    One thread, which lives as long as the cluster, starts all its children: the parent-death signal is sent when
      the thread that started the child ends, and the threads of a notebook's widgets end early.
    Our brokers are forked from one process of the cluster that has imported everything (forked.py): so the imports take
      their time once.
    The interrupt button of a notebook reaches no broker: each is a session of its own.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from minikafka.machine.environment import settle

from .forked import Forked, ForkServerProcess

EXEC_WITH_PARENT_DEATH = Path(__file__).with_name("exec_with_parent_death.py")
LOG_LIMIT = 8 << 20  # bytes; then the content of log.txt becomes log.txt.1
LOOK = 10.0  # seconds between two checks of the sizes of the logs


class Child:
    """A running (or ended) process and its log file."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked, log: Path) -> None:
        self.process, self.log = process, log
        self.asked_to_end = False
        self.paused = False

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def died(self) -> bool:
        """Return whether the process has ended by itself."""
        return not self.asked_to_end and not self.alive

    def tell(self, command: dict[str, Any]) -> None:
        """Send one JSON command to its standard input; a process that has just died is not an error here."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def kill(self) -> None:
        """Kill the process (SIGKILL), and wait until it has ended."""
        self.end(signal.SIGKILL, timeout=None)

    def end(self, how: signal.Signals, timeout: float | None) -> bool:
        """Send a signal that ends it and wait; True if it ended in time."""
        self.asked_to_end = True
        if self.alive:
            self.process.send_signal(how)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                return False
        self._close_stdin()
        return True

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def last_lines(self, count: int = 20) -> str:
        """Return the end of its log."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 16384))
                return b"\n".join(file.read().splitlines()[-count:]).decode(errors="replace")
        except OSError as error:
            return f"(no log: {error})"

    def how_it_ended(self) -> str:
        code = self.process.poll()
        if code is None:
            return "running"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def _close_stdin(self) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
        except OSError:
            pass


class Launcher:
    """The thread that starts processes."""

    def __init__(self, name: str) -> None:
        settle()
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Child], Future[Child]] | None] = queue.SimpleQueue()
        self._logs: dict[Path, None] = {}
        self._fork_server: ForkServerProcess | None = None
        self._thread = threading.Thread(target=self._run, name=f"{name} launcher", daemon=True)
        self._thread.start()

    def start(self, command: list[str], log: Path, environment: Mapping[str, str]) -> Child:
        """Start a process whose output goes to `log`; raises Popen's errors."""
        return self._do(lambda: Child(_spawn(command, log, environment), log), log)

    def fork(self, properties: Path, log: Path) -> Child:
        """Start one of our nodes: fork it from the fork server, which the first of them starts."""
        return self._do(lambda: Child(self._living_fork_server(log).fork(properties, log), log), log)

    def _do(self, start: Callable[[], Child], log: Path) -> Child:
        """Return the child that the thread has started."""
        done: Future[Child] = Future()
        self._logs[log] = None
        self._jobs.put((start, done))
        return done.result()

    def close(self) -> None:
        """End the thread, and with it every child still running."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._next_job()) is not None:
            start, done = job
            try:
                done.set_result(start())
            except BaseException as error:
                done.set_exception(error)
        if self._fork_server is not None:
            self._fork_server.close()

    def _living_fork_server(self, log: Path) -> ForkServerProcess:
        if self._fork_server is None or not self._fork_server.alive:
            self._fork_server = ForkServerProcess(
                lambda command, inherited: _spawn(command, log, {"PYTHONUNBUFFERED": "1"}, inherited))
        return self._fork_server

    def _next_job(self) -> tuple[Callable[[], Child], Future[Child]] | None:
        """Wait for the next process to start; look after the logs meanwhile."""
        while True:
            try:
                return self._jobs.get(timeout=LOOK)
            except queue.Empty:
                for log in list(self._logs):
                    rotate(log)


def _spawn(command: list[str], log: Path, environment: Mapping[str, str], *inherited: int) -> subprocess.Popen[bytes]:
    with_parent_death = [sys.executable, "-I", "-S", str(EXEC_WITH_PARENT_DEATH), str(os.getpid()), *command]
    with log.open("ab") as output:
        return subprocess.Popen(
            with_parent_death, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
            env={**os.environ, **environment}, cwd=log.parent, pass_fds=inherited)


def rotate(log: Path) -> None:
    """Copy a log file that has grown too large, and empty it: the process keeps it open, and appends at its end. One old file
    is kept."""
    try:
        if log.stat().st_size > LOG_LIMIT:
            shutil.copyfile(log, log.with_name(log.name + ".1"))
            os.truncate(log, 0)
    except FileNotFoundError:
        pass
