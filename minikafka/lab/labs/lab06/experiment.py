"""The experiments of lab 6, on simulated clusters: who has what, what may be read, who leads, what survives.

    held(seconds=2)          both followers held while ten records a second arrive
    burned(strict=True)      what a reader got from a leader that died, beside what the log has afterwards
    gap(latency=0.0)         how long a record is with the leader only
    six_partitions()         who leads, through a kill, a restart and an election
    one_by_one()             three brokers die one after the other
    left_behind()            one broker dies, but the wrong one
    frozen_quorum()          two of three controllers die
    rolling(rule)            all three brokers are restarted, each when the rule says so
    drawn()                  what a thousand placements would leave to the survivors
    next_door(rack="c")      which broker serves a reader that says where it stands

Change a parameter and run it again: nothing here is precious. `replicas` and `leads` work on live clusters too (ours).
Owns: nothing; each experiment makes its own cluster and closes it. Times are seconds of the simulator's clock.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import pandas as pd
from kafka.protocol.consumer import FetchRequest

from minikafka.broker.controller.placement import place
from minikafka.broker.metadata.image import BrokerRegistration
from minikafka.lab.labs.stage import simulated
from minikafka.lab.labs.steady import Reader, Writer, read_all
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view.front import Still
from minikafka.lab.waiting import waiting
from minikafka.proof.weakened import without
from minikafka.protocol.errors import KafkaError

TOPIC, TP = "positions", "positions-0"
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


def picture(cluster: Any, tp: str = TP) -> Still:
    """Return a still picture of the cluster as it is now."""
    return Still.of(RecordedRun.of(cluster), tp=tp)


# --- looking ------------------------------------------------------------------------------------------------------

def replicas(cluster: Any, tp: str = TP) -> pd.DataFrame:
    """Return one row for each broker, all from the trace: its log end offset, the high watermark it knows, its role."""
    rows: dict[int, dict[str, Any]] = {}
    for event in cluster.trace.events("role", "append", "hw", "truncate", "recover"):
        if event["tp"] != tp:
            continue
        row = rows.setdefault(event["b"], {"role": "?", "log end": 0, "high watermark": 0})
        match event["k"]:
            case "role":
                row["role"] = event["role"]
            case "append":
                row["log end"] = event["last"] + 1
            case "hw":
                row["high watermark"] = event["hw"]
            case "truncate":
                row["log end"] = event["to"]
            case "recover":
                row["log end"] = event["leo"]
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("broker").sort_index()
    topic, _, partition = tp.rpartition("-")
    isr = cluster.isr(topic, int(partition))
    return table.assign(**{"in sync": [broker in isr for broker in table.index]})


def leads(cluster: Any, topic: str) -> dict[int, int]:
    """Return how many partitions of the topic each broker leads, by broker; partitions without a leader are not counted."""
    found = Counter(p.leader for p in cluster.partitions(topic).values())
    return {broker: found[broker] for broker in cluster.ids}


# --- E2: what the high watermark waits for --------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class Look:
    """The leader's log end, the high watermark, and how many records a reader has, at one moment."""

    log_end: int
    high_watermark: int
    read: int


def table(looks: dict[str, Look]) -> pd.DataFrame:
    rows = [{"log end": look.log_end, "high watermark": look.high_watermark, "read": look.read} for look in looks.values()]
    return pd.DataFrame(rows, index=list(looks))


def look(cluster: Any, reader: Reader) -> Look:
    leader = replicas(cluster).loc[cluster.leader(TOPIC)]
    return Look(int(leader["log end"]), int(leader["high watermark"]), len(reader.records))


def held(seconds: float = 2.0, acks: int = 1) -> dict[str, Look]:
    """Return how the partition looks before, at the end of, and after some seconds in which both followers copy
    nothing; ten records a second arrive all the time."""
    with simulated(6) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        writer, reader = Writer(cluster, TOPIC, rate=10, acks=acks), Reader(cluster, TOPIC)
        cluster.sleep(5.05)                                     # between two records
        looks = {"before": look(cluster, reader)}
        for follower in (2, 3):
            cluster.hold_follower(follower)
        cluster.sleep(seconds)
        looks["held"] = look(cluster, reader)
        cluster.heal()
        cluster.sleep(0.04)                                     # before the next record
        looks["released"] = look(cluster, reader)
        writer.finish()
        return looks


def burned(strict: bool = True) -> pd.DataFrame:
    """Return, from offset 45 on, what a reader got and what the log has after the leader died with three records that it alone
    had. `strict=False`: the brokers return records to the log end, not to the high watermark (rule `reads_beyond_hw`)."""
    with nullcontext() if strict else without("reads_beyond_hw"), simulated(6, controllers=3) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        lorry = cluster.producer(acks=1)
        for number in range(47):
            lorry.send(TOPIC, f"truck 1, report {number}", partition=0)
        reader = Reader(cluster, TOPIC)
        cluster.sleep(1)
        for follower in (2, 3):
            cluster.hold_follower(follower)
        cluster.sleep(1)                                        # their last Fetches are answered
        for number in range(47, 50):
            lorry.send(TOPIC, f"truck 1, report {number}", partition=0)
        cluster.sleep(1)
        cluster.kill(1)
        cluster.heal()
        cluster.wait(lambda: cluster.leader(TOPIC) not in (None, 1))
        second = cluster.producer()
        for number in range(3):
            second.send(TOPIC, f"truck 2, report {number}", partition=0)
        cluster.sleep(1)
        got = {record.offset: record.value for record in reversed(reader.records)}  # the first that came with an offset counts
        there = {record.offset: record.value for record in read_all(cluster, TOPIC)}
        return pd.DataFrame({"the reader got": pd.Series(got), "the log has": pd.Series(there)}).loc[45:].rename_axis("offset")


def gap(latency: float = 0.0, seconds: float = 10.0, rate: float = 10.0) -> tuple[float, float]:
    """Return (mean seconds that a record is with the leader only, share of the time in which there is such a record).

    `latency`: additional seconds, one way, between the leader and follower 3.
    """
    with simulated(6) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        if latency:
            cluster.slow(1, 3, latency=latency)
        writer, began = Writer(cluster, TOPIC, rate, acks=1), cluster.now()
        cluster.sleep(seconds)
        until = cluster.now()
        writer.stop()
        end, mark, since, open_for, waits = 0, 0, began, 0.0, []
        written: list[float] = []                               # when the leader got each offset
        for event in cluster.trace.events("append", "hw"):
            if event["b"] != 1 or event["tp"] != TP:
                continue
            open_for += event["t"] - since if end > mark else 0.0
            since = event["t"]
            if event["k"] == "append":
                written += [event["t"]] * event["count"]
                end = event["last"] + 1
            else:
                waits += [event["t"] - at for at in written[mark : event["hw"]]]
                mark = event["hw"]
        return sum(waits) / len(waits), open_for / (until - began)


# --- E3: who leads --------------------------------------------------------------------------------------------------

def six_partitions(victim: int = 1, partitions: int = 6, wait: float = 0.0, elect: bool = True, check_every: int = 300,
                   placement: list[list[int]] | None = None, seed: int = 6) -> pd.DataFrame:
    """Return the leaders by broker: at first, with a broker dead, with it back, and after an election of the preferred leaders.

    `wait`: seconds to let pass after the restart, before the election is asked for (if it is). `check_every`: seconds
    between two looks of the controller for leaders that are not the preferred ones. `placement`: yours, not the controller's.
    """
    with simulated(seed, config={"leader.imbalance.check.interval.seconds": check_every}) as cluster:
        admin = cluster.admin()
        admin.create_topic("fleet", partitions, 3, assignment=dict(enumerate(placement)) if placement else None)
        cluster.wait(lambda: sum(leads(cluster, "fleet").values()) == partitions)
        seen = [("at first", leads(cluster, "fleet"))]
        cluster.kill(victim)
        cluster.wait(lambda: leads(cluster, "fleet")[victim] == 0)
        seen.append((f"{victim} is dead", leads(cluster, "fleet")))
        cluster.restart(victim)
        cluster.wait(lambda: all(len(cluster.isr("fleet", p)) == 3 for p in range(partitions)))
        cluster.sleep(wait)
        seen.append((f"{victim} is back" + (f" for {wait:g} s" if wait else ""), leads(cluster, "fleet")))
        if elect:
            admin.elect_leaders([("fleet", partition) for partition in range(partitions)])
            cluster.sleep(1)
            seen.append(("preferred leaders elected", leads(cluster, "fleet")))
        return pd.DataFrame([counts for _, counts in seen], index=[when for when, _ in seen]).rename_axis(columns="leads")


def heirs(placement: list[list[int]], dead: int) -> dict[int, int]:
    """Return how many partitions each survivor leads after `dead` has died: the next replica in the list takes over."""
    survivors = sorted({broker for replicas in placement for broker in replicas} - {dead})
    leaders = Counter(next(b for b in replicas if b != dead) for replicas in placement)
    return {broker: leaders[broker] for broker in survivors}


def drawn(count: int = 1000, partitions: int = 6, brokers: int = 3, copies: int = 3, dead: int = 1) -> Counter[str]:
    """Let the controller's own rule place a topic `count` times; return what the survivors would lead."""
    there = [BrokerRegistration(n, epoch=n, incarnation=UUID(int=n), end_points=(), fenced=False) for n in range(1, brokers + 1)]
    shares: Counter[str] = Counter()
    for seed in range(count):
        left = heirs(place(there, partitions, copies, Random(seed)), dead)
        shares[" / ".join(str(n) for n in sorted(left.values()))] += 1
    return shares


# --- E4: what survives ----------------------------------------------------------------------------------------------

def promised(producer: Any, value: str) -> bool:
    """Send a record; return whether it is acknowledged before the producer gives up."""
    try:
        producer.send(TOPIC, value, partition=0)
    except KafkaError:
        return False
    return True


def one_by_one() -> pd.DataFrame:
    """Kill the three brokers, one every five seconds; return before and after each kill which broker leads, how many of a hundred
    acknowledged records a new reader finds, and whether one more record is acknowledged."""
    rows = []
    with simulated(6, controllers=3) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]}, configs={"min.insync.replicas": "1"})
        producer = cluster.producer(delivery_timeout=6.0, request_timeout=2.0)
        kept = {str(number) for number in range(100) if promised(producer, str(number))}
        for dead in range(4):
            rows.append({"brokers dead": dead, **_survey(cluster, producer, kept)})
            if dead < 3:
                cluster.kill(dead + 1)
                cluster.sleep(5.0)
        return pd.DataFrame(rows).set_index("brokers dead")


def _survey(cluster: Any, producer: Any, kept: set[str]) -> dict[str, Any]:
    leader = cluster.leader(TOPIC)
    found = {record.value for record in read_all(cluster, TOPIC, patience=10.0)} if leader else set()
    return {"leader": leader or "none", "in sync": str(cluster.isr(TOPIC) if leader else []),
            "readable": f"{len(kept & found)}/{len(kept)}", "one more is acknowledged": promised(producer, "one more")}


def left_behind(seconds: float = 20.0) -> dict[str, Any]:
    """Let followers 2 and 3 stand still for `seconds`, then kill the leader: only one of three brokers has failed."""
    with simulated(6, controllers=3) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        writer = Writer(cluster, TOPIC, rate=10)
        cluster.sleep(5)
        for follower in (2, 3):
            cluster.hold_follower(follower)
        cluster.sleep(seconds)
        writer.stop()
        cluster.sleep(1)
        isr, acked = cluster.isr(TOPIC), len(writer.acked)
        cluster.kill(1)
        cluster.heal()
        cluster.sleep(8)
        alone = {"in sync": isr, "promised": acked, "alive": cluster.alive, "leader": cluster.leader(TOPIC)}
        cluster.restart(1)
        cluster.wait(lambda: cluster.leader(TOPIC))
        writer.finish()
        found = {record.offset for record in read_all(cluster, TOPIC)}
        return alone | {"leader later": cluster.leader(TOPIC),
                        "lost": len({ack.offset for ack in writer.acked} - found)}


AWAY, BEHIND = 12.0, 8.0  # seconds that a broker is stopped (above replica.lag.time.max.ms), and that it then copies nothing
TONIGHT = 120.0           # seconds for all three


def rolling(rule: Callable[[list[int], dict[int, list[int]], int], int | None], least: int = 2) -> str:
    """Return how many reports failed, how long the slowest answer took, and how long all took, when each of three brokers is
    restarted as soon as `rule(left, isr, least)` returns it. Three trucks report five times a second, with acks=all."""
    with waiting("three brokers are restarted by your rule"), simulated(6, controllers=3) as cluster:
        lists = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
        cluster.admin().create_topic(TOPIC, assignment=lists, configs={"min.insync.replicas": str(least)})
        cluster.wait(lambda: all(len(isr) == 3 for isr in in_sync(cluster).values()))
        trucks = [Writer(cluster, TOPIC, rate=5, partition=p, name=f"truck {p + 1}", delivery_timeout=6.0) for p in lists]
        cluster.sleep(2)
        left, began = list(cluster.ids), cluster.now()
        while left and cluster.now() - began < TONIGHT:
            broker = rule(list(left), in_sync(cluster), least)
            if broker is None:
                cluster.sleep(1)
            else:
                left.remove(broker)
                _restart(cluster, broker)
        took = cluster.now() - began
        cluster.sleep(BEHIND)
        for truck in trucks:
            truck.finish()
        slowest = max(ack.latency for truck in trucks for ack in truck.acked)
        return (f"{sum(len(truck.failed) for truck in trucks)} reports failed; the slowest answer took {slowest:.1f} s; "
                + (f"brokers {left} still have the old version" if left else f"all three brokers done in {took:.0f} s"))


def in_sync(cluster: Any) -> dict[int, list[int]]:
    return {partition: list(cluster.isr(TOPIC, partition)) for partition in range(3)}


def _restart(cluster: Any, broker: int) -> None:
    cluster.stop(broker)
    cluster.sleep(AWAY)
    host = cluster.world.hosts[broker]
    host.hold_follower(True, 0.0)                               # what it has to copy takes a while
    cluster.restart(broker)

    async def copies() -> None:
        await cluster.world.sleep(BEHIND)
        host.hold_follower(False, 0.0)
    cluster.world.client_env().spawn(copies(), f"broker {broker} copies")


def frozen_quorum(dead: int = 2) -> dict[str, bool]:
    """Return whether a record is acknowledged, and whether a topic can be created, with `dead` of three controllers killed."""
    with simulated(6, controllers=3) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        producer = cluster.producer(delivery_timeout=6.0)
        promised(producer, "before")                            # its number comes from the controllers
        for controller in (101, 102, 103)[:dead]:
            cluster.kill(controller)
        cluster.sleep(10)
        wrote = promised(producer, "after")
        try:
            cluster.admin(timeout=10.0).create_topic("another", 1, 3)
        except KafkaError:
            return {"a record is acknowledged": wrote, "a topic is created": False}
        return {"a record is acknowledged": wrote, "a topic is created": True}


# --- KIP-392 --------------------------------------------------------------------------------------------------------

def next_door(rack: str = "", selector: bool = True) -> dict[int, int]:
    """Return how many Fetches that carried records to a reader each broker answered. Brokers stand in racks a, b, c; 1
    leads."""
    with simulated(6, racks=["a", "b", "c"], config=SELECTOR if selector else {}) as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3]})
        served: Counter[int] = Counter()

        def tap(message: Any) -> None:
            if message.is_response and message.api is FetchRequest and message.dst == "clients":
                served[message.src] += any(p.records for t in message.body.responses for p in t.partitions)

        cluster.world.tap(tap)
        writer, reader = Writer(cluster, TOPIC), Reader(cluster, TOPIC, rack=rack)
        cluster.sleep(10)
        writer.finish()
        reader.stop()
        return {broker: served[broker] for broker in cluster.ids}
