"""The machine that the figures are true of, and the CPU time and memory of processes on it.

Owns: nothing; it reads /proc.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from minikafka.cluster.cluster import Cluster

TICKS = os.sysconf("SC_CLK_TCK")


def describe() -> dict[str, str]:
    """Return the date, the processor, its cores, the system and Python's version."""
    cpus = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")]
    return {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "processor": cpus[0] if cpus else platform.machine(),
            "cores": str(os.cpu_count()), "system": platform.release(), "python": platform.python_version()}


def cpu_seconds(cluster: Cluster) -> float:
    """Return the CPU time that all processes of a cluster have used, in user mode and in the kernel."""
    return sum(_cpu_seconds(cluster.pid(node)) for node in cluster.ids)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mib(cluster: Cluster) -> float:
    """Return the resident memory of all processes of a cluster in MiB."""
    return sum(_resident_kib(cluster.pid(node)) for node in cluster.ids) / 1024


def family_mib(pid: int) -> float:
    """Return the resident memory of a process, its children and theirs in MiB; one that ends meanwhile counts for nothing."""
    eldest = psutil.Process(pid)
    size = 0
    for member in (eldest, *eldest.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            size += member.memory_info().rss
    return size / (1 << 20)


def _resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
