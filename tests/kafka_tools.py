"""Apache Kafka's own command line tools, as processes of Java.

The first ConfigCommand leaves an archive of its classes beside the jars, and the tools after it start from that: most of what
such a tool does is to load classes. Java takes an archive only for the very files that it was made from.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from minikafka.machine.class_archive import SAYS_NOTHING, archive_for, options
from minikafka.machine.jars import KAFKA, jars
from minikafka.machine.java import find_java

CONFIGS = "kafka.admin.ConfigCommand"  # most often run; an administrator's other tools need the same classes
FLAGS = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8"]


def command(main: str, *arguments: str) -> list[str]:
    """The command that runs a class of Kafka's."""
    return [str(find_java().executable), *FLAGS, *options(_archive()), "-cp", _classpath(), main, *arguments]


def run(main: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a class of Kafka's to its end."""
    wanted, line = _archive(), command(main, *arguments)
    made = wanted.with_suffix(f".{os.getpid()}")
    if main == CONFIGS and not wanted.exists():
        line[1:1] = [f"-XX:ArchiveClassesAtExit={made}", SAYS_NOTHING]
    done = subprocess.run(line, input=stdin, capture_output=True, encoding="utf-8", timeout=120)
    if made.exists():
        made.replace(wanted)
    return done


@cache
def _classpath() -> str:
    return ":".join(map(str, jars(KAFKA)))


@cache
def _archive() -> Path:
    return archive_for(KAFKA.folder.with_name(f"{KAFKA.name}-tools"), jars(KAFKA))
