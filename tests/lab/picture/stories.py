"""Runs to be looked at: simulated clusters to which everything happens that a lab does to them. Equal seed, equal run."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any

from minikafka.cluster import Cluster
from minikafka.lab.picture.facts.run import RecordedRun

Look = Callable[[Any, RecordedRun], None]
TP = "flights-0"


@contextmanager
def cluster(seed: int, config: dict[str, Any] | None = None) -> Iterator[tuple[Any, RecordedRun]]:
    """Three brokers, a topic of two partitions, and the run that follows them."""
    with Cluster(engine="sim", seed=seed, preset="class", config=config) as c:
        c.admin().create_topic("flights", 2, 3)
        yield c, RecordedRun.of(c)


def send(c: Any, producer: Any, number: int, partition: int = 0) -> None:
    """Hand over records, without waiting for answers."""
    for n in range(number):
        producer.post("flights", f"{c.now():.3f}-{n}", partition=partition)


def trouble(seed: int, look: Look = lambda c, run: None) -> RecordedRun:
    """A minute of kills, cuts, holds, pauses and rebalances, drawn from the seed; `look` is called all along."""
    with cluster(seed, {"min.insync.replicas": "2"}) as (c, run):
        chance = Random(seed)
        producer = c.watch(c.producer(), "pilot")
        readers = [c.watch(c.consumer("flights", group="tower"), f"tower-{n}") for n in range(2)]
        faults = [lambda b: c.kill(b), lambda b: c.pause(b), lambda b: c.hold_follower(b),
                  lambda b: c.cut(b, b % 3 + 1, one_way=True), lambda b: c.cut(b, "clients"),
                  lambda b: c.slow_follower(b, 1)]
        for _ in range(5):
            broker, fault = chance.choice(c.ids), chance.choice(faults)
            if broker in c.alive:
                fault(broker)
            for _ in range(20):
                send(c, producer, chance.randrange(4), chance.randrange(2))
                c.sleep(0.2)
                readers[0].poll(0.01)
                look(c, run)
            if chance.random() < 0.6:
                c.mend()
                readers[chance.randrange(2)].poll(0.5)
        c.mend()
        c.sleep(3.0)
        look(c, run)
        run.refresh()
        return run


def unclean(look: Look = lambda c, run: None) -> RecordedRun:
    """Lab 8's disaster: 30 acknowledged records on the leader alone, which dies; another is elected all the same."""
    with cluster(8, {"unclean.leader.election.enable": "true", "min.insync.replicas": "1",
                     "replica.lag.time.max.ms": "2000"}) as (c, run):
        producer = c.watch(c.producer(), "pilot")
        send(c, producer, 70)
        c.sleep(1.0)
        old = c.leader("flights", 0)
        others = [b for b in c.ids if b != old]
        for b in others:
            c.hold_follower(b)
        send(c, producer, 1)
        c.wait(lambda: c.isr("flights", 0) == [old], timeout=60)
        send(c, producer, 29)
        c.sleep(1.0)
        look(c, run)
        c.kill(old)
        c.wait(lambda: c.leader("flights", 0) not in (old, None), timeout=60)
        c.heal()
        send(c, producer, 20)
        c.sleep(2.0)
        look(c, run)
        c.restart(old)
        c.sleep(3.0)
        look(c, run)
        run.refresh()
        return run


@lru_cache(maxsize=8)
def recorded(name: str, seed: int = 0) -> RecordedRun:
    """The same run for every test that only looks."""
    return unclean() if name == "unclean" else trouble(seed)
