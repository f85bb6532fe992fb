"""The fate of acknowledged writes.

lost-write   acknowledged, and not in the whole partition read after healing, or a reader went past its offset.
unseen       acknowledged, and the reader of the whole partition got stuck before it (without such a reader: unknown).
What Jepsen does differently: it has no complete read at the end, so its lost-write needs a reader that read further, and
a record that was read once counts as kept; with a `final` it must still be there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from . import tell
from .report import Evidence
from .story import TP, UNKNOWN, HistoryTables, Op


class Missing(NamedTuple):
    """An acknowledged send whose record is not there; `by` is the reader that shows it."""

    send: Op
    fate: str  # lost, unseen, unknown
    by: Op | None


def lost_write(story: HistoryTables, missing: Iterable[Missing]) -> Iterator[Evidence]:
    """Find sends that were acknowledged and are gone."""
    for send, fate, by in missing:
        if fate == "lost" and by is not None:
            before = story.seen.get(send.tp, {}).get(send.offset, {}).get(send.get("value"))
            once = f"; {tell.reader(before)} had read it" if before is not None else ""
            how = f"read by {tell.reader(by)}" if by.f == "final" else f"{tell.reader(by)} read past it"
            yield Evidence(f"{tell.send(send)}: not there, {how}{once}", send.tp, [*send.events, *by.events[:1]])


def unseen(story: HistoryTables, missing: Iterable[Missing]) -> Iterator[Evidence]:
    """Find acknowledged sends that no reader of the whole partition could reach."""
    for send, fate, by in missing:
        if fate == "unseen" and by is not None:
            yield Evidence(f"{tell.send(send)}: {tell.reader(by)} did not get there", send.tp, send.events)


def find_missing(story: HistoryTables) -> list[Missing]:
    """Return all acknowledged sends whose records are not where they should be."""
    passed, explained = gaps(story), explanation(story)
    values: dict[Op, set[str | None]] = {}
    for finals in story.finals.values():
        for final in finals:
            values[final] = {record[3] for record in final.get("records") or ()}
    found = []
    for send in story.acked:
        if send.get("value") not in story.reused and (lack := _fate(story, send, values, passed)) is not None:
            if not explained(send):
                found.append(lack)
    return found


def _fate(story: HistoryTables, send: Op, values: dict[Op, set[str | None]],
          passed: dict[TP, list[tuple[int, int, Op]]]) -> Missing | None:
    """Return why a send is missing, None if its record is there."""
    value, last = send.get("value"), None
    held, since = False, story.promised(send)
    for final in story.finals.get(send.tp, ()):
        if final.at < since:
            continue
        if value in values[final]:
            held = True
        elif final.ok or _got_past(final, send.offset):
            return Missing(send, "lost", final)
        last = final
    if held or last is None and story.position.get(value, (None, 0))[0] == send.tp:
        return None
    if last is not None:
        return Missing(send, "unseen", last)
    by = _passed_over(passed.get(send.tp, []), send.offset)
    return Missing(send, "unknown" if by is None else "lost", by)


def _got_past(final: Op, offset: int) -> bool:
    """Return whether a reader that stopped early nevertheless got past this offset."""
    records = final.get("records")
    return bool(records) and 0 <= offset < records[-1][2]


def gaps(story: HistoryTables) -> dict[TP, list[tuple[int, int, Op]]]:
    """Return where a reader, within one read, went from one offset to a later one and got nothing in between; sorted."""
    found: dict[TP, list[tuple[int, int, Op]]] = defaultdict(list)
    for op in story.reads:
        last: dict[TP, int] = {}
        for topic, partition, offset, _ in op.fields["records"]:
            before = last.get((topic, partition))
            if before is not None and offset > before + 1:
                found[topic, partition].append((before, offset, op))
            last[topic, partition] = offset
    for passed in found.values():
        passed.sort(key=lambda gap: gap[:2])
    return found


def _passed_over(passed: list[tuple[int, int, Op]], offset: int) -> Op | None:
    """Return the reader that went from before the offset to behind it."""
    for before, after, reader in passed[:bisect_left(passed, offset, key=lambda gap: gap[0])]:
        if before < offset < after:
            return reader
    return None


def _may_be_at(story: HistoryTables, send: Op) -> int:
    """Return the last offset at which the record of a send may be, -1 for nowhere: an acknowledged one is where the answer says,
    one of unknown outcome where a reader saw it, and a tombstone of unknown outcome anywhere: readers cannot tell tombstones
    apart."""
    if send.ok:
        return send.offset
    value = send.get("value")
    if value is None:
        return UNKNOWN if send.outcome == "info" else -1
    tp, offset = story.position.get(value, (None, -1))
    return offset if tp == send.tp else -1


def explanation(story: HistoryTables) -> Callable[[Op], bool]:
    """Return a function that says why a send's record may be gone: deleted on demand, by age, with its topic, or compacted."""
    deleted, aged, compacted = story.topics("delete-topic"), story.topics("retention"), story.topics("compacts")
    starts = {tp: max(final.get("start") or 0 for final in finals) for tp, finals in story.finals.items()}
    newest: dict[tuple[TP | None, str | None], int] = {}  # by partition and key: the last record that may be there
    for send in story.sends:
        txn = story.txn_of.get(send)
        if send.get("topic") in compacted and (txn is None or txn.outcome != "aborted"):
            name = send.tp, send.get("key")
            newest[name] = max(newest.get(name, -1), _may_be_at(story, send))

    def explained(send: Op) -> bool:
        tp, offset = send.tp, send.offset
        if tp[0] in deleted or offset < 0:
            return tp[0] in deleted
        return (offset < story.deleted_below(tp) or tp[0] in aged and offset < starts.get(tp, 0)
                or tp[0] in compacted and offset < newest.get((tp, send.get("key")), -1))

    return explained
