"""I17: the clients' own view: their history, judged with Jepsen's names by the checker that also judges live clusters.

A loss with permission is told to the history as facts (`may-lose`, minikafka/history/history.py): of the partition; and
where the partition is an internal one, which no client reads, of the groups and transactional ids of which the lost
records had spoken, and of no others.

Owns: what of a history a permitted loss in an internal topic excuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.broker.groups import OFFSETS_TOPIC
from minikafka.broker.transactions import TRANSACTION_TOPIC
from minikafka.log.batch import records
from minikafka.protocol import group_records, transaction_records
from minikafka.sim.invariants.invariant import Invariant
from minikafka.sim.invariants.replica import Truth

SHOWN = 3
# What the clients of a group, or of a transactional id, may see of it.
OF_GROUPS = ["lost-commit", "phantom-commit", "group-skip", "zombie-commit", "two-owners", "repeated-copy"]
OF_TRANSACTIONS = ["aborted-read", "torn-txn", "precommitted-read", "duplicate", "lost-write", "repeated-copy",
                   "missing-copy"]


class HistoryIsValid(Invariant):
    """I17."""

    id = "I17"

    async def at_end(self) -> None:
        if self.watch.history is None:
            return
        from minikafka.history import check

        for verdict in check(self.watch.history).verdicts:
            if verdict.valid is False:
                told = "; ".join(evidence.text for evidence in verdict.evidence[:SHOWN])
                self.fail(f"{verdict.name} ({verdict.count}): {told}", verdict.name)


def excused_by_loss(truth: Truth, end: int) -> Iterator[dict[str, Any]]:
    """Whom the loss of what an internal partition holds from `end` on concerns, and in what, as facts for a history."""
    if truth.key[0] == TRANSACTION_TOPIC:
        keys = [r.key for header, raw in truth.in_order() if header.next_offset > end for r in records(raw) if r.key]
        ids = {transaction_records.read_transaction_key(key): None for key in keys}
        yield from ({"producer": id, "anomalies": OF_TRANSACTIONS} for id in ids if id is not None)
    elif truth.key[0] == OFFSETS_TOPIC:
        yield from ({"group": group, "anomalies": OF_GROUPS} for group in _groups(truth, end))


def _groups(truth: Truth, end: int) -> dict[str, None]:
    """Whose records are lost, or the marker of whose transaction."""
    batches = list(truth.in_order())
    ended = {header.producer_id for header, _ in batches if header.is_control and header.next_offset > end}
    found: dict[str, None] = {}
    for header, raw in batches:
        if not header.is_control and (header.next_offset > end or header.producer_id in ended):
            found |= {key.group: None for key in map(_group_key, records(raw)) if key is not None}
    return found


def _group_key(record: Any) -> Any:
    return group_records.read_key(record.key) if record.key else None
