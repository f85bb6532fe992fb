"""How many replicas a broker may have: each costs memory, a folder, files, and time at every start.

Owns: the limit, and the count of one request's replicas on top of those that the image has.
Invariants: no request gives a broker more than MOST_REPLICAS replicas; what has no room gets POLICY_VIOLATION, the
              the other topics of the request their replicas.
What Kafka does differently: it creates any number, until its brokers run out of memory or descriptors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, OwnLimit

MOST_REPLICAS = 20_000  # of one broker


class ReplicaBudget:
    """The replicas that each broker has and will have; made for one request."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._partitions = sum(len(topic.partitions) for topic in image.topics.values())
        self._taken: list[Iterable[int]] = []  # not in `_counts` yet
        self._counts: Counter[int] | None = None  # replicas by broker; made when the limit is near

    def take(self, assignment: Sequence[Sequence[int]]) -> None:
        """Take note of the replicas of new partitions; raise POLICY_VIOLATION, and note nothing, if a broker has no room."""
        if self._partitions + len(assignment) > MOST_REPLICAS:
            counts, wanted = self._count(), Counter(broker for replicas in assignment for broker in replicas)
            full = min((broker for broker, more in wanted.items() if counts[broker] + more > MOST_REPLICAS), default=None)
            if full is not None:
                raise OwnLimit(Err.POLICY_VIOLATION, f"Broker {full} would have {counts[full] + wanted[full]} replicas, more "
                               f"than the {MOST_REPLICAS} that it can hold. Ask for fewer, or add brokers.")
        self._partitions += len(assignment)
        self._taken += assignment

    def _count(self) -> Counter[int]:
        if self._counts is None:
            partitions = (p for topic in self._image.topics.values() for p in topic.partitions.values())
            self._counts = Counter(broker for partition in partitions for broker in partition.replicas)
        self._counts.update(broker for replicas in self._taken for broker in replicas)
        self._taken.clear()
        return self._counts
