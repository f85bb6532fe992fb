"""Where the replicas of new partitions may be: the brokers of each rack take turns, and so do the racks (KIP-36).

    check_placement(brokers, placed, factor)         raises RuleFallen
    impossible(brokers, factor)                      whether no placement exists at all

Owns: what must be true of each partition's replicas, and of the partitions of one topic together.
Invariants: I-ALONE-5 replicas of one partition are on different brokers, spread over racks, live brokers first; brokers and racks
              take turns in leading.
Source: StripedReplicaPlacer; KIP-36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minikafka.broker.metadata.registrations import BrokerRegistration
from minikafka.proof.small_worlds.checks import same, that

PLACED = "I-ALONE-5"


@dataclass
class Placed:
    """The replicas of each new partition, and how often racks were shuffled on the way."""

    replicas: list[list[int]]
    shuffles: int


def impossible(brokers: Iterable[BrokerRegistration], factor: int) -> bool:
    """Return whether so many replicas have no place: too few brokers that do not stop, or all of them are fenced."""
    usable = [one.fenced for one in brokers if not one.in_controlled_shutdown]
    return len(usable) < factor or False not in usable


def check_placement(brokers: Iterable[BrokerRegistration], placed: Placed, factor: int) -> None:
    """Check what the controller has chosen. Raises RuleFallen.

    Once each live broker has led, the order is drawn anew (as in Kafka). From then on a rack may lose its turn, unless every
    rack has a turn in every partition.
    """
    usable, assignment = {one.id: one for one in brokers if not one.in_controlled_shutdown}, placed.replicas
    for replicas in assignment:
        same(PLACED, "the number of replicas", (len(replicas), len({*replicas})), (factor, factor))
        that(PLACED, {*replicas} <= {*usable}, f"{replicas} are not all usable")
        that(PLACED, not usable[replicas[0]].fenced, f"the first of {replicas} is fenced")
    alive = sum(not one.fenced for one in usable.values())
    size = alive if alive > 1 else len(assignment)  # one live broker leads all
    same(PLACED, f"how often racks were shuffled for {assignment}", placed.shuffles, (len(assignment) - 1) // size)
    regular = alive == len(usable) and factor >= len({one.rack for one in usable.values()})
    for start in range(0, len(assignment) if regular else 1, size or 1):
        block = assignment[start:start + size]
        for replicas in block:
            _check_racks(usable, replicas)
        for fenced in (False, True):
            _check_turns(usable, block, fenced, drawn_anew=start > 0)
        _check_leaders(usable, block)


def _check_racks(usable: dict[int, BrokerRegistration], replicas: Sequence[int]) -> None:
    """Check that a rack has two more replicas than another only if that one has no more broker; live brokers come first."""
    free: dict[str | None, list[BrokerRegistration]] = {one.rack: [] for one in usable.values()}
    count = dict.fromkeys(free, 0)
    for one in usable.values():
        if one.id in replicas:
            count[one.rack] += 1
        else:
            free[one.rack].append(one)
    for rack, left in free.items():
        that(PLACED, not left or count[rack] + 1 >= max(count.values()), f"{replicas} are not spread over the racks: {count}")
        used_fenced = [r for r in replicas if usable[r].rack == rack and usable[r].fenced]
        that(PLACED, not used_fenced or all(one.fenced for one in left), f"{used_fenced} of {replicas} are fenced")


def _check_leaders(usable: dict[int, BrokerRegistration], block: Sequence[Sequence[int]]) -> None:
    """Check that racks take turns in leading: if all have a live broker, so many partitions have leaders in as many racks."""
    racks = {one.rack for one in usable.values()}
    if racks == {one.rack for one in usable.values() if not one.fenced}:
        for start in range(len(block) - len(racks) + 1):
            leading = {usable[replicas[0]].rack for replicas in block[start:start + len(racks)]}
            that(PLACED, leading == racks, f"only {leading} lead {block[start:start + len(racks)]}")


def _check_turns(usable: dict[int, BrokerRegistration], block: Sequence[Sequence[int]], fenced: bool, drawn_anew: bool) -> None:
    """Check that the brokers of a rack follow each other in a circle, within a partition, and from one's first to the next's.

    Before the order is drawn anew it is that of their ids.
    """
    firsts: dict[str | None, list[int]] = defaultdict(list)
    circle = defaultdict(list)
    for one in sorted(usable.values(), key=lambda one: one.id):
        if one.fenced == fenced:
            circle[one.rack].append(one.id)
    for replicas in block:
        for rack, members in circle.items():
            used = [r for r in replicas if r in members]
            firsts[rack] += used[:1]
            if not drawn_anew:
                same(PLACED, f"those of rack {rack} in {replicas}", used[1:], [_next(members, r) for r in used[:-1]])
    for rack, members in circle.items():
        for start in range(len(firsts[rack])):
            turn = firsts[rack][start:start + len(members)]
            that(PLACED, len({*turn}) == len(turn), f"{turn} of rack {rack} begin, not each of {members} in turn: {block}")
        if not drawn_anew:
            same(PLACED, f"the first of rack {rack}, of {block}", firsts[rack][1:],
                 [_next(members, r) for r in firsts[rack][:-1]])


def _next(circle: list[int], broker: int) -> int:
    return circle[(circle.index(broker) + 1) % len(circle)]
