"""Lab 8's experiments: one partition, its leader 1, its followers 2 and 3, and followers that fetch as they are told.

    room = LagCluster()                  # broker 1 leads, 2 and 3 follow; ten records a second are written with acks=1
    room.until(20)                       # seconds since the first record
    room.cluster.hold_follower(3)        # it copies nothing any more, and goes on living
    room.until(36)
    room.isr_changes()                   # [(29.99, (1, 2), "3 fell behind")]

Everything happens in simulated time: half a minute takes half a second, and happens the same way each time.

Owns: the room, the pacing of a follower's fetches, what is noted ten times a second.
Invariants
  a number in a note is the leader's own (its log, its memory of each follower) or the trace's, never ours
  a paced follower is slowed by nothing but the moment at which its fetch requests leave
"""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer import FetchRequest

from minikafka import Cluster
from minikafka.cluster.settings import PRESETS
from minikafka.lab.labs.stage import replicated
from minikafka.lab.labs.steady import Writer
from minikafka.lab.waiting import waiting
from minikafka.log.batch import build
from minikafka.protocol.errors import KafkaError

C, A, D = 1, 2, 3                      # broker 1 leads, 2 and 3 follow
TOPIC = "positions"
TP = f"{TOPIC}-0"
LIMIT = 10.0                           # replica.lag.time.max.ms of the class cluster, in seconds


def names(brokers: Sequence[int]) -> str:
    """Return an ISR as the picture shows it: {1, 2}."""
    return "{" + ", ".join(map(str, brokers)) + "}"


@dataclass(frozen=True, slots=True)
class Note:
    """One moment: the leader's log, the followers' logs, and the leader's stopwatch for each of them."""

    t: float
    end: int                           # the leader's log end offset
    high_watermark: int
    isr: tuple[int, ...]
    ends: dict[int, int]               # the log end offset of each follower, as its own disk has it
    watch: dict[int, float]            # seconds since the leader last saw this follower caught up

    def behind(self, follower: int) -> int:
        """Return how many records the leader has and the follower has not."""
        return self.end - self.ends[follower]


class LagCluster:
    """A simulated class cluster with one partition of three replicas. `now` is 0 when the first record is written.

    The leader looks for late followers every LIMIT / 2 seconds; writing begins `first_check` seconds before such a look.
    `own={D: {...}}` gives one broker settings of its own; every other keyword is a setting of all of them.
    """

    def __init__(self, *, min_insync: int = 1, rate: float = 10.0, first_check: float = 3.0,
                 own: dict[int, dict[str, Any]] | None = None, **config: Any) -> None:
        settings = PRESETS["class"] | {name.replace("_", "."): value for name, value in config.items()}
        self.cluster: Any = Cluster(engine="sim", seed=8, controllers=1, config=settings)
        for broker, values in (own or {}).items():
            restart_with(self.cluster, broker, values)
        self.admin = self.cluster.admin()
        replicated(self.cluster, TOPIC, [C, A, D], min_insync_replicas=min_insync)
        served = self.cluster.trace.events("broker")
        start = next(e["t"] for e in served if (e["b"], e["id"], e["state"]) == (C, C, "unfenced"))
        self.cluster.sleep((start - first_check - self.cluster.now()) % (LIMIT / 2))
        self.notes: list[Note] = []
        self.writer: Any = Writer(self.cluster, TOPIC, rate=rate, acks=1, prefix="truck-1 at km ", name="truck-1")
        self._zero = self.cluster.now()
        self._probe = self.cluster.watch(self.cluster.producer(acks=-1, idempotent=False, name="probe"), "probe")

    @property
    def now(self) -> float:
        return self.cluster.now() - self._zero

    def until(self, t: float) -> LagCluster:
        """Let the time pass up to `t`, noting ten times a second what the leader knows."""
        with waiting(f"simulated time runs from second {self.now:.0f} to {t:g}"):
            while self.now < t - 1e-6:
                self.cluster.sleep(min(0.1, t - self.now))
                self.note()
        return self

    def note(self) -> None:
        """Append a note of this moment (while broker 1 leads)."""
        leader, now = self._replica(C).replica, self.cluster.now()
        self.notes.append(Note(
            round(self.now, 3), leader.log.end_offset, leader.high_watermark, leader.isr.committed,
            {n: self._replica(n).log.end_offset for n in leader.followers},
            {n: now - f.last_caught_up_time for n, f in leader.followers.items()}))

    def _replica(self, broker: int) -> Any:
        """Return the partition object of a running broker; only a simulated cluster gives access to it."""
        return self.cluster.world.broker(broker).replicas.partitions[TOPIC, 0]

    def at(self, t: float) -> Note:
        """Return the last note at or before `t`."""
        return [note for note in self.notes if note.t <= t + 0.05][-1]

    def isr_changes(self, after: float = 0.0) -> list[tuple[float, tuple[int, ...], str]]:
        """Return (when, the ISR then, why) of each change after `after`, as the leader wrote it into the trace."""
        found = [(round(e["t"] - self._zero, 2), tuple(e["isr"]), e["why"])
                 for e in self.cluster.trace.events("isr") if e["tp"] == TP]
        return [change for change in found if change[0] > after]

    def ask_for_all(self, value: str = "probe") -> Probe:
        """Send one record with acks=all and do not wait for the answer."""
        return Probe(self, self._probe.post(TOPIC, value, partition=0))

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> LagCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Probe:
    """One record sent with acks=all: how long its producer waited, or how long it has waited by now."""

    def __init__(self, room: LagCluster, promise: asyncio.Future[tuple[int, int]]) -> None:
        self.sent, self.answered, self.error = room.now, None, None
        self._room = room
        promise.add_done_callback(self._done)

    def _done(self, promise: asyncio.Future[tuple[int, int]]) -> None:
        self.answered = self._room.now
        error = promise.exception()
        self.error = error.code.name if isinstance(error, KafkaError) else error

    @property
    def waited(self) -> float:
        return (self._room.now if self.answered is None else self.answered) - self.sent


# --- the experiments --------------------------------------------------------------------------------------------------

def stuck_again_and_again(times: int = 4, later: float = 1.0) -> list[tuple[float, float, float]]:
    """Stop broker 3 `times` times, each time `later` seconds later in the leader's rhythm; return (stopped, left the ISR,
    seconds between) for each."""
    found = []
    with LagCluster(rate=5) as room:
        for number in range(times):
            room.until(room.now + (3.0 + number * later - room.now) % (LIMIT / 2) + 1.0)
            stopped = room.now
            room.cluster.hold_follower(D)
            room.until(stopped + 1.5 * LIMIT + 0.1)
            left = room.isr_changes(after=stopped)[0][0]
            found.append((round(stopped, 1), left, round(left - stopped, 1)))
            room.cluster.heal()
            room.until(room.now + 1.0)
    return found


def both_twins(until: float) -> LagCluster:
    """Let broker 2 be the first twin and 3 the second, as followers of the same leader."""
    room = LagCluster(own={A: records_a_fetch(5)}).until(20)
    FetchPace(room, A, every=0.5, first=3.5)
    FetchPace(room, D, every=3.0)
    return room.until(until)


# --- followers that fetch as they are told ----------------------------------------------------------------------------

class FetchPace:
    """Lets a follower's fetch leave its machine only every `every` seconds, the first after `first` seconds.

    The broker itself is untouched: its request is held on the wire, as a slow network or a busy machine would do it.
    """

    def __init__(self, room: LagCluster, follower: int, every: float, first: float | None = None) -> None:
        self.loop, self.every = room.cluster.world.loop, every
        self.sent: list[float] = []    # when a fetch left
        self._room, self.over = room, False
        self._hold = room.cluster.world.hold(
            lambda m: m.api is FetchRequest and not m.is_response and (m.src, m.dst) == (follower, C))
        self.loop.call_later(every if first is None else first, self._next)

    def _next(self) -> None:
        if self.over:
            return
        if self._hold.frames:
            self.sent.append(self._room.now)
            self._hold.release_one()
        self.loop.call_later(self.every, self._next)

    def stop(self) -> None:
        """Let the follower fetch as fast as it can again."""
        self.over = True
        self._hold.release()


def records_a_fetch(records: int) -> dict[str, Any]:
    """Return the setting of a broker that gets at most `records` records with one fetch."""
    one = len(build([(None, b"truck-1 at km 100", [], 0)], timestamp_ms=0))
    return {"replica.fetch.max.bytes": records * one + one // 2}


def restart_with(cluster: Any, broker: int, values: dict[str, Any]) -> None:
    """Stop a broker, change its server.properties, start it again."""
    host = cluster.world.hosts[broker]
    cluster.stop(broker)
    host.config = host.config.replaced({name: str(value) for name, value in values.items()})
    cluster.restart(broker)
