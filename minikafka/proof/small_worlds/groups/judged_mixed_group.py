"""A group that changes its protocol (lone_mixed_group.py), each of whose answers is judged at once.

Owns: which judge is asked for which answer: classic_member_rules.py, consumer_rules.py, migration_rules.py.
Invariants: I-MIXJUDGE-1 a partition has one owner, whichever protocol its owner speaks, and no client uses another's.
            I-MIXJUDGE-2 a group changes its protocol when it must, and at no other time.
            I-MIXJUDGE-3 after a downgrade the log has nothing of the consumer group.
"""

from __future__ import annotations

from random import Random
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, Join, Leaving, StoredGroup, Sync
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import ConsumerGroupHeartbeat, HeartbeatResponse, RemoveMembers
from minikafka.broker.groups.consumer.state import ConsumerGroupState
from minikafka.proof.small_worlds.groups.classic_client import ClassicClient
from minikafka.proof.small_worlds.groups.classic_member_rules import ClassicMemberRules
from minikafka.proof.small_worlds.groups.classic_seen import same, that
from minikafka.proof.small_worlds.groups.consumer_facts import described, unchanged
from minikafka.proof.small_worlds.groups.consumer_rules import ConsumerRules
from minikafka.proof.small_worlds.groups.heartbeat_client import HeartbeatClient
from minikafka.proof.small_worlds.groups.lone_mixed_group import LoneMixedGroup
from minikafka.proof.small_worlds.groups.migration_rules import (
    becomes_classic,
    check_downgrade,
    check_upgrade,
    upgrade_error,
)
from minikafka.protocol.errors import Err, KafkaError

Client = HeartbeatClient | ClassicClient


class JudgedMixedGroup(LoneMixedGroup):
    """The group, its clients, and its judges. `removed`: who was removed by the last request."""

    def __init__(self, rng: Random, topics: dict[str, int], config: GroupConfig, **settings: object) -> None:
        super().__init__(topics, config, **settings)
        self.rng, self.removed, self.checks = rng, list[str](), 0
        self.rules = ClassicMemberRules(ConsumerRules())
        self.clients: dict[str, Client] = {}

    def delete(self, name: str) -> None:
        """Delete a topic; its readers hear of that at once."""
        super().delete(name)
        for client in self.clients.values():
            client.owns = {one for one in client.owns if not one.startswith(name)}
            if isinstance(client, HeartbeatClient) and client.told is not None:
                client.told = [one for one in client.told if not one.startswith(name)]

    def told(self, beat: HeartbeatResponse) -> list[str] | None:
        names = super().told(beat)
        return names and [one for one in names if not one.startswith("?")]

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        old, before, self.removed = self.classic, self.group.state.draft(), []
        outcome: HeartbeatResponse | Err
        try:
            outcome = super().send(beat)
        except KafkaError as refused:
            outcome = refused.code
        if old is not None:
            self._founded(old, beat, outcome)
        elif beat.epoch in (-1, -2):
            self.rules.consumers.leave(before, beat, self.context, outcome, self.group, stays=self.classic is None)
        else:
            self._heard(before, beat, outcome)
        if isinstance(outcome, Err):
            raise KafkaError(outcome)
        return outcome

    def _heard(self, before: ConsumerGroupState, beat: ConsumerGroupHeartbeat, outcome: HeartbeatResponse | Err) -> None:
        """Judge a heartbeat of a member that joins or stays."""
        self.rules.consumers.heartbeat(before, beat, self.context, outcome, self.group)
        if isinstance(outcome, HeartbeatResponse):
            known = before.static_member(beat.instance_id) if beat.instance_id is not None else None
            if known not in (None, beat.member_id):
                self.rules.forget(known or "")
            self.rules.stays(beat.member_id, self.group.state.members[beat.member_id], self.context)

    def _founded(self, old: ClassicGroup, beat: ConsumerGroupHeartbeat, outcome: HeartbeatResponse | Err) -> None:
        """Judge a heartbeat that came to a classic group (I-MIXJUDGE-2)."""
        if isinstance(outcome, HeartbeatResponse):
            waiting = [call for m in old.members for call in (m.joining, m.syncing) if call is not None]
            told = {call: self.answers[call].error for call in waiting if call in self.answers}
            same("what waiting calls are told", told, dict.fromkeys(waiting, Err.REBALANCE_IN_PROGRESS))
            self._heard(self.founded, beat, outcome)
            return
        error = upgrade_error(old, self.settings) if beat.epoch == 0 else Err.GROUP_ID_NOT_FOUND
        that(self.classic is old, "a refusal changes the protocol")
        full = len(old.members) >= self.settings.max_size
        wanted = error if error is not Err.NONE else Err.GROUP_MAX_SIZE_REACHED if full else Err.NONE
        same("why it is refused", outcome, wanted)

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        same("whether it may be upgraded", upgrade_error(old, self.settings), Err.NONE)
        check_upgrade(old, group, self.context)
        self.founded = group.state.draft()
        self.rules = ClassicMemberRules(ConsumerRules())
        self.rules.sessions = dict(group.sessions)
        for client in self.clients.values():
            if isinstance(client, ClassicClient):
                inside = client.member_id in old.members and client.generation == old.generation
                if not inside or client.call or old.state_name != "Stable":  # it has not read what it was given last
                    client.doubt()

    def downgraded(self, stored: StoredGroup, group: ClassicGroup) -> None:
        check_downgrade(self.group.state, self.removed, stored, group, self.image)
        same("what is left in the log", self.replayed().state, ConsumerGroupState("g"))

    def fail_over(self) -> None:
        """Let another coordinator read the log of the consumer group, and begin to serve."""
        unchanged(self.replayed().state, self.group.state)
        self.group = self.replayed()
        self.group.start(self.context)
        self.rules.begun(self.group, self.context)

    def remove(self, effect: RemoveMembers) -> Any:
        self.removed, before = [*effect.member_ids], self.group.state.draft()
        for member in self.removed:
            self.rules.forget(member)
        for client in self.clients.values():
            if isinstance(client, ClassicClient) and client.member_id in self.removed:
                client.doubt()  # and it may be let in again under its old id
        answer = super().remove(effect)
        wanted = becomes_classic(before, self.removed, self.settings, self.classic_config.max_size)
        same("whether it is a classic group now", self.classic is not None, wanted)
        if self.classic is None:
            self.rules.consumers.removed(before, self.removed, self.group.state, self.context)
        else:
            same("the state of the classic group", self.classic.state_name, "PreparingRebalance")
        return answer

    def classic_join(self, call: str, request: Join) -> None:
        before, group, mixed = self.group.state.draft(), self.group, self.classic is None and not self.group.is_empty
        super().classic_join(call, request)
        if mixed:
            self.rules.join(before, request, self.context, self.answers[call], group)

    def classic_sync(self, call: str, request: Sync) -> None:
        before, mixed = self.group.state.draft(), self.classic is None
        super().classic_sync(call, request)
        if mixed:
            self.rules.sync(before, request, self.context, self.answers[call], self.group)

    def classic_beat(self, member_id: str, instance: str | None, generation: int) -> Err:
        before, mixed = self.group.state.draft(), self.classic is None
        answer = super().classic_beat(member_id, instance, generation)
        if mixed:
            self.rules.beat(before, member_id, instance, generation, self.context, answer, self.group)
        return answer

    def classic_leave(self, call: str, leaving: list[Leaving]) -> None:
        before, mixed, self.removed = self.group.state.draft(), self.classic is None, []
        super().classic_leave(call, leaving)
        if mixed:
            self.rules.leave(before, leaving, self.answers[call], self.removed)

    def tick(self) -> None:
        """Let the group do what is due; now and then the log refuses it, and it is due again half a second later."""
        before, mixed, self.removed = self.group.state.draft(), self.classic is None, []
        if mixed and self.rng.random() < 0.1:
            effects = self.group.tick(self.context)
            for member in (m for one in effects if isinstance(one, RemoveMembers) for m in one.member_ids):
                self.late(member)
                self.rules.forget(member)
                self.rules.sessions[member] = self.now + 0.5
            return
        ends = {member: self.rules.ends(member) for member in before.members} if mixed else {}
        super().tick()
        that(all(min(ends[member]) <= self.now for member in self.removed if mixed), f"{self.removed} are removed too early")

    def late(self, member: str) -> None:
        that(min(self.rules.ends(member)) <= self.now, f"{member} is removed too early")

    # --- what must hold -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check I-MIXJUDGE-1, and that everybody is waited for as long as the rules say."""
        if self.classic is not None:
            return
        members = self.group.state.members
        held = [partition for one in members.values() for partition in one.has]
        that(len(held) == len(set(held)), "one partition, two members")
        self.checks += 1
        if self.checks % 8 == 0:
            described(self.group, self.image)
        self.rules.times(self.group, self.now)
        for client in self.clients.values():
            classic = isinstance(client, ClassicClient)
            me, epoch = (client.member_id, client.generation) if classic else (client.name, client.epoch)
            sure = not classic or client.sure
            if sure and me in members and epoch == members[me].current.epoch:
                others = {p for m, one in members.items() if m != me for p in one.assigned}
                that(not client.owns & set(self.names(others)), "a partition is used by two")
