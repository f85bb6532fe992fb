"""Watched clients write to the trace what no broker can know (sent, acknowledged, position).

`watch(client)` returns the client with some methods replaced: they write to the trace, and do what they did before. A producer
or consumer of kafka-python, confluent-kafka or aiokafka sends the same requests as without it. A Spark query is watched by the
folder of its checkpoint (checkpoint.py).

Events: sent{client, record, topic, partition, acks?}, acked{client, record, tp, offset}, failed{client, record, topic, error,
certain}: `record` is a running number that pairs them (a second client of the same name counts from PER_CLIENT on); `certain`
false: the record may be stored all the same;
position{client, group, member, tp, first, position, records}: the application got this number of records, `position` is next;
assigned{client, group, partitions}: all that it reads from now on; committed{client, group, tp, offset}.

Invariants
    Watching changes nothing that the client does: arguments, results and exceptions pass through.
    `acked` is written only after the client itself has learned of it.
    I-WATCH-3  `certain` is true only if, by the last answer, no attempt's record can be in a log.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Say = Callable[..., None]
PER_CLIENT = 10**9  # the numbers of one client's records: two clients that share a name share no number
_numbers = itertools.count(1)
# Broker errors after which a record may be stored all the same: UNKNOWN_SERVER_ERROR, NOT_LEADER_OR_FOLLOWER,
# REQUEST_TIMED_OUT, NETWORK_EXCEPTION, NOT_ENOUGH_REPLICAS_AFTER_APPEND, OUT_OF_ORDER_SEQUENCE_NUMBER, KAFKA_STORAGE_ERROR.
# Codes of 0 and below are the libraries' own: time out, lost connection.
IN_DOUBT = frozenset({-1, 6, 7, 13, 20, 45, 56})
NEVER_SENT = frozenset({-152, -184})  # librdkafka: _PURGE_QUEUE, _QUEUE_FULL


def watch(client: Any, say: Say, name: str | None = None, numbers: RecordNumbers | None = None) -> Any:
    """Follow a client's methods; `say(kind, **fields)` gets the events. Return a client with the same methods.

    Raises TypeError for an object that is no client of the three libraries.
    """
    library, kind = type(client).__module__.split(".")[0], type(client).__name__
    family = "producer" if "Producer" in kind else "consumer" if "Consumer" in kind else None
    followers = {"kafka": _Kafka, "aiokafka": _Aiokafka, "confluent_kafka": _Confluent, "cimpl": _Confluent}
    if family is None or library not in followers:
        raise TypeError(f"watch() knows producers and consumers of kafka-python, confluent-kafka and aiokafka, "
                        f"not {library}.{kind}")
    return followers[library](client, say, name or f"{family}-{next(_numbers)}", family, numbers or RecordNumbers()).watched


class RecordNumbers:
    """The running numbers of the records that the watched clients of one cluster send."""

    def __init__(self) -> None:
        self._clients: Counter[str] = Counter()

    def of(self, name: str) -> Iterator[int]:
        """Return the numbers of one more client of this name."""
        self._clients[name] += 1
        return itertools.count(1 + PER_CLIENT * (self._clients[name] - 1))


class _Follower:
    """Replaces methods of one client by methods that write events."""

    def __init__(self, client: Any, say: Say, name: str, family: str, numbers: RecordNumbers) -> None:
        self.client, self.name = client, name
        self._say = say
        self._sent = numbers.of(name)
        self._held: list[str] = []  # partitions of the last `assigned` event
        self.watched = client
        getattr(self, f"follow_{family}")()

    def say(self, kind: str, **fields: Any) -> None:
        self._say(kind, client=self.name, **fields)

    def replace(self, method: str, by: Callable[..., Any]) -> None:
        """Let `by(original method, *arguments)` take a method's place."""
        original = getattr(self.client, method)
        setattr(self.watched, method, functools.wraps(original)(functools.partial(by, original)))

    def handed_out(self, records: Iterable[Any]) -> None:
        """Write the positions after these records of kafka-python or aiokafka: one event per partition."""
        self.handed((f"{record.topic}-{record.partition}", record.offset) for record in records)

    def handed(self, places: Iterable[tuple[str, int]]) -> None:
        offsets: dict[str, list[int]] = {}
        for tp, offset in places:
            offsets.setdefault(tp, []).append(offset)
        for tp, found in offsets.items():
            self.say("position", tp=tp, position=found[-1] + 1, first=found[0], records=len(found), **self.membership())

    def look_at_assignment(self) -> None:
        """Write which partitions are read from now on, if that has changed."""
        held = sorted(f"{tp.topic}-{tp.partition}" for tp in self.client.assignment())
        if held != self._held:
            self._held = held
            self.say("assigned", partitions=held, **self.membership())

    def membership(self) -> dict[str, Any]:
        """Return the group and this consumer's id in it, as far as the library tells."""
        return {"group": None, "member": None}

    def committed(self, offsets: dict[Any, Any]) -> None:
        for tp, offset in offsets.items():
            self.say("committed", tp=f"{tp.topic}-{tp.partition}", offset=getattr(offset, "offset", offset),
                     group=self.membership()["group"])

    def failed(self, record: int, topic: str, error: str, code: int | None) -> None:
        """Write that a send has failed; `code`: the error's number, None where the library gives none."""
        certain = code in NEVER_SENT or code is not None and code > 0 and code not in IN_DOUBT
        self.say("failed", topic=topic, error=error, record=record, certain=certain)


class _Kafka(_Follower):
    """kafka-python: futures with callbacks, an iterator, poll()."""

    def follow_producer(self) -> None:
        self.replace("send", self._send)

    def _send(self, original: Callable[..., Any], topic: str, *args: Any, **kwargs: Any) -> Any:
        future = original(topic, *args, **kwargs)
        number = next(self._sent)
        self.say("sent", topic=topic, partition=kwargs.get("partition"), record=number, acks=self.client.config["acks"])
        future.add_callback(lambda done: self.say("acked", tp=f"{done.topic}-{done.partition}", offset=done.offset,
                                                  record=number))
        future.add_errback(lambda error: self.failed(number, topic, repr(error), getattr(error, "errno", None)))
        return future

    def membership(self) -> dict[str, Any]:
        generation = getattr(getattr(self.client, "_coordinator", None), "_generation", None)
        return {"group": self.client.config["group_id"], "member": getattr(generation, "member_id", None) or None}

    def follow_consumer(self) -> None:
        self.replace("poll", self._poll)
        self.replace("commit", self._commit)

    def _poll(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        self.look_at_assignment()
        self.handed_out(record for records in found.values() for record in records)
        return found

    def _commit(self, original: Callable[..., Any], offsets: dict[Any, Any] | None = None, **kwargs: Any) -> Any:
        told = offsets or {tp: self.client.position(tp) for tp in self.client.assignment()}
        result = original(offsets, **kwargs)
        self.committed(told)
        return result


class _Aiokafka(_Follower):
    """aiokafka: coroutines."""

    def follow_producer(self) -> None:
        self.replace("send", self._send)

    async def _send(self, original: Callable[..., Any], topic: str, *args: Any, **kwargs: Any) -> Any:
        future = await original(topic, *args, **kwargs)
        number = next(self._sent)
        self.say("sent", topic=topic, partition=kwargs.get("partition"), record=number)
        future.add_done_callback(lambda done: self._done(topic, number, done))
        return future

    def _done(self, topic: str, number: int, future: Any) -> None:
        if future.cancelled():
            self.failed(number, topic, "cancelled", None)
        elif (error := future.exception()) is not None:
            self.failed(number, topic, repr(error), getattr(error, "errno", None))
        else:
            done = future.result()
            self.say("acked", tp=f"{done.topic}-{done.partition}", offset=done.offset, record=number)

    def membership(self) -> dict[str, Any]:
        coordinator = getattr(self.client, "_coordinator", None)
        return {"group": getattr(self.client, "_group_id", None), "member": getattr(coordinator, "member_id", None) or None}

    def follow_consumer(self) -> None:
        self.replace("getone", self._getone)
        self.replace("getmany", self._getmany)
        self.replace("commit", self._commit)

    async def _getone(self, original: Callable[..., Any], *partitions: Any) -> Any:
        record = await original(*partitions)
        self.look_at_assignment()
        self.handed_out([record])
        return record

    async def _getmany(self, original: Callable[..., Any], *partitions: Any, **kwargs: Any) -> Any:
        found = await original(*partitions, **kwargs)
        self.look_at_assignment()
        self.handed_out(record for records in found.values() for record in records)
        return found

    async def _commit(self, original: Callable[..., Any], offsets: dict[Any, Any] | None = None) -> Any:
        told = offsets or {tp: await self.client.position(tp) for tp in self.client.assignment()}
        result = await original(offsets)
        self.committed({tp: offset[0] if isinstance(offset, tuple) else offset for tp, offset in told.items()})
        return result


class _Confluent(_Follower):
    """confluent-kafka: its clients are C objects whose methods cannot be replaced, so an object in front passes all calls on."""

    def __init__(self, client: Any, say: Say, name: str, family: str, numbers: RecordNumbers) -> None:
        self._shown = _Behind(client)
        super().__init__(client, say, name, family, numbers)

    def replace(self, method: str, by: Callable[..., Any]) -> None:
        self.watched = self._shown
        super().replace(method, by)

    def follow_producer(self) -> None:
        self.replace("produce", self._produce)

    def _produce(self, original: Callable[..., Any], topic: str, *args: Any, **kwargs: Any) -> Any:
        asked = kwargs.pop("on_delivery", None) or kwargs.pop("callback", None)
        number = next(self._sent)
        result = original(topic, *args, on_delivery=self._delivered(topic, number, asked), **kwargs)
        self.say("sent", topic=topic, partition=kwargs.get("partition"), record=number)
        return result

    def _delivered(self, topic: str, number: int, asked: Callable[..., Any] | None) -> Callable[..., Any]:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()  # None with acks=0, where the others have Kafka's -1
                self.say("acked", tp=f"{topic}-{message.partition()}", offset=-1 if offset is None else offset, record=number)
            else:
                self.failed(number, topic, str(error), error.code())
            if asked is not None:
                asked(error, message)
        return delivered

    def follow_consumer(self) -> None:
        self.replace("poll", lambda original, *a, **k: self._out_one(original(*a, **k)))
        self.replace("consume", lambda original, *a, **k: self._out(original(*a, **k)))
        self.replace("commit", self._commit)

    def _out_one(self, message: Any) -> Any:
        self._out([message] if message is not None else [])
        return message

    def _out(self, messages: list[Any]) -> list[Any]:
        self.look_at_assignment()
        self.handed((f"{m.topic()}-{m.partition()}", m.offset()) for m in messages if m.error() is None)
        return messages

    def membership(self) -> dict[str, Any]:
        """Return the group and the member id. librdkafka shows its group only in this blob: "CGMDv2:", int32 generation, group,
        zero byte."""
        blob = self.client.consumer_group_metadata() or b""
        group = blob[11:].partition(b"\0")[0].decode() if blob.startswith(b"CGMDv2:") else None
        return {"group": group, "member": self.client.memberid() or None}

    def _commit(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        for tp in result or []:  # a synchronous commit returns them; an asynchronous one calls its callback
            if tp.error is None:
                self.say("committed", tp=f"{tp.topic}-{tp.partition}", offset=tp.offset, group=self.membership()["group"])
        return result


class _Behind:
    """An object that passes every attribute on to its client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __len__(self) -> int:
        return len(self._client)
