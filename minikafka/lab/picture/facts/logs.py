"""The log of one replica as the trace tells it: where it starts and ends, which epoch wrote what, what was cut off.

Records are not kept, only who wrote which offsets: a record is known by its offset and the leader epoch that gave it that
offset (no leader gives one offset twice), so a log of any length is a handful of numbers.

Owns: the offsets of one replica, and the ghosts of what it has lost.
Invariants
  the epochs ascend and each starts where the one before it ends; the last one ends at `end`
  what the trace did not tell is None: the epoch of records that were there before the trace began, a start that
    nobody named
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from minikafka.lab.picture.frame import Ghost

Written = tuple[int | None, int]      # (leader epoch, first offset)
GHOSTS = 8                            # of one replica; older ones are forgotten


@dataclass(slots=True)
class LogFacts:
    """Offsets [start, end) with the epochs that wrote them; `high_watermark` as this replica knows it."""

    start: int | None = None
    end: int | None = None
    high_watermark: int | None = None
    written: tuple[Written, ...] = ()
    ghosts: tuple[Ghost, ...] = ()
    last_stable: int | None = None     # None: no open transaction told of

    def copy(self) -> LogFacts:                             # by hand: checkpoints copy thousands
        return LogFacts(self.start, self.end, self.high_watermark, self.written, self.ghosts, self.last_stable)

    # --- what happens to it ---------------------------------------------------------------------------------------

    def opened(self, start: int | None, end: int, written: tuple[Written, ...] | None) -> None:
        """Take over what a broker found on its disk when it started (`written` None: it did not say which epochs)."""
        if written is not None:
            self.written = written
        elif end < (self.end or 0):
            self._forget_from(end)
        elif end > (self.end if self.end is not None else start or 0):
            self._write(None, self.end if self.end is not None else start or 0)
        if start is None:
            start = 0 if end == 0 else self.start if self.start is not None and self.start <= end else None
        self.start, self.end, self.high_watermark = start, end, None

    def append(self, epoch: int | None, base: int, end: int) -> None:
        if self.end is None or base > self.end:        # the trace begins in the middle, or the log went on elsewhere
            self.written = ()
        self._write(epoch, base)
        self.end = end

    def _write(self, epoch: int | None, base: int) -> None:
        if not self.written or self.written[-1][0] != epoch:
            self.written = (*self.written, (epoch, base))

    def cut(self, to: int) -> tuple[tuple[int | None, int, int], ...]:
        """Cut everything from `to` on; if `to` is outside the log, the log starts again there. Return what is gone, as
        (epoch, start, end)."""
        if self.end is None:
            self.end = to
            return ()
        inside = (self.start or 0) <= to <= self.end
        gone = tuple(self.parts(to if inside else (self.start or 0), self.end))
        if inside:
            self._forget_from(to)
        else:
            self.written, self.start = (), to
        self.end = to
        if self.high_watermark is not None:
            self.high_watermark = min(self.high_watermark, to)
        return gone

    def wiped(self) -> tuple[tuple[int | None, int, int], ...]:
        """Begin again with an empty log, on a new disk. Return what is gone."""
        gone = tuple(self.parts())
        self.start, self.end, self.high_watermark, self.written = 0, 0, None, ()
        return gone

    def _forget_from(self, offset: int) -> None:
        self.written = tuple(each for each in self.written if each[1] < offset)

    def haunted(self, *ghosts: Ghost) -> None:
        self.ghosts = (*self.ghosts, *ghosts)[-GHOSTS:]

    def begin_at(self, start: int) -> None:
        """Move the log's start: retention or a deletion removed what was before it."""
        self.start = start

    # --- questions ------------------------------------------------------------------------------------------------

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int | None, int, int]]:
        """Yield (epoch, start, end) of what was written in each epoch, between two offsets."""
        last = self.end or 0
        end = last if end is None else min(end, last)
        start = max(start, self.start or 0)
        if self.written and start < self.written[0][1] and start < end:
            yield None, start, min(self.written[0][1], end)
        for number, (epoch, first) in enumerate(self.written):
            until = self.written[number + 1][1] if number + 1 < len(self.written) else last
            if max(first, start) < min(until, end):
                yield epoch, max(first, start), min(until, end)

    def ghosts_from(self, zero: float) -> tuple[Ghost, ...]:
        """Return the ghosts, with times since `zero`."""
        return tuple(replace(ghost, t=ghost.t - zero) for ghost in self.ghosts)

    def epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch that wrote this offset; None if that is not known."""
        found: int | None = None
        for epoch, first in self.written:
            if first > offset:
                break
            found = epoch
        return found
