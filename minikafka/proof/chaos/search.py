"""Search for a record in the log files that the brokers left: is a missing one lost or not delivered, who wrote one twice?

As in Kafka's own system tests (tests/kafkatest/utils/util.py): a record that no replica has is lost; one that some
replicas have was truncated elsewhere or is kept back from consumers. Two copies under one producer epoch are the broker's
fault; under two epochs they are the producer's, which sent again what it could not know to be written.
Owns: nothing; the format is the log's own (our brokers and Apache's write the same files).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from minikafka.log.batch import batches, records
from minikafka.proof.history import Report

SEARCHED = ("lost-write", "unseen", "torn-txn", "group-skip", "poll-skip", "duplicate")


class Copy(NamedTuple):
    """A place in a log that holds a value, and the producer's numbers there."""

    offset: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    sequence: int

    def __str__(self) -> str:
        producer = f", producer {self.producer_id} epoch {self.producer_epoch} sequence {self.sequence}"
        return f"{self.offset} (epoch {self.leader_epoch}{producer if self.producer_id >= 0 else ''})"


def places(cluster: Path, topic: str, partition: int, value: str) -> dict[str, list[Copy]]:
    """Return node -> the copies of this value in its log files, for each node that has one."""
    found: dict[str, list[Copy]] = {}
    for folder in sorted(cluster.glob("node-*")):
        for file in sorted((folder / "data" / f"{topic}-{partition}").glob("*.log")):
            for header, batch in batches(file.read_bytes()):
                if header.is_control or value.encode() not in bytes(batch) and not header.codec:
                    continue
                for r in records(batch):
                    if r.value is not None and bytes(r.value) == value.encode():
                        sequence = header.base_sequence + r.offset - header.base_offset
                        copy = Copy(r.offset, header.leader_epoch, header.producer_id, header.producer_epoch, sequence)
                        found.setdefault(folder.name, []).append(copy)
    return found


def acquit_brokers(report: Report, cluster: Path) -> None:
    """Take back the verdict on duplicates if the logs say of each that its producer sent it again under another epoch.

    A broker promises that a sequence number of a producer epoch is written once (KIP-98). librdkafka takes the next epoch
    after an error that it holds for final, and numbers anew what was under way, also what the log already has.
    """
    verdict = report["duplicate"]
    if verdict.valid is False and verdict.count == len(verdict.evidence) and all(
            evidence.tp is not None and _sent_again(places(cluster, *evidence.tp, str(evidence.events[0].get("value"))))
            for evidence in verdict.evidence):
        verdict.valid, verdict.reason = True, "sent again by their producers, under another producer epoch"


def _sent_again(copies: dict[str, list[Copy]]) -> bool:
    """Return whether each log that has the value at all has no two copies under one producer epoch, and some log has two."""
    producers = [[(copy.producer_id, copy.producer_epoch) for copy in held] for held in copies.values()]
    return any(len(held) > 1 for held in producers) and all(len({*held}) == len(held) for held in producers)


def report_lines(report: Report, cluster: Path) -> list[str]:
    """Return one line for each piece of evidence about a record that is missing, or there twice."""
    lines = []
    for name in report.violated:
        for evidence in report[name].evidence if name in SEARCHED else ():
            sends = [event for event in evidence.events if event["f"] == "send" and event.get("value") is not None]
            for value in dict.fromkeys(event["value"] for event in sends):
                if evidence.tp is not None:
                    held = places(cluster, *evidence.tp, value)
                    on = [f"{node} at {' and '.join(map(str, copies))}" for node, copies in held.items()]
                    where = "{}-{}".format(*evidence.tp)
                    lines.append(f"{name}: {value!r} of {where} is on disk of {', '.join(on) or 'nobody'}")
    return lines
