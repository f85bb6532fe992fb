"""Latencies drawn: which share of the records has its answer within x milliseconds, and how that changes over time.

    shares({"acks=1": [2.1, 2.3, ...], "acks=all": [...]}, "title")      one curve for each sample
    over_time(points, phases, "title")                                   one dot for each record

Owns: nothing; all values are measured elsewhere. The axis of milliseconds is logarithmic.
Invariants
  I-L7-3  every curve climbs to 100 %, one step for each record: no value is left out, smoothed or averaged
"""
from __future__ import annotations

import math
from collections.abc import Sequence

from minikafka.lab.labs.lab07.experiment import quantile
from minikafka.lab.picture.draw.chart import BLUE, GREEN, GREY, PURPLE, RED, Chart, decades

STYLES = ((RED, "dash"), (BLUE, "solid"), (GREEN, "dot"), (PURPLE, "dashdot"))
SMALLEST = 0.1                         # ms; shorter ones stand at the edge


def shares(samples: dict[str, list[float]], title: str) -> Chart:
    """Return a chart of the share of records that have their answer within x milliseconds; a curve for each sample, at
    most four."""
    chart = Chart(title, f"{title}: " + "; ".join(
        f"{name}: half within {quantile(values, 0.5):.3g} ms, 99 % within {quantile(values, 0.99):.3g} ms"
        for name, values in samples.items()), showlegend=len(samples) > 1)
    for (name, values), (colour, dash) in zip(samples.items(), STYLES):
        ordered = [max(SMALLEST, value) for value in sorted(values)]
        chart.add_scatter(x=[ordered[0], *ordered], y=[100 * number / len(ordered) for number in range(len(ordered) + 1)],
                          name=name, mode="lines", line={"color": colour, "dash": dash, "width": 3, "shape": "hv"})
    chart.update_xaxes(title="milliseconds from send to answer", **_milliseconds([x for line in chart.data for x in line.x]))
    chart.update_yaxes(title="% of the records", range=[0, 102])
    return chart


def over_time(points: list[tuple[float, float]], phases: Sequence[tuple[str, float]], title: str) -> Chart:
    """Return a chart with one dot for each record (when it was sent, how long its answer took) and a line where each
    phase begins."""
    answers = [max(SMALLEST, ms) for _, ms in points]
    chart = Chart(title, f"{title}: {len(points)} records, from {min(answers):.3g} to {max(answers):.5g} ms", showlegend=False)
    chart.add_scatter(x=[at for at, _ in points], y=answers, name="records", mode="markers",
                      marker={"color": RED, "size": 6, "symbol": "circle"})
    for number, (name, at) in enumerate(phases):
        high = 1 - 0.075 * number  # a row for each name: there is room at any width, and no later line goes through it
        chart.add_shape(type="line", x0=at, x1=at, y0=0, y1=high, xref="x", yref="paper", line={"color": GREY, "dash": "dot"})
        chart.add_annotation(x=at, y=high, yref="paper", xanchor="left", yanchor="top", text=name, showarrow=False)
    chart.update_xaxes(title="second of the send", range=[0, 1.02 * max(at for at, _ in points)])
    chart.update_yaxes(title="milliseconds to the answer", **_milliseconds([*answers, 10 * max(answers)]))  # the names on top
    return chart


def _milliseconds(values: list[float]) -> dict[str, object]:
    """Return a logarithmic axis in plotly's words, from the power of ten below all values to the one above."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values) * 1.001))
    named = list(decades(low, high))
    return {"type": "log", "range": [low, high], "tickvals": named, "ticktext": [f"{value:,.9g}" for value in named]}
