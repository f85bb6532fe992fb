"""`python -m minikafka.lab.spark.classes`: make the archive of Spark's Java classes (home.py), once for a machine.

A session does what the labs do, a stream with windows and state among it, and Java writes all classes of that session into
the archive when it ends. `make setup` runs this; nothing fails without it.

Owns: how an archive is made. It is there whole or not at all: Java writes beside it, and the file is renamed.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, window

from minikafka.machine.java import find_java

from .home import SAYS_NOTHING, archive
from .session import DRIVER_OPTIONS, java_options, spark_session

ENDS_WITHIN = 300.0  # seconds, for writing 160 MB on a busy machine


def main() -> int:
    """Make the archive if it is missing, and say in a line what happened; return 0 in any case: nothing needs the archive."""
    try:
        if (wanted := archive()).exists():
            return 0
        print("setup: one session of Spark, so that the next ones start in half the time ...", file=sys.stderr)
        for former in wanted.parent.glob("classes-*.jsa"):  # of what was installed here before
            former.unlink()
        with tempfile.TemporaryDirectory(dir=wanted.parent) as folder:
            _write(Path(folder)).replace(wanted)
    except Exception as error:  # whatever it is: an environment without an archive is whole
        print(f"setup: no archive of Spark's classes ({error}); sessions start without one", file=sys.stderr)
    return 0


def _write(folder: Path) -> Path:
    """Write an archive into the folder and return its path.

    It lies on top of one with Java's own classes: not every Java comes with that.
    """
    own, written = folder.parent / f"{archive().stem}-java.jsa", folder / "classes.jsa"
    subprocess.run([find_java().executable, "-Xshare:dump", f"-XX:SharedArchiveFile={own}", "-XX:+UseSerialGC"], check=True,
                   capture_output=True, timeout=ENDS_WITHIN)
    make = f"-XX:SharedArchiveFile={own} -XX:ArchiveClassesAtExit={written}"
    spark = spark_session(connector=False, **{DRIVER_OPTIONS: f"{java_options(local=True)} {SAYS_NOTHING} {make}"})
    _work(spark, folder)
    spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()  # type: ignore[attr-defined]  # Java ends when this ends
    gateway.proc.wait(ENDS_WITHIN)  # type: ignore[attr-defined]
    return written


def _work(spark: SparkSession, folder: Path) -> None:
    """Let the session load what the labs' queries load."""
    rows = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    counted = rows.groupBy(window(col("timestamp"), "1 second"), col("value") % 2).agg(count("*"))
    query = counted.writeStream.foreachBatch(lambda batch, _: batch.collect()).outputMode("update").option(
        "checkpointLocation", str(folder / "checkpoint")).start()
    query.processAllAvailable()
    query.stop()
    spark.createDataFrame([(1, "a")], "id int, name string").selectExpr("from_json(name, 'a int')", "id").toPandas()


if __name__ == "__main__":
    sys.exit(main())
