"""From rounds to ratios: the table as text, and the plot.

The figure of an engine is the median of its rounds. The ratio is always ours to Apache Kafka's, so whether more of it is
better depends on the figure; the table marks a figure in which we are ahead with `+`, else with `-`.

Owns: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from minikafka.bench.rows import ROWS, Figures

OURS, APACHE = "minikafka", "apache"
Rounds = dict[str, dict[str, list[Figures]]]  # row -> engine -> figures of each round


class Line(NamedTuple):
    """One figure of one row."""

    row: str
    figure: str
    apache: float
    ours: float
    ratio: float
    ahead: bool


def lines(rounds: Rounds) -> Iterator[Line]:
    """Yield every figure that both engines have."""
    for row in ROWS:
        by_engine = rounds.get(row.name, {})
        if not (by_engine.get(OURS) and by_engine.get(APACHE)):
            continue
        for figure, more_is_better in row.figures.items():
            apache, ours = (median(each[figure] for each in by_engine[engine]) for engine in (APACHE, OURS))
            ratio = ours / apache if apache else float("inf")
            yield Line(row.name, figure, apache, ours, ratio, ours >= apache if more_is_better else ours <= apache)


def as_text(rounds: Rounds, machine: dict[str, str]) -> str:
    """Return the table with the machine above it, as Markdown."""
    head = [" · ".join(f"{name} {value}" for name, value in machine.items()), "",
            "| row | figure | Apache | minikafka | ratio | |", "|---|---|---|---|---|---|"]
    body = [f"| {each.row} | {each.figure} | {each.apache:,.4g} | {each.ours:,.4g} | {each.ratio:.2f} | "
            f"{'+' if each.ahead else '-'} |" for each in lines(rounds)]
    return "\n".join(head + body)


def plot(rounds: Rounds, machine: dict[str, str], path: Path) -> None:
    """Write the ratios as bars, on a scale on which twice as much and half as much are equally far from 1."""
    import plotly.graph_objects as go

    found = list(lines(rounds))[::-1]
    bars: Any = go.Bar(
        x=[each.ratio for each in found], y=[f"{each.row}: {each.figure}" for each in found], orientation="h",
        marker_color=["#2a9d8f" if each.ahead else "#e76f51" for each in found],
        hovertext=[f"Apache {each.apache:,.4g}, minikafka {each.ours:,.4g}" for each in found])
    figure = go.Figure(bars)
    figure.update_layout(title=f"minikafka / Apache Kafka ({machine['date']}, {machine['cores']} cores); green: we are ahead",
                         height=140 + 22 * len(found), margin={"l": 420})
    figure.update_xaxes(type="log", title="ratio")
    figure.write_html(path, include_plotlyjs=True)
