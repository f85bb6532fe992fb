"""The transactions of one partition as its leaders' appends tell them: where each began, and the marker that decided it.

    transactions = appended(transactions, event)        for every append of the leader

Owns: the last transactions of a partition. Of a producer that wrote before the trace began, the start is not known: such a
transaction begins with the first batch that the trace tells.
Invariants
  of one producer at most one transaction is open
  I-TXNFACTS-2  what a new leader writes over an old one's offsets undoes what stood there: records, and decisions
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from minikafka.lab.picture.frame import ShownTransaction

KEPT = 12                              # decided ones; older ones are forgotten


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
