"""Beyond one machine: the capstone's pipeline, unchanged, on a Spark cluster of a master and two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.lab.spark.standalone import Standalone
from minikafka.machine.jars import CONNECTOR


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.skipif(not CONNECTOR.present, reason="Spark's Kafka connector is not in the cache (`make apache` fetches it)")
def test_the_capstone_on_two_workers(tmp_path: Path) -> None:
    """Fails if the pipeline needs anything of local[2]: the published schedule of faults, and neither loss nor duplicate."""
    with Standalone(workers=2) as master:
        command = [sys.executable, "-m", "tests.lab.spark.capstone", str(tmp_path)]
        done = subprocess.run(command, env={**os.environ, "SPARK_MASTER": master}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["master"], told["executors"]) == (master, 2)
    assert set(told["cries"].values()) == {0}, told["said"]
