"""Watched clients: what a broker cannot know (sent, acknowledged, position) reaches the trace from the client itself.

`watch(client)` returns the very client it was given, with a few of its methods followed: a kafka-python, confluent-kafka
or aiokafka producer or consumer stays unmodified in what it does and sends.

Events: sent{client, topic, partition}, acked{client, tp, offset}, failed{client, topic, error}, position{client, tp,
position} (the offset of the next record to be handed out), committed{client, tp, offset}.

Invariants
    I-WATCH-1  Watching changes nothing that the client does: arguments, results and exceptions pass through.
    I-WATCH-2  `acked` is said only after the client itself has learned of it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

Say = Callable[..., None]
_numbers = itertools.count(1)


def watch(client: Any, say: Say, name: str | None = None) -> Any:
    """Follow a client's methods; `say(kind, **fields)` gets the events. Returns a client with the same methods.

    Raises TypeError for what is no client of the three libraries.
    """
    library, kind = type(client).__module__.split(".")[0], type(client).__name__
    family = "producer" if "Producer" in kind else "consumer" if "Consumer" in kind else None
    followers = {"kafka": _Kafka, "aiokafka": _Aiokafka, "confluent_kafka": _Confluent, "cimpl": _Confluent}
    if family is None or library not in followers:
        raise TypeError(f"watch() knows producers and consumers of kafka-python, confluent-kafka and aiokafka, "
                        f"not {library}.{kind}")
    return followers[library](client, say, name or f"{family}-{next(_numbers)}", family).watched


class _Follower:
    """Replaces methods of one client by ones that tell what happened."""

    def __init__(self, client: Any, say: Say, name: str, family: str) -> None:
        self.client, self.name = client, name
        self._say = say
        self.watched = client
        getattr(self, f"follow_{family}")()

    def say(self, kind: str, **fields: Any) -> None:
        self._say(kind, client=self.name, **fields)

    def replace(self, method: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        original = getattr(self.client, method)
        setattr(self.watched, method, functools.wraps(original)(wrapper(original)))

    def handed_out(self, records: Iterable[Any]) -> None:
        """Positions after these records of kafka-python or aiokafka: one event per partition."""
        latest = {f"{record.topic}-{record.partition}": record.offset + 1 for record in records}
        for tp, position in latest.items():
            self.say("position", tp=tp, position=position)

    def committed(self, offsets: dict[Any, Any]) -> None:
        for tp, offset in offsets.items():
            self.say("committed", tp=f"{tp.topic}-{tp.partition}", offset=getattr(offset, "offset", offset))


class _Kafka(_Follower):
    """kafka-python: futures with callbacks, an iterator, poll()."""

    def follow_producer(self) -> None:
        self.replace("send", self._send)

    def _send(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def send(topic: str, *args: Any, **kwargs: Any) -> Any:
            future = original(topic, *args, **kwargs)
            self.say("sent", topic=topic, partition=kwargs.get("partition"))
            future.add_callback(lambda done: self.say("acked", tp=f"{done.topic}-{done.partition}", offset=done.offset))
            future.add_errback(lambda error: self.say("failed", topic=topic, error=repr(error)))
            return future
        return send

    def follow_consumer(self) -> None:
        self.replace("poll", self._poll)
        self.replace("commit", self._commit)

    def _poll(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def poll(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            self.handed_out(record for records in found.values() for record in records)
            return found
        return poll

    def _commit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def commit(offsets: dict[Any, Any] | None = None, **kwargs: Any) -> Any:
            told = offsets or {tp: self.client.position(tp) for tp in self.client.assignment()}
            result = original(offsets, **kwargs)
            self.committed(told)
            return result
        return commit


class _Aiokafka(_Follower):
    """aiokafka: coroutines."""

    def follow_producer(self) -> None:
        self.replace("send", self._send)

    def _send(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def send(topic: str, *args: Any, **kwargs: Any) -> Any:
            future = await original(topic, *args, **kwargs)
            self.say("sent", topic=topic, partition=kwargs.get("partition"))
            future.add_done_callback(lambda done: self._done(topic, done))
            return future
        return send

    def _done(self, topic: str, future: Any) -> None:
        if future.cancelled() or future.exception() is not None:
            self.say("failed", topic=topic, error="cancelled" if future.cancelled() else repr(future.exception()))
        else:
            done = future.result()
            self.say("acked", tp=f"{done.topic}-{done.partition}", offset=done.offset)

    def follow_consumer(self) -> None:
        self.replace("getone", self._getone)
        self.replace("getmany", self._getmany)
        self.replace("commit", self._commit)

    def _getone(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def getone(*partitions: Any) -> Any:
            record = await original(*partitions)
            self.handed_out([record])
            return record
        return getone

    def _getmany(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def getmany(*partitions: Any, **kwargs: Any) -> Any:
            found = await original(*partitions, **kwargs)
            self.handed_out(record for records in found.values() for record in records)
            return found
        return getmany

    def _commit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def commit(offsets: dict[Any, Any] | None = None) -> Any:
            told = offsets or {tp: await self.client.position(tp) for tp in self.client.assignment()}
            result = await original(offsets)
            self.committed({tp: offset[0] if isinstance(offset, tuple) else offset for tp, offset in told.items()})
            return result
        return commit


class _Confluent(_Follower):
    """confluent-kafka: C objects whose methods cannot be replaced, so they stand behind one that passes all on."""

    def __init__(self, client: Any, say: Say, name: str, family: str) -> None:
        self._shown = _Behind(client)
        super().__init__(client, say, name, family)

    def replace(self, method: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self.watched = self._shown
        super().replace(method, wrapper)

    def follow_producer(self) -> None:
        self.replace("produce", self._produce)

    def _produce(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def produce(topic: str, *args: Any, **kwargs: Any) -> Any:
            asked = kwargs.pop("on_delivery", None) or kwargs.pop("callback", None)
            result = original(topic, *args, on_delivery=self._delivered(topic, asked), **kwargs)
            self.say("sent", topic=topic, partition=kwargs.get("partition"))
            return result
        return produce

    def _delivered(self, topic: str, asked: Callable[..., Any] | None) -> Callable[..., Any]:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.say("acked", tp=f"{topic}-{message.partition()}", offset=message.offset())
            else:
                self.say("failed", topic=topic, error=str(error))
            if asked is not None:
                asked(error, message)
        return delivered

    def follow_consumer(self) -> None:
        self.replace("poll", lambda original: lambda *a, **k: self._out_one(original(*a, **k)))
        self.replace("consume", lambda original: lambda *a, **k: self._out(original(*a, **k)))
        self.replace("commit", self._commit)

    def _out_one(self, message: Any) -> Any:
        self._out([message] if message is not None else [])
        return message

    def _out(self, messages: list[Any]) -> list[Any]:
        good = [m for m in messages if m.error() is None]
        for tp, position in {f"{m.topic()}-{m.partition()}": m.offset() + 1 for m in good}.items():
            self.say("position", tp=tp, position=position)
        return messages

    def _commit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def commit(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            for tp in result or []:  # what a synchronous commit returns; an asynchronous one tells only its callback
                if tp.error is None:
                    self.say("committed", tp=f"{tp.topic}-{tp.partition}", offset=tp.offset)
            return result
        return commit


class _Behind:
    """Passes every attribute on to the client it stands for."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __len__(self) -> int:
        return len(self._client)
