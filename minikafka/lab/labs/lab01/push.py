"""A small broker that pushes, in the manner of RabbitMQ: queues, prefetch, acknowledgements, redelivery.

    broker = await PushBroker(world).serve()
    publisher = await Publisher(world).connect();  await publisher.publish("jobs", "job 1")
    worker = await QueueWorker(world, "worker-1", "jobs", takes=0.1, prefetch=10).start()

A message is in a queue until a consumer has acknowledged it, and is gone then. The broker decides which consumer gets the
next message: the first in turn that has fewer than `prefetch` messages without an acknowledgement (0: no limit). When a
connection ends, the messages in its hands go back to the head of the queue, and are pushed once more, marked as redelivered.

Owns: the queues. Invariants
  I-PUSH-1  a confirmed message is in exactly one place: ready, in flight to one consumer, or acknowledged and gone
  I-PUSH-2  a consumer has at most `prefetch` messages in flight
RabbitMQ has more: exchanges and routing, several queues for one message, storage on disk, replicas, priorities.
"""
from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from minikafka.lab.labs.lab01.lines import Lines, Said

HOST, PORT = "queue", 5672


@dataclass(eq=False, slots=True)
class QueueConsumer:
    """A connection that wants messages of a queue, and what it has in flight: tag -> body."""

    line: Lines
    prefetch: int
    in_flight: dict[int, str] = field(default_factory=dict)

    @property
    def has_room(self) -> bool:
        return not self.prefetch or len(self.in_flight) < self.prefetch


@dataclass(slots=True)
class Queue:
    """One queue: what is ready (body, redelivered?), who takes turns, how many were acknowledged."""

    ready: deque[tuple[str, bool]] = field(default_factory=deque)
    consumers: deque[QueueConsumer] = field(default_factory=deque)
    acknowledged: int = 0
    redelivered: int = 0

    @property
    def in_flight(self) -> int:
        return sum(len(consumer.in_flight) for consumer in self.consumers)

    def push(self, tag: int) -> bool:
        """Push the first ready message to the next consumer that has room, if there is one."""
        for _ in range(len(self.consumers)):
            consumer = self.consumers[0]
            self.consumers.rotate(-1)
            if self.ready and consumer.has_room:
                body, again = self.ready.popleft()
                consumer.in_flight[tag] = body
                consumer.line.say(tag=tag, body=body, redelivered=again)
                return True
        return False

    def forget(self, line: Lines) -> None:
        """Remove the consumer of an ended connection; what it had in flight goes back to the head of the queue."""
        for consumer in [each for each in self.consumers if each.line is line]:
            self.consumers.remove(consumer)
            self.ready.extendleft((body, True) for body in reversed(consumer.in_flight.values()))
            self.redelivered += len(consumer.in_flight)


class PushBroker:
    """The broker: its queues by name, and the connections to it."""

    def __init__(self, world: Any) -> None:
        self.queues: dict[str, Queue] = {}
        self._env = world.client_env(HOST)
        self._tags = 0

    async def serve(self) -> PushBroker:
        await self._env.listen(HOST, PORT, lambda: Lines(self._heard, self._gone), HOST)
        return self

    def queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue())

    def _heard(self, line: Lines, said: Said) -> None:
        queue = self.queue(said["queue"])
        match said["do"]:
            case "publish":
                queue.ready.append((said["body"], False))
                line.say(confirmed=said["number"])
            case "consume":
                queue.consumers.append(QueueConsumer(line, said["prefetch"]))
            case "ack":
                consumer = next(each for each in queue.consumers if each.line is line)
                queue.acknowledged += consumer.in_flight.pop(said["tag"], None) is not None
        self._push(queue)

    def _gone(self, line: Lines) -> None:
        for queue in self.queues.values():
            queue.forget(line)
            self._push(queue)

    def _push(self, queue: Queue) -> None:
        while queue.push(self._tags + 1):
            self._tags += 1


class Publisher:
    """A program that publishes and waits for each confirmation."""

    def __init__(self, world: Any, name: str = "shop") -> None:
        self.confirmed = 0
        self._env, self._sent = world.client_env(name), 0
        self._news = asyncio.Event()

    async def connect(self) -> Publisher:
        self._line = await self._env.connect(HOST, PORT, lambda: Lines(self._heard), HOST)
        return self

    def _heard(self, _: Lines, said: Said) -> None:
        self.confirmed = said["confirmed"]
        self._news.set()

    def post(self, queue: str, body: str) -> None:
        """Publish without waiting."""
        self._sent += 1
        self._line.say(do="publish", queue=queue, body=body, number=self._sent)

    async def publish(self, queue: str, body: str) -> None:
        """Publish, and return when the broker has confirmed it."""
        self.post(queue, body)
        number = self._sent
        while self.confirmed < number:
            self._news.clear()
            await self._news.wait()


class QueueWorker:
    """A consumer: it gets what is pushed, works on one message at a time, and acknowledges it when that is done.

    `takes` is seconds, or a function of the body. `inbox` is what was pushed and not begun, `done` what is finished.
    """

    def __init__(self, world: Any, name: str, queue: str, takes: Any = 0.1, prefetch: int = 10) -> None:
        self.name, self.queue, self.prefetch = name, queue, prefetch
        self.inbox: deque[Said] = deque()
        self.done: list[tuple[float, str, bool]] = []  # when, what, redelivered?
        self.alive = True
        self._takes = takes if callable(takes) else lambda _: takes
        self._env, self._news = world.client_env(name), asyncio.Event()

    async def start(self) -> QueueWorker:
        self._line = await self._env.connect(HOST, PORT, lambda: Lines(self._heard), HOST)
        self._line.say(do="consume", queue=self.queue, prefetch=self.prefetch)
        self._task = self._env.spawn(self._work(), f"{self.name}: work")
        return self

    def _heard(self, _: Lines, said: Said) -> None:
        self.inbox.append(said)
        self._news.set()

    async def _work(self) -> None:
        while True:
            while not self.inbox:
                self._news.clear()
                await self._news.wait()
            said = self.inbox[0]
            await self._env.sleep(self._takes(said["body"]))
            self.inbox.popleft()
            self.done.append((self._env.now(), said["body"], said["redelivered"]))
            self._line.say(do="ack", queue=self.queue, tag=said["tag"])

    def kill(self) -> None:
        """End the process: what it held is forgotten here, and the broker learns that the connection has ended."""
        self.alive = False
        self._task.cancel()
        self._line.close()
        self.inbox.clear()
