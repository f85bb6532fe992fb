"""A member from nothing (5.11): the student's program charges rides, is killed in the middle of a poll's rides, and starts again.

    1. twenty rides lie there; the program charges them, which takes a twentieth of a second each
    2. forty more come in one batch; the program is killed when it has charged a few of them
    3. its member is removed from the group, so that nobody waits for a session; the ride `end` comes, and it is started again

A commit before the work loses most of the forty, however quick the machine is. Rides that come twice are allowed; but at the end
the group must have committed them all.

Owns: this story, and what the lines of both runs say of it.
"""
from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from minikafka.lab.exercise import Wrong
from minikafka.lab.picture.sentences.phrases import counted, verb
from minikafka.lab.program import LOOK, QUIET, Program, cluster_of_its_own, how_it_ended, said, topic, until
from minikafka.lab.values import some

FIRST, SECOND, END = [f"ride-{n}" for n in range(20)], [f"ride-{n}" for n in range(20, 60)], "end"
RIDES = FIRST + SECOND
SOME = len(FIRST) + 3  # lines after which the program is killed
NAME = "my_billing.py"


@dataclass(frozen=True)
class TwoRuns:
    """Two runs of a program as seen from outside: their lines, whether the first had ended by itself, how the second
    ended, and what the group has committed then."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    ended_early: bool
    code: int | None
    committed: int | None
    errors: tuple[str, ...] = ()


def killed_and_started_again(texts: Sequence[str]) -> list[TwoRuns]:
    """Run these programs side by side, each with a topic and a group of its own, in one cluster."""
    with cluster_of_its_own(brokers=1) as cluster, ExitStack() as stack:
        admin = stack.enter_context(closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)))
        names = [f"rides-{n}" if n else "rides" for n in range(len(texts))]
        for name in names:
            topic(cluster, name, cluster.ids[0])
        _write(cluster.bootstrap, names, FIRST)
        firsts = [stack.enter_context(_program(text, cluster, name)) for text, name in zip(texts, names)]
        for program in firsts:
            until(lambda program=program: len(program.printed) >= len(FIRST), program)
        _write(cluster.bootstrap, names, SECOND)
        early = _killed_in_the_middle(firsts)
        for name in names:
            _remove_members(admin, name)
        _write(cluster.bootstrap, names, [END])
        seconds = [stack.enter_context(_program(text, cluster, name)) for text, name in zip(texts, names)]
        for program in seconds:
            until(lambda program=program: program.code is not None, program)
        ends = [(program.code, tuple(program.printed), tuple(program.errors)) for program in seconds]
        for program in seconds:
            program.kill()
        return [TwoRuns(tuple(one.printed), printed, by_itself, code, _committed(cluster.bootstrap, name),
                     errors or tuple(one.errors))
                for one, by_itself, name, (code, printed, errors) in zip(firsts, early, names, ends)]


def _program(text: str, cluster: Any, name: str) -> Program:
    return Program(text, cluster.bootstrap, name, f"group-{name}", name=NAME)


def _write(bootstrap: str, names: Sequence[str], values: Sequence[str]) -> None:
    """Write the values to each topic, as one batch: whoever polls sees all of them or none."""
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all", linger_ms=500) as producer:
        for name in names:
            for value in values:
                producer.send(name, value.encode(), partition=0)


def _killed_in_the_middle(programs: Sequence[Program]) -> list[bool]:
    """Kill each program when it has printed SOME lines, or shows no sign of life; return whether it had ended by itself."""
    for program in programs:
        program.be_patient()
    early, left = dict.fromkeys(programs, False), list(programs)
    while left:
        for program in [each for each in left if len(each.printed) >= SOME or each.over]:
            early[program] = program.code is not None
            program.kill()
            left.remove(program)
        time.sleep(LOOK)
    return [early[program] for program in programs]


def _remove_members(admin: KafkaAdminClient, name: str) -> None:
    """Let the group know that its dead member is gone, as a supervisor may."""
    from kafka.admin import MemberToRemove
    try:
        members = admin.describe_groups([f"group-{name}"])[f"group-{name}"]["members"]
        if members:
            admin.remove_group_members(f"group-{name}", [MemberToRemove(member_id=m["member_id"]) for m in members])
    except KafkaError:  # a program that has joined no group
        return


def _committed(bootstrap: str, name: str) -> int | None:
    with closing(KafkaConsumer(bootstrap_servers=bootstrap, group_id=f"group-{name}", enable_auto_commit=False)) as reader:
        found: int | None = reader.committed(TopicPartition(name, 0))
        return found


def verdict(seen: TwoRuns) -> str:
    """Return what the evidence shows of a program. Wrong with the first thing that the taxi office would mind."""
    said([*seen.first, *seen.second], RIDES)
    if seen.ended_early:
        raise Wrong(f"your program ended by itself after {counted(len(seen.first), 'ride')}; it has to go on until the "
                    "ride `end` comes", seen.errors)
    if lost := [ride for ride in RIDES if ride not in {*seen.first, *seen.second}]:
        if not {*FIRST} & {*seen.first}:
            raise Wrong(f"{len(FIRST)} rides lay there, and none of them was printed in {QUIET:g} s. Where does a new group "
                        "begin?", seen.errors)
        raise Wrong(f"{some(lost)} came in and was printed by neither run. What was committed when the first one was "
                    "killed?", seen.errors)
    if seen.code is None:
        raise Wrong(f"your program was still running {QUIET:g} s after its last line, and the ride `end` had come", seen.errors)
    if (told := how_it_ended(seen.code)) is not None:
        raise Wrong(told, seen.errors)
    if (seen.committed or 0) < len(RIDES):
        raise Wrong(f"the group has committed {seen.committed or 'nothing'} of {len(RIDES)} at the end: a third start charges "
                    "the rest again", seen.errors)
    twice = len({*seen.first} & {*seen.second})
    return f"{len(RIDES)} rides, killed after {len(seen.first)} and started again: none is lost, {twice} " \
           f"{verb(twice, 'was', 'were')} charged twice"
