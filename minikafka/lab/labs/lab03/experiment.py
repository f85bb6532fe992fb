"""The experiments of lab 3, on simulated clusters: order, keys, skew, more partitions, the way from bootstrap to leader.

    grown(to=4)                   a partition is added while the trucks report
    repaired("new topic")         the same Monday, done in another way: who drives backwards, and what it costs
    dealt(30)                     numbered records dealt to three partitions, and what one reader gets
    speed(partitions, keys)       records a second, if each broker takes a hundred
    without_key(1000)             how many records in a row go to one partition
    journey()                     each request of a producer that knows one broker only
    dead_bootstrap(listed)        a producer begins while a listed broker is down

Owns: nothing; each experiment makes its own cluster and closes it. Times are seconds of the simulator's clock.
The part on real sockets (three libraries, one topic) is in clients.py.
"""
from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.client.consumer.fetched_records import ConsumerRecord
from minikafka.client.producer.partitioner import murmur2
from minikafka.lab.labs.stage import simulated
from minikafka.lab.picture.draw.sequence import Arrow
from minikafka.lab.picture.draw.sequence import picture as sequence
from minikafka.lab.picture.draw.topic import picture, steps
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.view.front import Still
from minikafka.protocol.errors import Err, KafkaError

TOPIC = "truck_gps"
TRUCKS = [f"truck-{number}" for number in range(1, 13)]
NEW_TRUCKS = [f"truck-{number}" for number in range(13, 25)]
WAYS = ("wait", "partitioner", "new topic", "copy")
FRESH = 1.0    # seconds after which a client of these experiments asks for metadata again
REFUSALS = {each.name for each in Err}
OVERHEAD = 10  # bytes around a value of a thousand, in a large batch

Records = list[ConsumerRecord]
PartitionOf = Callable[[str, int], int]
Choose = Callable[[bytes, int], int]


def topic(cluster: Any, partitions: int = 3, name: str = TOPIC) -> None:
    """Create the topic; partition p is led by broker 1, 2 or 3 in turn."""
    cluster.admin().create_topic(name, assignment={p: [cluster.ids[p % len(cluster.ids)]] for p in range(partitions)})


def read_topic(cluster: Any, name: str = TOPIC, at_once: int = 500) -> Records:
    """Return all records in the order in which one new reader of all partitions gets them."""
    found: Records = []
    with cluster.consumer(name) as reader:
        while records := reader.poll(2.0, max_records=at_once):
            found += records
    return found


def drawn(records: Iterable[Any], follow: str | None = None, read: Sequence[Any] = (), partitions: int = 3,
          leaders: dict[int, int] | None = None, title: str = TOPIC) -> Still:
    """Draw the topic; without `leaders`, partition p is led by broker 1, 2 or 3 in turn."""
    leaders = leaders or {p: p % 3 + 1 for p in range(partitions)}
    return Still(*picture(records, follow, read, leaders, partitions, title))


def backwards(records: Iterable[ConsumerRecord]) -> Records:
    """Return the records that were read after a larger number of the same key."""
    return [record for record, back in steps(records) if back]


# --- one topic, several orders ------------------------------------------------------------------------------------------

def dealt(count: int = 30, partitions: int = 3) -> Records:
    """Deal numbered records without a key to the partitions in turn; return them as one reader gets them."""
    with simulated(3) as cluster:
        topic(cluster, partitions)
        producer = cluster.producer(acks=1)
        for number in range(count):
            producer.send(TOPIC, str(number), partition=number % partitions)
        return read_topic(cluster)


# --- keys ---------------------------------------------------------------------------------------------------------------

def kafka_partition(key: str, partitions: int) -> int:
    """Return the partition that Kafka's own clients choose for a key."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


def shares(keys: Iterable[str], partitions: int, partition_of: PartitionOf = kafka_partition) -> list[int]:
    """Return how many of the keys each partition gets."""
    found = Counter(partition_of(key, partitions) for key in keys)
    return [found[p] for p in range(partitions)]


def speed(partitions: int, keys: Sequence[str] = TRUCKS, brokers: int = 3, count: int = 1200, each: float = 100.0) -> float:
    """Return the records a second that one producer gets acknowledged, if each broker takes `each` a second.

    The keys take turns; a record has a thousand bytes. Broker after broker leads one partition, then a second one.
    """
    with simulated(3, brokers=brokers) as cluster:
        topic(cluster, partitions)
        for broker in cluster.ids:
            cluster.slow("clients", broker, bandwidth=each * (1000 + OVERHEAD))
        producer = cluster.producer(acks=1, delivery_timeout=600.0, request_timeout=300.0)
        producer.send(TOPIC, "hello", partition=0)
        began = cluster.now()

        async def send_all() -> None:
            post = producer.unblocked.post
            await asyncio.gather(*[await post(TOPIC, "x" * 1000, key=keys[n % len(keys)]) for n in range(count)])

        cluster.run(send_all())
        return count / (cluster.now() - began)


# --- one partition more -------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Grown:
    """The records that two readers got: `live` was there all the time, `later` came when all was over and read from the
    beginning."""

    live: Records
    later: Records


def grown(before: int = 20, after: int = 20, to: int = 4) -> Grown:
    """Let the trucks report `before` rounds into 3 partitions and, when the topic has `to`, `after` rounds more."""
    with simulated(3) as cluster:
        topic(cluster)
        producer = cluster.producer(acks=1)
        reader = cluster.consumer(TOPIC, group="map", auto_commit=True, auto_commit_interval=0.2)
        for client in (producer, reader):
            client.unblocked.client.metadata_max_age = FRESH
        live: Records = []
        over = asyncio.Event()

        async def follow() -> None:
            while not over.is_set():
                live.extend(await reader.unblocked.poll(0.2))

        following = cluster.world.client_env().spawn(follow(), "live reader")
        _report(producer, range(before))
        if to > 3:
            cluster.admin().create_partitions(TOPIC, to)
        cluster.sleep(2 * FRESH)
        _report(producer, range(before, before + after))
        cluster.wait(lambda: len(live) >= (before + after) * len(TRUCKS), timeout=30)
        over.set()
        cluster.run(asyncio.wait_for(following, 5))
        return Grown(live, read_topic(cluster))


def _report(producer: Any, numbers: Iterable[int], name: str = TOPIC, trucks: Sequence[str] = TRUCKS,
            choose: Choose | None = None) -> None:
    for number in numbers:
        for truck in trucks:
            producer.send(name, str(number), key=truck, partition=choose(truck.encode(), 4) if choose else None)


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair: what a map reads that begins on Tuesday, how long no truck could report (seconds), how many
    records were written a second time, and the new reports by partition."""

    later: Records
    still: float
    copied: int
    shares: list[int]

    @property
    def backwards(self) -> list[str]:
        """Return the trucks that drive backwards on the map."""
        return sorted({record.key.decode() for record in backwards(self.later) if record.key})

    def __str__(self) -> str:
        back = len(self.backwards)
        return (f"{counted(back, 'truck')} {verb(back, 'drives', 'drive')} backwards; no truck could report for {self.still:.1f} "
                f"s; {counted(self.copied, 'record')} {verb(self.copied, 'was', 'were')} written twice; new reports by "
                f"partition: {self.shares}")


def repaired(way: str | Choose) -> Repaired:
    """Let the twelve trucks report 20 rounds into 3 partitions; on Monday there are 4, and 12 new trucks report as well: 20
    rounds more of all. `way` is one of WAYS, or a partitioner: a function of key and number of partitions."""
    with simulated(3) as cluster:
        topic(cluster)
        producer = cluster.producer(acks=1)
        producer.unblocked.client.metadata_max_age = FRESH
        _report(producer, range(20))
        began, copied, name = cluster.now(), 0, TOPIC
        if way in ("new topic", "copy"):
            topic(cluster, 4, name := "truck_gps_4")
        else:
            cluster.admin().create_partitions(TOPIC, 4)
            cluster.sleep({"wait": 600.0}.get(str(way), 0.0))
        if way == "copy":
            for record in read_topic(cluster):
                producer.send(name, record.value, key=record.key)
                copied += 1
        still = cluster.now() - began if way in ("wait", "copy") else 0.0
        cluster.sleep(2 * FRESH)
        _report(producer, range(20, 40), name, [*TRUCKS, *NEW_TRUCKS], way if callable(way) else None)
        later = read_topic(cluster, name)
        new = Counter(record.partition for record in later if int(record.value or 0) >= 20)
        before = read_topic(cluster) if way == "new topic" else []
        return Repaired(before + later, still, copied, [new[p] for p in range(4)])


def without_key(count: int = 1000, size: int = 100) -> list[int]:
    """Send `count` records of `size` bytes without a key, as fast as it goes, with a producer that does as Apache's; return how
    many went to one partition in a row, run after run."""
    with simulated(3) as cluster:
        topic(cluster, 3)
        producer = cluster.producer(acks=1)

        async def send_all() -> list[tuple[int, int]]:
            post = producer.unblocked.post
            return await asyncio.gather(*[await post(TOPIC, "x" * size) for _ in range(count)])

        return [len(list(run)) for _, run in groupby(partition for partition, _ in cluster.run(send_all()))]


# --- from bootstrap to leader -------------------------------------------------------------------------------------------

def knows_only(client: Any, cluster: Any, brokers: Sequence[int]) -> Any:
    """Give a new client of the simulator these brokers as its bootstrap servers."""
    hosts = [cluster.address(broker).split(":") for broker in brokers]
    client.unblocked.client.metadata.bootstrap = [(host, int(port)) for host, port in hosts]
    return client


@dataclass(slots=True)
class Journey:
    """The talk of a producer with its brokers: a row for each request and answer, and the very first request as bytes."""

    table: pd.DataFrame
    first: bytes
    brokers: list[int]
    knows: int

    def picture(self) -> Still:
        """Return the talk as a sequence of arrows: the bootstrap server, metadata, the connection that is used."""
        rows = self.table.reset_index().itertuples(index=False)
        messages = [Arrow(step, broker, name.removeprefix("answer to "), says, name.startswith("answer"), says in REFUSALS)
                    for step, broker, name, says in rows]
        return Still(*sequence(messages, self.brokers, [self.knows], {self.knows: _stopped(self.knows)}))


def _stopped(broker: int) -> str:
    return f"broker {broker} is stopped"


class _Tap:
    """Notes the Metadata and Produce frames between the clients and the brokers, under the name of a step."""

    def __init__(self, cluster: Any) -> None:
        self.step, self.rows, self.first = "", [], b""
        cluster.world.tap(self._look)

    def _look(self, message: Any) -> None:
        if message.api not in (MetadataRequest, ProduceRequest) or "clients" not in (message.src, message.dst):
            return
        self.first = self.first or message.frame
        broker = message.src if message.is_response else message.dst
        self.rows.append({"step": self.step, "broker": broker, "message": ("answer to " if message.is_response else "")
                          + message.api.__name__.removesuffix("Request"), "says": _said(message)})


def _said(message: Any) -> str:
    if message.api is MetadataRequest:
        if not message.is_response:
            return "who is there, and who leads?"
        leaders = {p.partition_index: p.leader_id for t in message.body.topics for p in t.partitions}
        return f"brokers {sorted(b.node_id for b in message.body.brokers)}, leaders {leaders}"
    if message.is_response:
        parts = [p for t in message.body.responses for p in t.partition_responses]
        return ", ".join(f"offset {p.base_offset}" if p.error_code == 0 else Err(p.error_code).name for p in parts)
    return ", ".join(f"records for partition {p.index}" for t in message.body.topic_data for p in t.partition_data)


def journey(bootstrap: int = 2, key: str = "truck-1") -> Journey:
    """Let a producer that knows one broker send: at first, after the leader has moved, and when that one broker has ended."""
    with simulated(3) as cluster:
        admin = cluster.admin()
        admin.create_topic(TOPIC, assignment={0: [1, 3], 1: [2, 3], 2: [3, 1]})
        producer = knows_only(cluster.producer(acks=1, idempotent=False), cluster, [bootstrap])
        tap = _Tap(cluster)
        tap.step = "first record"
        producer.send(TOPIC, "0", key=key)
        tap.step = "second record"
        producer.send(TOPIC, "1", key=key)
        _move_leader(cluster, admin, kafka_partition(key, 3))
        tap.step = "the leader has moved"
        producer.send(TOPIC, "2", key=key)
        cluster.stop(bootstrap)
        tap.step = _stopped(bootstrap)
        producer.send(TOPIC, "3", key=key)
        return Journey(pd.DataFrame(tap.rows).set_index("step"), tap.first, list(cluster.ids), bootstrap)


def _move_leader(cluster: Any, admin: Any, partition: int) -> None:
    """Make the second replica of a partition its leader."""
    replicas = cluster.partitions(TOPIC)[f"{TOPIC}-{partition}"].replicas
    admin.reassign((TOPIC, partition), replicas[::-1])
    cluster.wait(lambda: cluster.partitions(TOPIC)[f"{TOPIC}-{partition}"].replicas == replicas[::-1])
    admin.elect_leader((TOPIC, partition))
    cluster.wait(lambda: cluster.leader(TOPIC, partition) == replicas[-1])


def dead_bootstrap(listed: Sequence[int] = (2,), dead: int = 2) -> str:
    """Say what becomes of a producer that begins while broker `dead` is down and knows only the `listed` brokers."""
    with simulated(3) as cluster:
        cluster.admin().create_topic(TOPIC, 3, 3)
        cluster.stop(dead)
        began = cluster.now()
        producer = knows_only(cluster.producer(acks=1, max_block=20.0), cluster, listed)
        try:
            partition, offset = producer.send(TOPIC, "0", key="truck-1")
        except KafkaError as error:
            return f"{error.code.name} after {cluster.now() - began:.0f} s"
        return f"partition {partition}, offset {offset}"
