"""Lab 11, the longer experiments: a counter that keeps its table in memory, and what Spark leaves behind in the cluster.

    first = count_zones(bootstrap, stop_at=150)     # a process: counts, commits, is killed with kill -9 at that number
    again = count_zones(bootstrap)                  # the same program again: goes on at its commit, to the end

    python -m minikafka.lab.labs.lab11.experiment BOOTSTRAP TOPIC GROUP STOP_AT     is that program

Owns: nothing that lasts.
Invariants: the counter's commit and its table are of the same records at the moment at which it is killed.
"""
from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, TopicPartition

from minikafka import Cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEP = 10  # records a poll
SESSION_MS, HEARTBEAT_MS = 2000, 500  # how soon the group notices that a member is dead


# --- a plain consumer that counts ------------------------------------------------------------------------------------

def count_zones(bootstrap: str, stop_at: int = 0, topic: str = "trips", group: str = "zones") -> dict[str, int]:
    """Run the counter as a process of its own and return its table, zone -> trips. With `stop_at` it is killed (kill
    -9) when it has counted and committed that number; else it ends by itself at the end of the log."""
    command = [sys.executable, "-m", __spec__.name, bootstrap, topic, group, str(stop_at)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = process.stdout.readline()  # one line: the table, when it has got there
        process.kill()
    if not told:
        raise RuntimeError(f"the counter ended with {process.returncode} and said nothing")
    return dict(json.loads(told))


def count(bootstrap: str, topic: str, group: str, stop_at: int) -> Counter[str]:
    """Count trips by zone as one writes it on the first day: a dictionary, a loop, a commit after each step."""
    zones: Counter[str] = Counter()
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, max_poll_records=STEP, session_timeout_ms=SESSION_MS,
                             heartbeat_interval_ms=HEARTBEAT_MS)
    consumer.partitions_for_topic(topic)  # or a poll() may end in the middle of a second join, and forget it (lab05_member)
    while not _at_the_end(consumer) and not (stop_at and zones.total() >= stop_at):
        for records in consumer.poll(timeout_ms=200).values():
            zones.update(json.loads(record.value)["pickup"] for record in records)
        consumer.commit()
    if not stop_at:
        consumer.close()
    return zones


def _at_the_end(consumer: KafkaConsumer) -> bool:
    """Return whether the consumer has an assignment and has read all of it.

    The end of each partition is asked for by itself: asked for several, kafka-python 3.0 leaves out a partition whose leader it
    does not know at the moment.
    """
    mine = sorted(consumer.assignment())
    return bool(mine) and all(consumer.position(place) >= consumer.end_offsets([place])[place] for place in mine)


# --- what is in the log ----------------------------------------------------------------------------------------------

def read_range(bootstrap: str, topic: str, start: int, end: int) -> list:
    """Return the records with offsets in [start, end) of every partition, read by a plain consumer without a group."""
    consumer, found = KafkaConsumer(bootstrap_servers=bootstrap), []
    try:
        places = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(places)
        for place in places:
            consumer.seek(place, start)
        while any(consumer.position(place) < end for place in places):
            for records in consumer.poll(timeout_ms=500).values():
                found += [record for record in records if record.offset < end]
    finally:
        consumer.close()
    return found


def commits_on_disk(cluster: Cluster) -> str:
    """Return the size and a digest of `__consumer_offsets` on all brokers: equal texts mean equal bytes."""
    files = sorted(Path(cluster.folder).glob("node-*/**/__consumer_offsets-*/*.log"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parent.parent} {file.parent.name}/{file.name}".encode() + file.read_bytes())
    return f"{sum(file.stat().st_size for file in files)} bytes in {len(files)} files, sha256 {digest.hexdigest()[:16]}"


def missing_offsets(rows: DataFrame, ends: dict[int, int]) -> list[tuple[int, int, int]]:
    """Return (partition, first, last) of every stretch of offsets in [0, end) for which there is no row, found without
    Spark's help."""
    there = {(row.partition, row.offset) for row in rows.select("partition", "offset").collect()}
    found: list[tuple[int, int, int]] = []
    for partition, end in sorted(ends.items()):
        for offset in range(end):
            if (partition, offset) in there:
                continue
            if found and found[-1][0] == partition and found[-1][2] == offset - 1:
                found[-1] = (partition, found[-1][1], offset)
            else:
                found.append((partition, offset, offset))
    return found


if __name__ == "__main__":
    told = count(*sys.argv[1:4], int(sys.argv[4]))
    print(json.dumps(told), flush=True)
    sys.stdin.read()  # the parent has ended; end at once, without a commit
