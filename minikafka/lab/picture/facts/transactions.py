"""The transactions of one partition as its leaders' appends tell them: where each began, and the marker that decided it.

    transactions = appended(transactions, event)        for every append of the leader
    written = wrote(written, event)                     the same for the records of each: other records may lie between them

Owns: the last transactions of a partition, and every aborted record that the trace told of. Of a producer that wrote before
the trace began, the start is not known: such a transaction begins with the first batch that the trace tells.
Invariants
  of one producer at most one transaction is open
  I-TXNFACTS-2  what a new leader writes over an old one's offsets undoes what stood there: records, and decisions
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from minikafka.lab.picture.frame import ShownTransaction

KEPT = 12                              # decided ones; older ones are forgotten


@dataclass(frozen=True, slots=True)
class TransactionRecords:
    """Records [start, end) that one producer wrote in a transaction without another record between them, and the marker that
    decided them; `marker` None: they are not decided."""

    producer: int
    start: int
    end: int
    marker: int | None = None
    aborted: bool = False


def wrote(known: tuple[TransactionRecords, ...], event: dict[str, Any]) -> tuple[TransactionRecords, ...]:
    """Return the records of transactions after an append of the leader (I-TXNFACTS-2)."""
    base, producer = event["base"], event.get("txn")
    known = _before(known, base)
    if producer is None:
        return known
    if "marker" in event:
        abort = event["marker"] == "abort"
        decided = tuple(replace(each, marker=base, aborted=abort) if each.producer == producer and each.marker is None else each
                        for each in known)
        committed = [each for each in decided if each.marker is not None and not each.aborted]
        return tuple(each for each in decided if each not in committed[: max(0, len(committed) - KEPT)])
    end, last = event.get("last", base) + 1, known[-1] if known else None
    if last is not None and (last.producer, last.end, last.marker) == (producer, base, None):
        return *known[:-1], replace(last, end=end)
    return *known, TransactionRecords(producer, base, end)


def _before(known: tuple[TransactionRecords, ...], end: int) -> tuple[TransactionRecords, ...]:
    """Return the records of a log that ends at `end`; a decision that stood behind it is undone."""
    if all(each.end <= end and (each.marker or 0) < end for each in known):
        return known
    left = [replace(each, end=min(each.end, end)) for each in known if each.start < end]
    return tuple(replace(each, marker=None, aborted=False) if (each.marker or 0) >= end else each for each in left)


def appended(known: tuple[ShownTransaction, ...], event: dict[str, Any]) -> tuple[ShownTransaction, ...]:
    """Return the transactions after an append of the leader, which may belong to none."""
    known = cut(known, event["base"])
    producer = event.get("txn")
    if producer is None:
        return known
    mine = next((each for each in known if each.producer == producer and each.marker is None), None)
    if "marker" not in event:
        return known if mine is not None else (*known, ShownTransaction(producer, event["base"]))
    if mine is None:                                   # a transaction that wrote nothing here since the trace began
        return known
    decided = replace(mine, marker=event["base"], committed=event["marker"] == "commit")
    return forgotten(tuple(decided if each is mine else each for each in known))


def cut(known: tuple[ShownTransaction, ...], end: int) -> tuple[ShownTransaction, ...]:
    """Return the transactions of a log that ends at `end`."""
    if all(each.start < end and (each.marker is None or each.marker < end) for each in known):
        return known
    return tuple(replace(each, marker=None, committed=False) if each.marker is not None and each.marker >= end else each
                 for each in known if each.start < end)


def forgotten(known: tuple[ShownTransaction, ...]) -> tuple[ShownTransaction, ...]:
    """Return the open ones and the last of the decided ones."""
    decided = [each for each in known if each.marker is not None]
    old = decided[: max(0, len(decided) - KEPT)]
    return tuple(each for each in known if each not in old)
