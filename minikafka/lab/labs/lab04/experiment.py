"""The experiments of lab 4, on simulated clusters: positions, groups, idle members, a queue's disorder, two group protocols.

    desk = Desk(100)                          one partition of a hundred records, and readers without a group
    figure()                                  two brokers, four partitions, group A of two members, group B of four
    three_consumers(partitions=2)             three members of one group: who works, how long it takes
    disorder(by_queue=True)                   a hundred jobs, two workers, one of them slow: what is done out of order
    change("classic", "join")                 a member joins (or dies): which partition stands still for how long

Owns: nothing; each experiment makes its own cluster. Times are seconds of the simulator's clock.
"""
from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from minikafka.lab.labs.lab01.push import Publisher, PushBroker, QueueWorker
from minikafka.lab.labs.lab04.crowd import Crowd, Handed
from minikafka.lab.labs.stage import simulated
from minikafka.lab.picture.draw.group import picture
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view.front import Still
from minikafka.protocol.errors import KafkaError

TOPIC = "rides"
SESSION = 6.0       # seconds without a heartbeat until a member is given up
HEARTBEAT = 3.0     # seconds between two heartbeats of a member
CUSTOMERS = 4


def topic(cluster: Any, partitions: int) -> None:
    """Create the topic with the leaders of the lecture's figure: broker 1 has the first and the last partition."""
    ids = cluster.ids
    cluster.admin().create_topic(TOPIC, assignment={p: [ids[(p + 1) // 2 % len(ids)]] for p in range(partitions)})


def fill(cluster: Any, count: int, partitions: int, begin: int = 0) -> None:
    """Write `count` records, numbered, dealt to the partitions in turn."""
    producer = cluster.producer(name="taxis")

    async def send() -> None:
        await asyncio.gather(*[await producer.unblocked.post(TOPIC, str(n), partition=n % partitions)
                               for n in range(begin, begin + count)])

    cluster.run(send())
    producer.close()


def drawn(cluster: Any, *groups: str) -> Still:
    """Draw the groups of a cluster as they are now."""
    return Still(*picture(RecordedRun.of(cluster).at(tp=f"{TOPIC}-0"), groups))


# --- positions ----------------------------------------------------------------------------------------------------------

class Desk:
    """A topic of one partition with `records` records, and readers that say what they get."""

    def __init__(self, records: int = 100) -> None:
        self.cluster = simulated(seed=4)
        topic(self.cluster, 1)
        fill(self.cluster, records, 1)

    def read(self, offset: int | None = None, count: int | None = None, group: str | None = None, commit: bool = False,
             **settings: Any) -> list[int]:
        """Let a new reader read `count` records, or all there are, and go away; return their offsets. `offset`: it begins
        there; `group`: it is the only member of that group, and commits at the end if `commit`."""
        reader = self.cluster.consumer(*[TOPIC] * (group is not None), group=group, name=f"reader of {group or 'no group'}",
                                       **settings)
        if group is None:
            reader.assign([(TOPIC, 0)])
        if offset is not None:
            reader.seek((TOPIC, 0), offset)
        found: list[int] = []
        until = self.cluster.now() + 3
        while (count is None or len(found) < count) and self.cluster.now() < until:
            found += [record.offset for record in reader.poll(0.5, max_records=count - len(found) if count else 500)]
        if commit:
            reader.commit()
        reader.close()
        return found

    def forget(self, group: str) -> None:
        """Delete a group and what it has committed, if there is one."""
        with suppress(KafkaError):
            self.cluster.admin().delete_group(group)

    def offsets_topic(self) -> int:
        """Return how many records `__consumer_offsets` has, in all its partitions."""
        self.cluster.sleep(1)               # until what was written last is committed
        ends = {event["tp"]: event["hw"] for event in self.cluster.trace.events("hw")
                if event["tp"].startswith("__consumer_offsets")}
        return sum(ends.values())

    def write(self, count: int) -> None:
        fill(self.cluster, count, 1, begin=1000)

    def drawn(self, *groups: str) -> Still:
        return drawn(self.cluster, *groups)


# --- groups -------------------------------------------------------------------------------------------------------------

@dataclass
class Groups:
    """The work of groups on one topic: deliveries by group and member, and the cluster to look at."""

    crowd: Crowd
    shares: dict[str, dict[str, list[int]]]

    def table(self) -> dict[str, dict[str, Any]]:
        """Return a row for each member: its group, its partitions, how many records it was handed."""
        counts = Counter((h.group, h.member) for h in self.crowd.read)
        return {member: {"group": group, "partitions": ", ".join(f"P{p}" for p in held) or "none",
                         "records": counts[group, member]}
                for group, members in self.shares.items() for member, held in members.items()}

    @property
    def deliveries(self) -> int:
        return len(self.crowd.read)


def figure(records: int = 400, partitions: int = 4, groups: dict[str, int] | None = None) -> Groups:
    """Return the groups of the lecture's figure after they have read everything: two servers, four partitions, group A
    with two consumers, group B with four."""
    cluster = simulated(seed=4, brokers=2)
    topic(cluster, partitions)
    crowd = Crowd(cluster, TOPIC)
    wanted = groups or {"A": 2, "B": 4}
    for group, members in wanted.items():
        for number in range(1, members + 1):
            crowd.start(f"{group}{number}", group)
    shares = {group: crowd.settle(group, partitions) for group in wanted}
    fill(cluster, records, partitions)
    cluster.wait(lambda: len(crowd.read) >= records * len(wanted), 60)
    cluster.sleep(1)
    return Groups(crowd, shares)


def three_consumers(partitions: int, records: int = 120, takes: float = 0.1, members: int = 3) -> dict[str, Any]:
    """Let three members of one group work off a backlog; return who works, who is idle, and the seconds from the first to the
    last record."""
    with simulated(seed=4) as cluster:
        topic(cluster, partitions)
        crowd = Crowd(cluster, TOPIC)
        for number in range(1, members + 1):
            crowd.start(f"C{number}", "C", takes, max_records=1)
        shares = crowd.settle("C", partitions)
        began = cluster.now()
        fill(cluster, records, partitions)
        cluster.wait(lambda: len(crowd.read) >= records, 600)
        working = {h.member for h in crowd.read}
        return {"partitions": partitions, "working": len(working), "idle": members - len(working),
                "seconds": round(cluster.now() - began), "who": {name: held for name, held in shares.items() if held}}


def _flow(cluster: Any, partitions: int, rate: float = 10.0) -> asyncio.Task[None]:
    """Write to each partition, `rate` records a second, until the task is cancelled."""
    producer = cluster.producer(name="taxis")

    async def write() -> None:
        number = 0
        while True:
            for p in range(partitions):
                await producer.unblocked.post(TOPIC, str(number), partition=p)
            number += 1
            await cluster.world.sleep(1 / rate)

    return cluster.world.client_env().spawn(write(), "taxis: write")


# --- the order of work ----------------------------------------------------------------------------------------------------

def disorder(by_queue: bool, jobs: int = 100, quick: float = 0.001, slow: float = 0.02) -> list[tuple[str, int]]:
    """Let two workers, one of them slow, work off a hundred jobs of four customers; return (customer, job) as they are done.

    By a queue: each worker gets the next job. By a group: each reads the partitions that it has.
    """
    with simulated(seed=4) as cluster:
        return _by_queue(cluster, jobs, quick, slow) if by_queue else _by_group(cluster, jobs, quick, slow)


def _job(number: int) -> tuple[str, str]:
    return f"customer-{number % CUSTOMERS}", str(number)


def _by_queue(cluster: Any, jobs: int, quick: float, slow: float) -> list[tuple[str, int]]:
    async def story() -> tuple[PushBroker, Publisher]:
        broker = await PushBroker(cluster.world).serve()
        return broker, await Publisher(cluster.world).connect()

    broker, publisher = cluster.run(story())
    workers = [cluster.run(QueueWorker(cluster.world, name, "jobs", takes, prefetch=1).start())
               for name, takes in (("worker-1", quick), ("worker-2", slow))]
    for number in range(jobs):
        publisher.post("jobs", " ".join(_job(number)))
    cluster.wait(lambda: broker.queue("jobs").acknowledged == jobs, 60)
    done = sorted((at, body) for worker in workers for at, body, _ in worker.done)
    return [(customer, int(number)) for customer, number in (body.split() for _, body in done)]


def _by_group(cluster: Any, jobs: int, quick: float, slow: float) -> list[tuple[str, int]]:
    topic(cluster, 2)
    crowd = Crowd(cluster, TOPIC)
    for name, takes in (("worker-1", quick), ("worker-2", slow)):
        crowd.start(name, "workers", takes, max_records=1)
    crowd.settle("workers", 2)
    producer = cluster.producer()

    async def send() -> None:
        await asyncio.gather(*[await producer.unblocked.post(TOPIC, value, key) for key, value in map(_job, range(jobs))])

    cluster.run(send())
    cluster.wait(lambda: len(crowd.read) >= jobs, 60)
    return [(h.key or "", int(h.value)) for h in crowd.read]


def overtaken(done: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the jobs that were done after a later job of the same customer."""
    last: dict[str, int] = {}
    late = []
    for customer, number in done:
        if number < last.get(customer, number):
            late.append((customer, number))
        last[customer] = max(number, last.get(customer, number))
    return late


# --- two protocols --------------------------------------------------------------------------------------------------------

PROTOCOLS = {
    "classic": {"protocol": "classic", "assignor": "range"},
    "cooperative": {"protocol": "classic", "assignor": "cooperative-sticky"},
    "consumer": {"protocol": "consumer", "assignor": "uniform"},
}
PARTITIONS, SLOW, SLOW_S = 8, "M2", 4.0


@dataclass
class Change:
    """Three members read eight partitions; one more joins, or one dies at second 0. `read`: what was handed out around it."""

    protocol: str
    what: str
    read: list[Handed]
    before: dict[str, list[int]]
    after: dict[str, list[int]]

    @property
    def moved(self) -> list[int]:
        """Return the partitions that another member has now."""
        owner = {p: name for name, held in self.before.items() for p in held}
        return sorted(p for name, held in self.after.items() for p in held if owner[p] != name)

    @property
    def stayed(self) -> list[int]:
        """Return the partitions that a quick member had before and has now: nothing had to be done about them."""
        return sorted(p for name, held in self.after.items() for p in held
                      if name != SLOW and p in self.before.get(name, ()))

    def stops(self) -> dict[int, tuple[float, float]]:
        """Return the longest time in which each partition was read by nobody, from when to when; (0, 0) if it was below half a
        second."""
        longest = {}
        for p in range(PARTITIONS):
            times = [h.t for h in self.read if h.partition == p]
            gaps = [(b - a, a, b) for a, b in zip(times, times[1:]) if b > 0 and b - a >= 0.5]
            longest[p] = max(gaps)[1:] if gaps else (0.0, 0.0)
        return longest

    def row(self) -> dict[str, Any]:
        """Return how many partitions changed their reader, how many others stopped all the same, and the longest of
        these stops."""
        lengths = {p: end - begin for p, (begin, end) in self.stops().items()}
        idle = [lengths[p] for p in self.stayed if lengths[p]]
        return {"change their reader": len(self.moved), "stay": len(self.stayed), "stay, but stop": len(idle),
                "for seconds": f"{max(idle, default=0.0):.1f}"}


def change(protocol: str, what: str, slow: float = SLOW_S, before: float = 5.0, after: float = 26.0,
           when: float = 16.0) -> Change:
    """Let a fourth member join a group of three, or kill one of the three; records keep coming, five a second to a partition.

    M1 and M3 are quick. M2 needs `slow` seconds for what a poll returns, and so calls poll only so often.
    """
    settings = {"group.consumer.session.timeout.ms": int(SESSION * 1000),
                "group.consumer.heartbeat.interval.ms": int(HEARTBEAT * 1000)}
    common = {"session_timeout": SESSION, "heartbeat_interval": HEARTBEAT, "max_records": 500, **PROTOCOLS[protocol]}
    with simulated(seed=4, config=settings) as cluster:
        topic(cluster, PARTITIONS)
        crowd, flow = Crowd(cluster, TOPIC), _flow(cluster, PARTITIONS, rate=5.0)
        for name in ("M1", SLOW, "M3"):
            crowd.start(name, "G", batch_takes=slow * (name == SLOW), **common)
        cluster.sleep(when)
        shares, at = crowd.settle("G", PARTITIONS), cluster.now()
        crowd.start("M4", "G", **common) if what == "join" else crowd.kill("M1")
        cluster.sleep(after)
        later = crowd.settle("G", PARTITIONS)
        flow.cancel()
        read = [h._replace(t=h.t - at) for h in crowd.read if h.t >= at - before]
        return Change(protocol, what, read, shares, later)


def changes(what: str, protocols: Collection[str] = tuple(PROTOCOLS)) -> dict[str, Change]:
    """Return the same change under each protocol, by protocol."""
    return {protocol: change(protocol, what) for protocol in protocols}
