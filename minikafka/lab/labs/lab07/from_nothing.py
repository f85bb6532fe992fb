"""A producer from nothing (7.9): the student's settings meet two faults, and nothing may be lost or be there twice.

    1. five orders, and all is well
    2. the leader is cut off from the other brokers, not from its clients, and five orders come: with acks=1 it confirms them.
       Another broker leads, the cut heals, the old leader's own records fall off
    3. the new leader's answers no longer reach its clients, and five orders come: they are stored, and no client is told. The
       leader dies; a client that sends them again without idempotence has them there twice

Owns: these faults, and what a program's lines and its log say of it.
"""
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minikafka.lab.exercise import Wrong
from minikafka.lab.program import QUIET, SideBySide, how_it_ended, said, side_by_side, stored, until
from minikafka.lab.values import some

FIRST, SECOND, THIRD = ([f"order-{n}" for n in range(first, first + 5)] for first in (0, 5, 10))
GIVEN = [*FIRST, *SECOND, *THIRD]
REACHED, MOMENT = 10.0, 1.0  # seconds until the orders have arrived, at the latest; and in which a sixth would


@dataclass(frozen=True)
class Survived:
    """A program after both faults: its lines while all was well, all its lines, the log, how it ended."""

    early: tuple[str, ...]
    printed: tuple[str, ...]
    stored: tuple[str, ...]
    code: int | None
    errors: tuple[str, ...] = ()


def two_faults(texts: Sequence[str]) -> list[Survived]:
    """Run these programs side by side in one cluster, through both faults."""
    with side_by_side(texts, "my_producer.py") as run:
        _give(run, FIRST)
        _until_printed(run, FIRST)
        early = [tuple(program.printed) for program in run.programs]
        run = _the_leader_is_cut_off(run)
        _the_answers_are_lost(run)
        until(lambda: all(program.over for program in run.programs), *run.programs)
        ends = [(tuple(program.printed), program.code, tuple(program.errors)) for program in run.programs]
        for program in run.programs:
            program.kill()
        return [Survived(before, printed, tuple(stored(run.cluster, name)), code, errors)
                for before, name, (printed, code, errors) in zip(early, run.topics, ends)]


def _the_leader_is_cut_off(run: SideBySide) -> SideBySide:
    """Return the run with its new leader, when all replicas are in sync again."""
    cluster, others = run.cluster, [broker for broker in run.cluster.ids if broker != run.leader]
    for broker in others:
        cluster.cut(run.leader, broker)
    before = run.logs(run.leader)
    _give(run, SECOND)
    _until_they_arrive(run, run.leader, before)
    run.another_leads()
    cluster.heal()
    for name in run.topics:
        cluster.wait(lambda name=name: len(cluster.isr(name)) == len(cluster.ids), timeout=60)
    _until_printed(run, FIRST + SECOND)
    return replace(run, leader=cluster.leader(run.topics[0]))


def _the_answers_are_lost(run: SideBySide) -> None:
    cluster = run.cluster
    followers = [broker for broker in cluster.ids if broker != run.leader]
    before = [run.logs(broker) for broker in followers]
    cluster.cut(run.leader, "clients", one_way=True)
    _give(run, THIRD)
    for broker, sizes in zip(followers, before):
        _until_they_arrive(run, broker, sizes)
    cluster.kill(run.leader)
    for program in run.programs:
        program.give_no_more()
    cluster.heal()
    run.another_leads()


def _give(run: SideBySide, orders: Sequence[str]) -> None:
    for program in run.programs:
        program.give(orders)


def _until_printed(run: SideBySide, orders: Sequence[str]) -> None:
    for program in run.programs:
        until(lambda program=program: {*orders} <= {*program.printed}, program)


def _until_they_arrive(run: SideBySide, broker: int, before: Sequence[int]) -> None:
    """Wait until each topic's log has grown on this broker."""
    began = time.monotonic()
    while time.monotonic() < began + REACHED and any(
            now == size and not program.over for now, size, program in zip(run.logs(broker), before, run.programs)):
        time.sleep(0.05)
    time.sleep(MOMENT)


def verdict(seen: Survived) -> str:
    """Return what has survived. Wrong with the first thing that a customer would mind, a loss before a second copy. What the
    client has logged of the faults says nothing of these two, and stays away."""
    said(list(seen.printed), GIVEN)
    if lost := [order for order in seen.printed if order not in seen.stored]:
        if FIRST[0] in lost:
            raise Wrong(f"printed, and not in the log: {some(lost)}. No fault had happened yet when {FIRST[0]} came. An order "
                        "may be printed only when its answer has come, without an error")
        raise Wrong(f"printed, and not in the log: {some(lost)}. The leader was cut off from its followers, and confirmed "
                    "what it had alone. Which setting makes it wait for them?")
    if len(seen.early) < len(FIRST) and (seen.code is None or seen.printed and seen.code == 0):
        raise Wrong(f"five orders came, and {QUIET:g} s later {len(seen.early) or 'none'} was printed. A customer waits for "
                    "each: its answer has to be looked at before the next order comes", seen.errors)
    if (told := how_it_ended(seen.code)) is not None:
        raise Wrong(told, seen.errors)
    if missing := [order for order in GIVEN if order not in seen.stored]:
        raise Wrong(f"neither printed nor in the log: {some(missing)}. A producer gives up after a "
                    "time or a number of tries; its callback gets the error, and your program has to save the order", seen.errors)
    if twice := [order for order, copies in Counter(seen.stored).items() if copies > 1]:
        raise Wrong(f"twice in the log: {some(twice)}. What was stored got no answer, and the client sent it again. "
                    "Which setting lets a broker know a record that it has already?")
    if silent := [order for order in GIVEN if order not in seen.printed]:
        raise Wrong(f"in the log, and never printed: {some(silent)}. Such a customer still waits", seen.errors)
    return f"{len(GIVEN)} orders, a leader cut off, answers lost, a leader dead: each order is in the log once, and was printed"
