"""How values read: the same words and digits on the picture and in its text.

Owns: formats of seconds, counts, rates, offsets, lists of brokers; "?" for what is unknown.

Invariants
  None reads "?", never 0
  the picture shows no "?": what is not known is not drawn there (`known`)
"""
from __future__ import annotations

import time
from collections.abc import Sequence

from minikafka.lab.picture.frame import (
    EpochSpan,
    Ghost,
    Lane,
    Ledger,
    ShownBatch,
    ShownFlow,
    ShownGroup,
    ShownPartition,
    ShownProducer,
    ShownProgress,
    ShownQuery,
    ShownQuorum,
    ShownTask,
    ShownTransaction,
    ShownVoter,
)

UNKNOWN = "?"
METADATA = "__cluster_metadata"


def known(entries: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the entries of which something is known."""
    return [entry for entry in entries if entry[1] != UNKNOWN]


def seconds(value: float | None) -> str:
    """Return a length of time: 7.2 s, 12 ms."""
    if value is None:
        return UNKNOWN
    if abs(value) < 0.1 and value:
        return f"{value * 1000:.0f} ms" if abs(value) >= 0.001 else "under 1 ms"
    return f"{value:.1f} s"


def clock(value: float) -> str:
    """Return a moment of the run in words."""
    return f"{value:.1f} s"


def count(value: int | None) -> str:
    """Return a number in words: 1,208."""
    return UNKNOWN if value is None else f"{value:,}"


def offset(value: int | None) -> str:
    """Return a place in a log: an identifier, so without commas."""
    return UNKNOWN if value is None else str(value)


def rate(value: float) -> str:
    """Return a number of records a second in words."""
    return f"{value:.1f}/s" if 0 < value < 10 else f"{value:,.0f}/s"


def span(start: int, end: int) -> str:
    """Return offsets [start, end) as people say them: 47-50, or 47."""
    return str(start) if end - start == 1 else f"{start}-{end - 1}"


def brokers(ids: Sequence[int] | None) -> str:
    """Return brokers by number; "none" if it is known that there are none."""
    if ids is None:
        return UNKNOWN
    return " ".join(map(str, ids)) or "none"


def ends(ids: Sequence[int]) -> str:
    """Return brokers by number, and clients (0) by name."""
    return ", ".join("clients" if id == 0 else f"{id}" for id in ids)


def flow(flow: ShownFlow) -> str:
    """Return in words what moves between two ends."""
    waiting = f", {count(flow.under_way)} under way" if flow.under_way else ""
    return f"{flow.what} {rate(flow.rate)}{waiting}{', held by a fault' if flow.broken else ''}"


def acks(producer: ShownProducer) -> str:
    """Return what a producer waits for, "" if it does not tell; only kafka-python's and simulated ones do."""
    return "" if producer.acks is None else f"acks={'all' if producer.acks == -1 else producer.acks}"


def query(query: ShownQuery) -> str:
    """Return how far a Spark query is: what is planned and not done would run again after a crash."""
    if query.planned is None:
        return "no batch yet"
    running = f"batch {query.planned} runs, " if query.planned != query.done else "batch "
    return f"{running}{'none' if query.done is None else query.done} done"


def watermark(query: ShownQuery) -> str:
    """Return the query's watermark as a time of day, "" without one."""
    return f"watermark {time.strftime('%H:%M:%S', time.gmtime(query.watermark / 1000))}" if query.watermark else ""


def batch(batch: ShownBatch) -> str:
    """Return one micro-batch in words."""
    offsets = f"up to {batch.end - 1}" if batch.start is None else f"{batch.start}-{batch.end - 1}"
    return f"batch {batch.number}: {offsets}, {'done' if batch.done else 'planned'}"


def read(task: ShownTask) -> str:
    """Return the offsets that a task reads."""
    return f"up to {task.end - 1}" if task.start is None else span(task.start, task.end)


def transaction(each: ShownTransaction) -> str:
    """Return whose transaction it is, and how it stands."""
    return f"producer {each.producer}: {decision(each)}"


def decision(each: ShownTransaction) -> str:
    """Return how a transaction stands."""
    return "open" if each.marker is None else "committed" if each.committed else "aborted"


def folded(start: int, end: int, chosen: ShownPartition) -> tuple[str, str, bool]:
    """Return a folded stretch in words, what of it is aborted, and whether all of it is."""
    void = sum(max(0, min(end, each.end) - max(start, each.start)) for each in chosen.aborted)
    return span(start, end), f", {count(void)} aborted" if void else "", void == end - start


def readers(chosen: ShownPartition) -> list[tuple[str, int, str]]:
    """Return (isolation level, where it stops, the same in words), if the two levels read something else; else nothing."""
    mark, stable = chosen.high_watermark, chosen.committed_end
    if mark is None or stable is None or (stable == mark and not chosen.aborted):
        return []
    void = sum(max(0, min(each.end, stable) - each.start) for each in chosen.aborted)
    without = f", without {count(void)} aborted record{'s' * (void != 1)}" if void else ""
    return [("read_uncommitted", mark, f"reads up to {mark}"), ("read_committed", stable, f"reads up to {stable}{without}")]


def title(chosen: ShownPartition) -> tuple[str, str]:
    """Return the two parts of a partition's name in the head of the picture."""
    return chosen.topic, "the metadata log" if chosen.topic == METADATA else f"partition {chosen.index}"


def crown(lane: Lane, chosen: ShownPartition) -> str:
    """Return the lane's crown: "worn", "dead" (its wearer does not run), "hollow" (only the wearer believes in it), or ""."""
    if chosen.leader == lane.broker:
        return "dead" if lane.process in ("killed", "stopped") else "worn"
    return "hollow" if lane.believes_leader else ""


def role(lane: Lane, chosen: ShownPartition) -> str:
    """Return the lane's first line."""
    mine = crown(lane, chosen)
    if mine == "hollow":
        return "thinks it leads"
    if mine:
        return "leader"
    return {"unknown": "replica"}.get(lane.role, "was leader" if lane.role == "leader" else lane.role)


def standing(lane: Lane) -> tuple[str, ...]:
    """Return what the lane's process does, where that is worth a word, the longest text first; "cut" names from whom."""
    if lane.process == "cut":
        return f"cut from {ends(lane.cut_from)}", "cut"
    return () if lane.process in ("running", "unknown") else (lane.process,)


def stopwatch(lane: Lane) -> tuple[str, ...]:
    """Return how long ago the follower was last caught up, the longest text first: against the limit while it is in sync, alone
    once it is not."""
    if lane.behind_for is None:
        return ("caught up ?",)
    behind = f"{lane.behind_for:.1f}" if lane.behind_for < 99.95 else f"{lane.behind_for:.0f}"
    if lane.lag_limit is None or lane.in_sync is False:
        return (f"{behind} s",)
    if lane.behind_for <= lane.lag_limit:
        return f"{behind} of {lane.lag_limit:g} s", f"{behind} s"
    return f"{behind} s, limit {lane.lag_limit:g} s", f"{behind} s > {lane.lag_limit:g} s", f"{behind} s"


def ghost(ghost: Ghost) -> str:
    """Return what was cut off, and what that costs."""
    epoch = "" if ghost.epoch is None else f" of epoch {ghost.epoch}"
    cost = f", {count(ghost.acked)} acknowledged" if ghost.acked else ""
    return f"{span(ghost.start, ghost.end)}{epoch} cut off{cost}"


def epoch(span: EpochSpan, chosen: ShownPartition) -> tuple[str, ...]:
    """Return the legend of a leader epoch, the longest text first."""
    brief = f"epoch {span.epoch}"
    if span.leader is None:
        return (brief,)
    who = f"{'' if chosen.topic == METADATA else 'broker '}{span.leader}"      # the metadata log is led by a controller
    return f"{brief} · leader {'is' if span.epoch == chosen.epoch else 'was'} {who}", f"{brief} · {who}", brief


def producer(producer: ShownProducer) -> list[tuple[str, str, str]]:
    """Return (label, value, look) of each entry of a producer's card that is known."""
    return known([("sent", count(producer.sent), ""), ("acknowledged", count(producer.acked), ""),
            ("in doubt", count(producer.unknown), "wait" if producer.unknown else ""),
            ("failed", count(producer.failed), "wait" if producer.failed else ""),
            ("waiting", count(producer.waiting), ""), ("last took", seconds(producer.last_latency), "")])


def quorum(quorum: ShownQuorum) -> list[tuple[str, str, str]]:
    """Return (label, value, look) of each entry about the controllers that is known."""
    active = UNKNOWN if quorum.active is None else f"node {quorum.active}"
    told = quorum.voters is not None or quorum.active is not None or quorum.alive or quorum.fenced
    return known([
        ("active", active, "" if quorum.active is not None else "wait"),
        ("alive", brokers(quorum.alive if told else None), ""), ("voters", brokers(quorum.voters), ""),
            ("fenced", brokers(quorum.fenced if told else None), "wait" if quorum.fenced else ""),
            ("log end", offset(quorum.log_end), ""), ("committed", offset(quorum.high_watermark), "")])


def leads(quorum: ShownQuorum, voter: ShownVoter) -> str:
    """Return the controller's crown: "worn", "hollow" (it leads an older epoch, and does not know it), or ""."""
    return "" if voter.role != "leader" else "worn" if voter.epoch == quorum.epoch else "hollow"


def voter(quorum: ShownQuorum, voter: ShownVoter, ends: bool = True) -> list[tuple[str, str, bool]]:
    """Return (text, look, bold) of what is told of a controller: role or what its process does, vote, log end."""
    role = f"leads epoch {voter.epoch}" if leads(quorum, voter) == "hollow" else voter.role
    down = voter.process in ("killed", "stopped")
    told = [(role, "", role == "leader")] if role and not down else []
    if voter.process not in ("running", "unknown"):
        told.append((voter.process, "bad" if down else "wait", False))
    if vote := ballot(quorum, voter):
        told.append((vote, "soft" if voter.vote is None else "blue", False))
    if ends and voter.log_end is not None:
        told.append((f"end {voter.log_end}", "soft", False))
    return told


def ballot(quorum: ShownQuorum, voter: ShownVoter) -> str:
    """Return for whom a controller voted in the quorum's epoch; "" where no vote of this epoch was told of."""
    if all(each.vote is None for each in quorum.each):
        return ""
    return "no vote" if voter.vote is None else f"voted for {voter.vote}"


def standing_of(quorum: ShownQuorum) -> tuple[str, str]:
    """Return epoch and leader of the quorum, for the right of its card, and the look."""
    if quorum.epoch is None:
        return "", "soft"
    elected = any(leads(quorum, each) == "worn" for each in quorum.each) or not quorum.each
    return f"epoch {quorum.epoch}{'' if elected else ' · no leader yet'}", "soft" if elected else "wait"


def metadata_log(quorum: ShownQuorum) -> list[tuple[str, str, str]]:
    """Return (label, value, look) of what the controllers agree on, as far as it is known."""
    told = [] if quorum.high_watermark is None else [("log committed to", offset(quorum.high_watermark), "")]
    return told + ([("fenced", brokers(quorum.fenced), "wait")] if quorum.fenced else [])


def member(group: ShownGroup, progress: ShownProgress) -> str:
    """Return the member that reads a partition; in a group without members it is nobody, or a reader that chose the
    partition itself."""
    if progress.member and not group.members and group.state is not None:
        return f"{progress.member} (assign)"
    return progress.member or (UNKNOWN if group.members or group.state is None else "nobody")


def condition(group: ShownGroup, member: str) -> str:
    """Return what is to be said of a member: what its process does, or that it has nothing to read; "" if it reads."""
    process = group.process(member)
    return process if process != "running" else "" if group.assignment.get(member) else "idle"


def everybody(group: ShownGroup) -> list[str]:
    """Return the members that the coordinator counts, and the dead ones that it counts no more."""
    return sorted({*group.members, *(each.name for each in group.processes if each.process != "running")})


def group(group: ShownGroup) -> str:
    """Return the state of a group, for the right of its card."""
    generation = "" if group.generation is None else f" · gen. {group.generation}"
    state = "" if group.state is None else f"{group.state}{generation} · "
    return f"{state}{len(group.members)} member{'s' * (len(group.members) != 1)}"


def cover(opener: str) -> str:
    """Return what stands in place of the ledger; `opener`: the call that uncovers it."""
    return f"What became of the records is covered until {opener}"


def ledger(ledger: Ledger) -> list[tuple[str, str, str]]:
    """Return (label, value, look) of each entry of the ledger that is known; only what is lost is ever red."""
    levels = [("readable", count(ledger.readable), "")]
    if ledger.committed not in (None, ledger.readable):    # the isolation levels differ
        levels.append(("at read_committed", count(ledger.committed), ""))
    return known([
            ("acknowledged", count(ledger.acknowledged), ""), *levels,
            ("delivered", count(ledger.delivered), ""), ("in doubt", count(ledger.unknown), ""),
            ("lost", count(ledger.lost), "bad" if ledger.lost else ""), ("redelivered", count(ledger.duplicate), ""),
            ("reordered", count(ledger.reordered), "")])
