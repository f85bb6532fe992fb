"""Record the run that the README's picture is drawn from: forty simulated seconds with three faults.

    python -m minikafka.lab.picture.showcase labs/pictures/readme.mk
    python -m minikafka picture labs/pictures/readme.mk --at 36.2 --tp flights-2 -o labs/pictures/readme.svg

What happens: broker 2 leads flights-2. Its followers stop copying, and it dies with records that nobody else has,
acknowledged ones among them (acks=1). Broker 1 takes over; broker 2 comes back and cuts them off. Later broker 3 stops
copying, and the high watermark waits for it.

Owns: the script; equal code, equal file.
"""
from __future__ import annotations

import sys
from typing import Any

from minikafka import Cluster
from minikafka.lab.labs.steady import Writer
from minikafka.lab.picture.facts.run import RecordedRun

TOPIC, PARTITION = "flights", 2


def record() -> RecordedRun:
    """Play it and return the run."""
    with Cluster(engine="sim", seed=31, preset="class") as cluster:
        cluster.admin().create_topic(TOPIC, assignment={0: [1, 2, 3], 1: [3, 1, 2], 2: [2, 1, 3]},
                                     configs={"min.insync.replicas": "2"})
        cluster.wait(lambda: all(len(cluster.isr(TOPIC, number)) == 3 for number in range(3)))
        _play(cluster)
        return RecordedRun.of(cluster)


def _play(cluster: Any) -> None:
    trips = Writer(cluster, TOPIC, rate=0.6, partition=PARTITION, name="trips", acks=-1)
    meter = Writer(cluster, TOPIC, rate=0.5, partition=PARTITION, name="meter", acks=1)
    cluster.world.client_env().spawn(_read(cluster), "billing")
    cluster.sleep(11.6)
    for follower in (1, 3):
        cluster.hold_follower(follower)
    cluster.sleep(4)
    cluster.kill(2)
    cluster.heal()
    cluster.wait(lambda: cluster.leader(TOPIC, PARTITION) == 1)
    cluster.sleep(2)
    cluster.restart(2)
    cluster.sleep(8)
    cluster.hold_follower(3)
    cluster.sleep(13)
    trips.stop()
    meter.stop()


async def _read(cluster: Any) -> None:
    """Read as a group of one that commits every five seconds."""
    group = cluster.watch(cluster.consumer(TOPIC, group="billing", auto_commit=True, auto_commit_interval=5.0,
                                           name="billing-1"), "billing-1")
    while True:
        await group.unblocked.poll(0.5)


if __name__ == "__main__":
    record().save(sys.argv[1])
