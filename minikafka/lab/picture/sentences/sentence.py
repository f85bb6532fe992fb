"""The one sentence on the picture: what the cluster waits for or lacks now, with the numbers.

Rules in order of importance; the first that has something to say is heard. Each looks at the scene alone, at the chosen
partition before the others, and says who, how long of how long, and what it means for readers and writers.

Owns: the order of the rules; those about groups and about calm. The others stand in say_cluster.py and say_replicas.py.
Invariants
  every number in a sentence was told by the trace, or follows from what was told by subtraction
  I-SENTENCE-2  what the trace does not tell is not claimed: a rule that lacks a fact is silent
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from minikafka.lab.picture.facts.clients import BROKERS_ASSIGN, ConsumerFacts
from minikafka.lab.picture.frame import Level, Sentence
from minikafka.lab.picture.scene import PictureScene
from minikafka.lab.picture.sentences.phrases import counted, limit, listed, offsets, seconds, verb
from minikafka.lab.picture.sentences.say_cluster import leader_out, no_controller, no_leader, no_quorum, suspected
from minikafka.lab.picture.sentences.say_replicas import (
    below_minimum,
    catching_up,
    clients_cut,
    lost_records,
    replica_out,
    slow_follower,
    two_leaders,
)

Rule = Callable[[PictureScene], Sentence | None]
STANDS = 3.0    # seconds after which a high watermark below the log's end is no longer "on its way"


def sentence(scene: PictureScene) -> Sentence:
    """Return the sentence of the first rule that has something to say."""
    return next(said for rule in RULES if (said := rule(scene)) is not None)


# --- groups ---------------------------------------------------------------------------------------------------------


def rebalancing(scene: PictureScene) -> Sentence | None:
    for name, group in sorted(scene.state.groups.items()):
        if group.rebalancing is not None and group.state in BROKERS_ASSIGN:
            return Sentence(Level.WAIT, f"Group {name} moves partitions for {seconds(scene.t - group.rebalancing)}: what a "
                            "member must give up nobody else gets before it says that it has; all others are read on.")
        if group.rebalancing is not None:
            return Sentence(Level.WAIT, f"Group {name} is rebalancing for {seconds(scene.t - group.rebalancing)}: "
                            f"{counted(len(group.members), 'member')}, and no assignment until all have joined again.")
    return None


def unread(scene: PictureScene) -> Sentence | None:
    """Say that a partition's reader is dead or stands still, or that no member of a group has it; None if that is not so."""
    for name, group in sorted(scene.state.groups.items()):
        called = scene.called(group)
        for member, tps in sorted(group.assignment.items()):
            reader = scene.state.consumers.get(called[member])
            if tps and reader is not None and (reader.is_dead or reader.process == "paused"):
                return Sentence(Level.WAIT, f"Nobody reads {_some(tps)}: consumer {called[member]} of group {name} "
                                f"{_gone(scene, reader, len(group.members) - 1)}")
        if group.state == "Stable" and (free := group.unassigned()):
            return Sentence(Level.WAIT, f"Nobody reads {_some(free)}: no member of group {name} has "
                            f"{verb(len(free), 'it', 'them')}.")
    return None


def _some(tps: Sequence[str]) -> str:
    """Return the first partitions by name, and the number of the others."""
    return listed(tps if len(tps) <= 3 else [*tps[:2], f"{len(tps) - 2} more partitions"])


def _gone(scene: PictureScene, reader: ConsumerFacts, others: int) -> str:
    """Return what a reader's process does, and when its group notices."""
    waited, session = scene.t - reader.since, reader.session
    how = (f"has been paused for {seconds(waited)}" if reader.process == "paused" else
           f"{'was ' if reader.process == 'killed' else ''}{reader.process} {seconds(waited)} ago")
    if session is None:
        return f"{how}."
    then = f"then {verb(others, 'the other member gets', 'others get')} what it read" if others else "then the group is empty"
    if waited >= session:
        return f"{how}. Its session of {limit(session)} is over; {then}."
    return f"{how}. Its session of {limit(session)} ends in at most {seconds(session - waited)}; {then}."


def abandoned(scene: PictureScene) -> Sentence | None:
    """Say that a group without members leaves records unread; None if that is not so."""
    for name, group in sorted(scene.state.groups.items()):
        if group.state != "Empty":
            continue
        unread = sum(mark - at for tp, at in group.committed.items() if (p := scene.state.partitions.get(tp)) is not None
                     and (mark := p.high_watermark) is not None and mark > at)
        if unread:
            return Sentence(Level.WAIT, f"Group {name} has no members: {counted(unread, 'readable record')} "
                            f"{verb(unread, 'waits', 'wait')} behind what it committed.")
    return None


# --- nothing --------------------------------------------------------------------------------------------------------


def nothing_known(scene: PictureScene) -> Sentence | None:
    p = scene.chosen
    if p is None:
        return Sentence(Level.UNKNOWN, f"{counted(len(scene.state.brokers), 'broker')}, no partition yet.")
    if p.leader is None:
        return Sentence(Level.UNKNOWN, f"Nobody has told who leads {p.name}.")
    return None


def open_transaction(scene: PictureScene) -> Sentence | None:
    """Say that readers of committed records stop where the oldest open transaction begins; None if that is not so."""
    p = scene.chosen
    stable = p.reference.last_stable if p is not None and p.reference is not None else None
    if p is None or stable is None or p.high_watermark is None or stable >= p.high_watermark:
        return None
    holder = next((each for each in p.transactions if each.marker is None and each.start == stable), None)
    if holder is None:
        return None
    return Sentence(Level.WAIT, f"An open transaction of producer {holder.producer} holds readers of committed records of "
                    f"{p.name} at {stable}; the high watermark is {p.high_watermark}.")


def calm(scene: PictureScene) -> Sentence:
    p = scene.chosen
    assert p is not None, "nothing_known comes before"
    sync = ""
    if p.isr is not None:
        sync = f": {len(p.isr)}{f' of {len(p.assigned)}' if p.assigned is not None else ''} replicas are in sync"
    mark, end = p.high_watermark, p.log_end
    if mark is None:
        return Sentence(Level.GOOD if sync else Level.UNKNOWN, f"{p.name} works{sync}.")
    if p.stalled is not None and scene.t - p.stalled > STANDS:
        return Sentence(Level.WAIT, f"The high watermark of {p.name} has stood at {mark} for {seconds(scene.t - p.stalled)}; the "
                        f"log ends at {end}.")
    if end is None or end == mark:
        what = _readable(p.reference.start if p.reference is not None else 0, mark)
    else:
        what = f"the high watermark is at {mark} on its way to {end}"
    return Sentence(Level.GOOD, f"{p.name} works{sync}, {what}.")


def _readable(start: int, mark: int) -> str:
    if not mark:
        return "no record is in it yet"
    if start == mark:
        return f"no record is left in it: all before {mark} is deleted"
    return f"{offsets(start, mark)} can be read, all before is deleted" if start else f"everything below {mark} is readable"


RULES: tuple[Rule, ...] = (
    no_quorum, no_controller, no_leader, leader_out, below_minimum, suspected, slow_follower, clients_cut, two_leaders,
    lost_records, unread, rebalancing, abandoned, catching_up, replica_out, nothing_known,
    open_transaction, calm)
