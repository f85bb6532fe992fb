"""A history arranged for the checks: operations with a beginning and an end, what was written, what was read.

Owns: the pairing of invokes with their ends, and the tables every check reads (nothing here judges).
Invariants: time is the place in the list of events: A was before B if A's end stands before B's invoke.
            I-TABLE-2 an operation without an end is `info`, and ends after everything else.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from minikafka.client.history import Event

TP = tuple[str, int]
COMMITTED = "read_committed"
UNKNOWN = 1 << 63  # the offset up to which a deletion went whose answer never came: beyond all


@dataclass(slots=True, eq=False)
class Op:
    """One operation; `at` and `end` are places in the list of events."""

    process: str
    f: str
    at: int
    end: int
    outcome: str  # ok, fail, info
    fields: dict[str, Any]
    events: list[Event]

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    @property
    def tp(self) -> TP | None:
        """Return the topic and partition, once they are known."""
        partition = self.fields.get("partition")
        return None if partition is None else (self.fields["topic"], partition)

    @property
    def idempotent(self) -> bool:
        """Return whether a send was idempotent: as the history says, or else as clients do it by default."""
        return bool(self.get("idempotent", self.get("acks", -1) in (-1, "all")))

    @property
    def offset(self) -> int:
        """Return the offset of an acknowledged send, -1 if the client does not know it."""
        offset = self.fields.get("offset")
        return -1 if offset is None else int(offset)

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"


@dataclass(slots=True, eq=False)
class Txn:
    """One transaction, as its producer knows it."""

    name: str
    process: str
    id: str | None = None  # transactional, if it was told
    sends: list[Op] = field(default_factory=list)
    commits: list[Op] = field(default_factory=list)  # offsets, by send_offsets_to_transaction
    ends: list[Op] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """Return "committed", "aborted" or "unknown"."""
        if any(end.ok and end.get("commit", True) for end in self.ends):
            return "committed"
        aborts = (end.ok and not end.get("commit", True) for end in self.ends)
        refused = (end.outcome == "fail" and end.get("commit", True) for end in self.ends)
        return "aborted" if any(aborts) or any(refused) else "unknown"

    @property
    def groups(self) -> set[str]:
        """Return the groups for which the transaction commits offsets."""
        return {commit.get("group") for commit in self.commits}

    @property
    def commit_requested(self) -> int | None:
        """Return when a commit was first asked for (the place of its invoke); None if never."""
        return min((end.at for end in self.ends if end.get("commit", True)), default=None)

    @property
    def committed_by(self) -> int | None:
        """Return when the commit was acknowledged; None if it was not."""
        return min((end.end for end in self.ends if end.ok and end.get("commit", True)), default=None)


def pair(events: Iterable[Event]) -> list[Op]:
    """Return operations in the order of their invokes. An end without an invoke stands for itself."""
    ops: list[Op] = []
    by_number: dict[tuple[str, int], Op] = {}
    by_name: dict[tuple[Any, ...], deque[Op]] = defaultdict(deque)
    place = -1
    for place, event in enumerate(events):
        numbered = "op" in event
        if event["type"] == "invoke":
            op = Op(event["process"], event["f"], place, -1, "info", dict(event), [event])
            ops.append(op)
            if numbered:
                by_number[op.process, event["op"]] = op
            else:
                by_name[_name(event)].append(op)
            continue
        if numbered:
            found = by_number.pop((event["process"], event["op"]), None)
        else:
            found = _first_or_last(by_name.get(_name(event)), event["f"])
        if found is None:
            ops.append(Op(event["process"], event["f"], place, place, event["type"], dict(event), [event]))
        else:
            found.end, found.outcome = place, event["type"]
            found.fields.update(event)
            found.events.append(event)
    for op in ops:
        if op.end < 0:
            op.end = place + 1
    return ops


def _first_or_last(waiting: deque[Op] | None, f: str) -> Op | None:
    """Choose the invoke of an end: commits may be in flight together and end in order; of others an older one was given up."""
    if not waiting:
        return None
    return waiting.popleft() if f == "commit" else waiting.pop()


def _name(event: Event) -> tuple[Any, ...]:
    return event["process"], event["f"], event.get("value"), event.get("txn"), event.get("group")


class HistoryTables:
    """The tables. `seen` is what any reader got: position -> {value: the first operation that read it}."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.ops = pair(events)
        self.of: dict[str, list[Op]] = defaultdict(list)
        for op in self.ops:
            self.of[op.f].append(op)
        self.sent: dict[str, Op] = {}  # value -> its send
        self.reused: set[str] = set()  # values that were sent more than once: they cannot be judged
        self.txns: list[Txn] = []
        self.txn_of: dict[Op, Txn] = {}
        self.seen: dict[TP, dict[int, dict[str | None, Op]]] = defaultdict(dict)
        self.seen_committed: dict[TP, dict[int, Op]] = defaultdict(dict)  # the same, by read_committed readers
        self.position: dict[str, tuple[TP, int]] = {}  # where a value was first read
        self.finals: dict[TP, list[Op]] = defaultdict(list)
        self._transactions()
        self._sends()
        self._reads()

    # --- what happened ------------------------------------------------------------------------------------------

    @property
    def sends(self) -> list[Op]:
        return self.of["send"]

    @property
    def acked(self) -> Iterator[Op]:
        """Return sends that were acknowledged and, if in a transaction, committed: their records must be there."""
        for op in self.of["send"]:
            if op.ok and op.get("acks", -1) != 0 and op.tp is not None and op.get("value") is not None:
                txn = self.txn_of.get(op)
                if txn is None or txn.outcome == "committed":
                    yield op

    def promised(self, send: Op) -> int:
        """Return the moment from which an acknowledged record must be there for every reader."""
        txn = self.txn_of.get(send)
        return send.end if txn is None or txn.committed_by is None else max(send.end, txn.committed_by)

    @property
    def reads(self) -> Iterator[Op]:
        """Return everything that returned records."""
        for op in self.ops:
            if op.f in ("poll", "final") and op.get("records"):
                yield op

    def isolation(self, op: Op) -> str:
        return str(op.get("isolation") or "read_uncommitted")

    def known(self, tp: TP, isolation: str) -> Iterable[int]:
        """Return offsets at which a reader of this isolation must find a record, because such a reader did."""
        return (self.seen_committed if isolation == COMMITTED else self.seen).get(tp, {})

    def _transactions(self) -> None:
        """Collect the transactions; a name that begins again begins another transaction."""
        current: dict[str, Txn] = {}
        for op in self.ops:
            name = op.get("txn")
            if name is None:
                continue
            if op.f == "begin" or name not in current:
                current[name] = Txn(name, op.process, op.get("producer"))
                self.txns.append(current[name])
            txn = current[name]
            self.txn_of[op] = txn
            kept = {"send": txn.sends, "commit": txn.commits, "end": txn.ends}.get(op.f)
            if kept is not None:
                kept.append(op)

    def _sends(self) -> None:
        for op in self.of["send"]:
            value = op.get("value")
            if value is None:
                continue
            if value in self.sent:
                self.reused.add(value)
            self.sent.setdefault(value, op)

    def _reads(self) -> None:
        for op in self.reads:
            committed = self.isolation(op) == COMMITTED
            for topic, partition, offset, value in op.fields["records"]:
                tp = topic, partition
                self.seen[tp].setdefault(offset, {}).setdefault(value, op)
                self.position.setdefault(value, (tp, offset))
                if committed:
                    self.seen_committed[tp].setdefault(offset, op)
        for op in self.of["final"]:
            if op.outcome != "fail" and op.tp is not None:
                self.finals[op.tp].append(op)

    # --- what excuses -------------------------------------------------------------------------------------------

    def excuse(self, tp: TP | None) -> str | None:
        """Return why records of this partition may be lost, None if they may not."""
        for fact in self.of["elect-unclean"]:
            if fact.get("topic") in (None, tp and tp[0]) and fact.get("partition") in (None, tp and tp[1]):
                return "an unclean election was allowed"
        for fact in self.of["may-lose"]:
            where = fact.get("topic") in (None, tp and tp[0]) and fact.get("partition") in (None, tp and tp[1])
            if where and fact.get("anomalies") is None:
                return str(fact.get("why") or "a loss was announced")
        return None

    def forgotten(self, anomaly: str, events: list[Event]) -> str | None:
        """Return why a coordinator may have forgotten something about the groups or transactional ids of these events, so that
        they show such an anomaly; None if it may not."""
        facts = [fact for fact in self.of["may-lose"] if anomaly in (fact.get("anomalies") or ())]
        if not facts:
            return None
        concerned = self._concerned(events)
        return next((str(fact.get("why")) for fact in facts
                     if {("group", fact.get("group")), ("producer", fact.get("producer"))} & concerned), None)

    def _concerned(self, events: list[Event]) -> set[tuple[str, str]]:
        """Return the groups and transactional ids that an anomaly with these events is about: theirs, those for which they
        commit, and those that commit for them."""
        names = {event["txn"] for event in events if event.get("txn") is not None}
        groups = {event["group"] for event in events if event.get("group") is not None}
        txns = [txn for txn in self.txns if txn.name in names or groups & txn.groups]
        groups = groups.union(*(txn.groups for txn in txns))
        return {("group", group) for group in groups} | {("producer", txn.id) for txn in txns if txn.id is not None}

    def deleted_below(self, tp: TP) -> int:
        """Return the offset below which records were, or may have been, deleted on demand."""
        deletions = (op for op in self.of["delete-records"] if op.tp == tp and op.outcome != "fail")
        return max((op.get("offset", UNKNOWN) for op in deletions), default=0)

    def topics(self, fact: str) -> set[str]:
        """Return the topics about which a fact was told."""
        return {f.get("topic") for f in self.of[fact] if f.outcome != "fail"}
