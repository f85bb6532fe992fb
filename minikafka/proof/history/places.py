"""Which value is at which offset: one log, in which every offset holds one value and every value stands once.

inconsistent-offsets  two values at one offset of one partition, by the answers to readers and producers.
duplicate             one value at two positions, though its producer was idempotent.
unexpected            read, and no producer sent it.
misplaced             read from another topic or partition than it was sent to.
aborted-read          read, though refused for certain, or (by a read_committed reader) of an aborted transaction.
What Jepsen does differently: unexpected is a name of its queue checker; misplaced is ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import tell
from .report import Evidence
from .story import COMMITTED, TP, HistoryTables, Op


def inconsistent_offsets(story: HistoryTables) -> Iterator[Evidence]:
    """Find two values at one offset."""
    senders: dict[tuple[TP, int], Op] = {}
    gone = story.topics("delete-topic")
    for send in story.sends:
        offset = send.offset
        if not send.ok or offset < 0 or send.get("topic") in gone:
            continue
        other = senders.setdefault((send.tp, offset), send)
        if other is not send:
            yield Evidence(f"{tell.place(send.tp, offset)}: {tell.send(other)}, and {tell.send(send)}", send.tp,
                           [*other.events, *send.events])
        for value, reader in story.seen.get(send.tp, {}).get(offset, {}).items():
            if value != send.get("value"):
                yield Evidence(f"{tell.send(send)}, but {tell.reader(reader)} read {value!r} there", send.tp,
                               [*send.events, *reader.events[:1]])
    for tp, offset, values in _positions(story):
        if len(values) > 1 and tp[0] not in gone:
            read = ", ".join(f"{value!r} by {tell.reader(op)}" for value, op in values.items())
            yield Evidence(f"{tell.place(tp, offset)} was read as {read}", tp, [op.events[0] for op in values.values()])


def duplicate(story: HistoryTables) -> Iterator[Evidence]:
    """Find one value at two positions."""
    first: dict[str, tuple[TP, int]] = {}
    for send in story.sends:
        if send.ok and send.get("value") is not None and send.offset >= 0:
            first[send.fields["value"]] = send.tp, send.offset
    for tp, offset, values in _positions(story):
        for value, op in values.items():
            if value is None or value in story.reused or tp[0] in story.topics("delete-topic"):
                continue
            other = first.setdefault(value, (tp, offset))
            send = story.sent.get(value)
            if other != (tp, offset) and (send is None or send.idempotent):
                events = send.events if send is not None else []
                yield Evidence(f"{value!r} is at {tell.place(*other)} and, read by {tell.reader(op)}, at "
                               f"{tell.place(tp, offset)}", tp, [*events, *op.events[:1]])


def unexpected(story: HistoryTables) -> Iterator[Evidence]:
    """Find values that no producer sent, in topics whose producers are part of the history."""
    topics = {send.get("topic") for send in story.sends}
    for tp, offset, values in _positions(story):
        for value, op in values.items():
            if value is not None and value not in story.sent and tp[0] in topics:
                yield Evidence(f"{tell.reader(op)} read {value!r} at {tell.place(tp, offset)}, which was never sent", tp,
                               op.events[:1])


def misplaced(story: HistoryTables) -> Iterator[Evidence]:
    """Find values read from another place than they were sent to."""
    for tp, offset, send, op in _read_sends(story):
        if send.get("topic") != tp[0] or send.get("partition") not in (None, tp[1]):
            yield Evidence(f"{tell.reader(op)} read at {tell.place(tp, offset)} what {tell.send(send)}", tp,
                           [*send.events, *op.events[:1]])


def aborted_read(story: HistoryTables) -> Iterator[Evidence]:
    """Find values that must not be there, or not for this consumer."""
    for tp, offset, send, op in _read_sends(story):
        if send.outcome == "fail":
            yield Evidence(f"{tell.reader(op)} read at {tell.place(tp, offset)} what {tell.send(send)}", tp,
                           [*send.events, *op.events[:1]])
    for tp, offset, send, op in committed_reads(story):
        txn = story.txn_of.get(send)
        if txn is not None and txn.outcome == "aborted":
            yield Evidence(f"{tell.reader(op)} (read_committed) read {send.get('value')!r} at {tell.place(tp, offset)} "
                           f"of the aborted {txn.name}", tp, [*send.events, *txn.ends[-1].events, *op.events[:1]])


def committed_reads(story: HistoryTables) -> Iterator[tuple[TP, int, Op, Op]]:
    """Yield (tp, offset, send, reader): what read_committed consumers got, once per reader, if its send is known."""
    for op in story.reads:
        if story.isolation(op) == COMMITTED:
            for topic, partition, offset, value in op.fields["records"]:
                send = story.sent.get(value)
                if send is not None and value not in story.reused:
                    yield (topic, partition), offset, send, op


def _read_sends(story: HistoryTables) -> Iterator[tuple[TP, int, Op, Op]]:
    """Yield (tp, offset, send, first reader) of all values read whose send is known."""
    for tp, offset, values in _positions(story):
        for value, op in values.items():
            send = story.sent.get(value) if value is not None else None
            if send is not None and value not in story.reused:
                yield tp, offset, send, op


def _positions(story: HistoryTables) -> Iterator[tuple[TP, int, dict[str | None, Op]]]:
    for tp, offsets in story.seen.items():
        for offset, values in offsets.items():
            yield tp, offset, values
