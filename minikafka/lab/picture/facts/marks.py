"""Moments worth jumping to: faults, elections, changes of the ISR, a high watermark that stands, losses, rebalances.

A kill moves many leaders at once; what happens to several partitions for one reason within a moment is one mark.

Owns: the marks of a run, found while its events are folded.
Invariants
  I-JUMP-1  a mark depends on the events up to it and a second after, never on when somebody looked
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minikafka.lab.picture.facts.conditions import CLIENTS, Event, arguments
from minikafka.lab.picture.facts.partitions import NOBODY, PartitionFacts
from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.facts.state import RunState
from minikafka.lab.picture.frame import Level, Mark, MomentKind
from minikafka.lab.picture.sentences.phrases import brokers, counted

TOGETHER = 0.5         # seconds within which the same happening to another partition is the same mark
STALL = 1.0            # seconds that a high watermark has to stand to be worth a mark
SCAN = 0.25            # seconds between two looks for such


@dataclass(slots=True)
class FoundMark:
    """A mark with what it is about; `number` of the event that made it, `t` by the trace's clock."""

    number: int
    t: float
    kind: MomentKind
    level: Level
    key: tuple[Any, ...]
    about: list[str]
    words: Callable[[list[str]], str]

    def mark(self, zero: float) -> Mark:
        return Mark(self.t - zero, self.kind, self.words(self.about), self.level)


@dataclass(slots=True)
class PartitionSeen:
    """The state of a partition at the last look."""

    leader: tuple[int, int | None] = (NOBODY, None)
    isr: tuple[int, ...] | None = None
    lost: int = 0
    stalled: float | None = None


@dataclass(slots=True)
class Marker:
    """Looks at every event together with the state after it."""

    found: list[FoundMark] = field(default_factory=list)
    seen: dict[str, PartitionSeen] = field(default_factory=dict)
    active: tuple[int | None, int | None] = (None, None)
    booted: dict[int, None] = field(default_factory=dict)
    scanned: float = float("-inf")

    def copy(self) -> Marker:
        seen = {tp: PartitionSeen(s.leader, s.isr, s.lost, s.stalled) for tp, s in self.seen.items()}
        return Marker(self.found.copy(), seen, self.active, self.booted.copy(), self.scanned)

    def marks(self, zero: float) -> list[Mark]:
        return sorted((found.mark(zero) for found in self.found), key=lambda mark: mark.t)

    def look(self, number: int, event: Event, state: RunState) -> None:
        kind = event["k"]
        if kind in _OF_PARTITIONS:
            self._partition(number, event, state)
        elif kind in ("fault", "crash", "exit"):
            self._fault(number, event, state)
        elif kind in ("raft", "vote"):
            self._election(number, event, state)
        elif kind == "group":
            self._group(number, event)
        elif kind == "member" and event["state"] in _MEMBERS:
            text, level = _MEMBERS[event["state"]]
            self._add(number, event["t"], MomentKind.FAULT, level, (kind, event["client"], text), event["client"],
                      lambda about: f"consumer {about[0]} {text}")
        if event["t"] - self.scanned >= SCAN:
            self.scanned = event["t"]
            self._scan(number, event["t"], state)

    def _add(self, number: int, t: float, kind: MomentKind, level: Level, key: tuple[Any, ...], about: str,
             words: Callable[[list[str]], str]) -> None:
        for at in range(len(self.found) - 1, -1, -1):
            before = self.found[at]
            if t - before.t > TOGETHER and before.kind is not MomentKind.STALL:
                break
            if (before.kind, before.key) == (kind, key) and abs(t - before.t) <= TOGETHER:
                merged = before.about if about in before.about else [*before.about, about]
                self.found[at] = FoundMark(before.number, before.t, kind, level, key, merged, words)
                return
        self.found.append(FoundMark(number, t, kind, level, key, [about], words))

    # --- partitions -----------------------------------------------------------------------------------------------

    def _partition(self, number: int, event: Event, state: RunState) -> None:
        p = state.partitions.get(event["tp"])
        if p is None or p.internal:
            return
        seen = self.seen.setdefault(p.name, PartitionSeen())
        self._leader(number, event["t"], p, seen)
        self._isr(number, event["t"], p, seen)
        log = p.reference
        lost = state.account.lost(p.name, log) if log is not None else 0
        if lost > seen.lost:
            more = lost - seen.lost
            self._add(number, event["t"], MomentKind.LOSS, Level.BAD, (p.name, lost), p.name,
                      lambda about: f"{counted(more, 'acknowledged record')} of {about[0]} lost")
        seen.lost = lost

    def _leader(self, number: int, t: float, p: PartitionFacts, seen: PartitionSeen) -> None:
        told = (p.epoch, p.leader)
        if told == seen.leader:
            return
        first, seen.leader = seen.leader[0] == NOBODY, told
        if first and p.leader != NOBODY:               # a topic is created, or the trace begins
            return
        leader, epoch = p.leader, p.epoch
        if leader is None or leader == NOBODY:
            self._add(number, t, MomentKind.ELECTION, Level.BAD, (NOBODY,), p.name,
                      lambda about: f"{_named(about)} without a leader")
        else:
            self._add(number, t, MomentKind.ELECTION, Level.WAIT, (leader,), p.name,
                      lambda about: f"broker {leader} leads {_named(about)}" + (f", epoch {epoch}" if len(about) == 1 else ""))

    def _isr(self, number: int, t: float, p: PartitionFacts, seen: PartitionSeen) -> None:
        before, seen.isr = seen.isr, p.isr
        if before is None or p.isr is None or before == p.isr:
            return
        out, back = [b for b in before if b not in p.isr], [b for b in p.isr if b not in before]
        if out:
            self._add(number, t, MomentKind.ISR, Level.WAIT, ("out", *sorted(out)), p.name,
                      lambda about: f"{brokers(out)} out of the ISR of {_named(about)}")
        if back:
            self._add(number, t, MomentKind.ISR, Level.GOOD, ("in", *sorted(back)), p.name,
                      lambda about: f"{brokers(back)} in the ISR of {_named(about)}")

    def _scan(self, number: int, t: float, state: RunState) -> None:
        """Look for high watermarks that have not moved for long."""
        for p in state.partitions.values():
            if p.stalled is None or t - p.stalled < STALL or p.internal:
                continue
            seen = self.seen.setdefault(p.name, PartitionSeen())
            if seen.stalled != p.stalled:
                seen.stalled, mark = p.stalled, p.high_watermark
                self._add(number, p.stalled, MomentKind.STALL, Level.WAIT, (p.name, mark), p.name,
                          lambda about, mark=mark: f"high watermark of {about[0]} stands at {mark}")    # type: ignore[misc]

    # --- the cluster ----------------------------------------------------------------------------------------------

    def _election(self, number: int, event: Event, state: RunState) -> None:
        """Add a mark for each step of an election, at its own moment, except for the first of the run."""
        quorum, node, epoch = state.quorum, event["b"], event["epoch"]
        if event["k"] == "vote":
            if self.active[1] is not None and epoch > self.active[1] and node != event["candidate"]:
                self._add(number, event["t"], MomentKind.ELECTION, Level.WAIT, ("vote", epoch, node), str(event["candidate"]),
                          lambda about: f"controller {node} votes for {about[0]}, epoch {epoch}")
            return
        if event["role"] == "candidate" and self.active[1] is not None:
            self._add(number, event["t"], MomentKind.ELECTION, Level.WAIT, ("candidate", epoch, node), str(node),
                      lambda about: f"controller {about[0]} is a candidate, epoch {epoch}")
        now = (quorum.active, quorum.epoch)
        if now != self.active and quorum.active is not None:
            who = state.named(quorum.active)
            self._add(number, event["t"], MomentKind.ELECTION, Level.WAIT, ("controller", *now), METADATA,
                      lambda about: f"{who} is the active controller, epoch {now[1]}")
        self.active = now

    def _group(self, number: int, event: Event) -> None:
        name = event["group"]
        if event["state"] == "PreparingRebalance":
            self._add(number, event["t"], MomentKind.REBALANCE, Level.WAIT, (name,), name,
                      lambda about: f"group {about[0]} rebalances")
        elif event["state"] == "Reconciling":
            self._add(number, event["t"], MomentKind.REBALANCE, Level.WAIT, (name,), name,
                      lambda about: f"group {about[0]} moves partitions")
        elif event["state"] == "Empty" and event["generation"] > 0:
            self._add(number, event["t"], MomentKind.REBALANCE, Level.WAIT, (name, "empty"), name,
                      lambda about: f"group {about[0]} has no members")

    def _fault(self, number: int, event: Event, state: RunState) -> None:
        if event["k"] != "fault":
            node, text, level = event.get("broker", event["b"]), "died", Level.BAD
            self._add(number, event["t"], MomentKind.FAULT, level, ("died", node), state.named(node),
                      lambda about: f"{about[0]} {text}")
            return
        told = None if event["b"] != 0 else fault_in_words(event, state.named)
        node = next(iter(arguments(event)), None)
        if event["fault"] == "boot" and isinstance(node, int) and node not in self.booted:
            self.booted[node] = None
            return
        if told is not None:
            self._add(number, event["t"], MomentKind.FAULT, told[1], (event["fault"], *arguments(event)), told[0],
                      lambda about: about[0])


_MEMBERS = {"killed": ("killed", Level.BAD), "died": ("died", Level.BAD), "paused": ("paused", Level.BAD),
            "resumed": ("goes on", Level.GOOD), "left": ("leaves", Level.WAIT)}
_OF_PARTITIONS = ("role", "partition", "isr", "truncate", "recover", "removed")


def _named(partitions: list[str]) -> str:
    return partitions[0] if len(partitions) == 1 else f"{len(partitions)} partitions"


def fault_in_words(event: Event, named: Callable[[int], str] = "broker {}".format) -> tuple[str, Level] | None:
    """Return what a fault did, in words for people, and its level; None for a fault that is not worth a mark. `named`: what
    a node is called."""
    args = arguments(event)
    words = _WORDS.get(event["fault"])
    if words is None:
        return None
    text, level = words
    if event["fault"] in ("cut", "slow", "reset"):
        one_way = event["fault"] == "cut" and len(args) > 2 and args[2]
        return f"{_end(args[0], named)} {'to' if one_way else 'and'} {_end(args[1], named)}: {text}", level
    return (f"{named(args[0])} {text}" if args else text), level


def _end(node: Any, named: Callable[[int], str]) -> str:
    return "clients" if node == CLIENTS else named(node)


_WORDS = {
    "kill": ("killed", Level.BAD), "powerloss": ("lost its power", Level.BAD), "stop": ("stopped", Level.WAIT),
    "pause": ("paused", Level.BAD), "resume": ("goes on", Level.GOOD), "restart": ("starts again", Level.GOOD),
    "boot": ("starts again", Level.GOOD), "add_broker": ("added", Level.GOOD), "wipe": ("has a new, empty disk", Level.BAD),
    "cut": ("cut", Level.BAD), "slow": ("slow link", Level.WAIT), "reset": ("connections reset", Level.WAIT),
    "hold_follower": ("copies nothing", Level.WAIT), "slow_follower": ("copies slowly", Level.WAIT),
    "fill_disk": ("has a full disk", Level.BAD), "fail_disk": ("has a failing disk", Level.BAD),
    "slow_disk": ("has a slow disk", Level.WAIT), "flip_bit": ("has a damaged bit on its disk", Level.BAD),
    "jump_clock": ("has another time", Level.WAIT), "drift_clock": ("has a drifting clock", Level.WAIT),
    "heal": ("all faults healed", Level.GOOD),
}
