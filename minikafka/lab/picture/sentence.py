"""The one sentence on the picture: what holds things up now, with the numbers.

Rules in order of importance; the first that has something to say is heard. Each looks at the scene alone, at the chosen
partition before the others, and says who, how long of how long, and what it means for readers and writers.

Owns: the order of the rules.
Invariants
  I-SENTENCE-1  every number in a sentence was told by the trace, or follows from what was told by subtraction
  I-SENTENCE-2  what the trace does not tell is not claimed: a rule that lacks a fact is silent
"""
from __future__ import annotations

from collections.abc import Callable

from minikafka.lab.picture.conditions import CLIENTS, PAUSED
from minikafka.lab.picture.frame import Level, Sentence
from minikafka.lab.picture.partitions import NOBODY, Partition
from minikafka.lab.picture.phrases import brokers, count, limit, listed, offsets, seconds, upper, verb
from minikafka.lab.picture.quorum import METADATA
from minikafka.lab.picture.scene import Scene
from minikafka.lab.picture.state import SESSION

LATE = 0.5             # seconds: a follower that is behind for less is only on its way
Rule = Callable[[Scene], Sentence | None]


def sentence(scene: Scene) -> Sentence:
    """The first rule that has something to say."""
    return next(said for rule in RULES if (said := rule(scene)) is not None)


# --- controllers ----------------------------------------------------------------------------------------------------


def no_quorum(scene: Scene) -> Sentence | None:
    voters = scene.state.quorum.voters
    if voters is None:
        return None
    out = [v for v in voters if not scene.runs(v)]
    if len(voters) - len(out) > len(voters) // 2:
        return None
    return Sentence(Level.BAD, f"No quorum: {len(out)} of {len(voters)} controllers {verb(len(out), 'is', 'are')} out "
                    f"({listed(out)}). No leader can be elected and no ISR changed until {len(voters) // 2 + 1} run.")


def no_controller(scene: Scene) -> Sentence | None:
    quorum = scene.state.quorum
    if quorum.voters is None:
        return None
    if quorum.active is not None:
        if scene.runs(quorum.active):
            return None
        return Sentence(Level.WAIT, f"The active controller, broker {quorum.active}, {how_out(scene, quorum.active)}: the other "
                        "voters elect another when they miss its answers.")
    waited = f" for {seconds(scene.t - quorum.since)}" if quorum.since is not None else ""
    return Sentence(Level.WAIT, f"No active controller{waited}: {len(quorum.voters)} voters are electing one.")


# --- partitions -----------------------------------------------------------------------------------------------------


def no_leader(scene: Scene) -> Sentence | None:
    for p in scene.by_interest:
        if p.leader == NOBODY and p.name != METADATA:
            return Sentence(Level.BAD, _why_no_leader(scene, p))
    return None


def _why_no_leader(scene: Scene, p: Partition) -> str:
    fit = sorted({*(p.isr or ()), *p.elr})
    others = [b for b in sorted({*p.replicas, *(p.assigned or ())}) if b not in fit and scene.runs(b)]
    text = f"{p.name} has no leader: nothing can be written or read."
    if fit:
        down = [b for b in fit if not scene.runs(b)]
        text += f" In sync {verb(len(fit), 'was', 'were')} only {brokers(fit)}"
        text += f", and {verb(len(fit), 'it is', 'they are')} out." if down else "."
    if others and p.settings.unclean is False:
        end = p.log_end
        missing = [end - r.log.end for b in others if end is not None and (r := p.replicas.get(b)) is not None
                   and r.log.end is not None]
        lack = f" and {verb(len(others), 'lacks', 'lack')} up to {count(max(missing), 'record')}" if any(missing) else ""
        text += (f" {upper(brokers(others))} {verb(len(others), 'runs', 'run')}{lack}, but must not lead: "
                 "unclean.leader.election.enable is false.")
    elif others and p.settings.unclean:
        text += f" unclean.leader.election.enable is true: {brokers(others)} may be elected, with what is missing lost."
    return text


def leader_out(scene: Scene) -> Sentence | None:
    """The leader is gone or stands still, and nobody has taken its place yet."""
    for p in scene.by_interest:
        if p.leader is None or p.leader == NOBODY or scene.runs(p.leader):
            continue
        since = scene.state.conditions.since.get(p.leader)
        if since is None:
            continue
        text = f"Broker {p.leader}, which leads {p.name}, {how_out(scene, p.leader)}."
        return Sentence(Level.BAD, text + _until_fenced(scene, p.leader, since))
    return None


def suspected(scene: Scene) -> Sentence | None:
    """A broker is out, and the controller still counts it among the living."""
    state, active = scene.state, scene.state.quorum.active
    for broker in state.brokers:
        if state.quorum.states.get(broker) != "unfenced":
            continue
        since, how = state.conditions.since.get(broker), how_out(scene, broker)
        if scene.runs(broker):
            if active is None:
                continue
            cuts = [t for link in ((broker, active), (active, broker)) if (t := state.conditions.cut.get(link)) is not None]
            since = min(cuts, default=None)
            how = f"has been cut from the active controller, broker {active}, for {seconds(scene.t - (since or scene.t))}"
        if since is not None and state.seconds(SESSION) is not None:
            return Sentence(Level.WAIT, f"Broker {broker} {how}." + _until_fenced(scene, broker, since))
    return None


def how_out(scene: Scene, broker: int) -> str:
    """was killed 1.2 s ago."""
    conditions = scene.state.conditions
    waited, process = seconds(scene.t - conditions.since.get(broker, scene.t)), conditions.process.get(broker)
    if process == PAUSED:
        return f"has been paused for {waited}"
    return f"was {process} {waited} ago"


def _until_fenced(scene: Scene, broker: int, since: float) -> str:
    session = scene.state.seconds(SESSION)
    if session is None or scene.state.quorum.states.get(broker) != "unfenced":
        return ""
    # A controller that has just come to office gives everybody a whole session.
    left = session - (scene.t - max(since, scene.state.quorum.since or since))
    if left <= 0:
        return f" {limit(session)} without a heartbeat are over: the controller is about to count it as dead."
    return (f" The controller counts it as dead after {limit(session)} without a heartbeat: in at most {seconds(left)}, "
            "then others lead what it led.")


def below_minimum(scene: Scene) -> Sentence | None:
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


def slow_follower(scene: Scene) -> Sentence | None:
    """An in-sync follower is behind, and the high watermark waits for it."""
    for p in scene.by_interest:
        mark, end, limit_s = p.high_watermark, p.log_end, scene.lag_limit
        if mark is None or end is None or mark >= end or limit_s is None or p.isr is None:
            continue
        late = {b: waited for b in p.isr if (waited := scene.behind_for(p, b)) is not None and waited >= LATE}
        if late:
            return Sentence(Level.WAIT, _waits_for(scene, p, late, mark, end, limit_s))
    return None


def _waits_for(scene: Scene, p: Partition, late: dict[int, float], mark: int, end: int, limit_s: float) -> str:
    one, longest = len(late) == 1, max(late.values())
    who = f"{upper(brokers(late))} {verb(len(late), 'has', 'have')} not caught up for {seconds(longest)} of {limit(limit_s)}."
    unread = f"{offsets(mark, end)} {verb(end - mark, 'is', 'are')} written, not readable"
    if longest > limit_s:
        check = scene.next_check(p, max(late, key=lambda b: late[b]))
        when = f" at its next look, in {seconds(check)}" if check is not None else " at its next look"
        return f"{who} The leader drops {'it' if one else 'them'} from the ISR{when}; until then the high watermark " \
               f"waits at {mark}: {unread}."
    return f"{who} Until {'it does, or leaves' if one else 'they do, or leave'} the ISR, the high watermark waits at " \
           f"{mark}: {unread}."


def clients_cut(scene: Scene) -> Sentence | None:
    """Clients and a leader do not hear each other."""
    cuts = scene.state.conditions.cut
    for p in scene.by_interest:
        leader = p.leader
        if leader is None or leader == NOBODY:
            continue
        there, back = cuts.get((CLIENTS, leader)), cuts.get((leader, CLIENTS))
        waiting = sum(len(producer.waiting) for producer in scene.state.producers.values())
        wait = f" {upper(count(waiting, 'record'))} {verb(waiting, 'waits', 'wait')} in producers." if waiting else ""
        if there is not None:
            return Sentence(Level.BAD, f"No client has reached broker {leader}, which leads {p.name}, for "
                            f"{seconds(scene.t - there)}.{wait} Its replication goes on.")
        if back is not None:
            return Sentence(Level.BAD, f"Broker {leader}, which leads {p.name}, hears clients, but its answers have not reached "
                            f"them for {seconds(scene.t - back)}.{wait} What they sent may be stored: they cannot know.")
    return None


def two_leaders(scene: Scene) -> Sentence | None:
    for p in scene.by_interest:
        both = scene.believers(p)
        if len(both) < 2 or p.name == METADATA:
            continue
        old = min(both, key=lambda b: p.replicas[b].epoch if p.replicas[b].epoch is not None else NOBODY)
        epoch = p.replicas[old].epoch
        return Sentence(Level.BAD, f"{upper(brokers(both))} both act as leader of {p.name}: broker {old} in epoch {epoch}, "
                        f"which ended when epoch {p.epoch} began. It can commit nothing, and what it takes now is cut off "
                        "when it hears of it.")
    return None


def lost_records(scene: Scene) -> Sentence | None:
    for p in scene.by_interest:
        log = p.reference
        lost = scene.state.account.lost(p.name, log) if log is not None else 0
        if lost:
            return Sentence(Level.BAD, f"{count(lost, 'acknowledged record')} of {p.name} {verb(lost, 'is', 'are')} lost: "
                            f"the log of broker {p.last_leader}, which leads in epoch {p.epoch}, does not hold "
                            f"{verb(lost, 'it', 'them')}.")
    return None


# --- groups ---------------------------------------------------------------------------------------------------------


def rebalancing(scene: Scene) -> Sentence | None:
    for name, group in sorted(scene.state.groups.items()):
        if group.rebalancing is not None:
            return Sentence(Level.WAIT, f"Group {name} is rebalancing for {seconds(scene.t - group.rebalancing)}: "
                            f"{count(len(group.members), 'member')}, and no assignment until all have joined again.")
    return None


def abandoned(scene: Scene) -> Sentence | None:
    """A group without members leaves records unread."""
    for name, group in sorted(scene.state.groups.items()):
        if group.state != "Empty":
            continue
        unread = sum(mark - at for tp, at in group.committed.items() if (p := scene.state.partitions.get(tp)) is not None
                     and (mark := p.high_watermark) is not None and mark > at)
        if unread:
            return Sentence(Level.WAIT, f"Group {name} has no members: {count(unread, 'readable record')} "
                            f"{verb(unread, 'waits', 'wait')} behind what it committed.")
    return None


# --- what is mended by itself ---------------------------------------------------------------------------------------


def catching_up(scene: Scene) -> Sentence | None:
    """A replica outside the ISR is on its way back."""
    for p in scene.by_interest:
        end = p.log_end
        if p.isr is None or end is None:
            continue
        for b, r in sorted(p.replicas.items()):
            if b in p.isr or not scene.runs(b) or r.log.end is None or (p.assigned is not None and b not in p.assigned):
                continue
            if b in scene.state.conditions.held:
                return Sentence(Level.WAIT, f"Broker {b} copies nothing and is out of the ISR of {p.name}: "
                                f"{count(end - r.log.end, 'record')} behind, waited for by nobody.")
            return Sentence(Level.WAIT, f"Broker {b} catches up with {p.name}: it ends at {r.log.end}, the leader at {end}, "
                            f"{count(max(0, end - r.log.end), 'record')} to go before it is in sync again.")
    return None


def replica_out(scene: Scene) -> Sentence | None:
    """Fewer replicas in sync than there should be, and it works all the same."""
    for p in scene.by_interest:
        if p.isr is None or p.assigned is None or len(p.isr) >= len(p.assigned):
            continue
        out = [b for b in p.assigned if b not in p.isr]
        minimum = p.settings.min_isr
        spare = f", min.insync.replicas is {minimum}" if minimum is not None else ""
        down = [b for b in out if not scene.runs(b)]
        who = f"{upper(brokers(down))} {verb(len(down), 'is', 'are')} out" if down else \
              f"{upper(brokers(out))} {verb(len(out), 'is', 'are')} not in sync"
        return Sentence(Level.WAIT, f"{who}. {p.name} goes on with {len(p.isr)} of {len(p.assigned)} replicas in sync{spare}.")
    return None


# --- nothing --------------------------------------------------------------------------------------------------------


def nothing_known(scene: Scene) -> Sentence | None:
    p = scene.chosen
    if p is None:
        return Sentence(Level.UNKNOWN, f"{count(len(scene.state.brokers), 'broker')}, no partition yet.")
    if p.leader is None:
        return Sentence(Level.UNKNOWN, f"Nobody has told who leads {p.name}.")
    return None


def calm(scene: Scene) -> Sentence:
    p = scene.chosen
    assert p is not None, "nothing_known comes before"
    sync = ""
    if p.isr is not None:
        sync = f": {len(p.isr)} of {len(p.assigned) if p.assigned is not None else '?'} replicas in sync"
    mark, end = p.high_watermark, p.log_end
    if mark is None:
        return Sentence(Level.GOOD if sync else Level.UNKNOWN, f"Nothing holds {p.name} up{sync}.")
    if end is None or end == mark:
        what = f"everything below {mark} is readable" if mark else "no record yet"
    else:
        what = f"the high watermark is at {mark} on its way to {end}"
    return Sentence(Level.GOOD, f"Nothing holds {p.name} up{sync}, {what}.")


RULES: tuple[Rule, ...] = (
    no_quorum, no_controller, no_leader, leader_out, below_minimum, suspected, slow_follower, clients_cut, two_leaders,
    lost_records, rebalancing, abandoned, catching_up, replica_out, nothing_known, calm)
