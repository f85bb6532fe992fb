"""I17: the clients' own view: their history, judged with Jepsen's names by the checker that also judges live clusters.

Owns: what of a history a permitted loss in an internal topic excuses.
"""

from __future__ import annotations

from minikafka.broker.groups import OFFSETS_TOPIC
from minikafka.broker.transactions import TRANSACTION_TOPIC
from minikafka.sim.invariants.invariant import Invariant

SHOWN = 3
# What the clients may see of a permitted loss in an internal topic, which is in none of their partitions.
FOLLOWS = {OFFSETS_TOPIC: ("lost-commit", "phantom-commit", "group-skip", "zombie-commit", "two-owners", "repeated-copy"),
           TRANSACTION_TOPIC: ("aborted-read", "torn-txn", "precommitted-read", "duplicate", "lost-write",
                               "repeated-copy", "missing-copy")}


class HistoryIsValid(Invariant):
    """I17. A loss with permission is told to the history as a fact (`may-lose`)."""

    id = "I17"

    async def at_end(self) -> None:
        if self.watch.history is None:
            return
        from minikafka.history import check

        excused = {name for loss in self.watch.losses for name in FOLLOWS.get(self.watch.key(loss.name)[0], ())}
        for verdict in check(self.watch.history).verdicts:
            if verdict.valid is False and verdict.name not in excused:
                told = "; ".join(evidence.text for evidence in verdict.evidence[:SHOWN])
                self.fail(f"{verdict.name} ({verdict.count}): {told}", verdict.name)
