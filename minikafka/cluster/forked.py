"""The cluster's end of a fork server (minikafka/broker/fork_server.py): nodes forked from one process, which has imported all.

Owns: the fork server's process, and a handle for each node that was forked from it.

Invariants
  I-FORK-4  A handle knows its node's exit status as long as the fork server runs. Whoever kills it kills its nodes too
            (I-FORK-3): then their status is that of SIGKILL.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

NUMBER = 8  # bytes of each number in a report


class Forked:
    """A node that a fork server has forked; what `Child` needs of subprocess.Popen, under the same names."""

    def __init__(self, standard_input: int, report: int, server: subprocess.Popen[bytes]) -> None:
        """Read the node's process id; without one the fork server has ended, and its end is that of the node."""
        self.stdin = os.fdopen(standard_input, "wb")
        self._report, self._lock = report, threading.Lock()
        weakref.finalize(self, os.close, report)
        self._status = None if (number := os.read(report, NUMBER)) else server.wait()
        self.pid = int.from_bytes(number) if number else server.pid
        os.set_blocking(report, False)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None of a node that runs."""
        with self._lock:  # threads of a notebook ask too, and the report has the status once
            if self._status is None:
                try:
                    number = os.read(self._report, NUMBER)
                except BlockingIOError:
                    return None
                self._status = os.waitstatus_to_exitcode(int.from_bytes(number)) if number else -signal.SIGKILL
            return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when the node has ended; raises subprocess.TimeoutExpired."""
        until = time.monotonic() + timeout if timeout is not None else None
        with selectors.DefaultSelector() as selector:
            selector.register(self._report, selectors.EVENT_READ)
            while (status := self.poll()) is None:
                left = until - time.monotonic() if until is not None else None
                if left is not None and left <= 0:
                    raise subprocess.TimeoutExpired(f"node {self.pid}", timeout or 0)
                selector.select(left)
        return status

    def send_signal(self, which: int) -> None:
        """Send a signal to a node that runs."""
        if self.poll() is None:
            os.kill(self.pid, which)


class ForkServerProcess:
    """A process from which nodes are forked."""

    def __init__(self, start: Callable[[list[str], int], subprocess.Popen[bytes]]) -> None:
        """`start` starts a command that inherits a descriptor."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "minikafka.broker.fork_server", str(theirs.fileno())]
            self._process = start(command, theirs.fileno())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, properties: Path, log: Path) -> Forked:
        """Start a node; return when its process is there."""
        theirs_in, standard_input = os.pipe()
        report, theirs = os.pipe()
        with log.open("ab") as output:
            request = json.dumps([str(properties), str(log.parent)]).encode()
            try:
                socket.send_fds(self._requests, [request], [theirs_in, output.fileno(), theirs])
            except OSError:  # the fork server has ended; the report ends without a number
                pass
        os.close(theirs_in)
        os.close(theirs)
        return Forked(standard_input, report, self._process)

    def close(self) -> None:
        """End the fork server, and with it what it has forked."""
        self._requests.close()
        self._process.communicate()
