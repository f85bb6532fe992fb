"""What became of a night: lost, twice, a wrong offset, out of order, read and gone, two leaders, replaced without need, replicas
that disagree, refused, stood still; each with the moment to look at and a sentence.

Owns: the sentences. Nothing is computed by a rule of ours: a record is lost if it was acknowledged and is not in the log.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from minikafka.lab.inside.night import TOPIC, TP, AdversaryNight, Refused, Stood


@dataclass(frozen=True)
class Fall:
    """A rule has done something wrong: in a word, in sentences, and what to look at: the moment of the cluster's clock, the
    partition."""

    word: str
    text: str
    t: float
    tp: str = TP


def fallen(night: AdversaryNight) -> Fall | None:
    """Return the worst that has become of a night that has ended; None if everything is as it was promised. Replicas that
    disagree come before what became of it."""
    fall = next((fall for judge in JUDGES if (fall := judge(night)) is not None), None)
    cause = _disagree(night) if fall else None
    return Fall(fall.word, f"{cause.text} {fall.text}", cause.t) if fall and cause and fall != cause else fall


def stood(night: AdversaryNight, error: Stood) -> Fall:
    """Return the fall of a night in which something stood still."""
    t = round(night.cluster.now() if error.t is None else error.t, 6)     # as the trace's
    if isinstance(error, Refused):
        return Fall(error.word, f"{error}.", t, error.tp)
    now = _state(night)
    if now.leader not in night.cluster.alive:
        alive = [broker for broker in night.cluster.alive if broker in now.isr]
        eligible = [broker for broker in night.cluster.alive if broker in now.elr]
        could = (f", though {listed(alive or eligible, 'broker')} {_are(alive or eligible)} alive and "
                 f"{'in sync' if alive else 'in the ELR'}" if alive or eligible else
                 f"; only {listed(now.isr, 'broker')} {'was' if len(now.isr) == 1 else 'were'} in sync")
        return Fall("stood still", f"{error}: nobody who lives leads {TP}{could}.", t)
    ends = ", ".join(f"{broker} ends at {now.ends.get(broker, 0)}" for broker in now.isr)
    return Fall("stood still", f"{error}. In sync: {ends}. Broker {now.leader} leads, and its high watermark stands at "
                f"{now.watermark}.", t)


def _never_stored(night: AdversaryNight) -> Fall | None:
    values = {record.value: record.offset for record in night.log}
    cut = min((event["to"] for event in night.cluster.trace.events("truncate") if event["tp"] == TP), default=float("inf"))
    for value, offset in night.acked.items():
        there = [other for other, place in values.items() if place == offset]
        if value not in values and offset < cut and there:
            return Fall("lost", f"Record {value} was acknowledged with offset {offset}. There stands record {there[0]}, and "
                        f"{value} is in no log: it is lost.", night.cluster.now())
    return None


def lost(night: AdversaryNight) -> Fall | None:
    """Return what was lost of the acknowledged records of a night that has ended; None if nothing was."""
    there = {record.value for record in night.log}
    gone = sorted(offset for value, offset in night.acked.items() if value not in there)
    if not gone:
        return None
    leader = night.cluster.leader(TOPIC)
    promise = _promise(night, gone, leader)
    cut = None if promise else _cut_off(night, gone, leader)
    first = next(place for place, value in enumerate(night.acked) if value not in there)
    before = [broker for broker, acknowledged, t in night.deaths if (t < cut[0] if cut else acknowledged <= first)]
    after = [broker for broker, _, _ in night.deaths[len(before):]]
    died = f"{listed(after)} died, " if after else ""
    began = f"{listed(before, 'Broker')} died. " if before else ""
    if found := promise or cut:
        t, cause = found
        story = f"{began if cut else ''}{cause} Then {died}{leader} leads"
    else:
        t, heir, end = _election(night, gone)
        again = ", alive again," if heir in before else ""
        story = f"Then {died}broker {heir}{again} was made the leader, and its log ended at {end}"
    return Fall("lost", f"{'' if cut else began}{night.acknowledged} acknowledged. {story}: {len(gone)} {_are(gone)} lost.", t)


def _twice(night: AdversaryNight) -> Fall | None:
    often = [value for value, times in Counter(record.value for record in night.log).items() if times > 1]
    if not often:
        return None
    places = [record.offset for record in night.log if record.value == often[0]]
    return Fall("duplicated", f"Record {often[0]} was to be stored once. It stands in the log at {listed(places, 'offset')}.",
                _stored(night, places[1]))


def _elsewhere(night: AdversaryNight) -> Fall | None:
    there = {record.value: record.offset for record in night.log}
    for value, offset in night.acked.items():
        if there[value] != offset:
            return Fall("a wrong offset", f"The producer learned that record {value} stands at offset {offset}. It stands at "
                        f"{there[value]}.", night.cluster.now())
    return None


def _order(night: AdversaryNight) -> Fall | None:
    for (value, offset), (after, behind) in pairwise(night.acked.items()):
        if behind < offset:
            return Fall("out of order", f"Record {after} was sent after {value}, and stands before it: {after} at offset "
                        f"{behind}, {value} at offset {offset}.",
                        night.cluster.now())
    return None


def _gone(night: AdversaryNight) -> Fall | None:
    there = {(record.offset, record.value) for record in night.log}
    gone = [record for record in night.reader.records if (record.offset, record.value) not in there]
    if not gone:
        return None
    return Fall("read and gone", f"A reader got record {gone[0].value} at offset {gone[0].offset}. It is in no log any more: "
                f"{len(gone)} {_are(gone)} read and gone.", gone[0].t)


def _two_leaders(night: AdversaryNight) -> Fall | None:
    seen: dict[int, int] = {}
    for event in night.cluster.trace.events("role"):
        if event["tp"] == TP and event["role"] == "leader":
            other = seen.setdefault(event["epoch"], event["b"])
            if other != event["b"]:
                return Fall("two leaders", f"Brokers {other} and {event['b']} both led in epoch {event['epoch']}.", event["t"])
    return None


def _replaced(night: AdversaryNight) -> Fall | None:
    leader, fenced = -1, set[int]()
    for event in night.cluster.trace.events("partition", "broker"):
        if event["k"] == "broker":
            (fenced.discard if event["state"] == "unfenced" else fenced.add)(event["id"])
        elif event["tp"] == TP:
            before, leader = leader, event["leader"]
            if before not in (-1, leader) and before in event["isr"] and before not in fenced:
                return Fall("replaced without need", f"Broker {before} led, lived and was in sync, and {leader} was made the "
                            "leader: all clients had to look for it.", event["t"])
    return None


def _disagree(night: AdversaryNight) -> Fall | None:
    for now in _states(night):
        for broker in now.isr if now.raised else ():
            ours, theirs = now.epochs.get(now.leader, {}), now.epochs.get(broker, {})
            other = next((offset for offset in theirs if offset < now.watermark and theirs[offset] != ours.get(offset)), None)
            if other is not None:
                return Fall("replicas disagree", f"At offset {other} broker {now.leader}, the leader, has a record of epoch "
                            f"{ours.get(other)}, and broker {broker}, in sync, one of epoch {theirs[other]}; the high watermark "
                            f"is {now.watermark}.", now.t)
    return None


JUDGES = (_never_stored, lost, _twice, _elsewhere, _order, _gone, _two_leaders, _replaced, _disagree)


# --- what the trace says ------------------------------------------------------------------------------------------

def _stored(night: AdversaryNight, offset: int) -> float:
    """Return when a log first reached beyond an offset."""
    appended = (event for event in night.cluster.trace.events("append") if event["tp"] == TP)
    return float(next(event["t"] for event in appended if event["last"] >= offset))


@dataclass
class State:
    """The partition as the trace tells it."""

    t: float
    leader: int
    isr: tuple[int, ...]    # the last one with a member
    elr: tuple[int, ...]
    ends: dict[int, int]
    epochs: dict[int, dict[int, int]]   # of each broker's log: offset -> the leader epoch in which it was written
    watermark: int      # the leader's
    raised: bool        # by the event just read


def _states(night: AdversaryNight) -> Iterator[State]:
    """Yield the partition's state after each event of the trace."""
    now = State(0.0, -1, (), (), {}, {}, 0, False)
    marks: dict[int, int] = {}
    follows: dict[int, int] = {}
    for event in night.cluster.trace.events("partition", "append", "truncate", "recover", "hw", "role"):
        if event["tp"] != TP:
            continue
        now.t, now.raised, broker = event["t"], False, event["b"]
        match event["k"]:
            case "partition":
                now.leader, now.isr, now.elr = event["leader"], tuple(event["isr"]) or now.isr, tuple(event["elr"])
            case "append":
                now.ends[broker] = event["last"] + 1
                copied = now.epochs.get(follows.get(broker, broker), {})    # a Fetch may bring records of several epochs
                for offset in range(event["base"], event["last"] + 1):
                    now.epochs.setdefault(broker, {})[offset] = copied.get(offset, event["epoch"])
            case "truncate" | "recover":
                now.ends[broker] = end = event["to" if event["k"] == "truncate" else "leo"]
                now.epochs[broker] = {offset: epoch for offset, epoch in now.epochs.get(broker, {}).items() if offset < end}
            case "role":
                follows[broker] = event["leader"]
            case "hw":
                marks[broker], now.raised = event["hw"], broker == now.leader
        now.watermark = marks.get(now.leader, 0)
        yield now


def _state(night: AdversaryNight) -> State:
    return list(_states(night))[-1]     # it is one and the same object, as it was left


def _promise(night: AdversaryNight, lost: Sequence[int], heir: int) -> tuple[float, str] | None:
    """Return when a leader let its high watermark pass the last of the lost records that a member of the ISR had not, and a
    sentence on it; if there are several such members, on the one that leads now."""
    found = None
    for now in _states(night):
        behind = sorted((broker for broker in now.isr if now.ends.get(broker, 0) <= lost[0]), key=lambda broker: broker != heir)
        if now.raised and now.watermark > lost[0] and behind:
            found = now.t, (f"Broker {now.leader} promised {_span(lost)} while {listed(behind[:1], 'broker')}, in sync, ended at "
                            f"{now.ends.get(behind[0], 0)}.")
        if found and now.raised and now.watermark > lost[-1]:
            break
    return found


def _cut_off(night: AdversaryNight, lost: Sequence[int], heir: int) -> tuple[float, str] | None:
    """Return when the one that leads now cut off lost records that its log had as they were promised, and a sentence on it
    and on who led then."""
    promised: dict[int, int] = {}
    found, had = None, {}
    for now in _states(night):
        if now.raised and lost[0] < now.watermark:
            promised = {offset: now.epochs[now.leader][offset] for offset in lost if offset in now.epochs[now.leader]}
        own = now.epochs.get(heir, {})
        off = [offset for offset in lost if offset in had and had[offset] == promised.get(offset) and offset not in own]
        if off:
            who = f"While broker {now.leader} led, broker" if now.leader not in (-1, heir) else "Broker"
            found = now.t, f"{who} {heir} cut its log at {now.ends[heir]}, and so threw away {_span(off)}, which was promised."
        had = own
    return found


def _election(night: AdversaryNight, lost: Sequence[int]) -> tuple[float, int, int]:
    """Return when a broker was made the leader that had not all of the lost records, which one, and where its log ended."""
    before, longest = -1, 0
    for now in _states(night):
        end, longest = now.ends.get(now.leader, 0), max(longest, *now.ends.values(), 0)
        if now.leader not in (-1, before) and end <= lost[-1] < longest and before != -1:
            return now.t, now.leader, end
        before = before if now.leader == -1 else now.leader
    return now.t, now.leader, end


def _span(offsets: Sequence[int]) -> str:
    return str(offsets[0]) if len(offsets) == 1 else f"{offsets[0]} to {offsets[-1]}"


def _are(several: Sequence[Any]) -> str:
    return "is" if len(several) == 1 else "are"


def listed(numbers: Sequence[Any], what: str = "") -> str:
    """Return numbers as a reader says them: "brokers 1 and 2"."""
    words = [str(number) for number in numbers]
    said = " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "none"
    return f"{what}{'s' * (len(words) > 1)} {said}" if what else said
