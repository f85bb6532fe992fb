"""One life of a group whose clients speak one protocol, or both. Clients join, sync, commit, leave, restart (perhaps with the
other protocol), fall behind, vanish, and send nonsense; topics grow and go; records fail; coordinators move.

    classic_group_alone(seed)      every client speaks the classic protocol
    consumer_group_alone(seed)     every client speaks the consumer protocol (KIP-848)
    mixed_group_alone(seed)        clients are moved from one protocol to the other, and back, while they read

Each returns () if the group kept its rules, else what it did. Every answer is judged (judged_group.py).

Owns: what happens when, what must hold after each step, and what must be true when all behave.
Invariants: I-GLIFE-1 a client that is sure of its membership uses no partition of another member.
            another coordinator, which reads the log, compacted or not, has the same group.
            I-GLIFE-3 when all behave, the group is stable, and each subscribed partition has its member.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, Join, Leaving, Sync
from minikafka.broker.groups.consumer.group import ConsumerGroup
from minikafka.broker.groups.consumer.messages import RemoveMembers
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import answered, fallen, same, that
from minikafka.proof.small_worlds.groups.classic_client import BOTH, JOIN, MEMBER, ClassicClient, subscription
from minikafka.proof.small_worlds.groups.group_properties import instances, matching, picture, roster
from minikafka.proof.small_worlds.groups.heartbeat_client import TOPICS, HeartbeatClient
from minikafka.proof.small_worlds.groups.judged_group import JudgedGroup
from minikafka.protocol.errors import Err

CLASSIC, CONSUMER, MIXED = "classic", "consumer", "mixed"
STEPS, ROUNDS, CALM = {CLASSIC: 300, CONSUMER: 180, MIXED: 180}, 120, 4
POLICIES = ("bidirectional",) * 5 + ("upgrade", "downgrade", "disabled")
MANY = 2**31 - 1
BROKEN = ("(", "[a")  # no regular expressions
Client = HeartbeatClient | ClassicClient


def group_alone(kind: str) -> Callable[[int], tuple[str, ...]]:
    """Return what runs one seed of a group whose clients speak this protocol, or both."""
    def alone(seed: int) -> tuple[str, ...]:
        return fallen(GroupLife(kind, seed).live)

    alone.__name__ = f"{kind}_group_alone"
    return alone


classic_group_alone, consumer_group_alone, mixed_group_alone = map(group_alone, (CLASSIC, CONSUMER, MIXED))


class GroupLife(JudgedGroup):
    """The life that a seed decides."""

    def __init__(self, kind: str, seed: int) -> None:
        rng = Random(f"{seed}:{kind} group")
        super().__init__(rng, dict(TOPICS), GroupConfig(rng.choice((0, 0, 3000)), rng.choice((MANY, MANY, 3))),
                         migration_policy=rng.choice(POLICIES), max_size=rng.choice((MANY, MANY, 3, 2)),
                         assignment_interval_ms=rng.choice((0, 1000, 5000)),
                         assignors=rng.choice((("uniform", "range"), ("range", "uniform"))),
                         session_timeout_ms=rng.choice((45_000, 45_000, 2_000_000)))
        for number, rack in ((1, "a"), (2, None), (3, "b")):
            self.move_broker(number, rack)
        self.kind, self.eager, self.careful = kind, rng.random() < 0.5, False
        self.haste = rng.choice((0.6, 0.15))  # how soon a record is committed
        self.clients: dict[str, Client] = {}
        self.static_topics: dict[str, list[str]] = {}
        self.step, self.roll_at = 0, rng.choice((0, 0, 15, 40))  # from then on clients restart with the other protocol
        for number in range(rng.randint(2, 5)):
            self.restart(f"m{number}")

    def restart(self, name: str) -> None:
        """Start a client, in the place of one with its name. Odd ones are static."""
        rng, instance = self.rng, f"i{name[1:]}" if name[1:] in ("1", "3") else None
        classic = self.kind == CLASSIC or self.kind == MIXED and (self.step < self.roll_at or rng.random() < 0.6)
        client = ClassicClient(self, name, rng, instance, self.eager) if classic else HeartbeatClient(self, name, rng, instance)
        self.clients[name], client.careful = client, self.careful
        if isinstance(client, ClassicClient) and instance is not None:  # a group that is Stable does not look at them again
            client.topics = self.static_topics.setdefault(name, client.topics)

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for step in range(STEPS[self.kind]):
            self.step = step
            self.something()
            if self.in_flight and self.rng.random() < self.haste:
                self.commit(Err.NONE if self.rng.random() < 0.9 else Err.COORDINATOR_NOT_AVAILABLE)
            self.pass_time(self.rng.random() * self.rng.choice((1, 1, 4)))
            self.check()
        self.settings = replace(self.settings, max_size=MANY, session_timeout_ms=45_000)
        self.classic_config = GroupConfig(self.classic_config.initial_rebalance_delay_ms)
        if self.classic is not None:
            self.classic.config = self.classic_config
        self.pass_time(2000)  # members that vanished are removed, whatever their session was
        self.quiet()

    # --- what happens ---------------------------------------------------------------------------------------------------

    def something(self) -> None:
        rng, name = self.rng, self.rng.choice([*self.clients])
        client, fate = self.clients[name], rng.random()
        if fate < 0.03:
            self.change_topics()
        elif fate < 0.05:
            self.pass_time(rng.choice((5, 9, 25, 50, 605)))
        elif fate < 0.09:
            if rng.random() < 0.7:
                client.leave()
            self.restart(name)
        elif fate < 0.12:
            client.forget()  # it joins again, a member of the consumer protocol under its old name or another
            if isinstance(client, HeartbeatClient) and rng.random() < 0.3:
                client.member_id = f"{name}-{self.step}"
        elif fate < 0.135:
            self.fail_over()
        elif fate < 0.24:
            self.odd(client)
        elif fate < 0.31:
            self.use_offsets(client)
        elif fate < 0.33:
            self.expel()
        elif self.classic is not None and fate < 0.7:  # a classic group waits for everybody
            for one in self.clients.values():
                one.turn()
        else:
            client.turn()

    def change_topics(self) -> None:
        """Let a topic grow, be created or deleted, or a broker register in another rack."""
        rng, fate = self.rng, self.rng.random()
        if fate < 0.6:
            self.grow(rng.choice([topic for topic in TOPICS if topic in self.image.topics]), rng.randint(1, 8))
        elif fate < 0.7 and "w" not in self.image.topics:
            self.create("w", 2)
        elif fate < 0.8 and "v" in self.image.topics:
            self.delete("v")
        else:
            self.move_broker(rng.choice((1, 2, 3)), rng.choice(("a", "b", None)))

    def delete(self, name: str) -> None:
        """Delete a topic; its readers give it up at once."""
        super().delete(name)
        for client in self.clients.values():
            client.owns = {one for one in client.owns if not one.startswith(name)}
            if isinstance(client, HeartbeatClient) and client.told is not None:
                client.told = [one for one in client.told if not one.startswith(name)]

    def fail_over(self) -> None:
        """Let another coordinator read the log, which may be compacted: the last record of every key, in any order."""
        if self.classic is None:
            latest = [*dict(self.log).items()]
            kept = [record for record in latest if record[1] is not None or self.rng.random() < 0.5]
            self.rng.shuffle(kept)
            for records in (self.log, latest, kept):
                same("I-CGROUP-1", "the group in the log", picture(self.replayed(records)), picture(self.group))
        super().fail_over()

    def expel(self) -> None:
        """Remove some members, as an administrator does."""
        names = [*roster(self.present)]
        leaving = [Leaving(name) for name in [*names, "nobody"] if self.rng.random() < 0.4]
        leaving += [Leaving(self.rng.choice(("", "m1", *names)), one) for one in ("i1", "i9") if self.rng.random() < 0.4]
        self.classic_leave(self.new_call("expel"), leaving + leaving[:1])

    def odd(self, client: Client) -> None:
        """Send a request that makes little sense: of another generation, under another's id or instance, of another type."""
        rng, known = self.rng, roster(self.present)
        member = rng.choice((*known, "nobody", ""))
        generation = known.get(member, 0) + rng.choice((0, 0, 0, 1, -1))
        instance, call, what = rng.choice((None, None, "i1", "i9")), self.new_call("odd"), rng.randrange(4)
        if self.classic is not None and self.classic.is_empty and rng.random() < 0.3:  # its name is used by something else
            protocols = (("range", subscription(("t",), (), 1, None)),)
            self.classic_join(call, Join("", rng.choice(("connect", "")), protocols, 6_000, 8_000, must_return=False))
        elif what == 0:
            self.classic_beat(member, instance, generation)
        elif what == 1:
            kind, name = rng.choice((None, "consumer", "connect")), rng.choice((None, "range", "sticky", "other"))
            if self.kind != CLASSIC and member in known and self.classic is not None:
                member = "nobody"
            self.classic_sync(call, Sync(member, generation, (), instance, kind, name))
        elif what == 2:
            self.odd_join(call, rng.choice(("", "", "nobody")) if member in known else member, instance)
        elif isinstance(client, HeartbeatClient):
            self.odd_beat(client, instance)
        elif member not in known or generation != known[member]:
            answered(lambda: self.beat(member or "nobody", max(generation, 1), None, instance_id=instance))

    def odd_join(self, call: str, member: str, instance: str | None) -> None:
        """Send a JoinGroup that is to be refused in most groups; where it is not, its sender falls silent."""
        rng = self.rng
        data = rng.choice((b"\0", subscription(("t",), (), 1, None)))
        names = rng.choice((("range",), ("other",), (), BOTH))
        kind = rng.choice(("consumer", "consumer", "connect", ""))
        self.classic_join(call, Join(member, kind, tuple((name, data) for name in names), 6_000, rng.choice((8_000, 30_000)),
                                     "odd", "/h", instance, must_return=rng.random() < 0.8))

    def odd_beat(self, client: HeartbeatClient, instance: str | None) -> None:
        """Send a heartbeat of another epoch, under another's id or instance. But it never gives up a partition that its member's
        client still uses."""
        rng = self.rng
        others = [one for one in self.clients.values() if isinstance(one, HeartbeatClient)]
        member = rng.choice((client.member_id, client.member_id, rng.choice(others).member_id, "nobody"))
        epoch = rng.choice((client.epoch, client.epoch - 1, client.epoch + 1, 0, -1, -2))
        owned = sorted(client.owns) if member == client.member_id and rng.random() < 0.5 else None
        if epoch == 0 and member in roster(self.present) and instances(self.present).get(instance or "", member) != member:
            return  # one member would have two places
        for one in others:
            if one.member_id == member:
                one.unsure = True  # it does not get the response
                if epoch == 0:
                    one.forget()  # a member that joins owns nothing
        if epoch == 0:
            regex = rng.choice((None, None, None, *BROKEN))
            answered(lambda: self.join(member, *client.subscription(), instance_id=instance, regex=regex))
        else:
            answered(lambda: self.beat(member, epoch, owned, instance_id=instance))

    def use_offsets(self, client: Client) -> None:
        """Commit and ask for offsets, in a generation or epoch that may not be the present one."""
        rng, group, known = self.rng, self.present, roster(self.present)
        member = rng.choice((*known, *known, "nobody", ""))
        epoch = known.get(member, 0) + rng.choice((0, 0, -1, 1, -2))
        keys = tuple(("t", index) for index in range(3) if rng.random() < 0.5)
        if isinstance(group, ConsumerGroup) and member in known and rng.random() < 0.6:  # partitions that it has, of any epoch
            has = [name.rsplit("-", 1) for name in self.names(group.state.members[member].has)]
            keys = tuple((topic, int(index)) for topic, index in rng.sample(has, min(len(has), 2)) if topic in self.image.topics)
        commit = OffsetCommit(member, rng.choice((None, "i1")), max(rng.choice((epoch, epoch, -1)), -1), rng.choice((9, 8)),
                              rng.random() < 0.3, keys)
        self.ask_to_commit(commit)
        asker = rng.choice((member, None))
        if isinstance(group, ConsumerGroup):
            may = asker is None and epoch < 0 or asker in known and epoch == known[asker]
            self.judge("OffsetFetch", answered(group.check_fetch, asker, epoch) or Err.NONE, may)

    # --- what must hold -------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Check I-GLIFE-1."""
        if self.classic is not None:
            return
        members = self.group.state.members
        for client in self.present_clients():
            me, classic = client.member_id, isinstance(client, ClassicClient)
            sure, epoch = (client.sure, client.generation) if classic else (True, client.epoch)
            if sure and epoch == members[me].current.epoch:
                others = {p for m, one in members.items() if m != me for p in one.assigned}
                that("I-GLIFE-1", not client.owns & set(self.names(others)), "a partition is used by two")

    def upgraded(self, old: ClassicGroup, group: ConsumerGroup) -> None:
        super().upgraded(old, group)
        for client in self.clients.values():
            if isinstance(client, ClassicClient):
                inside = client.member_id in old.members and client.generation == old.generation
                if not inside or client.call or old.state_name != "Stable":  # it has not read what it was given last
                    client.doubt()

    def remove(self, effect: RemoveMembers) -> None:
        super().remove(effect)
        for client in self.clients.values():
            if isinstance(client, ClassicClient) and client.member_id in self.removed:
                client.doubt()  # and it may be let in again under its old id

    def quiet(self) -> None:
        """Let every client behave until the group is stable, with each subscribed partition assigned (I-GLIFE-3)."""
        self.careful = True
        for client in self.clients.values():
            client.careful = True
            if isinstance(client, ClassicClient) and client.step == MEMBER:
                client.step = JOIN  # only a member of the consumer protocol, or one that joins, makes the group see new topics
        calm = 0
        for _ in range(ROUNDS):
            for client in self.clients.values():
                client.turn()
            while self.in_flight:
                self.commit()
            self.pass_time(2)
            self.check()
            calm = calm + 1 if self.seen() == self.wanted() else 0
            if calm == CALM:
                break
        same("I-GLIFE-3", "the state and the partitions in use when all behave", self.seen(), self.wanted())
        if self.classic is None:
            for expression, resolved in self.group.state.regexes.items():
                same("I-GLIFE-3", expression, resolved.topics, matching(expression, self.image))

    def present_clients(self) -> list[Client]:
        """Return the clients that are members."""
        return [client for client in self.clients.values() if client.member_id in roster(self.present)]

    def seen(self) -> tuple[str, list[str]]:
        """Return the group's state, and the partitions that its members use."""
        return self.present.state_name, sorted(partition for client in self.present_clients() for partition in client.owns)

    def wanted(self) -> tuple[str, list[str]]:
        """Return what they should be: Stable, and each subscribed partition once."""
        classic_topics = {topic for client in self.present_clients() for topic in client.topics}
        known, topics = self.image.topics, self.group.state.topics() if self.classic is None else classic_topics
        return "Stable", sorted(f"{topic}-{index}" for topic in topics & {*known} for index in known[topic].partitions)
