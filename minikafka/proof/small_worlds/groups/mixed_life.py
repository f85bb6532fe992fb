"""One life of a group whose clients are moved from one protocol to the other, and back, while they read (KIP-848).

    mixed_group_alone(seed)     () if the group kept its rules, else what it did

Clients of both protocols join, sync, send heartbeats, commit, leave, restart with the other protocol, fall silent, and send what
makes no sense; topics grow and go; the log refuses a record now and then. Every answer is judged by classic_member_rules.py,
consumer_rules.py and migration_rules.py (judged_mixed_group.py).

Owns: what happens when, what must hold after each step, and what must be true when all behave.
Invariants: I-MIXLIFE-1 another coordinator, which reads the log, has the same group.
            I-MIXLIFE-2 when all behave, the group is stable, and each subscribed partition has its member.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, Join, Leaving, Sync
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import fallen
from minikafka.proof.small_worlds.groups.classic_client import BOTH, JOIN, MEMBER, ClassicClient, subscription
from minikafka.proof.small_worlds.groups.classic_seen import same
from minikafka.proof.small_worlds.groups.consumer_facts import unchanged
from minikafka.proof.small_worlds.groups.heartbeat_client import HeartbeatClient
from minikafka.proof.small_worlds.groups.judged_mixed_group import Client, JudgedMixedGroup
from minikafka.protocol.errors import Err, KafkaError

STEPS, ROUNDS, CALM = 110, 120, 4
TOPICS = {"t": 3, "u": 2, "v": 2}
POLICIES = ("bidirectional",) * 5 + ("upgrade", "downgrade", "disabled")
MANY = 2**31 - 1


def mixed_group_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(MixedLife(seed).live)


class MixedLife(JudgedMixedGroup):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed}:mixed group")
        super().__init__(rng, dict(TOPICS), GroupConfig(rng.choice((0, 0, 3000)), rng.choice((MANY, MANY, 3))),
                         migration_policy=rng.choice(POLICIES), max_size=rng.choice((MANY, MANY, 3, 2)),
                         assignment_interval_ms=rng.choice((0, 1000)))
        self.eager, self.careful = rng.random() < 0.5, False
        self.static_topics: dict[str, list[str]] = {}
        self.step, self.roll_at = 0, rng.choice((0, 0, 15, 40))  # from then on clients restart with the other protocol
        for number in range(rng.randint(2, 4)):
            self.restart(f"m{number}", classic=self.step < self.roll_at or rng.random() < 0.7)

    def restart(self, name: str, classic: bool) -> None:
        """Start a client with this protocol, in the place of one with its name. Odd ones are static."""
        instance = f"i{name[1:]}" if name[1:] in ("1", "3") else None
        self.clients[name] = (ClassicClient(self, name, self.rng, instance, self.eager) if classic
                              else HeartbeatClient(self, name, self.rng, instance))
        client = self.clients[name]
        client.careful = self.careful
        if isinstance(client, ClassicClient) and instance is not None:  # a group that is Stable does not look at them again
            client.topics = self.static_topics.setdefault(name, client.topics)

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for self.step in range(STEPS):
            self.something()
            self.pass_time(self.rng.random())
            self.check()
        if self.classic is None:
            unchanged(self.replayed().state, self.group.state)
        self.settings = replace(self.settings, max_size=MANY)
        self.classic_config = GroupConfig(self.classic_config.initial_rebalance_delay_ms)
        if self.classic is not None:
            self.classic.config = self.classic_config
        self.quiet()

    # --- what happens ---------------------------------------------------------------------------------------------------

    def something(self) -> None:
        rng, name = self.rng, self.rng.choice([*self.clients])
        client, fate = self.clients[name], rng.random()
        if fate < 0.02:
            self.grow(rng.choice([topic for topic in TOPICS if topic in self.image.topics]), rng.randint(1, 5))
        elif fate < 0.025 and "v" in self.image.topics:
            self.delete("v")
        elif fate < 0.05:
            self.pass_time(rng.choice((5, 9, 25)))
        elif fate < 0.11:
            if rng.random() < 0.7:
                client.leave()
            self.restart(name, classic=self.step < self.roll_at or rng.random() < 0.5)
        elif fate < 0.13:
            client.forget()
        elif fate < 0.14 and self.classic is None:
            self.fail_over()
        elif fate < 0.25:
            self.odd(client)
        elif fate < 0.32 and self.classic is None:
            self.use_offsets(client)
        elif fate < 0.34:
            self.expel()
        elif self.classic is not None and fate < 0.7:  # a classic group waits for everybody
            for client in self.clients.values():
                client.turn()
        else:
            client.turn()

    def expel(self) -> None:
        """Remove some members, as an administrator does."""
        names = [*self.present.members.by_id] if isinstance(self.present, ClassicGroup) else [*self.group.state.members]
        leaving = [Leaving(name) for name in [*names, "nobody"] if self.rng.random() < 0.4]
        leaving += [Leaving(self.rng.choice(("", "m1", *names)), one) for one in ("i1", "i9") if self.rng.random() < 0.4]
        self.classic_leave("expel", leaving + leaving[:1])

    def odd(self, client: Client) -> None:
        """Send a request that makes little sense: of another generation, under another's id or instance, of another type."""
        rng, state = self.rng, self.group.state
        known = [] if self.classic is not None else [*state.members]
        member = rng.choice((*known, "nobody", ""))
        epoch = state.members[member].current.epoch if member in known else 0
        generation = epoch + rng.choice((0, 0, 0, 1, -1))
        instance = rng.choice((None, None, "i1", "i9"))
        what = rng.randrange(4)
        if self.classic is not None and self.classic.is_empty and rng.random() < 0.3:  # its name is used by something else
            self.classic_join("odd", Join("", "connect", (("range", subscription(("t",), (), 1, None)),), 6_000, 8_000,
                                          must_return=False))
        elif what == 0:
            self.classic_beat(member, instance, generation)
        elif what == 1:
            kind, name = rng.choice((None, "consumer", "connect")), rng.choice((None, "range", "sticky", "other"))
            self.classic_sync("odd", Sync(member, generation, (), instance, kind, name))
        elif what == 2:
            self.odd_join(rng.choice(("", "", "nobody")) if member in known else member, instance)
        elif member not in known or generation != epoch:
            with suppress(KafkaError):
                self.beat(member or "nobody", max(generation, 1), None, instance_id=instance)

    def odd_join(self, member: str, instance: str | None) -> None:
        """Send a JoinGroup that is to be refused in most groups; where it is not, its sender falls silent."""
        rng = self.rng
        data = rng.choice((b"\0", subscription(("t",), (), 1, None)))
        names = rng.choice((("range",), ("other",), (), BOTH))
        kind = rng.choice(("consumer", "consumer", "connect"))
        self.classic_join("odd", Join(member, kind, tuple((name, data) for name in names), 6_000, rng.choice((8_000, 30_000)),
                                      "odd", "/h", instance, must_return=rng.random() < 0.8))

    def use_offsets(self, client: Client) -> None:
        """Commit and ask for offsets, in a generation or epoch that may not be the present one."""
        rng, state = self.rng, self.group.state
        member = rng.choice((*state.members, *state.members, "nobody", ""))
        epoch = (state.members[member].current.epoch if member in state.members else 0) + rng.choice((0, 0, -1, 1, -2))
        keys = tuple(("t", index) for index in range(3) if rng.random() < 0.5)
        commit = OffsetCommit(member, rng.choice((None, "i1")), rng.choice((epoch, epoch, -1)), rng.choice((9, 8)),
                              rng.random() < 0.3, keys)
        self.rules.consumers.commit(state, commit, self.partitions(*(f"t-{index}" for _, index in keys)),
                                    self.group.check_commit(commit, self.context))
        asker, told = rng.choice((member, None)), Err.NONE
        try:
            self.group.check_fetch(asker, epoch)
        except KafkaError as refused:
            told = refused.code
        self.rules.consumers.fetch(state, asker, epoch, told)

    def quiet(self) -> None:
        """Let every client behave until the group is stable, with each subscribed partition assigned (I-MIXLIFE-2)."""
        self.careful = True
        for client in self.clients.values():
            client.careful = True
            if isinstance(client, ClassicClient) and client.step == MEMBER:
                client.step = JOIN  # only a member of the consumer protocol, or one that joins, makes the group see new topics
        calm = 0
        for _ in range(ROUNDS):
            for client in self.clients.values():
                client.turn()
            self.pass_time(2)
            self.check()
            calm = calm + 1 if self.seen() == self.wanted() else 0
            if calm == CALM:
                return
        same("the state and the partitions in use when all behave", self.seen(), self.wanted())

    def seen(self) -> tuple[str, list[str]]:
        """Return the group's state, and the partitions that its members use."""
        inside = [client for name, client in self.clients.items() if self.inside(name)]
        return self.present.state_name, sorted(partition for client in inside for partition in client.owns)

    def wanted(self) -> tuple[str, list[str]]:
        """Return what they should be: Stable, and each subscribed partition once."""
        inside = [client for name, client in self.clients.items() if self.inside(name)]
        topics = self.group.state.topics() if self.classic is None else {topic for one in inside for topic in one.topics}
        known = self.image.topics
        return "Stable", sorted(f"{topic}-{index}" for topic in topics & {*known} for index in known[topic].partitions)

    def inside(self, name: str) -> bool:
        """Return whether a client is a member."""
        client = self.clients[name]
        member = client.member_id if isinstance(client, ClassicClient) else client.name
        return member in (self.group.state.members if self.classic is None else self.classic.members.by_id)
