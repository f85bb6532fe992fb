"""A producer from nothing (3.11): the student's program is started before Monday and again after it.

    1. its topic has three partitions; it gets two rounds of reports of the old trucks, and between them a leader dies
    2. the topic gets a fourth partition
    3. it is started anew and gets two rounds of old and new trucks

Whoever divides by the number of partitions that there are splits the history of eight trucks, each time.

Owns: these faults, and what the log says of a program.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from kafka import KafkaAdminClient

from minikafka.cluster import Cluster
from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab03.clients import create, records
from minikafka.lab.labs.lab03.experiment import NEW_TRUCKS, TRUCKS, kafka_partition
from minikafka.lab.program import Program, cluster_of_its_own, how_it_ended, no_controller, until
from minikafka.lab.values import shown, some

REACHED = 10.0  # seconds until the broker that will die has a report of each program at the latest


def reports(trucks: Sequence[str], *numbers: int) -> list[str]:
    """Return the lines of some rounds: a truck, and where it is."""
    return [f"{truck} kilometre {number}" for number in numbers for truck in trucks]


FIRST = reports(TRUCKS, 0), reports(TRUCKS, 1)
SECOND = reports([*TRUCKS, *NEW_TRUCKS], 2), reports([*TRUCKS, *NEW_TRUCKS], 3)
GIVEN = [line for half in (*FIRST, *SECOND) for line in half]


@dataclass(frozen=True)
class TwoStarts:
    """A program as seen from outside: how its two runs ended (code and last errors), and its log as (partition, key, value)."""

    ends: tuple[tuple[int | None, tuple[str, ...]], ...]
    log: tuple[tuple[int, str | None, str], ...]


def before_and_after_monday(texts: Sequence[str]) -> list[TwoStarts]:
    """Run these programs side by side, each with a topic of its own, in one cluster; each is started twice."""
    topics = [f"truck_gps-{n}" if n else "truck_gps" for n in range(len(texts))]
    with cluster_of_its_own() as cluster:
        create(cluster.bootstrap, *topics)
        victim = no_controller(cluster, cluster.ids)
        first = _run(cluster, texts, topics, FIRST, victim)
        cluster.restart(victim)
        _grow(cluster, topics)
        second = _run(cluster, texts, topics, SECOND)
        logs = [[(r.partition, r.key and r.key.decode(errors="replace"), (r.value or b"").decode(errors="replace"))
                 for r in records(cluster.bootstrap, name)] for name in topics]
        return [TwoStarts(ends, tuple(log)) for ends, log in zip(zip(first, second), logs)]


def _run(cluster: Cluster, texts: Sequence[str], topics: Sequence[str], lines: tuple[list[str], list[str]],
         victim: int | None = None) -> list[tuple[int | None, tuple[str, ...]]]:
    """Start the programs, give them both halves, and let a broker die between them; return how each ended."""
    with ExitStack() as stack:
        programs = [stack.enter_context(Program(text, cluster.bootstrap, name, name="my_trucks.py"))
                    for text, name in zip(texts, topics)]
        for program in programs:
            program.give(lines[0])
        if victim:
            _reach(cluster, victim, topics, programs)
            cluster.kill(victim)
            cluster.wait(lambda: all(cluster.leader(name, p) not in (None, -1, victim) for name in topics for p in range(3)),
                         timeout=60)
        for program in programs:
            program.give(lines[1])
            program.give_no_more()
        until(lambda: all(program.over for program in programs), *programs)
        return [(program.code, tuple(program.errors)) for program in programs]


def _reach(cluster: Cluster, broker: int, topics: Sequence[str], programs: Sequence[Program]) -> None:
    """Wait until the broker has a report of each program that goes on; one that waits for the end of its input has none."""
    folder, began = cluster.plan.nodes[broker].data, time.monotonic()
    while time.monotonic() < began + REACHED and not all(
            program.over or any(log.stat().st_size for log in folder.glob(f"{name}-[0-2]/*.log"))
            for name, program in zip(topics, programs)):
        time.sleep(0.05)


def _grow(cluster: Cluster, topics: Sequence[str]) -> None:
    """Give each topic a fourth partition; return when every broker knows of it."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        admin.create_partitions(dict.fromkeys(topics, 4))
    finally:
        admin.close()
    cluster.wait(lambda: all(len(cluster.isr(name, p)) == len(cluster.ids) for name in topics for p in range(4)), timeout=60)


def verdict(seen: TwoStarts) -> str:
    """Return what the evidence shows of a program. Wrong with the first thing that whoever reads the map would mind."""
    for (code, errors), when in zip(seen.ends, ("before Monday", "after Monday")):
        if (told := how_it_ended(code)) is not None:
            raise Wrong(f"{when}: {told}", errors)
    values = [value for _, _, value in seen.log]
    if missing := [line for line in GIVEN if line not in values]:
        raise Wrong(f"{some(missing)} came in and is not in the log; the value is the line. What is under way when your program "
                    "ends?", [f"the log has {len(values)} records: {shown(values)}"])
    if other := next((row for row in seen.log if row[1] != row[2].split()[0]), None):
        raise Wrong(f"the key of a record is its truck; {shown(other[2])} has the key {shown(other[1])}")
    for truck in (*TRUCKS, *NEW_TRUCKS):
        _one_history(truck, [(partition, value) for partition, key, value in seen.log if key == truck])
    if not any(partition == 3 for partition, _, _ in seen.log):
        raise Wrong("no report lies in partition 3: the new trucks are to use all four partitions")
    again = len(values) - len({*values})
    return ("two starts, a leader that died, one partition more: each truck has one history, in its order"
            + (f" ({again} reports stand there twice: lab 10)" if again else ""))


def _one_history(truck: str, rows: list[tuple[int, str]]) -> None:
    """Raise Wrong unless a truck's reports lie in one partition, in order; an old truck's in that of three."""
    homes = sorted({partition for partition, _ in rows})
    if len(homes) > 1:
        raise Wrong(f"{truck} lies in the partitions {' and '.join(map(str, homes))}: a map that begins later may read the "
                    "second part first", [f"{partition}: {value}" for partition, value in rows])
    if truck in TRUCKS and homes != [home := kafka_partition(truck, 3)]:
        raise Wrong(f"{truck} lies in partition {homes[0]}; Kafka's own function puts an old truck into {home} of three")
    numbers = [int(value.split()[-1]) for _, value in rows]
    if list(dict.fromkeys(numbers)) != sorted({*numbers}):
        raise Wrong(f"the reports of {truck} are not in the order in which they came", [value for _, value in rows])
