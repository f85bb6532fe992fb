"""A month's bill for a commit policy: what is charged twice, what is never charged, and the commits.

    bill = bill_of(loop)              # the loop is a student's, or one of POLICIES, on a consumer of paper
    bill.total, bill.row

A step of the loop takes its time: work a tenth of a second, a commit that waits five milliseconds (both measured in the lab). A
crash falls on any moment alike; so each step is tried as the last one, and counts by the time that it takes.

Owns: the prices. Invariants
  a ride is charged twice, or never, because a second process did so or did not: nothing is derived from the policy
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.lab.labs.lab05.paper import Loop, PaperWorld, life

RIDES, CRASHES = 100_000, 10                     # a month
TWICE, SKIPPED, COMMIT = 30.0, 60.0, 0.01        # euros for each
NIGHT = {"size": 100, "partitions": 1}           # the rides that are played
TAKES = (("work", 0.1), ("commit", 0.005), ("", 0.001))   # seconds of a step, by how its line begins


@dataclass(frozen=True)
class Bill:
    """The costs of a policy in a month. `twice` and `skipped`: rides for each crash, on average."""

    commits: int
    twice: float
    skipped: float

    @property
    def total(self) -> float:
        return self.commits * COMMIT + CRASHES * (self.twice * TWICE + self.skipped * SKIPPED)

    @property
    def row(self) -> dict[str, Any]:
        return {"commits": self.commits, "twice": round(CRASHES * self.twice, 1), "skipped": round(CRASHES * self.skipped, 1),
                "euros": round(self.total)}


def bill_of(loop: Loop) -> Bill:
    """Play a night without a crash, then one with a crash at each step."""
    calm = PaperWorld(**NIGHT)
    life(loop, calm)
    weight = twice = skipped = 0.0
    for dies, what in enumerate(calm.said, 1):
        struck = PaperWorld(**NIGHT)
        life(loop, struck, dies)
        life(loop, struck)
        takes = next(seconds for begins, seconds in TAKES if what.startswith(begins))
        weight += takes
        twice += takes * sum(count - 1 for count in Counter(struck.done).values())
        skipped += takes * (struck.size - len({*struck.done}))
    return Bill(calm.commits * RIDES // calm.size, twice / weight, skipped / weight)


# --- the policies of the lab's table, as kafka-python has them ------------------------------------------------------------

def _policy(consumer: Any, work: Callable[[Any], None], before: bool = False, every: int = 0, each: bool = False) -> None:
    """Commit before the work on a batch, after it once `every` records are done since the last commit, or after each record."""
    since = 0
    while batch := consumer.poll(timeout_ms=2000):
        if before:
            consumer.commit()
        for tp, records in batch.items():
            for record in records:
                work(record)
                since += 1
                if each:
                    consumer.commit({tp: record.offset + 1})
        if every and since >= every:
            consumer.commit()
            since = 0


POLICIES: dict[str, dict[str, Any]] = {"auto": {"every": 50}, "sync per batch": {"every": 10}, "sync per record": {"each": True},
                                       "before the work": {"before": True}}


def bills() -> dict[str, dict[str, Any]]:
    """Return a row for each policy of the table; auto commits every five seconds, and so every fifty rides."""
    return {name: bill_of(partial(_policy, **how)).row for name, how in POLICIES.items()}
