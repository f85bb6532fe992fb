"""A group of either kind (lone_group.py), judged before and after each event (group_properties.py).

Owns: which sentences are for which event, and the book of open calls.
Invariants: I-JGROUP-1 each call has one answer, and a refused request changes nothing (I-GROUP-8).
            I-JGROUP-2 an assignment in an answer stands in the last record that was committed (rule 58).
            I-JGROUP-3 when a group changes its protocol, every member goes over with all that it said and had; a group is classic
              again when the last member of the consumer protocol is removed and others stay, and then only.
            I-GSENDER-1 a request is taken from a present member alone, in its generation or epoch, under its own instance id; the
              answer never calls such a member a stranger (rules 59, 60, 848).
            I-GSIZE-1 nobody joins a full group, and a group that is not full refuses nobody for its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

from minikafka.broker.groups.classic.embedded_protocol import read_subscription
from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import (
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
    check,
)
from minikafka.broker.groups.consumer.migration import DOWNGRADES
from minikafka.broker.groups.consumer.reconciliation import (
    JOINING,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupMember,
    unpack,
)
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import answered, same, that
from minikafka.proof.small_worlds.groups import group_properties as rules
from minikafka.proof.small_worlds.groups.group_properties import GroupPicture
from minikafka.proof.small_worlds.groups.lone_group import LATEST, LoneGroup
from minikafka.protocol.errors import Err, KafkaError

REFUSED = "what a refused request changes"
STRANGER = {Err.UNKNOWN_MEMBER_ID, Err.FENCED_INSTANCE_ID, Err.UNRELEASED_INSTANCE_ID, Err.ILLEGAL_GENERATION,
            Err.FENCED_MEMBER_EPOCH, Err.STALE_MEMBER_EPOCH}


class JudgedGroup(LoneGroup):
    """The group and its judges. During an event: `acts` sent it, `signs` have a new session by it, `removed` were removed."""

    def __init__(self, rng: Random, topics: dict[str, int], config: GroupConfig, **settings: object) -> None:
        super().__init__(topics, config, **settings)
        self.rng, self.removed, self.effects = rng, list[str](), list[Any]()
        self.open, self.acts, self.signs, self.retried = set[str](), set[str](), set[str](), set[str]()
        self.founded = self.written = self.group.state
        self.facts: object = None
        self.overlapped = False  # the last record was made while another was on its way, which may have failed since

    # --- events -----------------------------------------------------------------------------------------------------

    @contextmanager
    def event(self, *acts: str, leaving: Iterable[str] | None = ()) -> Iterator[GroupPicture]:
        """Let something happen, and judge the group before and after it. `leaving` None: time passes."""
        before = GroupPicture(self.present)
        self.effects, self.removed, self.acts, self.signs = [], [], {*acts}, set()
        yield before
        group, same_group = self.present, self.present is before.group
        if isinstance(group, ConsumerGroup):
            acts, signs = (self.acts, self.signs) if same_group else (group.state.members, group.state.members)  # type: ignore
            rules.consumer_deadlines(before, group, self.context, acts, signs, self.retried)
        elif same_group:
            rules.classic_event(before, group, self.effects, self.now, self.signs, leaving and {*leaving})
        if isinstance(group, ClassicGroup):
            self._logged(group)
        same("I-JGROUP-1", "the calls that wait", self.open, {*GroupPicture(group).waiting})

    def _logged(self, group: ClassicGroup) -> None:
        """Check I-GSTORE-1 and I-JGROUP-2."""
        stored = self.stored
        if group.state_name == "Stable" and not self.in_flight and not self.overlapped:
            same("I-GSTORE-1", "a Stable group", group.snapshot(), stored)
        given = [e.result for e in self.effects if isinstance(e, CompleteCall) and isinstance(e.result, SyncResult)]
        for result in (one for one in given if one.error is Err.NONE):
            known = stored and (stored.protocol_type, stored.protocol, {m.assignment for m in stored.members})
            that("I-JGROUP-2", known and known[:2] == (result.protocol_type, result.protocol_name)
                 and result.assignment in known[2], f"{result} is handed out, and the record is {stored}")

    def judge(self, what: str, answer: Err, may: bool) -> None:
        """Check I-GSENDER-1 of the answer to a request; `may`: its sender is a present member, where it must be one."""
        taken = answer in (Err.NONE, Err.REBALANCE_IN_PROGRESS)
        that("I-GSENDER-1", may if taken else not may or answer not in STRANGER,
             f"{what} is answered {answer.name}, and its sender is {'' if may else 'not '}the one that it must be")
        that("I-GSENDER-1", answer is not Err.COORDINATOR_NOT_AVAILABLE, f"{what} is answered as if there were no group")

    def carry_out_classic(self, effects: Iterable[Any]) -> None:
        effects = [*effects]
        self.effects += effects
        for effect in effects:
            if isinstance(effect, CompleteCall):
                that("I-JGROUP-1", effect.call in self.open, f"{effect.call} is answered again")
                self.open.remove(effect.call)
            elif isinstance(effect, Store):
                self.overlapped = bool(self.in_flight)
        super().carry_out_classic(effects)

    def carry_out(self, effects: Iterable[Any]) -> HeartbeatResponse | None:
        answer: HeartbeatResponse | None = None
        for effect in effects:
            before = self.group.state.draft()
            answer = super().carry_out([effect]) or answer
            if self.classic is not None:
                continue
            after, of = self.group.state, {*self.removed} if isinstance(effect, RemoveMembers) else set()
            if isinstance(effect, Write):
                of, self.written = {*self.acts, getattr(effect.result, "member_id", "")}, after.draft()
            elif isinstance(effect, ResolveRegexes):
                that("I-GEPOCH-1", after.expressions(), "expressions are matched, and there are none")
                same("I-GEPOCH-1", "what the expressions match", {e: one.topics for e, one in after.regexes.items()},
                     {e: rules.matching(e, self.image) for e in after.expressions()})
                rules.matched_for_a_reason(before, after, self.context)
            rules.consumer_event(before, after, of, self.facts, self.context)
            that("I-GSIZE-1", len(after.members) <= max(len(before.members), self.settings.max_size), "the group is too large")
            self.facts = rules.facts(after, self.context) if after.epoch != before.epoch else self.facts
        return answer

    def tick(self) -> None:
        """Let the group do what is due; now and then the log refuses it, and it is due again half a second later."""
        with self.event(leaving=None) as before:
            if self.classic is not None:
                super().tick()
                return
            effects = self.group.tick(self.context)
            late = {m for e in effects if isinstance(e, RemoveMembers) for m in e.member_ids}
            overdue = {m for (_, m), due in before.due.items() if due is not None and due <= self.now}
            that("I-GTIME-1", late <= overdue, f"{late} are removed too early")
            if self.rng.random() < 0.1:
                self.retried |= late
            else:
                self.carry_out(effects)

    def commit(self, error: Err = Err.NONE) -> None:
        then, group = self.in_flight[0].then, self.classic
        assert group is not None
        back = group.members.by_id.get(then.new_member_id) if isinstance(then, Replaced) else None
        waits = back is not None and back.joining is not None
        with self.event() as before:
            super().commit(error)
        if isinstance(then, Replaced) and not waits:
            same("I-GROUP-11", "what a record changes that comes too late", rules.picture(group), before.picture)
        elif isinstance(then, Replaced) and error is not Err.NONE:
            same("I-GROUP-11", "who has the instance", group.members.static.get(then.instance_id), then.old_member_id)
            same("I-GROUP-11", "what it had said", group.members.get(then.old_member_id).protocols, then.before.protocols)

    def fail_over(self) -> None:
        """Let another coordinator serve."""
        self.retried.clear()
        self.overlapped = False
        with self.event():
            super().fail_over()

    def serve(self, group: ClassicGroup) -> None:
        before, self.effects = GroupPicture(group), []
        super().serve(group)
        rules.classic_event(before, group, self.effects, self.now, before.ids, ())
        same("I-GSIZE-1", "whether it rebalances", group.state is rules.PREPARING, len(group.members) > group.config.max_size)

    # --- requests of classic members --------------------------------------------------------------------------------

    def ask(self, what: str, call: str, request: Any) -> None:
        group = self.present
        self.open.add(call)
        named = [one.member_id or rules.instances(group).get(one.instance_id, "") for one in request] if what == "leave" else [
            request.member_id]
        with self.event(*named, leaving=named) as before:
            if what == "join" and not request.member_id:
                self.acts |= {before.instances.get(request.instance_id, "")}
            super().ask(what, call, request)
            answer = self.answers.get(call)
            if isinstance(group, ConsumerGroup) and answer is not None:
                self.open.remove(call)
            if what == "leave":
                self._left(before, request, answer)
            elif what == "join":
                self._joined(before, call, request, answer)
            else:
                self._synced(before, request, answer)

    def _joined(self, before: GroupPicture, call: str, request: Join, answer: JoinResult | None) -> None:
        """Judge a JoinGroup: who may send it, and that the group has what it says."""
        group, me, error = self.present, request.member_id, Err.NONE if answer is None else answer.error
        inside = before.is_sender(me, request.instance_id)
        if isinstance(group, ConsumerGroup):
            inside = request.instance_id is None or before.instances.get(request.instance_id) == me
        self.judge("JoinGroup", error, not me or me in before.pending or inside)
        most = group.config.max_size if isinstance(group, ClassicGroup) else self.settings.max_size
        that("I-GSIZE-1", error is not Err.GROUP_MAX_SIZE_REACHED or len(before.ids) >= most, "there is room for a member")
        if error is Err.MEMBER_ID_REQUIRED:
            that("I-GROUP-4", answer and answer.member_id not in {"", *before.ids, *before.pending}, "an id is given twice")
        returns = not me and request.instance_id is None and request.must_return  # it must come back with the id (KIP-394)
        that("I-GROUP-4", error is not (Err.NONE if returns else Err.MEMBER_ID_REQUIRED), f"{request} is answered {error.name}")
        that("I-GROUP-5", error is not Err.NONE or request.protocol_type == group.protocol_type, f"{request} is of another type")
        if error is not Err.NONE:
            if isinstance(group, ConsumerGroup) or error not in (Err.GROUP_MAX_SIZE_REACHED, Err.MEMBER_ID_REQUIRED):
                same("I-JGROUP-1", REFUSED, rules.picture(group), before.picture)
        elif isinstance(group, ConsumerGroup) and answer is not None:
            self._joined_consumers(before, request, answer)
        elif isinstance(group, ClassicGroup) and me and me == before.leader:
            that("I-GJOIN-1", group.state_name != "Stable", "the leader joins to assign anew, and nobody is called")
        elif isinstance(group, ClassicGroup) and (me := GroupPicture(group).waiting.get(call, "")):
            one = group.members.get(me)
            same("I-JGROUP-3", f"what {me} said", (one.protocols, one.session_timeout_ms, one.rebalance_timeout_ms),
                 (request.protocols, request.session_timeout_ms, request.rebalance_timeout_ms))

    def _joined_consumers(self, before: GroupPicture, request: Join, answer: JoinResult) -> None:
        """Judge a JoinGroup in a consumer group: it is a heartbeat that says everything."""
        me, (said, _) = answer.member_id, read_subscription(request.protocols[0][1])
        topics, one = self.image.topics, self.written.members[answer.member_id]
        owned = {(topics[row.topic].id, index) for row in said.owned_partitions or () if row.topic in topics
                 for index in row.partitions}
        was = self._as_it_was(before.consumers, before, me, request.instance_id, not request.member_id)
        rules.stepped(was, self.written, me, owned, self.image)
        rules.up_to_date(self.group.state, self.facts, self.context)
        classic = one.metadata.classic
        same("I-JGROUP-3", f"what {me} said", (one.metadata.topics, one.metadata.rebalance_timeout_ms, classic and (
            classic.session_timeout_ms, tuple((p.name, p.metadata) for p in classic.protocols))), (
                tuple(sorted({*said.topics})), request.rebalance_timeout_ms, (request.session_timeout_ms, request.protocols)))
        same("I-JGROUP-1", "the answer", (answer.generation, answer.protocol_name), (one.current.epoch, request.protocols[0][0]))
        self.acts, self.signs = {*self.acts, me}, {me}
        that("I-CGROUP-5", me in self.group.awaited, f"the SyncGroup of {me} may never come")

    def _synced(self, before: GroupPicture, request: Sync, answer: SyncResult | None) -> None:
        """Judge a SyncGroup."""
        group, error = self.present, Err.NONE if answer is None else answer.error
        self.judge("SyncGroup", error, before.is_sender(request.member_id, request.instance_id, request.generation))
        if error is not Err.NONE or isinstance(group, ConsumerGroup):
            same("I-JGROUP-1", REFUSED, rules.picture(group), before.picture)
        if error in (Err.NONE, Err.INCONSISTENT_GROUP_PROTOCOL):
            kind, name = rules.protocol(group, request.member_id)
            same("I-GROUP-5", f"whether {request} names its group's protocol", error is Err.NONE,
                 request.protocol_type in (None, kind) and request.protocol_name in (None, name))
        if isinstance(group, ConsumerGroup) and answer is not None and error is Err.NONE:
            one = group.state.members[request.member_id]
            same("I-JGROUP-2", "its partitions", rules.rows(answer.assignment), rules.named(one.assigned, self.image))
            that("I-GSTEP-1", one.current.epoch == group.state.epoch or one.revoking, f"{one} does not hear of a newer epoch")
            that("I-CGROUP-5", request.member_id not in group.awaited, "a member is called to sync that did")
            self.signs = {request.member_id}

    def _left(self, before: GroupPicture, leaving: list[Leaving], errors: list[Err]) -> None:
        """Judge a LeaveGroup: the members that are named and known are gone, and no other member."""
        named: set[str] = set()
        for one, error in zip(leaving, errors, strict=True):
            who = one.member_id or before.instances.get(one.instance_id or "", "")
            may = who in before.pending or before.is_sender(who, one.instance_id, classic=False)
            self.judge("LeaveGroup", error, may and (who not in named or error is Err.NONE))
            named |= {who} if error is Err.NONE else set()
        group = self.present
        now = {*rules.roster(group), *(group.members.pending if isinstance(group, ClassicGroup) else ())}
        same("I-JGROUP-1", "who leaves", {*before.ids, *before.pending} - now, named)

    def classic_beat(self, member_id: str, instance: str | None, generation: int) -> Err:
        with self.event(member_id) as before:
            answer = super().classic_beat(member_id, instance, generation)
            self.judge("Heartbeat", answer, before.is_sender(member_id, instance, generation))
            self.signs = {member_id} if answer in (Err.NONE, Err.REBALANCE_IN_PROGRESS) else set()
            same("I-JGROUP-1", "what a heartbeat changes", rules.picture(self.present), before.picture)
            if self.signs and self.classic is None:
                called = answer is Err.REBALANCE_IN_PROGRESS
                that("I-CGROUP-5", not called or member_id in self.group.awaited, f"{member_id} is called, and may never come")
                same("I-GSTEP-1", f"whether {member_id} is called", called, rules.may_call(self.group.state, member_id))
        return answer

    def ask_to_commit(self, commit: OffsetCommit) -> None:
        """Ask whether offsets may be committed."""
        with self.event(commit.member_id) as before:
            answer = self.present.check_commit(commit, self.context)
            known = [key for key in commit.keys if key[0] in self.image.topics]
            self.judge("OffsetCommit", answer, before.may_commit(
                commit, self.partitions(*(f"{topic}-{index}" for topic, index in known))))
            same("I-JGROUP-1", "what a commit changes", rules.picture(self.present), before.picture)
            if self.classic is not None and answer is Err.NONE and commit.generation >= 0:
                self.signs = {commit.member_id}

    # --- heartbeats of the consumer protocol ------------------------------------------------------------------------

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        old, refused, answer = self.classic, None, HeartbeatResponse("", 0)
        for fault in rules.FAULTS:
            for version in (0, LATEST):
                that("I-GSENDER-1", answered(check, "g", replace(beat, **fault), version, self.settings), f"{fault} is taken")
        with self.event(beat.member_id) as before:
            if beat.epoch == JOINING:
                self.acts |= {before.instances.get(beat.instance_id or "", "")}
            try:
                answer = super().send(beat)
            except KafkaError as error:
                refused = error
                same("I-JGROUP-1", REFUSED, rules.picture(self.present), before.picture)
            if old is None:
                self.judge("ConsumerGroupHeartbeat", refused.code if refused else Err.NONE, before.may_beat(beat))
            if refused is None:
                self._answered(before, self.founded if old else before.consumers, beat, answer)
        if refused is not None:
            raise refused
        return answer

    def _answered(self, before: GroupPicture, state: ConsumerGroupState, beat: ConsumerGroupHeartbeat,
                  answer: HeartbeatResponse) -> None:
        """Judge a heartbeat that is taken: what it makes of its member, and what it is answered."""
        me = beat.member_id
        if beat.epoch == LEAVE_GROUP_MEMBER_EPOCH or beat.epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH and beat.instance_id is None:
            same("I-JGROUP-1", "who leaves", self.removed, [me])
            return
        now, was = self.written.members[me], self._as_it_was(state, before, me, beat.instance_id, beat.epoch == JOINING)
        if beat.epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:  # its partitions wait for it
            same("I-GSTEP-1", "what it keeps", (now.current.epoch, now.assigned.keys()),
                 (LEAVE_GROUP_STATIC_MEMBER_EPOCH, was.assigned.keys()))
            return
        fields = {name: getattr(beat, name) for name in ("regex", "rack_id", "instance_id", "assignor")}
        sent = {name: value for name, value in fields.items() if value is not None}
        sent |= {} if beat.topics is None else {"topics": tuple(sorted({*beat.topics}))}
        sent |= {} if beat.rebalance_timeout_ms == -1 else {"rebalance_timeout_ms": beat.rebalance_timeout_ms}
        same("I-JGROUP-3", f"what {me} said", {name: getattr(now.metadata, name) for name in sent}, sent)
        rules.stepped(was, self.written, me, beat.owned, self.image)
        told = None if answer.assignment is None else {*unpack(answer.assignment)}
        must = beat.is_full or was.assigned.keys() != now.assigned.keys()
        same("I-JGROUP-1", "the answer", (answer.epoch, told), (now.current.epoch, {*now.assigned} if must else None))
        rules.up_to_date(self.group.state, self.facts, self.context)
        self.signs = {me}

    @staticmethod
    def _as_it_was(state: ConsumerGroupState, before: GroupPicture, me: str, instance: str | None,
                   joins: bool) -> ConsumerGroupMember:
        """Return a member before its request; a static member that comes back has the place of its predecessor, in epoch 0."""
        was = state.members.get(before.instances.get(instance or "", me), rules.NOBODY)
        return replace(was, current=replace(was.current, epoch=JOINING)) if joins and instance in before.instances else was

    # --- from one kind to the other ---------------------------------------------------------------------------------

    def remove(self, effect: RemoveMembers) -> None:
        self.removed = [*effect.member_ids]
        that("I-JGROUP-1", self.removed, "nobody is removed")
        members, most, policy = self.group.state.members, self.classic_config.max_size, self.settings.migration_policy
        stay = [one.is_classic for m, one in members.items() if m not in self.removed]
        last = all(stay) and not all(one.is_classic for one in members.values())  # of the consumer protocol
        super().remove(effect)
        same("I-JGROUP-3", "whether the group is classic again", self.classic is not None,
             last and 0 < len(stay) <= most and policy in DOWNGRADES)

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        self.founded, self.facts = group.state.draft(), None
        self.retried.clear()
        if not old.is_empty:
            having = {m: [*one.assigned] for m, one in group.state.members.items()}
            same("I-JGROUP-3", "the members", rules.told_by_consumer(group.state, having, self.image),
                 rules.told_by_classic(old, self.image))
            same("I-JGROUP-3", "their racks", {m: one.metadata.rack_id for m, one in group.state.members.items()},
                 {m.member_id: rules.embedded(old, m).rack_id or None for m in old.members})
            same("I-JGROUP-3", "their epochs", rules.roster(group), dict.fromkeys(rules.roster(old), max(1, old.generation)))

    def downgraded(self, stored: StoredGroup, group: ClassicGroup) -> None:
        state = self.group.state
        wanted = rules.told_by_consumer(state, {m: [*target] for m, target in state.targets.items()}, self.image)
        stay = {m: one for m, one in wanted.items() if m not in self.removed}
        same("I-JGROUP-3", "the members", rules.told_by_classic(group, self.image), stay)
        same("I-JGROUP-3", "the generation", group.generation, state.epoch)
        same("I-JGROUP-3", "what is left in the log", self.replayed().state, ConsumerGroupState("g"))
