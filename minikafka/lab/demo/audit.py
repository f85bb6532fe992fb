"""The log, read once more from its first to its last offset by a consumer that belongs to no group.

Owns: the figures of the topic's log itself, independent of producer, group and Spark.
"""
import json
import time
from dataclasses import dataclass, field

from kafka import KafkaConsumer, TopicPartition

QUIET_S = 30.0                                   # no record for so long: what is missing is not coming


@dataclass
class LogAudit:
    """Figures of a topic's log."""
    records: int = 0
    span: int = 0  # sum of (end offset - first offset): equal where no record is missing
    order_violations: int = 0  # a key's events out of order within its partition, or in two partitions
    at: dict[int, tuple[int, int]] = field(default_factory=dict)     # seq -> (partition, offset) of its first copy

    @property
    def duplicates(self) -> int:
        """Return how many records are of a flight that is already there."""
        return self.records - len(self.at)


def audit(bootstrap: str, topic: str) -> LogAudit:
    """Read all partitions from the first to the present end offset."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=10_000,
    )
    try:
        partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic) or ())]
        consumer.assign(partitions)
        first, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        found = LogAudit(span=sum(ends[tp] - first[tp] for tp in partitions))
        _read(consumer, first, ends, found)
        return found
    finally:
        consumer.close(autocommit=False)


def _read(
    consumer: KafkaConsumer, first: dict[TopicPartition, int], ends: dict[TopicPartition, int], found: LogAudit
) -> None:
    position, last = dict(first), {}
    deadline = time.monotonic() + QUIET_S
    while any(position[tp] < ends[tp] for tp in ends) and time.monotonic() < deadline:
        for tp, records in consumer.poll(timeout_ms=500).items():
            deadline = time.monotonic() + QUIET_S
            position[tp] = records[-1].offset + 1
            for r in records:
                seq = json.loads(r.value)["seq"]
                home, before = last.get(r.key, (tp.partition, -1))
                found.records += 1
                found.order_violations += home != tp.partition or (seq <= before and seq not in found.at)
                found.at.setdefault(seq, (tp.partition, r.offset))
                last[r.key] = (tp.partition, max(seq, before))
