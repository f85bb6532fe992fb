"""What the rules of KIP-848 say of each answer of a consumer group: asked a second time, from outside, in other words.

    rules.heartbeat(before, request, context, outcome, group)    `before`: group.state.draft(); outcome: the response or the error
    rules.leave(...), rules.commit(...), rules.fetch(...)        the same for the other requests

Raises GroupFallen where the group does what no rule allows, or leaves out what a rule demands.

Owns: the judgement of the requests of a member of the consumer protocol.
Source: KIP-848, KIP-1251; rule 848.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, HeartbeatResponse
from minikafka.broker.groups.consumer.reconciliation import ConsumerGroupMember, TopicIdPartition, unpack
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import ConsumerGroupSettings, GroupContext, OffsetCommit
from minikafka.protocol.errors import Err
from minikafka.sim.groups.classic_seen import same, that

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2  # the states of a member, as its record has them
JOINING, LEAVING, AWAY = 0, -1, -2
Outcome = HeartbeatResponse | Err


class ConsumerRules:
    """The judge of one group, with its own book of until when members must have given up partitions."""

    def __init__(self) -> None:
        self.revoke_by: dict[str, float] = {}

    def heartbeat(self, before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext, outcome: Outcome,
                  group: ConsumerGroup) -> None:
        """Judge a heartbeat of a member that joins or stays."""
        error = _refusal(before, request, context)
        same("the error", outcome if isinstance(outcome, Err) else Err.NONE, error)
        if isinstance(outcome, Err):
            same("a refusal changes nothing", group.state, before)
            return
        self._metadata(before, group.state, request)
        self._epochs(before, group.state, request, context)
        self._step(before, group.state, request, context)
        self._response(before, group.state, request, context, outcome)
        self._deadlines(before, group, request, context)

    def _metadata(self, before: ConsumerGroupState, after: ConsumerGroupState, request: ConsumerGroupHeartbeat) -> None:
        """Check that a field that is left out keeps its value."""
        old, new = _as_it_was(before, request).metadata, after.members[request.member_id].metadata
        sent = {"topics": request.topics and tuple(sorted({*request.topics})), "regex": request.regex, "rack_id": request.rack_id,
                "instance_id": request.instance_id, "assignor": request.assignor,
                "rebalance_timeout_ms": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms}
        for name, value in sent.items():
            same(name, getattr(new, name), getattr(old, name) if value is None else value)
        others = {m: one.metadata for m, one in after.members.items() if m != request.member_id}
        gone = before.static_member(request.instance_id) if request.instance_id is not None else None
        same("the others' metadata", others, {
            m: one.metadata for m, one in before.members.items() if m not in (request.member_id, gone)})

    def _epochs(self, before: ConsumerGroupState, after: ConsumerGroupState, request: ConsumerGroupHeartbeat,
                context: GroupContext) -> None:
        """Check what raises the group's epoch, and what target assignment follows from it."""
        old, new = _as_it_was(before, request).metadata, after.members[request.member_id].metadata
        resolved = not new.regex or new.regex in after.regexes
        wanted = {*old.topics} != {*new.topics} or (old.regex or "") != (new.regex or "") and resolved
        raised = after.epoch - before.epoch
        that(raised in ((1, 2) if wanted else (0, 1, 2)), f"epoch {after.epoch} follows {before.epoch}, wanted: {wanted}")
        if after.regexes != before.regexes:  # they were resolved after the heartbeat, which may have raised the epoch once more
            for expression, resolved in after.regexes.items():
                if resolved != before.regexes.get(expression):
                    same(expression, resolved.topics, matching(expression, context))
            return
        that(raised < 2, "the epoch rises twice")
        settings = context.settings
        over = before.target.made_ms + settings.assignment_interval_ms <= context.wall_ms
        free = before.target.made_ms == 0 or settings.assignment_interval_ms == 0 or over
        due = after.epoch > before.target.epoch and free
        same("the target's epoch", after.target.epoch, after.epoch if due else before.target.epoch)
        if due:
            same("when the target was made", after.target.made_ms, context.wall_ms)
            _fair(after, context)

    def _step(self, before: ConsumerGroupState, after: ConsumerGroupState, request: ConsumerGroupHeartbeat,
              context: GroupContext) -> None:
        """Check the member's step: it gives up first, gets only what is free, and then reaches the epoch."""
        was, now = _as_it_was(before, request), after.members[request.member_id]
        ids = {context.image.topics[name].id for name in after.topics_of(request.member_id) if name in context.image.topics}
        target = {p for p in after.targets.get(request.member_id, ()) if p[0] in ids}
        taken = {p for m, one in after.members.items() if m != request.member_id for p in one.has}
        new = now.assigned.keys() - was.assigned.keys()
        that(not new & taken, "it gets what another member has")
        that(new <= target, "it gets what is not in its target")
        lost = was.has.keys() - now.has.keys()
        that(not lost or request.owned is not None and not lost & request.owned, "it loses what it still owns")
        that(now.current.epoch in (was.current.epoch, after.target.epoch), "its epoch is none of the two")
        for partition in now.assigned.keys() & was.assigned.keys():
            same("since when it has the partition", now.assigned[partition], was.assigned[partition])
        that(all(now.assigned[p] == after.target.epoch for p in new), "it has a new partition since another epoch")
        if now.current.state == UNREVOKED:
            that(now.revoking and now.current.epoch == was.current.epoch, "it gives nothing up, or is already further")
        elif now.current != was.current or now.current.epoch == after.target.epoch:
            that(not now.revoking, "it has something to give up")
            missing = target - now.assigned.keys()
            if now.current.epoch == after.target.epoch != was.current.epoch and after.regexes == before.regexes:
                same("what it lacks", missing, target & taken)
                same("its state", now.current.state, UNRELEASED if missing else STABLE)
        if after.regexes == before.regexes:  # else the step was taken before they were resolved
            self._moves(was, now, request, after, target)

    def _moves(self, was: ConsumerGroupMember, now: ConsumerGroupMember, request: ConsumerGroupHeartbeat,
               after: ConsumerGroupState, target: set[TopicIdPartition]) -> None:
        """Check that a member which has nothing to give up, or has given it up, does not stand still."""
        surplus = {*was.revoking} | (was.assigned.keys() - target)
        ready = not surplus or request.owned is not None and not surplus & request.owned
        if ready and was.current.epoch != after.target.epoch:
            same("the epoch of a member that is ready", now.current.epoch, after.target.epoch)
        if was.current.state == UNRELEASED and was.current.epoch == after.target.epoch and ready:
            same("what it takes", now.assigned.keys() | {p for p in target if p not in now.assigned}, {*target})

    def _response(self, before: ConsumerGroupState, after: ConsumerGroupState, request: ConsumerGroupHeartbeat,
                  context: GroupContext, response: HeartbeatResponse) -> None:
        was, now = _as_it_was(before, request), after.members[request.member_id]
        complete = request.owned is not None and request.rebalance_timeout_ms != -1 and (
            request.topics is not None or request.regex is not None)
        told = None if response.assignment is None else {*unpack(response.assignment)}
        same("the member and its epoch", (response.member_id, response.epoch, response.interval_ms),
             (request.member_id, now.current.epoch, context.settings.heartbeat_interval_ms))
        if request.epoch == JOINING or complete or was.assigned.keys() != now.assigned.keys():
            same("the assignment", told, {*now.assigned})
        else:
            same("the assignment", told, None)

    def _deadlines(self, before: ConsumerGroupState, group: ConsumerGroup, request: ConsumerGroupHeartbeat,
                   context: GroupContext) -> None:
        member_id, member = request.member_id, group.state.members[request.member_id]
        same("its session", group.sessions.get(member_id), context.now + context.settings.session_timeout_ms / 1000)
        if member.current.state != UNREVOKED:
            self.revoke_by.pop(member_id, None)
        elif member_id not in before.members or member.current != before.members[member_id].current:
            self.revoke_by[member_id] = context.now + member.metadata.rebalance_timeout_ms / 1000
        same("until when it must give up", group.revocations.get(member_id), self.revoke_by.get(member_id))

    # --- the others -----------------------------------------------------------------------------------------------------

    def leave(self, before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext, outcome: Outcome,
              group: ConsumerGroup) -> None:
        """Judge a heartbeat with epoch -1 or -2."""
        after, known = group.state, before.static_member(request.instance_id) if request.instance_id is not None else None
        if request.instance_id is not None and known not in (None, request.member_id):
            error = Err.FENCED_INSTANCE_ID
        else:
            there = known is not None if request.instance_id is not None else request.member_id in before.members
            error = Err.NONE if there else Err.UNKNOWN_MEMBER_ID
        same("the error", outcome if isinstance(outcome, Err) else Err.NONE, error)
        if isinstance(outcome, Err):
            same("a refusal changes nothing", after, before)
        elif request.instance_id is not None and request.epoch == AWAY:
            away = after.members[request.member_id]
            same("the epoch of a member that will come back", away.current.epoch, AWAY)
            same("what it keeps", {*away.assigned}, {*before.members[request.member_id].assigned})
            same("the group's epoch", after.epoch, before.epoch)
        else:
            same("the members", [*after.members], [m for m in before.members if m != request.member_id])
            same("the group's epoch", after.epoch, before.epoch + 1)
            that(request.member_id not in group.sessions and request.member_id not in group.revocations, "it is waited for")

    def commit(self, state: ConsumerGroupState, commit: OffsetCommit, partitions: Iterable[TopicIdPartition], told: Err) -> None:
        """Judge a commit by a member of the consumer protocol, in version 9 or later (rule 848)."""
        asked, epoch = [*partitions], commit.generation
        member = state.members.get(commit.member_id)
        if epoch < 0 and (not state.members or commit.transactional and not commit.member_id and commit.instance_id is None):
            error = Err.NONE
        elif member is None:
            error = Err.UNKNOWN_MEMBER_ID
        elif epoch == member.current.epoch or epoch < member.current.epoch and all(
                epoch >= member.has.get(one, 1 << 31) for one in asked):
            error = Err.NONE
        else:
            error = Err.ILLEGAL_GENERATION if commit.transactional else Err.STALE_MEMBER_EPOCH
        same("the answer to a commit", told, error)

    def fetch(self, state: ConsumerGroupState, member_id: str | None, epoch: int, told: Err) -> None:
        """Judge a request for offsets."""
        member = state.members.get(member_id or "")
        if member_id is None and epoch < 0:
            error = Err.NONE
        elif member is None:
            error = Err.UNKNOWN_MEMBER_ID
        else:
            error = Err.NONE if epoch == member.current.epoch else Err.STALE_MEMBER_EPOCH
        same("the answer to a request for offsets", told, error)


def valid(request: ConsumerGroupHeartbeat, version: int, settings: ConsumerGroupSettings) -> Err:
    """Return the error of a request that is invalid in every group, whatever its name; NONE for a valid one."""
    blank = [value for value in (request.instance_id, request.rack_id) if value is not None and not value.strip()]
    needs_id = version >= 1 or request.epoch == LEAVING or request.epoch > JOINING
    if blank or needs_id and not request.member_id.strip():
        return Err.INVALID_REQUEST
    if request.epoch == JOINING:
        silent = request.topics is None and request.regex is None
        if request.rebalance_timeout_ms == -1 or request.owned is None or request.owned or request.names_topics or silent:
            return Err.INVALID_REQUEST
    elif request.epoch < AWAY or request.epoch == AWAY and request.instance_id is None:
        return Err.INVALID_REQUEST
    return Err.NONE if request.assignor in (None, *settings.assignors) else Err.UNSUPPORTED_ASSIGNOR


def matching(expression: str, context: GroupContext) -> tuple[str, ...]:
    """Return the topics that an expression matches; these expressions mean the same to Python."""
    return tuple(sorted(topic for topic in context.image.topics if re.fullmatch(expression, topic)))


def _as_it_was(before: ConsumerGroupState, request: ConsumerGroupHeartbeat) -> ConsumerGroupMember:
    """Return the member before its heartbeat; a static member that comes back has the place of its predecessor, in epoch 0."""
    known = before.static_member(request.instance_id) if request.instance_id is not None else None
    if request.epoch == JOINING and known is not None:
        old = before.members[known]
        return ConsumerGroupMember(old.metadata, replace(old.current, epoch=JOINING, previous_epoch=JOINING))
    return before.members.get(request.member_id, ConsumerGroupMember())


def _refusal(before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext) -> Err:
    mine, known = before.members.get(request.member_id), None
    if mine is None and len(before.members) >= context.settings.max_size:
        return Err.GROUP_MAX_SIZE_REACHED
    if request.instance_id is not None:
        known = before.static_member(request.instance_id)
        if request.epoch == JOINING:
            back = known is None or before.members[known].current.epoch == AWAY
            return Err.NONE if back else Err.UNRELEASED_INSTANCE_ID
        if known != request.member_id:
            return Err.UNKNOWN_MEMBER_ID if known is None else Err.FENCED_INSTANCE_ID
    if mine is None:
        return Err.NONE if request.epoch == JOINING else Err.UNKNOWN_MEMBER_ID
    if request.epoch in (JOINING, mine.current.epoch):
        return Err.NONE
    late = request.epoch == mine.current.previous_epoch and request.epoch < mine.current.epoch
    return Err.NONE if late and request.owned is not None and {*request.owned} <= {*mine.assigned} else Err.FENCED_MEMBER_EPOCH


def _fair(state: ConsumerGroupState, context: GroupContext) -> None:
    """Check a target assignment: every partition of a subscribed topic has one member, and equals have equal shares."""
    image = context.image
    known = {m: {image.topics[name].id for name in state.topics_of(m) if name in image.topics} for m in state.members}
    held = Counter(p for m in state.members for p in state.targets.get(m, ()))
    wanted = {(topic.id, index) for topic in image.topics.values() for index in topic.partitions
              if any(topic.id in ids for ids in known.values())}
    same("the partitions that have a member", held, Counter(wanted))
    for m in state.members:
        that(all(topic in known[m] for topic, _ in state.targets.get(m, ())), f"{m} is given what it does not subscribe to")
    if len({frozenset(ids) for ids in known.values()}) == 1 and state.assignor(context.settings.assignors[0]) == "uniform":
        shares = [len(state.targets.get(m, ())) for m in state.members]
        that(max(shares) - min(shares) <= 1, f"equal members get {shares}")
