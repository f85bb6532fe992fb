"""The requests of administrators to a lone controller: right ones, and nonsense of every kind.

Owns: which requests are made, and how an answer is told to the judges (partition_rules.py, topic_rules.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from minikafka.broker.config.alter import DELETE, SET, Alteration, AlterConfigOp
from minikafka.broker.controller.admin.alter_reassignments import Reassignment, list_reassignments
from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreatedTopic, CreateTopicsContext, NewTopic, create_topics
from minikafka.broker.controller.admin.delete_topics import Deletion, delete_topics
from minikafka.broker.controller.admin.update_features import FeatureUpdate, update_features
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE
from minikafka.proof.small_worlds.checks import same
from minikafka.proof.small_worlds.controller.cluster_seen import ELR_FEATURE, ClusterSeen
from minikafka.proof.small_worlds.controller.lone_controller import (
    MOST_PARTITIONS,
    MOST_RECORDS,
    Chance,
    LoneController,
    finished,
)
from minikafka.proof.small_worlds.controller.partition_rules import elects, reassigned, reassigns
from minikafka.proof.small_worlds.controller.topic_rules import (
    AdminCase,
    check_shown,
    creates,
    deletes,
    finalizes,
    grows,
)
from minikafka.protocol.errors import Err, KafkaError

NAMES = ("t", "u", "v", "a.b", "a_b", "a.c")
ODD_NAMES = ("", ".", "..", "a b", "é", "x\n", "n" * 249, "n" * 250, "__cluster_metadata")
BROKERS = (1, 2, 3, 4, 5)
SUPPORTED = {"metadata.version": (7, 30), ELR_FEATURE: (0, 1), "transaction.version": (0, 2), "group.version": (0, 1)}
MIN_ISR, UNCLEAN, INTERNAL = "min.insync.replicas", "unclean.leader.election.enable", "internal.segment.bytes"


class Administrator:
    """One administrator, who knows the topics and makes mistakes."""

    def __init__(self, world: LoneController) -> None:
        self.world, self.rng = world, world.rng
        self.made_ids = 0

    def something(self) -> None:
        """Make one request."""
        self.rng.choices((self.create, self.grow, self.delete, self.reassign, self.elect, self.finalize, self.configure),
                         (5, 3, 1.5, 9, 6, 3, 4))[0]()

    # --- a choice of arguments ----------------------------------------------------------------------------------------

    def odd(self, chance: float = 0.1) -> bool:
        return self.rng.random() < chance

    def topic(self) -> str:
        known = [*self.world.controller.image.topics]
        return self.rng.choice(NAMES if self.odd() or not known else known)

    def some_brokers(self, count: int | None = None) -> list[int]:
        """Return a list of replicas: sometimes empty, with one twice, or with a stranger."""
        count = self.rng.choice((1, 2, 2, 3, 3, 4)) if count is None else count
        brokers = self.rng.sample(BROKERS, min(count, len(BROKERS)))
        if self.odd():
            brokers = self.rng.choice(([], [*brokers, brokers[0]], [9, *brokers], brokers[1:], [*brokers[1:], -1]))
        return brokers

    def partitions(self) -> list[tuple[str, list[int]]]:
        """Return some partitions by topic, each once; sometimes one that does not exist."""
        image = self.world.controller.image
        chosen = dict.fromkeys(self.topic() for _ in range(self.rng.randint(1, 2)))
        return [(topic, [index for index in range(len(image.topics[topic].partitions) if topic in image.topics else 1)
                         if not self.odd(0.3)] + [99] * self.odd()) for topic in chosen]

    # --- topics ---------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Ask for one to three topics."""
        names = [self.rng.choice(ODD_NAMES if self.odd() else NAMES) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        wanted = [self.new_topic(name) for name in names]
        before = self.world.look()
        self.administer(f"CreateTopics {wanted}", lambda ctx, **only: create_topics(ctx, wanted, **only),
                        lambda case: creates(case, wanted), lambda verdicts: told_of_creation(before, wanted, verdicts))

    def new_topic(self, name: str) -> NewTopic:
        configs = [(config, value) for config, value in (
            (MIN_ISR, self.rng.choice("123")), (UNCLEAN, self.rng.choice(("true", "false"))), (INTERNAL, "5000"),
            self.rng.choice(((MIN_ISR, None), (MIN_ISR, "0"), (UNCLEAN, "x"), ("no.such.thing", "1"))))
            if self.odd(0.04 if value in (None, "0", "x") or config == "no.such.thing" else 0.4)]
        count = self.rng.choice((-1, -1, 1, 2, 3, 5)) if not self.odd() else self.rng.choice((0, -2, 8, 9, 10))
        factor = self.rng.choice((-1, 1, 2, 3)) if not self.odd() else self.rng.choice((0, -2, 4, 5, 6))
        if self.odd(0.6):
            return NewTopic(name, count, factor, (), configs)
        size = self.rng.choice((1, 2, 3))
        lists = [self.some_brokers(size) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        indexes = [*range(len(lists))] if not self.odd() else [self.rng.choice((0, 1)) for _ in lists]
        if self.odd(0.2):
            indexes.reverse()
        count, factor = (-1, -1) if not self.odd() else self.rng.choice(((1, -1), (-1, 1), (2, 2)))
        return NewTopic(name, count, factor, [*zip(indexes, lists)], configs)

    def grow(self) -> None:
        """Ask for more partitions of one or two topics."""
        wanted = []
        for topic in [self.topic() for _ in range(self.rng.choice((1, 1, 2)))]:
            known = self.world.controller.image.topics.get(topic)
            present = len(known.partitions) if known is not None else 0
            more = self.rng.choice((1, 1, 2, 3)) if not self.odd(0.2) else self.rng.choice((0, -1, 9, 10))
            factor = len(known.partitions[0].replicas) if known is not None else 1
            lists = [self.some_brokers(factor) for _ in range(max(0, more + (self.rng.choice((1, -1)) if self.odd() else 0)))]
            wanted.append(NewPartitions(topic, present + more, None if self.odd(0.5) else lists))
        self.administer(f"CreatePartitions {wanted}", lambda ctx, **only: create_partitions(ctx, wanted, **only),
                        lambda case: grows(case, wanted), self.told_by_name)

    @staticmethod
    def told_by_name(verdicts: list[Any]) -> dict[str, Err]:
        same("I-ALONE-1", "how often a topic is answered", len({one.topic for one in verdicts}), len(verdicts))
        return {one.topic: code(one.refusal) for one in verdicts}

    def delete(self) -> None:
        """Ask to delete topics by name and by id, some of them twice."""
        image = self.world.controller.image
        chosen = [self.topic() for _ in range(self.rng.choice((1, 1, 2, 3)))]
        ids = [image.topics[name].id if name in image.topics else UUID(int=5) for name in chosen if self.odd(0.4)]
        names = [name for name in chosen if self.odd(0.4)]
        self.administer(f"DeleteTopics {names} {ids}", lambda ctx: delete_topics(ctx.image, names, ids, ctx.charge),
                        lambda case: deletes(case, names, ids), self.told_of_deletion, may_validate=False)

    @staticmethod
    def told_of_deletion(verdicts: list[Deletion]) -> list[tuple[str | None, UUID | None, Err]]:
        return [(one.name, one.topic_id, code(one.refusal)) for one in verdicts]

    def administer(self, what: str, request: Callable[..., Any],
                   rule: Callable[[AdminCase], tuple[Any, ClusterSeen]], told: Callable[[Any], Any],
                   may_validate: bool = True) -> None:
        """Make a request that a quota pays for; sometimes ask first whether it would be granted: the answer is the same."""
        world, quota, seed = self.world, self.rng.choice((99, 99, 99, 4)), self.rng.getrandbits(32)
        ids: list[UUID] = []

        def context() -> CreateTopicsContext:
            ids.clear()
            world.placements.clear()
            image, chance = world.controller.image, Chance(seed)
            return CreateTopicsContext(image, world.config, chance, self.new_id(ids), charging(quota))

        validated = []
        if may_validate and self.odd(0.3):
            records, verdicts = finished(request(context(), validate_only=True))
            same("I-ALONE-2", f"what is made to validate {what}", records, [])
            validated.append(told(verdicts))
            self.made_ids -= len(ids)

        def case(before: ClusterSeen) -> AdminCase:
            numbers = {name: world.config[name] for name in ("num.partitions", "default.replication.factor")}
            return AdminCase(before, world.most_replicas, MOST_PARTITIONS, MOST_RECORDS, quota, ids, world.placements, numbers)

        seen: list[Any] = []
        world.decide(what, lambda: request(context()), lambda before: rule(case(before)),
                     lambda answer: seen.append(told(answer)) or seen[-1])
        if validated:
            same("I-ALONE-1", f"the answer to {what}, only validated", validated, seen)

    def new_id(self, ids: list[UUID]) -> Callable[[], UUID]:
        """Return a maker of ids that notes them."""
        def make() -> UUID:
            self.made_ids += 1
            ids.append(UUID(int=1000 + self.made_ids))
            return ids[-1]
        return make

    # --- partitions -----------------------------------------------------------------------------------------------

    def reassign(self) -> None:
        """Ask for other replicas of some partitions, or for those before; look at what is under way."""
        requested = [(topic, [Reassignment(index, None if self.odd(0.25) else tuple(self.some_brokers())) for index in indexes])
                     for topic, indexes in self.partitions()]
        world, any_factor = self.world, self.odd(0.7)
        world.decide(f"AlterPartitionReassignments {requested}", lambda: world.controller.reassign(requested, any_factor),
                     lambda before: reassigns(before, requested, any_factor, world.most_replicas), told_by_partition)
        asked = None if self.odd(0.5) else self.partitions()
        same("I-ALONE-1", "what is being reassigned", list_reassignments(world.controller.image, asked),
             reassigned(world.look(), asked))

    def elect(self, kind: Election | None = None) -> None:
        """Ask for preferred leaders, or for unclean elections."""
        world, requested = self.world, None if kind is not None or self.odd(0.3) else self.partitions()
        kind = self.rng.choice((Election.PREFERRED, Election.UNCLEAN)) if kind is None else kind
        world.decide(f"ElectLeaders {kind.name} {requested}", lambda: world.controller.elect_leaders(kind, requested),
                     lambda before: elects(before, kind is Election.PREFERRED, requested), told_by_partition)

    # --- the cluster ----------------------------------------------------------------------------------------------

    def finalize(self) -> None:
        """Ask for other levels of features."""
        chosen = self.rng.sample(("group.version", "transaction.version"), 1) if self.odd(0.7) else self.rng.sample(
            (*SUPPORTED, "nonsense"), 2)
        updates = [FeatureUpdate(name, self.rng.choice((0, 1, 1, 2, 2, 29, 30, 31, -1)), self.rng.choice((1, 1, 2, 3, 0, 4)))
                   for name in chosen]
        world = self.world
        world.decide(f"UpdateFeatures {updates}",
                     lambda: (update_features(world.controller.image, SUPPORTED, 1, updates), Err.NONE),
                     lambda before: finalizes(before, SUPPORTED, updates))

    def configure(self) -> None:
        """Set what elections depend on, of a topic or of the whole cluster; another minimum makes nobody eligible any more."""
        world, topic = self.world, self.topic()
        if topic not in world.controller.image.topics:
            return
        name, value = self.rng.choice(((MIN_ISR, self.rng.choice("123")), (UNCLEAN, self.rng.choice(("true", "false")))))
        resource = (TOPIC_RESOURCE, topic) if self.odd(0.8) else (BROKER_RESOURCE, "")
        value = None if self.odd(0.3) and resource[1] else value
        op = AlterConfigOp(name, DELETE if value is None else SET, value)
        wanted = [Alteration(*resource, (op,), whole=False)]
        world.decide(f"AlterConfigs {wanted}", lambda: world.controller.alter_configs(wanted),
                     lambda before: ([None], configured(before, resource, name, value)))


def configured(before: ClusterSeen, resource: tuple[int, str], name: str, value: str | None) -> ClusterSeen:
    """Return what must follow a change of one configuration (KIP-966: who was eligible, was so under the old minimum)."""
    after = before.draft()
    values = after.configs.pop(resource, {})
    known = values.pop(name, None)
    if value is not None:
        values[name] = value
    if values:
        after.configs[resource] = values
    changed = known != value or resource[0] == BROKER_RESOURCE
    for place, p in before.partitions.items() if name == MIN_ISR and changed and before.elr else ():
        if (p.elr or p.last_known_elr) and resource[1] in ("", p.topic):
            after.partitions[place] = replace(p, elr=(), last_known_elr=(), partition_epoch=p.partition_epoch + 1)
    return after


def told_of_creation(before: ClusterSeen, wanted: list[NewTopic],
                     verdicts: list[tuple[str, CreatedTopic | KafkaError]]) -> dict[str, Any]:
    """Return the error, or what was made, of each name; check the configurations that are shown."""
    configs = {topic.name: dict(topic.configs) for topic in wanted}
    for name, verdict in verdicts:
        if isinstance(verdict, CreatedTopic):
            check_shown(before, configs[name], verdict.configs)
    return {name: verdict.code if isinstance(verdict, KafkaError) else
            (verdict.topic_id, verdict.partitions, verdict.replication_factor) for name, verdict in verdicts}


def told_by_partition(verdicts: list[tuple[str, list[Any]]]) -> list[tuple[str, list[tuple[int, Err]]]]:
    """Return the error of each partition, by topic."""
    return [(topic, [(one.partition, code(one.refusal)) for one in of_topic]) for topic, of_topic in verdicts]


def code(refusal: KafkaError | None) -> Err:
    return Err.NONE if refusal is None else refusal.code


def charging(quota: int) -> Callable[[int], None]:
    """Return a quota of so many partitions, which refuses everything once it has refused something."""
    left = [quota]

    def charge(partitions: int) -> None:
        left[0] = left[0] - partitions if left[0] >= partitions else -1
        if left[0] < 0:
            raise KafkaError(Err.THROTTLING_QUOTA_EXCEEDED)
    return charge
