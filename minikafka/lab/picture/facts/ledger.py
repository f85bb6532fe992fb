"""The truth of every demo: which records were acknowledged, which of them can be read, handed out, or are gone.

A record is a place (partition, offset) together with the leader epoch that wrote it there: after an unclean election the
same offset may hold another record, and the acknowledged one is lost although its place is taken.

Owns: the acknowledged and the delivered records of the whole run.
Invariants
  I-LEDGER-1  an acknowledged record is lost while the log of the leader that there is (or was last) does not hold that
              very record; what retention took is not lost
  I-LEDGER-2  what nobody told is None: without a watched producer nothing is known to be acknowledged, not zero
"""
from __future__ import annotations

from collections.abc import Iterable

from minikafka.lab.picture.facts.intervals import Intervals
from minikafka.lab.picture.facts.logs import LogFacts

Epoch = int | None
Part = tuple[Epoch, int, int]                          # (leader epoch, start, end)
Places = dict[str, dict[Epoch, Intervals]]             # partition -> epoch -> offsets


def _add(places: Places, tp: str, epoch: Epoch, start: int, end: int) -> int:
    epochs = places.setdefault(tp, {})
    if epoch not in epochs:
        epochs[epoch] = Intervals()
    return epochs[epoch].add(start, end)


def _copy(places: Places) -> Places:
    return {tp: {epoch: offsets.copy() for epoch, offsets in epochs.items()} for tp, epochs in places.items()}


def _total(places: Places) -> int:
    return sum(len(offsets) for epochs in places.values() for offsets in epochs.values())


class Account:
    """An account of what clients were promised and given."""

    def __init__(self) -> None:
        self.acked: Places = {}
        self.delivered: Places = {}
        self.by_group: dict[str, Places] = {}
        self.duplicates = 0
        self.reordered = 0
        self.producers_told = False
        self.consumers_told = False
        self.gone = self.gone_delivered = 0            # acknowledged, delivered records of topics that were deleted
        self.gaps = 0                                  # delivered offsets that held no record: markers, what compaction left

    def copy(self) -> Account:
        other = Account()
        other.acked, other.delivered = _copy(self.acked), _copy(self.delivered)
        other.by_group = {group: _copy(places) for group, places in self.by_group.items()}
        other.duplicates, other.reordered = self.duplicates, self.reordered
        other.gone, other.gone_delivered, other.gaps = self.gone, self.gone_delivered, self.gaps
        other.producers_told, other.consumers_told = self.producers_told, self.consumers_told
        return other

    # --- what happens ---------------------------------------------------------------------------------------------

    def acknowledge(self, tp: str, epoch: Epoch, offset: int) -> None:
        _add(self.acked, tp, epoch, offset, offset + 1)

    def deliver(self, who: str, tp: str, parts: Iterable[Part], records: int | None = None) -> None:
        """Note that these records were handed to `who` (a group, or a consumer without one); `records`: how many there were."""
        mine, offsets, known, again = self.by_group.setdefault(who, {}), 0, 0, 0
        for epoch, start, end in parts:
            offsets += end - start
            again += _add(mine, tp, epoch, start, end)
            known += _add(self.delivered, tp, epoch, start, end)
        self.duplicates += again if records is None else min(again, records)  # an offset without a record comes to nobody
        if records is not None and not known:
            self.gaps += offsets - records

    def forget(self, tp: str) -> None:
        """Forget a deleted topic: its records are not lost, and those of a later topic of that name are no duplicates."""
        self.gone += sum(len(offsets) for offsets in self.acked.pop(tp, {}).values())
        self.gone_delivered += sum(len(offsets) for offsets in self.delivered.pop(tp, {}).values())
        for places in self.by_group.values():
            places.pop(tp, None)

    # --- questions ------------------------------------------------------------------------------------------------

    @property
    def acknowledged(self) -> int:
        return _total(self.acked) + self.gone

    @property
    def handed_out(self) -> int:
        return _total(self.delivered) + self.gone_delivered - self.gaps

    def count(self, tp: str, parts: Iterable[Part]) -> int:
        """Return how many of these records were acknowledged."""
        epochs = self.acked.get(tp, {})
        return sum(epochs[epoch].overlap(start, end) for epoch, start, end in parts if epoch in epochs)

    def is_acked(self, tp: str, epoch: Epoch, offset: int) -> bool:
        offsets = self.acked.get(tp, {}).get(epoch)
        return offsets is not None and offset in offsets

    def readable(self, tp: str, log: LogFacts) -> int:
        """Return how many acknowledged records of a partition are below this log's high watermark."""
        mark = log.high_watermark or 0
        if log.end is None:                            # polled: nobody told which records these are, only up to where
            return sum(offsets.overlap(0, mark) for offsets in self.acked.get(tp, {}).values())
        return self.count(tp, log.parts(0, mark))

    def is_judged(self, tp: str, log: LogFacts | None) -> bool:
        """Return whether the trace tells enough to say what of this partition is lost."""
        return not self.acked.get(tp) or log is not None and log.end is not None

    def lost(self, tp: str, log: LogFacts) -> int:
        """Return how many acknowledged records of a partition this log does not hold (I-LEDGER-1)."""
        epochs = self.acked.get(tp)
        if not epochs or log.end is None:
            return 0
        start = log.start or 0
        due = sum(offsets.overlap(start, _FOREVER) for offsets in epochs.values())
        return due - self.count(tp, log.parts(start))


_FOREVER = 1 << 62
