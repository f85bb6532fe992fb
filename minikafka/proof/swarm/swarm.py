"""One seed of the swarm: a cluster, clients at work, thirty seconds of faults, healing, and the verdict.

    result = run_seed(7)
    result.violations         what the invariants and the history's checker found; [] if all is well

The faults stop, the clients stop, and everything that can be repaired is repaired. Then a consumer that reads from the first
record to the last must get every acknowledged record, and the invariants look for the last time.

Owns: the course of a run, and the settings drawn for it.
Invariants: the same seed, the same faults kept: the same trace, to the hash.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from minikafka.client.admin.admin import Admin
from minikafka.client.consumer.read_all import read_all
from minikafka.proof.history import History
from minikafka.proof.invariants.violation import Violation
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm import coverage, faults, workload
from minikafka.proof.swarm.client_process import ClientProcess
from minikafka.proof.swarm.recovery import Operator
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.loop import Endless
from minikafka.sim.world.world import World, trace_hash

MAX_STEPS = 3_000_000  # callbacks: a run that takes more goes round in circles
BROKERS = 3
MORE_BROKERS = 70_000  # the first seed with more of them, see Shape
OWN_QUORUM = 5000  # the first seed that may have one, see Shape
CLIENTS_END_S, READ_S = 60.0, 40.0


@dataclass
class Result:
    """The outcome of one seed; `plan` holds the faults that struck."""

    seed: int
    violations: list[Violation]
    coverage: Counter[str]
    ending: tuple[Any, ...]  # the world's
    history: History
    events: list[dict[str, Any]]
    plan: list[faults.SwarmFault] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)

    @property
    def trace_hash(self) -> str:
        """Return World.trace_hash as it was at the end."""
        return trace_hash(self.events, self.ending)


class SeedRun:
    """One run of a seed. `kinds`: only faults of these kinds; `keep`: only these of the plan, by their place in it."""

    def __init__(self, seed: int, kinds: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> None:
        self.seed = seed
        rng = Random(f"swarm {seed}")
        self.config, self.shape = draw_config(rng), Shape.of(seed)
        shape = self.shape
        if shape.unclean:
            self.config["unclean.leader.election.enable"] = True
        if shape.brokers_assign:
            self.config |= draw_group_config(Random(f"swarm {seed}:groups"))
        if shape.strained:
            self.config |= draw_strained_config(Random(f"swarm {seed}:strain"))
        self.world = World(seed, brokers=shape.brokers, controllers=shape.controllers, config=self.config)
        self.history = History(self.world.now)
        self.watch = Watch(self.world, unclean=shape.unclean, history=self.history)
        chosen = workload.draw(rng)
        self.work = [kind(self.world, 1 / len(chosen)) for kind in chosen]
        for work in self.work:
            work.trims_inside, work.more = shape.trims_inside, seed >= MORE_BROKERS
            if shape.brokers_assign:
                work.protocols = work.rng.choice((("consumer",), ("classic", "consumer")))
            if shape.strained:
                work.strain()
        self.clients: list[ClientProcess] = []
        self.plan = [fault for place, fault in enumerate(self.plan_of(seed))
                     if (kinds is None or fault.kind in kinds) and (keep is None or place in keep)]  # fmt: skip
        self.topics = [topic for work in self.work for topic in work.topics]
        self.world.loop.timeline.most_steps = MAX_STEPS

    @staticmethod
    def plan_of(seed: int) -> list[faults.SwarmFault]:
        """Return all faults of a seed."""
        shape = Shape.of(seed)
        return faults.draw(Random(f"swarm {seed}:faults"), range(1, shape.brokers + 1), faults.kinds(seed), shape.strained)

    def execute(self) -> Result:
        """Run the seed to its end."""
        try:
            self.world.run(self._story())
        except Endless as error:
            self._violated("I14", str(error))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._violated("I14", f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})")
        counted = coverage.of_cluster(self.world, self.history, self.watch)
        counted.update(coverage.may_have(self.seed))
        result = Result(self.seed, self.watch.violations, counted, self.world.ending(), self.history,
                        self.world.events, self.plan, self.watch.losses)
        for client in self.clients:
            client.close()
        self.world.close()
        return result

    def _violated(self, id: str, text: str) -> None:
        self.watch.violations.append(Violation(id, text, self.world.now()))

    # --- the story -------------------------------------------------------------------------------------------------

    async def _story(self) -> None:
        world = self.world
        await world.start()
        admin = Admin(world.client_env(), world.bootstrap, history=self.history, name="setup")
        for work in self.work:
            await work.setup(admin)
        await admin.close()
        for work in self.work:
            for number, client in enumerate(work.clients()):
                self.clients.append(ClientProcess(world, self.history, f"{work.name} {number}", client,
                                                  self.shape.clients_alone))
                self.clients[-1].start()
        seconds = faults.STRAINED_SECONDS if self.shape.strained else faults.SECONDS
        striker = faults.Striker(world, self.topics[0], self.clients, seconds)
        await striker.strike_all(self.plan)
        for work in self.work:
            work.stopped = True
        operator = Operator(world, self.watch, self.history, striker.gone)
        for text in await operator.mend():
            self._violated("I16", text)
        await self._end()
        await operator.tidy()
        await self._read_everything()
        await self.watch.at_end()
        self._report_clients_errors()

    async def _end(self) -> None:
        """End every client."""
        deadline = self.world.now() + CLIENTS_END_S
        while not all(client.done for client in self.clients) and self.world.now() < deadline:
            await self.world.sleep(0.1)
        for client in self.clients:
            if not client.done:
                self._violated("I15", f"{client.name} has not ended {CLIENTS_END_S:.0f} s after healing")
                client.cancel()

    async def _read_everything(self) -> None:
        """Read every partition to its end, for the history."""
        transactional = [topic for work in self.work for topic in work.transactional]
        self.watch.sample()
        for topic, partition in sorted(self.watch.cluster.states):
            if topic.startswith("__"):
                continue
            await self._read(topic, partition, "read_uncommitted")
            if topic in transactional:
                await self._end_of_transactions((topic, partition))
                await self._read(topic, partition, "read_committed")

    async def _end_of_transactions(self, key: tuple[str, int]) -> None:
        """Wait until no transaction holds back what was committed after it: clients that were killed leave transactions open,
        and their coordinators abort them when their time is over."""
        def ended() -> bool:
            brokers = filter(None, map(self.world.broker, self.world.alive))
            leading = [p for broker in brokers if (p := broker.replicas.partitions.get(key)) is not None and p.replica.is_leader]
            return all(partition.last_stable_offset >= partition.high_watermark for partition in leading)
        try:
            await self.world.until(ended, READ_S)
        except TimeoutError:  # its coordinator forgot it, with permission, and so it never ends: what stands before it is read
            if off := [host for host in self.world.hosts.values() if host.clock.jumped_ms]:
                for host in off:  # or its coordinator's clock was set back: as in Kafka it would be aborted hours later
                    host.clock.jumped_ms = 0
                await self._end_of_transactions(key)

    async def _read(self, topic: str, partition: int, isolation: str) -> None:
        try:
            await read_all(self.world.client_env(), self.world.bootstrap, topic, partition, isolation=isolation,
                           timeout=READ_S, history=self.history)
        except KafkaError as error:
            self._violated("I15", f"{topic}-{partition} cannot be read ({isolation}): {error}")

    def _report_clients_errors(self) -> None:
        crashed = self.world.client_env().crashed
        if crashed.done():
            self._violated("I14", f"a client died of {crashed.exception()!r}")
        for client in self.clients:
            for text in client.troubles:
                self._violated("I14", f"{client.name}: {text}")


@dataclass(frozen=True)
class Shape:
    """The abilities of the swarm by seed. Lists and the ledger name seeds, so a seed must stay what it is. What the swarm learns
    is drawn apart from everything else, and only for seeds that were never run before. From each of these on:

    0                   three brokers that vote; all clients in one process
    OWN_QUORUM          a quorum of its own for some (`controllers`), and for some losing is allowed (`unclean`)
    CLIENTS_STRUCK      each client in a process of its own; it is struck, bits flip in logs, a broker dies for good
    METADATA_FLIPPED    bits flip in metadata, indexes, checkpoints; records are deleted from within a batch on
    CAUGHT_WRITING      nodes die between two changes to their disks, at work or in their recovery
    BROKERS_ASSIGN      members of groups speak the consumer protocol (KIP-848), all or some of them
    MORE_BROKERS        four or five brokers, so that partitions move to others; acks=0; a group on topics that come and go
    STRAINED            short sessions, hasty ISRs, faults one upon the other for twenty seconds; leaders stranded with records
                        that nobody else has; the work of Workload.strain

    faults.KINDS has the faults that came with each.
    """

    controllers: int | None = None
    unclean: bool = False
    clients_alone: bool = False
    trims_inside: bool = False
    brokers_assign: bool = False
    brokers: int = BROKERS
    strained: bool = False

    @classmethod
    def of(cls, seed: int) -> Shape:
        if seed < OWN_QUORUM:
            return cls()
        rng = Random(f"swarm {seed}:shape")
        controllers, unclean = 3 if rng.random() < 0.2 else None, rng.random() < 0.1
        strained = seed >= faults.STRAINED
        brokers = rng.choice((3, 3, 4, 5) if strained else (4, 5)) if seed >= MORE_BROKERS else BROKERS
        return cls(controllers, unclean, seed >= faults.CLIENTS_STRUCK, seed >= faults.METADATA_FLIPPED,
                   seed >= faults.BROKERS_ASSIGN, brokers, strained)


def draw_config(rng: Random) -> dict[str, Any]:
    """Draw the settings that differ from seed to seed."""
    config: dict[str, Any] = {
        "min.insync.replicas": 2, "group.min.session.timeout.ms": 1000, "auto.create.topics.enable": False,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000, "log.cleaner.backoff.ms": 1000,
        "replica.lag.time.max.ms": rng.choice((3000, 6000)),
    }  # fmt: skip
    if rng.random() < 0.3:
        config["log.flush.interval.messages"] = 1
    if rng.random() < 0.4:
        config["metadata.log.max.record.bytes.between.snapshots"] = 3000
    return config


def draw_group_config(rng: Random) -> dict[str, Any]:
    """Draw settings for groups in which the brokers assign."""
    return {"group.consumer.session.timeout.ms": 6000, "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.heartbeat.interval.ms": rng.choice((500, 1000)),
            "group.consumer.min.heartbeat.interval.ms": 500,
            "group.consumer.assignment.interval.ms": rng.choice((0, 1000))}


def draw_strained_config(rng: Random) -> dict[str, Any]:
    """Draw settings with which everything happens sooner: elections, changes of the ISR, retention, checkpoints."""
    return {"broker.session.timeout.ms": rng.choice((1500, 3000)), "broker.heartbeat.interval.ms": 300,
            "replica.lag.time.max.ms": rng.choice((600, 1500, 3000)), "replica.fetch.max.bytes": rng.choice((1, 1 << 20)),
            "log.initial.task.delay.ms": 500, "log.retention.check.interval.ms": 1000,
            "log.flush.offset.checkpoint.interval.ms": rng.choice((1000, 60_000)),
            "replica.high.watermark.checkpoint.interval.ms": rng.choice((500, 5000))}


def run_seed(seed: int, kinds: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> Result:
    """Run one seed, with its own plan of faults or with a part of it."""
    return SeedRun(seed, kinds, keep).execute()
