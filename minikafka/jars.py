"""Fetching jars: Apache Kafka itself (the judge of our brokers) and Spark's official Kafka connector.

Owns the cache folder of jars. Nothing is installed: the resolver is the Ivy that PySpark carries, the Java is
`minikafka.java`'s. `python -m minikafka jars` fetches everything once; afterwards no network is needed.

Invariants
    I-JARS-1  A folder of jars is there completely or not at all (fetched beside, then renamed).
    I-JARS-2  Where the network is missing the error names what is missing, where it would be kept and the remedy.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .files import cache_folder
from .java import find_java

KAFKA_VERSION = "4.3.0"
SPARK_VERSION = "4.2.0"
ATTEMPTS = 3


class JarsMissing(RuntimeError):
    """The jars are not in the cache and could not be fetched."""


@dataclass(frozen=True)
class JarSet:
    """A named set of artifacts: `wanted` as group:artifact:version, with what they depend on if `transitive`."""

    name: str
    title: str
    wanted: tuple[str, ...]
    transitive: bool
    count: int  # how many jars a complete folder holds

    @property
    def folder(self) -> Path:
        return cache_folder() / "jars" / self.name

    @property
    def present(self) -> bool:
        return len(list(self.folder.glob("*.jar"))) >= self.count


KAFKA = JarSet(
    f"kafka-{KAFKA_VERSION}", f"Apache Kafka {KAFKA_VERSION}", transitive=True, count=92,
    wanted=(f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
            "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"))  # without it the brokers log nothing at all

# The token provider is named in a version of its own: it was never published beside the connector's 4.2.0. Naming the
# four jars without their dependencies leaves nothing to resolve that Spark does not already carry.
CONNECTOR = JarSet(
    f"spark-kafka-{SPARK_VERSION}", f"the Kafka connector of Spark {SPARK_VERSION}", transitive=False, count=4,
    wanted=(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2", "org.apache.commons:commons-pool2:2.13.1"))

ALL = (KAFKA, CONNECTOR)


def jars(wanted: JarSet) -> list[Path]:
    """The jar files of a set, fetched on first use. Raises JarsMissing or NoJava."""
    if not wanted.present:
        fetch(wanted)
    return sorted(wanted.folder.glob("*.jar"))


def fetch(wanted: JarSet) -> Path:
    """Resolve a set into its folder, with a progress bar. Raises JarsMissing with the remedy (I-JARS-2)."""
    wanted.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.folder.parent, prefix=".fetch-") as scratch:
        last_lines = ""
        for _ in range(ATTEMPTS):  # a public repository answers with a passing error now and then
            done, last_lines = _run_ivy(wanted, Path(scratch))
            if done:
                return _publish(Path(scratch) / "out", wanted.folder)
    raise JarsMissing(
        f"{wanted.title}: the jars are not in {wanted.folder} and could not be fetched "
        f"(is there a network?). Remedy: run `python -m minikafka jars` once where there is one, or copy that folder "
        f"from another machine; MINIKAFKA_CACHE names another cache.\nThe resolver's last words:\n{last_lines}")


def _publish(fetched: Path, folder: Path) -> Path:
    """Rename the complete folder into place; another process may have been faster, which is as good."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        fetched.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    return folder


def _run_ivy(wanted: JarSet, scratch: Path) -> tuple[bool, str]:
    """One run of the resolver: (complete?, its last lines)."""
    (scratch / "ivy.xml").write_text(_ivy_file(wanted))
    command = [str(find_java().executable), f"-Divy.default.ivy.user.dir={scratch}", "-jar", str(_ivy_jar()),
               "-ivy", str(scratch / "ivy.xml"), "-cache", str(scratch / "cache"),
               "-retrieve", str(scratch / "out" / "[artifact]-[revision].[ext]")]
    lines: list[str] = []
    with _progress(wanted) as step, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line.rstrip())
            step("[SUCCESSFUL" in line)
    complete = len(list((scratch / "out").glob("*.jar"))) >= wanted.count
    return ivy.returncode == 0 and complete, "\n".join(lines[-12:])


@contextmanager
def _progress(wanted: JarSet) -> Iterator[object]:
    """A bar over the jars; while dependencies are still being resolved it only pulses."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    columns = TextColumn("Fetching {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, transient=False) as bar:
        task = bar.add_task(wanted.title, total=wanted.count)
        yield lambda one_more: bar.update(task, advance=int(one_more))


def _ivy_jar() -> Path:
    import pyspark
    found = sorted(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
    if not found:
        raise JarsMissing("PySpark's own folder of jars has no ivy-*.jar: is this the full pyspark package?")
    return found[-1]


def _ivy_file(wanted: JarSet) -> str:
    conf = "default-&gt;default,runtime" if wanted.transitive else "default-&gt;default"
    transitive = str(wanted.transitive).lower()
    lines = [f'    <dependency org="{group}" name="{name}" rev="{version}" conf="{conf}" transitive="{transitive}"/>'
             for group, name, version in (coordinate.split(":") for coordinate in wanted.wanted)]
    return "\n".join(['<ivy-module version="2.0">', f'  <info organisation="minikafka" module="{wanted.name}"/>',
                      '  <configurations><conf name="default"/></configurations>', "  <dependencies>", *lines,
                      "  </dependencies>", "</ivy-module>", ""])
