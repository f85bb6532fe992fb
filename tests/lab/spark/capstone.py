"""`python -m tests.lab.spark.capstone FOLDER`: the capstone's pipeline in its own process, wherever SPARK_MASTER says.

Prints as JSON what the notary cries, and how many executors the workers ran.
"""

import json
import sys

from minikafka import Cluster
from minikafka.lab.labs.lab14.live import perform
from minikafka.lab.labs.lab14.notary import notary
from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE
from minikafka.lab.labs.lab14.schedule import published
from minikafka.lab.spark import spark_session


def main(folder: str) -> None:
    spark = spark_session(spark__executor__memory="512m")
    context = spark.sparkContext
    with Cluster(preset="class") as cluster:
        verdict = notary(perform(EFFECTIVELY_ONCE, cluster, spark, published(), folder))
    workers = context._jsc.sc().statusTracker().getExecutorInfos()  # type: ignore[union-attr]
    told = {"cries": verdict.cries, "said": str(verdict), "master": context.master,
            "executors": len(workers) - 1}  # the driver is counted, too
    spark.stop()
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
