"""What must be true of a group of either kind before and after an event. No sentence here decides which error a request gets:
tests/wire compares the answers with those of Apache Kafka; the asserts of the groups (check()) say what a state may be.

    before = GroupPicture(group)
    ...                                      something happens
    classic_event(before, group, effects, now, signs, leaving)

Owns: GroupPicture; a function for each kind of event; FAULTS: what no heartbeat may say; told_by_classic() and
told_by_consumer(): what a change of the protocol keeps.
Invariants: I-GTIME-1 a deadline moves only when its member gives a sign of life, is answered, or takes a step: to now and its
              timeout.
            I-GJOIN-1 a join phase ends when all have joined, or when its time is over (rule 57).
            I-GSTORE-1 a Stable classic group is what its last record says, unless records are on their way (rules 58, 59).
            I-GEPOCH-1 the epoch rises with each change of a subscription, a member or a subscribed topic, and with nothing else.
              A topic that an expression matches is known ten seconds after its creation, at the next heartbeat; without a new
              topic or expression nothing is matched again for ten minutes.
            I-GSTEP-1 a member gives up first, is given only what it reads, and then reaches the target's epoch (rule 848);
              a classic member is called to join where it has a step to take, and only there.
Source: KIP-134, KIP-345 (classic), KIP-848, KIP-1101, KIP-1251, KIP-1263 (consumer).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import replace
from typing import Any
from uuid import UUID

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.members import ClassicGroupMember
from minikafka.broker.groups.classic.messages import Call, CompleteCall, JoinResult, Moved
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.consumer.assignors import MemberSubscription
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    UNREVOKED,
    ConsumerGroupMember,
    TopicIdPartition,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.consumer.subscriptions import REFRESH_MAX_MS, REFRESH_MIN_MS
from minikafka.broker.groups.group import GroupContext, OffsetCommit
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.checks import same, that
from minikafka.proof.small_worlds.groups.assignment_rules import fair
from minikafka.protocol.errors import Err

AnyGroup = ClassicGroup | ConsumerGroup
SOON = 1e-6  # seconds: sums of times in another order
EMPTY, PREPARING, COMPLETING = (ClassicGroupState.EMPTY, ClassicGroupState.PREPARING_REBALANCE,
                                ClassicGroupState.COMPLETING_REBALANCE)
NOBODY = ConsumerGroupMember()
FAULTS: tuple[dict[str, Any], ...] = (  # a heartbeat of the consumer protocol with one of these is refused, whatever else it says
    {"member_id": " ", "epoch": 1}, {"member_id": "", "epoch": LEAVE_GROUP_MEMBER_EPOCH}, {"instance_id": ""}, {"rack_id": "\t"},
    {"epoch": -3}, {"epoch": LEAVE_GROUP_STATIC_MEMBER_EPOCH, "instance_id": None}, {"assignor": "unknown"},
    *({"epoch": JOINING, **one} for one in ({"owned": None}, {"owned": {(UUID(int=1), 0)}}, {"names_topics": True},
                                            {"rebalance_timeout_ms": -1}, {"topics": None, "regex": None})))


def roster(group: AnyGroup) -> dict[str, int]:
    """Return the members, each with the generation or epoch that its requests must have."""
    if isinstance(group, ClassicGroup):
        return {m.member_id: group.generation for m in group.members}
    return {m: one.current.epoch for m, one in group.state.members.items()}


def instances(group: AnyGroup) -> dict[str, str]:
    """Return the static members by instance id."""
    if isinstance(group, ClassicGroup):
        return {m.instance_id: m.member_id for m in group.members if m.instance_id is not None}
    return {one.metadata.instance_id: m for m, one in group.state.members.items() if one.metadata.instance_id is not None}


def picture(group: AnyGroup) -> object:
    """Return all of a group but its deadlines: two are equal if nothing has happened between them but signs of life."""
    if isinstance(group, ConsumerGroup):
        return group.state.draft()
    members = [replace(m, deadline=None) for m in group.members]
    return (group.state, group.generation, group.protocol, group.members.leader, members, dict(group.members.static),
            [*group.members.pending], [*group.pending_sync])


class GroupPicture:
    """A group at a moment. `due`: when a member is removed, by the name of the deadline and the member."""

    def __init__(self, group: AnyGroup) -> None:
        self.group, self.ids, self.instances, self.picture = group, roster(group), instances(group), picture(group)
        self.due: dict[tuple[str, str], float | None] = {}
        self.waiting: dict[Call, str] = {}
        if isinstance(group, ClassicGroup):
            self.state, self.generation, self.leader = group.state, group.generation, group.members.leader
            self.pending, self.unsynced = {*group.members.pending}, {*group.pending_sync}
            self.join_deadline, self.sync_deadline = group.join_deadline, group.sync_deadline
            self.patience = {m.member_id: m.rebalance_timeout_ms / 1000 for m in group.members}
            self.absent = {m.member_id for m in group.members if m.instance_id is None and m.joining is None}
            self.due = {("session", m.member_id): m.deadline for m in group.members}
            self.waiting = {call: m.member_id for m in group.members for call in (m.joining, m.syncing) if call is not None}
        else:
            self.consumers, self.pending = group.state.draft(), set[str]()
            self.due = {(name, m): due for name in ("sessions", "revocations", "awaited")
                        for m, due in getattr(group, name).items()}

    def is_sender(self, member_id: str, instance_id: str | None, epoch: int | None = None, classic: bool = True) -> bool:
        """Return whether a request is from a present member (of the classic protocol, where a consumer group has both)."""
        here = member_id in self.ids and (instance_id is None or self.instances.get(instance_id) == member_id)
        kind = isinstance(self.group, ClassicGroup) or not classic or here and self.consumers.members[member_id].is_classic
        return here and kind and epoch in (None, self.ids[member_id])

    def may_commit(self, commit: OffsetCommit, partitions: Set[TopicIdPartition]) -> bool:
        """Return whether a commit is a member's, or needs no member. In a consumer group an old epoch will do for partitions that
        the member has had since then (I-COFF-1)."""
        nameless = not commit.member_id and commit.instance_id is None
        if commit.generation < 0 and (self.group.is_empty or nameless and commit.transactional):
            return True
        if isinstance(self.group, ClassicGroup):
            return self.is_sender(commit.member_id, commit.instance_id, commit.generation)
        me = self.consumers.members.get(commit.member_id, NOBODY)
        since = {**me.assigned, **me.revoking}
        epoch, kept = commit.generation, all(p in since and since[p] <= commit.generation for p in partitions)
        return me is not NOBODY and (epoch == me.current.epoch or epoch < me.current.epoch and kept)

    def may_beat(self, beat: ConsumerGroupHeartbeat) -> bool:
        """Return whether a heartbeat of the consumer protocol is from its member, or takes a place that is free."""
        holder = self.instances.get(beat.instance_id or "")
        if beat.epoch == JOINING:
            place = self.consumers.members.get(holder or "", NOBODY)
            return place is NOBODY or place.is_classic or place.current.epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH
        if not self.is_sender(beat.member_id, beat.instance_id, classic=False):
            return False
        me = self.consumers.members[beat.member_id]
        lost = beat.epoch == me.current.previous_epoch < me.current.epoch  # the answer that had its present epoch
        knows = beat.epoch in (me.current.epoch, LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH)
        return knows or lost and beat.owned is not None and beat.owned <= me.assigned.keys()


# --- a classic group ----------------------------------------------------------------------------------------------------


def classic_event(before: GroupPicture, group: ClassicGroup, effects: list[Any], now: float, signs: Collection[str],
                  leaving: Collection[str] | None) -> None:
    """Judge an event of a classic group. `leaving`: the members that it may remove; None: time passes."""
    moves, generation = [e for e in effects if isinstance(e, Moved)], before.generation
    for move in moves:
        generation += move.state in (COMPLETING, EMPTY)
        same("I-GROUP-6", "the generation", move.generation, generation)
    same("I-GROUP-6", "the generation", group.generation, generation)
    ended = any(move.state is COMPLETING for move in moves)
    if ended:
        _joined(before, group, effects, now)
    longest = max({**before.patience, **GroupPicture(group).patience}.values(), default=0.0)
    ends = {None, before.sync_deadline, now + longest, now + group.members.rebalance_timeout_ms() / 1000}
    if group.state is PREPARING and (moves or leaving is None):
        most = max(now + max(longest, group.config.initial_rebalance_delay_ms / 1000), before.join_deadline or 0)
        that("I-GJOIN-1", (group.join_deadline or 0) <= most, f"the join phase ends at {group.join_deadline}, not until {most}")
    elif group.state is PREPARING:
        same("I-GJOIN-1", "when the join phase ends", group.join_deadline, before.join_deadline)
    that("I-GJOIN-1", group.sync_deadline in ends, f"SyncGroup is awaited until {group.sync_deadline}, not {ends}")
    renamed = {m for instance, m in before.instances.items() if instance in instances(group)}
    gone = {*before.ids, *before.pending} - {*group.members.by_id, *group.members.pending} - renamed
    if leaving is None:
        late = {m for (_, m), due in before.due.items() if due is not None and due <= now}
        unsynced = before.unsynced if (before.sync_deadline or now + 1) <= now else set()
        gone -= before.pending | late | unsynced | (before.absent if ended or before.state is PREPARING else set())
    same("I-GTIME-1", "who is removed, and neither leaves nor is late", gone - {*(leaving or ())}, set())
    answered = {before.waiting.get(e.call) for e in effects if isinstance(e, CompleteCall)}
    for m in group.members:
        idle = m.joining is m.syncing is None
        if m.is_new or idle:
            _session(before, group, m.member_id, ended or m.member_id in signs or idle and m.member_id in answered, now)


def _session(before: GroupPicture, group: ClassicGroup, member_id: str, renewed: bool, now: float) -> None:
    """Check I-GTIME-1 of a member without a waiting call."""
    m = group.members.get(member_id)
    whole, known = now + m.session_timeout_ms / 1000, ("session", member_id) in before.due
    wanted = whole if renewed else before.due["session", member_id] if known else (
        now + group.config.new_member_join_timeout_ms / 1000 if m.is_new else whole)
    same("I-GTIME-1", f"until when {member_id} may be silent", m.deadline, wanted)
    that("I-GTIME-1", m.deadline is not None and m.deadline > now - SOON, f"{member_id} is silent, and stays")


def _joined(before: GroupPicture, group: ClassicGroup, effects: list[Any], now: float) -> None:
    """Judge the end of a join phase: its time, who leads, the protocol, and the answers (I-GJOIN-1)."""
    answers = {e.result.member_id: e.result for e in effects if isinstance(e, CompleteCall)
               and isinstance(e.result, JoinResult) and e.result.error is Err.NONE}
    everybody, leader = {*group.members.by_id}, group.members.leader
    over = before.join_deadline is not None and before.join_deadline <= now
    that("I-GJOIN-1", over or everybody == {*answers} and not group.members.pending, "a join phase ends, and members are awaited")
    that("I-GJOIN-1", leader in answers and (before.leader not in answers or leader == before.leader), f"{leader} leads")
    common = group.members.common_protocols()
    votes = Counter(next(name for name, _ in m.protocols if name in common) for m in group.members)
    same("I-GJOIN-1", "the votes for the protocol", votes[group.protocol or ""], max(votes.values()))
    for m, result in answers.items():
        same("I-GJOIN-1", f"what {m} is answered", (result.generation, result.protocol_name, result.leader,
             {other: data for other, _, data in result.members}), (group.generation, group.protocol, leader, {
                 one.member_id: dict(one.protocols)[group.protocol] for one in group.members} if m == leader else {}))
    same("I-GJOIN-1", "who is to send SyncGroup", {*group.pending_sync}, everybody)


# --- a consumer group ---------------------------------------------------------------------------------------------------


def consumer_deadlines(before: GroupPicture, group: ConsumerGroup, context: GroupContext, acts: Collection[str],
                       signs: Collection[str], retried: Collection[str]) -> None:
    """Check I-GTIME-1 of every member. `acts`: the senders of the request; `signs`: the members with a new session."""
    now = context.now
    for (name, m), due in GroupPicture(group).due.items():
        if m in retried:
            continue
        one = group.state.members[m]
        classic = one.metadata.classic
        session_ms = context.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        whole = now + (session_ms if name == "sessions" else one.metadata.rebalance_timeout_ms) / 1000
        allowed = {whole} if name == "sessions" and m in signs else {before.due.get((name, m)), *([whole] if m in acts else ())}
        that("I-GTIME-1", due in allowed and due > now - SOON, f"{m} has until {due} in {name}, at {now}, and not {allowed}")
    for m, one in group.state.members.items():
        owes = one.current.state == UNREVOKED and bool(one.revoking) and not one.is_classic
        that("I-GTIME-1", owes is (m in group.revocations) or m in retried, f"{m} must give up partitions: {owes}")


def consumer_event(before: ConsumerGroupState, after: ConsumerGroupState, acts: Collection[str], old_facts: object,
                   context: GroupContext) -> None:
    """Judge what an event about the members `acts` made of a consumer group. `old_facts`: facts() when the epoch rose last."""
    for what, was, now in (("others", before.members, after.members), ("others' targets", before.targets, after.targets)):
        if what == "others" or after.target == before.target:
            same("I-GSTEP-1", f"the {what}", {m: one for m, one in now.items() if m not in acts},  # type: ignore[attr-defined]
                 {m: one for m, one in was.items() if m not in acts})  # type: ignore[attr-defined]
    rises, changed = after.epoch - before.epoch, _said(before) != _said(after) or any(
        before.topics_of(m) != after.topics_of(m) for m, one in after.members.items()
        if m in before.members and (not one.metadata.regex or one.metadata.regex in after.regexes))
    expressions = {e: one.topics for e, one in after.regexes.items()} != {
        e: before.regexes[e].topics if e in before.regexes else () for e in after.regexes}
    lost = before.regexes.keys() & after.expressions().keys() - after.regexes.keys()
    that("I-GEPOCH-1", not lost, f"what {lost} match is forgotten, and members use them")
    left = len(after.members) < len(before.members)
    that("I-GEPOCH-1", rises in (0, 1), f"the epoch rises by {rises}")
    that("I-GEPOCH-1", rises if changed or expressions or left else not rises or before.expressions() != after.expressions()
         or facts(after, context) != old_facts, f"the epoch rises by {rises}, and what changed is {changed, expressions, left}")
    if after.target != before.target:
        due = before.target.made_ms + context.settings.assignment_interval_ms <= context.wall_ms or not before.target.made_ms
        that("I-GEPOCH-1", due and after.epoch == after.target.epoch > before.target.epoch, f"a target of {after.target} is made")
        _is_fair(before, after, context)


def _said(state: ConsumerGroupState) -> Counter[tuple[str, ...]]:
    """Return the subscriptions by name, each with the number of its members."""
    return Counter(one.metadata.topics for one in state.members.values() if one.metadata.topics)


def facts(state: ConsumerGroupState, context: GroupContext) -> list[tuple[str, UUID, list[Any]]]:
    """Return what a group knows of the topics that it subscribes to: a change of it asks for a new assignment (KIP-1101)."""
    topics, racks = context.image.topics, {number: one.rack or "" for number, one in context.image.brokers.items()}
    return [(name, topics[name].id, [sorted(racks[node] for node in one.replicas if node in racks)
                                     for _, one in sorted(topics[name].partitions.items())])
            for name in sorted(state.topics()) if name in topics]


def up_to_date(state: ConsumerGroupState, old_facts: list[Any] | None, context: GroupContext) -> None:
    """Judge a group after a heartbeat: a match that is not quite new lacks no topic, and the epoch knows the topics of now."""
    last = max((one.resolved_ms for one in state.regexes.values()), default=0)
    known = {e: one.topics for e, one in state.regexes.items()}
    lacking = [e for e in state.expressions() if e not in known or {*matching(e, context.image)} - {*known[e]}]
    that("I-GEPOCH-1", not lacking or context.wall_ms <= last + REFRESH_MIN_MS, f"what {lacking} match is not known")
    if state.expressions().keys() <= state.regexes.keys():
        sizes = [[(name, id, len(racks)) for name, id, racks in of or ()] for of in (facts(state, context), old_facts)]
        same("I-GEPOCH-1", "the topics of the epoch", *sizes)


def matched_for_a_reason(before: ConsumerGroupState, after: ConsumerGroupState, context: GroupContext) -> None:
    """Check I-GEPOCH-1: expressions are matched again in other topics, or for other members, or after a long time."""
    was, now = ({e: (one.topics, one.version) for e, one in state.regexes.items()} for state in (before, after))
    old = any(one.resolved_ms + REFRESH_MAX_MS < context.wall_ms for one in before.regexes.values())
    that("I-GEPOCH-1", old or was != now, f"{now} are matched again, and nothing changed")


def _is_fair(before: ConsumerGroupState, after: ConsumerGroupState, context: GroupContext) -> None:
    """Judge a target assignment that was made just now, by the assignor that most members ask for."""
    topics, last = context.image.topics, {
        before.members[m].metadata.instance_id or m: target for m, target in before.targets.items() if m in before.members}
    votes = Counter(one.metadata.assignor for one in after.members.values() if one.metadata.assignor)
    most = [name for name, count in votes.items() if count == max(votes.values())] or [context.settings.assignors[0]]
    members = {m: MemberSubscription(
        {topics[name].id for name in after.topics_of(m) if name in topics},
        frozenset(last.get(one.metadata.instance_id or m, ())), one.metadata.instance_id) for m, one in after.members.items()}
    if len(most) == 1:
        counts = {topic.id: len(topic.partitions) for topic in topics.values()}
        fair(members, counts, {m: {*after.targets.get(m, ())} for m in members}, most[0])


def stepped(was: ConsumerGroupMember, after: ConsumerGroupState, me: str, owned: Set[TopicIdPartition] | None,
            image: MetadataImage) -> None:
    """Check I-GSTEP-1. The group itself asserts that no other member has what it gives (I-CMEMBER-1)."""
    now, goal = after.members[me], after.target.epoch
    ids = {image.topics[name].id for name in after.topics_of(me) if name in image.topics}
    target = {p for p in after.targets.get(me, ()) if p[0] in ids}
    had, has = {**was.assigned, **was.revoking}.keys(), {**now.assigned, **now.revoking}.keys()
    that("I-GSTEP-1", had <= has or owned is not None and not (had - has) & owned, "it loses what it still owns")
    that("I-GSTEP-1", now.assigned.keys() - was.assigned.keys() <= target, "it gets what it does not read, or must not have")
    same("I-GSTEP-1", "since when it has its partitions", now.assigned, {p: was.assigned.get(p, goal) for p in now.assigned})
    that("I-GSTEP-1", now.current.epoch in ((was.current.epoch,) if now.revoking else (was.current.epoch, goal)),
         f"its epoch is {now.current.epoch}, after {was.current.epoch}, and it gives up {now.revoking}")
    that("I-GSTEP-1", now.current.previous_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH, f"it goes on from where it left: {now}")
    if now.current.epoch == goal != was.current.epoch:
        missing = target - now.assigned.keys()
        that("I-GSTEP-1", missing <= after.taken(me), f"it lacks {missing}, which are free")


def may_call(state: ConsumerGroupState, member_id: str) -> bool:
    """Return whether a classic member has a step to take: to a new epoch, or to give up partitions, or to take free ones."""
    me = state.members[member_id]
    lacks = state.targets.get(member_id, frozenset()) - me.assigned.keys()
    return me.current.epoch < state.epoch or bool(me.revoking) or bool(lacks) and not lacks & state.taken(member_id)


def protocol(group: AnyGroup, member_id: str) -> tuple[str | None, str | None]:
    """Return the type and the name of the protocol that a classic member's SyncGroup may name."""
    if isinstance(group, ClassicGroup):
        return group.protocol_type, group.protocol
    classic = group.state.members[member_id].metadata.classic
    return group.protocol_type, classic and classic.protocols[0].name


def matching(expression: str, image: MetadataImage) -> tuple[str, ...]:
    """Return the topics that an expression of the small world matches: it means the same to Python."""
    return tuple(sorted(topic for topic in image.topics if re.fullmatch(expression, topic)))


# --- from one kind to the other -----------------------------------------------------------------------------------------


def rows(assignment: bytes) -> list[str]:
    """Return the partitions of an assignment by name, sorted."""
    return sorted(f"{row.topic}-{index}" for row in read_assignment(assignment).assigned_partitions for index in row.partitions)


def named(partitions: Collection[TopicIdPartition], image: MetadataImage) -> list[str]:
    """Return the names of partitions, sorted, without those of topics that are gone."""
    known = {(topic.id, index): f"{topic.name}-{index}" for topic in image.topics.values() for index in topic.partitions}
    return sorted(known[one] for one in partitions if one in known)


def embedded(group: ClassicGroup, member: ClassicGroupMember) -> Any:
    """Return the subscription of a member of a classic group, in the protocol that the group has."""
    return read_subscription(member.metadata(group.protocol) or member.protocols[0][1])[0]


def told_by_classic(group: ClassicGroup, image: MetadataImage) -> dict[str, object]:
    """Return all that the members of a classic group have said, and what they have: it must go over."""
    found: dict[str, object] = {}
    for m in group.members:
        has = [name for name in rows(m.assignment) if name.rsplit("-", 1)[0] in image.topics]
        found[m.member_id] = (m.instance_id, m.client_id, m.client_host, m.rebalance_timeout_ms, m.session_timeout_ms,
                              [*m.protocols], sorted({*embedded(group, m).topics}), has)
    return found


def told_by_consumer(state: ConsumerGroupState, partitions: Mapping[str, Collection[TopicIdPartition]],
                     image: MetadataImage) -> dict[str, object]:
    """Return the same of the classic members of a consumer group."""
    members = {m: (one.metadata, one.metadata.classic) for m, one in state.members.items() if one.metadata.classic is not None}
    return {m: (said.instance_id, said.client_id, said.client_host, said.rebalance_timeout_ms, classic.session_timeout_ms,
                [(p.name, p.metadata) for p in classic.protocols], [*said.topics],
                named(partitions.get(m, ()), image))
            for m, (said, classic) in members.items() if classic is not None}
