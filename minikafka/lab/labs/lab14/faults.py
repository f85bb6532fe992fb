"""Carrying out a schedule: the same for simulated and for real brokers, for the model of Spark and for Spark.

Owns: nothing.
Invariants: a fault that an engine cannot do, or that did not happen in time, is named in what is returned.
"""
from __future__ import annotations

from typing import Any

from minikafka.cluster.errors import NotSupported
from minikafka.lab.labs.lab14.diary import Diary
from minikafka.lab.labs.lab14.schedule import Fault, Schedule

WAIT = 120.0                                    # seconds in which Spark must have died, after it was told to
TOPIC = "trips"


class Spark:
    """The part of Spark, or of its model, that a schedule needs."""

    deaths = 0
    dying = 0.0                                 # seconds from its next death to its next start; 0: it lives on
    inside = False                              # its next death comes before the end of a write, not after it
    diary: Diary

    def look(self) -> None:
        """Notice a death, and begin again if it was asked for; a model does this by itself."""

    def kill_after_write(self, back_in: float) -> None:
        """Die right after the next write to the sink, and begin again `back_in` seconds later."""
        self.dying = back_in


class TripProgram:
    """The part of the program that sends the trips, that a schedule needs."""

    def kill(self) -> None:
        """Die, and forget what is not noted. Raises NotSupported where nobody can kill it."""
        raise NotSupported("this program cannot be killed")

    def begin(self) -> None:
        """Send, as a new producer, from the first trip on that is not noted as acknowledged."""


def carry_out(cluster: Any, spark: Spark, writer: TripProgram, schedule: Schedule, topic: str = TOPIC) -> tuple[str, ...]:
    """Let every fault happen at its second, and wait for the schedule's end. Return what did not happen."""
    began, missed = cluster.now(), list[str]()
    spark.diary.say("starts")
    for fault in schedule.faults:
        cluster.sleep(max(0.0, began + fault.at - cluster.now()))
        spark.diary.say("begins", what=fault.what)
        try:
            missed += strike(cluster, spark, writer, fault, topic)
        except NotSupported:
            missed.append(f"{fault} (not on this engine)")
        spark.diary.say("ends")
    cluster.sleep(max(0.0, began + schedule.seconds - cluster.now()))
    return tuple(missed)


def strike(cluster: Any, spark: Spark, writer: TripProgram, fault: Fault, topic: str) -> list[str]:
    """Carry out one fault, from its beginning to its end; return it as text if it found nothing to break, else nothing."""
    if fault.what.startswith("kill Spark"):
        return kill_spark(cluster, spark, fault)
    if fault.what == "kill the producer":
        writer.kill()
        cluster.sleep(fault.lasts)
        writer.begin()
        return []
    leader = cluster.leader(topic, fault.part)
    others = [broker for broker in cluster.ids if broker != leader]
    if leader is None:
        return [f"{fault} (nobody led)"]
    if fault.what in ("kill the leader", "kill a follower"):
        victim = leader if fault.what == "kill the leader" else others[0]
        cluster.kill(victim)
        cluster.sleep(fault.lasts)
        cluster.restart(victim)
        return []
    if fault.what == "leave alone and then burn the leader":
        return leave_alone(cluster, leader, fault.part, fault.lasts, topic)
    if fault.what == "hold the followers":
        for other in others:
            cluster.hold_follower(other)
    elif fault.what == "cut off the leader":    # from the brokers, not from the clients: it does not know
        for other in others:
            cluster.cut(leader, other)
    elif fault.what == "slow a follower":
        cluster.slow_follower(others[0], rate=0.2)
    else:
        cluster.cut(leader, "clients", one_way=True)
    cluster.sleep(fault.lasts)
    cluster.heal()
    return []


def kill_spark(cluster: Any, spark: Spark, fault: Fault) -> list[str]:
    """Let Spark die at its next write, and wait for it; return the fault as text if nothing is written any more."""
    deaths, spark.inside = spark.deaths, fault.what == "kill Spark inside a write"
    spark.kill_after_write(fault.lasts)
    until = cluster.now() + WAIT
    while spark.deaths == deaths and cluster.now() < until:
        spark.look()
        cluster.sleep(0.1)
    if spark.deaths > deaths:
        return []
    spark.dying = 0.0
    return [str(fault)]


def leave_alone(cluster: Any, leader: int, part: int, seconds: float, topic: str) -> list[str]:
    """Hold the followers back until a leader is alone in the ISR; some seconds later it burns, its disk too, and starts again,
    empty. Return what did not happen."""
    for other in cluster.ids:
        if other != leader:
            cluster.hold_follower(other)
    until = cluster.now() + WAIT
    while cluster.isr(topic, part) != [leader] and cluster.now() < until:
        cluster.sleep(0.1)
    alone = cluster.isr(topic, part) == [leader]
    cluster.sleep(seconds)
    cluster.kill(leader)
    cluster.wipe(leader)
    cluster.heal()
    cluster.restart(leader)
    return [] if alone else [f"leader {leader} was not alone in the ISR"]
