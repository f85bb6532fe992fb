"""`python -m minikafka doctor`: the programs and settings of this machine, and a remedy for each that is missing.

Owns the list of checks. A check returns its findings; "needed" ones that fail make the exit status 1. What is checked is what is
used: modules are imported, and Spark is started.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import resource
import shutil
import site
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from minikafka.machine.environment import SAID
from minikafka.machine.files import cache_folder
from minikafka.machine.jars import ALL
from minikafka.machine.java import REMEDY, NoJava, find_java

from .plan import HOST, free_ports

NEEDED = {"kafka-python": "kafka", "crc32c": "crc32c", "uvloop": "uvloop", "rich": "rich", "pyspark": "pyspark.sql",
          "pandas": "pandas", "pyarrow": "pyarrow", "jupyterlab": "jupyterlab"}  # packages and their modules
OPTIONAL = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka"}
OLDEST_PYTHON = (3, 11)
MEMORY_WANTED = 3 << 30  # bytes: three brokers, a notebook, Spark
FILES_WANTED, FILES_NEEDED = 4096, 1024  # Spark's Java alone opens some 300
OTHER_PLACE = "start with `make lab`; if that is no help, `make distclean setup`"
STARTS_WITHIN = 300.0  # seconds, for Spark on a busy machine
TRIAL = "minikafka.lab.spark.trial"  # run by name: it stands upstairs


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    what: str
    good: bool
    found: str
    remedy: str = ""
    needed: bool = True

    def __str__(self) -> str:
        return f"{self.what}: {self.found}" + ("" if self.good or not self.remedy else f". Remedy: {self.remedy}")


def findings() -> list[Finding]:
    """Return the findings that take a second or two, in the order of the report."""
    looks: tuple[Callable[[], Iterator[Finding]], ...] = (_python, _packages, _java, _jars, _machine, _ports)
    return [finding for look in looks for finding in look()]


def report(found: list[Finding] | None = None) -> int:
    """Print the findings, by default all and whether Spark starts; return 1 if something needed is missing."""
    found = [*findings(), spark_starts()] if found is None else found
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
    if sys.flags.optimize:
        yield Finding("assertions", False, "this Python runs without them, and the checks are made of them",
                      "`unset PYTHONOPTIMIZE` in the terminal, then `make lab` again")
    for name, file in sorted(_strangers()):
        yield Finding(name, False, f"Python's own module is hidden by {file}", "rename that file, then restart the kernel")
    import minikafka
    yield Finding("minikafka", True, str(os.path.dirname(minikafka.__file__ or "")))
    if aside := os.environ.get(SAID, ""):
        yield Finding("set aside", True, aside.replace(" ", ", "))


def _strangers() -> Iterator[tuple[str, str]]:
    """Yield modules of the standard library that were imported from another place, and that place."""
    own = Path(os.__file__).parent
    for name in sys.stdlib_module_names & sys.modules.keys():
        file = getattr(sys.modules[name], "__file__", None)
        if file and not Path(file).is_relative_to(own):
            yield name, file


def _packages() -> Iterator[Finding]:
    for name, module in (NEEDED | OPTIONAL).items():
        needed = name in NEEDED
        try:
            version = importlib.metadata.version(name)
            file = importlib.import_module(module).__file__ or ""
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, False, "not installed", "make setup", needed)
        except Exception as error:  # whatever a module does when it is imported
            yield Finding(name, False, f"cannot be imported ({type(error).__name__}: {error})", OTHER_PLACE, needed)
        else:
            installed = any(Path(file).is_relative_to(folder) for folder in site.getsitepackages())
            found = version if installed else f"the module {module} comes from {file}"
            yield Finding(name, installed, found, OTHER_PLACE, needed)


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
    yield Finding("open files", enough, f"{files} at once", f"`ulimit -n {FILES_WANTED}` in the terminal, then `make lab` again",
                  needed=files < FILES_NEEDED)
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


def spark_starts() -> Finding:
    """Start Spark in a process of its own, and stop it (lab/spark/trial.py); takes some ten seconds."""
    try:
        done = subprocess.run([sys.executable, "-m", TRIAL], capture_output=True, text=True, timeout=STARTS_WITHIN,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return Finding("Spark", False, f"it has not started within {STARTS_WITHIN:.0f} seconds", _for_spark())
    except OSError:  # a page in a browser has no processes
        return Finding("Spark", False, "no program can be started here", "labs 0 to 10 do without it; the others need `make lab`")
    if done.returncode == 0:
        return Finding("Spark", True, done.stdout.splitlines()[-1])
    return Finding("Spark", False, f"it does not start: {_cause(done.stderr)}", _for_spark())


def _cause(told: str) -> str:
    """Return the line of a log that says most: the last one that names an error."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "Exception" in line or "Java" in line]
    return (errors or lines or ["no word"])[-1][:300]


def _for_spark() -> str:
    if master := os.environ.get("SPARK_MASTER"):
        return f"SPARK_MASTER names the cluster {master}: start it, or `unset SPARK_MASTER` for a Spark on this machine"
    return f"`rm -r {cache_folder() / 'spark'}`, then `make doctor` again; labs 0 to 10 do without Spark"
