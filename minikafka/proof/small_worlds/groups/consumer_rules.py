"""What must be true of a consumer group after each request (KIP-848): epochs, targets, steps, answers, and times.

    rules.heartbeat(before, after, beat, context, answer)    of a member that joins or stays; `before`: group.state.draft()
    rules.step(...)                                          the same of the JoinGroup of a classic member, which has no answer
    rules.resolved(...), rules.removed(...)                  expressions were matched; members are gone
    rules.times(group, now)                                  how long each member is waited for

Owns: ConsumerRules: what the group knew of its topics when its epoch rose last, and until when each member is waited for.
Invariants: I-CORULE-1 the epoch rises with each change of a subscription or of a subscribed topic, and with nothing else.
            I-CORULE-2 a member gives up first, is given only what is free, and then reaches the target's epoch.
            I-CORULE-3 a member is removed at the end of its session, or if it did not give up, join or sync in its rebalance
              timeout; never before, and never later.
Source: KIP-848, KIP-1101 (what a change of a topic is), KIP-1251, KIP-1263 (the assignment interval); rule 848.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import replace

from minikafka.broker.groups.consumer.assignors import MemberSubscription
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, HeartbeatResponse
from minikafka.broker.groups.consumer.reconciliation import (
    UNRELEASED,
    UNREVOKED,
    ConsumerGroupMember,
    TopicIdPartition,
    unpack,
)
from minikafka.broker.groups.consumer.records import MemberMetadata, Regex
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import GroupContext
from minikafka.proof.small_worlds.groups.assignment_rules import fair
from minikafka.proof.small_worlds.groups.classic_rules import same, that
from minikafka.proof.small_worlds.groups.faults import AWAY, JOINING

NOBODY = ConsumerGroupMember()


class ConsumerRules:
    """The books of one group. Times are seconds on the monotonic clock."""

    def __init__(self) -> None:
        self.until: dict[str, float] = {}  # member -> the end of its session
        self.called: dict[str, float] = {}  # classic member -> until when it must join or sync
        self.gives_up: dict[str, float] = {}  # member of the consumer protocol -> until when it must have given up partitions
        self.facts: list[object] = []  # the subscribed topics as they were when the group's epoch rose last
        self.picture: dict[str, object] | None = None  # every topic, at the last request; a new coordinator cannot know

    def loaded(self, group: ConsumerGroup, context: GroupContext) -> None:
        """Begin with a group that was loaded: every member has its whole time again."""
        self.picture, self.until, self.called, self.gives_up = None, {}, {}, {}
        for member_id, member in group.state.members.items():
            self.renew(member_id, member, context)
            self._waits(member_id, member, context)

    # --- requests ---------------------------------------------------------------------------------------------------

    def heartbeat(self, before: ConsumerGroupState, after: ConsumerGroupState, beat: ConsumerGroupHeartbeat,
                  context: GroupContext, answer: HeartbeatResponse) -> None:
        """Judge a heartbeat of a member that joins or stays."""
        was, now = as_it_was(before, beat), after.members[beat.member_id]
        sent = {"topics": beat.topics and tuple(sorted({*beat.topics})), "regex": beat.regex, "rack_id": beat.rack_id,
                "instance_id": beat.instance_id, "assignor": beat.assignor, "client_id": beat.client_id,
                "client_host": beat.client_host,
                "rebalance_timeout_ms": None if beat.rebalance_timeout_ms == -1 else beat.rebalance_timeout_ms}
        said = {name: value for name, value in sent.items() if value is not None}
        self.step(before, after, beat, replace(was.metadata, classic=None, **said), context)
        self.renew(beat.member_id, now, context)
        self.called.pop(beat.member_id, None) if was.is_classic and beat.member_id not in before.members else None
        whole = beat.epoch == JOINING or beat.owned is not None and beat.rebalance_timeout_ms != -1 and (
            beat.topics is not None or beat.regex is not None)
        partitions = None if answer.assignment is None else {*unpack(answer.assignment)}
        news = whole or was.assigned.keys() != now.assigned.keys()
        same("the answer", (answer.member_id, answer.epoch, answer.interval_ms, partitions),
             (beat.member_id, now.current.epoch, context.settings.heartbeat_interval_ms, {*now.assigned} if news else None))

    def step(self, before: ConsumerGroupState, after: ConsumerGroupState, beat: ConsumerGroupHeartbeat, said: MemberMetadata,
             context: GroupContext) -> None:
        """Judge what a heartbeat, or a JoinGroup that says the same, makes of the group. `said`: the member's metadata now."""
        me, was = beat.member_id, as_it_was(before, beat)
        place = before.static_member(beat.instance_id) if beat.instance_id is not None and was != before.members.get(me) else None
        others = {m: one for m, one in before.members.items() if m not in (me, place)}
        same("the members", {**{m: one.metadata for m, one in others.items()}, me: said},
             {m: one.metadata for m, one in after.members.items()})
        same("what the others have", {m: after.members[m].current for m in others}, {m: one.current for m, one in others.items()})
        for book in (self.until, self.called, self.gives_up):
            if place not in (None, me):
                book.pop(place or "", None)
        self._epochs(before, after, was.metadata, said, context)
        if after.target.epoch != before.target.epoch:
            _is_fair({**before.targets, me: before.targets.get(place or me, frozenset())}, after, context)
        else:
            same("the others' targets", {m: after.targets.get(m) for m in others}, {m: before.targets.get(m) for m in others})
        _stepped(was, after, me, beat.owned, {*said.topics} != {*was.metadata.topics}, context)
        if after.members[me].current != before.members.get(me, NOBODY).current:
            self._waits(me, after.members[me], context)

    def _epochs(self, before: ConsumerGroupState, after: ConsumerGroupState, old: MemberMetadata, new: MemberMetadata,
                context: GroupContext) -> None:
        """Check I-CORULE-1, and that the target follows once the assignment interval is over."""
        known = {e: one for e, one in before.regexes.items() if e in after.expressions()}
        same("the expressions", after.regexes, known)
        another = (old.regex or "") != (new.regex or "") and (not new.regex or new.regex in known)
        seen, touched = facts(after, context), self._touched(before, context)
        raised = {*old.topics} != {*new.topics} or another or touched and seen != self.facts
        self.facts = seen if raised else self.facts
        same("the group's epoch", after.epoch, before.epoch + raised)
        interval, made = context.settings.assignment_interval_ms, before.target.made_ms
        due = after.epoch > before.target.epoch and (not interval or not made or context.wall_ms - made >= interval)
        same("the target's epoch, and when it was made", (after.target.epoch, after.target.made_ms),
             (after.epoch, context.wall_ms) if due else (before.target.epoch, made))

    def _touched(self, state: ConsumerGroupState, context: GroupContext) -> bool:
        """Return whether a subscribed topic is new, gone or larger since the last time."""
        old, self.picture = self.picture, {name: (t.id, len(t.partitions)) for name, t in context.image.topics.items()}
        return old is None or any(old.get(name) != self.picture.get(name) for name in state.topics())

    def resolved(self, before: ConsumerGroupState, after: ConsumerGroupState, context: GroupContext) -> None:
        """Judge a match of expressions with topics; these expressions mean the same to Python."""
        same("the expressions", after.regexes, {e: Regex(matching(e, context), context.image.offset, context.wall_ms)
                                                for e in before.expressions()})
        changed = any(one.topics != before.regexes.get(e, Regex((), 0, 0)).topics for e, one in after.regexes.items())
        seen = facts(after, context)
        same("the group's epoch", after.epoch, before.epoch + (changed or seen != self.facts))
        self.facts = seen if after.epoch != before.epoch else self.facts
        same("the members", after.members, before.members)

    def removed(self, before: ConsumerGroupState, gone: Collection[str], after: ConsumerGroupState,
                context: GroupContext) -> None:
        """Judge the group after members were removed: nothing of them is left, and the epoch asks for a new assignment."""
        same("the members and the targets that stay", (after.members, after.targets), (
            {m: one for m, one in before.members.items() if m not in gone},
            {m: one for m, one in before.targets.items() if m not in gone}))
        same("the expressions that stay", after.regexes, {e: r for e, r in before.regexes.items() if e in after.expressions()})
        same("the group's epoch", after.epoch, before.epoch + 1)
        self._touched(after, context)
        self.facts = facts(after, context)
        self.forget(*gone)

    def away(self, before: ConsumerGroupState, after: ConsumerGroupState, member_id: str) -> None:
        """Judge a static member that leaves for a moment: its partitions wait for it, until its session ends."""
        was, now = before.members[member_id], after.members[member_id]
        same("what it keeps", (now.current.epoch, now.assigned, now.revoking), (AWAY, dict.fromkeys(was.assigned, JOINING), {}))
        same("the others", {**after.members, member_id: was}, before.members)
        same("the group's epoch", after.epoch, before.epoch)
        self.gives_up.pop(member_id, None)

    # --- time -------------------------------------------------------------------------------------------------------

    def renew(self, member_id: str, member: ConsumerGroupMember, context: GroupContext) -> None:
        """Begin a new session of the member. A classic member chooses its length itself."""
        classic = member.metadata.classic
        length = context.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        self.until[member_id] = context.now + length / 1000

    def _waits(self, member_id: str, member: ConsumerGroupMember, context: GroupContext) -> None:
        """Note until when a member must give up partitions. A classic member is called back instead."""
        self.gives_up.pop(member_id, None)
        if member.current.state == UNREVOKED and member.revoking and not member.is_classic:
            self.gives_up[member_id] = context.now + member.metadata.rebalance_timeout_ms / 1000

    def call_back(self, member_id: str, member: ConsumerGroupMember, now: float) -> None:
        """Note that a classic member is called to join: it has its rebalance timeout from the first call on."""
        self.called.setdefault(member_id, now + member.metadata.rebalance_timeout_ms / 1000)

    def forget(self, *member_ids: str) -> None:
        for book in (self.until, self.called, self.gives_up):
            for member_id in member_ids:
                book.pop(member_id, None)

    def ends(self, member_id: str) -> list[float]:
        """Return the times at which a member will be removed, sorted; the first counts."""
        return sorted(book[member_id] for book in (self.until, self.called, self.gives_up) if member_id in book)

    def times(self, group: ConsumerGroup, now: float) -> None:
        """Check I-CORULE-3: nobody stays too long, and the group wakes up for the next one."""
        ends = {m: self.ends(m) for m in group.state.members}
        found = {m: sorted(book[m] for book in (group.sessions, group.awaited, group.revocations) if m in book) for m in ends}
        same("until when members are waited for", found, ends)
        same("who should have been removed", [m for m, times in ends.items() if min(times) < now - 1e-6], [])
        if ends:
            same("when it wakes up", group.next_deadline(), min(min(times) for times in ends.values()))


def as_it_was(before: ConsumerGroupState, beat: ConsumerGroupHeartbeat) -> ConsumerGroupMember:
    """Return the member before its heartbeat; a static member that comes back has the place of its predecessor, in epoch 0."""
    known = before.static_member(beat.instance_id) if beat.instance_id is not None else None
    if beat.epoch == JOINING and known is not None:
        old = before.members[known]
        return ConsumerGroupMember(old.metadata, replace(old.current, epoch=JOINING, previous_epoch=JOINING))
    return before.members.get(beat.member_id, NOBODY)


def _is_fair(last: Mapping[str, Set[TopicIdPartition]], after: ConsumerGroupState, context: GroupContext) -> None:
    """Judge a target assignment that was made just now, by the assignor that most members ask for."""
    topics = context.image.topics
    votes = Counter(one.metadata.assignor for one in after.members.values() if one.metadata.assignor)
    most = [name for name, count in votes.items() if count == max(votes.values())] or [context.settings.assignors[0]]
    members = {m: MemberSubscription({topics[name].id for name in after.topics_of(m) if name in topics}, last.get(m, frozenset()),
                                     one.metadata.instance_id) for m, one in after.members.items()}
    if len(most) == 1:
        counts = {topic.id: len(topic.partitions) for topic in topics.values()}
        fair(members, counts, {m: {*after.targets.get(m, ())} for m in members}, most[0])


def _stepped(was: ConsumerGroupMember, after: ConsumerGroupState, me: str, owned: Set[TopicIdPartition] | None,
             resubscribed: bool, context: GroupContext) -> None:
    """Check I-CORULE-2. That nobody else has what it is given, the group asserts itself (I-CMEMBER-1)."""
    now, goal = after.members[me], after.target.epoch
    ids = {context.image.topics[name].id for name in after.topics_of(me) if name in context.image.topics}
    target = {p for p in after.targets.get(me, ()) if p[0] in ids}
    lost, new = was.has.keys() - now.has.keys(), now.assigned.keys() - was.assigned.keys()
    that(not lost or owned is not None and not lost & owned, "it loses what it still owns")
    that(new <= target, "it gets what is not in its target")
    same("since when it has its partitions", now.assigned, {p: was.assigned.get(p, goal) for p in now.assigned})
    that(not resubscribed or all(topic in ids for topic, _ in now.assigned), "it keeps a topic that it does not subscribe to now")
    surplus = {*was.revoking} | (was.assigned.keys() - target)
    ready = not surplus or owned is not None and not surplus & owned
    if now.current.state == UNREVOKED:
        that(now.revoking and now.current.epoch == was.current.epoch, "it gives nothing up, or is already further")
    elif now.current.epoch == goal != was.current.epoch or was.current.state == UNRELEASED and ready:
        missing = target - now.assigned.keys()
        same("what it lacks", missing, target & after.taken(me))
        same("its state", (now.current.state, {*now.revoking}), (UNRELEASED if missing else 0, set()))
    same("its epoch", now.current.epoch, goal if ready or now.current.epoch == goal else was.current.epoch)


def matching(expression: str, context: GroupContext) -> tuple[str, ...]:
    return tuple(sorted(topic for topic in context.image.topics if re.fullmatch(expression, topic)))


def facts(state: ConsumerGroupState, context: GroupContext) -> list[object]:
    """Return what a group knows of the topics that it subscribes to: a change of it asks for a new assignment."""
    topics, racks = context.image.topics, {number: one.rack or "" for number, one in context.image.brokers.items()}
    return [(name, topics[name].id, [sorted(racks[node] for node in one.replicas if node in racks)
                                     for _, one in sorted(topics[name].partitions.items())])
            for name in sorted(state.topics()) if name in topics]


def must_resolve(state: ConsumerGroupState, context: GroupContext) -> bool:
    """Return whether expressions must be matched: after ten seconds if expressions or topics are new, else after ten minutes."""
    known, used = state.regexes, {*state.expressions()}
    age = context.wall_ms - max((one.resolved_ms for one in known.values()), default=0)
    news = used != {*known} or context.topics_since > max((one.version for one in known.values()), default=-2)
    return bool(used) and age > (10_000 if news else 600_000)


def described(group: ConsumerGroup, context: GroupContext) -> None:
    """Check what the group tells administrators and the trace."""
    state, topics = group.state, {topic.id: topic.name for topic in context.image.topics.values()}
    there = all(one.current.state == 0 and one.current.epoch == state.target.epoch for one in state.members.values())
    phase = "Assigning" if state.target.epoch < state.epoch else "Stable" if there else "Reconciling"
    same("its state", group.state_name, phase if state.members else "Empty")
    same("whether it may be deleted", (group.is_empty, group.check_delete().name == "NONE"), (not state.members,) * 2)
    read = {name for one in state.members.values() for name in one.metadata.topics} | {
        name for one in state.members.values() for name in state.regexes.get(one.metadata.regex or "", Regex((), 0, 0)).topics}
    found = {topic for topic in (*context.image.topics, "none") if group.reads(topic)}
    same("what it reads", found, read & {*context.image.topics})
    same("what the trace has", group.settled_fields(context.image), {
        "names": {m: one.metadata.client_id if one.metadata.instance_id is None else one.metadata.instance_id
                  for m, one in state.members.items()},
        "assignment": {m: sorted(f"{topics[topic]}-{index}" for topic, index in one.assigned if topic in topics)
                       for m, one in state.members.items()}})
