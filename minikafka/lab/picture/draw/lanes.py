"""The chosen partition: a lane per replica, the bracket of the in-sync ones, the high watermark across them.

Owns: the order and height of lanes, and the column left of the log (crown, broker, role, stopwatch, traffic).

The eye should find, in this order: the crown, the promise (high watermark), the danger (a stopwatch that fills up),
the loss (hatched ghosts).

Invariants
  I-LANES-1  every replica has a lane; out of sync it sinks below the bracket, it never vanishes
  only the leader of the partition's epoch wears the filled crown
"""
from __future__ import annotations

from collections.abc import Sequence

from minikafka.lab.picture.draw.axis import Axis
from minikafka.lab.picture.draw.bracket import draw_bracket
from minikafka.lab.picture.draw.cells import HIGH, UNDER, Under, draw_log, draw_under, under
from minikafka.lab.picture.draw.footing import draw_footing
from minikafka.lab.picture.draw.lines import draw_lines, lines_height, place_lines
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.draw.shapes import draw_arrow, draw_broker, draw_crown
from minikafka.lab.picture.frame import Lane, ShownFlow, ShownPartition
from minikafka.lab.picture.sentences import words

SIDE = 24       # margin of the paper
LANE = 84       # pixels of a lane without ghosts in more than one row
LOW = 62        # pixels of a lane without its traffic
ROWED = 12 + HIGH + UNDER   # pixels that a lane with a row under its cells takes
SINK = 22       # an out-of-sync lane lies that much deeper
CHIP = 93       # x of the brokers' middle
WORDS = 123     # x where their words begin
LOG = 326       # x where the log begins
STATES = {"killed": "bad", "unknown": "soft", "starting": "soft"}
BAR = 84        # pixels of a full stopwatch


def draw_partition(paper: Paper, chosen: ShownPartition, flows: Sequence[ShownFlow], y: float, high: float) -> float:
    """Draw the whole part of the picture below y, with lanes `high` pixels apart; return where it ends."""
    lanes = sorted(chosen.lanes, key=lambda lane: (lane.in_sync is False) - (lane.in_sync is True))
    tail = max([width(f"end {words.offset(lane.end)}") for lane in lanes] + [width("+1,000/s")]) + 12
    right = paper.width - SIDE
    axis = Axis(chosen, LOG, right, tail)
    lines = place_lines(chosen, axis, LOG - 60, right)
    top = y + lines_height(lines) + 12
    tops, bottoms, at = [], [], top
    unders = [under(lane, chosen, axis, right) for lane in lanes]
    for place, (lane, (rows, _)) in enumerate(zip(lanes, unders)):
        sunk = lane.in_sync is False and place > 0 and lanes[place - 1].in_sync is not False
        at += SINK if sunk else 0
        tops.append(at)
        at += high + max(0, rows - 1) * UNDER
        bottoms.append(at)
    paper.open("partition", partition=f"{chosen.topic}-{chosen.index}")
    draw_lines(paper, lines, top - 12, bottoms[-1] if bottoms else top)
    for lane, (_, placed), lane_top in zip(lanes, unders, tops):
        _draw_lane(paper, lane, chosen, flows if high > LOW else None, axis, placed, lane_top)
    draw_bracket(paper, chosen, lanes, tops, bottoms)
    below = (bottoms[-1] if bottoms else top) + max(0, ROWED - high)  # also the lowest lane has room for a row under its cells
    end = draw_footing(paper, chosen, axis, below, right, 2 if high > LOW else 1)
    paper.close()
    return end


def _draw_lane(paper: Paper, lane: Lane, chosen: ShownPartition, flows: Sequence[ShownFlow] | None, axis: Axis,
               placed: list[Under], y: float) -> None:
    paper.open("lane", broker=lane.broker, role=lane.role, process=lane.process, insync=lane.in_sync, end=lane.end)
    draw_log(paper, lane, chosen, axis, y + 12)
    how = words.crown(lane, chosen)
    draw_broker(paper, lane.broker, lane.process, CHIP, y + 33, 20)
    if how:
        draw_crown(paper, lane.broker, how, CHIP - 14, y - 9)
    _draw_words(paper, lane, chosen, how, y)
    if flows is not None:
        _draw_traffic(paper, lane, chosen, flows, y + 66)
    draw_under(paper, placed, axis, y + 12 + HIGH)
    _draw_end(paper, lane, chosen, axis, y)
    paper.close()


def _draw_words(paper: Paper, lane: Lane, chosen: ShownPartition, how: str, y: float) -> None:
    room = LOG - WORDS - 12
    look = "wait" if how == "hollow" else ""
    taken = paper.text(WORDS, y + 26, words.role(lane, chosen), look, 16, bool(how), room=room)
    texts = words.standing(lane)
    if texts and room - taken > 24:
        state = next((text for text in texts if width(text, 14, True) <= room - taken - 8), texts[-1])
        paper.text(WORDS + taken + 8, y + 26, state, STATES.get(lane.process, "wait"), 14, True, room=room - taken - 8)
    epoch = lane.epoch if how == "hollow" else chosen.epoch
    if how and epoch is not None:
        now = f" (now {chosen.epoch})" if how == "hollow" and chosen.epoch is not None else ""
        paper.open("lane-epoch")
        paper.text(WORDS, y + 46, f"epoch {epoch}{now}", "soft")
        paper.close()
    elif not how and lane.behind_for is not None:
        _draw_stopwatch(paper, lane, lane.behind_for, y + 36)


def _draw_stopwatch(paper: Paper, lane: Lane, behind: float, y: float) -> None:
    """Draw how long the follower has not been caught up, and a tick where the bar will stand when the leader looks next."""
    limit = lane.lag_limit or max(behind, 0.1)
    share = behind / limit
    look = "good" if share < 0.5 else "wait" if share < 1 else "bad"
    title = f"not caught up for {words.stopwatch(lane)[0]}"
    if lane.next_check is not None:
        title += f"; the leader looks again in {words.seconds(lane.next_check)}"
    paper.open("stopwatch", title, behind=f"{behind:.3f}", limit=lane.lag_limit)
    paper.rect(WORDS, y, BAR, 11, "fline", 5.5)
    paper.rect(WORDS, y, max(5.0, round(BAR * min(1.0, share), 1)), 11, f"f{look}", 5.5)
    if lane.next_check is not None and lane.lag_limit:
        x = WORDS + round(BAR * min(1.0, (behind + lane.next_check) / limit), 1)
        paper.path(f"M{x:g} {y - 4:g}V{y + 15:g}", "pen", extra=' data-part="check"')
    room, bold = LOG - WORDS - BAR - 17, share >= 0.5
    texts = words.stopwatch(lane)
    fits = next((text for text in texts if width(text, 14, bold) <= room), texts[-1])
    paper.text(WORDS + BAR + 9, y + 11, fits, look, 14, bold, room=room)
    paper.close()


def _draw_traffic(paper: Paper, lane: Lane, chosen: ShownPartition, flows: Sequence[ShownFlow], y: float) -> None:
    """Draw what comes to this replica, and which brokers it cannot hear."""
    x, room = WORDS, LOG - WORDS - 12
    if lane.cut_from:
        paper.text(x, y, f"cannot hear {words.ends(lane.cut_from)}", "bad", room=room)
        return
    for flow in _inflow(lane, chosen, flows):
        paper.open("flow", words.flow(flow), source=flow.source, target=flow.target, broken=str(flow.broken).lower(),
                   underway=flow.under_way)
        name = "clients" if flow.source == 0 else f"from {flow.source}"
        taken = paper.text(x, y, name, "soft", room=70)
        draw_arrow(paper, x + taken + 6, y - 5, flow.broken, flow.under_way or 0)
        paper.text(x + taken + 44, y, words.rate(flow.rate), "soft", room=room - taken - 44)
        paper.close()


def _inflow(lane: Lane, chosen: ShownPartition, flows: Sequence[ShownFlow]) -> list[ShownFlow]:
    """Return what feeds this log: clients, if it acts as a leader, else the broker that it copies from, the leader first.

    A flow is told per broker: what clients send to a follower is for partitions that it leads.
    """
    leads = bool(words.crown(lane, chosen))
    if leads and chosen.topic == words.METADATA:
        return []
    found = [flow for flow in flows if flow.target == lane.broker and (flow.source == 0) == leads]
    return sorted(found, key=lambda flow: flow.source != chosen.leader)[:1]


def _draw_end(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, y: float) -> None:
    """Draw the log end offset beside the last record; behind the line of a watermark if it would stand on it."""
    if lane.end is None:
        return
    label = f"end {lane.end}"
    wide = max(width(label), width(f"+{words.rate(lane.rate)}") if lane.rate else 0)
    x = axis.x(lane.end) + 7
    for line in (chosen.last_stable, chosen.high_watermark):  # in the order of their offsets: behind one it may stand on the next
        if line is not None and lane.end != line and x - 5 < axis.x(line) < x + wide + 4:
            x = axis.x(line) + 7
    x = min(x, paper.width - SIDE - wide)
    paper.text(x, y + 29, label, "soft halo")
    if lane.rate:
        paper.text(x, y + 46, f"+{words.rate(lane.rate)}", "soft halo")
