"""What must be true of a classic group after each event, whatever the event was: its calls, its phases, its sessions.

    rules.event(before, group, effects, now, call, ticks)     `before`: GroupPicture.of(group), before the event

The asserts of the group (ClassicGroup.check) say what a state may be. These sentences are about two states, or about time:
a call is answered once, a join phase ends in its time and leaves out nobody who came, a session is as long as its member said.

Owns: GroupPicture, ClassicRules: the end of the present phase and of each session.
Invariants: I-CRULE-1 a member without a waiting call is removed one session after its last request or answer, and not before.
            I-CRULE-2 a join phase ends when all have joined, or when its time is over; the first one of a group when nobody new
              has come for the initial delay.
Source: KIP-134, KIP-345; rules 57 to 59.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.members import ClassicGroupMember
from minikafka.broker.groups.classic.messages import Call, CompleteCall, GroupConfig, JoinResult, Moved, Store
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.proof.small_worlds import checks
from minikafka.protocol.errors import Err

SOON = 1e-6  # seconds: sums of times in another order
EMPTY, PREPARING, COMPLETING = (ClassicGroupState.EMPTY, ClassicGroupState.PREPARING_REBALANCE,
                                ClassicGroupState.COMPLETING_REBALANCE)
that, same = partial(checks.that, "I12"), partial(checks.same, "I12")


@dataclass(frozen=True)
class GroupPicture:
    """A group at a moment; two are equal if nothing has happened between them but time and signs of life."""

    state: ClassicGroupState
    generation: int
    leader: str | None
    members: dict[str, ClassicGroupMember]
    static: dict[str, str]
    pending: tuple[str, ...]
    unsynced: tuple[str, ...]

    @classmethod
    def of(cls, group: ClassicGroup) -> GroupPicture:
        members = {m.member_id: replace(m, deadline=None) for m in group.members}
        return cls(group.state, group.generation, group.members.leader, members, dict(group.members.static),
                   tuple(group.members.pending), tuple(group.pending_sync))

    def waiting(self) -> dict[Call, str]:
        """Return the calls that wait, each with its member."""
        return {call: m for m, one in self.members.items() for call in (one.joining, one.syncing) if call is not None}


class ClassicRules:
    """The books of one group, from its beginning, or from its loading, on."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.until: dict[str, float] = {}  # member or pending id -> the end of its session
        self.phase_ends = 0.0  # of the join phase, or of the time for SyncGroup
        self.newest: float | None = None  # in the first join phase: when somebody new came last

    def event(self, before: GroupPicture, group: ClassicGroup, effects: list[Any], now: float, call: Call | None = None,
              ticks: bool = False) -> None:
        """Judge one event. Raises RuleFallen."""
        after, moves = GroupPicture.of(group), [e for e in effects if isinstance(e, Moved)]
        self._calls(before, after, effects, call)
        self._phases(before, group, effects, now)
        if ticks:
            self._gone(before, after, moves, now)
        else:
            renamed = {m for instance, m in before.static.items() if instance in after.static}
            that(call is not None or before.members.keys() - renamed <= after.members.keys(), "a member is removed by nobody")
        self._sessions(before, group, {m.state for m in moves}, effects, now)

    def _calls(self, before: GroupPicture, after: GroupPicture, effects: list[Any], call: Call | None) -> None:
        """Check that each call waits or has one answer (I-GROUP-8)."""
        answered = Counter(e.call for e in effects if isinstance(e, CompleteCall))
        left = Counter([*before.waiting(), *([] if call is None else [call])])
        same("the calls that wait", Counter([*after.waiting()]), left - answered)
        that(answered <= left, f"{answered} are answered, and {left} wait")

    # --- phases -----------------------------------------------------------------------------------------------------

    def _phases(self, before: GroupPicture, group: ClassicGroup, effects: list[Any], now: float) -> None:
        """Follow the states: what each begins with, and how it ends."""
        generation, state, delay = before.generation, before.state, self.config.initial_rebalance_delay_ms / 1000
        grew = len(group.members) > len(before.members)
        if grew and self.newest is not None:
            self.newest = now
        for effect in (e for e in effects if isinstance(e, Moved)):
            generation += effect.state in (COMPLETING, EMPTY)
            same("the generation", effect.generation, generation)
            if effect.state is PREPARING:
                known = {**before.members, **group.members.by_id}
                longest = max((known[m].rebalance_timeout_ms / 1000 for m in effect.members), default=0.0)
                self.newest = now if state is EMPTY else None
                self.phase_ends = now + (max(longest, delay) if state is EMPTY else longest)
            elif effect.state is COMPLETING:
                self._joined(before, group, effects, now)
            state = effect.state
        same("the state and the generation", (group.state, group.generation), (state, generation))
        if group.state is PREPARING and self.newest is None and now >= self.phase_ends - SOON:  # only static members are left
            that(all(m.instance_id is not None and m.joining is None for m in group.members), "the join phase has no end")
            self.phase_ends = now + group.members.rebalance_timeout_ms() / 1000
        if group.state is PREPARING:
            due = group.join_deadline
            that(due == self.phase_ends if self.newest is None else due <= min(self.newest + 2 * delay, self.phase_ends) + SOON,
                 f"the join phase ends at {due}, not {self.phase_ends}; the newest came at {self.newest}")
        that(group.sync_deadline in (None, self.phase_ends), "SyncGroup is waited for too long, or not long enough")

    def _joined(self, before: GroupPicture, group: ClassicGroup, effects: list[Any], now: float) -> None:
        """Judge the end of a join phase: its time, who stays, who leads, the protocol, and the answers (I-CRULE-2)."""
        answers = {r.member_id: r for r in joins(effects) if r.error is Err.NONE}
        came, vanished = not group.members.pending and {*answers} == {*group.members.by_id}, {
            *before.members, *before.pending} - {*group.members.by_id, *group.members.pending}
        if self.newest is None:
            that(came or now >= self.phase_ends - SOON, "a join phase ends though members are awaited")
        elif not (vanished and came):  # as in Kafka, the end of a session may end the initial delay too
            quiet = now - self.newest >= self.config.initial_rebalance_delay_ms / 1000 - SOON
            that(quiet or now >= self.phase_ends - SOON, "the initial delay ends though somebody came")
        absent = [m for m in group.members if m.member_id not in answers]
        that(all(m.instance_id is not None for m in absent), "a dynamic member stays that has not joined")
        that(group.members.leader in answers, "a member leads that has not joined")
        that(before.leader not in answers or before.leader == group.members.leader, "the leader is deposed")
        common = group.members.common_protocols()
        votes = Counter(next(name for name, _ in m.protocols if name in common) for m in group.members)
        same("the votes for the protocol", votes[group.protocol or ""], max(votes.values()))
        for result in answers.values():
            welcomed(group, result)
        self.newest, self.phase_ends = None, now + group.members.rebalance_timeout_ms() / 1000
        same("who is to send SyncGroup", {*group.pending_sync}, {*group.members.by_id})

    # --- members and sessions ---------------------------------------------------------------------------------------

    def _gone(self, before: GroupPicture, after: GroupPicture, moves: list[Moved], now: float) -> None:
        """Check that who is removed by time was silent, or did not join or sync in time (I-CRULE-1)."""
        joined = any(m.state is not PREPARING for m in moves)
        for m in {*before.members, *before.pending} - {*after.members, *after.pending}:
            one = before.members.get(m)
            missed = one is not None and one.instance_id is None and one.joining is None and (joined or before.state is PREPARING)
            unsynced = m in before.unsynced and now >= self.phase_ends - SOON or bool(moves) and m in before.unsynced
            that(now >= self.until[m] - SOON or missed or unsynced, f"{m} is removed at {now}, and has until {self.until[m]}")

    def _sessions(self, before: GroupPicture, group: ClassicGroup, moved: set[ClassicGroupState], effects: list[Any],
                  now: float) -> None:
        """Keep the book of sessions, and compare it with the group's (I-CRULE-1)."""
        answered = {before.waiting().get(e.call) for e in effects if isinstance(e, CompleteCall)}
        for m in group.members:
            back = m.instance_id in before.static  # a static member under another id has a session at once
            if COMPLETING in moved or m.member_id in answered or m.member_id not in before.members and back:
                self.renew(m, now)
            elif m.member_id not in before.members:
                self.until[m.member_id] = now + self.config.new_member_join_timeout_ms / 1000
            if m.is_new or m.joining is m.syncing is None:
                same(f"when {m.member_id} is removed", m.deadline, self.until[m.member_id])
                that(m.deadline > now - SOON, f"{m.member_id} is silent, and stays")
        for m, due in group.members.pending.items():
            same(f"until when {m} is awaited", due, self.until.setdefault(m, due))
            that(due > now - SOON, f"{m} never came, and is awaited")
        self.until = {m: end for m, end in self.until.items() if m in group.members or m in group.members.pending}

    def renew(self, member: ClassicGroupMember, now: float) -> None:
        """Begin a new session of the member."""
        self.until[member.member_id] = now + member.session_timeout_ms / 1000

    def loaded(self, group: ClassicGroup, now: float) -> None:
        """Begin with a group that was loaded: every member has its whole session."""
        for member in group.members:
            self.renew(member, now)


def joins(effects: list[Any]) -> Iterator[JoinResult]:
    """Yield the answers to JoinGroup."""
    yield from (e.result for e in effects if isinstance(e, CompleteCall) and isinstance(e.result, JoinResult))


def welcomed(group: ClassicGroup, result: JoinResult) -> None:
    """Check the answer to a member that joined: the leader, unless it is to assign nothing, gets the other members too."""
    everybody = tuple((m.member_id, m.instance_id, m.metadata(group.protocol)) for m in group.members)
    same("the answer to a member that joined", result, JoinResult(
        Err.NONE, result.member_id, group.generation, group.protocol_type, group.protocol, group.members.leader or "",
        result.skip_assignment, everybody if group.members.leader == result.member_id else ()))


def recorded(group: ClassicGroup, store: Store) -> None:
    """Check a record against its group: another coordinator must find the same members."""
    same("the record's members", [(m.member_id, m.instance_id, m.session_timeout_ms, m.rebalance_timeout_ms, m.subscription)
                                  for m in store.group.members],
         [(m.member_id, m.instance_id, m.session_timeout_ms, m.rebalance_timeout_ms, m.metadata(group.protocol))
          for m in group.members])
    same("the record", (store.group.protocol_type, store.group.generation, store.group.protocol, store.group.leader),
         (group.protocol_type or "", group.generation, group.protocol, group.members.leader))
