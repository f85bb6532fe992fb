"""The checker: one history in, one verdict per anomaly out. Pure, so it judges simulated and live histories alike.

Names are Jepsen's (its Kafka workload) where Jepsen has one. What is excused by a fact in the history (an unclean
election, an announced loss) makes a verdict unknown, never fine: the history then cannot tell a bug from the excuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from minikafka.client.history import Event

from . import groups, order, places, polls, transactions, writes
from .report import SHOWN, AnomalyVerdict, Evidence, Report
from .story import HistoryTables

Check = Callable[[HistoryTables], Iterator[Evidence]]

CHECKS: dict[str, Check] = {
    "aborted-read": places.aborted_read,
    "duplicate": places.duplicate,
    "inconsistent-offsets": places.inconsistent_offsets,
    "unexpected": places.unexpected,
    "misplaced": places.misplaced,
    "poll-skip": partial(polls.poll_skip, inside=False),
    "int-poll-skip": partial(polls.poll_skip, inside=True),
    "nonmonotonic-poll": partial(polls.nonmonotonic_poll, inside=False),
    "int-nonmonotonic-poll": partial(polls.nonmonotonic_poll, inside=True),
    "nonmonotonic-send": order.nonmonotonic_send,
    "int-send-skip": order.int_send_skip,
    "precommitted-read": transactions.precommitted_read,
    "torn-txn": transactions.torn_txn,
    "repeated-copy": transactions.repeated_copy,
    "missing-copy": transactions.missing_copy,
    "lost-commit": groups.lost_commit,
    "phantom-commit": groups.phantom_commit,
    "zombie-commit": groups.zombie_commit,
    "group-skip": groups.group_skip,
    "two-owners": groups.two_owners,
}
ALLOWED = {"int-send-skip": "allowed: Kafka's transactions do not isolate writes"}
NAMES = ("lost-write", "unseen", *CHECKS)


def check(history: Iterable[Event]) -> Report:
    """Judge a history (a History, or any list of its events)."""
    story = HistoryTables(history)
    missing = writes.find_missing(story)
    verdicts = [_judge(story, "lost-write", partial(writes.lost_write, missing=missing)),
                _judge(story, "unseen", partial(writes.unseen, missing=missing))]
    verdicts += [_judge(story, name, find) for name, find in CHECKS.items()]
    _not_read(verdicts[0], sum(lack.fate == "unknown" for lack in missing))
    for name in ("lost-write", "duplicate"):
        if story.reused:
            _doubt(next(v for v in verdicts if v.name == name), f"{len(story.reused)} values were sent more than once")
    return Report(verdicts, _counts(story))


def _judge(story: HistoryTables, name: str, find: Check) -> AnomalyVerdict:
    """Run one check; findings that a fact excuses are set apart."""
    shown: list[Evidence] = []
    count, excused, reason = 0, 0, ""
    for evidence in find(story):
        excuse = story.excuse(evidence.tp) or story.forgotten(name, evidence.events)
        if excuse is not None:
            excused, reason = excused + 1, excuse
            continue
        count += 1
        if len(shown) < SHOWN:
            shown.append(evidence)
    if name in ALLOWED:
        return AnomalyVerdict(name, True, count, reason=ALLOWED[name] if count else "")
    if count:
        return AnomalyVerdict(name, False, count, shown)
    return AnomalyVerdict(name, None, excused, reason=f"{excused} excused: {reason}") if excused else AnomalyVerdict(name, True)


def _not_read(lost: AnomalyVerdict, unknown: int) -> None:
    if unknown:
        _doubt(lost, f"{unknown} acknowledged records that no read has reached")


def _doubt(verdict: AnomalyVerdict, reason: str) -> None:
    """Make a verdict that seemed fine unknown; a violated one stays violated."""
    if verdict.valid is not False:
        verdict.valid, verdict.reason = None, "; ".join(filter(None, [verdict.reason, reason]))


def _counts(story: HistoryTables) -> dict[str, int]:
    ends = [txn.outcome for txn in story.txns]
    return {
        "sent": len(story.sends),
        "acked": sum(send.ok for send in story.sends),
        "of unknown outcome": sum(send.outcome == "info" for send in story.sends),
        "refused": sum(send.outcome == "fail" for send in story.sends),
        "read": sum(len(op.fields["records"]) for op in story.reads),
        "commits": sum(op.ok for op in story.of["commit"]),
        "transactions": len(ends),
        "committed": ends.count("committed"),
        "aborted": ends.count("aborted"),
    }
