"""The requests of administrators to a lone controller: right ones, and nonsense of every kind.

Owns: which requests are made, for what reasons they may be refused, what must be true of the topics that they change.
Invariants: I-ALONE-6 validate_only gives the answer and changes nothing.
            I-ALONE-7 what is granted is there afterwards, and nothing else has changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from minikafka.broker.config.alter import DELETE, SET, Alteration, AlterConfigOp
from minikafka.broker.config.effective import topic_value
from minikafka.broker.config.table import TOPIC_CONFIGS
from minikafka.broker.controller.admin.alter_reassignments import Reassignment, list_reassignments
from minikafka.broker.controller.admin.create_partitions import NewPartitions, create_partitions
from minikafka.broker.controller.admin.create_topics import CreatedTopic, CreateTopicsContext, NewTopic, create_topics
from minikafka.broker.controller.admin.delete_topics import delete_topics
from minikafka.broker.controller.admin.update_features import FeatureUpdate, update_features
from minikafka.broker.controller.leader_election import Election
from minikafka.broker.metadata.image import MetadataImage, PartitionRegistration
from minikafka.broker.metadata.records import BROKER_RESOURCE, NO_LEADER, TOPIC_RESOURCE
from minikafka.broker.server.turns import at_once, collected
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.controller.judged_controller import ELR_FEATURE, JudgedController, Reasons
from minikafka.proof.small_worlds.controller.lone_controller import SUPPORTED
from minikafka.proof.small_worlds.controller.placement_rules import check_placement, impossible
from minikafka.protocol.errors import Err, KafkaError

NAMES = ("t", "u", "v", "a.b", "a_b", "a.c")
ODD_NAMES = ("", ".", "..", "a b", "é", "x\n", "n" * 249, "n" * 250, "__cluster_metadata")
BROKERS = (1, 2, 3, 4, 5)
MOST_PARTITIONS, MOST_RECORDS = 9, 14  # of a request
MIN_ISR, UNCLEAN, INTERNAL = "min.insync.replicas", "unclean.leader.election.enable", "internal.segment.bytes"
GOOD_CONFIGS = {MIN_ISR: r"[1-9]\d*", UNCLEAN: "true|false", INTERNAL: r"\d{4}"}
Place = tuple[str, int]


class Administrator:
    """One administrator, who knows the topics and makes mistakes. `most_replicas`: of a broker."""

    def __init__(self, world: JudgedController, most_replicas: int) -> None:
        self.world, self.rng, self.most_replicas = world, world.rng, most_replicas
        self.made_ids = 0

    def something(self) -> None:
        """Make one request."""
        self.rng.choices((self.create, self.grow, self.delete, self.reassign, self.elect, self.finalize, self.configure),
                         (5, 3, 1.5, 9, 6, 3, 4))[0]()

    # --- a choice of arguments ----------------------------------------------------------------------------------------

    def odd(self, chance: float = 0.1) -> bool:
        return self.rng.random() < chance

    def topic(self) -> str:
        known = [*self.world.image.topics]
        return self.rng.choice(NAMES if self.odd() or not known else known)

    def some_brokers(self, count: int | None = None) -> list[int]:
        """Return a list of replicas: sometimes empty, with one twice, or with a stranger."""
        brokers = self.rng.sample(BROKERS, self.rng.choice((1, 2, 2, 3, 3, 4)) if count is None else count)
        if self.odd():
            brokers = self.rng.choice(([], [*brokers, brokers[0]], [9, *brokers], brokers[1:], [*brokers[1:], -1]))
        return brokers

    def partitions(self) -> list[tuple[str, list[int]]]:
        """Return some partitions by topic, each once; sometimes one that does not exist."""
        topics, chosen = self.world.image.topics, dict.fromkeys(self.topic() for _ in range(self.rng.randint(1, 2)))
        return [(topic, [index for index in range(len(topics[topic].partitions) if topic in topics else 1)
                         if not self.odd(0.3)] + [99] * self.odd()) for topic in chosen]

    # --- a request that a quota pays for ----------------------------------------------------------------------------

    def administer(self, what: str, request: Callable[..., Any], may_validate: bool = True) -> tuple[MetadataImage, Any]:
        """Make a request, sometimes after a question whether it would be granted; return the image before it and its answer."""
        world, quota, seed, answers = self.world, self.rng.choice((99, 99, 99, 4)), self.rng.getrandbits(32), []
        before, spent = world.image.copy(), Counter[str]()

        def charge(partitions: int) -> None:
            spent["partitions"] += partitions
            if spent["partitions"] > quota:
                raise KafkaError(Err.THROTTLING_QUOTA_EXCEEDED)

        for only in [True, False] if may_validate and self.odd(0.3) else [False]:
            spent.clear()
            ctx = CreateTopicsContext(world.image, world.config, type(self.rng)(seed), self.new_id, charge)
            if only:
                records, answer = at_once(collected(request(ctx, validate_only=True)))
                same("I-ALONE-6", f"the records to validate {what}", records, [])
            else:
                answer = world.ask(what, lambda ctx=ctx: request(ctx), {})
            answers.append(answer)
        if len(answers) > 1 and answers[1] is not None:
            same("I-ALONE-6", f"what validation answers of {what}", codes(answers[0]), codes(answers[1]))
        used = Counter(broker for p in world.image.partitions() for broker in p.replicas)
        that("I-ALONE-7", max(used.values(), default=0) <= self.most_replicas, f"after {what} brokers have {used}")
        added = sum(before.partition(p.topic, p.index) is None for p in world.image.partitions())
        that("I-ALONE-7", added <= quota, f"{what} adds {added} partitions, the quota is {quota}")
        return before, answers[-1]

    def new_id(self) -> UUID:
        self.made_ids += 1
        return UUID(int=1000 + self.made_ids)

    def check_changed(self, what: str, before: MetadataImage, granted: set[Place], needed: bool = True) -> None:
        """Check that of the partitions these have changed, and no others; `needed`: each of these."""
        found, old = places(self.world.image), places(before)
        changed = {place for place in found.keys() | old.keys() if found.get(place) != old.get(place)}
        that("I-ALONE-7", changed <= granted and (not needed or changed == granted), f"{what} changes {changed}, not {granted}")

    # --- CreateTopics -----------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Send CreateTopics for one to three topics."""
        names = [self.rng.choice(ODD_NAMES if self.odd() else NAMES) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        wanted = [self.new_topic(name) for name in names]
        before, answer = self.administer(f"CreateTopics {wanted}", lambda ctx, **only: create_topics(ctx, wanted, **only))
        if answer is None:
            return
        same("I-ALONE-1", "the topics in the answer", sorted({name for name, _ in answer}), sorted({*names}))
        sizes = [len(one.assignments) or max(one.partitions, 2) for one in wanted]
        large = sum(sizes) > MOST_PARTITIONS or sum(sizes) + sum(1 + len(one.configs) for one in wanted) > MOST_RECORDS
        made = set()
        for name, verdict in answer:
            topic = next(one for one in wanted if one.name == name)
            reasons = self.against_topic(before, topic, names.count(name) > 1, large)
            self.world.judge(f"the new {topic}", codes(verdict), reasons)
            if isinstance(verdict, CreatedTopic):
                made |= self.check_created(before, topic, verdict)
        that("I-ALONE-7", len(made) <= MOST_PARTITIONS, f"CreateTopics {wanted} makes too many partitions: {made}")
        self.check_changed(f"CreateTopics {wanted}", before, made)

    def against_topic(self, before: MetadataImage, topic: NewTopic, twice: bool, large: bool) -> Reasons:
        """Return why a new topic may be refused."""
        name, lists, numbers = topic.name, [brokers for _, brokers in topic.assignments], (
            topic.partitions, topic.replication_factor)
        factor = self.world.config["default.replication.factor"] if numbers[1] == -1 else numbers[1]
        bad_name = not re.fullmatch(r"[\w.-]{1,249}", name, re.ASCII) or name in (".", "..")
        return {
            Err.TOPIC_ALREADY_EXISTS: name in before.topics,
            Err.INVALID_TOPIC_EXCEPTION: bad_name or name.replace(".", "_") in {one.replace(".", "_") for one in before.topics},
            Err.INVALID_CONFIG: any(value is None or not re.fullmatch(GOOD_CONFIGS.get(config, "(?!)"), value)
                                    for config, value in topic.configs),
            Err.INVALID_PARTITIONS: not lists and numbers[0] in (0, -2),
            Err.INVALID_REPLICATION_FACTOR: not lists and (numbers[1] in (0, -2) or impossible(before, factor)),
            Err.INVALID_REPLICA_ASSIGNMENT: bool(lists) and (
                misplaced(before, lists, len(lists[0])) or {index for index, _ in topic.assignments} != {*range(len(lists))}),
            Err.INVALID_REQUEST: twice or name == "__cluster_metadata" or bool(lists) and numbers != (-1, -1),
            Err.POLICY_VIOLATION: None if large or self.most_replicas < 40 else False,
            Err.THROTTLING_QUOTA_EXCEEDED: None}

    def new_topic(self, name: str) -> NewTopic:
        configs = [(config, value) for config, value in (
            (MIN_ISR, self.rng.choice("123")), (UNCLEAN, self.rng.choice(("true", "false"))), (INTERNAL, "5000"),
            self.rng.choice(((MIN_ISR, None), (MIN_ISR, "0"), (UNCLEAN, "x"), ("no.such.thing", "1"))))
            if self.odd(0.1 if value in (None, "0", "x") or config == "no.such.thing" else 0.4)]
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

    def check_created(self, before: MetadataImage, topic: NewTopic, made: CreatedTopic) -> set[Place]:
        """Check a topic that was created; return its partitions."""
        config, image, lists = self.world.config, self.world.image, [brokers for _, brokers in sorted(topic.assignments)]
        count = len(lists) or (config["num.partitions"] if topic.partitions == -1 else topic.partitions)
        factor = len(lists[0]) if lists else topic.replication_factor
        factor = config["default.replication.factor"] if factor == -1 else factor
        same("I-ALONE-7", f"the new {topic}", (made.topic_id, made.partitions, made.replication_factor),
             (image.topic_id(topic.name), count, factor))
        configs = dict(topic.configs)
        same("I-ALONE-7", f"the configurations of {topic}", image.topic_configs(topic.name), configs)
        same("I-ALONE-7", f"the names shown of {topic}", [c.name for c in made.configs],
             sorted(name for name, one in TOPIC_CONFIGS.items() if not one.internal or name in configs))
        same("I-ALONE-7", f"the values shown of {topic}", {c.name: c.value for c in made.configs if c.source == 1}, configs)
        return self.check_partitions(before, topic.name, range(count), lists or None, factor)

    def check_partitions(self, before: MetadataImage, topic: str, indexes: range, lists: Sequence[Sequence[int]] | None,
                         factor: int) -> set[Place]:
        """Check new partitions: where they are, and that the first live replica leads all live ones; return their places."""
        image = self.world.image
        made = [p for index, p in image.topics[topic].partitions.items() if index in indexes]
        same("I-ALONE-7", f"the partitions of {topic}", [p.index for p in made], [*indexes])
        if lists is None:
            check_placement(before.brokers.values(), [p.replicas for p in made], factor)
        else:
            same("I-ALONE-7", f"the replicas of {topic}", [p.replicas for p in made], [tuple(one) for one in lists])
        for p in made:
            isr = tuple(r for r in p.replicas if before.is_active(r))
            same("I-ALONE-7", "a new partition", p, PartitionRegistration(topic, p.topic_id, p.index, p.replicas, isr, isr[0]))
        return {(topic, index) for index in indexes}

    # --- CreatePartitions, DeleteTopics -----------------------------------------------------------------------------

    def grow(self) -> None:
        """Send CreatePartitions for one or two topics."""
        wanted = []
        for topic in [self.topic() for _ in range(self.rng.choice((1, 1, 2)))]:
            present, factor = shape(self.world.image, topic)
            more = self.rng.choice((1, 1, 2, 3)) if not self.odd(0.2) else self.rng.choice((0, -1, 9, 10))
            lists = [self.some_brokers(factor) for _ in range(max(0, more + (self.rng.choice((1, -1)) if self.odd() else 0)))]
            wanted.append(NewPartitions(topic, present + more, None if self.odd(0.5) else lists))
        before, answer = self.administer(
            f"CreatePartitions {wanted}", lambda ctx, **only: create_partitions(ctx, wanted, **only))
        made, names = set(), [one.topic for one in wanted]
        if answer is None:
            return
        same("I-ALONE-1", "the topics in the answer", sorted(one.topic for one in answer), sorted({*names}))
        for verdict in answer:
            one = next(one for one in wanted if one.topic == verdict.topic)
            present, factor = shape(before, one.topic)
            lists = one.assignments
            self.world.judge(f"{one}", codes(verdict), {
                Err.INVALID_REQUEST: names.count(one.topic) > 1,
                Err.UNKNOWN_TOPIC_OR_PARTITION: one.topic not in before.topics,
                Err.INVALID_PARTITIONS: one.count <= present,
                Err.INVALID_REPLICATION_FACTOR: lists is None and impossible(before, factor),
                Err.INVALID_REPLICA_ASSIGNMENT: lists is not None and (
                    misplaced(before, lists, factor) or len(lists) != one.count - present),
                Err.UNKNOWN_SERVER_ERROR: one.count - present > MOST_PARTITIONS,
                Err.POLICY_VIOLATION: None if self.most_replicas < 40 else False, Err.THROTTLING_QUOTA_EXCEEDED: None})
            if verdict.refusal is None:
                made |= self.check_partitions(before, one.topic, range(present, one.count), lists, factor)
        self.check_changed(f"CreatePartitions {wanted}", before, made)

    def delete(self) -> None:
        """Send DeleteTopics by name and by id, sometimes twice."""
        topics = self.world.image.topics
        chosen = [self.topic() for _ in range(self.rng.choice((1, 1, 2, 3)))]
        ids = [topics[name].id if name in topics else UUID(int=5) for name in chosen if self.odd(0.4)]
        names = [name for name in chosen if self.odd(0.4)]
        before, answer = self.administer(f"DeleteTopics {names} {ids}", lambda ctx: delete_topics(
            ctx.image, names, ids, ctx.charge), may_validate=False)
        gone = set()
        for verdict in answer or ():
            name, id = verdict.name, verdict.topic_id
            known = before.topic_by_id(id) if name is None else before.topics.get(name)
            both = known is not None and known.id in ids and known.name in names
            self.world.judge(f"DeleteTopics {names} {ids} {verdict}", codes(verdict), {
                Err.INVALID_REQUEST: None if both or names.count(name) > 1 or ids.count(id) > 1 else False,
                Err.UNKNOWN_TOPIC_ID: name is None and known is None,
                Err.UNKNOWN_TOPIC_OR_PARTITION: name is not None and known is None, Err.THROTTLING_QUOTA_EXCEEDED: None})
            if verdict.refusal is None:
                once = (names.count(name), ids.count(id)) in ((1, 0), (0, 1), (2, 1), (3, 1))
                that("I-ALONE-7", once and name not in self.world.image.topics, f"{verdict} of {names} {ids}")
                gone |= {(name, index) for index in before.topics[name].partitions}
        if answer is not None:
            both = sum(names.count(one.name) == ids.count(one.id) == 1 for one in before.topics.values())
            same("I-ALONE-1", f"the number of answers {answer}", len(answer), len({*names}) + len({*ids}) - both)
            self.check_changed(f"DeleteTopics {names} {ids}", before, gone)

    # --- partitions -------------------------------------------------------------------------------------------------

    def reassign(self) -> None:
        """Send AlterPartitionReassignments; then check what ListPartitionReassignments shows."""
        world, before, other_factor = self.world, self.world.image.copy(), self.odd(0.8)
        wanted = [(topic, [Reassignment(index, None if self.odd(0.3) else tuple(self.some_brokers())) for index in indexes])
                  for topic, indexes in self.partitions()]
        what = f"AlterPartitionReassignments {wanted}"
        answer = world.ask(what, lambda: world.core.reassign(wanted, other_factor), {})
        granted = set()
        moves = [(topic, one) for topic, of_topic in wanted for one in of_topic]
        for (topic, one), verdict in zip(moves, answer or (), strict=answer is not None):
            p = before.partition(topic, one.partition)
            world.judge(f"{topic} {one}", codes(verdict), self.against_move(before, p, one.replicas, other_factor))
            if verdict.refusal is None and p is not None:
                granted.add((topic, p.index))
                check_move(p, one.replicas, world.partition(topic, p.index))
        if answer is not None:
            self.check_changed(what, before, granted, needed=False)
        moving = [place for place, p in places(world.image).items() if p.adding or p.removing]
        some = self.partitions()
        for listed, of_these in (None, moving), (some, [(topic, index) for topic, indexes in some for index in indexes]):
            found = [(topic, p.index) for topic, ps in list_reassignments(world.image, listed) for p in ps]
            same("I-ALONE-7", f"what is on the move of {listed}", found, [place for place in of_these if place in moving])

    def against_move(self, before: MetadataImage, p: PartitionRegistration | None, goal: tuple[int, ...] | None,
                     other_factor: bool) -> Reasons:
        """Return why a reassignment may be refused."""
        if p is None:
            return {Err.UNKNOWN_TOPIC_OR_PARTITION: True}
        if goal is None:
            at_rest, lost = not p.adding and not p.removing, {*p.isr} <= {*p.adding}
            return {Err.NO_REASSIGNMENT_IN_PROGRESS: at_rest, Err.INVALID_REPLICA_ASSIGNMENT: {*p.replicas} <= {*p.adding} or (
                not at_rest and lost and not topic_value(before, self.world.config, p.topic, UNCLEAN))}
        return {Err.INVALID_REPLICA_ASSIGNMENT: misplaced(before, [goal], len(goal), live=False),
                Err.INVALID_REPLICATION_FACTOR: not other_factor and len(goal) != len({*p.replicas} - {*p.removing}),
                Err.POLICY_VIOLATION: None if self.most_replicas < 40 else False}

    def elect(self, kind: Election | None = None) -> None:
        """Send ElectLeaders of either kind."""
        world, before = self.world, self.world.image.copy()
        requested = [(topic.name, list(topic.partitions)) for topic in before.topics.values()] if (
            kind is not None or self.odd(0.3)) else self.partitions()
        kind = self.rng.choice((Election.PREFERRED, Election.UNCLEAN)) if kind is None else kind
        what, preferred = f"ElectLeaders {kind.name} {requested}", kind is Election.PREFERRED
        answer = world.ask(what, lambda: world.core.elect_leaders(kind, requested), {})
        elected = set()
        for verdict in answer or ():
            p = before.partition(verdict.topic, verdict.partition)
            led = p is not None and (p.leader == p.replicas[0] or p.leader != NO_LEADER and not preferred)
            world.judge(f"{what}: {verdict}", codes(verdict), {
                Err.UNKNOWN_TOPIC_OR_PARTITION: p is None, Err.ELECTION_NOT_NEEDED: led,
                Err.PREFERRED_LEADER_NOT_AVAILABLE: None if preferred and not led else False,
                Err.ELIGIBLE_LEADERS_NOT_AVAILABLE: None if not preferred and not led else False})
            elected |= {(verdict.topic, verdict.partition)} if verdict.refusal is None else set()
        if answer is not None:
            self.check_changed(what, before, elected)

    # --- the cluster ----------------------------------------------------------------------------------------------

    def finalize(self) -> None:
        """Send UpdateFeatures."""
        world, now = self.world, dict(self.world.image.features)
        rng, some = self.rng, ("group.version", "transaction.version") if self.odd(0.7) else (*SUPPORTED, "nonsense")
        chosen = rng.sample(some, rng.choice((1, 1, 2)))
        updates = [FeatureUpdate(name, rng.choice((0, 1, 1, 2, 2, 30, 31, -1, now.get(name, 1))), rng.choice((1, 1, 2, 3, 0, 4)))
                   for name in chosen]

        def wrong(one: FeatureUpdate) -> bool:
            low, high = SUPPORTED.get(one.feature, (1, 0))
            level = now.get(one.feature, 0)
            kinds = (1, 2, 3) if one.level == level else (1,) if one.level > level else (2, 3)
            fixed = one.feature in ("metadata.version", ELR_FEATURE) and one.level != level
            return one.kind not in kinds or not max(low, 0) <= one.level <= high or fixed

        if world.ask(f"UpdateFeatures {updates}", lambda: (update_features(world.image, SUPPORTED, 1, updates), updates), {
                Err.INVALID_UPDATE_VERSION: any(map(wrong, updates))}) is updates:
            now |= {one.feature: one.level for one in updates}
        same("I-ALONE-7", f"after {updates}", world.image.features, {name: level for name, level in now.items() if level})

    def configure(self) -> None:
        """Set what elections depend on; who was eligible under another min.insync.replicas is so no longer (KIP-966)."""
        world, topic = self.world, self.topic()
        if topic not in world.image.topics:
            return
        name, value = self.rng.choice(((MIN_ISR, self.rng.choice("123")), (UNCLEAN, self.rng.choice(("true", "false")))))
        resource = (TOPIC_RESOURCE, topic) if self.odd(0.8) else (BROKER_RESOURCE, "")
        value = None if self.odd(0.3) and resource[1] else value
        op = AlterConfigOp(name, DELETE if value is None else SET, value)
        old = world.image.configs.get(resource, {}).get(name)
        what, wanted = f"AlterConfigs {resource} {op}", [Alteration(*resource, (op,), whole=False)]
        before, concerned = world.image.copy(), {place for place in places(world.image) if resource[1] in ("", place[0])}
        if world.ask(what, lambda: world.core.alter_configs(wanted), {}) is not None:
            self.check_changed(what, before, concerned, needed=False)
            same("I-ALONE-7", what, world.image.configs.get(resource, {}).get(name), value)
            eligible = [p for p in world.image.partitions() if p.elr and resource[1] in ("", p.topic)]
            that("I-ALONE-7", name != MIN_ISR or old == value or not eligible, f"{what}: eligible are {eligible}")


def codes(answer: Any) -> Any:
    """Return the codes in an answer: of one verdict, or of a list of verdicts in its order."""
    if isinstance(answer, list):
        return [codes(one) for one in answer]
    refusal = answer if isinstance(answer, KafkaError) else getattr(answer, "refusal", None)
    if isinstance(answer, tuple) and not hasattr(answer, "refusal"):
        return [codes(one) for one in answer]
    return Err.NONE if refusal is None else refusal.code


def places(image: MetadataImage) -> dict[Place, PartitionRegistration]:
    return {(p.topic, p.index): p for p in image.partitions()}


def shape(image: MetadataImage, topic: str) -> tuple[int, int]:
    """Return a topic's number of partitions, and the number of replicas of its first."""
    known = image.topics.get(topic)
    return (len(known.partitions), len(known.partitions[0].replicas)) if known is not None else (0, 1)


def check_move(before: PartitionRegistration, goal: tuple[int, ...] | None, now: PartitionRegistration) -> None:
    """Check a reassignment that was granted: it is on its way, or has come to its end at once (I-MOVE-1 is leader_election's)."""
    if goal is None:
        old = tuple(r for r in before.replicas if r not in before.adding)
        return same("I-MOVE-2", f"what is left of {before}", (now.replicas, now.adding, now.removing), (old, (), ()))
    adding = {*goal} - {*before.replicas} or {*before.adding}
    removing = {*before.replicas} - {*goal} or {*before.removing}
    union = {*goal, *before.replicas}
    moving = bool(now.adding or now.removing)
    same("I-MOVE-2", f"the move of {before} to {goal}", ({*now.replicas}, {*now.adding}, {*now.removing}),
         (union, adding, removing) if moving else (union - removing, set(), set()))
    first = [r for r in goal if r in now.replicas]
    same("I-MOVE-2", f"the order of {now}", [*now.replicas[:len(first)]], first)


def misplaced(image: MetadataImage, lists: Sequence[Sequence[int]], factor: int, live: bool = True) -> bool:
    """Return whether a list of replicas is impossible: empty, of another length, with a stranger, with one twice, or without
    a `live` one."""
    return any(not one or len(one) != factor or len({*one} & image.brokers.keys()) < len(one)
               or live and not any(map(image.is_active, one)) for one in lists)
