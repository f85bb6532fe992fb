"""`python -m minikafka.lab.spark.trial`: start Spark as the labs do, let a Python worker of it work, and stop it.

`make doctor`, the end of `make setup` and the end of lab 10 run this as a process of its own (cluster/doctor.py): that Spark is
installed says little, for it starts by way of shell scripts, a Java and many variables.
"""
import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa

from minikafka.machine.jars import CONNECTOR
from minikafka.machine.java import find_java

from .session import has_connector, spark_session


def main() -> int:
    """Return 0 after a line about Spark; raise what has kept it from starting or from working."""
    spark = spark_session(connector=CONNECTOR.present)  # nothing is fetched
    try:
        if (rows := spark.range(3).mapInArrow(_same, "id long").count()) != 3:
            raise RuntimeError(f"three rows went through a Python worker, and {rows} came back")
        source = "the official connector" if has_connector(spark) else "our Python source (without the official connector)"
        print(f"{spark.version} starts on Java {find_java().version}, its workers run this Python, it reads Kafka with {source}")
    finally:
        spark.stop()
    return 0


def _same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    sys.exit(main())
