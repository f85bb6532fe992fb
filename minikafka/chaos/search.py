"""Search for a missing record in the log files that the brokers left, to tell lost from not delivered.

As in Kafka's own system tests (tests/kafkatest/utils/util.py): a record that no replica has is lost; one that some
replicas have was truncated elsewhere or is kept back from consumers.
Owns: nothing; the format is the log's own (our brokers and Apache's write the same files).
"""

from __future__ import annotations

from pathlib import Path

from minikafka.history import Report
from minikafka.log.batch import batches, records

MISSING = ("lost-write", "unseen", "torn-txn", "group-skip", "poll-skip")


def places(cluster: Path, topic: str, partition: int, value: str) -> dict[str, tuple[int, int]]:
    """Return node -> (offset, leader epoch) at which its log files hold this value."""
    found = {}
    for folder in sorted(cluster.glob("node-*")):
        for file in sorted((folder / "data" / f"{topic}-{partition}").glob("*.log")):
            for header, batch in batches(file.read_bytes()):
                if header.is_control or value.encode() not in bytes(batch) and not header.codec:
                    continue
                offsets = [r.offset for r in records(batch) if r.value is not None and bytes(r.value) == value.encode()]
                if offsets:
                    found[folder.name] = offsets[0], header.leader_epoch
    return found


def tell(report: Report, cluster: Path) -> list[str]:
    """Return one line for each piece of evidence about a missing record."""
    lines = []
    for name in report.violated:
        for evidence in report[name].evidence if name in MISSING else ():
            sends = [event for event in evidence.events if event["f"] == "send" and event.get("value") is not None]
            for value in dict.fromkeys(event["value"] for event in sends):
                if evidence.tp is not None:
                    held = places(cluster, *evidence.tp, value)
                    on = [f"{node} at {at} (epoch {epoch})" for node, (at, epoch) in held.items()]
                    where = "{}-{}".format(*evidence.tp)
                    lines.append(f"{name}: {value!r} of {where} is on disk of {', '.join(on) or 'nobody'}")
    return lines
