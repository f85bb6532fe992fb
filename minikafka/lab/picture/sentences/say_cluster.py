"""Sentences about the controllers and about brokers that are out: who decides, who is missing, until when.

Owns: nothing; one rule a function, PictureScene -> Sentence | None.
"""
from __future__ import annotations

from collections import Counter

from minikafka.lab.picture.facts.conditions import PAUSED
from minikafka.lab.picture.facts.partitions import NOBODY, PartitionFacts
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.facts.state import SESSION
from minikafka.lab.picture.frame import Level, Sentence
from minikafka.lab.picture.scene import PictureScene
from minikafka.lab.picture.sentences.phrases import brokers, counted, limit, listed, seconds, upper, verb


def no_quorum(scene: PictureScene) -> Sentence | None:
    voters = scene.state.quorum.voters
    if voters is None:
        return None
    out = [v for v in voters if not scene.runs(v)]
    if len(voters) - len(out) > len(voters) // 2:
        return None
    return Sentence(Level.BAD, f"No quorum: {len(out)} of {len(voters)} controllers {verb(len(out), 'is', 'are')} out "
                    f"({listed(out)}). No leader can be elected and no ISR changed until {len(voters) // 2 + 1} run.")


def no_controller(scene: PictureScene) -> Sentence | None:
    quorum = scene.state.quorum
    if quorum.voters is None:
        return None
    if quorum.active is not None:
        if scene.runs(quorum.active):
            return None
        who = f"{scene.state.named(quorum.active)}, {how_out(scene, quorum.active)}"
        return Sentence(Level.WAIT, f"The active controller, {who}: the other voters elect another when they miss its answers.")
    waited = f" for {seconds(scene.t - quorum.since)}" if quorum.since is not None else ""
    running = sum(scene.runs(v) for v in quorum.voters)
    return Sentence(Level.WAIT, f"No active controller{waited}: {running} of {len(quorum.voters)} voters run, and elect one."
                    + _votes(scene, len(quorum.voters) // 2 + 1))


def _votes(scene: PictureScene, needed: int) -> str:
    """Return how many votes each candidate has in an epoch that has no leader yet; "" where there is none."""
    quorum = scene.state.quorum
    votes = Counter(quorum.vote(voter) for voter in quorum.voters or ())
    if quorum.newest == quorum.epoch:
        return ""
    return "".join(f" {upper(scene.state.named(candidate))} is a candidate in epoch {quorum.newest} and has "
                   f"{counted(number, 'vote')}; it needs {needed}."
                   for candidate, number in sorted((c, n) for c, n in votes.items() if c is not None))


def no_leader(scene: PictureScene) -> Sentence | None:
    for p in scene.by_interest:
        if p.leader == NOBODY and p.name != METADATA:
            return Sentence(Level.BAD, _why_no_leader(scene, p))
    return None


def _why_no_leader(scene: PictureScene, p: PartitionFacts) -> str:
    fit = sorted({*(p.isr or ()), *p.elr})
    others = [b for b in sorted({*p.replicas, *(p.assigned or ())}) if b not in fit and scene.runs(b)]
    text = f"{p.name} has no leader: nothing can be written or read."
    if fit:
        up = [b for b in fit if scene.runs(b)]
        text += f" In sync {verb(len(fit), 'was', 'were')} only {brokers(fit)}"
        text += (f"; {brokers(up)} {verb(len(up), 'runs', 'run')} and may lead." if up
                 else f", and {verb(len(fit), 'it is', 'they are')} out.")
    if others and p.settings.unclean is False:
        end = p.log_end
        missing = [end - r.log.end for b in others if end is not None and (r := p.replicas.get(b)) is not None
                   and r.log.end is not None]
        lack = f" and {verb(len(others), 'lacks', 'lack')} up to {counted(max(missing), 'record')}" if any(missing) else ""
        text += (f" {upper(brokers(others))} {verb(len(others), 'runs', 'run')}{lack}, but must not lead: "
                 "unclean.leader.election.enable is false.")
    elif others and p.settings.unclean:
        text += f" unclean.leader.election.enable is true: {brokers(others)} may be elected, with what is missing lost."
    return text


def leader_out(scene: PictureScene) -> Sentence | None:
    """Say that the leader is gone or stands still and no broker has taken its place yet; None if that is not so."""
    for p in scene.by_interest:
        if p.leader is None or p.leader == NOBODY or scene.runs(p.leader):
            continue
        since = scene.state.conditions.since.get(p.leader)
        if since is None:
            continue
        text = f"Broker {p.leader}, which leads {p.name}, {how_out(scene, p.leader)}."
        return Sentence(Level.BAD, text + _until_fenced(scene, p.leader, since))
    return None


def suspected(scene: PictureScene) -> Sentence | None:
    """Say that a broker is out and the controller still counts it among the living; None if that is not so."""
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
            how = f"has been cut from the active controller, {state.named(active)}, for {seconds(scene.t - (since or scene.t))}"
        if since is not None and state.seconds(SESSION) is not None:
            return Sentence(Level.WAIT, f"Broker {broker} {how}." + _until_fenced(scene, broker, since))
    return None


def how_out(scene: PictureScene, broker: int) -> str:
    """Return how a broker went out: "was killed 1.2 s ago"."""
    conditions = scene.state.conditions
    waited, process = seconds(scene.t - conditions.since.get(broker, scene.t)), conditions.process.get(broker)
    if process == PAUSED:
        return f"has been paused for {waited}"
    return f"was {process} {waited} ago"


def _until_fenced(scene: PictureScene, broker: int, since: float) -> str:
    session = scene.state.seconds(SESSION)
    if session is None or scene.state.quorum.states.get(broker) != "unfenced":
        return ""
    # A controller that has just come to office gives everybody a whole session.
    left = session - (scene.t - max(since, scene.state.quorum.since or since))
    if left <= 0:
        return f" {limit(session)} without a heartbeat are over: the controller is about to count it as dead."
    leads = any(p.leader == broker for p in scene.state.partitions.values())
    return (f" The controller counts it as dead after {limit(session)} without a heartbeat: in at most {seconds(left)}"
            f"{', then others lead what it led' if leads else ''}.")
