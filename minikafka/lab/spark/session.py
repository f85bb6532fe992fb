"""Spark sessions for the course: quiet, small, local; with the official Kafka connector where it can be had.

Owns: how a session is started, and the answer to "which format name reads Kafka here?".

Invariants
  Workers of a local session run the interpreter of the driver (PYSPARK_PYTHON): with another one they fail
    after a minute, and the message says nothing of the cause.
  Without connector and without network everything still runs, on our Python source.
  What a local session writes down meanwhile (shuffled rows) only its user can read. Spark itself lets all users read it.
  A process that finds a RUNNING_JAVA in its environment starts no Java of its own, but a session in that one.
"""
import logging
import os
import sys
from functools import cache
from pathlib import Path

from pyspark.sql import SparkSession

from minikafka.cluster.folder import temporary_folder
from minikafka.machine import class_archive
from minikafka.machine.environment import lent, settle
from minikafka.machine.files import plain
from minikafka.machine.jars import CONNECTOR, JarsMissing
from minikafka.machine.jars import jars as jars_of
from minikafka.machine.java import use_java

from .home import archive, spark_home
from .source import FORMAT, KafkaSource

log = logging.getLogger(__name__)
CONNECTOR_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
RUNNING_JAVA = "MINIKAFKA_SPARK_JAVA"  # its port and secret; lab 11's check runs one program after the other in the same Java
LOCAL = "local[2,4]"  # two tasks at once, and four tries of each, as on a cluster: a leader may die while a task reads from it
DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
EVERYWHERE = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
ONE_MACHINE = {
    "spark.sql.shuffle.partitions": "2",  # the default, 200, is for many: 200 tiny files and tasks per micro-batch
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
SMALL = {"spark.driver.memory": "1g", "spark.default.parallelism": "2", "spark.ui.enabled": "false"}


def spark_session(master: str | None = None, connector: bool = True, **config: str) -> SparkSession:
    """Return the running session, or a new one.

    master: a Spark cluster's address; default SPARK_MASTER of the environment, else LOCAL. On a cluster the workers
    need this package and kafka-python only for the Python source; the connector's jars are sent to them.
    connector: False leaves the official connector out. config: more settings, `spark__sql__x="1"` for spark.sql.x.
    Takes 5-10 s (a JVM starts); the first fetch of the jars some more.
    """
    if (running := SparkSession.getActiveSession()) is not None:
        return running
    settle()
    master = master or os.environ.get("SPARK_MASTER") or LOCAL
    builder = SparkSession.builder.appName("minikafka").master(master)
    local = master.startswith("local")
    jars = _connector() if connector else []
    settings = EVERYWHERE | {DRIVER_OPTIONS: java_options(local)}
    if local:
        settings |= SMALL
    here = local or master.startswith("spark://127.")
    if here:
        settings |= ONE_MACHINE
    if jars and not (local and _behind_links(jars)):
        settings["spark.jars"] = ",".join(jars)
    for name, value in (settings | {name.replace("__", "."): value for name, value in config.items()}).items():
        builder = builder.config(name, value)
    use_java()
    # says in JSON what the exception says anyway
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)
    with lent(**_variables(here, jars)):
        return builder.getOrCreate()


def kafka_format(spark: SparkSession) -> str:
    """Return "kafka" if the session has the official connector, else "minikafka", our Python source, registered here.

    The options and columns are the same: `spark.read.format(kafka_format(spark)).option("subscribe", ...)`.
    """
    return "kafka" if has_connector(spark) else python_format(spark)


def python_format(spark: SparkSession) -> str:
    """Register our Python source with the session, whether or not the connector is there, and return its name."""
    spark.dataSource.register(KafkaSource)
    return FORMAT


def has_connector(spark: SparkSession) -> bool:
    """Return whether the official connector is on the session's class path."""
    utils = spark.sparkContext._jvm.org.apache.spark.util.Utils     # type: ignore[union-attr]
    return bool(utils.classIsLoadable(CONNECTOR_CLASS))


def _connector() -> list[str]:
    try:
        return [str(jar) for jar in jars_of(CONNECTOR)]
    except JarsMissing as missing:
        log.warning(
            "The official Kafka connector is not here (%s); the Python source is used.", str(missing).splitlines()[0]
        )
        return []


def _behind_links(jars: list[str]) -> bool:
    return any(str(Path(jar).resolve()) != jar for jar in jars)


def _variables(here: bool, jars: list[str]) -> dict[str, str]:
    """Return what Spark's launcher, its Java and its Python workers find in their environment; `here`: on this machine.

    A worker starts in the notebook's folder; PYTHONSAFEPATH keeps it from looking for modules there first. The connector is in
    the class path, too: of spark.jars Spark follows the links, to folders whose names it may not understand.
    """
    home = {"SPARK_HOME": str(spark_home()), "SPARK_DIST_CLASSPATH": os.pathsep.join(jars)}
    workers = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONSAFEPATH": "1",  # the driver's Python
               "SPARK_LOCAL_DIRS": str(_own_folder())} if here else {}
    running = zip(("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"), os.environ.get(RUNNING_JAVA, "").split())
    return {**home, **workers, **dict(running)}


@cache
def _own_folder() -> Path:
    """Return a folder that no other user can read. It stays as long as this process, whose Java writes there."""
    return temporary_folder()[0]


def java_options(local: bool) -> str:
    """Return options for a quiet log, and for a short life on one machine: the first compiler alone, and the archive of classes.

    The first compiler takes 27 s of processor time for a start and twelve micro-batches, both take 43; from the archive a start
    and a micro-batch take 7 s, without it 11 (measured). On a cluster, where queries run for days, the second compiler pays.
    """
    quiet = f"-Dlog4j2.configurationFile=file:{plain(Path(__file__)).with_name('log4j2.properties')} -Duser.timezone=UTC"
    return " ".join([quiet, QUICK, *class_archive.options(archive())]) if local else quiet
