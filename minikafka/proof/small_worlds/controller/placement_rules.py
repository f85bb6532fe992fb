"""Where the replicas of new partitions may be: the brokers of each rack take turns, and so do the racks (KIP-36).

Owns: what must be true of each partition's replicas, and of the partitions of one topic together.
Invariants: I-PLACE-3 replicas of one partition are spread over racks, live brokers first; brokers and racks take turns.
Source: StripedReplicaPlacer; KIP-36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.registrations import BrokerRegistration
from minikafka.proof.small_worlds.checks import that

Brokers = dict[int, BrokerRegistration]


def impossible(image: MetadataImage, factor: int) -> bool:
    """Return whether placement must fail: fewer running brokers than replicas, or all fenced."""
    usable = [one.fenced for one in image.brokers.values() if not one.in_controlled_shutdown]
    return len(usable) < factor or False not in usable


def check_placement(brokers: Iterable[BrokerRegistration], assignment: Sequence[Sequence[int]], factor: int) -> None:
    """Check what the controller has chosen. Raises RuleFallen. Once each live broker has led, Kafka draws the order anew: the
    turns are checked up to there."""
    usable = {one.id: one for one in brokers if not one.in_controlled_shutdown}
    alive = sum(not one.fenced for one in usable.values())
    first = assignment[:alive] if alive > 1 else assignment
    for replicas in assignment:
        good = len(replicas) == len({*replicas}) == factor and {*replicas} <= {*usable}
        that("I-PLACE-1", good, f"{replicas} for {factor} of {usable}")
        that("I-PLACE-2", not usable[replicas[0]].fenced, f"{replicas[0]} of {replicas} is fenced")
    for replicas in first:
        _check_racks(usable, replicas)
    _check_turns(usable, first)


def _check_racks(usable: Brokers, replicas: Sequence[int]) -> None:
    """Check that a rack has two more replicas than another only if that one has no more broker; live brokers come first."""
    count = {one.rack: sum(usable[r].rack == one.rack for r in replicas) for one in usable.values()}
    for one in usable.values():
        if one.id not in replicas:
            that("I-PLACE-3", count[one.rack] + 1 >= max(count.values()), f"{replicas} are not spread over the racks: {count}")
            fenced = [r for r in replicas if usable[r].rack == one.rack and usable[r].fenced]
            that("I-PLACE-3", one.fenced or not fenced, f"{fenced} of {replicas} are fenced, {one.id} is not")


def _check_turns(usable: Brokers, block: Sequence[Sequence[int]]) -> None:
    """Check that racks take turns in leading, and the live brokers of a rack in being its first replica."""
    racks = {one.rack for one in usable.values()}
    if racks == {one.rack for one in usable.values() if not one.fenced}:
        for start in range(len(block) - len(racks) + 1):
            leading = {usable[replicas[0]].rack for replicas in block[start:start + len(racks)]}
            that("I-PLACE-3", leading == racks, f"only racks {leading} lead {block}")
    for rack in racks:
        circle = sorted(one.id for one in usable.values() if one.rack == rack and not one.fenced)
        firsts = [used[0] for replicas in block if (used := [r for r in replicas if r in circle])]
        steps = {(circle.index(after) - circle.index(before)) % len(circle) for before, after in zip(firsts, firsts[1:])}
        that("I-PLACE-3", steps <= {1 % len(circle or [0])}, f"{firsts} of rack {rack} are not in turn: {block}")
