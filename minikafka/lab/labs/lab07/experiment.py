"""Lab 7's experiments: what an acknowledgement costs, and what it is worth when the leader dies, falls silent, or is cut off.

    latencies(acks=-1, far=0.05)         milliseconds from send to answer, one for each record
    stale_followers(acks=1)              both followers stand still at record 60, the leader dies at record 80
    faulty_leader(acks=0, fault="cut")   ten records a second while the leader is cut off, or killed
    isolated(acks=1)                     the leader loses its followers and the controller, and keeps its client
    slow_member()                        acks=all while broker 3 moves away, gets stuck, and leaves the ISR

Owns: the room: one partition, led by broker 1, and the delay of every link. Times are seconds of the simulator's clock.
Invariants
  "lost" means: the producer was told that all is well, and a new reader does not find the value
  without `jitter` a message takes the delay that the room was given, to the microsecond
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import Writer, read_all
from minikafka.lab.waiting import waiting

TOPIC, TP = "orders", "orders-0"
LEADER, CONTROLLER = 1, 101
ALL = -1
NAMES = {0: "acks=0", 1: "acks=1", ALL: "acks=all"}


class AcksCluster:
    """A simulated class cluster: broker 1 leads, 2 and 3 follow, the controller is a machine of its own.

    `far`: seconds of one way between the leader and its followers (one number, or one for each); `near`: between the
    client and the leader. With `jitter` every message takes 0.2 to 2 ms more, by chance.
    """

    def __init__(self, far: float | Sequence[float] = 0.005, near: float = 0.001, jitter: bool = False, seed: int = 7) -> None:
        self.cluster: Any = simulated(seed, controllers=1)
        if not jitter:
            self.cluster.world.net.latency = (0.0, 0.0)
        replicated(self.cluster, TOPIC)
        self.cluster.slow("clients", LEADER, latency=near)
        for follower, delay in zip((2, 3), far if isinstance(far, Sequence) else (far, far)):
            self.cluster.slow(LEADER, follower, latency=delay)
        self.writers: list[Any] = []
        self.cluster.sleep(1.0)

    def writer(self, acks: int, rate: float = 10.0, count: int | None = None, **settings: Any) -> Any:
        """Start a writer; it repeats what failed, and only acks=all is idempotent, as in Kafka."""
        acks = {"all": ALL}.get(acks, acks)  # type: ignore[call-overload]  # Kafka knows both
        settings = {"delivery_timeout": 60.0, "idempotent": acks == ALL, **settings}
        made = Writer(self.cluster, TOPIC, rate, acks=acks, count=count, **settings)
        made._producer.client.metadata_max_age = 5.0
        made.acks = acks
        self.writers.append(made)
        return made

    def until_sent(self, writer: Any, n: int) -> None:
        """Let the time pass until the writer has sent `n` records."""
        def enough() -> bool:
            return bool(writer.sent >= n)

        enough.__doc__ = f"{n} records are sent (this writer sends {writer.count or 'some'} in all)"
        self.cluster.wait(enough, timeout=120)

    def readable(self) -> list[str]:
        """Return the values that a new reader finds, once all three replicas are in sync again."""
        def whole() -> bool:
            """all three replicas are in sync again (is the broker that you killed back?)"""
            return len(self.cluster.isr(TOPIC)) == 3

        self.cluster.wait(whole, timeout=120)
        return [record.value for record in read_all(self.cluster, TOPIC)]

    def lost(self, writer: Any) -> list[str]:
        """Return the values that were acknowledged to the producer and that no new reader finds."""
        found = set(self.readable())
        return [ack.value for ack in writer.acked if ack.value not in found]

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> AcksCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- E1: what an acknowledgement costs --------------------------------------------------------------------------------

def latencies(acks: int = ALL, far: float | Sequence[float] = 0.005, rate: float = 5.0, count: int = 60,
              jitter: bool = False, **settings: Any) -> list[float]:
    """Return the milliseconds from send to answer; the first quarter is left out, because connections are still being
    opened."""
    with AcksCluster(far, jitter=jitter) as room:
        writer = room.writer(acks, rate, count, **settings)
        room.until_sent(writer, count)
        writer.finish()
        times = [round(1000 * ack.latency, 3) for ack in writer.acked]
        return times[len(times) // 4:]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def ladder(distances: Sequence[float] = (0.001, 0.005, 0.05)) -> pd.DataFrame:
    """Return the median latency in ms by mode (rows) and by distance to the followers (columns)."""
    rows = {NAMES[acks]: [round(quantile(latencies(acks, far, count=20), 0.5), 1) for far in distances] for acks in (0, 1, ALL)}
    return pd.DataFrame(rows, index=[f"{1000 * far:g} ms" for far in distances]).T.rename_axis(columns="followers at")


def summary(samples: dict[str, list[float]]) -> pd.DataFrame:
    """Return for each sample, in ms, within how long half of the records and 99 of 100 were answered, and the slowest one."""
    rows = {name: [round(quantile(values, share), 1) for share in (0.5, 0.99, 1.0)] for name, values in samples.items()}
    return pd.DataFrame(rows, index=["half within", "99 % within", "slowest"]).T.rename_axis(columns="ms")


# --- E2: the promise of one machine -------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class ProduceOutcome:
    """The answers that a producer got, and what became of its records."""

    sent: int
    told_before: int                       # records that were acknowledged when the fault struck
    told: int                              # in the end
    errors: int
    lost: tuple[str, ...]                  # told to be well, and not found
    leader: int | None                     # in the end
    in_sync: tuple[int, ...] = ()          # the ISR when the new leader was elected


def stale_followers(acks: int = 1) -> ProduceOutcome:
    """Let both followers copy nothing from record 60 on, and kill the leader when record 80 is sent; 100 records in
    all."""
    with AcksCluster() as room:
        cluster, writer = room.cluster, room.writer(acks, rate=10, count=100)
        room.until_sent(writer, 60)
        cluster.sleep(0.05)                                     # record 60 is copied, record 61 not sent yet
        for follower in (2, 3):
            cluster.hold_follower(follower)
        room.until_sent(writer, 80)
        cluster.sleep(0.05)
        told = len(writer.acked)
        cluster.kill(LEADER)
        cluster.wait(lambda: cluster.leader(TOPIC) not in (LEADER, None), timeout=30)
        leader, in_sync = cluster.leader(TOPIC), tuple(cluster.isr(TOPIC))
        cluster.heal()
        writer.finish()
        cluster.restart(LEADER)
        lost = tuple(room.lost(writer))
        return ProduceOutcome(writer.sent, told, len(writer.acked), len(writer.failed), lost, leader, in_sync)


# --- E3: nobody answers, and nobody asks --------------------------------------------------------------------------

def faulty_leader(acks: int = 0, fault: str = "cut", after: float = 4.0, **settings: Any) -> ProduceOutcome:
    """Cut the leader's cable ("cut") or kill its process ("kill") after `after` seconds, with ten records a second.

    Twenty seconds later the fault is mended.
    """
    with AcksCluster(seed=4) as room:
        cluster, writer = room.cluster, room.writer(acks, rate=10, **settings)
        cluster.sleep(after)
        told = len(writer.acked)
        if fault == "kill":
            cluster.kill(LEADER)
        for other in ("clients", 2, 3, CONTROLLER) if fault == "cut" else ():
            cluster.cut(LEADER, other)
        cluster.sleep(20)
        leader = cluster.leader(TOPIC)
        cluster.mend()
        writer.finish()
        return ProduceOutcome(writer.sent, told, len(writer.acked), len(writer.failed), tuple(room.lost(writer)), leader)


def faults() -> pd.DataFrame:
    """Return how many records are lost when the leader is killed and when it is cut off, and how many errors the
    producer saw, for each mode."""
    rows = {}
    for acks in (0, 1, ALL):
        killed, cut = faulty_leader(acks, "kill"), faulty_leader(acks, "cut")
        rows[NAMES[acks]] = [len(killed.lost), len(cut.lost), killed.errors + cut.errors]
    return pd.DataFrame(rows, index=["lost, killed", "lost, cut off", "errors seen"]).T


# --- Vanlightly's fourth scenario -------------------------------------------------------------------------------------------

def isolated(acks: int = 1, rate: int = 100, **settings: Any) -> ProduceOutcome:
    """Cut the leader from its followers and the controller for 12 seconds; its client still reaches it."""
    with waiting(f"15 simulated seconds with acks={acks}"), AcksCluster() as room:
        cluster = room.cluster
        writer = room.writer(acks, rate, count=15 * rate, **settings)
        cluster.sleep(3.0)
        told = len(writer.acked)
        for other in (2, 3, CONTROLLER):
            cluster.cut(LEADER, other)
        cluster.sleep(12.0)
        leader = cluster.leader(TOPIC)
        cluster.heal()
        writer.finish()
        return ProduceOutcome(writer.sent, told, len(writer.acked), len(writer.failed), tuple(room.lost(writer)), leader)


# --- E4: a slow member, and one that is out -----------------------------------------------------------------------

@dataclass(frozen=True)
class Slow:
    """One run of `slow_member`: (second of the send, latency in ms) of each record, and when the phases began."""

    points: list[tuple[float, float]]
    phases: list[tuple[str, float]]
    behind: int                            # records that broker 3 lacks in the end
    in_sync: tuple[int, ...]               # in the end

    def table(self) -> pd.DataFrame:
        """Return for each phase how many records it has, within how many ms half of them were answered, and the slowest one."""
        ends = [at for _, at in self.phases[1:]] + [float("inf")]
        rows = {}
        for (name, begins), until in zip(self.phases, ends):
            inside = [ms for at, ms in self.points if begins <= at < until]
            rows[name] = [len(inside), round(quantile(inside, 0.5)), round(max(inside))]
        return pd.DataFrame(rows, index=["records", "half within, ms", "slowest, ms"]).T


def slow_member() -> Slow:
    """Send with acks=all while broker 3 is near, moves away after 10 s, is stuck after 20 s, and leaves the ISR; go on
    until it lacks 300 records."""
    with AcksCluster(0.001) as room:
        cluster, writer = room.cluster, room.writer(ALL, rate=5)
        zero, phases = cluster.now(), [("all near", 0.5)]       # before that connections are opened
        cluster.sleep(10)
        cluster.slow(LEADER, 3, latency=0.05)
        phases.append(("broker 3 is 50 ms away", cluster.now() - zero))
        cluster.sleep(10)
        cluster.hold_follower(3)
        phases.append(("broker 3 is stuck", cluster.now() - zero))
        cluster.wait(lambda: cluster.isr(TOPIC) == [1, 2], timeout=30)
        phases.append(("broker 3 is out", cluster.now() - zero))
        cluster.wait(lambda: missing(cluster, 3) >= 300, timeout=120)
        writer.finish()
        points = [(round(ack.sent - zero, 3), 1000 * ack.latency) for ack in writer.acked]
        return Slow(points, phases, missing(cluster, 3), tuple(cluster.isr(TOPIC)))


def missing(cluster: Any, broker: int) -> int:
    """Return how many records the leader has and this broker has not, by their own logs."""
    ends = {n: cluster.world.broker(n).replicas.partitions[TOPIC, 0].log.end_offset for n in (LEADER, broker)}
    return int(ends[LEADER] - ends[broker])
