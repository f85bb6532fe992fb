"""The order in which one reader was given records, within one poll (int-) and from poll to poll.

poll-skip, int-poll-skip                    it went past an offset at which a reader of its isolation found a record.
nonmonotonic-poll, int-nonmonotonic-poll    it was given the same offset again, or an earlier one.
A seek, and an assignment or revocation of the partition, is a new start. Topics that are compacted or deleted are left
out: there records vanish.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from . import tell
from .report import Evidence
from .story import TP, HistoryTables, Op


class PollStep(NamedTuple):
    """A reader's step from one record of a partition to the next; `inside` one poll, or from `before` to `op`."""

    tp: TP
    last: int
    offset: int
    before: Op
    op: Op

    @property
    def inside(self) -> bool:
        return self.before is self.op


def poll_skip(story: HistoryTables, inside: bool) -> Iterator[Evidence]:
    """Judge the steps inside one poll, or those from one poll to the next."""
    return (_skipped(story, step, over) for step, over in _skips(story) if step.inside is inside)


def nonmonotonic_poll(story: HistoryTables, inside: bool) -> Iterator[Evidence]:
    """Judge the steps inside one poll, or those from one poll to the next."""
    return (_back(step) for step in steps(story) if step.offset <= step.last and step.inside is inside)


def steps(story: HistoryTables) -> Iterator[PollStep]:
    """Yield the steps that do not go to the very next offset."""
    where: dict[str, dict[TP, tuple[int, Op]]] = {}
    for op in sorted(story.ops, key=lambda op: op.end):     # a rebalance inside a poll comes before the records of that poll
        at = where.setdefault(op.process, {})
        if op.f == "poll":
            yield from _steps_of(op, at)
        elif op.f == "seek":
            tp, offset = (op.fields["topic"], op.fields["partition"]), op.get("offset")
            at.pop(tp, None)
            if offset is not None and offset >= 0:
                at[tp] = offset - 1, op
        elif op.f in ("assign", "revoke"):
            for topic, partition in op.get("partitions") or ():
                at.pop((topic, partition), None)
            if op.f == "assign" and op.get("group") is None:
                at.clear()


def _steps_of(op: Op, at: dict[TP, tuple[int, Op]]) -> Iterator[PollStep]:
    for topic, partition, offset, _ in op.get("records") or ():
        tp = topic, partition
        known = at.get(tp)
        if known is not None and offset != known[0] + 1:
            yield PollStep(tp, known[0], offset, known[1], op)
        at[tp] = offset, op


def _skips(story: HistoryTables) -> Iterator[tuple[PollStep, int]]:
    """Yield steps over an offset that holds a record, with that offset."""
    left_out = story.topics("compacts") | story.topics("delete-topic") | story.topics("retention")
    sorted_offsets: dict[tuple[TP, str], list[int]] = {}
    for step in steps(story):
        if step.tp[0] in left_out:
            continue
        name = step.tp, story.isolation(step.op)
        if name not in sorted_offsets:
            sorted_offsets[name] = sorted(story.known(*name))
        offsets = sorted_offsets[name]
        place = bisect_right(offsets, max(step.last, story.deleted_below(step.tp) - 1))
        if place < len(offsets) and offsets[place] < step.offset:
            yield step, offsets[place]


def _skipped(story: HistoryTables, step: PollStep, over: int) -> Evidence:
    known = next(iter(story.seen[step.tp][over].items()))
    return Evidence(f"{tell.reader(step.op)} went from {tell.place(step.tp, step.last)} to {step.offset}; at {over} "
                    f"{tell.reader(known[1])} read {known[0]!r}", step.tp, [step.before.events[0], step.op.events[0]])


def _back(step: PollStep) -> Evidence:
    return Evidence(f"{tell.reader(step.op)} was given {tell.place(step.tp, step.offset)} after {step.last}", step.tp,
                    [step.before.events[0], step.op.events[0]])
