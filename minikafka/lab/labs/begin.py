"""Spark starts while you read: it takes ten seconds on a fast machine, and a minute on a busy one.

    soon = begin_spark()          # returns at once
    spark = soon.result()         # waits, and shows for how long

Owns: the thread in which the session is made. Invariants: none of its own.
"""
from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Soon:
    """A session that is being made; `result` waits for it."""

    def __init__(self, made: Future[SparkSession]) -> None:
        self._made = made

    def result(self) -> SparkSession:
        """Return the session. Raises what has kept it from starting (NoJava, for one)."""
        with waiting("Spark starts (10 to 60 seconds)"):
            return self._made.result()


def begin_spark() -> Soon:
    """Start Spark in the background."""
    from minikafka.spark import spark_session

    starter = ThreadPoolExecutor(1, thread_name_prefix="spark starts")
    print("Spark starts in the background; read on.")
    return Soon(starter.submit(spark_session))
