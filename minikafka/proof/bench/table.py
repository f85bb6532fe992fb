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

from minikafka.proof.bench.rows import CLOSED, GROWTH, ROWS, BenchRow
from minikafka.proof.bench.work import Figures

OURS, APACHE = "minikafka", "apache"
Rounds = dict[str, dict[str, list[Figures]]]  # row -> engine -> figures of each round


class Line(NamedTuple):
    """One figure of one row."""

    row: BenchRow
    figure: str
    apache: float
    ours: float
    ratio: float
    ahead: bool


def lines(rounds: Rounds) -> Iterator[Line]:
    """Yield every figure that both engines have."""
    for row in [*ROWS, *CLOSED, *GROWTH]:
        by_engine = rounds.get(row.name, {})
        if not (by_engine.get(OURS) and by_engine.get(APACHE)):
            continue
        for figure, more_is_better in row.figures.items():
            apache, ours = (median(each[figure] for each in by_engine[engine]) for engine in (APACHE, OURS))
            ratio = ours / apache if apache else float("inf")
            yield Line(row, figure, apache, ours, ratio, ours >= apache if more_is_better else ours <= apache)


def as_text(rounds: Rounds, machine: dict[str, str]) -> str:
    """Return the table with the machine above it, as Markdown."""
    head = [" · ".join(f"{name} {value}" for name, value in machine.items()), "",
            "| row | figure | Apache | minikafka | ratio | |", "|---|---|---|---|---|---|"]
    body = [f"| {each.row.name} | {each.figure} | {each.apache:,.4g} | {each.ours:,.4g} | {each.ratio:.2f} | "
            f"{'+' if each.ahead else '-'} |" for each in lines(rounds)]
    return "\n".join(head + body)


def plot(rounds: Rounds, machine: dict[str, str], path: Path) -> None:
    """Write a page with the plots."""
    pages = [figure.to_html(full_html=False, include_plotlyjs=number == 0)
             for number, figure in enumerate(plots(rounds, machine))]
    path.write_text("\n".join(pages))


def plots(rounds: Rounds, machine: dict[str, str]) -> list[Any]:
    """Return the ratios as bars, and what grows as lines, a plot for each series."""
    found = list(lines(rounds))
    bars = [each for each in found if not each.row.series]
    title = f"minikafka / Apache Kafka ({machine['date']}, {machine['cores']} cores)"
    return ([_bars(bars, f"{title}; green: we are ahead")] if bars else []) + [
        _curves([each for each in found if each.row.series == series], f"{title}, {series}")
        for series in dict.fromkeys(each.row.series for each in found) if series]


def _bars(found: list[Line], title: str) -> Any:
    """Return the ratios as bars, on a scale on which twice as much and half as much are equally far from 1."""
    import plotly.graph_objects as go

    found = found[::-1]
    bars: Any = go.Bar(
        x=[each.ratio for each in found], y=[f"{each.row.name}: {each.figure}" for each in found], orientation="h",
        marker_color=["#2a9d8f" if each.ahead else "#e76f51" for each in found],
        hovertext=[f"Apache {each.apache:,.4g}, minikafka {each.ours:,.4g}" for each in found])
    figure = go.Figure(bars)
    figure.update_layout(title=title, height=140 + 22 * len(found), margin={"l": 420})
    figure.update_xaxes(type="log", title="ratio")
    return figure


def _curves(found: list[Line], title: str) -> Any:
    """Return each figure of a series over the size. Both scales are of powers of ten, so that what grows as the size does rises
    as much as it goes to the right."""
    from plotly.subplots import make_subplots

    names = list(dict.fromkeys(each.figure for each in found))
    figure = make_subplots(rows=1, cols=len(names), subplot_titles=names)
    for column, name in enumerate(names, 1):
        points = [each for each in found if each.figure == name]
        for engine, colour, values in ((OURS, "#2a9d8f", [each.ours for each in points]),
                                       (APACHE, "#264653", [each.apache for each in points])):
            figure.add_scatter(x=[each.row.size for each in points], y=values, name=engine, mode="lines+markers",
                               marker_color=colour, showlegend=column == 1, row=1, col=column)
    figure.update_layout(title=title, height=320)
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    return figure
