"""Fetching jars: Apache Kafka itself (the judge of our brokers) and Spark's official Kafka connector.

Owns the cache folder of jars, and which jars there are: `jars.tsv` names each with its size and SHA-256 (made by
tools/jars.py from the coordinates below). Nothing is installed, and no Java is needed to fetch: `make apache` fetches
everything once; afterwards no network is needed. MINIKAFKA_MAVEN names another repository than Maven Central
(an address, `file:///...` for a folder, or `none`: fetch nothing).

Invariants
    I-JARS-1  Only jars of the list are handed out, and only after their SHA-256 was compared in this process: 66 MB
              take 0.13 s, and what lies in a cache for months may be damaged or exchanged.
    I-JARS-2  Where jars cannot be fetched the error names what is missing, where it would be kept and the remedy.
    I-JARS-3  A list cannot write outside its folder: a path that is not plain is refused when the list is read.
"""

from __future__ import annotations

import functools
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .download import Artifact, DownloadFailed, NothingReached, download
from .files import cache_folder

KAFKA_VERSION = "4.3.0"
SPARK_VERSION = "4.2.0"
LIST = Path(__file__).with_name("jars.tsv")
PLAIN_PATH = re.compile(r"([A-Za-z0-9_][A-Za-z0-9._+-]*/)*[A-Za-z0-9_][A-Za-z0-9._+-]*\.jar")


class JarsMissing(RuntimeError):
    """The jars are not in the cache and could not be fetched; `why` in a few words."""

    def __init__(self, wanted: JarSet, why: str, remedy: str) -> None:
        super().__init__(
            f"{wanted.title}: its jars are not in {wanted.folder} and could not be fetched: {why}.\n"
            f"Remedy: {remedy}. Then `make apache`. Or copy that folder from a machine that has it; MINIKAFKA_CACHE "
            "names another cache.")
        self.why = why


class NoNetwork(JarsMissing):
    """An error: no repository can be reached, or the settings allow none."""


@dataclass(frozen=True)
class JarSet:
    """A named set of jars, kept in a folder of its own.

    `wanted` (group:artifact:version) is what the list is made from, with what they depend on if `transitive`.
    """

    name: str
    title: str
    wanted: tuple[str, ...]
    transitive: bool

    @property
    def folder(self) -> Path:
        return cache_folder() / "jars" / self.name

    @property
    def contents(self) -> tuple[Artifact, ...]:
        return _listed()[self.name]

    @property
    def present(self) -> bool:
        """Return whether every jar is there, by name and size: a quick check, to decide whether a test can run."""
        return all(_size(self.folder / jar.name) == jar.size for jar in self.contents)

    def lacking(self) -> list[Artifact]:
        """Return the jars that are not there, or are not what the list says. Reads them all."""
        return [jar for jar in self.contents if not jar.is_at(self.folder / jar.name)]


KAFKA = JarSet(
    f"kafka-{KAFKA_VERSION}", f"Apache Kafka {KAFKA_VERSION}", transitive=True,
    wanted=(f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
            "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"))  # without it the brokers log nothing at all

# The token provider is named in a version of its own: it was never published beside the connector's 4.2.0. Naming the
# four jars without their dependencies leaves nothing to resolve that Spark does not already carry.
CONNECTOR = JarSet(
    f"spark-kafka-{SPARK_VERSION}", f"the Kafka connector of Spark {SPARK_VERSION}", transitive=False,
    wanted=(f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.2", "org.apache.commons:commons-pool2:2.13.1"))

ECOSYSTEM = JarSet(
    f"ecosystem-{KAFKA_VERSION}", f"Kafka Streams, Connect and MirrorMaker {KAFKA_VERSION}", transitive=True,
    wanted=(*(f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in (
        "kafka-streams-examples", "connect-runtime", "connect-file", "connect-json", "connect-mirror")),
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"))

ALL = (KAFKA, CONNECTOR, ECOSYSTEM)

_compared: set[Path] = set()  # folders that this process has found right


def jars(wanted: JarSet) -> list[Path]:
    """Return the jar files of a set, compared with the list, fetched on first use. Raises JarsMissing."""
    if not (wanted.present and wanted.folder in _compared):
        fetch(wanted)
        _compared.add(wanted.folder)
    return sorted(wanted.folder / jar.name for jar in wanted.contents)


def class_path(wanted: JarSet) -> str:
    """Return a set as Java takes it behind `-cp`. Raises JarsMissing."""
    return os.pathsep.join(map(str, jars(wanted)))


def fetch(wanted: JarSet) -> None:
    """Fetch what a set lacks, with a progress bar; what is damaged is taken away first. Raises JarsMissing with the remedy
    (I-JARS-2)."""
    if not (lacking := wanted.lacking()):
        return
    try:
        for jar in lacking:
            (wanted.folder / jar.name).unlink(missing_ok=True)
        with _progress(wanted, lacking) as step:
            download(lacking, _repository(wanted), wanted.folder, step)
    except DownloadFailed as error:
        kind = NoNetwork if isinstance(error, NothingReached) else JarsMissing
        raise kind(wanted, str(error), error.remedy) from error
    except OSError as error:
        remedy = f"make room for {sum(jar.size for jar in lacking) >> 20} MiB there"
        raise JarsMissing(wanted, f"the disk says: {error}", remedy) from error


def _repository(wanted: JarSet) -> str:
    """Return the repository's address. Raises NoNetwork if the settings allow none."""
    named = os.environ.get("MINIKAFKA_MAVEN") or central()
    if named == "none":
        raise NoNetwork(wanted, "MINIKAFKA_MAVEN=none forbids to ask for them", "unset MINIKAFKA_MAVEN")
    return named


def central() -> str:
    """Return the address of Maven Central as it stands in PySpark's Ivy, which Spark itself would use."""
    import pyspark
    resolver = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"))
    with zipfile.ZipFile(resolver) as files:
        settings = files.read("org/apache/ivy/core/settings/repository.properties").decode()
    return re.search(r"(https://\S+/maven2)", settings)[1]  # type: ignore[index]


def read_list(text: str) -> dict[str, tuple[Artifact, ...]]:
    """Return the jars of each set from the text of `jars.tsv`. Raises ValueError for a line that is not plain (I-JARS-3)."""
    sets: dict[str, dict[str, Artifact]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, path, size, sha256 = line.split("\t")
            jar = Artifact(path, int(size), sha256)
            if not (PLAIN_PATH.fullmatch(path) and re.fullmatch(r"[0-9a-f]{64}", sha256)):
                raise ValueError(f"not a jar's path and SHA-256: {line!r}")
            if sets.setdefault(name, {}).setdefault(jar.name, jar) is not jar:
                raise ValueError(f"two files of one name in {name}: {jar.name}")
    return {name: tuple(found.values()) for name, found in sets.items()}


@functools.cache
def _listed() -> dict[str, tuple[Artifact, ...]]:
    return read_list(LIST.read_text())


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


@contextmanager
def _progress(wanted: JarSet, lacking: list[Artifact]) -> Iterator[Callable[[int], None]]:
    """Show a bar over the bytes, from the first one on: where there is no network, there is no bar."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
    columns = TextColumn("Fetching {task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn()
    bar = Progress(*columns)
    task = bar.add_task(wanted.title, total=sum(jar.size for jar in lacking))

    def step(received: int) -> None:
        bar.start()
        bar.update(task, advance=received)
    try:
        yield step
    finally:
        if bar.live.is_started:
            bar.stop()
