"""Which records of a partition have a box of their own, and which are folded: the one rule of every picture.

Who looks at a log looks for its marks: where each replica ends, the high watermark, the last stable offset, where readers stand
and what they committed, what was cut off or deleted. Round every mark the log is open; between the marks it is folded.

Owns: what a mark is, their order (when there is room for few of them, the first ones count), and the choice of what is open.
Real Kafka has nothing like it; its tools print offsets as numbers.

Invariants
  I-FOCUS-1  the records before and after a mark are open, as long as the boxes of all marks fit
  I-FOCUS-2  boxes and folds together take no more than the room, if the room has at least one box and a fold on each side
  I-FOCUS-3  with more room nothing closes: a narrow picture finds its records in a frame that was made for a wide one
  I-FOCUS-4  while no mark leaves its block nothing opens or closes; a mark that moves on opens the stretch round its new
             place, closes the one round its old place, and moves the beginning of the last records, no more
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from minikafka.lab.picture.frame import ShownPartition, Span

BLOCK = 5       # offsets that open together: a mark moves this far before anything else moves
FOLD = 3        # boxes that a fold with its label takes; a fold of fewer records is not worth its place


def marks(chosen: ShownPartition) -> list[int]:
    """Return the marks of a partition, the most important first. A mark at an offset stands just before that record."""
    lanes = chosen.lanes
    ends = [lane.end for lane in lanes]
    found = [max((end for end in ends if end is not None), default=None), chosen.log_end, chosen.high_watermark,
             chosen.last_stable, *ends, *(finger.offset for finger in chosen.fingers)]
    for ghost in sorted((ghost for lane in lanes for ghost in lane.ghosts), key=lambda ghost: -ghost.t):
        found += [ghost.start, ghost.end]
    found += [lane.high_watermark for lane in lanes]
    found += [chosen.log_start] if any(mark is not None and mark < (chosen.log_start or 0) for mark in found) else []
    for query in chosen.queries:
        found += [place for batch in query.batches[-1:] for place in (batch.end, batch.start)]
    found += [place for each in reversed(chosen.aborted) for place in (each.end, each.start)]
    return list(dict.fromkeys(mark for mark in found if mark is not None and mark >= 0))


def extent(chosen: ShownPartition) -> tuple[int, int] | None:
    """Return the offsets [low, high) that a picture of the partition covers; None if nothing is known of it."""
    found = [*marks(chosen), *([chosen.log_start] if chosen.log_start is not None else [])]
    for lane in chosen.lanes:
        if lane.end is not None:
            found.append(lane.start or 0)
        found += [place for each in lane.folded for place in (each.start, each.end)]
    return (min(found), max(found)) if found else None


def focus(marks: Sequence[int], low: int, high: int, room: float, fold: float = FOLD) -> tuple[Span, ...]:
    """Return what is open of [low, high), in order. `room`: how many boxes there may be, if a fold takes `fold` of them.

    First the two records at each mark open, then the block round each, then the records before the first mark.
    """
    taken: tuple[Span, ...] = ()
    for candidate in _candidates(marks, low, high):
        longer = _joined([*taken, candidate], low, high, fold)
        if size(longer, low, high, fold) > room:
            break
        taken = longer
    return taken


def fits(marks: Sequence[int], low: int, high: int, room: float, fold: float = FOLD) -> bool:
    """Return whether the records at all marks can be open (I-FOCUS-1)."""
    return size(_joined(_pairs(marks, low, high), low, high, fold), low, high, fold) <= room


def folds(opened: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield what of [start, end) is not open."""
    edges = [start, *(place for each in opened for place in (each.start, each.end)), end]
    for left, right in zip(edges[::2], edges[1::2]):
        if max(left, start) < min(right, end):
            yield Span(max(left, start), min(right, end))


def size(opened: Sequence[Span], low: int, high: int, fold: float = FOLD) -> float:
    """Return how many boxes a picture of [low, high) takes."""
    return sum(each.end - each.start for each in opened) + fold * sum(1 for _ in folds(opened, low, high))


def _pairs(marks: Iterable[int], low: int, high: int) -> Iterator[Span]:
    for mark in marks:
        if max(low, mark - 1) < min(high, mark + 1):
            yield Span(max(low, mark - 1), min(high, mark + 1))


def _candidates(marks: Sequence[int], low: int, high: int) -> Iterator[Span]:
    """Yield what should be open, the most important first; what comes later never makes room for what came before."""
    yield from _pairs(marks, low, high)
    for mark in marks:
        first = (mark - 1) // BLOCK * BLOCK
        if max(low, first) < min(high, first + BLOCK + 1):         # one more: the record at a mark at the end of its block
            yield Span(max(low, first), min(high, first + BLOCK + 1))
    first = (marks[0] - 1) // BLOCK * BLOCK if marks else high
    while first > low:
        yield Span(max(low, first - BLOCK), first)
        first -= BLOCK


def _joined(spans: Iterable[Span], low: int, high: int, fold: float) -> tuple[Span, ...]:
    """Return the spans in order, together with the gaps that are no longer than a fold is wide."""
    joined = [Span(low, low)]
    for each in [*sorted(spans, key=lambda span: span.start), Span(high, high)]:
        if each.start - joined[-1].end <= fold:
            joined[-1] = Span(joined[-1].start, max(each.end, joined[-1].end))
        else:
            joined.append(each)
    return tuple(each for each in joined if each.start < each.end)
