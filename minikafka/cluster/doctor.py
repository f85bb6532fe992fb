"""`python -m minikafka doctor`: what this machine has, what is missing, and the remedy for each.

Owns the list of checks. A check returns its findings; "needed" ones that fail make the exit status 1.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..files import cache_folder
from ..jars import ALL
from ..java import REMEDY, NoJava, find_java
from .plan import HOST, free_ports

NEEDED = ("kafka-python", "crc32c", "uvloop", "rich", "pyspark", "pandas", "pyarrow", "jupyterlab")
OPTIONAL = ("confluent-kafka", "aiokafka")
OLDEST_PYTHON = (3, 11)
MEMORY_WANTED = 3 << 30  # bytes: three brokers, a notebook, Spark
FILES_WANTED = 4096


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    what: str
    good: bool
    found: str
    remedy: str = ""
    needed: bool = True


def findings() -> list[Finding]:
    """Return all findings, in the order of the report."""
    looks: tuple[Callable[[], Iterator[Finding]], ...] = (_python, _packages, _java, _jars, _machine, _ports)
    return [finding for look in looks for finding in look()]


def report() -> int:
    """Print the findings; return 1 if something needed is missing."""
    found = findings()
    width = max(len(f.what) for f in found)
    for f in found:
        print(f"{'ok ' if f.good else '-- '} {f.what:<{width}}  {f.found}")
        if not f.good and f.remedy:
            print(f"    {'':<{width}}  remedy: {f.remedy}")
    missing = [f.what for f in found if f.needed and not f.good]
    print(f"missing: {', '.join(missing)}" if missing else "everything needed is here")
    return 1 if missing else 0


def _python() -> Iterator[Finding]:
    yield Finding("Python", sys.version_info >= OLDEST_PYTHON, f"{platform.python_version()} ({sys.executable})",
                  "Python 3.11 or newer")
    import minikafka
    yield Finding("minikafka", True, str(os.path.dirname(minikafka.__file__ or "")))


def _packages() -> Iterator[Finding]:
    for name in NEEDED + OPTIONAL:
        try:
            yield Finding(name, True, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, False, "not installed", "make setup", needed=name in NEEDED)


def _java() -> Iterator[Finding]:
    try:
        java = find_java()
        yield Finding("Java", True, f"{java.version} from {java.source} ({java.executable})")
    except NoJava as error:
        yield Finding("Java", False, str(error), REMEDY)


def _jars() -> Iterator[Finding]:
    for wanted in ALL:
        count, lacking = len(wanted.contents), len(wanted.lacking())
        found = f"{count} jars in {wanted.folder}" if not lacking else f"not in {cache_folder()}" if lacking == count \
            else f"{lacking} of {count} jars in {wanted.folder} are missing or damaged"
        yield Finding(wanted.title, not lacking, found,
                      "make apache (once, with a network); without it Spark uses our own source", needed=False)


def _machine() -> Iterator[Finding]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("memory", memory >= MEMORY_WANTED, f"{memory / 2**30:.1f} GiB, {os.cpu_count()} cores",
                  "close other programs, or start one broker instead of three", needed=False)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = files == resource.RLIM_INFINITY or files >= FILES_WANTED
    yield Finding("open files", enough, str(files), f"ulimit -n {FILES_WANTED}", needed=False)
    free = shutil.disk_usage(cache_folder()).free
    yield Finding("disk", free > 1 << 30, f"{free / 2**30:.1f} GiB free at {cache_folder()}", "1 GiB", needed=False)


def _ports() -> Iterator[Finding]:
    port = free_ports(1)[0]
    try:
        with socket.create_server((HOST, port)) as server, socket.create_connection((HOST, port), 2):
            server.accept()[0].close()
        yield Finding("loopback ports", True, f"{HOST} accepts connections (tried port {port})")
    except OSError as error:
        yield Finding("loopback ports", False, f"{HOST}:{port}: {error}", "allow connections on the loopback interface")
