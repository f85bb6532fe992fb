"""The rules that a student's function can be in brokers: for each exercise the place, the adaptor and the adversary's nights.

    rule("6.2").nights        night A, B, C

Not here: what the cleaner keeps; with tombstones and the active segment its exercise would take ten minutes, which lab 2 has not.

Owns: the table. A row is tried by tests/lab/inside: each wrong answer of solutions/wrong falls, each right one withstands.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from minikafka.broker.controller import leader_election
from minikafka.broker.groups.api import offsets
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.replication import Replication
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell import replica_fetcher, replica_manager
from minikafka.client.consumer import assignors
from minikafka.lab.inside import (
    commit,
    cutting,
    election,
    high_watermark,
    in_sync,
    last_stable,
    retention,
    sequences,
    share,
    vote,
    zombie,
)
from minikafka.lab.inside.night import Plot
from minikafka.lab.inside.student import Student
from minikafka.log import log
from minikafka.log.producers import ProducerStates
from minikafka.sim.world.replaced import replaced


@dataclass(frozen=True)
class Rule:
    """A row: `owner.name` is replaced by what `in_place` makes of the student's function."""

    exercise: str
    owner: Any
    name: str
    in_place: Callable[[Student], Callable[..., Any]]
    nights: tuple[Plot, ...]
    also: tuple[tuple[Any, str, Callable[[Student], Callable[..., Any]]], ...] = ()     # other places of the same rule
    asserts: tuple[str, ...] = ()   # of the same owner: they would end a broker before a client sees what the rule does


RULES = (
    Rule("2.2", log, "expired_segments", retention.in_place, retention.NIGHTS),
    Rule("4.6", assignors, "ASSIGNORS", share.in_place, share.NIGHTS),
    Rule("5.7", offsets, "_commit", zombie.in_place, zombie.NIGHTS),
    Rule("6.2", Replica, "_advance", high_watermark.in_place, high_watermark.NIGHTS),
    Rule("8.6", replica_manager, "Replica", in_sync.in_place, in_sync.NIGHTS),
    Rule("8.10", replica_fetcher, "ReplicaFetcher", cutting.in_place, cutting.NIGHTS),
    Rule("9.3", leader_election, "_choose", election.in_place, election.NIGHTS,
         asserts=("_check_election", "_check_elr")),
    Rule("9.6", Elections, "on_vote", vote.in_place, vote.NIGHTS),
    Rule("9.11", Replication, "advance_as_leader", commit.in_place, commit.NIGHTS,
         also=((Elections, "_majority", commit.votes),)),
    Rule("10.3", log, "ProducerStates", sequences.in_place, sequences.NIGHTS),
    Rule("10.7", ProducerStates, "last_stable_offset", last_stable.in_place, last_stable.NIGHTS),
)


@contextmanager
def in_brokers(row: Rule, student: Student) -> Iterator[None]:
    """Let brokers run by the student's function for a while."""
    with ExitStack() as until_the_end:
        for owner, name, in_place in ((row.owner, row.name, row.in_place), *row.also):
            until_the_end.enter_context(replaced(owner, name, in_place(student)))
        for name in row.asserts:
            until_the_end.enter_context(replaced(row.owner, name, lambda *_: None))
        yield


def rule(exercise: str) -> Rule | None:
    """Return the row of an exercise; None if its function has no place in a broker."""
    return next((row for row in RULES if row.exercise == exercise), None)
