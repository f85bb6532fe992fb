"""The cluster's metadata as they were at a moment, for the judges of a controller.

Owns: ClusterSeen, what follows from it for elections and settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE, ZERO_UUID, Uuid
from minikafka.broker.metadata.registrations import BrokerRegistration, PartitionRegistration
from minikafka.proof.small_worlds.checks import same

ELR_FEATURE = "eligible.leader.replicas.version"
Place = tuple[str, int]  # topic and index of a partition


@dataclass(frozen=True)
class Circumstances:
    """All that an election depends on besides the partition itself."""

    live: frozenset[int]  # the brokers that may lead
    minimum: int  # min.insync.replicas of the topic
    elr: bool  # eligible leader replicas are in use
    unclean: bool  # the topic allows unclean elections


@dataclass
class ClusterSeen:
    """The metadata, as they were. Registrations are values; only the dicts are changed by those who draft what must follow."""

    brokers: dict[int, BrokerRegistration]
    topics: dict[str, Uuid]
    partitions: dict[Place, PartitionRegistration]
    configs: dict[tuple[int, str], dict[str, str]]
    features: dict[str, int]
    next_producer_id: int
    file: Mapping[str, str]  # the controller's own configuration, which never changes

    def draft(self) -> ClusterSeen:
        """Return a copy, to be changed into what must follow."""
        return replace(self, brokers=dict(self.brokers), topics=dict(self.topics), partitions=dict(self.partitions),
                       configs={one: dict(values) for one, values in self.configs.items()}, features=dict(self.features))

    @property
    def elr(self) -> bool:
        return ELR_FEATURE in self.features

    def serves(self, broker: int) -> bool:
        """Return whether a broker is registered, and neither fenced nor about to stop."""
        known = self.brokers.get(broker)
        return known is not None and not (known.fenced or known.in_controlled_shutdown)

    def setting(self, topic: str, name: str, default: str) -> str:
        """Return the value of the topic, else that of the cluster, else that of the controller's file, else the default."""
        for values in (self.configs.get((TOPIC_RESOURCE, topic), {}), self.configs.get((BROKER_RESOURCE, ""), {}), self.file):
            if name in values:
                return values[name]
        return default

    def around(self, topic: str, leaving: int | None = None, coming: int | None = None) -> Circumstances:
        """Return the circumstances of a topic's elections, while one broker is leaving or coming."""
        live = {broker for broker in self.brokers if self.serves(broker)} | {coming}
        return Circumstances(frozenset(b for b in live if b is not None and b != leaving),
                             int(self.setting(topic, "min.insync.replicas", "1")), self.elr,
                             self.setting(topic, "unclean.leader.election.enable", "false") == "true")

    def of_topic(self, topic: str) -> list[PartitionRegistration]:
        return [one for (name, _), one in self.partitions.items() if name == topic]

    def directories(self, replicas: Iterable[int]) -> tuple[Uuid, ...]:
        """Return the directory of each new replica: known only if its broker has one alone."""
        dirs = [self.brokers[r].log_dirs if r in self.brokers else () for r in replicas]
        return tuple(one[0] if len(one) == 1 else ZERO_UUID for one in dirs)


def look(image: MetadataImage, file: Mapping[str, str]) -> ClusterSeen:
    """Return what the metadata are now."""
    return ClusterSeen(dict(image.brokers), {topic.name: topic.id for topic in image.topics.values()},
                       {(p.topic, p.index): p for p in image.partitions()},
                       {one: dict(values) for one, values in image.configs.items()}, dict(image.features),
                       image.next_producer_id, file)


def same_cluster(id: str, what: str, found: ClusterSeen, wanted: ClusterSeen) -> None:
    """Raise RuleFallen, with the first difference, unless two clusters are the same."""
    for name in ("topics", "partitions", "brokers", "configs", "features"):
        one, other = getattr(found, name), getattr(wanted, name)
        for key in {**one, **other} if one != other else ():
            same(id, f"{what}, {name} {key}", one.get(key), other.get(key))
    same(id, f"{what}, the next producer id", found.next_producer_id, wanted.next_producer_id)
