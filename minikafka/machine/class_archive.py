"""The classes of a Java program as they lay in memory: an *archive*, from which its next start is shorter.

Spark and Apache Kafka load thousands of classes, and Java reads, checks and links each of them whenever it starts.
Java can write the classes of a running machine into a file, and map that file the next time ("class data sharing", JEP 310 and
350). `make` writes an archive, `options` uses it.

Owns: how an archive is named, made and used. It is there whole or not at all: Java writes beside it, and the file is renamed.
Invariants
    I-CLASSES-1  A missing archive, or one that does not fit, costs time and nothing else: Java compares it with its class path,
                 and loads its classes as ever where it does not fit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from .java import find_java

SAYS_NOTHING = "-Xlog:disable"  # that an archive does not fit, or only in part, is no news for a student's cell
ENDS_WITHIN = 300.0  # seconds, for writing 160 MB on a busy machine


def archive_for(stem: Path, jars: Iterable[Path]) -> Path:
    """Return the path of an archive of classes, `stem` with a digest behind it, whether or not it is there. Java takes an archive
    only for the very files that it was made from, so another installation in the same place has another."""
    files = (find_java().executable.resolve(), *jars)
    seen = "".join(f"{file} {file.stat().st_mtime:.0f}\n" for file in files)
    return stem.with_name(f"{stem.name}-{zlib.crc32(seen.encode()):08x}.jsa")


def options(archive: Path) -> list[str]:
    """Return the options by which Java starts from the archive; none where there is no archive (I-CLASSES-1)."""
    return [f"-XX:SharedArchiveFile={archive}", SAYS_NOTHING] if archive.exists() else []


def make(program: str, path: Callable[[], Path], run: Callable[[list[str], Path], None]) -> None:
    """Make the archive at `path()` if it is missing, and say in a line what happened. Nothing needs it, so no error is raised.

    `run` starts the program with the options that it gets, lets it load what it needs, and ends it; a folder that is removed
    afterwards is its second argument.
    """
    try:
        if (archive := path()).exists():
            return
        print(f"setup: one start of {program}, so that the next ones are shorter ...", file=sys.stderr)
        stem = archive.stem.rpartition("-")[0]
        for former in archive.parent.glob(f"{stem}-*.jsa"):  # of what was installed here before
            former.unlink()
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            written = Path(folder) / "classes.jsa"
            run([f"-XX:SharedArchiveFile={_of_java(archive)}", f"-XX:ArchiveClassesAtExit={written}", SAYS_NOTHING], Path(folder))
            written.replace(archive)
    except Exception as error:  # whatever it is: an environment without an archive is whole
        print(f"setup: no archive of the classes of {program} ({error}); it starts without one", file=sys.stderr)


def _of_java(archive: Path) -> Path:
    """Make and return an archive of Java's own classes, on which every other lies: not every Java comes with one."""
    own = archive.with_name(f"{archive.stem}-java.jsa")
    subprocess.run([find_java().executable, "-Xshare:dump", f"-XX:SharedArchiveFile={own}", "-XX:+UseSerialGC"], check=True,
                   capture_output=True, timeout=ENDS_WITHIN)
    return own
