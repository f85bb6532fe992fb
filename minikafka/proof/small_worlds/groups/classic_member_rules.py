"""What the rules say of a classic member inside a consumer group: each answer asked a second time, in other words.

    rules = ClassicMemberRules(ConsumerRules())
    rules.join(before, request, context, answer, group)      `before`: group.state.draft(); the same for sync, beat, leave

Kafka's picture of such a member: its generation is its member epoch, JoinGroup is a heartbeat with every field, SyncGroup gives
the partitions, and Heartbeat calls it back whenever there is something to do for it.

Owns: the judgement of the four requests, and a book of until when each member is waited for.
Invariants: I-CMRULE-1 a member is removed at the end of its own session, or when it was called and neither joined nor synced
              within its own rebalance timeout; never before, and never later.
Source: GroupMetadataManager.classicGroup*ToConsumerGroup; KIP-848, KIP-345.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.broker.groups.classic.embedded_protocol import read_assignment, read_subscription
from minikafka.broker.groups.classic.messages import Join, JoinResult, Leaving, Sync, SyncResult
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat
from minikafka.broker.groups.consumer.reconciliation import ConsumerGroupMember, TopicIdPartition
from minikafka.broker.groups.consumer.records import ClassicMetadata, ClassicProtocol, MemberMetadata
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import GroupContext
from minikafka.broker.metadata.image import MetadataImage
from minikafka.proof.small_worlds.groups.classic_seen import same, that
from minikafka.proof.small_worlds.groups.consumer_facts import UNRELEASED, UNREVOKED, session_s, unchanged
from minikafka.proof.small_worlds.groups.consumer_rules import ConsumerRules
from minikafka.protocol.errors import Err

NOBODY = ConsumerGroupMember()


class ClassicMemberRules:
    """The judge of the classic members of one group. `consumers`: the judge of the others; both judge a step alike."""

    def __init__(self, consumers: ConsumerRules) -> None:
        self.consumers = consumers
        self.sessions: dict[str, float] = {}  # member -> the end of its session, of members of both protocols
        self.called: dict[str, float] = {}  # classic member -> until when it must join or sync

    def begun(self, group: ConsumerGroup, context: GroupContext) -> None:
        """Judge a coordinator that has read the group from the log."""
        self.consumers.begun(group, context)
        self.sessions, self.called = dict(group.sessions), {}

    # --- JoinGroup ------------------------------------------------------------------------------------------------------

    def join(self, before: ConsumerGroupState, request: Join, context: GroupContext, answer: JoinResult,
             group: ConsumerGroup) -> None:
        """Judge a JoinGroup."""
        error = self._join_error(before, request, context)
        same("the error", answer.error, error)
        if error is Err.MEMBER_ID_REQUIRED:
            that(answer.member_id and answer.member_id not in before.members, "the id that it is given is not its own")
        if error is not Err.NONE:
            unchanged(group.state, before)
            return
        known = before.static_member(request.instance_id) if request.instance_id is not None else None
        me, now = answer.member_id, context.now
        that(me == request.member_id or not request.member_id and me and me not in before.members, f"it joins as {me!r}")
        old = before.members.get(request.member_id or known or "", NOBODY)
        same("the members", {*group.state.members}, {*before.members} - ({known} if not request.member_id else set()) | {me})
        same("what it said", group.state.members[me].metadata, _said(request, old.metadata))
        same("the answer", answer, JoinResult(Err.NONE, me, group.state.members[me].current.epoch, "consumer",
                                              request.protocols[0][0]))
        beat = _as_heartbeat(request, me, old, context.image)
        self.consumers.step(before, group.state, beat, context)
        self.consumers.gives_up(before, group, me, now)
        if known is not None and known != me:
            self.forget(known)
        self.sessions[me] = now + request.session_timeout_ms / 1000
        self.called[me] = now + request.rebalance_timeout_ms / 1000

    def _join_error(self, before: ConsumerGroupState, request: Join, context: GroupContext) -> Err:
        names = {name for name, _ in request.protocols}
        classic = [{one.name for one in member.metadata.classic.protocols} for member in before.members.values()
                   if member.metadata.classic is not None]
        if request.member_id not in before.members and len(before.members) >= context.settings.max_size:
            return Err.GROUP_MAX_SIZE_REACHED
        if request.protocol_type != "consumer" or not names.intersection(*classic):
            return Err.INCONSISTENT_GROUP_PROTOCOL
        if not request.member_id and request.instance_id is None and request.must_return:
            return Err.MEMBER_ID_REQUIRED
        if request.member_id and request.instance_id is not None:
            error = static_error(before, request.member_id, request.instance_id)
            if error is not Err.NONE:
                return error
        return Err.UNKNOWN_SERVER_ERROR if len(request.protocols[0][1]) < 2 else Err.NONE  # it cannot be read

    # --- SyncGroup, Heartbeat -------------------------------------------------------------------------------------------

    def sync(self, before: ConsumerGroupState, request: Sync, context: GroupContext, answer: SyncResult,
             group: ConsumerGroup) -> None:
        """Judge a SyncGroup."""
        me = before.members.get(request.member_id, NOBODY)
        error = _member_error(before, request.member_id, request.instance_id, request.generation)
        if error is Err.NONE:
            first = me.metadata.classic.protocols[0].name  # type: ignore[union-attr]
            if request.protocol_type not in (None, "consumer") or request.protocol_name not in (None, first):
                error = Err.INCONSISTENT_GROUP_PROTOCOL
            elif me.current.epoch < before.epoch and me.current.state != UNREVOKED:
                error = Err.REBALANCE_IN_PROGRESS
        same("the error", answer.error, error)
        unchanged(group.state, before)
        if error is Err.REBALANCE_IN_PROGRESS:
            self._call_back(request.member_id, me, context.now)
        if error is not Err.NONE:
            return
        same("the protocol", (answer.protocol_type, answer.protocol_name), (request.protocol_type, request.protocol_name))
        given = [(row.topic, index) for row in read_assignment(answer.assignment).assigned_partitions for index in row.partitions]
        names = {topic.id: topic.name for topic in context.image.topics.values()}
        same("its partitions", sorted(given), sorted((names[t], index) for t, index in me.assigned if t in names))
        same("the assignment's version", answer.assignment[:2], me.metadata.classic.protocols[0].metadata[:2])  # type: ignore[union-attr]
        self.called.pop(request.member_id, None)
        self.stays(request.member_id, me, context)

    def beat(self, before: ConsumerGroupState, member_id: str, instance: str | None, generation: int, context: GroupContext,
             answer: Err, group: ConsumerGroup) -> None:
        """Judge a Heartbeat."""
        me, error = before.members.get(member_id, NOBODY), _member_error(before, member_id, instance, generation)
        if error is Err.NONE:
            self.stays(member_id, me, context)
            others = {p for m, one in before.members.items() if m != member_id for p in (*one.assigned, *one.revoking)}
            waiting = {p for p in before.targets.get(member_id, ()) if p not in me.assigned} & others
            if me.current.epoch < before.epoch or me.current.state == UNREVOKED or me.current.state == UNRELEASED and not waiting:
                error = Err.REBALANCE_IN_PROGRESS
                self._call_back(member_id, me, context.now)
        same("the answer to a heartbeat", answer, error)
        unchanged(group.state, before)

    def _call_back(self, member_id: str, member: ConsumerGroupMember, now: float) -> None:
        self.called.setdefault(member_id, now + member.metadata.rebalance_timeout_ms / 1000)

    # --- LeaveGroup -----------------------------------------------------------------------------------------------------

    def leave(self, before: ConsumerGroupState, leaving: Iterable[Leaving], answer: Any, gone: Iterable[str]) -> None:
        """Judge a LeaveGroup, and the members that were removed for it."""
        errors, going = [], set()
        for one in leaving:
            holder = before.static_member(one.instance_id) if one.instance_id is not None else one.member_id
            named = one.member_id or holder or ""
            error = static_error(before, named, one.instance_id) if one.instance_id is not None else Err.NONE
            if error is Err.NONE and named not in before.members:
                error = Err.UNKNOWN_MEMBER_ID
            errors.append(error)
            going |= {named} if error is Err.NONE else set()
        same("the errors", answer, errors)
        same("who leaves", sorted(gone), sorted(going))

    # --- time -----------------------------------------------------------------------------------------------------------

    def stays(self, member_id: str, member: ConsumerGroupMember, context: GroupContext) -> None:
        """Note that a member has shown itself."""
        self.sessions[member_id] = context.now + session_s(member, context)

    def forget(self, member_id: str) -> None:
        for book in (self.sessions, self.called, self.consumers.revoke_by):
            book.pop(member_id, None)

    def ends(self, member_id: str) -> list[float]:
        """Return the times at which a member will be removed; the first counts."""
        books = (self.sessions, self.called, self.consumers.revoke_by)
        return [book[member_id] for book in books if member_id in book]

    def times(self, group: ConsumerGroup, now: float) -> None:
        """Check that nobody stays too long, and that the group wakes up for the next one (I-CMRULE-1)."""
        late = [m for m in group.state.members if min(self.ends(m)) < now - 1e-6]
        same("who should have been removed", late, [])
        found = {m: sorted(book[m] for book in (group.sessions, group.awaited, group.revocations) if m in book)
                 for m in group.state.members}
        same("until when they are waited for", found, {m: sorted(self.ends(m)) for m in group.state.members})
        ends = [end for m in group.state.members for end in self.ends(m)]
        same("when it wakes up", group.next_deadline(), min(ends, default=group.next_deadline()))


def static_error(state: ConsumerGroupState, member_id: str, instance: str) -> Err:
    """Return what a member is told that claims an instance id."""
    holders = [m for m, one in state.members.items() if one.metadata.instance_id == instance]
    if not holders:
        return Err.UNKNOWN_MEMBER_ID
    return Err.NONE if holders == [member_id] else Err.FENCED_INSTANCE_ID


def _member_error(state: ConsumerGroupState, member_id: str, instance: str | None, generation: int) -> Err:
    """Return why a request is not one of a classic member of this generation."""
    error = Err.NONE if instance is None else static_error(state, member_id, instance)
    me = state.members.get(member_id, NOBODY)
    if error is Err.NONE and me.metadata.classic is None:
        error = Err.UNKNOWN_MEMBER_ID
    if error is Err.NONE and me.current.epoch != generation:
        error = Err.ILLEGAL_GENERATION
    return error


def _said(request: Join, old: MemberMetadata) -> MemberMetadata:
    """Return the metadata of a member after its JoinGroup: racks and instances, once said, stay."""
    said, _ = read_subscription(request.protocols[0][1])
    return MemberMetadata(
        old.instance_id if request.instance_id is None else request.instance_id, said.rack_id or old.rack_id,
        request.client_id, request.client_host, tuple(sorted({*said.topics})), "", request.rebalance_timeout_ms, old.assignor,
        ClassicMetadata(request.session_timeout_ms, tuple(ClassicProtocol(name, data) for name, data in request.protocols)))


def _as_heartbeat(request: Join, me: str, old: ConsumerGroupMember, image: MetadataImage) -> ConsumerGroupHeartbeat:
    """Return the heartbeat that says the same as a JoinGroup."""
    said, _ = read_subscription(request.protocols[0][1])
    owned = {(image.topics[row.topic].id, index) for row in said.owned_partitions or () if row.topic in image.topics
             for index in row.partitions}
    epoch = old.current.epoch if request.member_id else 0
    return ConsumerGroupHeartbeat(me, epoch, instance_id=request.instance_id, rebalance_timeout_ms=request.rebalance_timeout_ms,
                                  topics=tuple(said.topics), regex="", owned=frozenset[TopicIdPartition](owned))
