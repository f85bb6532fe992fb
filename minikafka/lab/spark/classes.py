"""`python -m minikafka.lab.spark.classes`: make the archive of Spark's Java classes (home.py), once for a machine.

A session does what the labs do, a stream with windows and state among it, and Java writes all classes of that session into
the archive when it ends. `make setup` runs this; nothing fails without it.

Owns: the session whose classes are archived (machine/class_archive.py).
"""
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, window

from minikafka.machine.class_archive import ENDS_WITHIN, make

from .home import archive
from .session import DRIVER_OPTIONS, java_options, spark_session


def main() -> None:
    """Make the archive if it is missing; nothing needs it, so an error ends nothing."""
    make("Spark", archive, _one_session)


def _one_session(archiving: list[str], folder: Path) -> None:
    spark = spark_session(connector=False, **{DRIVER_OPTIONS: " ".join([java_options(local=True), *archiving])})
    _work(spark, folder)
    spark.stop()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()  # type: ignore[attr-defined]  # Java ends when this ends
    gateway.proc.wait(ENDS_WITHIN)  # type: ignore[attr-defined]


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
    main()
