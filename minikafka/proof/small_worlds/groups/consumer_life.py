"""One life of a consumer group: members join, leave, restart, fall behind, vanish, and send what makes no sense; topics grow,
answers are lost. Every answer is judged by consumer_rules.py.

    consumer_group_alone(seed)     () if the group kept its rules, else what it did

Owns: what happens when, what must hold after each step, and what must be true when all behave.
Invariants: I-COLIFE-1 a partition belongs to one member, and no client uses one that belongs to another.
            I-COLIFE-2 no epoch falls, no member is ahead of the target, no target ahead of the group.
            I-COLIFE-3 another coordinator, which reads the log, has the same group.
            I-COLIFE-4 when all behave, the group is stable, and each subscribed partition has its member.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random

from minikafka.broker.groups.consumer.messages import (
    ConsumerEffect,
    ConsumerGroupHeartbeat,
    HeartbeatResponse,
    RemoveMembers,
    check,
)
from minikafka.broker.groups.consumer.state import ConsumerState
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import fallen
from minikafka.proof.small_worlds.groups.classic_seen import same, that
from minikafka.proof.small_worlds.groups.consumer_facts import described, matching, unchanged
from minikafka.proof.small_worlds.groups.consumer_refusals import BROKEN, valid
from minikafka.proof.small_worlds.groups.consumer_rules import ConsumerRules
from minikafka.proof.small_worlds.groups.heartbeat_client import TOPICS, HeartbeatClient
from minikafka.proof.small_worlds.groups.lone_consumer_group import LoneConsumerGroup
from minikafka.protocol.errors import Err, KafkaError

STEPS = 120


def consumer_group_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ConsumerLife(seed).live)


class ConsumerLife(LoneConsumerGroup):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:consumer group")
        super().__init__(dict(TOPICS), assignors=self.rng.choice((("uniform", "range"), ("range", "uniform"))),
                         assignment_interval_ms=self.rng.choice((0, 1000, 5000)), max_size=self.rng.choice((2**31 - 1, 3)),
                         session_timeout_ms=self.rng.choice((45_000, 45_000, 2_000_000)))
        for number, rack in ((1, "a"), (2, None), (3, "b")):
            self.move_broker(number, rack)
        self.rules = ConsumerRules()
        self.clients = [HeartbeatClient(self, f"m{number}", self.rng, f"i{number}" if self.rng.random() < 0.3 else None)
                        for number in range(self.rng.randint(1, 5))]

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for step in range(STEPS):
            before = self.group.state.epoch
            self.something(step)
            self.pass_time(self.rng.random())
            that(self.group.state.epoch >= before, "the group's epoch falls")
            self.check()
        that(self.replayed().state == self.group.state, "another coordinator has another group")
        self.settings = replace(self.settings, max_size=2**31 - 1, session_timeout_ms=45_000)
        self.pass_time(2000)  # those who have gone without a word are forgotten, whatever their session was
        self.quiet()

    def send(self, beat: ConsumerGroupHeartbeat) -> HeartbeatResponse:
        before, context = self.group.state.draft(), self.context
        judge = self.rules.leave if beat.epoch in (-1, -2) else self.rules.heartbeat
        try:
            answer = super().send(beat)
        except KafkaError as refused:
            judge(before, beat, context, refused.code, self.group)
            raise
        judge(before, beat, context, answer, self.group)
        return answer

    def carry_out(self, effects: list[ConsumerEffect]) -> HeartbeatResponse | None:
        answer = None
        for effect in effects:
            before = self.group.state.draft()
            answer = super().carry_out([effect]) or answer
            if isinstance(effect, RemoveMembers):
                self.rules.removed(before, effect.member_ids, self.group.state, self.context)
        return answer

    def something(self, step: int) -> None:
        """Let a topic grow, a client begin anew or send its heartbeat, or much time pass."""
        fate, client = self.rng.random(), self.rng.choice(self.clients)
        if fate < 0.03:
            self.grow(self.rng.choice([*TOPICS]), self.rng.randint(1, 8))
        elif fate < 0.04 and "w" not in self.image.topics:
            self.create("w", 2)
        elif fate < 0.045:
            self.move_broker(self.rng.choice((1, 2, 3)), self.rng.choice(("a", "b", None)))
        elif fate < 0.05:
            self.fail_over()
        elif fate < 0.06 and client.epoch > 0:
            client.forget()  # it joins again, under its old name or another
            if self.rng.random() < 0.5:
                client.name = f"m{step}-again"
        elif fate < 0.08:
            self.pass_time(self.rng.choice([5, 11, 31, 50, 605]))
        elif fate < 0.11 and client.epoch > 0:
            client.leave()
        elif fate < 0.2:
            self.odd(client)
            self.invalid()
        elif fate < 0.3:
            self.use_offsets(client)
        else:
            client.turn()

    def fail_over(self) -> None:
        """Let another coordinator read the log, which may be compacted: the last record of every key, in any order."""
        latest = [*dict(self.log).items()]
        kept = [record for record in latest if record[1] is not None or self.rng.random() < 0.5]
        self.rng.shuffle(kept)
        for records in (None, latest, kept):
            unchanged(self.replayed(records).state, self.group.state)
        self.group = self.replayed(self.rng.choice((None, latest)))
        self.group.start(self.context)
        self.rules.begun(self.group, self.context)

    def odd(self, client: HeartbeatClient) -> None:
        """Send a heartbeat that makes little sense: of another epoch, under another's id or instance. But nobody says that a
        member has given up what its client still uses."""
        rng = self.rng
        member = rng.choice((client.name, client.name, rng.choice(self.clients).name, "nobody"))
        epoch = rng.choice((client.epoch, client.epoch - 1, client.epoch + 1, 0, -1, -2))
        instance = rng.choice((client.instance, client.instance, None, "i0", "i9"))
        owned = sorted(client.owns) if member == client.name and rng.random() < 0.5 else None
        if epoch == -2 and instance is None or epoch < -2:
            return  # every group refuses that, before it is asked
        for one in self.clients:
            if one.name == member:
                one.unsure = True  # it does not get the response
                if epoch == 0:
                    one.forget()  # a member that joins owns nothing
        with suppress(KafkaError):
            if epoch == 0:
                self.join(member, *client.subscription(), instance_id=instance, regex=rng.choice((None, None, None, *BROKEN)))
            else:
                self.beat(member, epoch, owned, instance_id=instance)

    def invalid(self) -> None:
        """Ask whether a request is valid at all."""
        rng = self.rng
        request = ConsumerGroupHeartbeat(
            rng.choice(("m", "m", "", " ")), rng.choice((0, 0, 1, -1, -2, -3)), rebalance_timeout_ms=rng.choice((-1, 5)),
            instance_id=rng.choice((None, None, "i", "", " ")), rack_id=rng.choice((None, None, None, "")),
            topics=rng.choice((None, ("t",))), regex=rng.choice((None, "")),
            assignor=rng.choice((None, None, "range", "none")),
            owned=rng.choice((None, frozenset(), self.partitions("t-0"))), names_topics=rng.random() < 0.2)
        group, version = rng.choice(("g", "g", "g", "", "\t")), rng.choice((0, 1))
        try:
            check(group, request, version, self.settings)
            told = Err.NONE
        except KafkaError as refused:
            told = refused.code
        same(f"{request}", told, Err.INVALID_REQUEST if not group.strip() else valid(request, version, self.settings))

    def use_offsets(self, client: HeartbeatClient) -> None:
        """Commit and ask for offsets, in an epoch that may not be the present one."""
        rng, member = self.rng, self.rng.choice((client.name, client.name, "nobody", ""))
        epoch = rng.choice((client.epoch, client.epoch, client.epoch - 1, client.epoch + 1, -1))
        names = rng.sample([f"t-{index}" for index in range(4)], 2) if rng.random() < 0.5 else sorted(client.owns)[:2]
        asked = self.partitions(*names)
        commit = OffsetCommit(member, None, epoch, transactional=rng.random() < 0.2,
                              keys=tuple((name[0], int(name[2:])) for name in names))
        self.rules.commit(self.group.state, commit, asked, self.group.check_commit(commit, self.context))
        asker = rng.choice((member, None))
        try:
            self.group.check_fetch(asker, epoch)
            told = Err.NONE
        except KafkaError as refused:
            told = refused.code
        self.rules.fetch(self.group.state, asker, epoch, told)

    def check(self) -> None:
        """Check I-COLIFE-1 and I-COLIFE-2."""
        kept = self.group.state
        held = [partition for member in kept.members.values() for partition in member.has]
        that(len(held) == len(set(held)), "one partition, two members")
        that(kept.target.epoch <= kept.epoch, "the target is ahead of the group")
        ahead = [m for m, member in kept.members.items() if member.current.epoch > kept.target.epoch]
        that(not ahead, f"{ahead} are ahead of the target")
        if len(self.log) % 4 == 0:
            described(self.group, self.image)
        for client in self.clients:  # also one that wrongly believes it is a member
            if client.name in kept.members and client.epoch == kept.members[client.name].current.epoch:
                others = {p for m, member in kept.members.items() if m != client.name for p in member.assigned}
                that(not client.owns & set(self.names(others)), "a partition is used by two")

    def quiet(self) -> None:
        """Let every client behave until the group is stable, with each subscribed partition assigned."""
        for client in self.clients:
            client.careful = True
        for _ in range(30):
            for client in self.clients:
                client.turn()
            self.pass_time(2)
            self.check()
        kept = self.group.state
        for expression, resolved in kept.regexes.items():
            same(expression, resolved.topics, matching(expression, self.context))
        same("the expressions", {*kept.regexes}, {*kept.expressions()})
        topics = self.image.topics
        wanted = {f"{topic}-{index}" for topic in kept.topics() for index in range(len(topics[topic].partitions))}
        assigned = sorted(name for member in kept.members.values() for name in self.names(member.assigned))
        that(kept.phase is ConsumerState.STABLE and assigned == sorted(wanted),
             f"when all behave it is {kept.phase.value}, and of {sorted(wanted)} are assigned {assigned}")
