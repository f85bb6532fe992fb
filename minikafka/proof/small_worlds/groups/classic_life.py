"""One life of a classic group: clients that join, sync, leave, crash and come back, and send what makes no sense; a log that
fails; a coordinator that moves. Every answer is judged by classic_rules.py.

    classic_group_alone(seed)      () if the group kept its rules, else what it did
    ClassicLife(seed).live()       the same; raises RuleFallen

Owns: what happens when, and what must be true when all behave for two minutes.
Invariants: I-CLIFE-1 a partition has one owner in a generation of one coordinator.
            I-CLIFE-2 when all behave, every client has its share of the partitions in the end.
"""

from __future__ import annotations

from random import Random
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import GroupConfig, JoinResult, Protocols, SyncResult
from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.broker.groups.group import OffsetCommit
from minikafka.proof.small_worlds.checks import RuleFallen, fallen
from minikafka.proof.small_worlds.groups.classic_rules import ClassicRules
from minikafka.proof.small_worlds.groups.classic_seen import look
from minikafka.proof.small_worlds.groups.lone_classic_group import LoneClassicGroup
from minikafka.protocol.errors import Err

PARTITIONS = [f"t-{i}" for i in range(6)]
INSTANCES = {"s0": "static-0", "s1": "static-1"}
NAMES = ["a", "b", "c", *INSTANCES]
STEPS = 300
PROTOCOLS: tuple[Protocols, ...] = (
    (("range", b"t"),), (("range", b"t"), ("sticky", b"t2")), (("sticky", b"t2"), ("range", b"t")), (("range", b"u"),))


def classic_group_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    return fallen(ClassicLife(seed).live)


class ClassicLife(LoneClassicGroup):
    """The life that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(f"{seed}:classic group")
        super().__init__(GroupConfig(self.rng.choice((0, 3000)), self.rng.choice((2**31 - 1, 2**31 - 1, 4)), 60_000))
        self.rules = ClassicRules(self.config)
        self.owners: dict[tuple[int, int, str], str] = {}  # (coordinator, generation, partition) -> owner
        self.coordinators = 1
        self.stored = 0  # records committed

    def live(self) -> None:
        """Play it. Raises RuleFallen."""
        for _ in range(STEPS):
            self.something()
        self.config = GroupConfig(self.config.initial_rebalance_delay_ms, 2**31 - 1, 60_000)
        self.rules.config = self.group.config = self.config
        self.settle()

    # --- what is judged -----------------------------------------------------------------------------------------------

    def ask(self, what: str, *arguments: Any) -> Any:
        before = look(self.group)
        result = super().ask(what, *arguments)
        self.rules.judge(before, what, arguments, result, self.group, self.now)
        return result

    def _answer(self, name: str, result: JoinResult | SyncResult) -> None:
        super()._answer(name, result)
        if not isinstance(result, SyncResult) or result.error is not Err.NONE or not result.assignment:
            return
        member_id = self.client(name).member_id
        owner = self.group.members.get(member_id).instance_id or member_id
        for partition in result.assignment.decode().split(","):
            first = self.owners.setdefault((self.coordinators, self.group.generation, partition), owner)
            if first != owner:
                raise RuleFallen("I12", f"{partition} belongs to {first} and to {owner} in generation {self.group.generation}")

    # --- what may happen ----------------------------------------------------------------------------------------------

    def something(self) -> None:
        """Let one client do something, or time pass, or the coordinator move; and perhaps a record be committed."""
        name, what = self.rng.choice(NAMES), self.rng.random()
        if what < 0.64:
            self.act(name)
        elif what < 0.72:
            self.odd(name)
        elif what < 0.75 and not self.busy(name):
            self.leave(*([name] if self.rng.random() < 0.7 else [name, self.rng.choice(NAMES)]))
            self.answers.pop(name, None)
        elif what < 0.79 and not self.busy(name):
            self.forget(name)
            self.answers.pop(name, None)
        elif what < 0.95:
            self.advance(self.rng.choice((0.1, 1, 3, 8)))
        elif what < 0.97 and self.log:
            self.fail_over()
        if self.in_flight and self.rng.random() < 0.5:
            failed = self.rng.random() < 0.1
            if not failed:
                self.stored = max(self.stored, len(self.log) - len(self.in_flight) + 1)
            self.committed(Err.COORDINATOR_NOT_AVAILABLE if failed else Err.NONE)

    def busy(self, name: str) -> bool:
        return name in self.waiting.values()

    def act(self, name: str) -> None:
        """Do what a well-behaved consumer does next."""
        client, answer = self.client(name), self.answers.get(name)
        client.instance_id = INSTANCES.get(name)
        if self.busy(name):
            return
        if isinstance(answer, JoinResult) and answer.error is Err.NONE:
            self.sync_as(name, answer)
        elif isinstance(answer, SyncResult) and answer.error is Err.NONE:
            error = self.heartbeat(name) if self.rng.random() < 0.8 else self.commit(name)
            if error is not Err.NONE:
                self.rejoin(name, error)
        else:
            self.rejoin(name, Err.NONE if answer is None else answer.error)

    def rejoin(self, name: str, error: Err) -> None:
        """Join again, without the member id where that was refused."""
        if error in (Err.UNKNOWN_MEMBER_ID, Err.ILLEGAL_GENERATION, Err.FENCED_INSTANCE_ID):
            self.client(name).member_id = ""
        self.answers.pop(name, None)
        protocols, rebalance = PROTOCOLS[self.rng.choice((0, 0, 0, 1, 2, 3))], self.rng.choice((15_000, 15_000, 9_000))
        self.join(name, protocols, 10_000, rebalance, INSTANCES.get(name), version=self.rng.choice((9, 9, 5, 3)))

    def sync_as(self, name: str, joined: JoinResult) -> None:
        """Send SyncGroup, as the leader with a share of the partitions for each member."""
        members = [member_id for member_id, _, _ in joined.members]
        sent = {} if joined.skip_assignment else {m: PARTITIONS[i::len(members)] for i, m in enumerate(members)}
        self.answers.pop(name, None)
        client = self.client(name)
        for member_id in sent:  # clients are spoken of by name; borrow the ids as names
            self.clients.setdefault(member_id, self.client(member_id)).member_id = member_id
        protocol = joined.protocol_name if self.rng.random() < 0.5 else None
        self.sync(name, {m: ",".join(p) for m, p in sent.items()}, joined.generation, protocol)
        client.generation = joined.generation

    def odd(self, name: str) -> None:
        """Send what makes little sense, or none: of another generation, under another's id, of another protocol."""
        rng, mine = self.rng, self.client(name)
        other = self.client(rng.choice(NAMES))
        stranger = f"stranger-{len(self.lines)}"
        self.clients[stranger] = type(mine)(stranger, rng.choice((mine.member_id, other.member_id, "nobody")),
                                            mine.generation + rng.choice((0, 0, 1, -1)))
        instance = rng.choice((None, None, *INSTANCES.values(), "static-9"))
        self.clients[stranger].instance_id = instance
        what = rng.randrange(6)
        if what == 0:
            self.heartbeat(stranger)
        elif what == 1:
            self.sync(stranger, None, None, rng.choice((None, "range", "other")))
        elif what == 2:
            self.leave(stranger)
        elif what == 3:
            self.ask("check_commit", OffsetCommit(rng.choice(("", self.clients[stranger].member_id)), instance,
                                                  rng.choice((-1, mine.generation, mine.generation - 1)),
                                                  transactional=rng.random() < 0.5), self.context)
        else:
            self.join(stranger, rng.choice((*PROTOCOLS, (("other", b""),), ())), instance=instance, session=6_000,
                      rebalance=rng.choice((9_000, 20_000)), protocol_type=rng.choice(("consumer", "consumer", "connect", "")),
                      member_id=rng.choice(("", self.clients[stranger].member_id)), version=rng.choice((9, 4, 3)))

    # --- the coordinator ----------------------------------------------------------------------------------------------

    def fail_over(self) -> None:
        """Let another broker load the committed records; every waiting client is answered NOT_COORDINATOR."""
        self.run(self.ask("unload"))
        stored = self.log[self.stored - 1] if self.stored else None
        self.log[self.stored:] = []
        self.in_flight.clear()
        self.coordinators += 1
        new_id = self.group.new_id
        self.group = (ClassicGroup("g", self.config, new_id) if stored is None
                      else ClassicGroup.restore("g", stored, self.config, new_id))
        if stored is not None and self.group.snapshot() != stored:
            raise RuleFallen("I12", f"{stored} is loaded as {self.group.snapshot()}")
        self.rules = ClassicRules(self.config)
        self.run(self.ask("start", self.context))

    def settle(self) -> None:
        """Let every client behave and nothing fail: after two minutes every client must have its partitions."""
        for _ in range(120):
            while self.in_flight:
                self.committed()
            for name in NAMES:
                self.act(name)
            self.advance(1)
        while self.in_flight:
            self.committed()
        assigned = sorted(p for name in NAMES for p in self.client(name).assignment.split(",") if p)
        if self.group.state is not ClassicGroupState.STABLE or assigned != PARTITIONS or len(self.group.members) != len(NAMES):
            raise RuleFallen("I12", f"when all behave it is {self.group.state.value}, with {assigned}: {self.lines[-20:]}")
