"""The signs of a picture: what each means in one sentence, and the lab from which on a picture has it.

    look(frame, lab=4)                       the frame without what labs 5 and later explain
    look(frame, covered="0.1")               ... and with its ledger covered until that question is answered
    LEGEND["crown"]                          the sentence that a page shows for a sign

Owns: the table. `part` is the sign's `data-part` on the picture (draw/svg.py), an entry of the ledger is "entry NAME".
Invariants
  a picture of no lab has all signs; the text of a picture keeps every fact except those that are covered
"""
from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from minikafka.lab.picture.frame import Frame, Lane, Ledger, ShownQuorum
from minikafka.lab.picture.sentences.words import METADATA


class Sign(NamedTuple):
    """One sign. `lab`: the first lab whose pictures have it."""

    part: str
    lab: int
    legend: str


SIGNS = (
    Sign("sentence", 0, "This sentence says what the partition waits for at this moment, or that it works."),
    Sign("broker", 0, "A ring is a broker, with its number; its colour and badge say whether its process runs."),
    Sign("row", 0, "A tile is a partition with its leader and the replicas in sync; a click shows it in full."),
    Sign("lane", 0, "A lane is one replica of the partition: a broker, and the log on its disk."),
    Sign("crown", 0, "The crown stands at the leader: clients write to it, and the other replicas copy it."),
    Sign("stretch", 0, "A box is a record with its offset: solid, every consumer may read it; dashed, not yet."),
    Sign("acked", 0, "A tick says that the producer has the answer: this record is stored."),
    Sign("folded", 0, "This box stands for all records from the first offset to the last offset in it."),
    Sign("ghost", 0, "These records were in this replica's log and were cut off; in red, if they were acknowledged."),
    Sign("flow", 0, "The arrow says which client or broker sends records here, and the number of records a second."),
    Sign("producer", 0, "A watched producer: the number of records that it sent, and the answers that it got."),
    Sign("ledger", 0, "The ledger counts over the whole run what was promised and what became of it."),
    Sign("cover", 0, "The ledger is covered until the lab shows the answer to your guess."),
    Sign("entry acknowledged", 0, "Records for which a producer has the answer that they are stored."),
    Sign("entry readable", 0, "Acknowledged records that a consumer can read now."),
    Sign("entry at read_committed", 10, "Acknowledged records that a consumer with isolation.level=read_committed can read now."),
    Sign("entry delivered", 0, "Records that watched consumers received, each counted once."),
    Sign("entry in doubt", 0, "Records without an answer: their producer cannot know whether they are stored."),
    Sign("entry lost", 0, "Records that were acknowledged and are not in the leader's log."),
    Sign("entry redelivered", 0, "Records that a group received a second time."),
    Sign("entry reordered", 0, "Records that were stored behind a record that was sent after them."),
    Sign("timeline", 0, "The line is the time of the run; drag its knob to look back."),
    Sign("mark", 0, "A mark on the line is a moment at which something happened; a click shows it."),
    Sign("position", 1, "A triangle is a consumer's position: the record that it receives next."),
    Sign("committed", 1, "A flag is a group's committed offset: the next owner of the partition begins there."),
    Sign("start", 2, "The log starts here: what was before is deleted."),
    Sign("deleted", 2, "These records were deleted, by retention or by hand."),
    Sign("group", 4, "A group: its members, the partitions that each reads, and how far it is behind."),
    Sign("member", 4, "A member of the group; one whose process is dead is crossed out."),
    Sign("lag", 4, "The lag: records below the high watermark that the group has not committed yet."),
    Sign("hw", 6, "The high watermark: consumers may read what is left of it, for all replicas in sync have it."),
    Sign("tile-hw", 6, "HW is the high watermark of this partition, end is the next offset of its leader."),
    Sign("lane-hw", 6, "The high watermark as this replica knows it: a follower gets it with the answer to its next fetch."),
    Sign("isr", 6, "The bracket holds the replicas in sync; its notch stands at min.insync.replicas."),
    Sign("stopwatch", 6, "The time since this replica last had all records; at the limit the leader takes it out of the ISR."),
    Sign("epoch", 6, "Boxes of one colour were written in one leader epoch, by one leader."),
    Sign("lane-epoch", 6, "The leader epoch: it grows by one with each new leader."),
    Sign("controllers", 9, "The controllers: who leads the metadata log, for whom each voted, and where its log ends."),
    Sign("voter", 9, "One controller with its role, its vote in this epoch and the end of its log."),
    Sign("lso", 10, "The last stable offset: behind it a transaction is open, and read_committed stops here."),
    Sign("transaction", 10, "The records of one transaction, and its marker: committed, aborted, or still open."),
    Sign("aborted", 10, "A crossed box belongs to an aborted transaction: read_committed passes over it."),
    Sign("reader", 10, "How far a consumer reads with this isolation.level."),
    Sign("query", 11, "A Spark query: the last batch that is done, and the one that runs."),
    Sign("batch", 11, "A bracket is a micro-batch over the offsets that it reads; dashed, a restart reads them again."),
)
LEGEND = {sign.part: sign.legend for sign in SIGNS}
NOTHING = Ledger(None, None, None, None, None, None, None)
NOBODY = ShownQuorum(None, None, None, (), (), None, None)


def look(frame: Frame, lab: int | None = None, covered: str = "") -> Frame:
    """Return the frame as a reader of this lab sees it. `covered`: what uncovers the ledger, "" if it is open."""
    if covered:
        frame = replace(frame, covered=covered, ledger=NOTHING)
    hidden = frozenset(sign.part for sign in SIGNS if lab is not None and sign.lab > lab)
    if not hidden:
        return frame
    chosen = frame.chosen
    if chosen is not None:
        chosen = replace(chosen, min_isr=None if "isr" in hidden else chosen.min_isr,
                         fingers=tuple(each for each in chosen.fingers if each.kind not in hidden),
                         queries=() if "query" in hidden else chosen.queries,
                         transactions=() if "transaction" in hidden else chosen.transactions,
                         lanes=tuple(map(_undecided, chosen.lanes)) if "aborted" in hidden else chosen.lanes,
                         aborted=() if "aborted" in hidden else chosen.aborted,
                         last_stable=None if "lso" in hidden else chosen.last_stable)
    if "controllers" in hidden:
        frame = replace(frame, quorum=NOBODY, rows=tuple(row for row in frame.rows if not row.name.startswith(METADATA)))
    return replace(frame, hidden=hidden, chosen=chosen, groups=() if "group" in hidden else frame.groups)


def _undecided(lane: Lane) -> Lane:
    """Return the lane without a word about what transactions became of."""
    return replace(lane, cells=tuple(replace(cell, aborted=False) if cell.aborted else cell for cell in lane.cells))
