"""How many students one machine bears: each has a kernel, three brokers, the live picture, and a fleet of trucks on the road.

    python -m minikafka class --room 30      thirty students, one after the other; ends early when memory or processors are short

A student here is lab 0 as far as its section 4, run in a kernel of its own as JupyterLab starts it. Memory and CPU time are those
of the kernel and of all its children, so of the brokers too; JupyterLab itself and a browser come on top.

Owns: the kernels; with a kernel its cluster ends.
"""

from __future__ import annotations

import os
import queue
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import NamedTuple

import nbformat
import psutil
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from minikafka.lab.record import ROOT

CELLS = ("env", "start", "write-topic", "topic", "view", "fleet")  # of lab 0, by their ids
LAB = ROOT / "solutions" / "00-first-cluster.ipynb"
LOOK_S = 10.0  # how long each number of students is looked at
SPARE_MIB = 1024  # memory that is left to the machine
CELL_S = 120.0
BEGIN_S = 30.0  # that a student waits for the cells above, at most


class CrowdRow(NamedTuple):
    """A number of students at once: memory and CPU time of one student, on average, and the slowest promise of all."""

    students: int
    memory_mib: float
    cores: float
    slowest_s: float
    free_mib: float


def rehearse(students: int, say: Callable[[str], None]) -> list[CrowdRow]:
    """Let students in one after the other, and return a row each time that their number has doubled, and for the last one.

    Fewer come, and `say` is told why, where one more would not leave SPARE_MIB of memory, or where the last one waited longer
    than BEGIN_S to begin. Raises RuntimeError if a student's cell fails.
    """
    rows: list[CrowdRow] = []
    with ExitStack() as stack:
        room: list[_Student] = []
        while len(room) < students and not (lacking := _lacking(room)):
            room.append(_Student(stack))
            if len(room) & (len(room) - 1) == 0 or len(room) == students:
                rows.append(_look(room))
                say(told(rows[-1]))
        if room and rows[-1].students != len(room):
            rows.append(_look(room))
            say(told(rows[-1]))
        if len(room) < students:
            say(f"no {lacking} for more than {len(room)} of {students} students")
    return rows


def told(row: CrowdRow) -> str:
    """Return a row as a line of text."""
    return (f"{row.students:3} students: {row.memory_mib:5,.0f} MiB and {row.cores:.2f} of a core each, "
            f"slowest promise {row.slowest_s:.2f} s, {row.free_mib:,.0f} MiB free")


class _Student:
    """One kernel that has run the cells of lab 0."""

    def __init__(self, stack: ExitStack) -> None:
        began = time.monotonic()
        manager, self.client = start_new_kernel(env={**os.environ, "MINIKAFKA_PROGRESS": "off"}, cwd=str(LAB.parent),
                                                stderr=subprocess.DEVNULL)
        stack.callback(manager.shutdown_kernel)
        stack.callback(self.client.stop_channels)
        self.kernel = psutil.Process(manager.provisioner.process.pid)
        sources = {cell.id: cell.source for cell in nbformat.read(LAB, as_version=4).cells}
        for cell in CELLS:
            _run(self.client, sources[cell])
        self.waited = time.monotonic() - began

    def slowest(self) -> float:
        """Return the longest wait for a promise since the last question, in seconds."""
        return float(_run(self.client, "slowest, fleet.slowest = fleet.slowest, 0.0; print(slowest)"))

    def family(self) -> Iterator[psutil.Process]:
        yield self.kernel
        yield from self.kernel.children(recursive=True)


def _run(client: BlockingKernelClient, code: str) -> str:
    """Run code in a kernel; return what it printed. RuntimeError with the kernel's own words if it fails or takes too long."""
    printed: list[str] = []

    def hear(message: dict) -> None:
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            printed.append(message["content"]["text"])

    try:
        reply = client.execute_interactive(code, timeout=CELL_S, output_hook=hear)["content"]
    except (TimeoutError, queue.Empty):
        raise RuntimeError(f"a student's cell took more than {CELL_S:.0f} s: this machine is too busy") from None
    if reply["status"] != "ok":
        raise RuntimeError(f"a student's cell failed: {reply['ename']}: {reply['evalue']}")
    return "".join(printed)


def _lacking(room: list[_Student]) -> str:
    """Return what the machine lacks for one more, who is as large as the largest so far; "" for nothing."""
    if room and room[-1].waited > BEGIN_S:
        return "processor"
    largest = max((_memory_mib(student) for student in room), default=0.0)
    return "" if _free_mib() - largest > SPARE_MIB else "memory"


def _look(room: list[_Student]) -> CrowdRow:
    for student in room:
        student.slowest()
    before, began = sum(map(_cpu_s, room)), time.monotonic()
    time.sleep(LOOK_S)
    used, lasted = sum(map(_cpu_s, room)) - before, time.monotonic() - began
    memory = sum(map(_memory_mib, room)) / len(room)
    return CrowdRow(len(room), memory, used / lasted / len(room), max(student.slowest() for student in room), _free_mib())


def _memory_mib(student: _Student) -> float:
    """Return the memory that would be free again if this student left: pages that several processes share count in part."""
    size = 0
    for member in student.family():
        with suppress(psutil.NoSuchProcess):
            size += member.memory_full_info().pss
    return size / (1 << 20)


def _cpu_s(student: _Student) -> float:
    spent = 0.0
    for member in student.family():
        with suppress(psutil.NoSuchProcess):
            spent += sum(member.cpu_times()[:2])
    return spent


def _free_mib() -> float:
    return psutil.virtual_memory().available / (1 << 20)
