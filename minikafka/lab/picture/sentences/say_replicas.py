"""Sentences about the replicas of a partition: who is in sync, whom the high watermark waits for, what is lost.

Owns: nothing; one rule a function, PictureScene -> Sentence | None.
"""
from __future__ import annotations

from minikafka.lab.picture.facts.conditions import CLIENTS
from minikafka.lab.picture.facts.partitions import NOBODY, PartitionFacts
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.frame import Level, Sentence
from minikafka.lab.picture.scene import PictureScene
from minikafka.lab.picture.sentences.phrases import brokers, counted, limit, listed, offsets, seconds, upper, verb

LATE = 0.5             # seconds: a follower that is behind for less is only on its way


def below_minimum(scene: PictureScene) -> Sentence | None:
    for p in scene.by_interest:
        wanted = p.settings.min_isr
        if wanted is None or p.isr is None or p.leader is None or p.leader == NOBODY:
            continue
        wanted = min(wanted, len(p.assigned)) if p.assigned is not None else wanted
        if len(p.isr) >= wanted:
            continue
        mark, end = p.high_watermark, p.log_end
        stands = f" The high watermark stands at {mark}." if mark is not None else ""
        if mark is not None and end is not None and end > mark:
            stands = (f" The high watermark stands at {mark}: {offsets(mark, end)} "
                      f"{verb(end - mark, 'is', 'are')} written, not readable.")
        only = f"only {brokers(p.isr)} {verb(len(p.isr), 'is', 'are')}" if p.isr else "nobody is"
        return Sentence(Level.BAD, f"{p.name} refuses acks=all: {only} in sync, min.insync.replicas is {wanted}.{stands}")
    return None


def slow_follower(scene: PictureScene) -> Sentence | None:
    """Say that an in-sync follower is behind and the high watermark waits for it; None if that is not so."""
    for p in scene.by_interest:
        mark, end, limit_s = p.high_watermark, p.log_end, scene.lag_limit
        if mark is None or end is None or mark >= end or limit_s is None or p.isr is None:
            continue
        late = {b: waited for b in p.isr if (waited := scene.behind_for(p, b)) is not None and waited >= LATE}
        if late:
            return Sentence(Level.WAIT, _waits_for(scene, p, late, mark, end, limit_s))
    return None


def _waits_for(scene: PictureScene, p: PartitionFacts, late: dict[int, float], mark: int, end: int, limit_s: float) -> str:
    one, longest = len(late) == 1, max(late.values())
    who = f"{upper(brokers(late))} {verb(len(late), 'has', 'have')} not caught up for {seconds(longest)}; " \
          f"the limit is {limit(limit_s)}."
    unread = f"{offsets(mark, end)} {verb(end - mark, 'is', 'are')} written, not readable"
    if longest > 2 * limit_s:      # it looks twice within the limit: by the brokers' own rule nobody stays for that long
        return f"{who} {'It is' if one else 'They are'} still in the ISR, so that the high watermark waits at {mark}: {unread}."
    if longest > limit_s:
        check = scene.next_check(p, max(late, key=lambda b: late[b]))
        when = f" at its next look, in {seconds(check)}" if check is not None else " at its next look"
        return f"{who} The leader drops {'it' if one else 'them'} from the ISR{when}; until then the high watermark " \
               f"waits at {mark}: {unread}."
    return f"{who} Until {'it catches up or leaves' if one else 'they catch up or leave'} the ISR, the high watermark waits at " \
           f"{mark}: {unread}."


def clients_cut(scene: PictureScene) -> Sentence | None:
    """Say that clients and a leader do not hear each other; None if that is not so."""
    cuts = scene.state.conditions.cut
    for p in scene.by_interest:
        leader = p.leader
        if leader is None or leader == NOBODY:
            continue
        there, back = cuts.get((CLIENTS, leader)), cuts.get((leader, CLIENTS))
        waiting = sum(len(producer.waiting) for producer in scene.state.producers.values())
        wait = f" {upper(counted(waiting, 'record'))} {verb(waiting, 'waits', 'wait')} in producers." if waiting else ""
        if there is not None:
            return Sentence(Level.BAD, f"No client has reached broker {leader}, which leads {p.name}, for "
                            f"{seconds(scene.t - there)}.{wait} Its replication goes on.")
        if back is not None:
            return Sentence(Level.BAD, f"Broker {leader}, which leads {p.name}, hears clients, but its answers have not reached "
                            f"them for {seconds(scene.t - back)}.{wait} What they sent may be stored: they cannot know.")
    return None


def two_leaders(scene: PictureScene) -> Sentence | None:
    for p in scene.by_interest:
        both = scene.believers(p)
        if len(both) < 2:
            continue
        if {p.replicas[b].epoch for b in both} == {p.epoch}:
            who = f"{'Controllers' if p.name == METADATA else 'Brokers'} {listed(both)}"
            return Sentence(Level.BAD, f"{who} both lead {p.name} in epoch {p.epoch}: an epoch must have one leader.")
        if p.name == METADATA:
            continue
        old = min(both, key=lambda b: p.replicas[b].epoch if p.replicas[b].epoch is not None else NOBODY)
        epoch = p.replicas[old].epoch
        return Sentence(Level.BAD, f"{upper(brokers(both))} both act as leader of {p.name}: broker {old} in epoch {epoch}, "
                        f"which ended when epoch {p.epoch} began. It can commit nothing, and what it takes now is cut off "
                        "when it hears of it.")
    return None


def lost_records(scene: PictureScene) -> Sentence | None:
    for p in scene.by_interest:
        log = p.reference
        lost = scene.state.account.lost(p.name, log) if log is not None else 0
        if lost:
            return Sentence(Level.BAD, f"{counted(lost, 'acknowledged record')} of {p.name} {verb(lost, 'is', 'are')} lost: "
                            f"the log of broker {p.last_leader}, which leads in epoch {p.epoch}, does not hold "
                            f"{verb(lost, 'it', 'them')}.")
    return None


# --- what is mended by itself ---------------------------------------------------------------------------------------


def catching_up(scene: PictureScene) -> Sentence | None:
    """Say that a replica outside the ISR is on its way back; None if that is not so."""
    for p in scene.by_interest:
        end = p.log_end
        if p.isr is None or end is None:
            continue
        for b, r in sorted(p.replicas.items()):
            if b in p.isr or not scene.runs(b) or r.log.end is None or (p.assigned is not None and b not in p.assigned):
                continue
            if b in scene.state.conditions.held:
                return Sentence(Level.WAIT, f"Broker {b} copies nothing and is out of the ISR of {p.name}: "
                                f"{counted(end - r.log.end, 'record')} behind, waited for by nobody.")
            return Sentence(Level.WAIT, f"Broker {b} catches up with {p.name}: it ends at {r.log.end}, the leader at {end}, "
                            f"{counted(max(0, end - r.log.end), 'record')} to go before it is in sync again.")
    return None


def replica_out(scene: PictureScene) -> Sentence | None:
    """Say that fewer replicas are in sync than there should be, and that the partition works all the same; None if that
    is not so."""
    for p in scene.by_interest:
        if p.isr is None or p.assigned is None or len(p.isr) >= len(p.assigned):
            continue
        out = [b for b in p.assigned if b not in p.isr]
        minimum = p.settings.min_isr
        spare = f", min.insync.replicas is {minimum}" if minimum is not None else ""
        down = [b for b in out if not scene.runs(b)]
        who = f"{upper(brokers(down))} {verb(len(down), 'does', 'do')} not run" if down else \
              f"{upper(brokers(out))} {verb(len(out), 'is', 'are')} not in sync"
        return Sentence(Level.WAIT, f"{who}. {p.name} goes on with {len(p.isr)} of {len(p.assigned)} replicas in sync{spare}.")
    return None
