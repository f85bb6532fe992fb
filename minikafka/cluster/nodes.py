"""The processes of a cluster's nodes: they start under the standing faults, get new faults, and end.

Owns: a handle for every node that was ever started, the thread that starts them, the book of standing faults, and the
list of reported deaths.

Invariants
    I-NODES-1  A death that no call has caused is reported once, with the end of the node's log.
    I-NODES-2  When `tell` or `resume` returns, each running node that is not paused has carried out all faults sent to it; it
               says so by the event `fault` in its trace. A paused node carries them out when it is resumed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .engine import Engine
from .errors import ClusterError, NotReady
from .faults import FaultBook
from .plan import NodePlan, Plan
from .process import Child, Launcher
from .trace import Trace

LEAVE_WITHIN = 10.0  # seconds for a controlled shutdown at the cluster's end, if its data is kept
CARRIED_OUT_WITHIN = 60.0  # seconds that a busy node has to carry out a fault
MEMORY = "The memory is full: shut down the kernels of other notebooks, then start the cluster again."
REMEDIES = {  # words at the end of a node's log, ours or Apache's, and what to do about it
    "no space left on device": "The disk is full: delete what you do not need, then start the cluster again.",
    "file too large": "A file is as large as your account allows (`ulimit -f`): start a new cluster.",
    "address already in use": "Another program has one of its ports: end that one, or start a cluster without `port`.",
    "too many open files": "Too many files are open: allow more with `ulimit -n 4096`, then start the labs again.",
    "cannot allocate memory": MEMORY,
    "memoryerror": MEMORY,
    "outofmemoryerror": MEMORY,
}


class Nodes:
    """The nodes of one cluster; `lock` is held while any of them is started or ended."""

    def __init__(self, plan: Plan, engine: Engine, say: Callable[..., None]) -> None:
        self.plan, self.engine, self._say = plan, engine, say
        self.lock = threading.RLock()
        self.faults = FaultBook()
        self.children: dict[int, Child] = {}
        self._launcher = Launcher(plan.folder.name)
        self._reported: set[int] = set()
        self._trace = Trace(plan.trace)
        self._unanswered: Counter[int] = Counter()  # commands by node

    @property
    def alive(self) -> list[int]:
        """Return the ids of nodes whose process runs and is not paused."""
        with self.lock:
            return [node for node, child in self.children.items() if child.alive and not child.paused]

    def runs(self, node: int) -> bool:
        return node in self.children and self.children[node].alive

    def running(self, node: int) -> Child:
        if not self.children[node].alive:
            raise ClusterError(f"node {node} is not running")
        return self.children[node]

    def start(self, nodes: Iterable[NodePlan]) -> None:
        """Start processes, each with the standing faults that concern it (I-FAULT-1)."""
        for node in nodes:
            self.engine.prepare(self.plan, node)
            child = self.engine.start(self.plan, node, self._launcher)
            self.children[node.id] = child
            self._reported.discard(node.id)
            if self._unanswered[node.id]:  # of its last life
                self._read_answers()
                self._unanswered[node.id] = 0
            self._send((node.id, command) for command in self.faults.page(node.id).commands())

    def tell(self, commands: Iterable[tuple[int, dict[str, Any]]]) -> None:
        """Send commands to the running nodes, and wait until they have carried them out. Raises NotReady (I-NODES-2)."""
        self._send(commands)
        self._await_answers()

    def resume(self, node: int) -> None:
        """Let a paused node go on, and wait until it has carried out what was sent to it meanwhile. Raises NotReady."""
        self.running(node).resume()
        self._await_answers()

    def _send(self, commands: Iterable[tuple[int, dict[str, Any]]]) -> None:
        if not any(self._unanswered.values()):
            self._trace.skip()  # a long trace is not read again for each fault
        for node, command in commands:
            if self.runs(node):
                self._unanswered[node] += 1
                self.children[node].tell(command)

    def _read_answers(self) -> None:
        self._unanswered.subtract(event["b"] for event in self._trace.new() if event["k"] == "fault" and event["b"])

    def _await_answers(self) -> None:
        deadline = time.monotonic() + CARRIED_OUT_WITHIN
        while late := [node for node in self.alive if self._unanswered[node] > 0]:
            if time.monotonic() > deadline:
                raise NotReady(f"broker {late[0]} has not carried out a fault within {CARRIED_OUT_WITHIN:g} s: it stands still, "
                               "or the machine is too busy. Close other notebooks, then call `heal()` and try again")
            time.sleep(0.001)
            self._read_answers()

    def deaths(self) -> list[str]:
        """Return a line about each node that has ended by itself since the last call."""
        with self.lock:
            new = [n for n, child in self.children.items() if child.died and n not in self._reported]
            self._reported.update(new)
            for node in new:
                self._say("exit", broker=node, how=self.children[node].how_it_ended())
            # A full disk ends a broker, so the call that filled the disk has caused this death too.
            unasked = [n for n in new if self.faults.page(n).disk_budget is None]
            return [death(n, self.children[n].how_it_ended(), self.children[n].last_lines()) for n in unasked]

    def end(self, gently: bool) -> None:
        """End all of them; `gently`, by a controlled shutdown, if their data will be used again."""
        running = [child for child in self.children.values() if child.alive]
        for child in running:
            child.asked_to_end = True
            if gently and not child.paused:
                child.process.send_signal(signal.SIGTERM)
        for child in running:
            if not gently or not child.end(signal.SIGTERM, LEAVE_WITHIN):
                child.kill()
        self._launcher.close()


def death(node: int, how: str, log: str) -> str:
    """Return the error about a node that ended by itself: the remedy, if its log names the cause, and the end of the log."""
    remedy = next((told for words, told in REMEDIES.items() if words in log.lower()), "")
    if how == "signal SIGKILL":  # a process that is killed leaves no word in its log
        remedy = f"Another program has killed it, or Linux has, for want of memory. {MEMORY}"
    return f"node {node} died ({how}). {remedy + ' ' if remedy else ''}The end of its log:\n{log}"
