"""Members of consumer groups, one class per library, all driven the same way: poll until all is as it should be."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiokafka
import confluent_kafka
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from .kit import PATIENCE, Record

SESSION_MS = 6000  # a member that dies is missed this late
LONG_SESSION_MS = 120_000  # of a member that must stay in its group, however long a busy machine lets its process wait
HEARTBEAT_MS = 300


class Member:
    """One consumer in a group: reads from the earliest offset, commits only on a command. `consumer` is the library's."""

    consumer: Any

    def __init__(self, bootstrap: str, group: str, topic: str, instance: str | None = None, auto_commit: bool = False,
                 session_ms: int = SESSION_MS) -> None:
        self.join(topic, bootstrap_servers=bootstrap, group_id=group, group_instance_id=instance,
                  auto_offset_reset="earliest", enable_auto_commit=auto_commit, auto_commit_interval_ms=200,
                  session_timeout_ms=session_ms, heartbeat_interval_ms=HEARTBEAT_MS)

    def join(self, topic: str, **settings: Any) -> None:
        """Begin to read; the settings have kafka-python's names."""
        raise NotImplementedError

    def poll(self) -> list[Record]:
        """What came within a fifth of a second."""
        raise NotImplementedError

    def assignment(self) -> list[int]:
        """Its partitions, sorted."""
        return sorted(tp.partition for tp in self.consumer.assignment())

    def commit(self, offsets: dict[tuple[str, int], tuple[int, str]], wait: bool = True) -> None:
        """Commit (topic, partition) -> (offset, metadata), waiting for the answer or not."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the group (a static member does not)."""
        raise NotImplementedError


def records(found: dict[Any, list[Any]]) -> list[Record]:
    return [Record(r.value, r.key, list(r.headers), r.timestamp, r.partition, r.offset) for some in found.values() for r in some]


class KafkaPythonMember(Member):
    def join(self, topic: str, **settings: Any) -> None:
        self.consumer = KafkaConsumer(**settings)
        # kafka-python 3.0.12 assigns nothing if it leads a group before it has the topic's metadata, and forgets an
        # assignment that arrives after the poll that asked for it: so metadata first, and patience while it joins.
        assert self.consumer.partitions_for_topic(topic)
        self.consumer.subscribe([topic])

    def poll(self) -> list[Record]:
        return records(self.consumer.poll(timeout_ms=200 if self.consumer.assignment() else 2000))

    def commit(self, offsets: dict[tuple[str, int], tuple[int, str]], wait: bool = True) -> None:
        wanted = {TopicPartition(*tp): OffsetAndMetadata(offset, text, -1) for tp, (offset, text) in offsets.items()}
        self.consumer.commit(wanted) if wait else self.consumer.commit_async(wanted)

    def close(self) -> None:
        self.consumer.close(autocommit=False)


class ConfluentMember(Member):
    def join(self, topic: str, **settings: Any) -> None:
        self.consumer = confluent_kafka.Consumer({name.replace("_", "."): value for name, value in settings.items()
                                                  if value is not None})
        self.consumer.subscribe([topic])

    def poll(self) -> list[Record]:
        first = self.consumer.poll(0.2)  # consume() would keep a fatal error to itself
        if first is None:
            return []
        if first.error() is not None and first.error().code() == confluent_kafka.KafkaError._FATAL:
            raise confluent_kafka.KafkaException(first.error())
        found = [first, *self.consumer.consume(500, 0)]
        return [Record(m.value(), m.key(), m.headers() or [], m.timestamp()[1], m.partition(), m.offset())
                for m in found if m.error() is None]

    def commit(self, offsets: dict[tuple[str, int], tuple[int, str]], wait: bool = True) -> None:
        # It sends the C string's end as a part of the text: without a text there is none.
        wanted = [confluent_kafka.TopicPartition(*tp, offset, *([text] if text else []))
                  for tp, (offset, text) in offsets.items()]
        for done in self.consumer.commit(offsets=wanted, asynchronous=not wait) or []:
            if done.error is not None:
                raise confluent_kafka.KafkaException(done.error)

    def close(self) -> None:
        self.consumer.close()


class AiokafkaMember(Member):
    """Its event loop runs on a thread of its own, as a service's would."""

    def join(self, topic: str, **settings: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.consumer = self.run(self._start(topic, **settings))

    async def _start(self, topic: str, **settings: Any) -> aiokafka.AIOKafkaConsumer:
        consumer = aiokafka.AIOKafkaConsumer(topic, **settings)
        await consumer.start()
        return consumer

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def poll(self) -> list[Record]:
        return records(self.run(self.consumer.getmany(timeout_ms=200)))

    def commit(self, offsets: dict[tuple[str, int], tuple[int, str]], wait: bool = True) -> None:
        wanted = {aiokafka.TopicPartition(*tp): value for tp, value in offsets.items()}
        future = asyncio.run_coroutine_threadsafe(self.consumer.commit(wanted), self.loop)
        if wait:
            future.result(PATIENCE)

    def close(self) -> None:
        self.run(self.consumer.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


MEMBERS: dict[str, type[Member]] = {"kafka-python": KafkaPythonMember, "confluent": ConfluentMember,
                                    "aiokafka": AiokafkaMember}


class Members:
    """Members of one test: polled together, closed at its end."""

    def __init__(self) -> None:
        self.all: list[Member] = []
        self.seen: dict[Member, list[Record]] = {}

    def join(self, library: str, *args: Any, **kwargs: Any) -> Member:
        member = MEMBERS[library](*args, **kwargs)
        self.all.append(member)
        self.seen[member] = []
        return member

    def leave(self, member: Member) -> None:
        self.all.remove(member)
        member.close()

    def until(self, condition: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Poll all members in turn until the condition holds."""
        until = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < until, f"not in {timeout:.0f} s; assignments {[m.assignment() for m in self.all]}"
            for member in self.all:
                self.seen[member] += member.poll()

    def records(self) -> list[Record]:
        """All that any member has read, by partition and offset."""
        return sorted((r for seen in self.seen.values() for r in seen), key=lambda r: (r.partition, r.offset))

    def assignments(self) -> list[list[int]]:
        return sorted(member.assignment() for member in self.all)

    def shared(self) -> bool:
        """Two members, two partitions each, none twice."""
        return sorted(map(len, self.assignments())) == [2, 2] and sorted(sum(self.assignments(), [])) == [0, 1, 2, 3]

    def close(self) -> None:
        for member in self.all:
            with suppress(Exception):  # the test has said what it had to say
                member.close()
