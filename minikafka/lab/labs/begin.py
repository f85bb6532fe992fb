"""Spark starts while you read: it takes ten seconds on a fast machine, and a minute on a busy one.

    soon = begin_spark()          # returns at once
    spark = soon.result()         # waits, and shows for how long
    print(try_spark())            # starts one in a process of its own, stops it, and returns what there is to say about it

Owns: the thread in which the session is made. Invariants: none of its own.
"""
from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from minikafka.cluster.doctor import Finding, spark_starts
from minikafka.lab.waiting import waiting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Soon:
    """A session that is being made; `result` waits for it."""

    def __init__(self, made: Future[SparkSession]) -> None:
        self._made = made

    def result(self) -> SparkSession:
        """Return the session, a new one if it was stopped. Raises what has kept it from starting (NoJava, for one)."""
        from minikafka.lab.spark import spark_session

        with waiting("Spark starts (10 to 60 seconds)"):
            session = self._made.result()
            return session if session._sc._jsc is not None else spark_session()


def try_spark() -> Finding:
    """Start Spark and stop it, and return what there is to say: what was there, or what is wrong and what to do."""
    with waiting("Spark starts, works and stops (10 to 60 seconds)"):
        return spark_starts()


def begin_spark() -> Soon:
    """Start Spark in the background."""
    import pandas  # noqa: F401 - first here: in a thread it takes a notebook for a terminal, and shows fewer columns

    from minikafka.lab.spark import spark_session

    starter = ThreadPoolExecutor(1, thread_name_prefix="spark starts")
    print("Spark starts in the background; read on.")
    return Soon(starter.submit(spark_session))
