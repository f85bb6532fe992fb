"""Latencies drawn: which share of the records has its answer after so many milliseconds, and how that changes over time.

    shares({"acks=1": [2.1, 2.3, ...], "acks=all": [...]}, "title")      one curve for each sample
    over_time(points, phases, "title")                                   one dot for each record

Both are plotly figures, with the same lines as an SVG for pages where no script runs.
Owns: nothing; all values are measured elsewhere. The axis of milliseconds is logarithmic.
Invariants
  I-L7-3  every curve climbs to 100 %, one step for each record: no value is left out, smoothed or averaged
  I-L7-4  figure and SVG are drawn from the same series
"""
from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from minikafka.lab.labs.lab07.experiment import quantile
from minikafka.lab.picture.draw.charts_still import interactive

STYLES = (("#d55e00", "dash", "9 5"), ("#0072b2", "solid", ""), ("#009e73", "dot", "2 4"), ("#a3527f", "dashdot", "9 4 2 4"))
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 420, 100, 30, 60, 62
SMALLEST = 0.1                         # ms; shorter ones stand at the edge
Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """One curve, or one cloud of dots."""

    name: str
    points: list[Point]
    dots: bool = False


class Chart:
    """The last expression of a cell shows it. `logs` says which axes are logarithmic ("x", "y")."""

    def __init__(self, title: str, axes: tuple[str, str], series: Sequence[Curve], logs: str,
                 marks: Sequence[tuple[str, float]] = (), text: str = "") -> None:
        self.title, self.axes, self.series, self.logs, self.marks, self.text = title, axes, series, logs, marks, text

    @property
    def figure(self) -> go.Figure:
        figure = go.Figure()
        for one, (colour, dash, _) in zip(self.series, STYLES):
            figure.add_scatter(x=[x for x, _ in one.points], y=[y for _, y in one.points], name=one.name,
                               mode="markers" if one.dots else "lines", marker={"color": colour, "size": 6},
                               line={"color": colour, "dash": dash, "width": 3})
        for number, (name, at) in enumerate(self.marks):
            figure.add_vline(x=at, line={"color": "#808080", "dash": "dot"})
            figure.add_annotation(x=at, y=1 - 0.14 * (number % 2), yref="paper", xanchor="left", yanchor="top", align="left",
                                  text=name.replace(" is ", " is<br>"), showarrow=False)  # room beside the picture
        figure.update_layout(title=self.title, height=HEIGHT, showlegend=len(self.series) > 1,
                             margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM})
        for number, (axis, name) in enumerate(zip("xy", self.axes)):
            low, high = self._scale(number)
            log = axis in self.logs
            reach = [math.log10(low), math.log10(high)] if log else [low, high * 1.02]
            ticks = self._ticks(number)
            figure.update_layout({f"{axis}axis": {"title": name, "type": "log" if log else "linear", "range": reach,
                                                  "tickvals": ticks,
                                                  "ticktext": [f"{tick:,g}" for tick in ticks]}})
        return figure

    def _scale(self, axis: int) -> tuple[float, float]:
        values = [point[axis] for one in self.series for point in one.points]
        low, high = min(values), max(values)
        if "xy"[axis] in self.logs:
            return 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high * 1.001))
        return 0.0, high * (1.0 if axis else 1.02)

    def place(self, point: Point) -> Point:
        """Return where a point lies in the SVG."""
        shares = []
        for axis, value in enumerate(point):
            low, high = self._scale(axis)
            if "xy"[axis] in self.logs:
                low, high, value = math.log10(low), math.log10(high), math.log10(max(value, low))
            shares.append((value - low) / (high - low))
        return LEFT + shares[0] * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - shares[1] * (HEIGHT - TOP - BOTTOM)

    def svg(self) -> str:
        """Return the same chart on a white card, its letters at least 14 pixels high."""
        parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
                 f'<text x="{LEFT}" y="24" font-size="18" font-weight="bold">{html.escape(self.title)}</text>', *self._grid()]
        for number, (name, at) in enumerate(self.marks):
            x = self.place((at, self._scale(1)[0]))[0]
            parts.append(f'<path d="M{x:.0f} {TOP}V{HEIGHT - BOTTOM}" stroke="#666" stroke-dasharray="2 3"/>'
                         f'<text x="{x + 5:.0f}" y="{TOP + 14 + 20 * (number % 2)}">{html.escape(name)}</text>')
        for number, (one, (colour, _, dash)) in enumerate(zip(self.series, STYLES)):
            places = [self.place(point) for point in one.points]
            if one.dots:
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
            else:
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
                parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="3" '
                             f'stroke-dasharray="{dash}"/>')
            if len(self.series) > 1:
                x = LEFT + number * (WIDTH - LEFT - RIGHT) / len(self.series)
                parts.append(f'<path d="M{x:.0f} 44h34" stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/>'
                             f'<text x="{x + 40:.0f}" y="49">{html.escape(one.name)}</text>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img" '
                f'aria-label="{html.escape(repr(self))}" font-family="sans-serif" font-size="14" fill="black">'
                + "".join(parts) + "</svg>")

    def _grid(self) -> list[str]:
        base, parts = HEIGHT - BOTTOM, []
        for x in self._ticks(0):
            at = self.place((x, self._scale(1)[0]))[0]
            parts.append(f'<path d="M{at:.0f} {TOP}V{base}" stroke="#ddd"/>'
                         f'<text x="{at:.0f}" y="{base + 20}" text-anchor="middle">{x:,g}</text>')
        for y in self._ticks(1):
            at = self.place((self._scale(0)[0], y))[1]
            parts.append(f'<path d="M{LEFT} {at:.0f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                         f'<text x="{LEFT - 8}" y="{at + 5:.0f}" text-anchor="end">{y:,g}</text>')
        middle = (TOP + base) / 2
        parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{self.axes[0]}</text>'
                     f'<text transform="translate(22 {middle}) rotate(-90)" text-anchor="middle">{self.axes[1]}</text>')
        return parts

    def _ticks(self, axis: int) -> list[float]:
        low, high = self._scale(axis)
        if "xy"[axis] in self.logs:
            powers = range(round(math.log10(low)), round(math.log10(high)) + 1)
            digits = (1, 2, 5) if len(powers) <= 4 else (1,)
            return [digit * 10.0 ** power for power in powers for digit in digits if digit * 10.0 ** power <= high]
        step = next(step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000) if high / step <= 8)
        return [step * number for number in range(int(high // step) + 1)]

    def __repr__(self) -> str:
        return f"{self.title}: {self.text}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**interactive(self.figure), "image/svg+xml": self.svg(), "text/plain": repr(self)}


def shares(samples: dict[str, list[float]], title: str) -> Chart:
    """Return a chart of the share of records that have their answer after so many milliseconds; a curve for each
    sample, at most four."""
    series = []
    for name, values in samples.items():
        ordered = [max(SMALLEST, value) for value in sorted(values)]
        steps = [(ordered[0], 0.0)]
        for number, value in enumerate(ordered, start=1):
            steps += [(value, steps[-1][1]), (value, 100 * number / len(ordered))]
        series.append(Curve(name, steps))
    text = "; ".join(f"{name}: half within {quantile(values, 0.5):.3g} ms, 99 % within {quantile(values, 0.99):.3g} ms"
                     for name, values in samples.items())
    return Chart(title, ("milliseconds from send to answer", "% of the records"), series, "x", text=text)


def over_time(points: list[Point], phases: Sequence[tuple[str, float]], title: str) -> Chart:
    """Return a chart with one dot for each record (when it was sent, how long its answer took) and a line where each
    phase begins."""
    dots = [(at, max(SMALLEST, ms)) for at, ms in points]
    text = f"{len(points)} records, from {min(y for _, y in dots):.3g} to {max(y for _, y in dots):.5g} ms"
    return Chart(title, ("second of the send", "milliseconds to the answer"), [Curve("records", dots, dots=True)], "y", phases,
                 text)
