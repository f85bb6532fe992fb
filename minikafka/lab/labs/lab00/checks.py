"""Checks of lab 0: the environment (0.0), which promises were broken (0.2), counting records (0.4)."""
from __future__ import annotations

import os
import platform
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from numbers import Number
from pathlib import Path
from types import ModuleType
from typing import Any

from minikafka.cluster.doctor import findings
from minikafka.lab.exercise import Unknown, Wrong, checks, hints
from minikafka.lab.values import rest, shown
from minikafka.machine.environment import SAID
from minikafka.machine.java import find_java

ROOT = Path(__file__).resolve().parents[4]
CLIENT = "kafka-python"
Place = tuple[int, int]  # partition and offset


@checks("0.0", seconds=180)  # it starts what the labs start; on a busy machine that takes long
def environment(module: ModuleType) -> str:
    """Check that the imported package is the one beside these labs, that the clients are those of the lock, and that
    the doctor finds nothing missing."""
    here = Path(module.__file__ or "").resolve().parent
    if not (here.parent / "labs").is_dir():
        raise Unknown(f"`minikafka` was imported from {here}, which is not this project. Start with `make lab`.")
    installed = locked(CLIENT)
    missing = [finding for finding in findings() if finding.needed and not finding.good]
    if missing:
        raise Unknown("; ".join(f"{f.what}: {f.found}. Remedy: {f.remedy}" for f in missing))
    aside = os.environ.get(SAID, "").replace(" ", ", ")
    return (f"Python {platform.python_version()}, {CLIENT} {installed}, PySpark {version('pyspark')} with workers of this same "
            f"Python, Java {find_java().version}, ports of this machine open, minikafka from this project"
            + (f"; set aside: {aside}" if aside else ""))


def locked(package: str) -> str:
    """Return the installed version of a package. Raises Unknown if it is not installed, or is not the lock's version."""
    wanted = pinned(ROOT / "requirements.lock", package)
    try:
        installed = version(package)
    except PackageNotFoundError:
        raise Unknown(f"{package} is not installed in this Python. Start with `make lab`.") from None
    if wanted and installed != wanted:
        raise Unknown(f"{package} {installed} is installed, the labs were written for {wanted}. Run `make setup`.")
    return installed


def pinned(lock: Path, package: str) -> str | None:
    """Return the version that the lock names; None where there is no lock (an installed copy) or the package is not in it."""
    lines = lock.read_text().splitlines() if lock.exists() else []
    return next((line.split("==")[1].split()[0] for line in lines if line.startswith(f"{package}==")), None)


hints("0.2", "When you have crossed out everything that was found, what is left of the promises?",
      "The difference of two sets of pairs. A record is named by partition and offset together; neither is enough alone.",
      "minikafka/proof/history/writes.py: how the project's own tests look for lost records in what clients did and saw")


@checks("0.2", matters="\"Nothing was lost\" is a count, not a feeling: compare what was acknowledged with what can be read.")
def broken_promises(missing: Callable[[list[Place], list[Place]], list[Place]]) -> str:
    """Check with nothing lost, some records lost, and more found than acknowledged (a lost answer is not a lost record)."""
    everything = [(partition, offset) for partition in range(3) for offset in range(5)]
    rng = random.Random(2)
    for lost in range(8):
        gone = sorted(rng.sample(everything, lost))
        promised = rng.sample(kept := [place for place in everything if place[1] < 4 or place in gone], len(kept))
        shuffled = rng.sample([place for place in everything if place not in gone], len(everything) - lost)
        answer = missing(list(promised), list(shuffled))
        assert isinstance(answer, (list, tuple)) or hasattr(answer, "tolist"), \
            f"you returned a {type(answer).__name__}; a list in order is wanted: sorted(...) makes one"
        _compare([_pair(each) for each in answer], gone, promised, shuffled)
    return "right, also where more was found than was acknowledged"


def _pair(said: Any) -> Place:
    try:
        partition, offset = said
        return int(partition), int(offset)
    except (TypeError, ValueError):
        raise Wrong(f"a record is named by a pair (partition, offset); your list has {shown(said)}") from None


def _compare(said: list[Place], gone: list[Place], promised: list[Place], found: list[Place]) -> None:
    """Judge the pairs: lost promises that were left out first, then what was not lost, then the order."""
    case = [f"acknowledged: {sorted(promised)}", f"found: {sorted(found)}", f"you said: {shown(said)}"]
    for partition, offset in rest(gone, said):
        other = sorted(p for p, o in found if o == offset)
        hint = f". (Offset {offset} was found in partition {other[0]}, but each partition counts its own.)" if other else ""
        raise Wrong(f"{(partition, offset)} was acknowledged and is not found; you left it out{hint}", case)
    for place in rest(said, gone):
        raise Wrong(f"{place} was never acknowledged: nobody promised it" if place not in promised else
                    f"{place} was found, so it is not missing" if place in found else f"{place} stands twice in your list", case)
    if said != gone:
        raise Wrong(f"these are the right pairs in another order; sort them by partition, then by offset: {gone}", case)


@dataclass(frozen=True)
class TruckRecord:
    """A record as a consumer gives it, as far as this exercise reads it."""

    partition: int
    offset: int
    key: bytes
    value: bytes = b""


def records(partitions: list[int]) -> list[TruckRecord]:
    """Return the records of three trucks, which report in turn to these partitions."""
    ends: Counter[int] = Counter()
    found = []
    for number, partition in enumerate(partitions):
        found.append(TruckRecord(partition, ends[partition], b"truck-%d" % (number % 3)))
        ends[partition] += 1
    return found


hints("0.4", "What does one record tell you about where it lies, and what must you remember from one record to the next?",
      "A dictionary from partition to count: every record adds one to the count of its partition; the first one finds none.",
      "minikafka/lab/labs/lab00/checks.py, `counting`: the lists of records that your function is tried with")


@checks("0.4", matters="Uneven counts are the first sign of a hot key: one broker works, the others look on.")
def counting(count: Callable[[list[Any]], dict[int, int]]) -> str:
    """Check with nineteen seeded lists over four partitions, and with the empty one; a partition without records may have a 0."""
    rng = random.Random(1)
    for size in [0, 1, 2, *range(3, 20)]:
        partitions = [rng.randrange(4) for _ in range(size)]
        expected, answer = dict(Counter(partitions)), count(records(partitions))
        _judge_counts(dict(answer), expected, case=f"records of the partitions {partitions}, each of one of three trucks")
    return "right for 20 lists of records, the empty one among them"


def _judge_counts(said: dict[Any, Any], right: dict[int, int], case: str) -> None:
    seen = [case, f"you said: {shown(said)}"]
    for partition, many in said.items():
        if isinstance(partition, (str, bytes)):
            raise Wrong(f"{shown(partition)} is no partition: a partition is a number, as in {{0: 7, 1: 3}}", seen)
        if not isinstance(many, Number):
            raise Wrong(f"for partition {shown(partition)} you returned {shown(many)}; the number of its records is wanted", seen)
    for partition in sorted({*right, *said}):
        if (many := said.get(partition, 0)) != (wanted := right.get(partition, 0)):
            raise Wrong(f"partition {partition} has {wanted} record{'s' * (wanted != 1)}; you counted {many}", seen)
