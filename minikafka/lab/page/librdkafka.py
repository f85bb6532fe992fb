"""A stand-in for confluent-kafka in a process of a simulated world: librdkafka is written in C, and no such world takes it in.

    module = stand_in(process)        # Producer, Consumer and the few other names that the labs use

Producer: kafka-python with librdkafka's own rules: its partitioner (CRC32 of the key, or murmur2 where `partitioner` says so; one
partition for STICKY seconds where there is no key), its defaults, and answers that are handed out in `poll` and `flush`.
Consumer: the course's own client (minikafka/client), which speaks both group protocols.
Judged: what cells of labs 3, 4 and 7 print with it is what they print with librdkafka (tests/lab/page).

Owns: answers that have come and were not handed out.
What librdkafka does differently: everything that is not named here. A setting that is not known here is refused.
"""
from __future__ import annotations

import types
import zlib
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from minikafka.client import Consumer
from minikafka.protocol.errors import KafkaError
from minikafka.sim.guest.modules import Modules

NAME = ("librdkafka is written in C and cannot run here. Another client takes its part, with its partitioner and its defaults; "
        "`make lab` has the library itself.")
STICKY = 0.01  # seconds: sticky.partitioning.linger.ms
PLAIN = {"bootstrap.servers", "client.id", "partitioner"}
PRODUCER: dict[str, tuple[str, Callable[[Any], Any]]] = {  # librdkafka's name: kafka-python's, and how its value is written there
    "acks": ("acks", lambda value: value if value == "all" else int(value) if int(value) >= 0 else "all"),
    "enable.idempotence": ("enable_idempotence", lambda value: value in (True, "true")),
    "linger.ms": ("linger_ms", int), "message.timeout.ms": ("delivery_timeout_ms", int), "retries": ("retries", int),
    "delivery.timeout.ms": ("delivery_timeout_ms", int), "request.timeout.ms": ("request_timeout_ms", int),
    "compression.type": ("compression_type", lambda value: None if value == "none" else value)}
DEFAULTS = {"acks": "all", "enable_idempotence": False, "linger_ms": 5, "delivery_timeout_ms": 300_000}
CONSUMER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "group.id": ("group", str), "group.protocol": ("protocol", str), "auto.offset.reset": ("reset", str),
    "enable.auto.commit": ("auto_commit", lambda value: value in (True, "true")),
    "session.timeout.ms": ("session_timeout", lambda value: int(value) / 1000),
    "heartbeat.interval.ms": ("heartbeat_interval", lambda value: int(value) / 1000)}


class KafkaException(Exception):
    __module__ = "confluent_kafka"


class DeliveryError:
    """An error of a record; `code` is Kafka's."""

    __module__ = "confluent_kafka"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def code(self) -> int:
        return int(getattr(self._error, "errno", -1))

    def str(self) -> str:
        return f"{type(self._error).__name__}: {self._error}"

    __str__ = __repr__ = str


class TopicPartition:
    __module__ = "confluent_kafka"

    def __init__(self, topic: str, partition: int = -1, offset: int = -1001) -> None:
        self.topic, self.partition, self.offset, self.error = topic, partition, offset, None


class HandedRecord:
    """A record, as both clients hand it out."""

    __module__ = "confluent_kafka"

    def __init__(self, topic: str, partition: int | None, offset: int | None, key: bytes | None, value: bytes | None) -> None:
        for name, what in (("topic", topic), ("partition", partition), ("offset", offset), ("key", key), ("value", value),
                           ("error", None)):
            setattr(self, name, lambda what=what: what)


def _settings(known: dict[str, tuple[str, Callable[[Any], Any]]], given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings by the other client's names. KafkaException for one that is not known here."""
    if unknown := sorted(name for name in given if name not in known and name not in PLAIN):
        raise KafkaException(f"the stand-in for librdkafka does not know the setting {', '.join(unknown)}: `make lab` has the "
                             "library itself")
    return {known[name][0]: known[name][1](value) for name, value in given.items() if name in known}


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


class _Client:
    __module__ = "confluent_kafka"
    process: Modules
    once: list[Callable[[], None]]  # what is left to say before the first client is made

    def __init__(self) -> None:
        while self.once:
            self.once.pop()()


class _Producer(_Client):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        rule = settings.get("partitioner", "consistent_random")
        asked = {**DEFAULTS, **_settings(PRODUCER, settings)}
        partitioner = _partitioner(self.process, murmur2="murmur2" in rule)
        self._client = self.process.load("kafka").KafkaProducer(
            bootstrap_servers=settings["bootstrap.servers"], client_id=settings.get("client.id", "rdkafka"),
            partitioner=partitioner, **asked)
        self._answers: list[Callable[[], Any]] = []
        self._under_way = 0

    def list_topics(self, topic: str, timeout: float = -1) -> Any:
        partitions = dict.fromkeys(sorted(self._client.partitions_for(topic)))
        return types.SimpleNamespace(topics={topic: types.SimpleNamespace(partitions=partitions)})

    def produce(self, topic: str, value: Any = None, key: Any = None, partition: int = -1, callback: Any = None,
                on_delivery: Any = None) -> None:
        value, key, told = _bytes(value), _bytes(key), on_delivery or callback
        promise = self._client.send(topic, value, key, partition=None if partition < 0 else partition)
        self._under_way += 1

        def answered(found: Any = None, error: BaseException | None = None) -> None:
            self._under_way -= 1
            where = (found.partition, found.offset) if error is None else (None, None)
            if told is not None:
                self._answers.append(partial(told, error and DeliveryError(error), HandedRecord(topic, *where, key, value)))

        promise.add_callback(answered)
        promise.add_errback(lambda error: answered(error=error))

    def poll(self, timeout: float = 0) -> int:
        """Hand out the answers that have come; return how many."""
        answers, self._answers = self._answers, []
        for answer in answers:
            answer()
        return len(answers)

    def flush(self, timeout: float | None = None) -> int:
        """Wait for all answers and hand them out; return how many records are still under way."""
        try:
            self._client.flush(timeout=timeout)
        except self.process.load("kafka.errors").KafkaTimeoutError:
            pass
        self.poll()
        return self._under_way

    def __len__(self) -> int:
        return self._under_way


def _partitioner(process: Modules, murmur2: bool) -> Any:
    """Return librdkafka's rule (consistent_random, murmur2_random) as a partitioner of kafka-python."""
    kafka = process.load("kafka.partitioner")
    now, chance = process.threads.monotonic, process.own.get("random", process.chance)
    held: dict[str, tuple[float, int]] = {}

    class Rule(kafka.Partitioner):  # type: ignore[misc,name-defined]
        def partition(self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: Any, cluster: Any) -> int:
            places = sorted(cluster.partitions_for_topic(topic))
            if key_bytes:
                number = kafka.murmur2(key_bytes) & 0x7FFFFFFF if murmur2 else zlib.crc32(key_bytes)
                return int(places[number % len(places)])
            until, place = held.get(topic, (0.0, -1))
            if place not in places or now() >= until:
                held[topic] = until, place = now() + STICKY, chance.choice(places)
            return place

    return Rule()


class _Consumer(_Client):
    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        asked = {"reset": "latest", "auto_commit": True, **_settings(CONSUMER, settings)}
        servers = [(host, int(port)) for each in settings["bootstrap.servers"].split(",") for host, port in [each.split(":")]]
        env = self.process.network.to(servers[0][1])
        asked |= {"name": settings.get("client.id", "rdkafka")}
        with env.process.entered():
            self._made = partial(Consumer, env, servers, **asked)
            self._client = self._made()
        self._env, self._asked = env, asked

    def _run(self, story: Coroutine[Any, Any, Any]) -> Any:
        waiters: list[Any] = []
        with self._env.process.entered():
            task = self._env.process.create_task(story)
        task.add_done_callback(lambda _: self.process.threads.wake(waiters))
        self.process.threads.block(task.done, waiters)
        try:
            return task.result()
        except (KafkaError, OSError) as error:
            raise KafkaException(DeliveryError(error)) from None

    def subscribe(self, topics: list[str]) -> None:
        with self._env.process.entered():
            self._client = self._made(topics=topics)

    def assign(self, places: list[Any]) -> None:
        self._client.assign([(place.topic, place.partition) for place in places])

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(*tp) for tp in self._client.assignment]

    def consume(self, num_messages: int = 1, timeout: float = 1.0) -> list[HandedRecord]:
        found = self._run(self._client.poll(timeout, max_records=num_messages))
        return [HandedRecord(each.topic, each.partition, each.offset, each.key, each.value) for each in found]

    def poll(self, timeout: float = 1.0) -> HandedRecord | None:
        return next(iter(self.consume(1, timeout)), None)

    def commit(self, asynchronous: bool = True, **_: Any) -> None:
        self._run(self._client.commit())

    def memberid(self) -> str:
        return str(getattr(self._client.membership, "member_id", ""))

    def consumer_group_metadata(self) -> bytes:
        """Return the group as librdkafka writes it."""
        return b"CGMDv2:" + bytes(4) + str(self._asked.get("group", "")).encode() + b"\0"

    def close(self) -> None:
        self._run(self._client.close())


def stand_in(process: Modules, named: Callable[[str], None] = lambda what: None) -> types.ModuleType:
    """Return the module `confluent_kafka` for a process of a world; `named` gets a sentence when the first client is made."""
    once = [partial(named, NAME)]
    module = types.ModuleType("confluent_kafka", __doc__)
    for kind in (_Producer, _Consumer):
        name = kind.__name__.lstrip("_")
        setattr(module, name, type(name, (kind,), {"__module__": "confluent_kafka", "process": process, "once": once}))
    vars(module).update(KafkaException=KafkaException, KafkaError=DeliveryError, TopicPartition=TopicPartition,
                        Message=HandedRecord, ShareConsumer=None)
    return module
