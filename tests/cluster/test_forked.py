"""Our nodes are forked from one process of their cluster: each is a process like any other, and none outlives that one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka import BrokerDied, Cluster
from minikafka.cluster.forked import ForkServerProcess
from minikafka.cluster.process import Child

from .test_life import gone


@pytest.fixture
def own() -> Cluster:
    """Three brokers of one's own, to be broken for good."""
    cluster = Cluster(engine="minikafka", preset="class")
    yield cluster
    cluster._end()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def inherited(pid: int) -> set[str]:
    """Return the pipes and sockets of a process by the kernel's numbers."""
    files = Path(f"/proc/{pid}/fd").iterdir()
    return {name for name in map(os.readlink, files) if name.startswith(("pipe:", "socket:"))}


def test_nodes_share_no_descriptor(own: Cluster) -> None:
    """Fails if a node could read another's commands, or keeps the fork server's end of anything (I-FORK-2)."""
    nodes = [own.pid(node) for node in own.ids]
    assert len(server := {parent(pid) for pid in nodes}) == 1
    seen = [inherited(pid) for pid in (*server, *nodes)]
    assert all(seen) and sum(map(len, seen)) == len(set.union(*seen))


def test_nodes_end_with_their_fork_server_and_start_again(own: Cluster) -> None:
    """Fails if a node could outlive the process that watches it, or a cluster without a fork server could start none (I-FORK-3,
    I-FORK-4)."""
    nodes = [own.pid(node) for node in own.ids]
    os.kill(parent(nodes[0]), signal.SIGKILL)
    assert all(map(gone, nodes))
    with pytest.raises(BrokerDied, match="signal SIGKILL"):
        own.sleep(0)
    own.restart(*own.ids)
    assert own.alive == own.ids and not {own.pid(node) for node in own.ids} & set(nodes)


def test_a_fork_server_that_cannot_start_says_why_in_the_node_s_log(tmp_path: Path) -> None:
    """Fails if the reason were lost in a process of which nobody knows, or its node were waited for."""
    log = tmp_path / "log.txt"

    def start(command: list[str], inherited: int) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen([sys.executable, "-c", "raise ImportError('no event loop today')"], stderr=output)

    server = ForkServerProcess(start)
    nodes = [Child(server.fork(tmp_path / "server.properties", log), log) for _ in range(2)]
    server.close()
    assert [(node.alive, node.how_it_ended()) for node in nodes] == [(False, "exit status 1")] * 2
    assert "no event loop today" in nodes[0].last_lines()
