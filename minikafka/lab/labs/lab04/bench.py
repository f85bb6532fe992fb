"""A broker for the checks of the student's own consumer: one process, a topic of forty rides, and what can be seen from outside.

    bench = the_bench()                      # starts its broker with the first check, and ends with this process
    bench.committed("a group")               # {} where nothing is committed
    bench.joined("another")                  # a consumer that has its partitions and stands at offset 0

Owns: the broker and an admin client. Invariants
  a check asks the cluster, never the student's consumer, what a group has done
"""
from __future__ import annotations

import contextlib
import io
import time
from functools import cache
from itertools import count

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from minikafka import Cluster

TOPIC, BATCH = "rides", 10
PATIENCE = 30.0  # seconds
ENDS = {0: 14, 1: 26}  # so that one of the batches has rides of both


class Bench:
    """One broker with `rides`: each of its partitions has as many records as ENDS says."""

    def __init__(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._cluster = Cluster(brokers=1, preset="class", engine="minikafka")
        self.bootstrap = self._cluster.bootstrap
        self.admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        self.admin.create_topics({TOPIC: {"num_partitions": len(ENDS), "replication_factor": 1}}, wait_for_metadata=True)
        with KafkaProducer(bootstrap_servers=self.bootstrap, acks="all") as producer:
            for partition, end in ENDS.items():
                for number in range(end):
                    producer.send(TOPIC, b"ride %d" % number, partition=partition)
        self._groups = map("check-{}".format, count(1))

    def new_group(self) -> str:
        """Return a name that no group has."""
        return next(self._groups)

    def committed(self, group: str) -> dict[int, int]:
        """Return what a group has committed, by partition."""
        found = self.admin.list_group_offsets(group)[group]
        return {tp.partition: told.offset for tp, told in sorted(found.items()) if told.offset >= 0}

    def members(self, group: str) -> int:
        """Return how many members the coordinator counts; 0 where it does not know the group."""
        try:
            return len(self.admin.describe_groups([group])[group]["members"])
        except KafkaError:
            return 0

    def joined(self, group: str) -> KafkaConsumer:
        """Return the only member of a group: it has all partitions, and its next poll begins at offset 0."""
        consumer = KafkaConsumer(TOPIC, bootstrap_servers=self.bootstrap, group_id=group, auto_offset_reset="earliest",
                                 enable_auto_commit=False, max_poll_records=BATCH)
        settle(consumer)
        consumer.seek_to_beginning()
        return consumer


def settle(consumer: KafkaConsumer) -> dict[TopicPartition, int]:
    """Poll until a consumer has all partitions; return the first offset that it was given of each, or its position where it was
    given none, as far as they are known after PATIENCE."""
    # Before the topic is known a member joins twice (minikafka/lab/labs/lab05/member.py); a short poll may end before the answer.
    consumer.partitions_for_topic(TOPIC)
    first: dict[TopicPartition, int] = {}
    until = time.monotonic() + PATIENCE
    while len(consumer.assignment()) < len(ENDS) and time.monotonic() < until:
        for tp, records in consumer.poll(timeout_ms=1000).items():
            first.setdefault(tp, records[0].offset)
    return {tp: first[tp] if tp in first else consumer.position(tp) for tp in consumer.assignment()}


the_bench = cache(Bench)
