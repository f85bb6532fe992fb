"""The consumer group protocol (KIP-848): one request, the heartbeat, and the brokers assign.

A heartbeat in four steps, each a few records of a draft:
  1  the member says what is new about it: it joins, or subscribes to something else;
  2  if that, or the topics, changed what there is to assign, the group's epoch goes up;
  3  if the target assignment is older than that epoch, a new one is made (not more often than the assignment interval);
  4  the member is led one step towards the target (consumer_member.py), and told when that changed what it has.
A member leaves with epoch -1 (static ones may come back from -2) and is driven out when its session is over, or when it
does not give up in time what was taken from it.

Owns: ConsumerGroup: the group's records (`kept`), and what no record keeps: deadlines.
Invariants: I-CGROUP-1 a group changes only by adopt()ing the records of a Write, all of them or none.
            I-CGROUP-2 the group's epoch never goes down; the target's epoch never passes it, a member's never the target's.
            I-CGROUP-3 no answer shows what is not in the log: it goes out once the records before it are committed.
            I-CGROUP-4 a method that raises has changed nothing.

What Kafka does differently: the hash of the topics is another one (XXH3), so that the first heartbeat after a change of
brokers from one kind to the other makes a new assignment. Source: GroupMetadataManager (consumerGroup*), KIP-848.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace

from minikafka.broker.groups.consumer import topic_regex
from minikafka.broker.groups.consumer.heartbeat_steps import (
    assign,
    check_epoch,
    lead,
    may_assign,
    must_resolve,
    remove,
    replace_static,
    what_it_says,
)
from minikafka.broker.groups.consumer.messages import (
    Beat,
    Call,
    ConsumerEffect,
    Heartbeat,
    Moment,
    Out,
    Resolve,
    Write,
)
from minikafka.broker.groups.consumer.reconciliation import (
    GONE,
    GONE_STATIC,
    JOINING,
    UNREVOKED,
    Member,
    Partition,
    pack,
)
from minikafka.broker.groups.consumer.records import (
    CURRENT,
    GROUP,
    MEMBER,
    REGEX,
    CurrentMember,
    GroupMetadata,
    Key,
    MemberMetadata,
    Record,
    Regex,
    Value,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.consumer.topic_hash import topics_hash
from minikafka.protocol.errors import Err, KafkaError

RETRY_S = 0.5          # a member that could not be driven out, since the log takes nothing, is tried again


class ConsumerGroup:
    """One group. Methods that return effects have changed nothing but deadlines; adopt() does."""

    def __init__(self, group_id: str, new_id: Callable[[], str]) -> None:
        self.group_id, self.new_id = group_id, new_id
        self.kept = ConsumerGroupState(group_id)
        self.sessions: dict[str, float] = {}                 # member id -> when it is given up
        self.revocations: dict[str, tuple[float, int]] = {}  # -> until when it may stay in this epoch
        self.awaited: dict[str, float] = {}                  # classic member -> until when it has to join or sync
        self.topics_changed = True                           # since the hash was made; a new coordinator cannot know

    # --- from and to the log --------------------------------------------------------------------------------

    def replay(self, key: Key, value: Value | None) -> None:
        self.kept.apply(key, value)

    def start(self, moment: Moment) -> list[ConsumerEffect]:
        """After loading: every member gets a fresh session, and time to give up what it must."""
        for member_id, member in self.kept.members.items():
            self.renew(member_id, moment)
            self._await_revocation(member_id, member.current, moment.now)
        return []

    def unload(self) -> list[ConsumerEffect]:
        """This broker stops coordinating the group: who waits, waits for the log, and is answered there."""
        return []

    def adopt(self, records: Iterable[Record], now: float) -> None:
        """The records of a Write are in the log."""
        for key, value in records:
            self.kept.apply(key, value)
            if key.kind == CURRENT and isinstance(value, CurrentMember):
                self._await_revocation(key.name, value, now)
            elif key.kind == MEMBER and value is None:
                self._forget_deadlines(key.name)
            elif key.kind == GROUP:
                self.topics_changed = False

    def _await_revocation(self, member_id: str, current: CurrentMember, now: float) -> None:
        self.revocations.pop(member_id, None)
        if current.state == UNREVOKED and not self.kept.members[member_id].is_classic:
            timeout_ms = self.kept.members[member_id].metadata.rebalance_timeout_ms
            self.revocations[member_id] = (now + timeout_ms / 1000, current.epoch)

    def _forget_deadlines(self, member_id: str) -> None:
        for deadlines in (self.sessions, self.revocations, self.awaited):
            deadlines.pop(member_id, None)               # type: ignore[attr-defined]

    def renew(self, member_id: str, moment: Moment) -> None:
        classic = self.kept.members.get(member_id, Member()).metadata.classic
        timeout_ms = moment.settings.session_timeout_ms if classic is None else classic.session_timeout_ms
        self.sessions[member_id] = moment.now + timeout_ms / 1000

    # --- the heartbeat --------------------------------------------------------------------------------------

    def heartbeat(self, call: Call, beat: Heartbeat, moment: Moment) -> list[ConsumerEffect]:
        """Any request but the one to leave; raises KafkaError."""
        self.check_room(beat.member_id, moment)
        draft = self.kept.draft()
        member_id = beat.member_id or self.new_id()
        before = self._subscribe(draft, member_id, beat)
        after, resolve = self.update(draft, member_id, before, what_it_says(before.metadata, beat), beat.owned, moment)
        told = beat.is_full or after.assigned.keys() != before.assigned.keys()
        answer = Beat(member_id, after.current.epoch, moment.settings.heartbeat_interval_ms,
                      pack(set(after.assigned)) if told else None)
        self.renew(member_id, moment)
        write = Write(tuple(draft.written), call, answer)
        return [write, Resolve()] if resolve else [write]

    def check_room(self, member_id: str, moment: Moment) -> None:
        most = moment.settings.max_size
        if len(self.kept.members) >= most and member_id not in self.kept.members:
            raise KafkaError(Err.GROUP_MAX_SIZE_REACHED,
                             f"The consumer group has reached its maximum capacity of {most} members.")

    def _subscribe(self, draft: ConsumerGroupState, member_id: str, beat: Heartbeat) -> Member:
        """The member as it was; a new one if it joins."""
        if beat.instance_id is not None:
            return self._subscribe_static(draft, member_id, beat.instance_id, beat)
        member = draft.members.get(member_id)
        if member is None and beat.epoch != JOINING:
            raise self.unknown(member_id)
        if member is not None:
            check_epoch(member, beat)
        return member or Member()

    def _subscribe_static(self, draft: ConsumerGroupState, member_id: str, instance_id: str, beat: Heartbeat) -> Member:
        known = draft.static_member(instance_id)
        if beat.epoch != JOINING:
            member = self.check_static(known, member_id, instance_id)
            check_epoch(member, beat)
            return member
        if known is None:
            return draft.members.get(member_id, Member())
        member = draft.members[known]
        if not member.is_classic and member.current.epoch != GONE_STATIC:
            raise KafkaError(Err.UNRELEASED_INSTANCE_ID,
                             f"Static member {member_id} with instance id {instance_id} cannot join the group because "
                             f"the instance id is owned by {known} member.")
        return replace_static(draft, known, member_id)

    def check_static(self, known: str | None, member_id: str, instance_id: str) -> Member:
        """The member with this instance id, if that is who speaks."""
        if known is None:
            raise KafkaError(Err.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if known != member_id:
            raise KafkaError(Err.FENCED_INSTANCE_ID, f"Static member {member_id} with instance id {instance_id} was "
                             f"fenced by member {known}.")
        return self.kept.members[known]

    def unknown(self, member_id: str) -> KafkaError:
        return KafkaError(Err.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}.")

    def update(self, draft: ConsumerGroupState, member_id: str, before: Member, said: MemberMetadata,
               owned: Set[Partition] | None, moment: Moment) -> tuple[Member, bool]:
        """The four steps, for a member that now says `said`. Also: whether expressions have to be resolved."""
        if said != before.metadata:
            draft.write(MEMBER, member_id, said)
        renamed = set(said.topics) != set(before.metadata.topics)
        changed_regex = (said.regex or "") != (before.metadata.regex or "")
        if changed_regex:
            self._change_regex(draft, before.metadata.regex, said.regex)
        known_regex = changed_regex and (not said.regex or said.regex in draft.regexes)
        self._raise_epoch(draft, renamed or known_regex, moment)
        if draft.epoch > draft.target.epoch and may_assign(draft, moment):
            assign(draft, moment)
        lead(draft, member_id, renamed or changed_regex, owned, moment)
        return draft.members[member_id], must_resolve(draft, moment)

    def _change_regex(self, draft: ConsumerGroupState, old: str | None, new: str | None) -> None:
        subscribed = self.kept.expressions()
        if new and not subscribed[new]:
            topic_regex.check(new)
        if old and not draft.expressions()[old] and old in draft.regexes:
            draft.write(REGEX, old, None)

    def _raise_epoch(self, draft: ConsumerGroupState, wanted: bool, moment: Moment) -> None:
        """A new epoch asks for a new assignment: since a subscription changed, or the topics did."""
        if not wanted and not self.topics_changed:
            return
        seen = topics_hash(draft.topics(), moment.image)
        if wanted or seen != draft.metadata.metadata_hash:
            draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, seen))
        else:
            self.topics_changed = False

    def resolve(self, moment: Moment) -> Write | None:
        """See which topics the expressions match now; what that changes is assigned with the next heartbeats."""
        draft, changed = self.kept.draft(), False
        for expression in draft.expressions():
            topics = topic_regex.match(expression, moment.image.topics)
            old = draft.regexes.get(expression)
            changed = changed or topics != (old.topics if old is not None else ())
            draft.write(REGEX, expression, Regex(topics, moment.image.offset, moment.wall_ms))
        seen = topics_hash(draft.topics(), moment.image)
        if changed or seen != draft.metadata.metadata_hash:
            draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, seen))
        return Write(tuple(draft.written)) if draft.written else None

    # --- leaving --------------------------------------------------------------------------------------------

    def leave(self, call: Call, beat: Heartbeat, moment: Moment) -> list[ConsumerEffect]:
        """Epoch -1, or -2 of a static member that will be back; raises KafkaError."""
        if beat.instance_id is not None:
            member = self.check_static(self.kept.static_member(beat.instance_id), beat.member_id, beat.instance_id)
        elif beat.member_id in self.kept.members:
            member = self.kept.members[beat.member_id]
        else:
            raise self.unknown(beat.member_id)
        answer = Beat(beat.member_id, beat.epoch)
        if beat.instance_id is None or beat.epoch == GONE:
            return [Out((beat.member_id,), call, answer)]
        draft = self.kept.draft()
        # Epoch 0: its heir begins in that one, and may commit what this member was given.
        away = replace(member.current, epoch=GONE_STATIC, assigned=pack(dict.fromkeys(member.assigned, 0)), revoking=())
        draft.write(CURRENT, beat.member_id, away)
        return [Write(tuple(draft.written), call, answer)]

    def fence(self, member_ids: Iterable[str], moment: Moment) -> tuple[Record, ...]:
        """The records by which members are out; the others share what they had."""
        draft = self.kept.draft()
        for member_id in member_ids:
            remove(draft, member_id)
        for expression in [e for e in draft.regexes if not draft.expressions()[e]]:
            draft.write(REGEX, expression, None)
        draft.write(GROUP, "", GroupMetadata(draft.epoch + 1, topics_hash(draft.topics(), moment.image)))
        return tuple(draft.written)

    # --- time -----------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        return min((*self.sessions.values(), *self.awaited.values(), *(due for due, _ in self.revocations.values())),
                   default=None)

    def tick(self, moment: Moment) -> list[ConsumerEffect]:
        """Drive out one whose time is over, if there is one; who else is, the next look will show."""
        for member_id in self._overdue(moment.now):
            self._forget_deadlines(member_id)
            if member_id in self.kept.members:
                self.sessions[member_id] = moment.now + RETRY_S
                return [Out((member_id,))]
        return []

    def _overdue(self, now: float) -> Iterator[str]:
        for deadlines in (self.sessions, self.awaited):
            yield from [member_id for member_id, due in deadlines.items() if due <= now]
        for member_id, (due, epoch) in list(self.revocations.items()):
            if due <= now and member_id in self.kept.members and self.kept.members[member_id].current.epoch == epoch:
                yield member_id
            elif due <= now:
                del self.revocations[member_id]
