"""Beyond one machine: the capstone's pipeline, unchanged, on a Spark cluster of a master and two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab.spark.standalone import Standalone
from minikafka.machine.jars import CONNECTOR, KAFKA

NO_KAFKA = pytest.mark.skipif(not KAFKA.present, reason="Apache Kafka is not in the cache (`make apache` fetches it)")
ON_APACHE = [pytest.mark.apache, pytest.mark.judge, NO_KAFKA]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not CONNECTOR.present, reason="Spark's Kafka connector is not in the cache (`make apache` fetches it)")
@pytest.mark.parametrize("engine", [pytest.param("minikafka", marks=pytest.mark.soak), pytest.param("apache", marks=ON_APACHE)])
def test_the_capstone_on_two_workers(engine: str, tmp_path: Path) -> None:
    """Fails if the pipeline needs anything of local[2]: the published schedule of faults, and neither loss nor duplicate."""
    with Standalone(workers=2) as master:
        command = [sys.executable, "-m", "tests.lab.spark.capstone", engine, str(tmp_path)]
        done = subprocess.run(command, env={**os.environ, "SPARK_MASTER": master}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["master"], told["executors"]) == (master, 2)
    assert set(told["cries"].values()) == {0}, told["said"]
