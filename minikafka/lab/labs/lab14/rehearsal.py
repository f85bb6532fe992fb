"""A rehearsal: a pipeline against a schedule on simulated brokers, with a model in the place of Spark.

    run = rehearse(EFFECTIVELY_ONCE, published())
    print(notary(run))

A minute takes seconds. Brokers and producer are those of the simulator. Spark is microbatch.py, and a consumer that reads exactly
the planned ranges.
Owns: the cluster of one rehearsal, closed at its end. Invariants: equal pipeline, equal schedule, equal run.
"""
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from itertools import islice
from typing import Any

from minikafka.client import Admin, Consumer, Producer
from minikafka.client.consumer.read_all import read_all
from minikafka.lab.datasets import taxi_trips
from minikafka.lab.labs.lab14.diary import Diary, NotedSink, merged
from minikafka.lab.labs.lab14.faults import Spark, TripProgram, carry_out
from minikafka.lab.labs.lab14.microbatch import Checkpoint, MicroBatch, Offsets
from minikafka.lab.labs.lab14.notary import Row, Run, row_of
from minikafka.lab.labs.lab14.pipeline import Pipeline
from minikafka.lab.labs.lab14.schedule import RATE, Schedule, spoil
from minikafka.lab.labs.stage import simulated
from minikafka.lab.waiting import waiting
from minikafka.proof.history import History
from minikafka.protocol.errors import KafkaError

TOPIC, PARTS = "trips", range(3)
TRIGGER = 0.5                                   # seconds between two micro-batches
AGAIN = 1.0                                     # seconds until a query that has ended by an error is started again
REST = 3.0                                      # seconds without anything to do that count as rest
PATIENCE = 60.0                                 # seconds until everything must have come to rest
REQUEST = 1.5                                   # seconds that a client waits for an answer


def nobody(*_: Any) -> None: ...


def rehearse(pipeline: Pipeline, schedule: Schedule, watch: Callable[[Any, SimTripWriter, ModelOfSpark], Any] = nobody) -> Run:
    """Return the run of a pipeline under a schedule; `watch` it is called when producer and query have begun."""
    with waiting(f"{schedule.trips} simulated trips"), simulated(schedule.seed) as cluster, \
            contextlib.closing(NotedSink(pipeline, Diary(cluster.now))) as sink:
        history = History(cluster.now)
        with cluster.admin() as admin:
            admin.create_topic(TOPIC, len(PARTS), 3, configs={"min.insync.replicas": str(pipeline.min_insync)})
        writer = SimTripWriter(cluster, pipeline, schedule, history)
        spark = ModelOfSpark(cluster, pipeline, sink, schedule.row_seconds)
        watch(cluster, writer, spark)
        missed = carry_out(cluster, spark, writer, schedule)
        cluster.mend()
        settled = settle(cluster, lambda: writer.done and spark.at_rest)
        spark.stop()
        for part in PARTS:
            with contextlib.suppress(KafkaError):
                cluster.run(read_all(cluster.world.client_env(), cluster.world.bootstrap, TOPIC, part, history=history))
        waited = max((came - writer.sent[trip] for trip, came in spark.came.items() if trip in writer.sent),
                     default=0.0)
        return Run(tuple(history), sink.rows(), sink.totals(), settled, missed=missed, waited=waited, stayed=spark.stayed,
                   prices=sink.prices(), dead=sink.dead(), died=spark.died, events=merged(sink.diary, cluster.trace, TOPIC))


def settle(cluster: Any, at_rest: Callable[[], bool]) -> bool:
    """Wait until everything has been at rest for a while; return whether it has.

    One look is not enough: a leader that was cut off answers for some moments yet where it thinks that the log ends.
    """
    until, since = cluster.now() + PATIENCE, cluster.now()
    while cluster.now() < until:
        cluster.sleep(TRIGGER)
        if not at_rest():
            since = cluster.now()
        elif cluster.now() - since >= REST:
            return True
    return False


class SimTripWriter(TripProgram):
    """Sends the trips at their rate, keyed by taxi, and notes once a second which are acknowledged: after its death it sends all
    others again. (The simulator's year is before the trips': no timestamp of theirs.)"""

    def __init__(self, cluster: Any, pipeline: Pipeline, schedule: Schedule, history: History) -> None:
        self.world, self.pipeline, self.schedule, self.history = cluster.world, pipeline, schedule, history
        self.began, self.noted, self.done, self.sent = self.world.now(), 0, False, dict[int, float]()
        self.promises = list[Any]()
        self.begin()

    def begin(self) -> None:
        env, acks = self.world.client_env(), self.pipeline.acks
        self.producer = Producer(env, self.world.bootstrap, acks=-1 if acks == "all" else int(acks),
                                 idempotent=self.pipeline.idempotence, delivery_timeout=PATIENCE, request_timeout=REQUEST,
                                 max_block=PATIENCE, history=self.history, name="trips")
        self.task = env.spawn(self._write(self.schedule), "trips: writer")

    def kill(self) -> None:
        self.task.cancel()
        self.producer.kill()

    async def _write(self, schedule: Schedule) -> None:
        open_ = dict[int, Any]()                # trips whose acknowledgement is not noted
        for number, trip in islice(enumerate(islice(taxi_trips(seed=schedule.seed + 1), schedule.trips)), self.noted, None):
            await self.world.sleep(max(0.0, self.began + number / RATE - self.world.now()))
            if number % RATE == 0:
                self.noted = next((n for n, sent in open_.items() if not sent.done() or sent.exception()), number)
            if schedule.silent[0] <= number / RATE < schedule.silent[1]:
                continue
            self.sent[trip.trip], value = self.began + number / RATE, schedule.record(number, trip)
            open_[number] = await self.producer.post(TOPIC, value, trip.taxi.encode())
            self.promises.append(open_[number])
            if number in schedule.spoiled:
                self.promises.append(await self.producer.post(TOPIC, spoil(value, number), trip.taxi.encode()))
        await asyncio.gather(*self.promises, return_exceptions=True)
        self.done = True


class ModelOfSpark(Spark):
    """Plans, reads, writes, notes; dies at a write when a schedule has it so."""

    def __init__(self, cluster: Any, pipeline: Pipeline, sink: NotedSink, row_seconds: float) -> None:
        self.world, self.pipeline, self.sink, self.row_seconds = cluster.world, pipeline, sink, row_seconds
        self.diary = sink.diary
        self.came, self.stayed = dict[int, float](), 0      # when a price first counted a trip; rows of a write that died
        self.read: Callable[[str, int, int], Row] = row_of  # what the query makes of a record
        self.died = ""                          # the error of a `read` or a `write`
        self.newest = dict[int, int]()          # of each partition, the last such trip
        self.checkpoint: Checkpoint | None = None
        self.over, self.at_rest, self.dead, self.dead_until = False, False, False, 0.0
        env = self.world.client_env()
        self.admin = Admin(env, self.world.bootstrap, timeout=REQUEST, name="spark ends")
        self.consumer = Consumer(env, self.world.bootstrap, request_timeout=REQUEST, reset="none", name="spark")
        self.consumer.assign([(TOPIC, part) for part in PARTS])
        env.spawn(self._run(), "spark: the query")

    def stop(self) -> None:
        self.over = True

    async def _run(self) -> None:
        while not self.over:
            await self.world.sleep(TRIGGER)
            if self.world.now() >= self.dead_until:
                if self.dead:
                    self.dead = False
                    self.diary.say("query", running=True, why="")
                with contextlib.suppress(KafkaError):   # nobody leads: the next trigger asks again
                    await self._batch()

    async def _batch(self) -> None:
        self.at_rest = False                    # as long as a batch is under way, or ends by an error
        ends = await self._ends("latest")
        if self.checkpoint is None:             # no folder: `starting` counts
            self.checkpoint = Checkpoint(dict(ends) if self.pipeline.starting == "latest" else await self._ends("earliest"))
        plan = self.checkpoint.plan(ends)
        self.at_rest = plan is None and not self.dying
        if plan is None:
            return
        self.diary.say("batch", batch=plan.batch)
        records = await self._read(plan)
        await self.world.sleep(self.row_seconds * len(records))
        inside = self.dying and self.inside
        try:
            self._write([self.read(*record) for record in records], plan.batch, inside)
        except Exception as error:              # the query ends; whoever starts it again gets the same batch
            self.died = f"{type(error).__name__}: {error}"
            self._die(AGAIN, self.died)
            return
        if self.dying:
            self.deaths += 1
            self._die(self.dying)
            self.dying = 0.0
            self.checkpoint = self.checkpoint if self.pipeline.checkpoint else None
            return
        self.checkpoint.done(plan)
        self.diary.say("batch_done", batch=plan.batch)

    def _die(self, seconds: float, why: str = "") -> None:
        """End the query; it begins again some seconds later."""
        self.dead_until, self.dead = self.world.now() + seconds, True
        self.diary.say("query", running=False, why=why)

    def _write(self, rows: list[Row], batch: int, inside: bool) -> None:
        if inside:
            self.stayed += self.sink.die_inside(rows, batch)
            return
        self.sink.take(rows, batch)
        for trip in self.sink.counted():
            self.came.setdefault(trip, self.world.now())
        self.newest |= {row.part: row.trip for row in rows if row.trip in self.came}

    async def _ends(self, which: str) -> Offsets:
        return {part: await self.admin.offset(TOPIC, part, which) for part in PARTS}

    async def _read(self, plan: MicroBatch) -> list[tuple[str, int, int]]:
        """Read exactly the range of a plan, partition by partition, as Spark's tasks do."""
        found: dict[int, list[tuple[str, int, int]]] = {part: [] for part in PARTS}
        for part in PARTS:
            self.consumer.seek((TOPIC, part), plan.start[part])
        while any((self.consumer.position((TOPIC, part)) or 0) < plan.end[part] for part in PARTS):
            for record in await self.consumer.poll(0.5):
                if record.offset < plan.end[record.partition]:
                    found[record.partition].append((record.value.decode(), record.partition, record.offset))
        return [record for part in PARTS for record in found[part]]
