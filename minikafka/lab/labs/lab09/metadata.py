"""The metadata log of a simulated cluster, in words: what the controllers have decided, in order.

    entries = metadata_log(cluster)         # Entry(14, 2, 1.5, "PartitionRecord", "positions-0: ...", record)

Owns: the sentence for each kind of record. What a record does not name is unchanged.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minikafka.broker.metadata.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

LEADER_CHANGE = "LeaderChangeMessage"
NO_CHANGE = -2                 # of the field `leader` in a PartitionChangeRecord


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the log: its offset, the epoch of the controller that wrote it, when (seconds), its kind, and words."""

    offset: int
    epoch: int
    t: float
    kind: str
    text: str
    record: Any


def metadata_log(cluster: Any, node: int | None = None) -> list[Entry]:
    """Return the committed records of the metadata log as one node has them (the lowest that runs, if none is named).

    The record of an election is among them; it is the quorum's own and says nothing about brokers or topics (`record` None).
    """
    quorum = cluster.world.broker(cluster.alive[0] if node is None else node).quorum
    names: dict[Any, str] = {}
    found = []
    for decision in quorum.log.decisions(0, quorum.applied):
        t, first = decision.timestamp / 1000, decision.last_offset - len(decision.records) + 1
        if not decision.records:  # a control batch: its only record opens an epoch
            found.append(Entry(decision.last_offset, decision.epoch, t, LEADER_CHANGE, _election(cluster, decision.epoch), None))
        found += [Entry(offset, decision.epoch, t, type(record).__name__, _words(record, names), record)
                  for offset, record in enumerate(decision.records, first) if not isinstance(record, NoOpRecord)]
    return found


def _election(cluster: Any, epoch: int) -> str:
    """Return who became the active controller in an epoch, as its own trace says."""
    elected = [e["b"] for e in cluster.trace.events("raft") if e["role"] == "leader" and e["epoch"] == epoch]
    return f"controller {elected[0] if elected else '?'} is elected: epoch {epoch} begins"


def _words(record: Any, names: dict[Any, str]) -> str:
    match record:
        case FeatureLevelRecord():
            return f"feature {record.name} is at level {record.feature_level}"
        case RegisterBrokerRecord():
            return f"broker {record.broker_id} registers"
        case BrokerRegistrationChangeRecord():
            return f"broker {record.broker_id} " + {1: "is fenced", -1: "is unfenced", 0: "stops"}[record.fenced]
        case TopicRecord():
            names[record.topic_id] = record.name
            return f"topic {record.name}"
        case PartitionRecord():
            return (f"{names.get(record.topic_id)}-{record.partition_id}: replicas {list(record.replicas)}, "
                    f"leader {record.leader}, ISR {list(record.isr)}")
        case PartitionChangeRecord():
            return f"{names.get(record.topic_id)}-{record.partition_id}: " + ", ".join(_changes(record))
        case ConfigRecord():
            return f"configuration of {record.resource_name or 'all brokers'}: {record.name} = {record.value}"
        case ProducerIdsRecord():
            return f"producer ids below {record.next_producer_id} are given out"
    return type(record).__name__


def _changes(record: PartitionChangeRecord) -> Iterator[str]:
    if record.leader != NO_CHANGE:
        yield f"leader {record.leader}" if record.leader >= 0 else "no leader"
    if record.isr is not None:
        yield f"ISR {list(record.isr)}"
    if getattr(record, "eligible_leader_replicas", None):
        yield f"may lead too: {list(record.eligible_leader_replicas)}"


def history(entries: list[Entry], partition: str) -> list[dict[str, Any]]:
    """Return the records of one partition as dictionaries: offset, kind ("new" or "change"), and what each of them names."""
    topic, _, index = partition.rpartition("-")
    ids = {e.record.topic_id for e in entries if e.kind == "TopicRecord" and e.record.name == topic}
    found = []
    for e in entries:
        if e.kind in ("PartitionRecord", "PartitionChangeRecord") and e.record.topic_id in ids \
                and e.record.partition_id == int(index):
            row = {"offset": e.offset, "kind": "new" if e.kind == "PartitionRecord" else "change"}
            if e.record.leader != NO_CHANGE:
                row["leader"] = e.record.leader
            if e.record.isr is not None:
                row["isr"] = list(e.record.isr)
            found.append(row)
    return found
