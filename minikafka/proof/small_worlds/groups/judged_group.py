"""A group of either kind (lone_group.py), each of whose answers and effects is judged at once.

Owns: what must be true of each request, and which book is asked: classic_rules.py, consumer_rules.py; faults.py has the errors.
Invariants: a refused request changes nothing (I-GROUP-9, I-CGROUP-4); one without a fault is not refused.
            I-JGROUP-2 a partition has one owner in a generation, whichever protocol its owner speaks.
            I-JGROUP-3 a member gets what the leader of its generation has sent for it, once that is committed (rule 58).
            a group changes its protocol when it must, and every member goes over with all that it had.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from minikafka.broker.groups.classic.embedded_protocol import read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
    Assigned,
    Call,
    CompleteCall,
    GroupConfig,
    Join,
    JoinResult,
    Leaving,
    Replaced,
    Store,
    StoredGroup,
    Sync,
    SyncResult,
)
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import (
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    RemoveMembers,
    ResolveRegexes,
    Write,
)
from minikafka.broker.groups.consumer.records import ClassicMetadata, ClassicProtocol, MemberMetadata
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.proof.small_worlds.groups import faults, migration_rules
from minikafka.proof.small_worlds.groups.classic_rules import (
    COMPLETING,
    PREPARING,
    ClassicRules,
    GroupPicture,
    recorded,
    same,
    that,
    welcomed,
)
from minikafka.proof.small_worlds.groups.consumer_rules import ConsumerRules, as_it_was, must_resolve
from minikafka.proof.small_worlds.groups.lone_group import LoneGroup
from minikafka.protocol.errors import Err, KafkaError

STABLE = "Stable"


def unchanged(after: ConsumerGroupState, before: ConsumerGroupState) -> None:
    """Check that a group is as it was, whichever records it was made of."""
    for state in (after, before):
        state.written.clear()
    same("a group that nothing has happened to", after, before)


class JudgedGroup(LoneGroup):
    """The group and its judges. `removed`: who was removed by the last request; `written`: the group after the last Write."""

    def __init__(self, rng: Random, topics: dict[str, int], config: GroupConfig, **settings: object) -> None:
        super().__init__(topics, config, **settings)
        self.rng, self.removed, self.effects = rng, list[str](), list[Any]()
        self.rules, self.classic_rules = ConsumerRules(), ClassicRules(config)
        self.judged: ClassicGroup | None = None
        self.founded = self.written = self.group.state
        self.resolved: tuple[ConsumerGroupState, ConsumerGroupState] | None = None

    # --- what happens to a classic group ----------------------------------------------------------------------------

    def event(self, happens: Callable[[], object], call: Call | None = None, ticks: bool = False) -> GroupPicture:
        """Let something happen to the classic group, and judge it. Return what the group was before."""
        group = self.classic
        assert group is not None
        if self.judged is not group:
            self.judged, self.classic_rules = group, ClassicRules(self.classic_config)
            self.classic_rules.loaded(group, self.now)
        before, self.effects = GroupPicture.of(group), []
        happens()
        self.classic_rules.event(before, group, self.effects, self.now, call, ticks)
        for effect in self.effects:
            if isinstance(effect, Store):
                recorded(group, effect)
            elif isinstance(effect, CompleteCall) and isinstance(effect.result, SyncResult) and effect.result.error is Err.NONE:
                self._given(group, before.waiting().get(effect.call), effect.result)
        return before

    def _given(self, group: ClassicGroup, member: str | None, result: SyncResult) -> None:
        """Check I-JGROUP-2 and I-JGROUP-3."""
        same("the protocol", (result.protocol_type, result.protocol_name), (group.protocol_type, group.protocol))
        if member in group.members:
            known = group.members.get(member or "")
            same("the assignment in the answer", result.assignment, known.assignment)
        given = [partition for m in group.members for partition in migration_rules.rows(m.assignment)]
        that(len(given) == len({*given}), f"a partition has two owners in generation {group.generation}")

    def carry_out_classic(self, effects: Any) -> None:
        self.effects += effects
        super().carry_out_classic(effects)

    def serve(self, group: ClassicGroup) -> None:
        same("the group that was loaded", self.stored is None or group.snapshot(), self.stored is None or self.stored)
        self.event(lambda: super(JudgedGroup, self).serve(group))
        same("whether it rebalances", group.state is PREPARING, len(group.members) > group.config.max_size)

    def unload(self, group: ClassicGroup) -> None:
        waiting, self.effects = GroupPicture.of(group).waiting(), []
        super().unload(group)
        answers = {e.call: e.result.error for e in self.effects if isinstance(e, CompleteCall)}  # type: ignore[union-attr]
        same("the answers to the calls that wait", answers, dict.fromkeys(waiting, Err.NOT_COORDINATOR))

    def fail_over(self) -> None:
        """Let another coordinator serve."""
        if self.classic is None:
            unchanged(self.replayed().state, self.group.state)
        super().fail_over()
        if self.classic is None:
            self.rules.loaded(self.group, self.context)

    def commit(self, error: Err = Err.NONE) -> None:
        then, group = self.in_flight[0].then, self.classic
        assert group is not None
        before = self.event(lambda: super(JudgedGroup, self).commit(error))
        answers = [e.result for e in self.effects if isinstance(e, CompleteCall)]
        if isinstance(then, Assigned) and before.state is COMPLETING and then.generation == before.generation:
            same("the state", group.state_name, STABLE if error is Err.NONE else "PreparingRebalance")
            same("the errors", {one.error for one in answers} - {error}, set())  # type: ignore[union-attr]
            if error is Err.NONE:
                stored = dict(then.assignments)
                same("the assignments", {m.member_id: m.assignment for m in group.members},
                     {m: stored.get(m, b"") for m in group.members.by_id})
        elif isinstance(then, Replaced) and (one := before.members.get(then.new_member_id)) and one.joining is not None:
            (answer,) = answers
            assert isinstance(answer, JoinResult)
            same("who has the instance", group.members.static[then.instance_id],
                 then.new_member_id if error is Err.NONE else then.old_member_id)
            if error is not Err.NONE:
                same("what it had said", group.members.get(then.old_member_id).protocols, then.before.protocols)
            elif then.may_skip:
                welcomed(group, answer)
            same("the answer", (answer.error, answer.skip_assignment, answer.leader, bool(answer.members)), (
                error, skips := error is Err.NONE and then.may_skip and group.members.leader == then.new_member_id,
                group.members.leader if error is Err.NONE and then.may_skip else then.old_leader, skips))
        else:
            same("a record for which it is too late", (GroupPicture.of(group), answers), (before, []))

    def tick(self) -> None:
        """Let the group do what is due; now and then the log refuses it, and it is due again half a second later."""
        before, self.removed = self.group.state.draft(), []
        if self.classic is not None:
            self.event(super().tick, ticks=True)
            return
        effects = self.group.tick(self.context)
        late = [m for e in effects if isinstance(e, RemoveMembers) for m in e.member_ids]
        that(all(self.rules.ends(m)[0] <= self.now for m in late), f"{late} are removed too early")
        if self.rng.random() < 0.1:
            for member in late:
                self.rules.forget(member)
                self.rules.until[member] = self.now + 0.5
            unchanged(self.group.state, before)
        else:
            self.carry_out(effects)

    def rebalance(self) -> None:
        self.event(super().rebalance)

    # --- requests of classic members --------------------------------------------------------------------------------

    @property
    def most(self) -> int:
        """Return how many members the group may have."""
        return self.settings.max_size if self.classic is None else self.classic.config.max_size

    def ask(self, what: str, call: str, request: Any) -> None:
        group, self.removed, asked = self.present, [], lambda: super(JudgedGroup, self).ask(what, call, request)
        wrong = faults.of_join(group, request, self.most) if what == "join" else set()
        wrong |= faults.of_sync(group, request) if what == "sync" else set()
        kept = self.group.state.draft()
        members, static = faults.roster(group, classic_only=False)
        pending = [*group.members.pending] if isinstance(group, ClassicGroup) else []
        before = self.event(asked, call) if isinstance(group, ClassicGroup) else asked()
        answer = self.answers.get(call)
        if what == "leave":
            now = faults.roster(group, classic_only=False)[0]
            gone = {*members, *pending} - {*now, *(group.members.pending if isinstance(group, ClassicGroup) else ())}
            self._left({*members, *pending}, static, request, answer, gone if self.classic is group else {*self.removed})
            if isinstance(group, ClassicGroup) and not gone:
                same("a group that nobody leaves", GroupPicture.of(group), before)
            elif isinstance(group, ClassicGroup) and gone & {*members}:
                that(group.state_name != STABLE, "a member leaves, and nobody is called to join")
            return
        error = Err.NONE if answer is None else answer.error
        faults.judge(f"{request}", wrong, error)
        if error is Err.MEMBER_ID_REQUIRED:
            that(answer.member_id and answer.member_id not in (*members, *pending), "an id is given twice")
        if isinstance(group, ConsumerGroup):
            if error is not Err.NONE or what == "sync":
                unchanged(group.state, kept)
            (self._mixed_join if what == "join" else self._mixed_sync)(kept, request, answer)
        elif error is not Err.NONE:
            if error is not Err.GROUP_MAX_SIZE_REACHED and error is not Err.MEMBER_ID_REQUIRED:
                same("a refused request", GroupPicture.of(group), before)
        elif what == "join":
            self._joined(before, group, request, answer)
        else:
            self._synced(before, group, request, answer)

    def _joined(self, before: GroupPicture, group: ClassicGroup, request: Join, answer: JoinResult | None) -> None:
        """Judge a JoinGroup that is taken: it calls the others, unless it changes nothing, or a static member is back."""
        mine, stored = before.members.get(request.member_id), [e.then for e in self.effects if isinstance(e, Store)]
        changes = mine is None or mine.protocols != request.protocols or before.state is PREPARING or (
            before.state.value == STABLE and before.leader == request.member_id)
        if not changes:
            same("a group of which a member changes nothing", GroupPicture.of(group), before)
            that(answer is not None, "a member that changes nothing waits")
            welcomed(group, answer)  # type: ignore[arg-type]
            return
        (member_id,) = [request.member_id] if request.member_id else group.members.by_id.keys() - before.members.keys()
        named = request.client_id if request.instance_id is None else request.instance_id
        that(request.member_id or member_id.startswith(f"{named}-") and member_id not in before.pending, f"{member_id} is new")
        one = group.members.get(member_id)
        same("what it said", (one.protocols, one.session_timeout_ms, one.rebalance_timeout_ms, one.instance_id),
             (request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms,
              request.instance_id if mine is None else mine.instance_id))
        back = request.member_id == "" and request.instance_id in before.static and before.state.value == STABLE
        if back and group.state.value == STABLE:
            same("who leads, and what is stored", (group.members.leader == member_id, stored), (
                before.leader == before.static[request.instance_id or ""], [Replaced(
                    request.instance_id or "", before.static[request.instance_id or ""], member_id, before.leader or "",
                    stored[0].before, request.may_skip)]))  # type: ignore[union-attr]
            that(group.protocol == group.members.elect_protocol(), "the group would choose another protocol now")
        else:
            that(group.state in (PREPARING, COMPLETING), "nobody is called to join")

    def _synced(self, before: GroupPicture, group: ClassicGroup, request: Sync, answer: SyncResult | None) -> None:
        """Judge a SyncGroup that is taken (rule 58)."""
        stored = [e.then for e in self.effects if isinstance(e, Store)]
        that(request.member_id not in group.pending_sync, "SyncGroup is awaited though it came")
        if before.state.value == STABLE:
            known = group.members.get(request.member_id).assignment
            same("the answer, and what is stored", (answer, stored), (
                SyncResult(Err.NONE, group.protocol_type, group.protocol, known), []))
            return
        that(answer is None, "an assignment is sent before it is stored")
        handed = {m: dict(request.assignments).get(m, b"") for m in before.members}
        leads = before.leader == request.member_id
        same("what is stored", stored, [Assigned(group.generation, tuple(handed.items()))] if leads else [])

    def _left(self, members: set[str], static: dict[str, str], leaving: list[Leaving], errors: list[Err], gone: set[str]) -> None:
        """Judge a LeaveGroup: who is named and known is gone, and nobody else."""
        named: set[str] = set()
        for one, error in zip(leaving, errors, strict=True):
            holder = static.get(one.instance_id) if one.instance_id is not None else one.member_id
            who = one.member_id or holder or ""
            if error is Err.FENCED_INSTANCE_ID:
                that(holder not in (None, who), f"{one} is fenced, and {holder} has the instance")
            elif error is Err.NONE:
                that(who in members and (holder == who or who not in static.values()), f"{one} leaves, and is no member")
                named.add(who)
            else:
                same("why it cannot leave", error, Err.UNKNOWN_MEMBER_ID)
                that(holder is None or who not in members or named & {who, holder}, f"{one} is unknown")
        same("who leaves", gone, named)

    def classic_beat(self, member_id: str, instance: str | None, generation: int) -> Err:
        group, wrong = self.present, faults.of_heartbeat(self.present, member_id, instance, generation)
        before = GroupPicture.of(group) if isinstance(group, ClassicGroup) else self.group.state.draft()
        answer = super().classic_beat(member_id, instance, generation)
        faults.judge(f"a heartbeat of {member_id}", wrong, answer)
        renews = answer in (Err.NONE, Err.REBALANCE_IN_PROGRESS)
        if isinstance(before, GroupPicture) and isinstance(group, ClassicGroup):
            same("a group that only renews a session", GroupPicture.of(group), before)
            if renews:
                self.classic_rules.renew(group.members.get(member_id), self.now)
        elif isinstance(before, ConsumerGroupState):
            unchanged(self.group.state, before)
            if renews:
                self.rules.renew(member_id, before.members[member_id], self.context)
            if answer is Err.REBALANCE_IN_PROGRESS:
                self.rules.call_back(member_id, before.members[member_id], self.now)
        return answer

    def _mixed_join(self, before: ConsumerGroupState, request: Join, answer: JoinResult) -> None:
        """Judge a JoinGroup in a consumer group: it is a heartbeat that says everything."""
        if answer.error is not Err.NONE:
            return
        me, data = answer.member_id, read_subscription(request.protocols[0][1])[0]
        that(me == request.member_id or not request.member_id and me not in before.members, f"it joins as {me!r}")
        topics, rows = self.image.topics, data.owned_partitions or ()
        owned = {(topics[row.topic].id, index) for row in rows if row.topic in topics for index in row.partitions}
        known = before.static_member(request.instance_id) if request.instance_id is not None else None
        back = not request.member_id and known is not None
        beat = ConsumerGroupHeartbeat(me, 0 if back else 1, instance_id=request.instance_id, owned=frozenset(owned))
        old = as_it_was(before, beat).metadata
        self.rules.step(before, self.written, beat, MemberMetadata(
            old.instance_id if request.instance_id is None else request.instance_id, data.rack_id or old.rack_id,
            request.client_id, request.client_host, tuple(sorted({*data.topics})), "", request.rebalance_timeout_ms, old.assignor,
            ClassicMetadata(request.session_timeout_ms, tuple(ClassicProtocol(*one) for one in request.protocols))), self.context)
        same("the answer", answer, JoinResult(
            Err.NONE, me, self.written.members[me].current.epoch, "consumer", request.protocols[0][0]))
        self.rules.renew(me, self.written.members[me], self.context)
        self.rules.called[me] = self.now + request.rebalance_timeout_ms / 1000
        self._judge_resolved()

    def _judge_resolved(self) -> None:
        """Judge what the expressions match now, after the request that asked for it."""
        if self.resolved is not None:
            self.rules.resolved(*self.resolved, self.context)
        self.resolved = None

    def _mixed_sync(self, before: ConsumerGroupState, request: Sync, answer: SyncResult) -> None:
        """Judge a SyncGroup in a consumer group."""
        me = before.members.get(request.member_id)
        if answer.error is Err.REBALANCE_IN_PROGRESS and me is not None:
            self.rules.call_back(request.member_id, me, self.now)
        if answer.error is not Err.NONE or me is None or me.metadata.classic is None:
            return
        same("the protocol", (answer.protocol_type, answer.protocol_name), (request.protocol_type, request.protocol_name))
        same("its partitions", migration_rules.rows(answer.assignment), migration_rules.named(me.assigned, self.image))
        same("the assignment's version", answer.assignment[:2], me.metadata.classic.protocols[0].metadata[:2])
        self.rules.called.pop(request.member_id, None)
        self.rules.renew(request.member_id, me, self.context)

    # --- heartbeats of the consumer protocol ------------------------------------------------------------------------

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        old, before, context, self.removed = self.classic, self.group.state.draft(), self.context, []
        leaves = beat.epoch in (faults.LEAVING, faults.AWAY)
        if old is not None:
            wrong = migration_rules.of_upgrade(old, beat, self.settings)
        else:
            wrong = faults.of_leaving(self.group, beat) if leaves else faults.of_beat(self.group, beat, context)
        self.effects = []
        try:
            answer = super().send(beat)
        except KafkaError as refused:
            faults.judge(f"{beat}", wrong, refused.code)
            that(self.classic is old, "a refusal changes the protocol")
            unchanged(self.group.state, before)
            raise
        faults.judge(f"{beat}", wrong, Err.NONE)
        if old is not None:
            waiting = GroupPicture.of(old).waiting()
            answers = {e.call: e.result.error for e in self.effects if isinstance(e, CompleteCall)}  # type: ignore[union-attr]
            same("the answers to the calls that wait", answers, dict.fromkeys(waiting, Err.REBALANCE_IN_PROGRESS))
            before = self.founded
        if not leaves:
            self.rules.heartbeat(before, self.written, beat, context, answer)
            self._judge_resolved()
            return answer
        same("the answer", (answer.member_id, answer.epoch, answer.assignment), (beat.member_id, beat.epoch, None))
        if beat.instance_id is not None and beat.epoch == faults.AWAY:
            self.rules.away(before, self.group.state, beat.member_id)
        else:
            same("who leaves", self.removed, [beat.member_id])
        return answer

    def carry_out(self, effects: Any) -> HeartbeatResponse | None:
        answer: HeartbeatResponse | None = None
        for effect in effects:
            before = self.group.state.draft()
            answer = super().carry_out([effect]) or answer
            if isinstance(effect, Write):
                self.written = self.group.state.draft()
                if effect.call is not None and effect.records:
                    due = must_resolve(self.written, self.context)
                    same("whether expressions are to be resolved", any(isinstance(e, ResolveRegexes) for e in effects),
                         due and getattr(effect.result, "epoch", 1) >= 0)
            elif isinstance(effect, ResolveRegexes):
                self.resolved = before, self.group.state.draft()
        return answer

    # --- from one kind to the other ---------------------------------------------------------------------------------

    def remove(self, effect: RemoveMembers) -> Any:
        self.removed, before = [*effect.member_ids], self.group.state.draft()
        that(len(effect.member_ids) > 0, "nobody is removed")
        answer = super().remove(effect)
        wanted = migration_rules.becomes_classic(before, self.removed, self.settings, self.classic_config.max_size)
        same("whether it is a classic group now", self.classic is not None, wanted)
        if self.classic is None:
            self.rules.removed(before, self.removed, self.group.state, self.context)
        else:
            same("the state of the classic group", self.classic.state, PREPARING)
        return answer

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        migration_rules.check_upgrade(old, group, self.image)
        self.founded, self.rules = group.state.draft(), ConsumerRules()
        self.rules.loaded(group, self.context)

    def downgraded(self, stored: StoredGroup, group: ClassicGroup) -> None:
        migration_rules.check_downgrade(self.group.state, self.removed, stored, group, self.image)
        same("what is left in the log", self.replayed().state, ConsumerGroupState("g"))
