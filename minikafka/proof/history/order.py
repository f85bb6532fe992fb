"""The order in which one producer's records came to stand in the log.

nonmonotonic-send  a record sent after another was acknowledged, or (idempotent) after another was sent, is before it.
int-send-skip      other producers' records are between those of one transaction: allowed in Kafka, whose transactions
                   do not isolate writes; counted, never a violation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from . import tell
from .report import Evidence
from .story import TP, HistoryTables, Op


def nonmonotonic_send(story: HistoryTables) -> Iterator[Evidence]:
    """Judge by process and partition."""
    by_sender: dict[tuple[str, TP], list[Op]] = defaultdict(list)
    gone = story.topics("delete-topic")
    for send in story.sends:
        if send.ok and send.offset >= 0 and send.get("topic") not in gone:
            by_sender[send.process, send.tp].append(send)
    for sends in by_sender.values():
        yield from _out_of_order(sends)


def _out_of_order(sends: list[Op]) -> Iterator[Evidence]:
    """Yield pairs out of order. `sends` are in the order of invokes; one binds a later one if idempotent or answered before."""
    answered = sorted(sends, key=lambda send: send.end)
    done, highest = 0, None
    for send in sends:
        while answered[done].end < send.at:  # stops at the answer of `send` itself
            highest = _higher(highest, answered[done])
            done += 1
        if highest is not None and send.offset < highest.offset:
            yield Evidence(f"{tell.send(send)}, after {highest.get('value')!r} at {highest.offset}", send.tp,
                           [*highest.events, *send.events])
        if send.idempotent:
            highest = _higher(highest, send)


def _higher(one: Op | None, other: Op) -> Op:
    return other if one is None or other.offset > one.offset else one


def int_send_skip(story: HistoryTables) -> Iterator[Evidence]:
    """Judge within one transaction."""
    for txn in story.txns:
        last: dict[TP, Op] = {}
        for send in txn.sends:
            if not send.ok or send.offset < 0:
                continue
            before = last.get(send.tp)
            if before is not None and send.offset > before.offset + 1:
                yield Evidence(f"{txn.name}: {tell.place(send.tp, before.offset)}, then {send.offset}", send.tp,
                               [*before.events, *send.events])
            last[send.tp] = send
