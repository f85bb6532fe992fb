"""A producer from nothing (1.9): the student's program hands the shop's orders to a cluster, and the leader dies meanwhile.

The order of the faults is chosen so that whatever was promised too early is lost for good:

    1. five orders, and all is well; a program that waits for the end of its input prints none of them
    2. the followers stand still, and five more orders come: the leader alone has them, so with acks=all no answer comes yet
    3. the leader dies, the input ends; when one of the followers leads, without the second five, they go on

Owns: these faults, and what a program's lines and its log say of it.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from minikafka.lab.exercise import Wrong
from minikafka.lab.program import QUIET, Program, SideBySide, how_it_ended, said, side_by_side, stored, until
from minikafka.lab.values import some

FIRST, SECOND = [f"order-{n}" for n in range(5)], [f"order-{n}" for n in range(5, 10)]
GIVEN = FIRST + SECOND
REACHED, MOMENT = 10.0, 2.0  # seconds until the leader has an order at the latest; and in which a hasty program shows itself


@dataclass(frozen=True)
class Outside:
    """A program as seen from outside: its lines while all was well (`early`), those until the leader died (`held`), all
    its lines, the log, and how it ended.
    """

    early: tuple[str, ...]
    held: tuple[str, ...]
    printed: tuple[str, ...]
    stored: tuple[str, ...]
    code: int | None
    errors: tuple[str, ...] = ()


def under_a_dead_leader(texts: Sequence[str]) -> list[Outside]:
    """Run these programs side by side in one cluster whose leader dies."""
    with side_by_side(texts, "my_producer.py") as run:
        for program in run.programs:
            program.give(FIRST)
        early = _while_all_is_well(run.programs)
        held = _while_no_answer_can_come(run)
        _the_leader_dies(run)
        until(lambda: all(program.over for program in run.programs), *run.programs)
        ends = [(tuple(program.printed), program.code, tuple(program.errors)) for program in run.programs]
        for program in run.programs:
            program.kill()
        return [Outside(before, hasty, printed, tuple(stored(run.cluster, name)), code, errors)
                for before, hasty, name, (printed, code, errors) in zip(early, held, run.topics, ends)]


def _while_all_is_well(programs: Sequence[Program]) -> list[tuple[str, ...]]:
    for program in programs:
        until(lambda program=program: len(program.printed) >= len(FIRST), program)
    return [tuple(program.printed) for program in programs]


def _while_no_answer_can_come(run: SideBySide) -> list[tuple[str, ...]]:
    for broker in run.cluster.ids:
        if broker != run.leader:
            run.cluster.hold_follower(broker)
    before = run.logs(run.leader)
    for program in run.programs:
        program.give(SECOND)
    began = time.monotonic()
    while time.monotonic() < began + REACHED and any(
            now == size and not program.over for now, size, program in zip(run.logs(run.leader), before, run.programs)):
        time.sleep(0.05)
    time.sleep(MOMENT)
    return [tuple(program.printed) for program in run.programs]


def _the_leader_dies(run: SideBySide) -> None:
    run.cluster.kill(run.leader)
    for program in run.programs:
        program.give_no_more()
    run.another_leads()
    run.cluster.heal()  # not before: what a follower had fetched when it was stopped is copied when it goes on


def verdict(seen: Outside) -> str:
    """Return what the evidence shows of a program. Wrong with the first thing that its customers would mind."""
    said(list(seen.printed), GIVEN)
    if lost := [order for order in seen.printed if order not in seen.stored]:
        raise Wrong(f"{some(lost)} was printed and is not in the log: a customer was told, and nobody has the order. Print it "
                    "only when all replicas in sync have it: which `acks`, and what has come back from `send` by then?")
    if hasty := [order for order in seen.held if order in SECOND]:
        raise Wrong(f"{some(hasty)} was printed while the leader alone had it and no follower could copy it. No answer can have "
                    "come by then. Print an order only after its answer", seen.errors)
    if len(seen.early) < len(FIRST) and (seen.code is None or seen.printed and seen.code == 0):
        raise Wrong(f"five orders came, and {QUIET:g} s later {len(seen.early) or 'none'} was printed. A customer waits for "
                    "each: read one line, send it, print it when its answer is there. Do not wait for the end of the input",
                    seen.errors)
    if (told := how_it_ended(seen.code)) is not None:
        raise Wrong(told, seen.errors)
    if missing := [order for order in GIVEN if order not in seen.stored]:
        raise Wrong(f"{some(missing)} came in and is not in the log, and your program ended as if all were well. What is under "
                    "way when the input ends, and what does your program do with an error?", seen.errors)
    if silent := [order for order in GIVEN if order not in seen.printed]:
        raise Wrong(f"{some(silent)} is in the log and was never printed: that customer still waits", seen.errors)
    again = len(seen.stored) - len({*seen.stored})
    return (f"{len(GIVEN)} orders came, the leader died in between, and each is in the log and was printed after its answer"
            + (f" ({again} stand there twice: lab 10)" if again else ""))
