"""The bracket round the replicas in sync, with a notch at min.insync.replicas.

Owns: how the bracket and the notch meet. The notch stands below the first min.insync.replicas lanes: when the bracket ends above
it, the missing part is drawn dashed in red, and acks=all is refused.
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.paper import Paper
from minikafka.lab.picture.frame import Lane, ShownPartition
from minikafka.lab.picture.sentences import words

X = 62          # x of the bracket's spine
LEGEND = 30     # x of the upright label


def draw_bracket(paper: Paper, chosen: ShownPartition, lanes: Sequence[Lane], tops: Sequence[float],
                 bottoms: Sequence[float]) -> None:
    """Round the lanes in sync, which come first."""
    if not lanes or chosen.isr is None:
        return
    size = sum(lane.in_sync is True for lane in lanes)
    y0, y1 = tops[0] + 10, bottoms[size - 1] - 4 if size else tops[0] + 10
    paper.open("isr", isr=words.brokers(chosen.isr), min=words.offset(chosen.min_isr))
    if size:
        paper.path(f"M{X + 9:g} {y0:g}H{X:g}V{y1:g}H{X + 9:g}", "pen")
    paper.upright(LEGEND, tops[0] + 8, f"in sync: {len(chosen.isr)}")
    _draw_notch(paper, chosen, lanes, bottoms, y1, size)
    paper.close()


def _draw_notch(paper: Paper, chosen: ShownPartition, lanes: Sequence[Lane], bottoms: Sequence[float], end: float,
                size: int) -> None:
    if chosen.min_isr is None or chosen.min_isr < 1:
        return
    y = bottoms[min(chosen.min_isr, len(lanes)) - 1] - 4
    short = size < chosen.min_isr
    if short:
        paper.path(f"M{X:g} {end:g}V{y:g}", "alarm dash")
    paper.path(f"M{X - 8:g} {y:g}H{X + 10:g}", "alarm" if short else "pen", extra=' data-part="min"')
    paper.text(X - 12, y + 5, f"min {chosen.min_isr}", "bad" if short else "soft", 14, True, "end")
