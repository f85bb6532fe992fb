"""Transactions: all or nothing, and nothing before its time.

precommitted-read  a read_committed reader had a record before its producer asked to commit its transaction.
torn-txn           of one transaction some records are there for read_committed readers and others are not.
repeated-copy      one record copied twice by committed transactions (exactly once: read, process, write).
missing-copy       a transaction committed an offset past a record of which there is no copy.
What Jepsen does differently: it names neither torn transactions (its Bufstream analysis tells of some) nor copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from . import tell
from .places import committed_reads
from .report import Evidence
from .story import COMMITTED, TP, HistoryTables, Op, Txn


def precommitted_read(story: HistoryTables) -> Iterator[Evidence]:
    """Find records read before their time."""
    for tp, offset, send, op in committed_reads(story):
        txn = story.txn_of.get(send)
        if txn is None or txn.outcome == "aborted":
            continue
        requested = txn.commit_requested
        if requested is None or op.end < requested:
            when = "which was never committed" if requested is None else "before its commit was requested"
            yield Evidence(f"{tell.reader(op)} read {send.get('value')!r} at {tell.place(tp, offset)} of {txn.name}, "
                           f"{when}", tp, [*send.events, *op.events[:1]])


def torn_txn(story: HistoryTables) -> Iterator[Evidence]:
    """Judge by complete read_committed reads after the end of the transaction."""
    there = _final_values(story)
    for txn in story.txns:
        judged = [send for send in txn.sends if send.ok and _judged(story, there, txn, send)]
        shown = [send for send in judged if send.get("value") in there[send.tp]]
        if 0 < len(shown) < len(judged):
            gone = next(send for send in judged if send.get("value") not in there[send.tp])
            yield Evidence(f"{txn.name} ({txn.outcome}): {len(shown)} of {len(judged)} records are there; "
                           f"{tell.send(shown[0])} is, {tell.send(gone)} is not", gone.tp,
                           [*shown[0].events, *gone.events])


def _judged(story: HistoryTables, there: dict[TP, set[str | None]], txn: Txn, send: Op) -> bool:
    ended = max((end.end if end.ok else end.at for end in txn.ends), default=send.end)
    return send.tp in there and all(final.at > ended for final in story.finals[send.tp])


def _final_values(story: HistoryTables) -> dict[TP, set[str | None]]:
    """Yield partitions that a read_committed reader read as a whole, and the values it found."""
    left_out = story.topics("compacts") | story.topics("delete-topic") | story.topics("retention")
    return {tp: {record[3] for final in finals for record in final.get("records") or ()}
            for tp, finals in story.finals.items()
            if tp[0] not in left_out and not story.deleted_below(tp)
            and all(final.ok and story.isolation(final) == COMMITTED for final in finals)}


def repeated_copy(story: HistoryTables) -> Iterator[Evidence]:
    """Judge by source record and target topic. Where source records were lost, another may have come in one's place."""
    for (topic, partition, offset, target), copies in _copies(story).items():
        if len(copies) > 1:
            source = topic, partition
            shown = ", ".join(f"{copy.get('value')!r} in {story.txn_of[copy].name}" for copy in copies[:3])
            yield Evidence(f"{tell.place(source, offset)} was copied {len(copies)} times to {target}: {shown}",
                           copies[1].tp if story.excuse(source) is None else source,
                           [event for copy in copies[:3] for event in copy.events])


def missing_copy(story: HistoryTables) -> Iterator[Evidence]:
    """Find records below the offset that a committed transaction moved its group to, from the first copied one on."""
    copies = _copies(story)
    first: dict[tuple[str, int, str], int] = {}  # by source partition and target
    for topic, partition, offset, target in copies:
        first[topic, partition, target] = min(offset, first.get((topic, partition, target), offset))
    for (tp, target), (reached, commit) in _copied_to(story).items():
        for offset, op in sorted(story.seen_committed.get(tp, {}).items()):
            if first.get((*tp, target), reached) <= offset < reached and (*tp, offset, target) not in copies:
                yield Evidence(f"{tell.place(tp, offset)}, read by {tell.reader(op)}, has no copy in {target}, though "
                               f"{commit.process} committed {reached}", tp, [*op.events[:1], *commit.events])


def _copied_to(story: HistoryTables) -> dict[tuple[TP, str], tuple[int, Op]]:
    """Return by source partition and target how far committed transactions moved their groups, and the commit."""
    reached: dict[tuple[TP, str], tuple[int, Op]] = {}
    for txn in story.txns:
        targets = {send.get("topic") for send in txn.sends if send.get("source") is not None}
        if txn.outcome == "committed" and len(targets) == 1:
            (target,) = targets
            for commit in txn.commits:
                for name, offset in (commit.get("offsets") or {}).items():
                    if offset > reached.get((split(name), target), (-1, commit))[0]:
                        reached[split(name), target] = offset, commit
    return reached


def _copies(story: HistoryTables) -> dict[tuple[str, int, int, str], list[Op]]:
    """Return by source record and target the copies that count, committed or seen by read_committed readers."""
    seen = {value for tp, offsets in story.seen_committed.items() for offset in offsets for value in story.seen[tp][offset]}
    found: dict[tuple[str, int, int, str], list[Op]] = defaultdict(list)
    for txn in story.txns:
        for send in txn.sends:
            if send.get("source") is not None and (txn.outcome == "committed" and send.ok or send.get("value") in seen):
                found[*send.fields["source"], send.get("topic")].append(send)
    return found


def split(name: str) -> TP:
    """Return ("topic", 0) for "topic-0"."""
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)
