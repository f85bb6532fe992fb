"""The clients of the bench, one process each: `python -m minikafka.proof.bench.clients ROLE` reads its options as a line of
JSON and prints its figures as JSON.

    pace      one record a request, a number of them a second: how long each waits for its acknowledgement
    produce   batches as fast as they are taken
    consume   everything in a topic, as fast as it comes, again and again for a time
    follow    read what arrives, until the process is ended: the consumer beside a `pace`
    find      records at offsets and offsets at times, chosen by chance: how long each takes
    login     one connection after the other: opened, logged in where the cluster is closed, and closed
    connect   a number of connections, which send requests in turn for a time, and then stay open until standard input ends

Owns: how the work is measured. Times are taken in the callbacks of librdkafka.
"""

from __future__ import annotations

import json
import random
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import confluent_kafka
from confluent_kafka import Message, TopicPartition

from minikafka.cluster.security import Address, Security
from minikafka.cluster.wire import WireConnection

Servers = dict[str, Any]  # librdkafka's settings that lead to a cluster
GIVE_UP_MS = 60_000
UNANSWERED = 2_000  # records of `pace` that wait, at most: more than brokers take is not offered
BATCH = 10_000  # messages that a consumer takes from librdkafka at once
FINDS = 50  # that count, of each kind; the same number comes before and does not count
OTHER_FILES = 100  # descriptors of this process that are no connections, at most
API_VERSIONS = struct.Struct(">ihhih5s").pack(15, 18, 0, 1, 5, b"bench")  # a request of 15 bytes: version 0, which all know


def pace(servers: Servers, topic: str, rate: float, seconds: float, size: int, acks: str = "all") -> dict[str, float]:
    """Send one record a request; return the median and the 99th percentile of the waits in ms, and what got through a second."""
    producer = confluent_kafka.Producer({
        **servers, "acks": acks, "linger.ms": 0, "batch.num.messages": 1,
        "message.timeout.ms": GIVE_UP_MS})
    _warm(producer, topic, size)
    waits: list[float] = []
    acknowledged: list[float] = []
    value, begun, sent = b"x" * size, time.perf_counter(), 0

    def on_delivery(at: float) -> Callable[[Any, Message], None]:
        def delivered(error: Any, message: Message) -> None:
            if error is not None:
                raise RuntimeError(error)
            now = time.perf_counter()
            acknowledged.append(now)
            waits.append(now - at)
        return delivered

    while (now := time.perf_counter()) < begun + seconds:
        while sent < (now - begun) * rate and sent - len(acknowledged) < UNANSWERED:
            producer.produce(topic, value, on_delivery=on_delivery(time.perf_counter()))
            sent += 1
        producer.poll(min(0.001, 0.5 / rate))
    in_time = sum(at <= begun + seconds for at in acknowledged)
    producer.flush()
    waits.sort()
    return {"p50": 1000 * waits[len(waits) // 2], "p99": 1000 * waits[len(waits) * 99 // 100], "sent": len(waits),
            "rate": in_time / seconds, "until_all": acknowledged[-1] - begun}


def produce(servers: Servers, topic: str, seconds: float, size: int, acks: str = "all", idempotent: bool = False,
            records: float = float("inf")) -> dict[str, float]:
    """Send as fast as the brokers take it, for a number of seconds or of records; return records and MiB a second."""
    producer = confluent_kafka.Producer({
        **servers, "acks": acks, "linger.ms": 5, "batch.size": 1_000_000,
        "batch.num.messages": 10_000, "queue.buffering.max.messages": 200_000, "enable.idempotence": idempotent,
        "message.timeout.ms": GIVE_UP_MS})
    _warm(producer, topic, size)
    value, sent, begun = b"x" * size, 0, time.perf_counter()
    while time.perf_counter() < begun + seconds and sent < records:
        try:
            for _ in range(1000):
                producer.produce(topic, value)
                sent += 1
        except BufferError:
            producer.poll(0.01)
    producer.flush()
    rate = sent / (time.perf_counter() - begun)
    return {"rate": rate, "mib": rate * size / (1 << 20), "sent": sent}


def consume(servers: Servers, topic: str, partitions: int, records: int, size: int, seconds: float) -> dict[str, float]:
    """Read the topic from its beginning, again and again for some seconds; return records and MiB a second."""
    consumer = _consumer(servers)
    read, begun = 0, time.perf_counter()
    while time.perf_counter() < begun + seconds:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        left = records
        while left > 0:
            left -= len(consumer.consume(BATCH, 0.1))
        read += records
    rate = read / (time.perf_counter() - begun)
    consumer.close()
    return {"rate": rate, "mib": rate * size / (1 << 20), "sent": read}


def follow(servers: Servers, topic: str, partitions: int) -> dict[str, float]:
    """Read what arrives until standard input ends."""
    consumer = _consumer(servers)
    consumer.assign([TopicPartition(topic, index, confluent_kafka.OFFSET_END) for index in range(partitions)])
    while True:
        consumer.consume(BATCH, 0.05)


def find(servers: Servers, topic: str, records: int) -> dict[str, float]:
    """Read single records of partition 0, then ask at which offset a time begins; return the median waits in ms."""
    consumer = _consumer(servers, **{"fetch.message.max.bytes": 1 << 16, "queued.min.messages": 1})
    chance = random.Random(0)

    def record(offset: int) -> Message:
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = consumer.poll(GIVE_UP_MS / 1000)
        if message is None or message.error() or message.offset() != offset:
            raise RuntimeError(f"no record {offset} in {topic}")
        return message

    def begins(timestamp: int) -> None:
        consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], GIVE_UP_MS / 1000)

    first, last = (record(offset).timestamp()[1] for offset in (0, records - 1))
    waits = {"seek": [_timed(record, chance.randrange(records)) for _ in range(2 * FINDS)],
             "time": [_timed(begins, chance.randint(first, last)) for _ in range(2 * FINDS)]}
    consumer.close()
    return {name: 1000 * median(found[FINDS:]) for name, found in waits.items()}


def _timed(call: Callable[[int], object], about: int) -> float:
    begun = time.perf_counter()
    call(about)
    return time.perf_counter() - begun


def login(servers: Servers, addresses: list[str], security: dict[str, Any], seconds: float) -> dict[str, float]:
    """Open a connection, log in, close it, and open the next one; return the connections a second."""
    doors = [Address.of(address, Security(security)) for address in addresses]
    begun, done = time.perf_counter(), 0
    while time.perf_counter() < begun + seconds:
        WireConnection(doors[done % len(doors)], GIVE_UP_MS / 1000).close()
        done += 1
    return {"rate": done / (time.perf_counter() - begun), "sent": done}


def connect(servers: Servers, connections: int, seconds: float) -> dict[str, float]:
    """Open connections and send one request on each; then all together for some seconds. Return the seconds until each had its
    first answer, and the answers a second."""
    _raise_file_limit(connections + OTHER_FILES)
    named = (each.rpartition(":") for each in servers["bootstrap.servers"].split(","))
    addresses = [(host, int(port)) for host, _, port in named]
    begun = time.perf_counter()
    opened = [socket.create_connection(addresses[number % len(addresses)], GIVE_UP_MS / 1000) for number in range(connections)]
    _request(opened)
    connected, answers = time.perf_counter(), 0
    while time.perf_counter() < connected + seconds:
        _request(opened)
        answers += connections
    print(json.dumps({"connected": connected - begun, "rate": answers / (time.perf_counter() - connected)}), flush=True)
    sys.stdin.read()
    return {}


def _request(connections: list[socket.socket]) -> None:
    """Send a request over each connection, then read the answer of each."""
    for each in connections:
        each.sendall(API_VERSIONS)
    for each in connections:
        (size,) = struct.unpack(">i", each.recv(4, socket.MSG_WAITALL))
        if len(each.recv(size, socket.MSG_WAITALL)) != size:
            raise RuntimeError("a broker has closed a connection")


def _raise_file_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise RuntimeError(f"{wanted} open files are needed, and the machine allows {hard}: see `ulimit -Hn`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def _consumer(servers: Servers, **other: int) -> confluent_kafka.Consumer:
    return confluent_kafka.Consumer({
        **servers, "group.id": "bench", "enable.auto.commit": False, "fetch.wait.max.ms": 500,
        "fetch.message.max.bytes": 8 << 20, "fetch.max.bytes": 64 << 20, "queued.max.messages.kbytes": 256 << 10,
        "queued.min.messages": 1_000_000, "auto.offset.reset": "earliest", **other})


def _warm(producer: confluent_kafka.Producer, topic: str, size: int) -> None:
    """Connect to every leader first, so that connections are not part of what is measured."""
    partitions = producer.list_topics(topic, 10).topics[topic].partitions
    for partition in partitions:
        producer.produce(topic, b"x" * size, partition=partition)
    producer.flush()


ROLES: dict[str, Callable[..., dict[str, float]]] = {
    "pace": pace, "produce": produce, "consume": consume, "follow": follow, "find": find, "login": login,
    "connect": connect}

if __name__ == "__main__":
    print(json.dumps(ROLES[sys.argv[1]](**json.loads(sys.stdin.readline()))), flush=True)
