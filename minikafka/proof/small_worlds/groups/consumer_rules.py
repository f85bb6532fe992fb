"""What the rules of KIP-848 say of each answer of a consumer group: asked a second time, from outside, in other words.

    rules.heartbeat(before, request, context, outcome, group)    `before`: group.state.draft(); outcome: the response or the error
    rules.leave(...), rules.commit(...), rules.fetch(...)        the same for the other requests

Raises RuleFallen where the group does what no rule allows, or leaves out what a rule demands.

Owns: the judgement of the requests of a member of the consumer protocol.
Source: KIP-848, KIP-1251; rule 848.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from minikafka.broker.groups.consumer.assignors import MemberSubscription
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, HeartbeatResponse
from minikafka.broker.groups.consumer.reconciliation import ConsumerGroupMember, TopicIdPartition, unpack
from minikafka.broker.groups.consumer.records import Regex
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import GroupContext, OffsetCommit
from minikafka.proof.small_worlds.groups.assignment_rules import fair, voted
from minikafka.proof.small_worlds.groups.classic_seen import same, that
from minikafka.proof.small_worlds.groups.consumer_facts import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    expressions,
    facts,
    matching,
    may_assign,
    must_resolve,
    session_s,
    subscribed,
    unchanged,
)
from minikafka.proof.small_worlds.groups.consumer_refusals import AWAY, JOINING, commit_error, fetch_error, refusal
from minikafka.protocol.errors import Err

Outcome = HeartbeatResponse | Err


class ConsumerRules:
    """The judge of one group, with its own book of until when members must have given up partitions."""

    def __init__(self) -> None:
        self.revoke_by: dict[str, float] = {}
        self.facts: list[object] = []  # the subscribed topics as they were when the group's epoch rose last
        self.picture: dict[str, object] | None = None  # every topic, at the last request

    def begun(self, group: ConsumerGroup, context: GroupContext) -> None:
        """Judge a coordinator that has read the group from the log: every member has its whole time again."""
        members, self.picture = group.state.members, None
        same("the sessions", group.sessions, {m: context.now + session_s(one, context) for m, one in members.items()})
        self.revoke_by = {m: context.now + one.metadata.rebalance_timeout_ms / 1000 for m, one in members.items()
                          if one.revoking and one.metadata.classic is None}
        same("until when they must give up", group.revocations, self.revoke_by)

    def heartbeat(self, before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext, outcome: Outcome,
                  group: ConsumerGroup) -> None:
        """Judge a heartbeat of a member that joins or stays."""
        error = refusal(before, request, context)
        same("the error", outcome if isinstance(outcome, Err) else Err.NONE, error)
        if isinstance(outcome, Err):
            unchanged(group.state, before)
            return
        self._metadata(before, group.state, request)
        self.step(before, group.state, request, context)
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
        """Check what raises the group's epoch, once and, if expressions are resolved after it, perhaps once more."""
        old, new = _as_it_was(before, request).metadata, after.members[request.member_id].metadata
        known = {e: one for e, one in before.regexes.items() if e in expressions(after)}
        another = (old.regex or "") != (new.regex or "")
        wanted = {*old.topics} != {*new.topics} or another and (not new.regex or new.regex in known)
        raised = self._touched(before, context) and facts(after, known, context) != self.facts or wanted
        if raised:
            self.facts = facts(after, known, context)
        again = self._resolved(known, after, context)
        same("the group's epoch", after.epoch, before.epoch + raised + again)
        due = before.epoch + raised > before.target.epoch and may_assign(before, context)
        same("the target's epoch", after.target.epoch, before.epoch + raised if due else before.target.epoch)
        same("when the target was made", after.target.made_ms, context.wall_ms if due else before.target.made_ms)
        if due and after.regexes == known:
            _fair(before, after, context, request)
        if not due:
            stays = {m: one for m, one in before.targets.items() if m in after.members and m != request.member_id}
            same("the others' targets", {m: after.targets.get(m) for m in stays}, stays)

    def _touched(self, state: ConsumerGroupState, context: GroupContext) -> bool:
        """Return whether a subscribed topic is new, gone or larger since the last time; a new coordinator cannot know."""
        old, self.picture = self.picture, {name: (t.id, len(t.partitions)) for name, t in context.image.topics.items()}
        return old is None or any(old.get(name) != self.picture.get(name) for name in subscribed(state, state.regexes))

    def _resolved(self, known: dict[str, Regex], after: ConsumerGroupState, context: GroupContext) -> bool:
        """Check when expressions are matched again, and to what; return whether that raises the epoch."""
        due = must_resolve(known, after, context)
        same("whether expressions were resolved", after.regexes != known, due)
        if not due:
            return False
        same("the expressions", after.regexes, {e: Regex(matching(e, context), context.image.offset, context.wall_ms)
                                                for e in expressions(after)})
        empty = Regex((), 0, 0)
        changed = any(one.topics != known.get(e, empty).topics for e, one in after.regexes.items())
        seen = facts(after, after.regexes, context)
        if changed or seen != self.facts:
            self.facts = seen
            return True
        return False

    def step(self, before: ConsumerGroupState, after: ConsumerGroupState, request: ConsumerGroupHeartbeat,
             context: GroupContext) -> None:
        """Check the epochs, and the member's step: it gives up first, gets only what is free, and then reaches the epoch."""
        self._epochs(before, after, request, context)
        was, now = _as_it_was(before, request), after.members[request.member_id]
        ids = {context.image.topics[name].id for name in after.topics_of(request.member_id) if name in context.image.topics}
        target = {p for p in after.targets.get(request.member_id, ()) if p[0] in ids}
        taken = {p for m, one in after.members.items() if m != request.member_id for p in one.has}
        new = now.assigned.keys() - was.assigned.keys()
        that(not new & taken, "it gets what another member has")
        if request.topics is not None and {*request.topics} != {*was.metadata.topics}:
            that(all(topic in ids for topic, _ in now.assigned), "it keeps a topic that it does not subscribe to now")
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
        member_id = request.member_id
        same("its session", group.sessions.get(member_id), context.now + context.settings.session_timeout_ms / 1000)
        self.gives_up(before, group, member_id, context.now)
        for other in before.members:
            if other not in group.state.members:
                self.revoke_by.pop(other, None)
        same("when others must have given up", group.revocations, self.revoke_by)
        same("until when it must give up", group.revocations.get(member_id), self.revoke_by.get(member_id))

    def gives_up(self, before: ConsumerGroupState, group: ConsumerGroup, member_id: str, now: float) -> None:
        """Note until when a member must give up partitions: from its step on. A classic member is called back instead."""
        member, old = group.state.members[member_id], before.members.get(member_id)
        if old is not None and member.current == old.current:
            return
        self.revoke_by.pop(member_id, None)
        if member.current.state == UNREVOKED and member.metadata.classic is None:
            self.revoke_by[member_id] = now + member.metadata.rebalance_timeout_ms / 1000

    # --- the others -----------------------------------------------------------------------------------------------------

    def leave(self, before: ConsumerGroupState, request: ConsumerGroupHeartbeat, context: GroupContext, outcome: Outcome,
              group: ConsumerGroup, stays: bool = True) -> None:
        """Judge a heartbeat with epoch -1 or -2. `stays`: the group is still a consumer group after it."""
        after, known = group.state, before.static_member(request.instance_id) if request.instance_id is not None else None
        if request.instance_id is not None and known not in (None, request.member_id):
            error = Err.FENCED_INSTANCE_ID
        else:
            there = known is not None if request.instance_id is not None else request.member_id in before.members
            error = Err.NONE if there else Err.UNKNOWN_MEMBER_ID
        same("the error", outcome if isinstance(outcome, Err) else Err.NONE, error)
        if isinstance(outcome, Err):
            unchanged(after, before)
        elif request.instance_id is not None and request.epoch == AWAY:
            away = after.members[request.member_id]
            same("the epoch of a member that will come back", away.current.epoch, AWAY)
            same("what it keeps", away.assigned, dict.fromkeys(before.members[request.member_id].assigned, JOINING))
            same("what it must give up", away.revoking, {})
            same("the group's epoch", after.epoch, before.epoch)
            self.revoke_by.pop(request.member_id, None)
            same("until when it is waited for", group.revocations.get(request.member_id), None)
        else:
            same("the answer", (outcome.member_id, outcome.epoch, outcome.assignment), (request.member_id, request.epoch, None))
            if stays:
                same("the members", [*after.members], [m for m in before.members if m != request.member_id])
                that(request.member_id not in group.sessions and request.member_id not in group.revocations, "it is waited for")

    def commit(self, state: ConsumerGroupState, commit: OffsetCommit, partitions: Iterable[TopicIdPartition], told: Err) -> None:
        """Judge a commit."""
        same("the answer to a commit", told, commit_error(state, commit, partitions))

    def fetch(self, state: ConsumerGroupState, member_id: str | None, epoch: int, told: Err) -> None:
        """Judge a request for offsets."""
        same("the answer to a request for offsets", told, fetch_error(state, member_id, epoch))

    def removed(self, before: ConsumerGroupState, gone: Collection[str], after: ConsumerGroupState,
                context: GroupContext) -> None:
        """Judge the group after members were removed: nothing of them is left, and the epoch asks for a new assignment."""
        same("the members that stay", after.members, {m: one for m, one in before.members.items() if m not in gone})
        same("the targets that stay", after.targets, {m: one for m, one in before.targets.items() if m not in gone})
        used = {one.metadata.regex for one in after.members.values()}
        same("the expressions that stay", after.regexes, {e: one for e, one in before.regexes.items() if e in used})
        same("the group's epoch", after.epoch, before.epoch + 1)
        self._touched(after, context)
        self.facts = facts(after, after.regexes, context)
        for member_id in gone:
            self.revoke_by.pop(member_id, None)


def _as_it_was(before: ConsumerGroupState, request: ConsumerGroupHeartbeat) -> ConsumerGroupMember:
    """Return the member before its heartbeat; a static member that comes back has the place of its predecessor, in epoch 0."""
    known = before.static_member(request.instance_id) if request.instance_id is not None else None
    if request.epoch == JOINING and known is not None:
        old = before.members[known]
        return ConsumerGroupMember(old.metadata, replace(old.current, epoch=JOINING, previous_epoch=JOINING))
    return before.members.get(request.member_id, ConsumerGroupMember())


def _fair(before: ConsumerGroupState, after: ConsumerGroupState, context: GroupContext, request: ConsumerGroupHeartbeat) -> None:
    """Judge a target assignment made just now; a static member that came back has the target of its predecessor."""
    topics = context.image.topics
    gone = next((m for m in before.members if m not in after.members), None)
    members = {m: MemberSubscription({topics[name].id for name in after.topics_of(m) if name in topics},
                                     before.targets.get(m if m != request.member_id or gone is None else gone, frozenset()),
                                     one.metadata.instance_id) for m, one in after.members.items()}
    names = voted(after, context.settings.assignors[0])
    if len(names) == 1:
        counts = {topic.id: len(topic.partitions) for topic in topics.values()}
        fair(members, counts, {m: {*after.targets.get(m, ())} for m in members}, *names)
