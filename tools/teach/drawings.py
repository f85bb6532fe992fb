"""The state of a question as a drawing, by the code of the labs' pictures.

    logs({1: 87, 2: 80}, isr=[1], leader=1)            the logs of a partition's replicas
    spans({1: [(4, 20), (5, 9)], 2: [(4, 20)]}, 1)     logs record by record, each in the colour of its leader epoch

Owns: which frame is drawn. Invariant
  I-DRAWN-1  a drawing has the figures of the question and nothing that it asks for: no high watermark
"""
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from minikafka.lab.demos import board
from minikafka.lab.picture import frame as of

WIDE = 640.0        # units of a board on A4: its letters are 10 points high
Part = tuple[int, int, int]     # leader epoch, and the offsets [start, end) of it


def logs(ends: Mapping[int, int], isr: Collection[int] | None, leader: int | None, start: int = 0) -> str:
    """Return the logs of a partition's replicas: how far each goes, who leads, and who is in sync, if that is known."""
    lanes = [_lane(broker, [(0, start, end)], broker == leader, None if isr is None else broker in isr)
             for broker, end in ends.items()]
    return _drawn(lanes, leader, isr, start)


def spans(parts: Mapping[int, Sequence[tuple[int, int]]], leader: int) -> str:
    """Return logs from offset 0 on, each of parts (leader epoch, number of records)."""
    lanes: list[of.Lane] = []
    epochs: tuple[of.EpochSpan, ...] = ()
    for broker, found in parts.items():
        at, pieces = 0, []
        for epoch, records in found:
            pieces.append((epoch, at, at + records))
            at += records
        lanes.append(_lane(broker, pieces, broker == leader, None))
        if broker == leader:
            epochs = tuple(of.EpochSpan(*piece, None) for piece in pieces)
    return _drawn(lanes, leader, None, 0, epochs)


def _drawn(lanes: Sequence[of.Lane], leader: int | None, isr: Collection[int] | None, start: int,
           epochs: tuple[of.EpochSpan, ...] = ()) -> str:
    ends = {lane.broker: lane.end for lane in lanes}
    chosen = of.ShownPartition(
        topic="positions", index=0, leader=leader, epoch=epochs[-1].epoch if epochs else 0,
        isr=None if isr is None else tuple(isr), min_isr=None, replication_factor=len(lanes), high_watermark=None,
        log_end=ends.get(leader or 0), log_start=start, last_stable=None, lanes=tuple(lanes), epochs=epochs, fingers=())
    return board.to_svg(_frame(chosen=chosen), (), theme="light", wide=WIDE)


def _lane(broker: int, parts: Sequence[Part], leads: bool, in_sync: bool | None) -> of.Lane:
    cells = tuple(of.Cell(offset, epoch, None) for epoch, start, end in parts for offset in range(start, end))
    return of.Lane(broker=broker, role="leader" if leads else "follower", process="running", cut_from=(), epoch=parts[-1][0],
                   believes_leader=leads, in_sync=in_sync, behind_for=None, lag_limit=None, next_check=None, start=parts[0][1],
                   high_watermark=None, end=parts[-1][2], cells=cells, folded=(), ghosts=(), rate=None)


def _frame(rows: tuple[of.PartitionRow, ...] = (), chosen: of.ShownPartition | None = None,
           groups: tuple[of.ShownGroup, ...] = ()) -> of.Frame:
    """Return a frame of nothing else."""
    return of.Frame(
        t=0.0, begin=0.0, end=0.0, live=False, engine="sim", sentence=of.Sentence(of.Level.GOOD, "the state of the question"),
        brokers=(), rows=rows, chosen=chosen, flows=(), producers=(), groups=groups,
        quorum=of.ShownQuorum(None, None, None, (), (), None, None), ledger=of.Ledger(*[None] * 7), marks=())
