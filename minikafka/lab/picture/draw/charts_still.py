"""The charts as a notebook shows them: plotly's figure where plotly runs, the same lines as an SVG where nothing runs.

Owns: how the SVG looks: one panel for each of the figure's axes, its legend on top of it.

Invariants
  I-CHARTSTILL-1  the SVG is drawn from the figure alone: every trace of it, every mark, the same colours and dashes
  I-CHARTSTILL-2  lines may share pixels, but no extreme value is left out: of a column of pixels the lowest and the highest stay
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from plotly import graph_objects

from minikafka.lab.picture.draw.axis import steps
from minikafka.lab.picture.draw.paper import Paper, escape, shorten, width
from minikafka.lab.picture.draw.svg import FONT, image
from minikafka.lab.picture.draw.theme import WIDTHS, coloured, ink, style

LEFT, RIGHT, TOP, BETWEEN = 96, 24, 56, 44
UNIT = 72        # pixels of one of the figure's parts of height
DASHES = {"dash": "8 5", "dot": "2 4", "dashdot": "8 4 2 4", "longdash": "13 5"}
NAME = "mkcharts"
WIDE = 840      # pixels of a plotly figure: the text of a notebook in a window of 1280
INK = "#7a7a7a"  # letters on light and on dark pages: 4.3 to 1 on both


class Charts(graph_objects.Figure):
    """The figure that `charts` returns; the last expression of a cell shows it."""

    _ipython_display_ = None  # plotly's own would choose by the environment, and leave nothing for a page without scripts

    def _repr_mimebundle_(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {**interactive(self), "text/html": image(to_svg(self)), "text/plain": describe(self)}


def interactive(figure: Any) -> dict[str, Any]:
    """Return plotly's part of an output, in letters and lines that are read on light and on dark pages.

    A figure has a fixed size until the picture stands beside the text: then view/dock.js keeps its height and frees its width.
    Plotly's `responsive` alone drops the height too: any change of the window or of the theme left a strip of 33 pixels.
    """
    clear, rule = "rgba(0,0,0,0)", "rgba(128,128,128,0.25)"
    figure.update_layout(font={"color": INK, "size": 16}, paper_bgcolor=clear, plot_bgcolor=clear, width=WIDE)
    figure.update_xaxes(gridcolor=rule, zerolinecolor=rule)
    figure.update_yaxes(gridcolor=rule, zerolinecolor=rule)
    return {"application/vnd.plotly.v1+json": {**json.loads(figure.to_json()), "config": {"responsive": True}}}


def describe(figure: Any) -> str:
    """Return the charts in one line, for people who hear them."""
    return f"{figure.layout.title.text}: " + ", ".join(trace.name for trace in figure.data)


def to_svg(figure: Any) -> str:
    """Return the figure as one SVG element."""
    paper = Paper(WIDTHS["page"])
    paper.text(LEFT, 32, figure.layout.title.text, "", 20, True, room=paper.width - LEFT - RIGHT)
    axes = sorted({(trace.xaxis, trace.yaxis) for trace in figure.data} | {("x4", "y4")}, key=lambda pair: pair[1])
    last = max([x for trace in figure.data for x in trace.x] + [mark.x0 for mark in figure.layout.shapes], default=1.0)
    y = TOP
    for _, name in axes:
        panel = figure.layout["yaxis" + name[1:]]
        high = UNIT * 9 * (panel.domain[1] - panel.domain[0])
        _draw_panel(paper, figure, name, y + BETWEEN, high, last)
        y += BETWEEN + high
    _draw_times(paper, y, last)
    total, said = round(y + 48), describe(figure)
    drawn = f'{style(NAME, "auto")}<rect class="paper" width="{paper.width}" height="{total}"/>{"".join(paper.parts)}'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" id="{NAME}" viewBox="0 0 {paper.width} {total}" width="100%" role="img" '
            f'aria-label="{escape(said)}" font-family="{FONT}" font-size="14" fill="{ink("auto")}">'
            f'{coloured(drawn, NAME, "auto")}</svg>')


def _draw_panel(paper: Paper, figure: Any, name: str, y: float, high: float, last: float) -> None:
    """Draw one axis with all that is measured on it, from y down."""
    traces = [trace for trace in figure.data if trace.yaxis == name]
    top = 1.06 * (max([value for trace in traces for value in trace.y] + [0]) or 1)  # the highest dot is a whole one
    right = paper.width - RIGHT
    paper.open("panel", axis=figure.layout["yaxis" + name[1:]].title.text)
    paper.upright(24, y + high / 2, figure.layout["yaxis" + name[1:]].title.text, "soft")
    for value in ticks(top, high / 34):
        at = y + high - value / top * high
        paper.line(LEFT, at, right, at, "rule")
        paper.text(LEFT - 8, at + 5, f"{value:,g}", "soft", anchor="end", room=LEFT - 44)
    for mark in figure.layout.shapes:
        x = LEFT + mark.x0 / last * (right - LEFT)
        paper.raw(f'<path d="M{x:.1f} {y:g}v{high:g}" stroke="{mark.line.color}" stroke-dasharray="2 3" opacity="0.6"/>')
    for trace in traces:
        places = [(round(LEFT + t / last * (right - LEFT), 1), round(y + high - value / top * high, 1))
                  for t, value in zip(trace.x, trace.y)]
        _draw_trace(paper, trace, places)
    _draw_legend(paper, traces, y - 12, right)
    paper.close()


def _draw_trace(paper: Paper, trace: Any, places: list[tuple[float, float]]) -> None:
    if trace.mode == "markers":
        colours = trace.marker.color if isinstance(trace.marker.color, tuple) else [trace.marker.color] * len(places)
        shape = "l5 5l-5 5l-5-5Z" if trace.marker.symbol == "diamond" else "a3 3 0 1 0 .1 0Z"
        for colour, group in groupby(sorted(set(zip(colours, places))), key=lambda each: each[0]):
            marks = "".join(f"M{x:g} {y - 5:g}{shape}" for _, (x, y) in group)
            paper.raw(f'<path d="{marks}" fill="{colour if shape[0] == "l" else "none"}" stroke="{colour}"/>')
    elif places:
        join = "H{0:g}V{1:g}" if trace.line.shape == "hv" else "L{0:g} {1:g}"
        first, *others = thinned(places)
        line = f"M{first[0]:g} {first[1]:g}" + "".join(join.format(*place) for place in others)
        paper.raw(f'<path d="{line}" fill="none" {_pen(trace)}/>')


def _pen(trace: Any) -> str:
    dash = DASHES.get(trace.line.dash, "")
    return f'stroke="{trace.line.color}" stroke-width="{trace.line.width:g}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _draw_legend(paper: Paper, traces: list[Any], y: float, right: float) -> None:
    """Draw names from left to right, as many as there is room for."""
    x = float(LEFT)
    for place, trace in enumerate(traces):
        name = shorten(trace.name, 260)
        if x + 40 + width(name) > right - 60 and place:
            paper.text(x, y, f"+{len(traces) - place}", "soft", room=right - x)
            return
        if trace.mode == "markers":
            colour = trace.marker.color if isinstance(trace.marker.color, str) else "#808080"
            paper.raw(f'<circle cx="{x + 16:g}" cy="{y - 5:g}" r="4" fill="none" stroke="{colour}"/>')
        else:
            paper.raw(f'<path d="M{x:g} {y - 5:g}h32" {_pen(trace)}/>')
        x += 40 + paper.text(x + 40, y, name) + 24


def _draw_times(paper: Paper, y: float, last: float) -> None:
    for t in ticks(last, 12):
        x = LEFT + t / last * (paper.width - LEFT - RIGHT)
        paper.text(min(x, paper.width - RIGHT - width(f"{t:g}") / 2), y + 18, f"{t:g}", "soft", anchor="middle")
    paper.text((LEFT + paper.width - RIGHT) / 2, y + 40, "seconds since the run began", "soft", anchor="middle")


def ticks(top: float, most: float) -> Iterator[float]:
    """Yield 0 and round numbers up to `top`, at equal distances: at most `most` of these."""
    scale = 1e-6
    step = next(each for each in (scale * step for step in steps()) if top / each <= max(1, most))
    yield from (number * step for number in range(int(top / step + 1e-9) + 1))


def thinned(places: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the same line with at most four points in a column of pixels: first, highest, lowest, last (I-CHARTSTILL-2)."""
    kept = []
    for _, column in groupby(places, key=lambda place: int(place[0])):
        points = list(column)
        ranked = sorted(range(len(points)), key=lambda number: points[number][1])
        kept += [points[number] for number in sorted({0, ranked[0], ranked[-1], len(points) - 1})]
    return kept
