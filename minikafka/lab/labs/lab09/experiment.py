"""The experiments of lab 9, on simulated clusters: who is killed, and what then nobody can decide.

    failover(session=3.0)        the leader of a partition is killed: for how long is nothing acknowledged?
    sessions((1.5, 3.0, 9.0))    what a shorter session saves when a leader dies, and costs when one is only slow
    without_controller()         the active controller is killed
    without_majority()           two of three controllers are killed: what works, and what does not
    zombie()                     the leader is cut off from all other nodes, but not from its writers

Owns: nothing; each experiment makes its own cluster and closes it. Times are seconds of the simulator's clock.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from minikafka.lab.labs.lab09.metadata import Entry, history, metadata_log
from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.labs.steady import Writer, read_all
from minikafka.lab.picture.draw.metadata import picture
from minikafka.lab.view.front import Still
from minikafka.protocol.errors import KafkaError

TOPIC, TP = "positions", "positions-0"


def drawn(entries: list[Entry], since: float | None = None) -> Still:
    """Return the end of a metadata log as a picture."""
    return Still(*picture(entries, since))


def prepared(seed: int = 9, min_insync: int = 1, **settings: Any) -> Any:
    """Return a cluster with three brokers, three controllers (101 to 103) and one partition that broker 1 leads."""
    cluster = replicated(simulated(seed, controllers=3, **settings), TOPIC, min_insync_replicas=min_insync)
    cluster.sleep(1)                                # until every broker has the metadata
    return cluster


def wall(cluster: Any) -> float:
    """Return the wall clock in seconds, by which records are stamped."""
    return float(cluster.world.client_env().wall_ms()) / 1000


def silence(writer: Writer, begin: float, end: float) -> float:
    """Return the longest time between two acknowledgements from `begin` to `end`."""
    times = [begin, *sorted(ack.acked for ack in writer.acked if begin < ack.acked < end), end]
    return max(b - a for a, b in zip(times, times[1:]))


# --- the leader dies --------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Failover:
    """The result of a kill: seconds until the next acknowledgement, when it happened, the metadata log."""

    silent: float
    killed: float              # the wall clock, in seconds
    log: list[Entry]

    def decisions(self) -> list[Entry]:
        """Return what was decided after the kill."""
        return [entry for entry in self.log if entry.t > self.killed]


def failover(session: float = 3.0, after: float = 3.0, seed: int = 9) -> Failover:
    """Kill the leader `after` seconds of writing; `session` is broker.session.timeout.ms in seconds."""
    with prepared(seed, config={"broker.session.timeout.ms": int(session * 1000)}) as cluster:
        writer = Writer(cluster, TOPIC, rate=10)
        cluster.sleep(after)
        begin, killed = cluster.now(), wall(cluster)
        cluster.kill(1)
        cluster.sleep(session + 4)
        writer.finish()
        return Failover(silence(writer, begin, cluster.now()), killed, metadata_log(cluster))


def elections_after_pause(session: float, pause: float = 1.5) -> int:
    """Let the leader stand still for `pause` seconds; return how often the partition has been given another leader."""
    with prepared(config={"broker.session.timeout.ms": int(session * 1000)}) as cluster:
        cluster.sleep(3)
        begin = wall(cluster)
        cluster.pause(1)
        cluster.sleep(pause)
        cluster.resume(1)
        cluster.sleep(6)
        changes = history([entry for entry in metadata_log(cluster) if entry.t > begin or entry.kind == "TopicRecord"], TP)
        return sum(change.get("leader", -1) >= 0 for change in changes)


def sessions(lengths: tuple[float, ...] = (1.5, 3.0, 9.0)) -> pd.DataFrame:
    """Return both sides of `broker.session.timeout.ms`: what it costs when a leader dies, and when it is busy for 1.5 s."""
    rows = {f"session {length:g} s": [round(failover(length).silent, 1), elections_after_pause(length)] for length in lengths}
    columns = ["leader dies: seconds of silence", "leader is busy for 1.5 s: elections"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


# --- controllers die --------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Beheaded:
    """The result of the active controller's death: the longest time without an acknowledgement, without a controller."""

    silent: float
    headless: float
    before: int
    after: int
    epochs: tuple[int, int]


def without_controller() -> Beheaded:
    """Kill the active controller while a writer writes."""
    with prepared() as cluster:
        writer = Writer(cluster, TOPIC, rate=10)
        cluster.sleep(3)
        first, begin, epoch = cluster.controller(), cluster.now(), _epoch(cluster)
        cluster.kill(first)
        cluster.wait(lambda: cluster.controller() not in (None, first))
        headless, second = cluster.now() - begin, cluster.controller()
        cluster.sleep(3)
        writer.finish()
        return Beheaded(silence(writer, begin, cluster.now()), headless, first, second, (epoch, _epoch(cluster)))


def _epoch(cluster: Any) -> int:
    return int(cluster.world.broker(2).quorum.epoch)


def without_majority() -> dict[str, str]:
    """Kill two of three controllers, and try everything; then stop a follower, and in the end bring a controller back."""
    found: dict[str, str] = {}
    with prepared(min_insync=1) as cluster:
        first = cluster.controller()
        second = next(node for node in (101, 102, 103) if node != first)
        cluster.kill(first)
        cluster.kill(second)
        cluster.sleep(3)
        found["write to a partition"] = attempt(cluster, acks=-1)
        found["read it"] = "yes" if len(read_all(cluster, TOPIC)) == 1 else "no"
        found["create a topic"] = _tried(lambda: cluster.admin().create_topic("another", assignment={0: [1, 2, 3]}))
        cluster.hold_follower(3)
        writer = Writer(cluster, TOPIC, rate=1, delivery_timeout=120.0, name="patient")
        cluster.sleep(20.5)
        found["write, when a follower has stopped"] = (
            f"{len(writer.acked)} of {writer.sent} acknowledged; ISR {list(cluster.isr(TOPIC))}")
        cluster.restart(first)
        cluster.wait(lambda: 3 not in cluster.isr(TOPIC), timeout=60)
        writer.finish()
        found["the same, with a second controller back"] = (
            f"all {len(writer.acked)} acknowledged; ISR {list(cluster.isr(TOPIC))}")
    return found


def attempt(cluster: Any, acks: int) -> str:
    producer = cluster.producer(acks=acks, idempotent=False, name=f"one with acks={acks}", delivery_timeout=5.0)
    return _tried(lambda: producer.send(TOPIC, "x", partition=0))


def _tried(action: Any) -> str:
    try:
        action()
    except (KafkaError, TimeoutError) as error:
        return error.code.name if isinstance(error, KafkaError) else "no answer"
    return "yes"


# --- a leader that nobody follows -------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Zombie:
    """The result of a cut: which broker believed to lead in which epoch, what was acknowledged with acks=1 and what of
    that is lost."""

    crowns: dict[int, int]     # broker -> leader epoch
    acknowledged: int          # with acks=1, while the leader was cut off
    lost: int
    truncated: int             # records that the old leader truncated when it learned the new epoch
    strict: str


def zombie() -> Zombie:
    """Cut broker 1, the leader, off from all brokers and controllers for ten seconds; its clients still reach it."""
    with prepared(min_insync=2) as cluster:
        loose = Writer(cluster, TOPIC, rate=10, acks=1, prefix="loose ", name="acks=1")
        cluster.sleep(2)
        begin = cluster.now()
        for other in (2, 3, 101, 102, 103):
            cluster.world.cut(1, other)
        strict = attempt(cluster, acks=-1)
        cluster.sleep(begin + 10 - cluster.now())
        loose.stop()
        crowns = {n: partition.leader_epoch for n in (1, 2, 3)
                  if (partition := cluster.world.broker(n).replicas.partitions[TOPIC, 0]).is_leader}
        told = [ack for ack in loose.acked if ack.acked > begin]
        cluster.heal()
        cluster.wait(lambda: sorted(cluster.isr(TOPIC)) == [1, 2, 3], timeout=60)
        loose.finish()
        kept = {record.value for record in read_all(cluster, TOPIC)}
        cuts = [e for e in cluster.trace.events("truncate") if e["tp"] == TP and e["b"] == 1]
        return Zombie(crowns, len(told), sum(ack.value not in kept for ack in told),
                      sum(e["from"] - e["to"] if "from" in e else 0 for e in cuts), strict)
