"""Checks of lab 0: the environment (0.0), a topic (0.1), one record (0.3), reading a topic (0.4), broken promises (0.5).

Exercises 0.1, 0.3 and 0.4 are tried on brokers, and judged by what stands there afterwards: on the notebook's own cluster, in a
topic that is deleted again, or on a cluster that this module starts where too few of the notebook's brokers run.
"""
from __future__ import annotations

import functools
import itertools
import os
import platform
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicOrPartitionError

from minikafka.cluster import Cluster, wire
from minikafka.cluster.doctor import findings
from minikafka.lab import wants
from minikafka.lab.again import names
from minikafka.lab.exercise import Unknown, Wrong, checks, hints
from minikafka.lab.labs.lab00 import experiment
from minikafka.lab.picture.sentences.phrases import counted, verb
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
    if Cluster.without_processes is not None:
        return (f"Python {platform.python_version()}, {CLIENT} {version(CLIENT)}, brokers and clients in a simulated world: "
                "Spark, Java and programs of this machine are not here, `make lab` has them")
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


# --- brokers to try an answer on --------------------------------------------------------------------------------------

_trials = itertools.count(1)
SECONDS = 60.0  # for an answer: a cluster may have to start first


@functools.cache
def _spare() -> Cluster:
    """Return brokers of our own; they end with this process."""
    return Cluster(brokers=3)


def _cluster(brokers: int) -> Cluster:
    """Return the cluster of the notebook, or another one where fewer than `brokers` of its brokers run."""
    own = [each for each in names().values() if isinstance(each, Cluster) and each.engine != "sim" and not each.closed]
    return next((each for each in own if len(each.alive) >= brokers), None) or _spare()


@contextmanager
def _trial(brokers: int) -> Iterator[tuple[Cluster, KafkaAdminClient, str]]:
    """Yield a cluster, a client for its administration, and the name of a topic that is deleted afterwards."""
    cluster = _cluster(brokers)
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    topic = f"trial-{os.getpid()}-{next(_trials)}"
    try:
        yield cluster, admin, topic
    finally:
        with suppress(UnknownTopicOrPartitionError):  # of the controller, the first that knows
            admin.delete_topics([topic])
        admin.close()


def _found(cluster: Cluster, topic: str) -> list[wire.PartitionInfo]:
    """Return the partitions of a topic when every living broker knows it: one that does not yet describes it without settings."""
    def known() -> list[list[wire.PartitionInfo]]:
        """every living broker knows the new topic"""
        with suppress(OSError):  # one that is too busy to answer is asked again
            views = [list(wire.partitions(cluster.address(broker), [topic]).values()) for broker in cluster.alive]
            return views if all(views) else []
        return []
    return cluster.wait(known, timeout=30)[0]


def _new_topic(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    """Make a topic of three partitions. Raises Unknown where the brokers cannot."""
    try:
        admin.create_topics({topic: {"num_partitions": 3, "replication_factor": 1}})
    except KafkaError as error:
        raise Unknown(f"the brokers made no topic on which your function could be tried ({type(error).__name__}). Mend them with "
                      "`cluster.mend()` in a cell of your own, and try again") from None
    _found(cluster, topic)


def _stored(cluster: Cluster, topic: str) -> list[Any]:
    """Return what stands in the log of a topic."""
    with _consumer(cluster) as consumer:
        return experiment.records_of(consumer, topic)


def _consumer(cluster: Cluster, **options: Any) -> KafkaConsumer:
    return KafkaConsumer(bootstrap_servers=cluster.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, **options)


# --- 0.1 --------------------------------------------------------------------------------------------------------------

hints("0.1", "What of the example is the parcels' own, and what do you want instead of it?",
      "One entry for your topic, whose name is the variable `name`. Its number of partitions and its number of copies are "
      "numbers; a setting is a text in the dictionary `configs`.",
      "labs/00-first-cluster.ipynb, section 3; the names of the fields: kafka.admin.KafkaAdminClient.create_topics")


@checks("0.1", seconds=SECONDS,
        matters="How many copies there are, and how many must have a record, is decided when a topic is made.")
def create(make: Callable[[Any, str], Any]) -> str:
    """Check what the brokers know of the topic afterwards. Creating it once more tells whether it is there."""
    with _trial(brokers=3) as (cluster, admin, topic):
        make(admin, topic)
        try:
            admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
        except TopicAlreadyExistsError:
            pass
        else:
            raise Wrong(f"the brokers know no topic of the name that your function got, {shown(topic)}")
        found = _found(cluster, topic)
        setting = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        least = setting["topic"][topic].get("min.insync.replicas", {}).get("value", "1")
    copies = {len(each.replicas) for each in found}
    assert len(found) == 3, f"your topic has {len(found)} partition{'s' * (len(found) != 1)}; three are wanted"
    assert copies == {3}, f"the brokers keep {min(copies)} cop{'y' if copies == {1} else 'ies'} of a partition; three are wanted"
    assert least == "2", f"min.insync.replicas is {least} for your topic; 2 is wanted, a setting in `configs`"
    return "the brokers say: three partitions, three copies of each, min.insync.replicas 2"


# --- 0.3 --------------------------------------------------------------------------------------------------------------

REPORTS = [("truck-4", "43.65, -79.38"), ("truck-12", "43.70, -79.42"), ("truck-4", "43.66, -79.38"),
           ("truck-2", "43.71, -79.30")]

hints("0.3", "`send` returns before any broker has answered. Which call waits for the answer?",
      "A key and a value are bytes: encode both texts. The answer has `partition` and `offset`; return these two, in this order.",
      "labs/00-first-cluster.ipynb, section 6; or kafka.KafkaProducer.send")


@checks("0.3", matters="Who does not wait for the answer does not know whether there is a promise.", seconds=SECONDS)
def report(send: Callable[[Any, str, str, str], tuple[Any, Any] | list[Any]]) -> str:
    """Check what stands in the log after four reports of three trucks."""
    with _trial(brokers=1) as (cluster, admin, topic):
        _new_topic(cluster, admin, topic)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
            said = [_place(send(producer, topic, *each)) for each in REPORTS]
        log = {(record.partition, record.offset): record for record in _stored(cluster, topic)}
    assert log, "your function was called four times, and the topic is empty"
    for (truck, place), told in zip(REPORTS, said):
        _look(truck, place, told, log)
    assert len(log) == len(REPORTS), \
        f"your function was called {len(REPORTS)} times, and {counted(len(log), 'record')} " \
        f"{verb(len(log), 'stands', 'stand')} in the topic"
    return f"{len(said)} reports of three trucks stand where you said: {shown(said)}"


def _place(said: Any) -> Place:
    """Return the place that a student's function names."""
    if hasattr(said, "add_callback"):
        raise Wrong("your function returned the future itself: no broker has answered yet. Which call waits for the answer?")
    try:
        partition, offset = said
        return int(partition), int(offset)
    except (TypeError, ValueError):
        raise Wrong(f"a pair (partition, offset) is wanted; your function returned {wants.kind(said)}") from None


def _look(truck: str, place: str, told: Place, log: dict[Place, Any]) -> None:
    """Compare the record at the place that was told with what was to be sent."""
    told_of = f"called with {truck!r} and {place!r}, you said partition {told[0]}, offset {told[1]}"
    if told not in log:
        raise Wrong(f"{told_of}; no record stands there", [f"where records stand, (partition, offset): {sorted(log)}"])
    record = log[told]
    if (record.key, record.value) == (place.encode(), truck.encode()):
        raise Wrong(f"{told_of}; there the position is the key and the truck is the value. The key says whose position it is")
    if record.key != truck.encode():
        raise Wrong(f"{told_of}; the record there has the key {shown(record.key)}, and {truck.encode()!r} is wanted")
    if record.value != place.encode():
        raise Wrong(f"{told_of}; the record there has the value {shown(record.value)}, and {place.encode()!r} is wanted")


# --- 0.4 --------------------------------------------------------------------------------------------------------------

FILLED = {0: 5, 1: 0, 2: 60}  # partition: its records; a poll of this consumer returns POLLED of them at most
POLLED = 20

hints("0.4", "After how many calls of `poll` do you have everything? How do you know it?",
      "One TopicPartition for each number that partitions_for_topic returns, and all of them in one call of assign. Then poll in "
      "a loop, as long as some partition's position is below its end. A partition may be empty, and so may be what poll returns.",
      "labs/00-first-cluster.ipynb, section 6; or kafka.KafkaConsumer.poll")


@checks("0.4", matters="Who reads once and takes that for everything has lost records that were never lost.", seconds=SECONDS)
def read_all(read: Callable[[Any, str], list[Any]]) -> str:
    """Check with three partitions: five records, none, and more than one poll returns."""
    with _trial(brokers=1) as (cluster, admin, topic):
        _new_topic(cluster, admin, topic)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all") as producer:
            for partition, many in FILLED.items():
                for number in range(many):
                    producer.send(topic, value=b"%d" % number, partition=partition)
        with _consumer(cluster, max_poll_records=POLLED) as consumer:
            said = list(read(consumer, topic))
    if odd := [each for each in said if not hasattr(each, "partition") or not hasattr(each, "offset")]:
        raise Wrong(f"a list of records is wanted; yours has {shown(odd[0])}")
    places = Counter((record.partition, record.offset) for record in said)
    for partition, many in FILLED.items():
        found = sum(place[0] == partition for place in places)
        assert found == many, f"partition {partition} has {counted(many, 'record')}; {found} of them are in your list"
    twice = [place for place, times in places.items() if times > 1]
    assert not twice, f"the record at offset {twice[0][1]} of partition {twice[0][0]} is more than once in your list"
    return f"all {len(said)} records of three partitions, each once; one partition is empty"


# --- 0.5 --------------------------------------------------------------------------------------------------------------

hints("0.5", "When you have crossed out everything that was found, what is left of the promises?",
      "The difference of two sets of pairs. A record is named by partition and offset together; neither is enough alone.",
      "minikafka/proof/history/writes.py: how the project's own tests look for lost records in what clients did and saw")


@checks("0.5", matters="\"Nothing was lost\" is a count, not a feeling: compare what was acknowledged with what can be read.")
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
