"""A job from nothing (11.10): the student's program answers for ranges of offsets, one of which is at last no longer whole.

    1. the topic has trips of both apps, one record that nobody can read, and trips of a transaction that was aborted
    2. two ranges are asked for; the second begins where the first ends
    3. records of the first range are deleted; both ranges are asked for again: the first is gone, the second is as before

Spark's Java starts once for all programs of a run; each program is a process with a session of its own in it.

Owns: that Java, these records and requests, and what a program's lines and its end say of it.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from minikafka.cluster import Cluster
from minikafka.lab.exercise import Unknown, Wrong
from minikafka.lab.labs.lab11.experiment import two_versions
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.program import QUIET, Program, cluster_of_its_own, how_it_ended, until
from minikafka.lab.spark.session import RUNNING_JAVA
from minikafka.lab.values import shown
from minikafka.machine.environment import ROOT, lent

PARTITIONS, DELETED = 2, 5
START, ANSWER = 120.0, 60.0                         # seconds that Spark may take to start, and a program to answer
REQUESTS = ((0, 20), (20, 30), (0, 20), (20, 30))   # of each partition; records are deleted before the third
GONE, LOST = "gone", 2                              # the word for such a range; its place among the requests
NUMBER = r"-?\d+(?:\.\d+)?"
LINE = re.compile(rf"{GONE}|({NUMBER}) ({NUMBER}) ({NUMBER})")
Record = tuple[int, "float | None"]                  # offset, dollars
JAVA = """
import sys
from pyspark import SparkContext
from pyspark.sql import SparkSession
from minikafka.lab.spark import spark_session
spark = spark_session()
spark.range(1).count()
java = spark.sparkContext._gateway.gateway_parameters
spark.stop()
print(java.port, java.auth_token)
for _ in sys.stdin:                    # a program has ended: its session ends too, whether it was stopped or not
    left = SparkSession._get_j_spark_session_class(SparkContext._jvm).getDefaultSession()
    if left.isDefined():
        left.get().stop()
    print("free")
"""


@dataclass(frozen=True)
class Answered:
    """A program as seen from outside: what is true of each request, its lines, and its end."""

    right: tuple[tuple[int, int, float] | None, ...]
    printed: tuple[str, ...]
    code: int | None
    errors: tuple[str, ...] = ()


def while_records_go(texts: Sequence[str]) -> list[Answered]:
    """Run these programs one after the other, each with a topic of its own."""
    with lent(PYTHONPATH=str(ROOT)), Program(JAVA, quiet=START) as java:
        if not until(lambda: java.printed, java):
            raise Unknown("Spark has not started: " + " ".join(java.errors[-1:]))
        with cluster_of_its_own(brokers=1) as cluster, lent(**{RUNNING_JAVA: java.printed[0]}):
            return [_one(java, cluster, text, f"trips-{number}") for number, text in enumerate(texts)]


def _one(java: Program, cluster: Cluster, text: str, topic: str) -> Answered:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        form = {"num_partitions": PARTITIONS, "replication_factor": 1, "configs": {"retention.ms": "-1"}}
        admin.create_topics({topic: form}, wait_for_metadata=True)
        trips = _trips(cluster.bootstrap, topic)
        with _in_java(java), Program(text, cluster.bootstrap, topic, name="my_job.py", quiet=ANSWER) as program:
            for number, (first, end) in enumerate(REQUESTS):
                if number == LOST:
                    admin.delete_records({TopicPartition(topic, 0): DELETED})
                program.give([f"{first} {end}"])
                if not until(lambda number=number: len(program.printed) > number, program):  # type: ignore[misc]
                    break
            program.give_no_more()
            until(lambda: program.code is not None, program)
            right = tuple(None if number == LOST else _answer(trips, *request) for number, request in enumerate(REQUESTS))
            return Answered(right, tuple(program.printed), program.code, tuple(program.errors))


@contextmanager
def _in_java(java: Program) -> Iterator[None]:
    """Leave no session in Java when the block is over."""
    yield
    before = len(java.printed)
    java.give([""])
    until(lambda: len(java.printed) > before, java)


def _trips(bootstrap: str, topic: str) -> list[Record]:
    """Fill the topic: twenty records committed, six aborted, the others committed. Return those that may be read."""
    values, found = two_versions(60), list[Record]()
    with closing(KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic)) as producer:
        producer.init_transactions()
        for end, some in ((producer.commit_transaction, values[:20]), (producer.abort_transaction, values[:6]),
                          (producer.commit_transaction, values[20:])):
            producer.begin_transaction()
            sent: list[tuple[Any, float | None]] = [(producer.send(topic, value, partition=number % PARTITIONS), dollars)
                                                    for number, (value, dollars) in enumerate(some)]
            producer.flush(timeout=30)
            end()
            if end == producer.commit_transaction:
                found += [(future.get().offset, dollars) for future, dollars in sent]
    return found


def _answer(trips: Sequence[Record], first: int, end: int) -> tuple[int, int, float]:
    dollars = [fare for offset, fare in trips if first <= offset < end]
    known = [fare for fare in dollars if fare is not None]
    return len(dollars), len(dollars) - len(known), sum(known)


def verdict(seen: Answered) -> str:
    """Return what the evidence shows of a program. Wrong with the first thing that the taxi office would mind."""
    if strange := [line for line in seen.printed if not LINE.fullmatch(line)]:
        raise Wrong(f"your program printed {shown(strange[0])}. A line is wanted such as '38 1 402', or {shown(GONE)}, and "
                    "nothing else (print to sys.stderr what you want to see yourself)", seen.errors)
    for number, line in enumerate(seen.printed[:len(REQUESTS)]):
        _compare(number, line, seen)
    if len(seen.printed) < len(REQUESTS):
        first, end = REQUESTS[len(seen.printed)]
        lost = ". Records of this range have been deleted: that is an error of the read, and not the end of your job"
        raise Wrong(f"your program has no answer to the request {shown(f'{first} {end}')}" + lost * (len(seen.printed) == LOST),
                    seen.errors)
    if len(seen.printed) > len(REQUESTS):
        raise Wrong(f"{len(REQUESTS)} ranges were asked for, and your program printed {counted(len(seen.printed), 'line')}")
    if (told := how_it_ended(seen.code)) is not None:
        raise Wrong(told.replace(f"{QUIET:g} s", f"{ANSWER:g} s"), seen.errors)
    return f"{len(REQUESTS)} ranges, one of them no longer whole: three right answers, and one refusal"


def _compare(number: int, line: str, seen: Answered) -> None:
    asked, right = "{} {}".format(*REQUESTS[number]), seen.right[number]
    if right is None:
        if line != GONE:
            raise Wrong(f"{DELETED} records of the range {shown(asked)} have been deleted, and your program answers "
                        f"{shown(line)}: a figure that nobody can tell from a right one. Say {shown(GONE)}")
        return
    wanted = "{} {} {:.0f}".format(*right)
    if line == GONE:
        raise Wrong(f"your program says {shown(GONE)} to the range {shown(asked)}; all of it is there: {wanted}", seen.errors)
    found = [*map(float, line.split())]
    for what, mine, true, near in zip(("rows", "unreadable rows", "dollars"), found, right, (0, 0, 1)):
        if abs(mine - true) > near:
            raise Wrong(f"to the range {shown(asked)} your program says {shown(line)}; it is {shown(wanted)}: look at the {what}")
