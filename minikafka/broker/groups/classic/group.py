"""The classic group protocol: join, sync, heartbeat, leave, and the timers between them. Pure: time comes in as `now`.

A rebalance in short: a member joins, leaves or goes silent; the group turns to PreparingRebalance and every member is
called back (heartbeats answer REBALANCE_IN_PROGRESS); when all have joined, or the longest rebalance timeout is over,
the generation goes up and the leader is sent the list of members; the leader sends the assignment with its SyncGroup; once
the assignment is committed the group is Stable and every SyncGroup is answered.

Owns: ClassicGroup, all state of one group but its offsets.
Invariants: I-GROUP-6 the generation never goes down and goes up exactly when a join phase ends.
            I-GROUP-7 no client sees Stable, or an assignment, before its record is committed in __consumer_offsets (rule 58).
            I-GROUP-8 every call is answered exactly once; a call without an answer yet has a timer that will answer it.
            A method that refuses a request has changed nothing except the member's session.

What Kafka does differently: when a member repeats a request while the first one still waits, Kafka never answers the first
one; we answer it with REBALANCE_IN_PROGRESS. Everything else is meant to be the same.
Source: ClassicGroup, GroupMetadataManager (classicGroup*), KIP-134 (initial delay), KIP-345, KIP-394, KIP-814.
"""

from __future__ import annotations

from collections.abc import Callable, Set

from minikafka.broker.groups.classic import static_member
from minikafka.broker.groups.classic.embedded_protocol import assigned_partitions, subscribed_topics
from minikafka.broker.groups.classic.members import ClassicGroupMember, Members
from minikafka.broker.groups.classic.messages import (
    NO_MEMBER,
    Assigned,
    Call,
    CompleteCall,
    Effect,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Moved,
    Replaced,
    Store,
    StoredGroup,
    StoredMember,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.classic.states import ANSWERS, NEXT, ClassicGroupState
from minikafka.broker.groups.group import CLASSIC, CONSUMER, Group, GroupContext, OffsetCommit
from minikafka.broker.groups.records import group_key
from minikafka.broker.metadata.image import MetadataImage
from minikafka.protocol.errors import Err

LONGEST_NAME = 32_767 - 64  # bytes that a member id has of its client's name: with its suffix it fits into an answer


class ClassicGroup(Group):
    """One classic group. Methods that take a context, or `now` (monotonic seconds), return the effects, in order."""

    kind = CLASSIC

    def __init__(self, group_id: str, config: GroupConfig, new_id: Callable[[], str]) -> None:
        self.group_id, self.config, self.new_id = group_id, config, new_id
        self.state = ClassicGroupState.EMPTY
        self.generation = 0
        self.protocol_type: str | None = None     # None: a "simple" group, which only keeps offsets
        self.protocol: str | None = None
        self.members = Members()
        self.pending_sync: dict[str, None] = {}
        self.join_deadline: float | None = None
        self.sync_deadline: float | None = None
        self.extension_ms: int | None = None      # initial rebalance only: how much longer the join phase may wait
        self.joined_lately = False                # initial rebalance only: a member joined during the present delay

    # --- from and to the log --------------------------------------------------------------------------------

    @classmethod
    def restore(cls, group_id: str, stored: StoredGroup, config: GroupConfig, new_id: Callable[[], str]) -> ClassicGroup:
        """Return the group of a record; call start() when the whole partition is loaded."""
        group = cls(group_id, config, new_id)
        group.state = ClassicGroupState.STABLE if stored.members else ClassicGroupState.EMPTY
        group.generation, group.protocol = stored.generation, stored.protocol
        group.protocol_type = stored.protocol_type or None
        for m in stored.members:
            group.members.add(ClassicGroupMember(m.member_id, m.instance_id, m.client_id, m.client_host, stored.protocol_type,
                                     ((stored.protocol or "", m.subscription),), m.session_timeout_ms,
                                     m.rebalance_timeout_ms, m.assignment))
        group.members.leader = stored.leader
        return group

    def start(self, context: GroupContext) -> list[Effect]:
        """Begin to serve after loading: every member gets a fresh session; a group above group.max.size rebalances."""
        for member in self.members:
            self.renew(member, context.now)
        return self._rebalance(context.now) if len(self.members) > self.config.max_size else []

    def snapshot(self, assignments: dict[str, bytes] | None = None) -> StoredGroup:
        """Return the group as its record has it, with these assignments (by member id) or else the present ones."""
        members = tuple(
            StoredMember(m.member_id, m.instance_id, m.client_id, m.client_host, m.rebalance_timeout_ms,
                         m.session_timeout_ms, m.metadata(self.protocol),
                         m.assignment if assignments is None else assignments[m.member_id])
            for m in self.members
        )
        return StoredGroup(self.protocol_type or "", self.generation, self.protocol, self.members.leader, members)

    def unload(self) -> list[Effect]:
        """Stop to coordinate the group: answer every waiting call with NOT_COORDINATOR."""
        replies = [CompleteCall(m.joining, JoinResult(Err.NOT_COORDINATOR, m.member_id)) for m in self.members
                   if m.joining is not None]
        replies += [CompleteCall(m.syncing, SyncResult(Err.NOT_COORDINATOR)) for m in self.members if m.syncing is not None]
        for member in self.members:
            member.joining = member.syncing = None
        return [*self._move("removed"), *replies]

    # --- JoinGroup ------------------------------------------------------------------------------------------

    def join(self, call: Call, request: Join, context: GroupContext) -> list[Effect]:
        if self.state is ClassicGroupState.DEAD:
            return [CompleteCall(call, JoinResult(Err.COORDINATOR_NOT_AVAILABLE, request.member_id))]
        if not self._has_room(request.member_id):
            self.members.remove(request.member_id)
            return [CompleteCall(call, JoinResult(Err.GROUP_MAX_SIZE_REACHED))]
        if not self._supports(request):
            return [CompleteCall(call, JoinResult(Err.INCONSISTENT_GROUP_PROTOCOL, request.member_id))]
        if request.member_id == NO_MEMBER:
            return self._join_new(call, request, context.now)
        return self._join_known(call, request, context.now)

    def _has_room(self, member_id: str) -> bool:
        if self.state is ClassicGroupState.EMPTY:
            return True
        if self.state is ClassicGroupState.PREPARING_REBALANCE:      # the members that came back first stay
            waits = member_id in self.members and self.members.get(member_id).joining is not None
            return waits or self.members.waiting() < self.config.max_size
        return member_id in self.members or len(self.members) < self.config.max_size

    def _supports(self, request: Join) -> bool:
        names = [name for name, _ in request.protocols]
        if self.state is ClassicGroupState.EMPTY:
            return bool(request.protocol_type and names)
        common = self.members.common_protocols() if len(self.members) else names
        return request.protocol_type == self.protocol_type and any(name in common for name in names)

    def _join_new(self, call: Call, request: Join, now: float) -> list[Effect]:
        named = request.client_id if request.instance_id is None else request.instance_id
        member_id = f"{named.encode()[:LONGEST_NAME].decode(errors='ignore')}-{self.new_id()}"
        if request.instance_id in self.members.static:
            return static_member.replace(self, call, request, member_id, now)
        if request.instance_id is None and request.must_return:
            # Without this round trip a client that times out and retries would leave a ghost member behind each time.
            self.members.pending[member_id] = now + request.session_timeout_ms / 1000
            return [CompleteCall(call, JoinResult(Err.MEMBER_ID_REQUIRED, member_id))]
        return self._add(call, request, member_id, now)

    def _join_known(self, call: Call, request: Join, now: float) -> list[Effect]:
        if request.member_id in self.members.pending:
            if request.instance_id is not None:      # static members get no pending id; Kafka gives this error too
                return [CompleteCall(call, JoinResult(Err.UNKNOWN_SERVER_ERROR))]
            return self._add(call, request, request.member_id, now)
        error = self.members.check(request.member_id, request.instance_id)
        if error is Err.NONE and self.state is ClassicGroupState.EMPTY:
            error = Err.UNKNOWN_MEMBER_ID
        if error is not Err.NONE:
            return [CompleteCall(call, JoinResult(error, request.member_id))]
        member = self.members.get(request.member_id)
        changed = member.protocols != request.protocols
        leads = self.members.leader == member.member_id
        # A leader that joins a stable group wants a new assignment: for example, its topic has more partitions now.
        if self.state is ClassicGroupState.PREPARING_REBALANCE or changed or (self.state is ClassicGroupState.STABLE and leads):
            return self._rejoin(call, member, request, now)
        return [CompleteCall(call, self.welcome(member))]

    def _add(self, call: Call, request: Join, member_id: str, now: float) -> list[Effect]:
        member = ClassicGroupMember(member_id, request.instance_id, request.client_id, request.client_host, request.protocol_type,
                        request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms, is_new=True)
        self.joined_lately = self.extension_ms is not None
        if not len(self.members):
            self.protocol_type = request.protocol_type
        self.members.add(member)
        member.joining = call
        # The client cannot send a heartbeat before its JoinGroup is answered, so the session timeout does not apply yet.
        member.deadline = now + self.config.new_member_join_timeout_ms / 1000
        return self.rebalance_or_complete(now)

    def _rejoin(self, call: Call, member: ClassicGroupMember, request: Join, now: float) -> list[Effect]:
        superseded = JoinResult(Err.REBALANCE_IN_PROGRESS, member.member_id)        # its client has sent another JoinGroup
        replies = [] if member.joining is None else [CompleteCall(member.joining, superseded)]
        member.adopt(request)
        member.joining = call
        return [*replies, *self.rebalance_or_complete(now)]

    def welcome(self, member: ClassicGroupMember, skip_assignment: bool = False) -> JoinResult:
        """Return a member's JoinGroup result at the end of a join phase; only the leader's names the other members."""
        leads = self.members.leader == member.member_id
        everybody = tuple((m.member_id, m.instance_id, m.metadata(self.protocol)) for m in self.members)
        return JoinResult(Err.NONE, member.member_id, self.generation, self.protocol_type, self.protocol,
                          self.members.leader or "", skip_assignment, everybody if leads else ())

    # --- the join phase -------------------------------------------------------------------------------------

    def rebalance_or_complete(self, now: float) -> list[Effect]:
        """Begin a rebalance after a change of the members, or end the join phase under way if all have joined."""
        return self._rebalance(now) if "rebalance" in NEXT[self.state] else self._complete_if_all_joined(now)

    def _rebalance(self, now: float) -> list[Effect]:
        turned_away: list[Effect] = []
        if self.state is ClassicGroupState.COMPLETING_REBALANCE:
            turned_away = self._hand_out({}, Err.REBALANCE_IN_PROGRESS, now)
        self.pending_sync, self.sync_deadline = {}, None
        initial = self.state is ClassicGroupState.EMPTY
        effects = [*turned_away, *self._move("rebalance")]
        if initial:
            # The first member has joined; wait a little for the others, so that one rebalance serves them all (KIP-134).
            delay = self.config.initial_rebalance_delay_ms
            self.join_deadline = now + delay / 1000
            self.extension_ms = max(self.members.rebalance_timeout_ms() - delay, 0)
            self.joined_lately = False
            return effects
        if self.members.all_joined():
            return [*effects, *self._complete_join(now)]
        self.join_deadline = now + self.members.rebalance_timeout_ms() / 1000
        return effects

    def _complete_if_all_joined(self, now: float) -> list[Effect]:
        joining = self.state is ClassicGroupState.PREPARING_REBALANCE and self.extension_ms is None
        return self._complete_join(now) if joining and self.members.all_joined() else []

    def _initial_wait_over(self, now: float) -> list[Effect]:
        """End the initial delay, or prolong it if members joined during it; at most to the rebalance timeout (KIP-134)."""
        assert self.extension_ms is not None
        if not self.joined_lately or self.extension_ms == 0:
            return self._complete_join(now)
        delay = min(self.config.initial_rebalance_delay_ms, self.extension_ms)
        self.join_deadline = now + delay / 1000
        self.extension_ms -= delay
        self.joined_lately = False
        return []

    def _complete_join(self, now: float) -> list[Effect]:
        """End the join phase: remove dynamic members that did not join. A static member stays until its session ends."""
        self.join_deadline = self.extension_ms = None
        self.joined_lately = False
        for member in [m for m in self.members if m.joining is None and m.instance_id is None]:
            self.members.remove(member.member_id)
        if len(self.members) and not self.members.elect_joined_leader():     # only absent static members
            again = now + self.members.rebalance_timeout_ms() / 1000
            if again <= now:    # a timeout of 0 or less would end this phase at once, over and over, until a session ends
                again = min(member.deadline or now + 1 for member in self.members)
            self.join_deadline = again
            return []
        self.generation += 1
        self.pending_sync = {}
        if not len(self.members):
            self.protocol = None
            return [*self._move("emptied"), Store(self.snapshot(), None)]
        self.protocol = self.members.elect_protocol()
        assert all(m.joining is not None or m.instance_id is not None for m in self.members), "I-GROUP-6 who stays has joined"
        effects = self._move("joined")
        for member in self.members:
            if member.joining is not None:
                effects.append(CompleteCall(member.joining, self.welcome(member)))
            member.joining, member.is_new = None, False
            self.renew(member, now)
            self.pending_sync[member.member_id] = None
        self.sync_deadline = now + self.members.rebalance_timeout_ms() / 1000
        return effects

    # --- SyncGroup ------------------------------------------------------------------------------------------

    def sync(self, call: Call, request: Sync, context: GroupContext) -> list[Effect]:
        error = self._check_sync(request)
        if error is not Err.NONE:
            return [CompleteCall(call, SyncResult(error))]
        member = self.members.get(request.member_id)
        self._has_synced(member.member_id)
        if self.state is ClassicGroupState.STABLE:
            return [CompleteCall(call, SyncResult(Err.NONE, self.protocol_type, self.protocol, member.assignment))]
        superseded = [] if member.syncing is None else [CompleteCall(member.syncing, SyncResult(Err.REBALANCE_IN_PROGRESS))]
        member.syncing = call
        if self.members.leader != member.member_id:
            return [*superseded]
        sent = dict(request.assignments)
        assignments = {m.member_id: sent.get(m.member_id, b"") for m in self.members}
        return [*superseded, Store(self.snapshot(assignments), Assigned(self.generation, tuple(assignments.items())))]

    def _check_sync(self, request: Sync) -> Err:
        if self.state in (ClassicGroupState.EMPTY, ClassicGroupState.DEAD):
            return ANSWERS["sync"][self.state]
        error = self.members.check(request.member_id, request.instance_id)
        if error is not Err.NONE:
            return error
        if request.generation != self.generation:
            return Err.ILLEGAL_GENERATION
        if _differ(request.protocol_type, self.protocol_type) or _differ(request.protocol_name, self.protocol):
            return Err.INCONSISTENT_GROUP_PROTOCOL
        return ANSWERS["sync"][self.state]

    def _has_synced(self, member_id: str) -> None:
        self.pending_sync.pop(member_id, None)
        if not self.pending_sync:
            self.sync_deadline = None

    def on_committed(self, then: Assigned | Replaced | None, error: Err, now: float) -> list[Effect]:
        """Continue after the record of a Store is committed (NONE) or failed, unless state or generation changed since."""
        if isinstance(then, Replaced):
            return static_member.on_committed(self, then, error, now)
        if then is None or self.state is not ClassicGroupState.COMPLETING_REBALANCE or then.generation != self.generation:
            return []
        if error is not Err.NONE:
            return [*self._hand_out({}, error, now), *self._rebalance(now)]
        stored = then.generation == self.generation and error is Err.NONE
        assert stored, f"I-GROUP-7 the assignment of generation {then.generation}, {error.name}, in {self.generation}"
        return [*self._move("assigned"), *self._hand_out(dict(then.assignments), Err.NONE, now)]

    def _hand_out(self, assignments: dict[str, bytes], error: Err, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for member in self.members:
            member.assignment = assignments.get(member.member_id, b"")
            if member.syncing is None:
                continue
            result = SyncResult(error)
            if error is Err.NONE:
                result = SyncResult(error, self.protocol_type, self.protocol, member.assignment)
            effects.append(CompleteCall(member.syncing, result))
            member.syncing = None
            self.renew(member, now)
        return effects

    # --- Heartbeat, commits, LeaveGroup -----------------------------------------------------------------------

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, context: GroupContext) -> Err:
        if self.state is ClassicGroupState.DEAD:
            return ANSWERS["heartbeat"][self.state]
        error = self.members.check(member_id, instance_id)
        if error is not Err.NONE:
            return error
        if generation != self.generation:
            return Err.ILLEGAL_GENERATION
        self.renew(self.members.get(member_id), context.now)
        return ANSWERS["heartbeat"][self.state]

    def check_commit(self, commit: OffsetCommit, context: GroupContext) -> Err:
        """Return NONE if the offsets may be committed: a member needs the present generation (rule 60).

        A group without members takes -1. A member's commit renews its session. A transactional producer is no member; from
        KIP-447 on its request names the member for which it commits (rule 61).
        """
        if self.state is ClassicGroupState.DEAD:
            return ANSWERS["commit"][self.state]
        if commit.generation < 0 and self.state is ClassicGroupState.EMPTY:
            return Err.NONE                              # an administrator, or a consumer that assigns itself
        if commit.generation < 0 and not commit.member_id and commit.instance_id is None:
            return Err.NONE if commit.transactional else Err.UNKNOWN_MEMBER_ID
        error = self.members.check(commit.member_id, commit.instance_id)
        if error is Err.NONE and commit.generation != self.generation:
            error = Err.ILLEGAL_GENERATION
        if error is Err.NONE and not commit.transactional:
            error = ANSWERS["commit"][self.state]
        if error is Err.NONE:
            self.renew(self.members.get(commit.member_id), context.now)
        return error

    def leave(self, call: Call, leaving: list[Leaving], context: GroupContext) -> list[Effect]:
        """Remove members; the reply, one error for each member in `leaving`, comes before the other effects."""
        if self.state is ClassicGroupState.DEAD:
            return [CompleteCall(call, [Err.COORDINATOR_NOT_AVAILABLE for _ in leaving])]
        errors: list[Err] = []
        effects: list[Effect] = []
        for one in leaving:
            error, farewell = self._leave_one(one)
            errors.append(error)
            effects += farewell
        if Err.NONE in errors and self.state is not ClassicGroupState.EMPTY:
            effects += self.rebalance_or_complete(context.now)
        return [CompleteCall(call, errors), *effects]

    def _leave_one(self, one: Leaving) -> tuple[Err, list[Effect]]:
        member_id = one.member_id
        if member_id in self.members.pending:
            self.members.remove(member_id)
            return Err.NONE, []
        if member_id == NO_MEMBER and one.instance_id is not None:
            member_id = self.members.static.get(one.instance_id, NO_MEMBER)
        error = self.members.check(member_id, one.instance_id)
        return (error, []) if error is not Err.NONE else (error, self._remove(self.members.get(member_id)))

    def _remove(self, member: ClassicGroupMember) -> list[Effect]:
        """Remove a member; its waiting calls are answered UNKNOWN_MEMBER_ID, so the client joins again without the id."""
        effects: list[Effect] = []
        if member.joining is not None:
            effects.append(CompleteCall(member.joining, JoinResult(Err.UNKNOWN_MEMBER_ID)))
        if member.syncing is not None:
            effects.append(CompleteCall(member.syncing, SyncResult(Err.UNKNOWN_MEMBER_ID)))
        self.members.remove(member.member_id)
        self._has_synced(member.member_id)
        return effects

    # --- offsets and administration -------------------------------------------------------------------------------

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Let every client fetch: a classic group has no member epochs."""

    def check_delete(self) -> Err:
        return ANSWERS["delete"][self.state]

    def check_offset_delete(self) -> Err:
        if self.protocol_type == CONSUMER and self.state is not ClassicGroupState.DEAD:
            return Err.NONE                              # decided topic by topic
        return ANSWERS["delete"][self.state]

    def reads(self, topic: str) -> bool:
        if self.protocol_type != CONSUMER:
            return False
        subscriptions = [subscribed_topics(member.metadata(self.protocol)) for member in self.members]
        return any(topics is None or topic in topics for topics in subscriptions)

    def offset_age_starts(self, commit_ms: int, entered_ms: int) -> int | None:
        if self.protocol_type is None:
            return commit_ms
        if self.state is ClassicGroupState.EMPTY:
            return entered_ms
        return commit_ms if self.state is ClassicGroupState.STABLE and self.protocol_type == CONSUMER else None

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    def settled_fields(self, image: MetadataImage) -> dict[str, object]:
        known = {m.member_id: assigned_partitions(m.assignment) for m in self.members}
        return {"names": {m.member_id: m.instance_id or m.client_id for m in self.members},
                "assignment": {member: partitions for member, partitions in known.items() if partitions is not None}}

    def topics_changed(self, names: Set[str]) -> None:
        """Do nothing: the members of a classic group watch the topics themselves."""

    def tombstones(self) -> list[tuple[bytes, None]]:
        return [(group_key(self.group_id), None)]

    # --- time -------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        due = [self.join_deadline, self.sync_deadline, *self.members.pending.values(),
               *(member.deadline for member in self.members)]
        return min((time for time in due if time is not None), default=None)

    def tick(self, context: GroupContext) -> list[Effect]:
        """Do what is due: end the join phase, then remove members without a SyncGroup, then silent members."""
        now = context.now
        effects: list[Effect] = []
        if self.join_deadline is not None and self.join_deadline <= now:
            effects += self._complete_join(now) if self.extension_ms is None else self._initial_wait_over(now)
        if self.sync_deadline is not None and self.sync_deadline <= now:
            effects += self._sync_overdue(now)
        for member_id in [m for m, time in self.members.pending.items() if time <= now]:
            self.members.remove(member_id)
            effects += self._complete_after_expiry(now)
        for member in [m for m in self.members if m.deadline is not None and m.deadline <= now]:
            effects += self._silent(member, now)
        return effects

    def _sync_overdue(self, now: float) -> list[Effect]:
        """Remove members that joined but sent no SyncGroup in time: no one would read the partitions assigned to them."""
        effects: list[Effect] = []
        self.sync_deadline = None
        for member_id in list(self.pending_sync):
            effects += self._remove(self.members.get(member_id))
        return [*effects, *self._rebalance(now)]

    def _silent(self, member: ClassicGroupMember, now: float) -> list[Effect]:
        gone = self.members.by_id.get(member.member_id) is not member
        if gone or member.deadline is None or member.deadline > now:
            return []                    # an earlier expiry of this tick removed it, or ended its wait
        member.deadline = None
        if not member.is_new and (member.joining is not None or member.syncing is not None):
            return []                    # its call waits here: the client cannot send heartbeats meanwhile
        farewell = self._remove(member)
        if self.state is ClassicGroupState.PREPARING_REBALANCE:
            return [*farewell, *self._complete_after_expiry(now)]
        return [*farewell, *self._rebalance(now)]

    def _complete_after_expiry(self, now: float) -> list[Effect]:
        joining = self.state is ClassicGroupState.PREPARING_REBALANCE
        return self._complete_join(now) if joining and self.members.all_joined() else []

    def renew(self, member: ClassicGroupMember, now: float) -> None:
        """Begin a new session of the member."""
        member.deadline = now + member.session_timeout_ms / 1000

    def check(self) -> None:
        if self.state is ClassicGroupState.DEAD:
            return
        self.members.check_books()
        preparing = self.state is ClassicGroupState.PREPARING_REBALANCE
        completing, stable = self.state is ClassicGroupState.COMPLETING_REBALANCE, self.state is ClassicGroupState.STABLE
        assert not (self.is_empty and len(self.members)), "I-GROUP-1 an empty group has members"
        assert preparing is (self.join_deadline is not None), "I-GROUP-8 a join phase has an end, and nothing else has it"
        assert bool(self.pending_sync) is (self.sync_deadline is not None), "I-GROUP-8 SyncGroup is waited for, but not for ever"
        assert self.pending_sync.keys() <= self.members.by_id.keys(), "I-GROUP-8 the SyncGroup of a stranger is waited for"
        if completing or stable:
            assert self.generation and self.protocol in self.members.common_protocols(), f"I-GROUP-5 {self.protocol}"
        for m in self.members:
            assert m.joining is None or preparing or stable, f"I-GROUP-8 a JoinGroup of {m.member_id} waits for no rebalance"
            assert m.syncing is None or completing, f"I-GROUP-7 a SyncGroup of {m.member_id} waits for no assignment"
            assert m.syncing is None or m.member_id not in self.pending_sync, f"I-GROUP-8 the SyncGroup of {m.member_id} came"
            waits = m.joining is not None or m.syncing is not None
            assert waits or m.deadline is not None, f"I-GROUP-8 {m.member_id} may be silent for ever"

    def _move(self, event: str) -> list[Effect]:
        self.state = NEXT[self.state][event]
        return [Moved(self.state, self.generation, tuple(self.members.by_id))]


def _differ(sent: str | None, known: str | None) -> bool:
    return sent is not None and known is not None and sent != known
