"""The experiments of lab 1: the same load on calls, on a queue that pushes and on a topic that is pulled from.

    by_calls(down="stock")      a web site calls three services and waits for each
    by_log(down="stock")        the web site writes one record; the services read
    audience()                  a hundred orders: two workers of one queue, two applications of one topic
    flood(prefetch=10)          a hundred a second into a consumer that works on ten: moments of both
    sale(0, 10)                 the same into a queue, and after ten seconds a second worker comes to help
    own_table(got, flood, waits)   what was measured of queue and topic, side by side
    behind_a_slow_one()         one job of forty takes long: how long do the others wait?

Owns: nothing; each experiment makes its own simulated world, with a cluster and a push broker in it, and closes it. Times are
seconds of its clock.
"""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

import pandas as pd

from minikafka.lab.labs.lab01.calls import Caller, SimService
from minikafka.lab.labs.lab01.push import Publisher, PushBroker, QueueWorker
from minikafka.lab.labs.stage import simulated

TOPIC, QUEUE = "orders", "orders"
SERVICES = ("billing", "stock", "mail")


class App:
    """A program that pulls: it reads one partition from where its group's committed offset stands, and commits after each poll.

    `takes` is seconds for a record, or a function of its value; `done` what is finished.
    """

    def __init__(self, cluster: Any, name: str, partition: int = 0, takes: Any = 0.1, at_once: int = 10) -> None:
        self.name, self.tp, self.at_once = name, (TOPIC, partition), at_once
        self.done: list[tuple[float, str]] = []
        self.committed = 0
        self.alive = True
        self._takes = takes if callable(takes) else lambda _: takes
        self._env = cluster.world.client_env()
        self._consumer = cluster.consumer(name=f"{name}-{cluster.now():.3f}", group=name).unblocked
        self._consumer.assign([self.tp])
        self._task = self._env.spawn(self._work(), f"{name}: work")

    async def _work(self) -> None:
        while True:
            for record in await self._consumer.poll(1.0, max_records=self.at_once):
                await self._env.sleep(self._takes(record.value.decode()))
                self.done.append((self._env.now(), record.value.decode()))
            await self._consumer.commit()
            self.committed = self._consumer.position(self.tp) or 0

    def kill(self) -> None:
        """End the process, with no commit and no farewell."""
        self.alive = False
        self._task.cancel()
        self._env.spawn(self._consumer.kill(), f"{self.name}: end")


# --- E1: call, or write down ------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class SiteOutcome:
    """The result for a web site: mean seconds for one order, and what each service knows when all is over."""

    seconds: float
    known: dict[str, int]


def by_calls(down: str | None = None, orders: int = 50, timeout: float = 2.0, takes: float = 0.1) -> SiteOutcome:
    """Let a web site call every service for every order; `down` cannot be reached until all orders are through."""
    with simulated(1) as cluster:
        services = [cluster.run(SimService(cluster.world, name, takes).serve()) for name in SERVICES]
        caller = Caller(cluster.world, "shop", timeout)
        if down:
            cluster.world.cut("shop", down)

        async def serve() -> list[float]:
            seconds = []
            for order in range(orders):
                began = cluster.now()
                for service in services:
                    with contextlib.suppress(TimeoutError):     # nobody can do anything about it here
                        await caller.call(service.name, order)
                seconds.append(cluster.now() - began)
            return seconds

        seconds = cluster.run(serve())
        cluster.heal()
        cluster.sleep(30)
        return SiteOutcome(mean(seconds), {service.name: len({*service.done}) for service in services})


def by_log(down: str | None = None, orders: int = 50, takes: float = 0.1) -> SiteOutcome:
    """Let the web site write one record for each order; the application `down` starts when all orders are through."""
    with simulated(1) as cluster:
        cluster.admin().create_topic(TOPIC, 1, 3)
        apps = [App(cluster, name, takes=takes) for name in SERVICES if name != down]
        producer = cluster.producer()
        producer.send(TOPIC, "hello")                            # the producer has learned where to send
        seconds = []
        for order in range(orders):
            began = cluster.now()
            producer.send(TOPIC, str(order))
            seconds.append(cluster.now() - began)
        cluster.sleep(1)
        if down:
            apps.append(App(cluster, down, takes=takes))
        cluster.sleep(orders * takes + 5)
        return SiteOutcome(mean(seconds), {app.name: len({value for _, value in app.done if value != "hello"}) for app in apps})


# --- E2: who gets it -----------------------------------------------------------------------------------------------------

def audience(orders: int = 100) -> dict[str, dict[str, int]]:
    """Return how many of the orders each reader gets: two readers of one queue ("queue") and two applications of one
    topic ("topic")."""
    with simulated(1) as cluster:
        cluster.admin().create_topic(TOPIC, 1, 3)
        broker, publisher = _push_side(cluster)
        workers = [cluster.run(QueueWorker(cluster.world, name, QUEUE, takes=0.01).start()) for name in SERVICES[:2]]
        apps = [App(cluster, name, takes=0.01) for name in SERVICES[:2]]
        producer = cluster.producer()
        for order in range(orders):
            cluster.run(publisher.publish(QUEUE, str(order)))
            producer.send(TOPIC, str(order))
        cluster.wait(lambda: broker.queue(QUEUE).acknowledged == orders and all(len(app.done) == orders for app in apps), 30)
        return {"queue": {worker.name: len(worker.done) for worker in workers},
                "topic": {app.name: len(app.done) for app in apps}}


def _push_side(cluster: Any) -> tuple[PushBroker, Publisher]:
    broker = cluster.run(PushBroker(cluster.world).serve())
    return broker, cluster.run(Publisher(cluster.world).connect())


# --- E3: push and pull ---------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class QueueAndLog:
    """Both sides at one moment. Of the queue: what is where. Of the topic: log end, committed offset. Of both: what is done."""

    t: float
    sent: int
    ready: int
    in_flight: int
    acknowledged: int
    redelivered: int
    waiting: int            # pushed into the worker's memory, not begun or not finished
    worked: int             # messages that workers have finished, those twice counted twice
    log_end: int
    committed: int
    read: int               # records that applications have finished, those twice counted twice
    alive: bool

    @property
    def queued(self) -> int:
        """Return how many messages the push broker still keeps."""
        return self.ready + self.in_flight

    @property
    def lag(self) -> int:
        return self.log_end - self.committed


@dataclass(slots=True)
class Flood:
    """Moments by their time, one more for each second (`curve`), and what somebody who comes at the very end gets."""

    moments: dict[float, QueueAndLog] = field(default_factory=dict)
    curve: list[QueueAndLog] = field(default_factory=list)
    late_worker: int = 0
    late_app: int = 0


def flood(seconds: float = 10.0, rate: float = 100.0, takes: float = 0.1, prefetch: int = 10, looks: tuple[float, ...] = (10.0,),
          dies_at: float | None = None, back_after: float = 2.0, to_the_end: bool = False) -> Flood:
    """Send `rate` a second to a queue and to a topic, each with one consumer that needs `takes` for each; look at both.

    `dies_at`: both consumers are killed then, and others in their place start `back_after` seconds later.
    `to_the_end`: go on until nothing is left to do, look once more, and let one more worker and one more application come.
    """
    with simulated(1) as cluster:
        cluster.admin().create_topic(TOPIC, 1, 3)
        broker, publisher = _push_side(cluster)
        sides = _Sides(cluster, broker, takes, prefetch)
        cluster.sleep(1)
        began, result = cluster.now(), Flood()
        sender = cluster.world.client_env().spawn(_send(cluster, publisher, sides, seconds, rate), "sender")
        watching = cluster.world.client_env().spawn(_watch(cluster, sides, result.curve), "watch")
        stops = sorted([*((look, "look") for look in looks), *([(dies_at, "die"), (dies_at + back_after, "start")]
                                                               if dies_at is not None else [])])
        for at, what in stops:
            cluster.sleep(max(0.0, began + at - cluster.now()))
            if what == "look":
                result.moments[at] = sides.moment(cluster.now() - began)
            else:
                sides.kill() if what == "die" else sides.start()
        if to_the_end:
            cluster.run(asyncio.wait([sender]))
            cluster.wait(lambda: broker.queue(QUEUE).acknowledged == sides.apps[-1].committed == sides.sent, timeout=1000)
            end = round(cluster.now() - began, 1)
            result.moments[end] = sides.moment(end)
            result.late_worker, result.late_app = _latecomers(cluster)
        watching.cancel()
        sides.kill()
        return result


class _Sides:
    """A worker of the queue and an application of the topic, and those that come in their place."""

    def __init__(self, cluster: Any, broker: PushBroker, takes: float, prefetch: int) -> None:
        self.cluster, self.broker, self.takes, self.prefetch = cluster, broker, takes, prefetch
        self.sent = self.log_end = 0
        cluster.world.listeners.append(self._appended)
        self.workers: list[QueueWorker] = []
        self.apps: list[App] = []
        self.start()

    def start(self) -> None:
        number = len(self.workers) + 1
        worker = QueueWorker(self.cluster.world, f"worker-{number}", QUEUE, self.takes, self.prefetch)
        self.workers.append(self.cluster.run(worker.start()))
        self.apps.append(App(self.cluster, "billing", takes=self.takes))

    def kill(self) -> None:
        self.workers[-1].kill()
        self.apps[-1].kill()

    def _appended(self, event: dict[str, Any]) -> None:
        if event["k"] == "append" and event["tp"] == f"{TOPIC}-0":
            self.log_end = max(self.log_end, event["last"] + 1)

    def moment(self, t: float) -> QueueAndLog:
        queue, worker = self.broker.queue(QUEUE), self.workers[-1]
        return QueueAndLog(round(t, 1), self.sent, len(queue.ready), queue.in_flight, queue.acknowledged, queue.redelivered,
                      len(worker.inbox), sum(len(each.done) for each in self.workers), self.log_end,
                      max(app.committed for app in self.apps), sum(len(app.done) for app in self.apps), worker.alive)


async def _send(cluster: Any, publisher: Publisher, sides: _Sides, seconds: float, rate: float) -> None:
    producer = cluster.producer(name="sender").unblocked
    began = cluster.now()
    for number in range(round(seconds * rate)):
        publisher.post(QUEUE, str(number))
        await producer.post(TOPIC, str(number))
        sides.sent += 1
        await cluster.world.sleep(max(0.0, began + (number + 1) / rate - cluster.now()))
    await producer.flush()


async def _watch(cluster: Any, sides: _Sides, curve: list[QueueAndLog]) -> None:
    began = cluster.now()
    while True:
        curve.append(sides.moment(cluster.now() - began))
        await cluster.world.sleep(1.0)


def _latecomers(cluster: Any) -> tuple[int, int]:
    """Return what one more worker of the queue and one more application of the topic get, when all is done."""
    worker = cluster.run(QueueWorker(cluster.world, "late", QUEUE, takes=0.0).start())
    app = App(cluster, "late", takes=0.0, at_once=500)
    cluster.sleep(5)
    worker.kill()
    app.kill()
    return len(worker.done), len(app.done)


@dataclass(frozen=True, slots=True)
class Help:
    """The result for a prefetch: how many of the orders the helper has worked on, and after how many seconds all are done."""

    prefetch: int
    helped: int
    seconds: float


def sale(*prefetches: Any, orders: int = 1000, rate: float = 100.0, takes: float = 0.1, helper_at: float = 10.0) -> list[Help]:
    """Let a second worker of the queue come at `helper_at` seconds, once for each prefetch (0: no limit; `...` is passed over).

    Raises ValueError for a prefetch that is no number of messages.
    """
    wanted = [prefetch for prefetch in prefetches if prefetch is not ...]
    if odd := [each for each in wanted if not isinstance(each, int) or isinstance(each, bool) or each < 0]:
        raise ValueError(f"a prefetch is a number of messages, such as 10, or 0 for no limit; you gave {odd[0]!r}")
    return [_helped(prefetch, orders, rate, takes, helper_at) for prefetch in wanted]


def _helped(prefetch: int, orders: int, rate: float, takes: float, helper_at: float) -> Help:
    with simulated(1) as cluster:
        broker, publisher = _push_side(cluster)
        began = cluster.now()
        first = cluster.run(QueueWorker(cluster.world, "worker-1", QUEUE, takes, prefetch).start())

        async def send() -> None:
            for number in range(orders):
                publisher.post(QUEUE, str(number))
                await cluster.world.sleep(max(0.0, began + (number + 1) / rate - cluster.now()))

        cluster.world.client_env().spawn(send(), "sender")
        cluster.sleep(helper_at)
        helper = cluster.run(QueueWorker(cluster.world, "worker-2", QUEUE, takes, prefetch).start())
        cluster.wait(lambda: broker.queue(QUEUE).acknowledged == orders, timeout=orders * takes * 2)
        done = max(at for worker in (first, helper) for at, *_ in worker.done)
        first.kill()
        helper.kill()
        return Help(prefetch, len(helper.done), round(done - began, 1))


# --- what a queue is better at ------------------------------------------------------------------------------------------

def behind_a_slow_one(jobs: int = 40, hands: int = 4, slow: float = 5.0, takes: float = 0.1) -> dict[str, list[float]]:
    """Let four workers of a queue, and four applications of a topic with four partitions, work on jobs; job 0 takes
    `slow` seconds.

    Return, for each side, the seconds until each of the *other* jobs is done, in order.
    """
    def time_of(body: str) -> float:
        return slow if body == "0" else takes

    with simulated(1) as cluster:
        cluster.admin().create_topic(TOPIC, hands, 3)
        broker, publisher = _push_side(cluster)
        producer = cluster.producer()
        for job in range(jobs):
            cluster.run(publisher.publish(QUEUE, str(job)))
            producer.send(TOPIC, str(job), partition=job % hands)
        began = cluster.now()
        workers = [cluster.run(QueueWorker(cluster.world, f"worker-{n}", QUEUE, time_of, prefetch=1).start())
                   for n in range(hands)]
        apps = [App(cluster, "jobs", partition, time_of) for partition in range(hands)]
        cluster.wait(lambda: broker.queue(QUEUE).acknowledged == jobs and sum(len(app.done) for app in apps) == jobs, 60)
        queue = [(at, body) for worker in workers for at, body, _ in worker.done]
        topic = [each for app in apps for each in app.done]
        return {side: sorted(round(at - began, 3) for at, body in done if body != "0")
                for side, done in (("queue", queue), ("topic", topic))}


def pulled(consumer: Any, work: Callable[[Any], Any]) -> None:
    """Call `work` with each record that a consumer brings, until a poll brings nothing; commit after each poll."""
    while batches := consumer.poll(timeout_ms=2000):
        for record in (record for batch in batches.values() for record in batch):
            work(record)
        consumer.commit()


def own_table(got: dict[str, dict[str, int]], flood: Flood, waits: dict[str, list[float]]) -> pd.DataFrame:
    """Return what was measured of queue and topic, a row for each question. Raises ValueError for a name that was reused."""
    made = {"got": (got, dict, "audience"), "flood": (flood, Flood, "flood"), "waits": (waits, dict, "behind_a_slow_one")}
    for name, (value, kind, maker) in made.items():
        if not isinstance(value, kind) or kind is dict and {*value} != {"queue", "topic"}:
            raise ValueError(f"`{name}` is no longer what `lab01.{maker}` returned: a cell has used the name for something else. "
                             f"Run the cell with `{name} = lab01.{maker}(...)` again, then this one")
    last = flood.moments[max(flood.moments)]
    return pd.DataFrame({
        "queue that pushes": [got["queue"]["billing"], last.queued, flood.late_worker, last.worked - last.sent,
                              f"{waits['queue'][-1]:.1f} s"],
        "topic that is pulled from": [got["topic"]["billing"], last.log_end, flood.late_app, last.read - last.sent,
                                      f"{waits['topic'][-1]:.1f} s"],
    }, index=["of 100, one of two readers gets", "kept when all is done", "of 1000, a late reader gets",
              "worked on twice after the death", "behind a slow job, others wait up to"])

