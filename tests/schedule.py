"""In which order the files of tests are given to pytest-xdist's workers, and which of them one worker takes together.

A worker takes whole files: what a file's fixtures start is started once. On top of that:

- The files that took longest come first (`tests/durations.tsv`), so that no worker is left alone with a long one at the end;
  all files with a test on an engine come after the others: the brokers that a worker keeps for such tests cost while they rest.
  Such tests wait most of their time, so the last worker begins with them: it waits while the others compute.
- One worker takes all files that start Spark, beginning at once, so that a run has one Spark session; not those whose Spark is
  a process of its own: that worker would be the last.
- Each notebook goes by itself: nbval gives it a kernel of its own. So does each lab of the gate: it has a process of its own.

`pytest --durations-to tests/durations.tsv` writes the file anew: a line for each file that took a second or more.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

DURATIONS = Path(__file__).with_name("durations.tsv")
WITH_SPARK = ("tests/lab/spark/", "tests/lab/labs/test_lab12.py", "tests/lab/labs/test_lab13.py",
              "tests/machine/test_time_zone.py")
OWN_SPARK = ("tests/lab/spark/test_demo.py", "tests/lab/spark/test_standalone.py")
ONE_BY_ONE = "tests/lab/labs/test_gate.py::test_every_exercise"
SPARK = "one Spark session"
ON_ENGINE = re.compile(r"\[(.*-)?(minikafka|apache)[-\]]")
SHORT = 0.01  # seconds for each test of a file that is not in the list


def file_of(nodeid: str) -> str:
    """Return the file of a test, with "@apache" behind it for its half on Apache Kafka; for ONE_BY_ONE the test itself."""
    if nodeid.startswith(ONE_BY_ONE):
        return nodeid
    path, _, test = nodeid.partition("::")
    notebook = path.endswith(".ipynb") and os.environ.get("MINIKAFKA_ENGINE") == "apache"
    return f"{path}@apache" if notebook or re.search(r"\[(.*-)?apache\b", test) else path


def recorded(path: Path = DURATIONS) -> dict[str, float]:
    """Return the seconds that each file took; {} where there is no list."""
    rows = (line.split("\t") for line in path.read_text().splitlines()) if path.exists() else ()
    return {file: float(seconds) for seconds, file in rows}


def shares_spark(file: str) -> bool:
    """Return whether the tests of this file take the session of their worker."""
    return file.startswith(WITH_SPARK) and not file.startswith(OWN_SPARK)


def units(nodeids: Iterable[str], seconds: dict[str, float]) -> dict[str, list[str]]:
    """Return the tests of each unit of work by its name, in the order in which workers take them."""
    files: dict[str, list[str]] = {}
    for nodeid in nodeids:
        files.setdefault(file_of(nodeid), []).append(nodeid)
    one_by_one = sorted(files, key=lambda file: (any(map(ON_ENGINE.search, files[file])),
                                                 -seconds.get(file, SHORT * len(files[file]))))
    spark = [test for file in one_by_one if shares_spark(file) for test in files[file]]
    return ({SPARK: spark} if spark else {}) | {file: files[file] for file in one_by_one if not shares_spark(file)}


def following(left: Iterable[str], place: Mapping[str, int], before: Container[str] = ()) -> str:
    """Return which unit a worker takes of those that are left: the first one of `before`, if there is one."""
    return min(left, key=lambda unit: (unit not in before, place[unit]))


class LongestFirst(LoadFileScheduling):
    """`--dist loadfile` with the units above, in their order."""

    def schedule(self) -> None:
        """Cut what all workers have collected into units, and give each worker its first ones."""
        if self.collection is None:
            made = units(next(iter(self.registered_collections.values())), recorded())
            self.unit_of = {nodeid: unit for unit, nodeids in made.items() for nodeid in nodeids}
            self.place = {unit: place for place, unit in enumerate(made)}
            self.on_engine = {unit for unit, nodeids in made.items() if any(map(ON_ENGINE.search, nodeids))}
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self.unit_of[nodeid]

    def _assign_work_unit(self, node: WorkerController) -> None:
        waits = node is self.nodes[-1] is not self.nodes[0]
        self.workqueue.move_to_end(following(self.workqueue, self.place, self.on_engine if waits else ()), last=False)
        super()._assign_work_unit(node)


def write_durations(reports: Iterable[pytest.TestReport], path: Path) -> None:
    """Write the seconds of each file that took one or more: setup, call and teardown of its tests together."""
    took: Counter[str] = Counter()
    for report in reports:
        took[file_of(report.nodeid)] += report.duration
    others = {file: seconds for file, seconds in recorded(path).items() if Path(re.split("@|::", file)[0]).exists()}
    rows = sorted((others | took).items(), key=lambda row: -row[1])
    path.write_text("".join(f"{seconds:.0f}\t{file}\n" for file, seconds in rows if seconds >= 1))
