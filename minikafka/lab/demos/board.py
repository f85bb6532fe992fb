"""The picture of a demo for the last row of a lecture hall: few and large records, and no panel that the demo does not need.

    to_svg(frame, ("acknowledged", "lost"), theme="dark", wide=720)

The page has the clock, the time line and the caption; the board has none of them. Records, marks and shapes are those of the
notebooks' picture (lab/picture/draw). Owns: the place of the lanes, and the line of counters below.
Invariants
  I-BOARD-1  what is drawn is in the frame; equal frames give equal boards
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from minikafka.lab.demos.books import draw_books
from minikafka.lab.demos.caller import CallerFrame, draw_caller
from minikafka.lab.demos.chairs import draw_chairs
from minikafka.lab.demos.charges import count_charges, draw_charges
from minikafka.lab.demos.deciders import draw_deciders
from minikafka.lab.demos.halves import FrameBeside, draw_halves
from minikafka.lab.demos.twins import draw_twins, surplus
from minikafka.lab.demos.unread import draw_unread
from minikafka.lab.picture.draw.axis import Axis
from minikafka.lab.picture.draw.bracket import draw_bracket
from minikafka.lab.picture.draw.cells import HIGH, UNDER, Under, draw_log, draw_under, under
from minikafka.lab.picture.draw.element import themed
from minikafka.lab.picture.draw.footing import draw_footing
from minikafka.lab.picture.draw.lines import draw_lines, lines_height, place_lines
from minikafka.lab.picture.draw.paper import Paper, width
from minikafka.lab.picture.draw.shapes import draw_broker, draw_crown
from minikafka.lab.picture.draw.svg import describe
from minikafka.lab.picture.frame import Frame, Lane, ShownPartition
from minikafka.lab.picture.sentences import words

SIDE, CHIP, WORDS, LOG = 12, 93, 121, 246   # x of the margin, of the brokers' middle, of their words, of the log
LANE, SINK, BAR = 57, 13, 100
BOXES = 14                 # of a lane: few and large records
NARROWEST, USUAL, WIDEST = 600.0, 760.0, 1120.0
Entry = tuple[str, str, str]


def to_svg(frame: Frame, counters: Sequence[str], theme: str = "auto", wide: float = USUAL, high: float = 0,
           name: str | None = None) -> str:
    """Return the board as one SVG element, `wide` units wide (a letter is 14 units high) and at least `high` units high.

    `name` is its id on the page, made from the content if not given.
    """
    paper, needed = draw(frame, counters, wide)
    return themed(paper, max(needed, high), describe(frame), theme, name, 'data-part="picture" ')


def draw(frame: Frame, counters: Sequence[str], wide: float) -> tuple[Paper, float]:
    """Return the drawn board and its height: the lanes (with the counter "chairs", members and partitions; with
    "books", log, checkpoint and sink; with "charges", rides and who charged them) above the counters. With "controllers" they
    stand above the lanes."""
    paper = Paper(wide)
    if isinstance(frame, FrameBeside):
        y = draw_halves(paper, frame, 2)
    elif isinstance(frame, CallerFrame):
        y = draw_caller(paper, frame, 4)
    elif "chairs" in counters:
        y = draw_chairs(paper, frame, 4)
    elif "books" in counters:
        y = draw_books(paper, frame, 4)
    elif "charges" in counters and frame.chosen is not None:
        y = draw_charges(paper, frame.chosen, 4)
    else:
        y = draw_deciders(paper, frame, 0) if "controllers" in counters else 0
        y = y + 4 if frame.chosen is None else _draw_lanes(paper, frame, frame.chosen, y, counters)
    entries = [entry for name in counters for entry in entries_of(frame, name)]
    return paper, _draw_counters(paper, entries, y + 4) if entries else y + 2


def fitting(high: float, shape: float, least: float) -> float:
    """Return how many units wide a board must be that is `high` units high, in a place `shape` times as wide as high."""
    return float(round(min(WIDEST, max(least, high * shape))))


def slimmest(frames: Sequence[Frame], counters: Sequence[str]) -> float:
    """Return the least width of a board at which no label of these frames is cut off or leaves the paper."""
    def fits(wide: float) -> bool:
        labels = (each for frame in frames for each in draw(frame, counters, wide)[0].labels)
        return all("…" not in each.text and 0 <= each.left and each.right <= wide for each in labels)

    return next((float(wide) for wide in range(int(NARROWEST), int(USUAL), 20) if fits(wide)), USUAL)


# --- the counters ---------------------------------------------------------------------------------------------------

def entries_of(frame: Frame, name: str) -> Iterator[Entry]:
    """Yield (label, value, look) for the counters of that name; producers and groups have one each."""
    if name == "producers":
        yield "acknowledged:", "", ""
        yield from ((each.name, words.count(each.acked), "") for each in frame.producers)
    elif name == "wait":
        oldest = max((each.oldest_wait or 0.0 for each in frame.producers), default=0.0)
        yield "oldest record waits", words.seconds(oldest) if oldest > 0.1 else "-", "wait" if oldest > 1 else ""
    elif name == "sent":
        yield "sent", words.count(sum(each.sent for each in frame.producers)), ""
    elif name == "twins":
        yield "written twice", words.count(surplus(frame)), "bad" if surplus(frame) else "good"
    elif name == "log end":
        yield "records in the log", words.offset(frame.chosen.log_end if frame.chosen else None), ""
    elif name == "behind" and frame.chosen is not None:
        yield from ((f"broker {lane.broker} lacks", words.count((frame.chosen.log_end or 0) - (lane.end or 0)), "")
                    for lane in sorted(frame.chosen.lanes, key=lambda lane: lane.broker) if lane.role != "leader")
    elif name == "error":
        yield from (("last error", each.last_error, "wait") for each in frame.producers if each.last_error)
    elif name == "charges" and frame.chosen is not None:
        yield from count_charges(frame.chosen)
    elif name == "speed":
        yield from (("records a second", str(sum(p.rate for p in group.progress)), "") for group in frame.groups[:1])
    elif name == "notary":
        yield from _verdict(frame)
    elif name == "lag":
        yield from (("lag", words.count(each.lag), "") for group in frame.groups for each in group.progress)
    else:
        yield from (entry for entry in words.ledger(frame.ledger) if entry[0] == name)


def _verdict(frame: Frame) -> Iterator[Entry]:
    """Yield what the notary said of the first query's sink; before that, that there is no verdict yet."""
    counts = [count for query in (frame.chosen.queries[:1] if frame.chosen else ()) for count in query.verdict]
    yield "notary:", "" if counts else "not asked yet", ""
    yield from (("wrong totals" if name == "totals" else name, str(count), "bad" if count else "good") for name, count in counts)


def _draw_counters(paper: Paper, entries: Sequence[Entry], y: float) -> float:
    paper.open("counters")
    paper.rect(SIDE, y, paper.width - 2 * SIDE, 34, "card", 8)
    x = SIDE + 14.0
    for label, value, look in entries:
        x += paper.text(x, y + 23, label, "soft") + 8
        x += paper.text(x, y + 23, value, look, 18, True) + 22
    paper.close()
    return y + 36


# --- the lanes ------------------------------------------------------------------------------------------------------

def _plain(chosen: ShownPartition) -> ShownPartition:
    """Return the partition without what a hall does not need: the first epoch, a log start of 0, what followers know, sinks."""
    return replace(chosen, queries=(), lanes=tuple(replace(lane, high_watermark=None) for lane in chosen.lanes),
                   epochs=chosen.epochs if len(chosen.epochs) > 1 else (), log_start=chosen.log_start or None,
                   min_isr=chosen.min_isr if (chosen.min_isr or 0) > 1 else None)


def _draw_lanes(paper: Paper, frame: Frame, whole: ShownPartition, y: float, counters: Sequence[str]) -> float:
    """Draw the lines, the lanes, the bracket and what stands under them; with the counter "twins", what was written twice,
    with "unread" what was skipped; return where they end."""
    chosen = _plain(whole)
    lanes = sorted(chosen.lanes, key=lambda lane: (lane.in_sync is False) - (lane.in_sync is True))
    right = paper.width - SIDE
    axis = Axis(chosen, LOG, right, max([width(f"end {words.offset(lane.end)}") for lane in lanes]) + 12, BOXES,
                [each.start for each in chosen.epochs[1:]])
    lines = place_lines(chosen, axis, LOG, right)
    at = top = y + lines_height(lines) + 12
    tops, bottoms, unders = [], [], [under(lane, chosen, axis, right) for lane in lanes]
    for place, (lane, (rows, _)) in enumerate(zip(lanes, unders)):
        at += SINK if lane.in_sync is False and place and lanes[place - 1].in_sync is not False else 0
        tops.append(at)
        at += LANE + max(0, rows - 1) * UNDER
        bottoms.append(at)
    paper.open("partition", partition=f"{chosen.topic}-{chosen.index}")
    draw_lines(paper, lines, top - 12, at)
    for lane, (_, placed), lane_top in zip(lanes, unders, tops):
        _draw_lane(paper, lane, chosen, axis, placed, lane_top)
    draw_bracket(paper, chosen, lanes, tops, bottoms)
    at += draw_twins(paper, lanes, axis, tops, at, surplus(frame)) if "twins" in counters else 0
    at += draw_unread(paper, whole, axis, at) if "unread" in counters else 0
    end = draw_footing(paper, chosen, axis, at, right, 1)
    paper.close()
    return end


def _draw_lane(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, placed: list[Under], y: float) -> None:
    paper.open("lane", broker=lane.broker, role=lane.role, process=lane.process, insync=lane.in_sync, end=lane.end)
    draw_log(paper, lane, chosen, axis, y + 8)
    how = words.crown(lane, chosen)
    draw_broker(paper, lane.broker, lane.process, CHIP, y + 31, 20)
    if how:
        draw_crown(paper, lane.broker, how, CHIP - 14, y - 11)
    room = LOG - WORDS - 8
    state = next((text for text in words.standing(lane) if width(text, 16, True) <= room), "")
    if state:
        paper.text(WORDS, y + 24, state, "bad" if lane.process == "killed" else "wait", 16, True, room=room)
    else:
        paper.text(WORDS, y + 24, words.role(lane, chosen), "wait" if how == "hollow" else "", 16, how == "worn", room=room)
    if how:
        paper.text(WORDS, y + 44, f"epoch {words.offset(lane.epoch if how == 'hollow' else chosen.epoch)}", "soft")
    else:
        _draw_stopwatch(paper, lane, y + 44)
    draw_under(paper, placed, axis, y + 8 + HIGH)
    _draw_end(paper, lane, chosen, axis, y + 31)
    paper.close()


def _draw_stopwatch(paper: Paper, lane: Lane, y: float) -> None:
    """Draw how long the follower has not been caught up: a number, and a bar that is full at the limit."""
    if lane.behind_for is None or lane.lag_limit is None or lane.behind_for < 0.95:
        return
    share = min(1.0, lane.behind_for / lane.lag_limit)
    look = "good" if share < 0.5 else "wait" if share < 1 else "bad"
    paper.open("stopwatch", behind=f"{lane.behind_for:.3f}", limit=lane.lag_limit)
    paper.text(WORDS, y, f"late {words.seconds(lane.behind_for)}", look, 14, True, room=LOG - WORDS - 8)
    paper.rect(WORDS, y + 5, BAR, 7, "fline", 3.5)
    paper.rect(WORDS, y + 5, round(BAR * share, 1), 7, f"f{look}", 3.5)
    paper.close()


def _draw_end(paper: Paper, lane: Lane, chosen: ShownPartition, axis: Axis, y: float) -> None:
    """Draw the log end offset behind the last record, and behind the line of the high watermark if it would stand on it."""
    label, mark = f"end {words.offset(lane.end)}", chosen.high_watermark
    x = axis.left if lane.end is None else axis.x(lane.end) + 7
    if mark is not None and lane.end != mark and x - 5 < axis.x(mark) < x + width(label) + 4:
        x = axis.x(mark) + 7
    paper.text(min(x, paper.width - SIDE - width(label)), y, label, "soft halo")
