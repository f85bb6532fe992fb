"""The error about a node that ended by itself: the remedy comes first."""
from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.cluster.nodes import death

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("line, remedy", [
    (f"KafkaError: Error in the log of g-0: [Errno 28] {os.strerror(errno.ENOSPC)}", "delete what you do not need"),
    (f"OSError: [Errno 27] {os.strerror(errno.EFBIG)}", "`ulimit -f`"),
    (f"OSError: [Errno 98] error while attempting to bind: {os.strerror(errno.EADDRINUSE).lower()}", "without `port`"),
    ("KafkaException: Socket server failed to bind to 127.0.0.1:9092: Address already in use.", "without `port`"),
    (f"OSError: [Errno 24] {os.strerror(errno.EMFILE)}", "`ulimit -n 4096`"),
    (f"OSError: [Errno 12] {os.strerror(errno.ENOMEM)}", "shut down the kernels of other notebooks"),
    ("MemoryError", "shut down the kernels of other notebooks"),
    ("java.lang.OutOfMemoryError: Java heap space", "shut down the kernels of other notebooks"),
])
def test_the_remedy_stands_before_the_log(line, remedy):
    """Fails if a student has to find the cause in a traceback of the broker's."""
    said = death(1, "exit status 1", f"a line before\n{line}\n")
    assert remedy in said.partition("The end of its log")[0] and said.endswith(f"{line}\n")


def test_of_a_node_that_was_killed_the_memory_is_named():
    """Fails if a student is left alone with the kernel's last means against want of memory."""
    assert "Linux has, for want of memory" in death(1, "signal SIGKILL", "").partition("The end of its log")[0]


def test_a_cause_that_is_not_known_gets_no_remedy():
    """Fails if a wrong remedy is given."""
    assert death(1, "exit status 1", "ValueError: x") == "node 1 died (exit status 1). The end of its log:\nValueError: x"


def test_a_port_that_is_taken(tmp_path):
    """A real broker. Fails if the words that it ends with are others than those that are looked for."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = ["start", "--brokers", "1", "--data", str(tmp_path / "kept"), "--port", str(taken.getsockname()[1])]
        done = subprocess.run([sys.executable, "-m", "minikafka", *command], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 1 and "Another program has one of its ports" in done.stderr
