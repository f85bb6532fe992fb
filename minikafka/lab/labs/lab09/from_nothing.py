"""An administrator's program from nothing (9.9): it waits until a partition has all replicas in sync, while a broker dies.

    1. three brokers are alive, and 3 copies nothing: the ISR is {1, 2}. Who counts living brokers goes on too early
    2. the leader dies: the ISR is one broker. Who waits for a leader, or for one broker more, goes on too early
    3. the dead one is started, and 3 copies again: the ISR becomes {1, 2, 3}, and the program must say so and end

Owns: these faults, and what a program's lines and its end say of it.
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from kafka import KafkaProducer

from minikafka.cluster import Cluster
from minikafka.lab.exercise import Wrong
from minikafka.lab.program import Program, cluster_of_its_own, how_it_ended, no_controller, topic, until
from minikafka.lab.values import shown

TOPIC = "positions"
LINE = re.compile(r"in sync:( \d+)+")
ALL = "in sync: 1 2 3"


@dataclass(frozen=True)
class Watched:
    """A program as seen from outside: its lines; how it had ended when only some replicas were in sync (None: it still ran),
    and how it ended at last."""

    early: int | None
    printed: tuple[str, ...]
    code: int | None
    errors: tuple[str, ...] = ()


def while_brokers_die(texts: Sequence[str]) -> list[Watched]:
    """Run these programs side by side, all with the same topic, in one cluster."""
    with cluster_of_its_own(**{"replica.lag.time.max.ms": 2000}) as cluster, ExitStack() as stack:
        leader = no_controller(cluster, (1, 2))
        topic(cluster, TOPIC, leader)
        _three_falls_out(cluster)
        programs = [stack.enter_context(Program(text, cluster.bootstrap, TOPIC, name="my_admin.py")) for text in texts]
        for program in programs:
            until(lambda program=program: program.printed, program)
        cluster.kill(leader)
        cluster.wait(lambda: cluster.isr(TOPIC) == [3 - leader], timeout=60)
        for program in programs:
            program.be_patient()
            until(lambda program=program: f"in sync: {3 - leader}" in program.printed or _strange(program), program)
        early = [program.code for program in programs]
        cluster.heal()
        cluster.restart(leader)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 3, timeout=60)
        for program in programs:
            program.be_patient()
        until(lambda: all(program.over or _strange(program) for program in programs), *programs)
        return [Watched(before, tuple(program.printed), program.code, tuple(program.errors))
                for before, program in zip(early, programs)]


def _strange(program: Program) -> bool:
    """Return whether a program has printed what is not asked for: no more lines of it are waited for."""
    return any(not LINE.fullmatch(line) for line in program.printed)


def _three_falls_out(cluster: Cluster) -> None:
    cluster.hold_follower(3)
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks=1)
    producer.send(TOPIC, b"truck-1 at km 7", partition=0).get(timeout=60)
    producer.close()
    cluster.wait(lambda: cluster.isr(TOPIC) in ([1, 2], [2, 1]), timeout=60)


def verdict(seen: Watched) -> str:
    """Return what the evidence shows of a program. Wrong with the first thing that an administrator would mind."""
    if seen.early:
        raise Wrong("your program ended with an error when the leader died. If no answer comes, ask again: catch KafkaError",
                    seen.errors)
    if seen.early == 0:
        last = seen.printed[-1] if seen.printed else "nothing"
        raise Wrong(f"your program ended while broker 3 copied nothing, or a broker was dead; its last line was {shown(last)}. "
                    "The administrator restarts the next broker now, and readers and writers stand still. Compare the ISR with "
                    "the replicas", seen.printed[-3:])
    if strange := [line for line in seen.printed if not LINE.fullmatch(line)]:
        raise Wrong(f"your program printed {shown(strange[0])}. A line is wanted such as {shown(ALL)}, and nothing else (print "
                    "to sys.stderr what you want to see yourself)")
    if (told := how_it_ended(seen.code)) is not None:
        raise Wrong(told.replace("When its input is at its end it has to end", "When all replicas are in sync it has to end"),
                    seen.errors or seen.printed[-3:])
    if not seen.printed or seen.printed[-1] != ALL:
        raise Wrong(f"your program ended, and its last line is not {shown(ALL)}", seen.printed[-3:])
    if any(a == b for a, b in zip(seen.printed, seen.printed[1:])):
        raise Wrong("your program printed the same line twice in a row; print one when the ISR has changed", seen.printed[-3:])
    return f"the ISR was {' | '.join(line.removeprefix('in sync: ') for line in seen.printed)}: then it ended, and not before"
