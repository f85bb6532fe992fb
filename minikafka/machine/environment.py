"""The environment that we start things in: what another course or program has left there is set aside.

Brokers, kernels, Spark, its Java and its Python workers read some hundred variables. One that was meant for another Spark, Java
or Python makes ours fail, much later, and in words that do not name it. So whatever a student starts goes by one table.

Owns: the table, and the order in which this process looks for modules.

Invariants
  I-SETTLE-1  What `settle` changes in this process holds for each process below it: they find nothing left to set aside.
  I-SETTLE-2  The process that sets something aside prints one line about it; check 0.0 prints it again.
  I-SETTLE-3  The modules of the course come first: one of the same name beside a notebook, in PYTHONPATH, or in the user's own
           folder of packages is found only where we have none.
"""

from __future__ import annotations

import fnmatch
import locale
import os
import resource
import site
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Names of variables; `*` stands for any end.
ASIDE = (
    "SPARK_*", "PYSPARK_*", "HADOOP_*", "YARN_*", "HIVE_*", "ARROW_PRE_0_15_IPC_FORMAT",  # another Spark's folders and settings
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LOG4J_*",  # every Java takes them for its own
    "PYTHON*",  # another Python's modules; a start-up file; no assertions, which our checks are made of; warnings as errors
    "JUPYTER_PATH", "JUPYTER_CONFIG_PATH",  # other kernels of the same name
)
KEPT = (
    "SPARK_MASTER",  # ours: lab/spark/session.py
    "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE",  # PySpark's notes to itself, of a session before
    "PYTHON_*", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "PYTHONPYCACHEPREFIX", "PYTHONFAULTHANDLER",
)
OF_A_CLUSTER = ("PYSPARK_PYTHON", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "HADOOP_*", "YARN_*")  # kept where SPARK_MASTER names one
SET = {
    "TZ": "UTC",  # Spark's `collect` gives times of this machine's zone, and the labs' texts are in UTC
    "PYTHONUTF8": "1", "PYTHONNOUSERSITE": "1", "JUPYTER_PREFER_ENV_PATH": "1",
    "PYTHONDONTWRITEBYTECODE": "",  # each broker would compile all that it imports: a third of the processor time of its start
}
UTF_8 = "C.UTF-8"  # a locale in which Java can name every file, and in which capital letters are English
LOOPBACK = "127.0.0.1,localhost"  # is reached without a proxy
FILES_WANTED = 4096  # descriptors
_lent: set[str] = set()  # names
UNSAID, SAID = "MINIKAFKA_UNSAID", "MINIKAFKA_SET_ASIDE"  # names: those that the Makefile has set aside; all


def settle() -> None:
    """Make this process's environment ours, and say in a line what was set aside. In a browser's page it is ours alone."""
    if sys.platform == "emscripten":
        return
    gone = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    aside = foreign(os.environ)
    for name in aside:
        del os.environ[name]
    told = [*os.environ.pop(UNSAID, "").split(), *aside]
    os.environ.update(SET)
    time.tzset()
    _speak_utf8()
    _reach_loopback()
    _find_ours_first(gone)
    _open_enough()
    lines = [f"Set aside, for this course needs its own: {', '.join(told)}."] if told else []
    lines += _find_a_home()
    if told:
        os.environ[SAID] = " ".join(dict.fromkeys([*os.environ.get(SAID, "").split(), *told]))
    if lines:
        print(*lines, file=sys.stderr)


@contextmanager
def lent(**variables: str) -> Iterator[None]:
    """Put variables into the environment for the length of a start, from where a library hands them on; a thread that starts
    something else meanwhile leaves them alone."""
    before = {name: os.environ.get(name) for name in variables}
    _lent.update(variables)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        _lent.clear()


def foreign(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that are set aside."""
    kept = KEPT + (() if environment.get("SPARK_MASTER", "local").startswith("local") else OF_A_CLUSTER)
    return [name for name, value in environment.items()
            if _is(name, ASIDE) and not _is(name, kept) and value and name not in _lent and not _is_ours(name, value)]


def _is(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _is_ours(name: str, value: str) -> bool:
    if name in ("PYTHONPATH", "PYTHONSTARTUP"):
        return all(Path(entry).is_relative_to(ROOT) for entry in value.split(os.pathsep))
    return name in SET or name == "PYTHONSAFEPATH"  # for a kernel's start: lab/__main__.py


def _speak_utf8() -> None:
    """Let this process and those below it read and write UTF-8, whatever the language of the desktop."""
    try:
        locale.setlocale(locale.LC_CTYPE, UTF_8)
    except locale.Error:  # this system has no such locale: then it has no other encoding either (macOS), or is very old
        return
    os.environ["LC_ALL"] = UTF_8
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.encoding.lower() != "utf-8":
            stream.reconfigure(encoding="utf-8")


def _reach_loopback() -> None:
    for name in ("no_proxy", "NO_PROXY"):
        if LOOPBACK not in (named := os.environ.get(name, "")):
            os.environ[name] = ",".join(filter(None, [named, LOOPBACK]))


def _find_ours_first(foreign_path: Iterable[str]) -> None:
    """Move folders of other modules to the end of the path (I-SETTLE-3)."""
    last = {"", os.getcwd(), site.getusersitepackages(), *filter(None, foreign_path)} - {str(ROOT)}
    sys.path.sort(key=lambda entry: entry in last)


def _open_enough() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _find_a_home() -> list[str]:
    """Give the programs below a home that they can write, where this user has none; return the line about it."""
    home = Path(os.path.expanduser("~"))
    if home.is_dir() and os.access(home, os.W_OK | os.X_OK):
        return []
    own = ROOT / ".cache" / "home"
    own.mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = str(own)
    return [f"The home folder {home} cannot be written: what belongs there is in {own}."]
