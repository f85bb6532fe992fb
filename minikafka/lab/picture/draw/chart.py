"""A chart as a notebook shows it: plotly's figure where plotly runs, the same figure as an SVG where no script runs.

    figure = Chart("records kept over time"); figure.add_scatter(...)     the last expression of a cell shows it

A chart is described once, as a plotly figure: panels side by side or one below the other, lines (also in steps), dots, bars that
lie, straight lines at a moment or a limit with their words, linear and logarithmic axes.
Owns: how the SVG looks: one panel for each of the figure's pairs of axes, its legend on top of it.

Invariants
  the SVG is drawn from the figure alone: every trace of it, every mark, the same colours and dashes
  I-CHARTSTILL-2  lines may share pixels, but no extreme value is left out: of a column of pixels the lowest and the highest stay
"""
from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from textwrap import wrap
from typing import Any

from plotly import graph_objects

from minikafka.lab.picture.draw.axis import steps
from minikafka.lab.picture.draw.element import image, themed
from minikafka.lab.picture.draw.paper import Paper, shorten, width

# Okabe-Ito's hues, so light or dark that lines are seen on light and on dark pages: 3 to 1 on both.
BLUE, GREEN, ORANGE, PURPLE, SKY, RED, GREY = "#1F83C6", "#009E73", "#C27F00", "#C56C9C", "#3C93C9", "#D55E00", "#808080"
DASHES = {"dash": "8 5", "dot": "2 4", "dashdot": "8 4 2 4", "longdash": "13 5"}
PAPER = 1000    # units: the width of the SVG; a letter is 14 units high
NUMBERS = 64    # units beside an axis, for its numbers
TITLES = 15     # pixels of the letters of an axis' title: those of two panels keep apart
TITLE = 34      # letters in a line of a plotly figure's title: they fit beside the picture; two lines have room
INK = "#7a7a7a"  # letters on light and on dark pages: 4.3 to 1 on both
HATCH = ('<defs><pattern id="chart-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
         '<rect width="2" height="6" fill="white"/></pattern></defs>')
Place = tuple[float, float]


class Chart(graph_objects.Figure):
    """A plotly figure that is also shown where no script runs; `said` is the chart in words, else its title and its names."""

    _ipython_display_ = None  # plotly's own would choose by the environment, and leave nothing for a page without scripts

    def __init__(self, title: str = "", said: str = "", height: int = 420, **layout: Any) -> None:
        super().__init__()
        self.update_layout(title=title or None, meta=said, height=height, margin={"l": 96, "r": 30, "t": 60, "b": 62}, **layout)

    def __repr__(self) -> str:
        return self.layout.meta or f"{self.layout.title.text}: " + ", ".join(trace.name for trace in self.data)

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {**interactive(self), "text/html": image(to_svg(self)), "text/plain": repr(self)}


def interactive(figure: Any) -> dict[str, Any]:
    """Return plotly's part of an output, in letters and lines that are read on light and on dark pages.

    A figure has no width of its own: JupyterLab gives it the width of its output, and again when that changes. Plotly's
    `responsive` stays off: it frees the height too, and any change of the window or of the theme left a strip of 33 pixels.
    The legend stands below the figure at any width: plotly makes room for it there, and the plot keeps the whole width.
    """
    clear, rule = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
    figure.update_layout(font={"color": INK, "size": 16}, title_font_size=18, paper_bgcolor=clear, plot_bgcolor=clear)
    figure.update_layout(legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"})
    ticks = {"gridcolor": rule, "zerolinecolor": rule, "ticks": "outside", "tickcolor": clear,  # they hold the labels apart
             "title_font_size": TITLES}
    figure.update_xaxes(**ticks, ticklen=7, tickangle=0)
    figure.update_yaxes(**ticks, ticklen=4)
    drawn = json.loads(figure.to_json())
    drawn["layout"]["title"]["text"] = "<br>".join(wrap(figure.layout.title.text or "", TITLE))
    return {"application/vnd.plotly.v1+json": drawn}


def to_svg(figure: Chart) -> str:
    """Return the figure as one SVG element."""
    paper, high = Paper(PAPER), figure.layout.height
    paper.raw(HATCH)
    paper.text(figure.layout.margin.l, 26, figure.layout.title.text or "", "", 18, True, room=PAPER - figure.layout.margin.l - 20)
    names = {(trace.xaxis or "x", trace.yaxis or "y") for trace in figure.data}
    for x, y in sorted(names, key=lambda pair: pair[1]):
        _draw_panel(paper, Panel(figure, x, y))
    return themed(paper, high, repr(figure), "auto")


@dataclass
class Panel:
    """One pair of axes of a figure, and where a value stands on the paper."""

    figure: Chart
    x: str  # plotly's names of the axes: x, x2, ...
    y: str

    @cached_property
    def traces(self) -> list[Any]:
        return [trace for trace in self.figure.data if (trace.xaxis or "x", trace.yaxis or "y") == (self.x, self.y)]

    def axis(self, which: str) -> Any:
        name = self.x if which == "x" else self.y
        return self.figure.layout[f"{which}axis{name[1:]}"]

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom on the paper, as plotly lays them out."""
        margin, high = self.figure.layout.margin, self.figure.layout.height
        (x0, x1), (y0, y1) = (self.axis(which).domain or (0, 1) for which in "xy")
        wide, tall = PAPER - margin.l - margin.r, high - margin.t - margin.b
        return margin.l + x0 * wide, margin.t + (1 - y1) * tall, margin.l + x1 * wide, margin.t + (1 - y0) * tall

    def scale(self, which: str) -> tuple[float, float]:
        """Return the first and the last value of an axis; of a logarithmic one their exponents."""
        axis = self.axis(which)
        if axis.range:
            return tuple(axis.range)
        values = [value for trace in self.traces for value in trace.y] if which == "y" else [
            *(value for trace in self.figure.data for value in trace.x), *(shape.x1 for shape in self.figure.layout.shapes)]
        room = 1.06 if which == "y" or self.traces[0].type == "bar" else 1.0  # the highest dot is a whole one
        return 0.0, (max(values, default=0) or 1) * room

    def place(self, which: str, value: float) -> float:
        """Return where a value of an axis stands on the paper."""
        low, high = self.scale(which)
        if self.axis(which).type == "log":
            value = math.log10(value)
        left, top, right, bottom = self.box
        share = (value - low) / (high - low)
        return left + share * (right - left) if which == "x" else bottom - share * (bottom - top)

    def ticks(self, which: str) -> Iterator[tuple[float, str]]:
        """Yield the values that an axis names, and how it writes them."""
        low, high = self.scale(which)
        left, top, right, bottom = self.box
        if self.axis(which).type == "log":
            found = decades(low, high)
        else:
            found = ticks(low, high, (right - left) / 75 if which == "x" else (bottom - top) / 34)
        yield from ((value, written(value)) for value in found)


def _draw_panel(paper: Paper, panel: Panel) -> None:
    left, top, right, bottom = panel.box
    title = panel.axis("y").title.text
    paper.open("panel", axis=title)
    if title:
        paper.upright(left - 78, (top + bottom) / 2, title, "soft")
    bars = [trace for trace in panel.traces if trace.type == "bar"]
    if bars:
        _draw_bars(paper, panel, bars)
    else:
        for value, text in panel.ticks("y"):
            at = panel.place("y", value)
            paper.line(left, at, right, at, "rule")
            paper.text(left - 8, at + 5, text, "soft", anchor="end", room=NUMBERS)
    _draw_lower_axis(paper, panel)
    for note in panel.figure.layout.annotations:
        _draw_note(paper, panel, note)
    box = f'x="{left - 4:g}" y="{top - 6:g}" width="{right - left + 8:g}" height="{bottom - top + 12:g}"'
    paper.raw(f'<svg {box} viewBox="{left - 4:g} {top - 6:g} {right - left + 8:g} {bottom - top + 12:g}">')  # cut at its edge
    for shape in panel.figure.layout.shapes:
        _draw_mark(paper, panel, shape)
    for trace in panel.traces:
        if trace.type != "bar":
            _draw_trace(paper, trace, [(round(panel.place("x", x), 1), round(panel.place("y", y), 1))
                                       for x, y in zip(trace.x, trace.y)])
    paper.raw("</svg>")
    _draw_legend(paper, panel)
    paper.close()


def _draw_lower_axis(paper: Paper, panel: Panel) -> None:
    """Draw the values of the lower axis, unless a panel below has the same axis."""
    left, _, right, bottom = panel.box
    if panel.axis("x").showticklabels is False:
        return
    for value, text in panel.ticks("x"):
        at = panel.place("x", value)
        paper.line(at, bottom, at, bottom + 5, "rule")
        paper.text(min(at, PAPER - 4 - width(text) / 2), bottom + 20, text, "soft", anchor="middle")
    paper.text((left + right) / 2, bottom + 42, panel.axis("x").title.text or "", "soft", anchor="middle")


def _draw_bars(paper: Paper, panel: Panel, bars: list[Any]) -> None:
    """Draw bars that lie, a group for each name, from top to bottom; each bar carries its number."""
    left, top, _, bottom = panel.box
    step = (bottom - top) / max(1, len(bars[0].y))
    high = step * 0.8 / len(bars)
    for place, name in enumerate(bars[0].y):
        paper.text(left - 10, top + (place + 0.5) * step + 5, name, anchor="end", room=left - 16)
        for number, bar in enumerate(bars):
            y, value = top + (place + 0.1) * step + number * high, bar.x[place]
            wide = panel.place("x", value) - left
            box = f'x="{left:g}" y="{y:.1f}" width="{wide:.1f}" height="{high - 3:.1f}"'
            paper.raw(f'<rect {box} fill="{bar.marker.color}"/>')
            if bar.marker.pattern.shape:
                paper.raw(f'<rect {box} fill="url(#chart-hatch)"/>')
            paper.text(left + wide + 6, y + high / 2 + 4, f"{value:,g}")


def _draw_mark(paper: Paper, panel: Panel, shape: Any) -> None:
    """Draw a line through the panel: at a moment of its lower axis, or at a value of its other axis."""
    left, top, right, bottom = panel.box
    pen = f'stroke="{shape.line.color}" stroke-width="1.5" stroke-dasharray="3 3" opacity="{shape.opacity or 1:g}"'
    if shape.x0 == shape.x1 and (shape.yref == "paper" or shape.yref.split()[0] == panel.y):
        ends = top if shape.yref != "paper" else bottom - shape.y1 * (bottom - top)
        paper.raw(f'<path d="M{panel.place("x", shape.x0):.1f} {ends:g}V{bottom:g}" {pen}/>')
    elif shape.y0 == shape.y1 and shape.yref == panel.y:
        paper.raw(f'<path d="M{left:g} {panel.place("y", shape.y0):.1f}H{right:g}" {pen}/>')


def _draw_note(paper: Paper, panel: Panel, note: Any) -> None:
    """Draw the words of a line: at its moment, or at the left end of its value."""
    left, top, _, bottom = panel.box
    if (note.xref or "x") == panel.x and note.yref == "paper":
        x, y = panel.place("x", note.x) + 5, top + 14 + (1 - note.y) * (bottom - top)
    elif note.yref == panel.y:
        x, y = left + 6, panel.place("y", note.y) - 6
    else:
        return
    paper.text(x, y, note.text, "halo")


def _draw_trace(paper: Paper, trace: Any, places: list[Place]) -> None:
    if trace.mode == "markers":
        fill = "none" if trace.marker.symbol == "circle-open" else "{0}"
        colours = trace.marker.color if isinstance(trace.marker.color, tuple) else [trace.marker.color] * len(places)
        shape = "l5 5l-5 5l-5-5Z" if trace.marker.symbol == "diamond" else "a3 3 0 1 0 .1 0Z"
        for colour, group in groupby(sorted(set(zip(colours, places))), key=lambda each: each[0]):
            marks = "".join(f"M{x:g} {y - 3 - 2 * (shape[0] == 'l'):g}{shape}" for _, (x, y) in group)
            paper.raw(f'<path d="{marks}" fill="{fill.format(colour)}" stroke="{colour}"/>')
    elif places:
        join = "H{0:g}V{1:g}" if trace.line.shape == "hv" else "L{0:g} {1:g}"
        first, *others = thinned(places)
        line = f"M{first[0]:g} {first[1]:g}" + "".join(join.format(*place) for place in others)
        paper.raw(f'<path d="{line}" fill="none" {_pen(trace)}/>')


def _pen(trace: Any) -> str:
    dash = DASHES.get(trace.line.dash, "")
    return f'stroke="{trace.line.color}" stroke-width="{trace.line.width:g}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _draw_legend(paper: Paper, panel: Panel) -> None:
    """Draw the names of the traces from left to right while there is room; then, how many are left."""
    left, top, right, _ = panel.box
    x, y = left, top - 12
    named = [trace for trace in panel.traces if trace.showlegend is not False and panel.figure.layout.showlegend is not False]
    for place, trace in enumerate(named):
        name = shorten(trace.name, 260)
        if x + 40 + width(name) > right and place:
            paper.text(x, y, f"+{len(named) - place}", "soft", room=PAPER - x)
            return
        if trace.type == "bar":
            box = f'x="{x + 12:g}" y="{y - 11:g}" width="20" height="12"'
            paper.raw(f'<rect {box} fill="{trace.marker.color}"/>')
            if trace.marker.pattern.shape:
                paper.raw(f'<rect {box} fill="url(#chart-hatch)"/>')
        elif trace.mode == "markers":
            colour = trace.marker.color if isinstance(trace.marker.color, str) else GREY
            paper.raw(f'<circle cx="{x + 16:g}" cy="{y - 5:g}" r="4" fill="none" stroke="{colour}"/>')
        else:
            paper.raw(f'<path d="M{x:g} {y - 5:g}h32" {_pen(trace)}/>')
        x += 40 + paper.text(x + 40, y, name) + 24


def ticks(low: float, high: float, most: float) -> Iterator[float]:
    """Yield round numbers from `low` to `high` at equal distances, at most `most` + 1 of them."""
    scale = 1e-6
    step = next(each for each in (scale * step for step in steps()) if (high - low) / each <= max(1, most))
    yield from (number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))


def decades(low: float, high: float) -> Iterator[float]:
    """Yield 1, 2 and 5 of each power of ten from 10**low to 10**high; over more than three decades the powers alone."""
    digits = (1, 2, 5) if high - low <= 3 else (1,)
    for power in range(math.ceil(low), math.floor(high) + 1):
        yield from (digit * 10.0 ** power for digit in digits if math.log10(digit) + power <= high + 1e-9)


def written(value: float) -> str:
    """Return how an axis writes a value: 0.1, 2, 1,000, 1 million. It is at most as wide as the room beside the axis."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g} million"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def thinned(places: Iterable[Place]) -> list[Place]:
    """Return the same line with at most four points in a column of pixels: first, highest, lowest, last (I-CHARTSTILL-2)."""
    kept = []
    for _, column in groupby(places, key=lambda place: int(place[0])):
        points = list(column)
        ranked = sorted(range(len(points)), key=lambda number: points[number][1])
        kept += [points[number] for number in sorted({0, ranked[0], ranked[-1], len(points) - 1})]
    return kept
