"""One process of an application: the clients of kafka-python, in the simulated world or on real brokers, and a death at any call.

    kafka = simulated(cluster)                              has kafka.KafkaProducer and kafka.KafkaConsumer
    kafka = live(cluster, "commit_transaction")             kill -9: that call, and every later one, sends nothing

The names and arguments are those of the library kafka-python, so a function that a student writes for them runs in both worlds.
The simulated twins have what a lab's function needs of them, and refuse a setting that kafka-python does not know.

Owns: the clients that a process has made, the names of its calls in order, and what it sent.
Invariants
  a process that has died sends nothing more: no abort, no commit, no offset
"""
from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import kafka
from kafka import TopicPartition
from kafka.errors import IllegalStateError, KafkaConfigurationError, for_code

from minikafka.lab.labs.offsets import next_offsets
from minikafka.lab.values import article
from minikafka.lab.wants import kind
from minikafka.protocol.errors import KafkaError


class ProcessDied(BaseException):
    """The process ended here; no `except Exception` of its code is reached."""


class ApplicationProcess:
    """Makes clients, and dies at the `nth` call of the method `dies_at`."""

    def __init__(self, producer: Callable[..., Any], consumer: Callable[..., Any], dies_at: str | None = None,
                 nth: int = 1) -> None:
        self._make = {"KafkaProducer": producer, "KafkaConsumer": consumer}
        self.dies_at, self.nth = dies_at, nth
        self.calls: list[str] = []
        self.sent: list[tuple[str, Any]] = []
        self.clients: list[Any] = []
        self.dead = False

    def KafkaProducer(self, **settings: Any) -> Any:
        return self._client("KafkaProducer", (), settings)

    def KafkaConsumer(self, *topics: str, **settings: Any) -> Any:
        return self._client("KafkaConsumer", topics, settings)

    def _client(self, kind: str, topics: tuple[str, ...], settings: dict[str, Any]) -> Any:
        if unknown := sorted(set(settings) - set(getattr(kafka, kind).DEFAULT_CONFIG)):
            raise KafkaConfigurationError(f"{kind} has no setting {', '.join(unknown)}")
        self.clients.append(self._make[kind](*topics, **settings))
        return _Mortal(self, self.clients[-1])

    def enter(self, call: str, *args: Any, **named: Any) -> None:
        """Note a call; die at it if its turn has come."""
        if self.dead:
            raise ProcessDied
        self.calls.append(call)
        if call == "send":
            told = dict(zip(("topic", "value"), args)) | named
            self.sent.append((told["topic"], told.get("value")))
        if call == self.dies_at and self.calls.count(call) == self.nth:
            self.dead = True
            for client in self.clients:
                _kill(client)
            raise ProcessDied

    def close(self) -> None:
        """Close every client; an open transaction is aborted."""
        for client in self.clients if not self.dead else ():
            client.close()


class _Mortal:
    """A client whose calls its process sees."""

    def __init__(self, process: ApplicationProcess, client: Any) -> None:
        self._process, self._client = process, client

    def __repr__(self) -> str:
        return "a consumer" if hasattr(self._client, "poll") else "a producer"

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **named: Any) -> Any:
            self._process.enter(name, *args, **named)
            return attribute(*args, **named)
        return call

    def __iter__(self) -> Iterator[Any]:
        for record in self._client:
            self._process.enter("next")
            yield record


def _kill(client: Any) -> None:
    """End a client without a word to the brokers. kafka-python has no such call: its sender is closed by force, when what was
    handed to `send` before has left it.
    """
    if hasattr(client, "kill"):
        client.kill()
    elif hasattr(client, "_sender"):
        client.flush(timeout=30)
        client._sender.force_close()
    else:
        client.close(autocommit=False)


def live(cluster: Any, dies_at: str | None = None) -> ApplicationProcess:
    """Return a process whose clients are kafka-python's, on this cluster."""
    def made(client: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *topics, **settings: client(*topics, bootstrap_servers=cluster.bootstrap, **settings)
    return ApplicationProcess(made(kafka.KafkaProducer), made(kafka.KafkaConsumer), dies_at)


def simulated(cluster: Any, dies_at: str | None = None, nth: int = 1) -> ApplicationProcess:
    """Return a process whose clients are the simulator's, by kafka-python's names."""
    return ApplicationProcess(lambda **settings: SimulatedProducer(cluster, settings),
                              lambda *topics, **settings: SimulatedConsumer(cluster, topics, settings), dies_at, nth)


def _translated(call: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a simulated client; its error becomes the one of kafka-python that has the same code."""
    try:
        return call(*args, **named)
    except KafkaError as error:
        raise for_code(int(error.code))(str(error)) from error


class SimulatedProducer:
    """The methods of kafka.KafkaProducer that a transaction needs."""

    def __init__(self, cluster: Any, settings: dict[str, Any]) -> None:
        self.cluster = cluster
        self.name = settings.get("transactional_id")
        acks = {"all": -1}.get(settings.get("acks", "all"), settings.get("acks", -1))
        idempotent = None if self.name else settings.get("enable_idempotence", True) and acks == -1
        self.inner = cluster.watch(cluster.producer(transactional_id=self.name, acks=acks, idempotent=idempotent,
                                                    linger=settings.get("linger_ms", 0) / 1000), self.name or "producer")
        self._ready, self._open = self.name is None, False

    def init_transactions(self) -> None:
        self._transactional()
        if self._ready:
            raise IllegalStateError("init_transactions() has been called; once is enough for a producer")
        _translated(self.inner.init)
        self._ready = True

    def begin_transaction(self) -> None:
        self._transactional()
        if not self._ready:
            raise IllegalStateError("init_transactions() comes first, once for each producer")
        if self._open:
            raise IllegalStateError("the last transaction is still open: commit or abort it first")
        _translated(self.inner.begin)
        self._open = True

    def send(self, topic: str, value: bytes | None = None, key: bytes | None = None, headers: Any = None,
             partition: int | None = None, timestamp_ms: int | None = None) -> Any:
        if value is not None and not isinstance(value, bytes):
            raise TypeError(f"a value is bytes; your code sends {article(type(value).__name__)}")
        self._within("send")
        promise = _translated(self.inner.post, topic, value, key, partition, headers, timestamp_ms)
        return SimpleNamespace(get=lambda timeout=None: _translated(self.cluster.run, _answer(promise)))

    def send_offsets_to_transaction(self, offsets: dict[Any, Any], group_metadata: Any) -> None:
        self._transactional()
        self._within("send_offsets_to_transaction")
        group = getattr(group_metadata, "group_id", group_metadata)
        if not isinstance(group, str):
            raise TypeError("the second argument of send_offsets_to_transaction() is consumer.group_metadata(); your code "
                            f"gives it {kind(group_metadata)}")
        given = next_offsets("send_offsets_to_transaction", offsets)
        member = SimpleNamespace(group=group, joined=(-1, ""), instance_id=None)
        _translated(self.inner.send_offsets, {tuple(place): offset for place, offset in given.items()}, member)

    def commit_transaction(self) -> None:
        self._end("commit_transaction", self.inner.commit)

    def abort_transaction(self) -> None:
        self._end("abort_transaction", self.inner.abort)

    def _end(self, name: str, end: Callable[[], None]) -> None:
        self._transactional()
        self._within(name)
        _translated(end)
        self._open = False

    def _transactional(self) -> None:
        if self.name is None:
            raise IllegalStateError("this producer has no transactional_id, so it has no transactions")

    def _within(self, call: str) -> None:
        if self.name is not None and not self._open:
            raise IllegalStateError(f"{call}() outside of a transaction: begin_transaction() comes before it")

    def flush(self, timeout: float | None = None) -> None:
        _translated(self.inner.flush)

    def close(self, timeout: float | None = None) -> None:
        self.inner.close()

    def kill(self) -> None:
        self.inner.kill()


async def _answer(promise: Any) -> Any:
    return await promise


class SimulatedConsumer:
    """The methods of kafka.KafkaConsumer that a reader needs. With topics it reads all their partitions; no group assigns any."""

    def __init__(self, cluster: Any, topics: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.cluster, self.group = cluster, settings.get("group_id")
        self.isolation = settings.get("isolation_level", "read_uncommitted")
        if self.isolation not in ("read_committed", "read_uncommitted"):
            raise KafkaConfigurationError(f"isolation_level is read_committed or read_uncommitted, not {self.isolation!r}")
        self._patience = settings.get("consumer_timeout_ms", float("inf")) / 1000
        self.inner = cluster.watch(cluster.consumer(
            group=self.group, isolation=self.isolation, reset=settings.get("auto_offset_reset", "latest"),
            auto_commit=settings.get("enable_auto_commit", True),
            max_records=settings.get("max_poll_records", 500)), self.group or "reader")
        if topics:
            self.subscribe(topics)

    def subscribe(self, topics: Any) -> None:
        partitions = {topic: self.cluster.run(self.inner.unblocked.client.topic(topic, 20.0)) for topic in topics}
        self.assign([TopicPartition(topic, number) for topic in topics for number in partitions[topic]])

    def assign(self, partitions: Any) -> None:
        self.inner.assign([(place.topic, place.partition) for place in partitions])

    def assignment(self) -> set[Any]:
        return {TopicPartition(*place) for place in self.inner.assignment}

    def seek(self, partition: Any, offset: int) -> None:
        self.inner.seek(tuple(partition), offset)

    def seek_to_beginning(self, *partitions: Any) -> None:
        for place in partitions or self.assignment():
            self.inner.seek_to(tuple(place), "earliest")

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[Any, list[Any]]:
        found = defaultdict(list)
        for record in _translated(self.inner.poll, max(timeout_ms / 1000, 0.01), max_records):
            found[TopicPartition(record.topic, record.partition)].append(record)
        return dict(found)

    def __iter__(self) -> Iterator[Any]:
        until = self.cluster.now() + self._patience
        while self.cluster.now() < until:
            for record in (each for records in self.poll(500).values() for each in records):
                yield record
                until = self.cluster.now() + self._patience

    def position(self, partition: Any) -> int:
        return int(_translated(self.cluster.run, self._position(tuple(partition))))

    async def _position(self, place: tuple[str, int]) -> int:
        """Ask for a position until it is known, as `poll` does, and fetch nothing."""
        consumer = self.inner.unblocked
        while (found := consumer.position(place)) is None:
            consumer._keep_positions()
            await asyncio.sleep(0.05)
        return int(found)

    def end_offsets(self, partitions: Any) -> dict[Any, int]:
        """Return the high watermarks, or the last stable offsets for a reader of committed records."""
        leaders = {p: self.cluster.world.broker(self.cluster.leader(*p)).replicas.partitions[tuple(p)] for p in partitions}
        committed = self.isolation == "read_committed"
        return {p: each.last_stable_offset if committed else each.high_watermark for p, each in leaders.items()}

    def commit(self, offsets: dict[Any, Any] | None = None) -> None:
        _translated(self.inner.commit, offsets and {tuple(p): n for p, n in next_offsets("commit", offsets).items()})

    def committed(self, partition: Any) -> int | None:
        found = self.inner.committed([tuple(partition)])[tuple(partition)]
        return None if found < 0 else found

    def group_metadata(self) -> Any:
        return SimpleNamespace(group_id=self.group)

    def close(self, autocommit: bool = True) -> None:
        self.inner.close()

    def kill(self) -> None:
        self.inner.kill()
