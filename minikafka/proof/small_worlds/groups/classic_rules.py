"""What the rules of a classic group say of each of its answers: asked a second time, from outside, in other words.

    rules = ClassicRules(config)
    before = look(group)                          what the group was before it was asked (classic_seen.py)
    rules.judge(before, "join", arguments, result, group, now)

Raises RuleFallen where the group does what no rule allows, or leaves out what a rule demands: a wrong error, a call that is
answered twice or never, a session that begins or ends at another time, a join phase that ends early or late, an assignment
that is not the one which was stored.

Owns: the judgement of each method of ClassicGroup, and its own book of sessions and phases.
Source: KIP-134, KIP-345, KIP-394, KIP-814; rules 57 to 60.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    Assigned,
    Call,
    CompleteCall,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Moved,
    Replaced,
    Store,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import RuleFallen
from minikafka.proof.small_worlds.groups.classic_seen import (
    COMPLETING,
    DEAD,
    EMPTY,
    PREPARING,
    STABLE,
    GroupSeen,
    MemberSeen,
    answer_to,
    common,
    elected,
    fits,
    joins,
    look,
    same,
    sent,
    that,
)
from minikafka.protocol.errors import Err

SOON = 1e-6  # seconds: sums of times in another order


class ClassicRules:
    """The judge of one group, from its beginning, or from its loading, on."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.sessions: dict[str, float] = {}  # member or pending id -> the end of its session
        self.phase_ends = self.phase_began = 0.0  # of the join phase, or of the time for SyncGroup
        self.window_ends: float | None = None  # of the present initial delay
        self.joined_in_window = False
        self.prolonged_at = -1.0  # the join phase, because only static members are left, and none has joined
        self.unsynced: set[str] = set()
        self.ticks: list[float] = []  # at the present time

    def judge(self, before: GroupSeen, what: str, arguments: tuple[Any, ...], result: Any, group: ClassicGroup,
              now: float) -> None:
        """Judge one call of a method, and what the group is after it. Raises RuleFallen."""
        after = look(group)
        effects = result if isinstance(result, list) else []
        try:
            getattr(self, f"_{what}")(before, after, now, result, *arguments)
            self._moves(before, after, now, effects)
            self._calls(before, after, now, arguments[0] if what in ("join", "sync", "leave") else None, effects)
            self._members(before, after, now, what, effects)
            self._times(after, group.next_deadline(), now)
        except RuleFallen as fallen:
            raise RuleFallen(fallen.id, f"{fallen}, when {what}{arguments} met {before}: {result}, then {after}") from None

    # --- JoinGroup ------------------------------------------------------------------------------------------------

    def _join(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], call: Call, request: Join,
              _context: object) -> None:
        error, answer = self._join_error(before, request), answer_to(effects, call)
        told = Err.NONE if answer is None else answer.error
        same("the error", told, error)
        if error is Err.MEMBER_ID_REQUIRED:
            that(answer.member_id not in before.members and answer.member_id not in before.pending, "an id is given twice")
            self.sessions[answer.member_id] = now + request.session_timeout_ms / 1000
            same("the ids given out", after.pending, (*before.pending, answer.member_id))
        if error is not Err.NONE:
            late = request.member_id if error is Err.GROUP_MAX_SIZE_REACHED else None
            same("members", [*after.members], [m for m in before.members if m != late])
            return
        member_id = self._joins_as(before, after, request)
        mine = before.members.get(request.member_id)
        unchanged = mine is not None and mine.protocols == request.protocols
        if unchanged and before.state != PREPARING and (before.state != STABLE or before.leader != member_id):
            same("a member that changes nothing is answered at once", after, before)
            self._welcomed(after, answer, member_id)
            return
        one = after.members[member_id]
        same("what it said", (one.protocols, one.session, one.rebalance, one.instance), (
            request.protocols, request.session_timeout_ms / 1000, request.rebalance_timeout_ms / 1000,
            before.members[request.member_id].instance if mine is not None else request.instance_id))
        replaced = request.member_id == "" and request.instance_id in before.static
        if replaced and before.state == STABLE and elected(after) == before.protocol:
            stored = [e for e in effects if isinstance(e, Store)]
            that(len(stored) == 1 and after.state == STABLE, "a new id of a static member is not stored, or calls the others")
            then = stored[0].then
            same("the replacement", then, Replaced(
                request.instance_id or "", before.static[request.instance_id or ""], member_id, before.leader or "",
                then.before, request.may_skip))  # type: ignore[union-attr]
        else:
            that(after.state in (PREPARING, COMPLETING), "nobody is called to join")
        self._session_of_a_join(before, member_id, mine, replaced, request, now)

    def _session_of_a_join(self, before: GroupSeen, member_id: str, mine: MemberSeen | None, replaced: bool, request: Join,
                           now: float) -> None:
        if replaced:
            self._renamed(before.static[request.instance_id or ""], member_id)
            self.sessions[member_id] = now + request.session_timeout_ms / 1000
        elif mine is None:
            self.sessions[member_id] = now + self.config.new_member_join_timeout_ms / 1000
        if self.window_ends is not None and mine is None and not replaced and before.state == PREPARING:
            self.joined_in_window = True

    def _renamed(self, old: str, new: str) -> None:
        """Note that a static member has another id: what it has not done yet, it has not done under the new one either."""
        self.sessions.pop(old, None)
        self.unsynced = {new if member_id == old else member_id for member_id in self.unsynced}

    def _join_error(self, before: GroupSeen, request: Join) -> Err:
        if before.state == DEAD:
            return Err.COORDINATOR_NOT_AVAILABLE
        size = len(before.joined) if before.state == PREPARING else len(before.members)
        inside = request.member_id in (before.joined if before.state == PREPARING else before.members)
        if before.state != EMPTY and not inside and size >= self.config.max_size:
            return Err.GROUP_MAX_SIZE_REACHED
        if not fits(before, request):
            return Err.INCONSISTENT_GROUP_PROTOCOL
        if request.member_id == "":
            by_id = request.instance_id is None and request.must_return
            return Err.MEMBER_ID_REQUIRED if by_id else Err.NONE
        if request.member_id in before.pending:
            return Err.NONE if request.instance_id is None else Err.UNKNOWN_SERVER_ERROR
        error = before.refuses(request.member_id, request.instance_id)
        return Err.UNKNOWN_MEMBER_ID if error is Err.NONE and before.state == EMPTY else error

    def _joins_as(self, before: GroupSeen, after: GroupSeen, request: Join) -> str:
        if request.member_id:
            return request.member_id
        new = [m for m in after.members if m not in before.members]
        same("new members", len(new), 1)
        named = request.instance_id or request.client_id
        that(new[0].startswith(f"{named}-") and new[0] not in before.pending, f"{new[0]} is the new id of {named}")
        return new[0]

    def _welcomed(self, group: GroupSeen, answer: JoinResult, member_id: str, skip: bool = False) -> None:
        everybody = tuple((m, one.instance, sent(one.protocols, group.protocol)) for m, one in group.members.items())
        same("the answer", answer, JoinResult(
            Err.NONE, member_id, group.generation, group.protocol_type, group.protocol, group.leader or "", skip,
            everybody if group.leader == member_id else ()))

    # --- the phases -----------------------------------------------------------------------------------------------

    def _moves(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any]) -> None:
        state, generation = before.state, before.generation
        for at, effect in enumerate(effects):
            if not isinstance(effect, Moved):
                continue
            moved = effect.state.value
            if moved == PREPARING:
                known = {**before.members, **after.members}
                self._rebalances(state, max((known[m].rebalance for m in effect.members), default=0.0), now)
            elif moved == COMPLETING:
                self._completes(before, after, now, effects[at + 1:], began_now=(state, before.state) != (PREPARING, PREPARING))
            elif moved == EMPTY:
                that(state == PREPARING and not after.members and after.protocol is None, "it is empty too early")
                that(any(isinstance(e, Store) and not e.group.members for e in effects), "that it is empty is not stored")
            if moved in (COMPLETING, EMPTY):
                generation += 1
            that(moved != STABLE or state == COMPLETING, f"{state} becomes {moved}")
            same("what is told of the generation", effect.generation, generation)
            that({*effect.members} <= {*before.members, *after.members}, f"{effect.members} are told as members")
            state = moved
        same("the state", after.state, state)
        same("the generation", after.generation, generation)

    def _rebalances(self, state: str, longest: float, now: float) -> None:
        delay = self.config.initial_rebalance_delay_ms / 1000
        self.phase_began, self.joined_in_window, self.unsynced = now, False, set()
        self.window_ends = now + delay if state == EMPTY else None
        self.phase_ends = now + max(longest, delay) if state == EMPTY else now + longest

    def _completes(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], began_now: bool) -> None:
        """Check the end of a join phase: its time, its members, its protocol, and who is told what."""
        all_joined = not after.pending and {*after.members} == {e.result.member_id for e in effects if joins(e)}
        silent = any(m not in after.pending and m not in after.members for m in (*before.pending, *before.members))
        if self.window_ends is None:
            that(all_joined or now >= self.phase_ends - SOON, "the join phase ends though members are awaited")
        elif not (silent and all_joined):  # as in Kafka, the end of a session may end the initial delay too
            same("the end of the initial delay", abs(now - self.window_ends) < SOON, True)
            that(not self.joined_in_window or now >= self.phase_ends - SOON, "a member joined in the last delay")
        same("the protocol", after.protocol, elected(after))
        that(after.leader in after.members, "the leader is no member")
        for effect in filter(joins, effects):
            if effect.result.error is Err.NONE:
                self._welcomed(after, effect.result, effect.result.member_id)
        welcome = {e.result.member_id for e in effects if joins(e) and e.result.error is Err.NONE}
        absent = [m for m in after.members if m not in welcome]
        that(all(after.members[m].instance is not None for m in absent), "a dynamic member that has not joined stays")
        that(after.leader in welcome, "a member leads that has not joined")
        that(before.leader not in welcome or before.leader == after.leader or began_now, "the leader is deposed")
        for member_id, one in after.members.items():
            self.sessions[member_id] = now + one.session
        self.window_ends, self.unsynced = None, {*after.members}
        self.phase_ends = now + max(one.rebalance for one in after.members.values())

    # --- SyncGroup ------------------------------------------------------------------------------------------------

    def _sync(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], call: Call, request: Sync,
              _context: object) -> None:
        error, answer = self._sync_error(before, request), answer_to(effects, call)
        same("the error", Err.NONE if answer is None else answer.error, error)
        stored = [e for e in effects if isinstance(e, Store)]
        if error is not Err.NONE:
            same("nothing but the session", after, before)
            return
        self.unsynced.discard(request.member_id)
        if before.state == STABLE:
            same("the answer", answer, SyncResult(
                Err.NONE, before.protocol_type, before.protocol, before.members[request.member_id].assignment))
            same("nothing", (after, stored), (before, []))
            return
        that(answer is None, "an assignment before it is stored")
        if before.leader != request.member_id:
            same("what a follower stores", stored, [])
            return
        handed = {m: dict(request.assignments).get(m, b"") for m in before.members}
        same("what the leader hands out", [e.then for e in stored], [Assigned(before.generation, tuple(handed.items()))])
        same("what is stored", {m.member_id: m.assignment for m in stored[0].group.members}, handed)
        self._is_stored(after, stored[0])

    def _sync_error(self, before: GroupSeen, request: Sync) -> Err:
        if before.state in (EMPTY, DEAD):
            return Err.UNKNOWN_MEMBER_ID if before.state == EMPTY else Err.COORDINATOR_NOT_AVAILABLE
        error = before.refuses(request.member_id, request.instance_id)
        if error is not Err.NONE:
            return error
        if request.generation != before.generation:
            return Err.ILLEGAL_GENERATION
        other_type = before.protocol_type is not None and request.protocol_type not in (None, before.protocol_type)
        other_name = before.protocol is not None and request.protocol_name not in (None, before.protocol)
        if other_type or other_name:
            return Err.INCONSISTENT_GROUP_PROTOCOL
        return Err.REBALANCE_IN_PROGRESS if before.state == PREPARING else Err.NONE

    def _is_stored(self, group: GroupSeen, store: Store) -> None:
        """Check the record against the group; its assignments are checked elsewhere."""
        rows = {m.member_id: (m.instance_id, m.session_timeout_ms / 1000, m.rebalance_timeout_ms / 1000, m.subscription)
                for m in store.group.members}
        same("the record's members", rows, {
            m: (one.instance, one.session, one.rebalance, sent(one.protocols, group.protocol))
            for m, one in group.members.items()})
        record = store.group
        same("the record", (record.protocol_type, record.generation, record.protocol, record.leader),
              (group.protocol_type or "", group.generation, group.protocol, group.leader))

    def _on_committed(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any],
                      then: Assigned | Replaced | None, error: Err, _now: float) -> None:
        if isinstance(then, Replaced):
            self._replaced(before, after, now, effects, then, error)
            return
        if then is None or before.state != COMPLETING or then.generation != before.generation:
            same("nothing", (after, effects), (before, []))
            return
        told = {m: answer_to(effects, one.syncing) for m, one in before.members.items() if one.syncing is not None}
        same("the errors", {answer.error for answer in told.values()} - {error}, set())
        same("the state", after.state, STABLE if error is Err.NONE else PREPARING)
        if error is Err.NONE:
            stored = dict(then.assignments)
            same("the assignments", {m: one.assignment for m, one in after.members.items()},
                  {m: stored.get(m, b"") for m in before.members})
            same("what is told", told, {
                m: SyncResult(Err.NONE, before.protocol_type, before.protocol, stored.get(m, b"")) for m in told})

    def _replaced(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], then: Replaced, error: Err) -> None:
        mine = before.members.get(then.new_member_id)
        if mine is None or mine.joining is None:
            same("nothing", (after, effects), (before, []))
            return
        answer = answer_to(effects, mine.joining)
        self.sessions[then.new_member_id] = now + mine.session
        if error is not Err.NONE:
            same("who has the instance", after.static[then.instance_id], then.old_member_id)
            self._renamed(then.new_member_id, then.old_member_id)
            self.sessions[then.old_member_id] = now + then.before.session_timeout_ms / 1000
            same("what it said", after.members[then.old_member_id].protocols, then.before.protocols)
            same("the error", (answer.error, answer.leader), (error, then.old_leader))
        elif then.may_skip:
            self._welcomed(after, answer, then.new_member_id, skip=after.leader == then.new_member_id)
        else:
            same("the answer", (answer.error, answer.member_id, answer.leader, answer.members),
                  (Err.NONE, then.new_member_id, then.old_leader, ()))

    # --- Heartbeat, commits, LeaveGroup -----------------------------------------------------------------------------

    def _heartbeat(self, before: GroupSeen, after: GroupSeen, now: float, told: Err, member_id: str, instance: str | None,
                   generation: int, _context: object) -> None:
        error = Err.COORDINATOR_NOT_AVAILABLE if before.state == DEAD else before.refuses(member_id, instance)
        if error is Err.NONE and generation != before.generation:
            error = Err.ILLEGAL_GENERATION
        if error is Err.NONE:
            self.sessions[member_id] = now + before.members[member_id].session
            error = Err.REBALANCE_IN_PROGRESS if before.state == PREPARING else Err.NONE
        same("the answer", (told, after), (error, before))

    def _check_commit(self, before: GroupSeen, after: GroupSeen, now: float, told: Err, commit: OffsetCommit,
                      _context: object) -> None:
        anybody = commit.generation < 0 and (before.state == EMPTY or (not commit.member_id and commit.instance_id is None))
        if before.state == DEAD:
            error = Err.COORDINATOR_NOT_AVAILABLE
        elif anybody:
            error = Err.NONE if before.state == EMPTY or commit.transactional else Err.UNKNOWN_MEMBER_ID
        else:
            error = before.refuses(commit.member_id, commit.instance_id)
            if error is Err.NONE and commit.generation != before.generation:
                error = Err.ILLEGAL_GENERATION
            elif error is Err.NONE and before.state == COMPLETING and not commit.transactional:
                error = Err.REBALANCE_IN_PROGRESS
            elif error is Err.NONE:
                self.sessions[commit.member_id] = now + before.members[commit.member_id].session
        same("the answer", (told, after), (error, before))

    def _leave(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], call: Call, leaving: list[Leaving],
               _context: object) -> None:
        errors, gone, pending = [], [], set(before.pending)
        static = dict(before.static)
        for one in leaving:
            named = static.get(one.instance_id or "", "") if not one.member_id else one.member_id
            if one.member_id in pending:
                pending.discard(one.member_id)
                errors.append(Err.NONE)
                continue
            holder = named if one.instance_id is None else static.get(one.instance_id)
            known = named in before.members and named not in gone and holder is not None
            fenced = holder is not None and holder != named
            error = Err.FENCED_INSTANCE_ID if fenced else Err.NONE if known else Err.UNKNOWN_MEMBER_ID
            if error is Err.NONE:
                gone.append(named)
                static = {i: m for i, m in static.items() if m != named}
            errors.append(error)
        if before.state == DEAD:
            errors, gone = [Err.COORDINATOR_NOT_AVAILABLE for _ in leaving], []
        same("the errors", answer_to(effects, call), errors)
        that(not any(m in after.members for m in gone), "a member that has left is still there")
        that(not gone or after.state in (PREPARING, COMPLETING, EMPTY), "nobody is called to join")
        for member_id in gone:
            for waiting in (before.members[member_id].joining, before.members[member_id].syncing):
                if waiting is not None:
                    same("its call", answer_to(effects, waiting).error, Err.UNKNOWN_MEMBER_ID)

    # --- time, and the coordinator ----------------------------------------------------------------------------------

    def _tick(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], _context: object) -> None:
        self.ticks = [*(at for at in self.ticks if at == now), now]
        that(len(self.ticks) < 10, f"at {now} it wakes up again and again, and does not do what is due")
        moved = any(isinstance(e, Moved) for e in effects)
        if before.state == PREPARING and self.window_ends is not None and now >= self.window_ends - SOON and not moved:
            that(self.joined_in_window and now < self.phase_ends - SOON, "the initial delay is over, and nothing happens")
            self.window_ends = min(self.window_ends + self.config.initial_rebalance_delay_ms / 1000, self.phase_ends)
            self.joined_in_window = False
        elif before.state == PREPARING and self.window_ends is None and now >= self.phase_ends - SOON:
            away = not after.joined and all(one.instance is not None for one in after.members.values())
            that(away or moved, "the join phase is over, and nothing happens")
            if after.state == PREPARING and not moved:
                static = [one.rebalance for one in before.members.values() if one.instance is not None]
                self.phase_ends = now + max(static, default=0.0)
                self.prolonged_at = now
        elif before.state in (COMPLETING, STABLE) and self.unsynced and now >= self.phase_ends - SOON:
            that(not self.unsynced & {*after.members}, "a member that sends no SyncGroup stays")

    def _start(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any], _context: object) -> None:
        self.sessions = {m: now + one.session for m, one in before.members.items()}
        same("whether it rebalances", after.state == PREPARING, len(before.members) > self.config.max_size)

    def _unload(self, before: GroupSeen, after: GroupSeen, now: float, effects: list[Any]) -> None:
        same("the errors", {e.result.error for e in effects if isinstance(e, CompleteCall)} - {Err.NOT_COORDINATOR}, set())

    # --- after whatever happened --------------------------------------------------------------------------------------

    def _calls(self, before: GroupSeen, after: GroupSeen, now: float, call: Call | None, effects: Iterable[Any]) -> None:
        """Check I-GROUP-8: each call waits or has one answer."""
        answered = Counter(e.call for e in effects if isinstance(e, CompleteCall))
        left = Counter([*before.waiting, *([] if call is None else [call])]) - answered
        same("the calls that wait", Counter([*after.waiting]), left)
        same("calls answered twice", [one for one, times in answered.items() if times > 1], [])
        for member_id, one in before.members.items():
            if one.syncing in answered and member_id in after.members:
                self.sessions[member_id] = now + one.session  # the client could send no heartbeat meanwhile

    def _members(self, before: GroupSeen, after: GroupSeen, now: float, what: str, effects: list[Any]) -> None:
        """Check I-GROUP-4, the leader, the size, and that who goes has left, was silent, or did not join in time."""
        same("instances", after.static, {one.instance: m for m, one in after.members.items() if one.instance is not None})
        that((after.leader in after.members) == bool(after.members), "the leader is no member")
        if after.state in (COMPLETING, STABLE):
            that(after.protocol in common(after), "not every member knows the protocol")
        over = any(isinstance(e, Moved) for e in effects) or what == "tick" and self.prolonged_at == now
        for member_id in [*before.members, *before.pending]:
            one = before.members.get(member_id)
            if member_id in after.members or member_id in after.pending or what in ("leave", "join", "on_committed", "unload"):
                continue
            late = now >= self.sessions[member_id] - SOON
            missed = one is not None and one.instance is None and one.joining is None and over
            unsynced = member_id in self.unsynced or before.state in (COMPLETING, STABLE) and over
            that(late or missed or unsynced, f"{member_id} is removed before {self.sessions[member_id]}")
        for member_id in [*self.sessions]:
            if member_id not in after.members and member_id not in after.pending:
                del self.sessions[member_id]

    def _times(self, after: GroupSeen, due: float | None, now: float) -> None:
        """Check that the group wakes up in time for whatever is due next."""
        if after.state == DEAD:
            return
        ends = [self.sessions[m] for m in after.pending]
        ends += [self.sessions[m] for m, one in after.members.items() if one.is_new or (one.joining is one.syncing is None)]
        if after.state == PREPARING:
            ends.append(self.phase_ends if self.window_ends is None else self.window_ends)
        elif self.unsynced:
            ends.append(self.phase_ends)
        that(not ends or due is not None and due <= min(ends) + SOON, f"it sleeps until {due}, and {min(ends, default=0)} is due")
