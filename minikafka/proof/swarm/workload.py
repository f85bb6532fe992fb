"""The work of the clients in a swarm: six kinds, of which each seed has some; about 40 records a second in all.

    plain    acks=all without idempotence, one request at a time; read by a consumer on its own; with `more`, acks=0 too
    idem     idempotent, several requests under way; read by a consumer on its own
    copy     a consumer's records copied in transactions, with its offsets (classic and KIP-890); some are aborted
    group    members that come, go, crash and return, static ones too, committing by hand and by the clock
    compact  few keys written over and over, in a compacted topic
    admin    topics made, filled, grown, moved, deleted and made again under the same name; with `more`, read by a group too

Strained seeds (swarm.Shape) have more of each: acks=1, small segments and retention, tombstones, transactions in a compacted
log, plain and transactional commits of one group.

Every client may give up at any time and be replaced by a new one: that is part of the work. Faults also strike the clients'
processes (client_process.py).

Owns: the topics and the clients of each kind. Their operations and the answers go into the run's history.
Invariants: every value is sent once: the history's checker tells records apart by their values.
            When told to stop, every client ends within its own timeouts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

from minikafka.client.admin.admin import Admin
from minikafka.client.consumer.consumer import READ_COMMITTED, Consumer
from minikafka.client.producer.producer import Producer
from minikafka.client.retry import Unsure
from minikafka.proof.swarm.client_process import ClientProcess
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.world import World

RATE = 40.0  # records a second, of all together
MIXED = "mixed"  # the group of both kinds of commits
BRISK = "brisk"  # the topic whose producers have acks=1
SMALL = {"internal.segment.bytes": "1500"}
COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "internal.segment.bytes": "1500",
           "delete.retention.ms": "2000"}

Client = Callable[[ClientProcess], Awaitable[None]]


class Workload:
    """One kind of work; `share` of the records are its own."""

    name = ""
    topics: dict[str, tuple[int, dict[str, str]]] = {}  # name -> (partitions, configs)
    transactional: tuple[str, ...] = ()  # topics that are read with read_committed too, at the end
    version = 2  # transaction.version of its producers

    def __init__(self, world: World, share: float) -> None:
        self.world, self.rate, self.rng = world, RATE * share, Random(f"{world.seed}:work {self.name}")
        self.burst = self.rng.choice((2, 4, 8))  # records that are handed over together
        self.stopped = False
        self.trims_inside = self.more = self.strained = False
        self.protocols: tuple[str, ...] = ("classic",)  # a member of a group chooses one of them, each time it joins
        self._numbers: dict[str, int] = {}

    def strain(self) -> None:
        """Take on what belongs to strained seeds."""
        self.strained = True

    async def setup(self, admin: Admin) -> None:
        for name, (partitions, configs) in self.topics.items():
            await admin.create_topic(name, partitions, 3, configs)

    def clients(self) -> list[Client]:
        """Return the clients, which run side by side until they are stopped, each in a process."""
        raise NotImplementedError

    # --- for all kinds ---------------------------------------------------------------------------------------------

    def number(self, what: str) -> str:
        """Return a name that was not used before."""
        self._numbers[what] = self._numbers.get(what, 0) + 1
        return f"{what}-{self._numbers[what]}"

    async def rest(self, at: ClientProcess, mean: float) -> None:
        await at.env.sleep(self.rng.expovariate(1 / mean))

    async def produce(self, at: ClientProcess, topic: str, keys: int = 0, in_flight: int = 20, tombstones: float = 0.0,
                      **settings: Any) -> None:
        """Write records one after the other, by producers that die now and then; some of them have no value."""
        while not self.stopped:
            producer = Producer(at.env, self.world.bootstrap, history=at.history,
                                name=self.number(f"{self.name}-producer"), **settings)
            dies = self.world.now() + self.rng.expovariate(1 / 20)
            await self._produce_with(at, producer, topic, keys, in_flight, dies, tombstones)
            if self.stopped or self.rng.random() < 0.4:
                await producer.close(timeout=30.0)
            else:
                producer.kill()

    async def _produce_with(self, at: ClientProcess, producer: Producer, topic: str, keys: int, in_flight: int,
                            dies: float, tombstones: float) -> None:
        promises: list[asyncio.Future[Any]] = []
        while not self.stopped and self.world.now() < dies:
            await self.rest(at, self.burst / self.rate)
            promises = [promise for promise in promises if not promise.done()]
            try:
                for _ in range(min(self.burst, in_flight - len(promises))):
                    key = f"k{self.rng.randrange(keys)}" if keys else None
                    empty = bool(tombstones) and self.rng.random() < tombstones
                    promise = await producer.post(topic, None if empty else self.number(f"{self.name}-{topic}"), key)
                    promise.add_done_callback(_look)
                    promises.append(promise)
            except KafkaError:
                pass  # no metadata, or a transaction that is over

    def membership(self, assignor: str = "range") -> dict[str, str]:
        """Draw the protocol of a member, and return it with the assignor that fits it."""
        protocol = self.rng.choice(self.protocols) if len(self.protocols) > 1 else self.protocols[0]
        if protocol == "consumer" and assignor != "range":
            assignor = "uniform"
        return {"protocol": protocol, "assignor": assignor}

    async def consume(self, at: ClientProcess, **settings: Any) -> None:
        """Read, by consumers that die or leave now and then; a static member comes back under its name."""
        assignor = settings.pop("assignor", "range")
        at.in_group = settings.get("group") is not None
        commits = at.in_group and not settings.get("auto_commit")
        while not self.stopped:
            consumer = Consumer(at.env, self.world.bootstrap, history=at.history,
                                name=self.number(f"{self.name}-consumer"),
                                max_poll_interval=at.max_poll_interval, **settings, **self.membership(assignor))
            ends = self.world.now() + self.rng.expovariate(1 / 12)
            while not self.stopped and self.world.now() < ends:
                try:
                    records = await consumer.poll(0.5)
                    if await at.idle():  # and then it goes on, whosever its partitions are by now
                        ends = self.world.now() + 2.0
                    if commits and records and self.rng.random() < 0.4:
                        await self._commit(consumer)
                except KafkaError:
                    break
            await (consumer.close() if self.stopped or self.rng.random() < 0.5 else consumer.kill())
            await self.rest(at, 0.5)

    async def _commit(self, consumer: Consumer) -> None:
        if self.rng.random() < 0.5:
            consumer.commit_async()
            return
        try:
            await consumer.commit()
        except KafkaError:
            pass  # a rebalance, or a coordinator that is gone: the records are read again


class NoMember(NamedTuple):
    """Stands for the membership of a client that commits for a group without being its member."""

    group: str
    joined: tuple[int, str] = (-1, "")
    instance_id: str | None = None


def _look(promise: asyncio.Future[Any]) -> None:
    """Retrieve the outcome of a task that is not awaited; the history has it."""
    if not promise.cancelled():
        promise.exception()


class Plain(Workload):
    name, topics = "plain", {"plain": (2, {})}

    def strain(self) -> None:
        super().strain()
        self.topics = {**self.topics, BRISK: (2, SMALL)}

    def clients(self) -> list[Client]:
        careless = [lambda at: self.produce(at, "plain", idempotent=False, acks=0)] if self.more else []
        careless += [lambda at: self.produce(at, BRISK, idempotent=False, acks=1)] if self.strained else []
        return [lambda at: self.produce(at, "plain", idempotent=False, max_in_flight=1), *careless,
                lambda at: self.consume(at, topics=["plain"])]


class Idempotent(Workload):
    name = "idem"

    def __init__(self, world: World, share: float) -> None:
        super().__init__(world, share)
        small = {"internal.segment.bytes": "2000"} if self.rng.random() < 0.5 else {}
        self.topics = {"idem": (2, small)}

    def strain(self) -> None:
        super().strain()
        self.topics = {**self.topics, "aged": (1, {**SMALL, "retention.bytes": "4000"})}

    def clients(self) -> list[Client]:
        linger = self.rng.choice((0.0, 0.05))
        aged = [lambda at: self.produce(at, "aged", linger=linger)] if self.strained else []
        return [lambda at: self.produce(at, "idem", linger=linger), *aged, lambda at: self.consume(at, topics=["idem"])]


class Compacted(Workload):
    """Few keys; in a strained seed some of the records are tombstones, and some are written in transactions."""

    name = "compact"
    topics = {"compact": (1, COMPACT)}

    def strain(self) -> None:
        super().strain()
        self.topics, self.transactional = {**self.topics, "ledger": (1, COMPACT)}, ("ledger",)
        self.version = self.rng.choice((1, 2, 2))

    def clients(self) -> list[Client]:
        usual = [lambda at: self.produce(at, "compact", keys=5, tombstones=0.2 * self.strained),
                 lambda at: self.consume(at, topics=["compact"])]
        return [*usual, self.account, lambda at: self.consume(at, topics=["ledger"], isolation=READ_COMMITTED)
                ] if self.strained else usual

    async def account(self, at: ClientProcess) -> None:
        """Write a few records in each transaction; abort some."""
        await _in_transactions(self, at, "accountant", self._entries, at.history)

    async def _entries(self, at: ClientProcess, producer: Producer) -> None:
        for _ in range(self.rng.randint(1, 4)):
            promise = await producer.post("ledger", self.number("entry"), f"k{self.rng.randrange(3)}")
            promise.add_done_callback(_look)
        await self.rest(at, 0.3)  # so that the records are there when the transaction is aborted


async def _in_transactions(work: Workload, at: ClientProcess, name: str, do: Callable[[ClientProcess, Producer], Awaitable[None]],
                           history: Any) -> None:
    """Call `do` in one transaction after the other, by producers that die now and then; commit two of three."""
    while not work.stopped:
        producer = Producer(at.env, work.world.bootstrap, transactional_id=name, transaction_version=work.version,
                            transaction_timeout=8.0, history=history, name=work.number(f"{name}-producer"))
        dies = work.world.now() + work.rng.expovariate(1 / 12)
        try:
            await producer.init()
            while not work.stopped and work.world.now() < dies:
                await work.rest(at, 0.4)
                await producer.begin()
                await do(at, producer)
                await (producer.commit() if work.rng.random() < 0.7 else producer.abort())
        except KafkaError:
            pass  # fenced, or nobody knows: a new producer under the same id settles what the old one left
        if work.rng.random() < 0.4:
            await producer.close()
        producer.kill()
        await work.rest(at, 0.3)


class GroupWorkload(Workload):
    name, topics = "group", {"jobs": (4, {})}

    def clients(self) -> list[Client]:
        assignor = self.rng.choice(("range", "cooperative-sticky"))
        about: dict[str, Any] = {"group": "workers", "topics": ["jobs"], "assignor": assignor}
        members = [lambda at: self.consume(at, **about), lambda at: self.consume(at, **about, auto_commit=True)]
        static = [lambda at: self.consume(at, **about, instance_id="static-1")] if self.rng.random() < 0.7 else []
        return [lambda at: self.produce(at, "jobs"), *members, *static]


class Copies(Workload):
    """Consume, transform, produce: each record of `in` once in `out`, whatever happens in between."""

    name, topics, transactional = "copy", {"in": (2, {}), "out": (2, {})}, ("out",)

    def __init__(self, world: World, share: float) -> None:
        super().__init__(world, share)
        self.version = self.rng.choice((1, 2, 2))

    def strain(self) -> None:
        super().strain()
        self.topics = {"in": (2, SMALL), "out": (2, SMALL)}

    def clients(self) -> list[Client]:
        copiers = [lambda at, number=number: self.copy(at, number) for number in range(self.rng.choice((1, 2)))]
        mixers = [self.mix, self.commit_plainly] if self.strained else []
        return [lambda at: self.produce(at, "in"), *copiers,
                lambda at: self.consume(at, topics=["out"], isolation=READ_COMMITTED), *mixers]

    async def mix(self, at: ClientProcess) -> None:
        """Commit offsets of a group without members in transactions. Nobody reads by them: I12 judges them by their log."""
        await _in_transactions(self, at, "mixer", self._offsets, None)

    async def _offsets(self, at: ClientProcess, producer: Producer) -> None:
        await producer.send_offsets({("in", self.rng.randrange(2)): self.rng.randrange(1000)}, NoMember(MIXED))
        await self.rest(at, 0.3)

    async def commit_plainly(self, at: ClientProcess) -> None:
        """Commit offsets of the same group outside of transactions."""
        while not self.stopped:
            consumer = Consumer(at.env, self.world.bootstrap, MIXED, name=self.number("committer"))
            ends = self.world.now() + self.rng.expovariate(1 / 12)
            while not self.stopped and self.world.now() < ends:
                await self.rest(at, 0.4)
                try:
                    await consumer.commit({("in", self.rng.randrange(2)): self.rng.randrange(1000)}, timeout=5.0)
                except KafkaError:
                    pass  # unstable, or nobody answers
            await consumer.kill()

    async def copy(self, at: ClientProcess, number: int) -> None:
        at.in_group = True
        while not self.stopped:
            producer = Producer(at.env, self.world.bootstrap, transactional_id=f"copier-{number}",
                                transaction_version=self.version, transaction_timeout=8.0, history=at.history,
                                name=self.number(f"copier-{number}-producer"))
            consumer = Consumer(at.env, self.world.bootstrap, "copiers", ["in"], isolation=READ_COMMITTED,
                                max_records=30, max_poll_interval=at.max_poll_interval, history=at.history,
                                name=self.number(f"copier-{number}-consumer"), **self.membership())
            dies = self.world.now() + self.rng.expovariate(1 / 12)
            try:
                await producer.init()
                while not self.stopped and self.world.now() < dies:
                    await self._copy_some(at, producer, consumer)
                    await at.idle()
            except KafkaError:
                pass  # fenced, or nobody knows: a new producer under the same id settles what the old one left
            if self.rng.random() < 0.4:
                await producer.close()
                await consumer.close()
            producer.kill()
            await consumer.kill()
            await self.rest(at, 0.3)

    async def _copy_some(self, at: ClientProcess, producer: Producer, consumer: Consumer) -> None:
        await self.rest(at, 0.3)
        records = await consumer.poll(0.5)
        if not records:
            return
        await producer.begin()
        try:
            for record in records:
                value = self.number(f"{record.value.decode()}.copy") if record.value is not None else None
                promise = await producer.post("out", value, partition=record.partition,
                                              source=(record.topic, record.partition, record.offset))
                promise.add_done_callback(_look)
            await producer.send_offsets({(r.topic, r.partition): r.offset + 1 for r in records}, consumer)
            if self.rng.random() < 0.15:
                raise KafkaError(Err.TRANSACTION_ABORTABLE, "the copier changed its mind")
            await self._commit_transaction(producer)
        except Unsure:
            raise
        except KafkaError:
            await producer.abort()
            await self._rewind(consumer)

    async def _commit_transaction(self, producer: Producer) -> None:
        """Commit, with a few tries before giving up."""
        for _ in range(3):
            try:
                return await producer.commit()
            except Unsure as error:
                unsure = error
        raise unsure

    async def _rewind(self, consumer: Consumer) -> None:
        """Go back to the committed offsets after an abort."""
        for tp, offset in (await consumer.committed()).items():
            if tp in consumer.assignment:
                consumer.seek(tp, max(offset, 0))


class Administration(Workload):
    """Topics that come and go under clients, and partitions of others that move."""

    name, topics = "admin", {"churn": (2, {}), "moving": (2, {})}

    def clients(self) -> list[Client]:
        return [self.administer, lambda at: self.produce(at, "churn", delivery_timeout=5.0),
                lambda at: self.produce(at, "moving"), lambda at: self.consume(at, topics=["moving"]),
                *[lambda at: self.consume(at, group="churners", topics=["churn"])] * self.more]

    async def administer(self, at: ClientProcess) -> None:
        admin = Admin(at.env, self.world.bootstrap, timeout=15.0, history=at.history)
        acts = [self._recreate, self._grow, self._move, self._elect, self._configure, self._trim]
        while not self.stopped:
            await self.rest(at, 1.5)
            try:
                await self.rng.choice(acts)(admin)
            except KafkaError:
                pass  # refused, or nobody answers; the next act may fare better
        await admin.close()

    async def _recreate(self, admin: Admin) -> None:
        await admin.delete_topic("churn")
        await admin.client.env.sleep(self.rng.expovariate(1 / 0.3))
        await admin.create_topic("churn", self.rng.randint(1, 3), 3)

    async def _grow(self, admin: Admin) -> None:
        await admin.create_partitions("moving", self.rng.randint(3, 5))

    async def _move(self, admin: Admin) -> None:
        brokers = self.world.brokers
        replicas = self.rng.sample(brokers, self.rng.randint(min(2, len(brokers)), min(3, len(brokers))))
        await admin.reassign(("moving", self.rng.randrange(2)), None if self.rng.random() < 0.2 else replicas)

    async def _elect(self, admin: Admin) -> None:
        await admin.elect_leader((self.rng.choice(("moving", "churn")), 0))

    async def _configure(self, admin: Admin) -> None:
        await admin.alter_configs("moving", {"segment.ms": self.rng.choice(("500", "5000", None))})

    async def _trim(self, admin: Admin) -> None:
        """Delete all records, or, if `trims_inside`, now and then up to any offset; most of these lie within a batch."""
        before = -1
        if self.trims_inside and self.rng.random() < 0.7:
            start, end = await admin.offset("churn", 0, "earliest"), await admin.offset("churn", 0)
            before = self.rng.randrange(start, end) if start < end else -1
        await admin.delete_records(("churn", 0), before)


KINDS: tuple[type[Workload], ...] = (Plain, Idempotent, Copies, GroupWorkload, Compacted, Administration)


def draw(rng: Random) -> list[type[Workload]]:
    """Draw two to four kinds of work."""
    chosen = rng.sample(range(len(KINDS)), rng.randint(2, 4))
    return [KINDS[number] for number in sorted(chosen)]
