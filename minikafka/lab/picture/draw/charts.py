"""Charts of a run over time: rates, produce latency, ends of the logs and high watermark, lag; one clock for all.

    charts(run, "flights-0")         # a figure as in chart.py

Owns: which series are read from the events, and how they look: grey letters on nothing, readable in both themes of
JupyterLab; Okabe-Ito colours, and for every broker a dash of its own.

Invariants
  every point is an event of the run (rates: a count of events); nothing is smoothed or filled in
  a promise is drawn when the client heard of it, a record when the broker wrote it
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minikafka.lab.picture.draw.chart import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Chart
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.frame import Level, Mark

BROKERS = ((SKY, "solid"), (ORANGE, "dash"), (PURPLE, "dot"), (GREEN, "dashdot"), (GREY, "longdash"))
MARKS = {Level.GOOD: GREEN, Level.WAIT: ORANGE, Level.BAD: RED, Level.UNKNOWN: GREY}
ROWS = (("records/s", 2), ("latency, ms", 2), ("offset", 3), ("lag", 2))  # title and share of the height; lag if a group commits
ROW, BETWEEN = 78, 36  # pixels of a share; between two panels, where the legend of the lower one stands
MOST = 80           # marks drawn; the worst
BINS = 240          # at most that many bars of a rate
Points = list[tuple[float, float]]


@dataclass(slots=True)
class Series:
    """The numbers that the events of a run tell about one partition and about all clients."""

    ends: dict[int, Points] = field(default_factory=lambda: defaultdict(list))       # broker -> (t, log end offset)
    watermark: Points = field(default_factory=list)                                  # as the leader has it
    latency: Points = field(default_factory=list)                                    # seconds
    lag: dict[str, Points] = field(default_factory=lambda: defaultdict(list))        # group -> watermark - committed
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list)) # what -> when each record


def read(events: Iterable[dict[str, Any]], tp: str, zero: float) -> Series:
    """Return the series of the charts, read from the events in one pass."""
    series, leader, epoch, sent, committed = Series(), None, -1, {}, {}
    for event in events:
        t, kind = event["t"] - zero, event["k"]
        if kind == "sent":
            sent[event["client"], event.get("record")] = t
        elif kind == "acked":
            series.times["acknowledged"].append(t)
            since = sent.pop((event["client"], event.get("record")), None)
            if since is not None:
                series.latency.append((t, t - since))
        elif kind == "position":
            series.times["delivered"] += [t] * event.get("records", 0)
        elif event.get("tp") == tp:
            if kind == "role" and event.get("leader") == event["b"] and event["epoch"] >= epoch:
                leader, epoch = event["b"], event["epoch"]
            _read_log(series, event, t, leader)
            if kind == "commit":
                committed[event["group"]] = event["offset"]
            if kind in ("commit", "hw") and series.watermark:
                for group, offset in committed.items():
                    series.lag[group].append((t, series.watermark[-1][1] - offset))
    return series


def _read_log(series: Series, event: dict[str, Any], t: float, leader: int | None) -> None:
    kind, broker = event["k"], event["b"]
    if kind == "append":
        series.ends[broker].append((t, event["last"] + 1))
        if broker == leader:
            series.times["written"] += [t] * event.get("count", 1)
    elif kind == "truncate":
        series.ends[broker].append((t, event["to"]))
    elif kind == "recover":
        series.ends[broker].append((t, event["leo"]))
    elif kind == "hw" and broker == leader:
        series.watermark.append((t, event["hw"]))


def rates(times: list[float], end: float) -> Points:
    """Return (second, events a second) in bins of equal width, empty ones too."""
    wide = max(1.0, end / BINS)
    counts = Counter(int(t // wide) for t in times)
    return [((place + 0.5) * wide, counts[place] / wide) for place in range(int(end // wide) + 1)]


def charts(run: RecordedRun, tp: str | None = None) -> Chart:
    """Return the chart of the whole run; `tp` as in `run.at`."""
    from plotly.subplots import make_subplots

    tp = tp or next(iter(run.partitions), "")
    events = run.events_between(-1.0, run.end)
    series = read(events, tp, run.events[0]["t"] if run.events else 0.0)
    rows = ROWS if series.lag else ROWS[:-1]
    chart, plots = Chart(), ROW * sum(high for _, high in rows)
    chart.update_layout(height=plots + chart.layout.margin.t + chart.layout.margin.b)
    figure = make_subplots(rows=len(rows), cols=1, shared_xaxes=True, vertical_spacing=BETWEEN / plots,
                           row_heights=[high for _, high in rows], figure=chart)
    for what, colour, dash in (("written", SKY, "solid"), ("acknowledged", GREEN, "dash"), ("delivered", PURPLE, "dot")):
        if series.times[what]:
            _line(figure, 1, rates(series.times[what], run.end), what, colour, dash)
    _dots(figure, 2, [(t, value * 1000) for t, value in series.latency], "produce latency")
    for place, (broker, points) in enumerate(sorted(series.ends.items())):
        colour, dash = BROKERS[place % len(BROKERS)]
        _line(figure, 3, points, f"end, broker {broker}", colour, dash, shape="hv")
    _line(figure, 3, series.watermark, "high watermark", BLUE, "solid", shape="hv", wide=3.5)
    for place, (group, points) in enumerate(sorted(series.lag.items())):
        _line(figure, 4, points, f"lag, {group}", *BROKERS[place % len(BROKERS)], shape="hv")
    _draw_marks(figure, run.marks, len(rows))
    return _dress(figure, tp, rows)


def _line(figure: Any, row: int, points: Points, name: str, colour: str, dash: str, shape: str = "linear",
          wide: float = 2) -> None:
    figure.add_scatter(x=[t for t, _ in points], y=[value for _, value in points], name=name, mode="lines",
                       row=row, col=1, line={"color": colour, "dash": dash, "width": wide, "shape": shape})


def _dots(figure: Any, row: int, points: Points, name: str) -> None:
    figure.add_scatter(x=[t for t, _ in points], y=[value for _, value in points], name=name, mode="markers",
                       row=row, col=1, marker={"color": GREEN, "size": 6, "symbol": "circle-open"})


def _draw_marks(figure: Any, marks: list[Mark], last: int) -> None:
    """Draw a thin line through all charts at each mark; its words appear when the mouse points at its foot, in the `last` row."""
    worst = sorted(marks, key=lambda mark: list(MARKS).index(mark.level), reverse=True)[:MOST]
    for mark in worst:
        figure.add_shape(type="line", x0=mark.t, x1=mark.t, y0=0, y1=1, xref=f"x{last}", yref="paper", opacity=0.6,
                         line={"color": MARKS[mark.level], "width": 1, "dash": "dot"})
    figure.add_scatter(x=[mark.t for mark in worst], y=[0] * len(worst), mode="markers", name="events", row=last, col=1,
                       cliponaxis=False, text=[mark.text for mark in worst], hovertemplate="%{x:.1f} s: %{text}<extra></extra>",
                       marker={"symbol": "diamond", "size": 10, "color": [MARKS[mark.level] for mark in worst]})


def _dress(figure: Any, tp: str, rows: tuple[tuple[str, int], ...]) -> Any:
    figure.update_layout(title=f"{tp} over the run", hovermode="x unified")
    figure.update_xaxes(zeroline=False)
    for row, (title, _) in enumerate(rows, 1):
        figure.update_yaxes(title_text=title, row=row, col=1, rangemode="tozero")
    figure.update_xaxes(title_text="seconds since the run began", row=len(rows), col=1)
    return figure
