"""ElectLeaders: an administrator asks for the preferred leader back, or for an unclean election.

Owns: elect_leaders(). It reads the image and makes records; leader_election.py decides which replica is elected.
Invariants: an unclean election is held only for a partition that has no leader, whatever the topic's setting.
Source: ReplicationControlManager.electLeaders; KIP-183 (preferred), KIP-460 (unclean).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from minikafka.broker.controller.admin.verdicts import PartitionVerdict
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import NO_LEADER, MetadataRecord, PartitionChangeRecord
from minikafka.protocol.errors import Err, KafkaError

NO_CANDIDATE = {Election.PREFERRED: Err.PREFERRED_LEADER_NOT_AVAILABLE,
                Election.UNCLEAN: Err.ELIGIBLE_LEADERS_NOT_AVAILABLE}
Elect = Callable[[PartitionRegistration, Election], PartitionChangeRecord | None]


def elect_leaders(image: MetadataImage, kind: Election, requested: Sequence[tuple[str, Sequence[int]]],
                  elect: Elect) -> Iterator[tuple[list[MetadataRecord], PartitionVerdict]]:
    """Yield the record of the election and the verdict for each partition of `requested` (topic, partitions)."""
    for name, indexes in requested:
        for index in indexes:
            try:
                record = _elect(image, name, index, kind, elect)
            except KafkaError as refusal:
                yield [], PartitionVerdict(name, index, refusal)
            else:
                yield [record], PartitionVerdict(name, index)


def _elect(image: MetadataImage, name: str, index: int, kind: Election, elect: Elect) -> PartitionChangeRecord:
    if name not in image.topics:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = image.partition(name, index)
    if partition is None:
        raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    wanted = partition.preferred_leader if kind is Election.PREFERRED else partition.leader
    if partition.leader == wanted != NO_LEADER:
        raise KafkaError(Err.ELECTION_NOT_NEEDED)
    record = elect(partition, kind)
    if record is None:
        raise KafkaError(NO_CANDIDATE[kind])
    return record
