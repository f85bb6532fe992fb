"""The consumer group protocol (KIP-848): one request, the heartbeat, and the brokers assign.

A heartbeat in four steps, each a few records of a draft:
  1  the member joins, or its request changes its metadata (its subscription, above all);
  2  if the subscribed topics of the group changed by that, or the topics themselves changed, the group's epoch goes up;
  3  if the target assignment is older than that epoch, a new one is made (not more often than the assignment interval);
  4  the member takes one step towards its target (reconciliation.py); the response has its partitions if they changed.
A member leaves with epoch -1 (a static member with -2, if it will come back). It is removed when its session is over, or
when it does not give up revoked partitions in time.

Owns: ConsumerGroup: the sum of the group's records (`state`), and the deadlines of members, which no record keeps.
Invariants: I-CGROUP-1 a group changes only by adopt()ing the records of a Write, all of them or none.
            I-CGROUP-2 the group's epoch never goes down; the target's epoch never passes it, a member's never the target's.
            a response is sent once every record before it is committed: it shows nothing else.
            A method that raises has changed nothing.
            I-CGROUP-5 every member is removed at some time if no heartbeat of it comes.

What Kafka does differently: it hashes the topics by XXH3, so a group that moves between our brokers and Kafka's gets a new
assignment at its first heartbeat.
Source: GroupMetadataManager (consumerGroup*), KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace

from minikafka.broker.groups.classic.messages import CompleteCall, Join, Leaving, Sync
from minikafka.broker.groups.consumer import classic_members, subscriptions
from minikafka.broker.groups.consumer.commit_fencing import check_commit, check_fetch
from minikafka.broker.groups.consumer.heartbeat_steps import (
    assign,
    check_epoch,
    may_assign,
    merged_subscription,
    must_resolve,
    reconcile_member,
    remove,
    replace_static,
)
from minikafka.broker.groups.consumer.messages import (
    Call,
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    RemoveMembers,
    ReplyCommitted,
    ResolveRegexes,
    Write,
)
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    UNREVOKED,
    ConsumerGroupMember,
    TopicIdPartition,
    pack,
)
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    MEMBER,
    REGEX,
    CoordinatorRecord,
    CurrentMember,
    GroupMetadata,
    Key,
    MemberMetadata,
    Regex,
    Value,
    write_key,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.consumer.subscriptions import topics_hash
from minikafka.broker.groups.group import CONSUMER, Group, GroupContext, OffsetCommit
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err, KafkaError

RETRY_S = 0.5          # then the removal of a member is tried again, if its records could not be appended


class ConsumerGroup(Group):
    """One consumer group. Methods that return effects change nothing but deadlines; adopt() changes the group."""

    kind = protocol_type = CONSUMER

    def __init__(self, group_id: str, new_id: Callable[[], str]) -> None:
        self.group_id, self.new_id = group_id, new_id
        self.state = ConsumerGroupState(group_id)
        self.sessions: dict[str, float] = {}                 # member id -> when the member is removed
        self.revocations: dict[str, float] = {}              # -> until when the member must have given up partitions
        self.awaited: dict[str, float] = {}                  # classic member -> until when it has to join or sync
        self.look_at_topics = True         # topics may have changed since the hash was made; a new coordinator cannot know

    # --- from and to the log --------------------------------------------------------------------------------

    def replay(self, key: Key, value: Value | None) -> None:
        """Apply a record that is found in the log while the partition is loaded."""
        self.state.apply(key, value)

    def start(self, context: GroupContext) -> list[ConsumerEffect]:
        """Begin to serve after loading: every member gets a fresh session, and its whole time to give up partitions."""
        for member_id, member in self.state.members.items():
            self.renew(member_id, context)
            self._await_revocation(member_id, member.current, context.now)
        return []

    def unload(self) -> list[ConsumerEffect]:
        """Stop to coordinate the group. Every waiting call waits for the CoordinatorLog, which answers it when it closes."""
        return []

    def adopt(self, records: Sequence[CoordinatorRecord], now: float) -> None:
        """Apply the records of a Write, which are in the log now, and set the deadlines that follow from them."""
        # A static member that takes its own place again is removed and added by one Write: its session goes on.
        last = {key.name: value for key, value in records if key.kind == MEMBER}
        for key, value in records:
            self.state.apply(key, value)
            if key.kind == CURRENT and isinstance(value, CurrentMember):
                self._await_revocation(key.name, value, now)
            elif key.kind == MEMBER and last[key.name] is None:
                self._forget_deadlines(key.name)
            elif key.kind == GROUP:
                self.look_at_topics = False
        assert self.state.has_one_owner(), f"I-CMEMBER-1 {self.group_id}: a partition has two members"

    def _await_revocation(self, member_id: str, current: CurrentMember, now: float) -> None:
        self.revocations.pop(member_id, None)
        # A static member that is away has nothing left to give up: it may come back until its session ends.
        if current.state == UNREVOKED and current.revoking and not self.state.members[member_id].is_classic:
            timeout_ms = self.state.members[member_id].metadata.rebalance_timeout_ms
            self.revocations[member_id] = now + timeout_ms / 1000

    def _forget_deadlines(self, member_id: str) -> None:
        for deadlines in (self.sessions, self.revocations, self.awaited):
            deadlines.pop(member_id, None)

    def renew(self, member_id: str, context: GroupContext, member: ConsumerGroupMember | None = None) -> None:
        """Begin a new session of the member, which is `member` as soon as its heartbeat is written."""
        classic = (member or self.state.members[member_id]).metadata.classic
        timeout_ms = context.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        self.sessions[member_id] = context.now + timeout_ms / 1000

    # --- the heartbeat --------------------------------------------------------------------------------------

    def consumer_heartbeat(self, call: Call, request: ConsumerGroupHeartbeat, context: GroupContext) -> list[ConsumerEffect]:
        """Take a heartbeat of a member that joins or stays. Raises KafkaError."""
        self.check_room(request.member_id, context)
        draft = self.state.draft()
        member_id = request.member_id or self.new_id()
        before = self._subscribe(draft, member_id, request)
        merged = merged_subscription(before.metadata, request)
        after, resolve = self.update(draft, member_id, before, merged, request.owned, context)
        reported = request.is_full or after.assigned.keys() != before.assigned.keys()
        response = HeartbeatResponse(member_id, after.current.epoch, context.settings.heartbeat_interval_ms,
                      pack(set(after.assigned)) if reported else None)
        self.renew(member_id, context, after)
        write = Write(tuple(draft.written), call, response)
        return [write, ResolveRegexes(context.describes)] if resolve else [write]

    def check_room(self, member_id: str, context: GroupContext) -> None:
        """Raise KafkaError if the group is full and the member is not in it."""
        most = context.settings.max_size
        if len(self.state.members) >= most and member_id not in self.state.members:
            raise KafkaError(Err.GROUP_MAX_SIZE_REACHED,
                             f"The consumer group has reached its maximum capacity of {most} members.")

    def _subscribe(self, draft: ConsumerGroupState, member_id: str, request: ConsumerGroupHeartbeat) -> ConsumerGroupMember:
        """Return the member as it was before this heartbeat; a new one if it joins. Raises KafkaError."""
        instance_id = request.instance_id
        if request.epoch != JOINING:
            member = draft.member(member_id, instance_id)
            check_epoch(member, request)
            return member
        known = None if instance_id is None else draft.static_member(instance_id)
        if known is None:
            return draft.members.get(member_id, ConsumerGroupMember())
        member = draft.members[known]
        if not member.is_classic and member.current.epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
            raise KafkaError(Err.UNRELEASED_INSTANCE_ID,
                             f"Static member {member_id} with instance id {instance_id} cannot join the group because "
                             f"the instance id is owned by {known} member.")
        return replace_static(draft, known, member_id)

    def update(self, draft: ConsumerGroupState, member_id: str, before: ConsumerGroupMember, said: MemberMetadata,
               owned: Set[TopicIdPartition] | None, context: GroupContext) -> tuple[ConsumerGroupMember, bool]:
        """Take the four steps for a member whose metadata is now `said`; return the member, and whether the group's regular
        expressions must be resolved."""
        if said != before.metadata:
            draft.write(MEMBER, member_id, said)
        names_changed = set(said.topics) != set(before.metadata.topics)
        regex_changed = (said.regex or "") != (before.metadata.regex or "")
        if regex_changed:
            self._change_regex(draft, before.metadata.regex, said.regex)
        # A new expression raises the epoch once it is resolved: until then it is not known which topics it matches.
        topics_known = not said.regex or said.regex in draft.regexes
        self._raise_epoch(draft, names_changed or (regex_changed and topics_known), context)
        if draft.epoch > draft.target.epoch and may_assign(draft, context):
            assign(draft, context)
        reconcile_member(draft, member_id, names_changed or regex_changed, owned, context)
        return draft.members[member_id], must_resolve(draft, context)

    def _change_regex(self, draft: ConsumerGroupState, old: str | None, new: str | None) -> None:
        subscribed = self.state.expressions()
        if new and not subscribed[new]:
            subscriptions.check(new)
        if old and not draft.expressions()[old] and old in draft.regexes:
            draft.write(REGEX, old, None)

    def _raise_epoch(self, draft: ConsumerGroupState, wanted: bool, context: GroupContext) -> None:
        """Raise the group epoch if a subscription changed (`wanted`), or the hash of the topics: it asks for an assignment."""
        if not wanted and not self.look_at_topics:
            return
        seen = topics_hash(draft.topics(), context.image)
        if wanted or seen != draft.metadata.metadata_hash:
            draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, seen))
        else:
            self.look_at_topics = False

    def resolve(self, context: GroupContext) -> Write | None:
        """Return the records of the topics that the expressions match now, with a new epoch if they changed, for which the next
        heartbeats make the assignment; None if there are no records."""
        draft, changed = self.state.draft(), False
        for expression in draft.expressions():
            topics = subscriptions.match(expression, filter(context.describes, context.image.topics))
            old = draft.regexes.get(expression)
            changed = changed or topics != (old.topics if old is not None else ())
            draft.write(REGEX, expression, Regex(topics, context.image.offset, context.wall_ms))
        seen = topics_hash(draft.topics(), context.image)
        if changed or seen != draft.metadata.metadata_hash:
            draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, seen))
        return Write(tuple(draft.written)) if draft.written else None

    # --- leaving --------------------------------------------------------------------------------------------

    def consumer_leave(self, call: Call, request: ConsumerGroupHeartbeat, context: GroupContext) -> list[ConsumerEffect]:
        """Take the heartbeat of a member that leaves: epoch -1, or -2 if a static member will come back. KafkaError."""
        member = self.state.member(request.member_id, request.instance_id)
        response = HeartbeatResponse(request.member_id, request.epoch)
        if request.instance_id is None or request.epoch == LEAVE_GROUP_MEMBER_EPOCH:
            return [RemoveMembers((request.member_id,), call, response)]
        draft = self.state.draft()
        # Assigned since epoch 0: the member that takes this place begins in epoch 0, and may commit these partitions.
        away = replace(member.current, epoch=LEAVE_GROUP_STATIC_MEMBER_EPOCH, revoking=(),
                       assigned=pack(dict.fromkeys(member.assigned, 0)))
        draft.write(CURRENT, request.member_id, away)
        return [Write(tuple(draft.written), call, response)]

    def fence(self, member_ids: Iterable[str], context: GroupContext) -> tuple[CoordinatorRecord, ...]:
        """Return the records that remove members, and raise the epoch so that the others share their partitions."""
        draft = self.state.draft()
        for member_id in member_ids:
            remove(draft, member_id)
        for expression in [e for e in draft.regexes if not draft.expressions()[e]]:
            draft.write(REGEX, expression, None)
        draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, topics_hash(draft.topics(), context.image)))
        return tuple(draft.written)

    # --- requests of classic members ------------------------------------------------------------------------

    def join(self, call: Call, request: Join, context: GroupContext) -> list[ConsumerEffect]:
        return classic_members.join(self, call, request, context)

    def sync(self, call: Call, request: Sync, context: GroupContext) -> list[ConsumerEffect]:
        return [ReplyCommitted(call, classic_members.sync(self, request, context))]

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, context: GroupContext) -> Err:
        try:
            return classic_members.heartbeat(self, member_id, instance_id, generation, context)
        except KafkaError as refused:
            return refused.code

    def leave(self, call: Call, leaving: list[Leaving], context: GroupContext) -> list[ConsumerEffect]:
        errors, gone = classic_members.leave(self, leaving)
        return [RemoveMembers(tuple(gone), call, errors)] if gone else [CompleteCall(call, errors)]

    # --- offsets and administration -------------------------------------------------------------------------

    def check_commit(self, commit: OffsetCommit, context: GroupContext) -> Err:
        topics = context.image.topics              # a topic may have been deleted while the request waited
        partitions = [(topics[name].id, index) for name, index in commit.keys if name in topics]
        try:
            check_commit(self.state, commit, partitions)
        except KafkaError as refused:
            return refused.code
        return Err.NONE

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        check_fetch(self.state, member_id, epoch)

    def check_delete(self) -> Err:
        return Err.NON_EMPTY_GROUP if self.state.members else Err.NONE

    def check_offset_delete(self) -> Err:
        return Err.NONE

    def reads(self, topic: str) -> bool:
        return topic in self.state.topics()

    def offset_age_starts(self, commit_ms: int, entered_ms: int) -> int:
        return commit_ms

    @property
    def state_name(self) -> str:
        return self.state.phase.value

    @property
    def is_empty(self) -> bool:
        return not self.state.members

    def settled_fields(self, image: MetadataImage) -> dict[str, object]:
        known = self.state.members.items()
        return {"names": {m: member.metadata.instance_id or member.metadata.client_id for m, member in known},
                "assignment": {m: sorted(f"{topic.name}-{index}" for topic_id, index in member.assigned
                                         if (topic := image.topic_by_id(topic_id)) is not None) for m, member in known}}

    def topics_changed(self, names: Set[str]) -> None:
        self.look_at_topics = self.look_at_topics or bool(names & self.state.topics())

    def tombstones(self) -> list[tuple[bytes, None]]:
        return [(write_key(key), None) for key, _ in self.state.tombstones()]

    # --- time -----------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        return min((*self.sessions.values(), *self.awaited.values(), *self.revocations.values()), default=None)

    def tick(self, context: GroupContext) -> list[ConsumerEffect]:
        """Remove one member whose deadline is over, if there is any; the next tick removes the next one."""
        for member_id in self._overdue(context.now):
            self._forget_deadlines(member_id)
            if member_id in self.state.members:
                self.sessions[member_id] = context.now + RETRY_S
                return [RemoveMembers((member_id,))]
        return []

    def check(self) -> None:
        state = self.state
        assert state.target.epoch <= state.epoch, f"I-CGROUP-2 the target of epoch {state.target.epoch} is ahead of {state.epoch}"
        for member_id, member in state.members.items():
            assert member.current.epoch <= state.target.epoch, f"I-CGROUP-2 {member_id} is ahead of the target: {member.current}"
            assert member_id in self.sessions, f"I-CGROUP-5 {member_id} may be silent for ever"

    def _overdue(self, now: float) -> Iterator[str]:
        for deadlines in (self.sessions, self.awaited, self.revocations):
            yield from [member_id for member_id, due in deadlines.items() if due <= now]
