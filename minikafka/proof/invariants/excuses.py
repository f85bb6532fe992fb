"""The anomalies that a permitted loss in an internal topic excuses in the clients' history, by group and transactional id.

No client reads an internal topic. So a loss there enters the history as facts about the groups and transactional ids that the
lost records are about, and about no others. Owns: the anomalies that such a loss may cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minikafka.broker.groups import records as group_records
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC
from minikafka.broker.transactions import records as transaction_records
from minikafka.broker.transactions.shell.coordinator import TRANSACTION_TOPIC
from minikafka.log.batch import records
from minikafka.proof.invariants.replica import Truth

# What the clients of a group, or of a transactional id, may see of it.
OF_GROUPS = ["lost-commit", "phantom-commit", "group-skip", "zombie-commit", "two-owners", "repeated-copy"]
OF_TRANSACTIONS = ["aborted-read", "torn-txn", "precommitted-read", "duplicate", "lost-write", "repeated-copy",
                   "missing-copy", "lost-commit"]  # the last: of the offsets that such a transaction was to commit


def excused_by_loss(truth: Truth, end: int) -> Iterator[dict[str, Any]]:
    """Yield facts for a history: the groups or transactional ids whose records from `end` on are lost, and their anomalies."""
    if truth.key[0] == TRANSACTION_TOPIC:
        keys = [r.key for header, raw in truth.in_order() if header.next_offset > end for r in records(raw) if r.key]
        ids = {transaction_records.read_transaction_key(key): None for key in keys}
        yield from ({"producer": id, "anomalies": OF_TRANSACTIONS} for id in ids if id is not None)
    elif truth.key[0] == OFFSETS_TOPIC:
        yield from ({"group": group, "anomalies": OF_GROUPS} for group in _groups(truth, end))


def _groups(truth: Truth, end: int) -> dict[str, None]:
    """Return the groups that lose records, or the marker of a transaction with their offsets."""
    batches = list(truth.in_order())
    ended = {header.producer_id for header, _ in batches if header.is_control and header.next_offset > end}
    found: dict[str, None] = {}
    for header, raw in batches:
        if not header.is_control and (header.next_offset > end or header.producer_id in ended):
            found |= {key.group: None for key in map(_group_key, records(raw)) if key is not None}
    return found


def _group_key(record: Any) -> Any:
    return group_records.read_key(record.key) if record.key else None
