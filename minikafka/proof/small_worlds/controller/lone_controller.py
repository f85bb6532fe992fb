"""A controller without a quorum: its log commits at once, or loses what was decided; the clock is turned by hand.

    world.decide(what, decision, rule)     take a decision, judge it by what the rule says must be, and commit it
    world.fail_over()                      another controller reads the log
    world.due()                            let everything happen that is due by now

Owns: the log's length, the clock, the judgement of one decision; the limits, made so small that a life meets them.
Invariants
  I-ALONE-1  a request is answered as Kafka's rules say.
  I-ALONE-2  a decision changes no metadata, its records change what the rules say and nothing else.
  I-ALONE-3  at any time a leader is in the ISR and not fenced, the ISR is of the replicas, no eligible replica is in an ISR.
  I-ALONE-4  a broker is fenced when it was silent for the session timeout, at that time and for no other reason; the
             controller knows when it has something to do next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.controller import controller as controller_module
from minikafka.broker.controller import placement
from minikafka.broker.controller.admin import create_partitions, create_topics, replica_budget
from minikafka.broker.controller.controller import Controller
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    BROKER_RESOURCE,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from minikafka.proof.small_worlds.checks import RuleFallen, same, that
from minikafka.proof.small_worlds.controller.broker_rules import BrokerBook
from minikafka.proof.small_worlds.controller.cluster_seen import ELR_FEATURE, ClusterSeen, look, same_cluster
from minikafka.proof.small_worlds.controller.election_rules import keeps_house
from minikafka.proof.small_worlds.controller.placement_rules import Placed
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.replaced import replaced

CLUSTER = "cluster"
FEATURES = {"metadata.version": 30, ELR_FEATURE: 1, "transaction.version": 2, "group.version": 1}
IDLE_MS = 200_000
MOST_PARTITIONS, MOST_RECORDS, MOST_ELECTIONS, MOST_TICKS, MOST_TURNS = 9, 14, 2, 40, 1000
Rule = Callable[[ClusterSeen], tuple[Any, ClusterSeen]]


class Chance(Random):
    """A source of chance that counts how often it shuffles racks: lists of anything but brokers' ids."""

    shuffles = 0

    def shuffle(self, x: Any) -> None:
        self.shuffles += not all(isinstance(one, int) for one in x)
        super().shuffle(x)


class LoneController:
    """A controller, its log, its clock, and what its judges have written down."""

    def __init__(self, rng: Random, elr: bool, file: dict[str, str]) -> None:
        self.rng, self.file, self.now, self.length = rng, file, 100.0, 0
        self.loses = 0.02  # how often the quorum is lost before a decision is committed
        self.config = BrokerConfig({"node.id": "100", "metadata.max.idle.interval.ms": str(IDLE_MS), **file})
        self.most_replicas = rng.choice((5, 9, 40))
        self.placements: list[Placed] = []  # what chance has placed since this was emptied
        self.take_over(MetadataImage(CLUSTER))
        records = self.controller.bootstrap()
        self.commit([one for one in records if elr or not isinstance(one, FeatureLevelRecord) or one.name != ELR_FEATURE])
        features = {name: level for name, level in FEATURES.items() if elr or name != ELR_FEATURE}
        same("I-ALONE-2", "the features of a new cluster", self.look().features, features)
        same("I-ALONE-2", "its configuration", self.look().configs, {
            (BROKER_RESOURCE, ""): {"min.insync.replicas": file.get("min.insync.replicas", "1")}})
        same("I-ALONE-2", "what a known cluster begins with", self.controller.bootstrap(), [])

    def look(self) -> ClusterSeen:
        return look(self.controller.image, self.file)

    # --- the log --------------------------------------------------------------------------------------------------

    def take_over(self, image: MetadataImage) -> None:
        """Begin with a controller that has read the log."""
        self.controller = Controller(image, self.config, self.now)
        balances = self.config["auto.leader.rebalance.enable"]
        self.book = BrokerBook(
            self.look(), CLUSTER, self.config["broker.session.timeout.ms"] / 1000,
            self.config["leader.imbalance.check.interval.seconds"] if balances else None,
            self.config["unclean.leader.election.interval.ms"] / 1000, IDLE_MS / 1000, MOST_ELECTIONS, self.now)

    def fail_over(self) -> None:
        """Let another controller take over; it knows the log, and no heartbeat."""
        self.take_over(self.controller.image.copy())

    def commit(self, records: list[Any]) -> None:
        """Append and apply the records of a decision."""
        for one in records:
            if isinstance(one, PartitionRecord | PartitionChangeRecord) and one.replicas is not None:
                same("I-ALONE-2", f"the directories in {one}", one.directories, self.look().directories(one.replicas))
            if isinstance(one, RegisterBrokerRecord):
                same("I-ALONE-2", f"whether {one} comes from ZooKeeper", one.is_migrating_zk_broker, False)
        self.length += len(records)
        if records:
            self.controller.apply(records, self.length - 1, 1)
        that("I-ALONE-2", not self.controller.image.take_changes(), "changes are left, for which nobody will ask")

    # --- decisions ------------------------------------------------------------------------------------------------

    def decide(self, what: str, decision: Callable[[], Any], rule: Rule, told: Callable[[Any], Any] = lambda told: told) -> Any:
        """Take a decision and return the answer, None if the controller has lost the quorum meanwhile. Raises RuleFallen.

        `told` says in plain values what the answer tells a client; the rule says what it must tell, and what must follow.
        """
        before = self.look()
        try:
            records, answer = finished(decision())
            seen = told(answer)
        except KafkaError as refused:
            records, answer = [], refused.code
            seen = answer
        same_cluster("I-ALONE-2", f"{what} is only decided", self.look(), before)
        wanted, after = rule(before)
        same("I-ALONE-1", f"the answer to {what}", seen, wanted)
        if records and self.rng.random() < self.loses:
            self.fail_over()
            return None
        self.commit(records)
        same_cluster("I-ALONE-2", f"after {what}", self.look(), after)
        self.check(what, before)
        return answer

    def check(self, what: str, before: ClusterSeen) -> None:
        """Check I-ALONE-3, of each partition that may not be what it was before, and I-ALONE-4."""
        cluster = self.look()
        same_circumstances = (before.brokers, before.configs) == (cluster.brokers, cluster.configs)
        for place, partition in cluster.partitions.items():
            if same_circumstances and before.partitions.get(place) is partition:
                continue
            wrong = keeps_house(partition, cluster.around(partition.topic), cluster.brokers)
            that("I-ALONE-3", wrong is None, f"after {what}: {wrong}: {partition}")
        same("I-ALONE-4", f"who is fenced after {what}", {broker: one.fenced for broker, one in cluster.brokers.items()},
             {broker: not one.serves for broker, one in self.book.heard.items()})
        same("I-ALONE-4", f"the next deadline after {what}", self.controller.next_deadline(), self.book.next_deadline)

    # --- time -----------------------------------------------------------------------------------------------------

    def due(self) -> None:
        """Let everything happen that is due by now, one after the other, and once more: then there is nothing to do."""
        for _ in range(MOST_TICKS):
            ended = self.book.next_deadline > self.now
            self.decide(f"the time {self.now}", lambda: (self.controller.tick(self.now), None),
                        lambda before: (None, self.book.ticks(before, self.now)))
            if ended:
                return
        raise RuleFallen("I-ALONE-4", f"there is always something to do at {self.now}")

    @contextmanager
    def limits(self) -> Iterator[None]:
        """Make the limits small for a while, and note every placement."""
        place, next_in_turn = create_topics.place, placement._Ring.next
        turns = 0

        def noted(brokers: Any, partitions: int, replicas: int, chance: Chance) -> list[list[int]]:
            nonlocal turns
            turns = chance.shuffles = 0
            made = place(brokers, partitions, replicas, chance)
            self.placements.append(Placed(made, chance.shuffles))
            return made

        def patient(ring: Any, round_: int) -> int | None:
            nonlocal turns
            turns += 1
            that("I-ALONE-5", turns < MOST_TURNS, "a placement does not end")
            return next_in_turn(ring, round_)

        with ExitStack() as stack:
            for module, name, value in (
                    (create_topics, "MAX_PARTITIONS_PER_REQUEST", MOST_PARTITIONS), (create_topics, "MAX_RECORDS", MOST_RECORDS),
                    (create_partitions, "MAX_PARTITIONS_PER_REQUEST", MOST_PARTITIONS),
                    (replica_budget, "MOST_REPLICAS", self.most_replicas),
                    (controller_module, "MAX_ELECTIONS", MOST_ELECTIONS), (create_topics, "place", noted),
                    (placement._Ring, "next", patient)):
                stack.enter_context(replaced(module, name, value))
            yield


def finished(decided: Any) -> Any:
    """Return what a decision returns, all of its steps done at once."""
    if isinstance(decided, tuple):
        return decided
    while True:
        try:
            next(decided)
        except StopIteration as stop:
            return stop.value
