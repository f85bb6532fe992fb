"""Duplicates and losses by commit policy, as bars: a plotly figure where plotly runs, an SVG where nothing does.

Owns: nothing; the rows are measured elsewhere.
Invariants
  I-L5-5  both pictures are drawn from the same rows, and every bar carries its number
"""
from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go

from minikafka.lab.picture.draw.charts_still import interactive

ORANGE, VERMILLION = "#e69f00", "#d55e00"  # Okabe-Ito; the lost ones are hatched too
SERIES = (("duplicates", ORANGE, ""), ("lost", VERMILLION, "/"))
WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 900, 190, 60, 20, 16, 56


class Bars:
    """The last expression of a cell shows it; `rows` have policy, duplicates and lost."""

    def __init__(self, rows: list[dict[str, Any]], title: str) -> None:
        self.rows, self.title = rows, title

    @property
    def figure(self) -> go.Figure:
        policies = [row["policy"] for row in self.rows]
        bars = [go.Bar(name=name, y=policies, x=[row[name] for row in self.rows], text=[row[name] for row in self.rows],
                       orientation="h", marker={"color": colour, "pattern": {"shape": pattern}}, textposition="outside")
                for name, colour, pattern in SERIES]
        figure = go.Figure(bars)
        figure.update_layout(title=self.title, height=90 + 60 * len(policies),
                             margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": 30})
        figure.update_yaxes(autorange="reversed")
        return figure

    def svg(self) -> str:
        """Return the same bars, drawn by hand on a white card."""
        largest = max([1, *(row[name] for row in self.rows for name, _, _ in SERIES)])
        scale, step = (WIDTH - LEFT - RIGHT) / largest, len(SERIES) * BAR + GAP
        height = TOP + step * len(self.rows) + 8
        parts = [f'<text x="{LEFT}" y="24" font-size="18" font-weight="bold">{html.escape(self.title)}</text>']
        parts += [f'<rect x="{LEFT + 130 * n}" y="34" width="14" height="14" fill="{_fill(name, colour)}"/>'
                  f'<text x="{LEFT + 130 * n + 20}" y="46" font-size="15">{name}</text>'
                  for n, (name, colour, _) in enumerate(SERIES)]
        for number, row in enumerate(self.rows):
            y = TOP + 6 + number * step
            parts.append(f'<text x="{LEFT - 10}" y="{y + BAR + 5}" font-size="16" text-anchor="end">'
                         f'{html.escape(row["policy"])}</text>')
            for n, (name, colour, _) in enumerate(SERIES):
                width, at = row[name] * scale, y + n * BAR
                parts.append(f'<rect x="{LEFT}" y="{at}" width="{width:.1f}" height="{BAR - 3}" fill="{_fill(name, colour)}"/>'
                             f'<text x="{LEFT + width + 6:.1f}" y="{at + 14}" font-size="15">{row[name]}</text>')
        hatch = (f'<defs><pattern id="lost" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
                 f'<rect width="6" height="6" fill="{VERMILLION}"/><rect width="2" height="6" fill="white"/></pattern></defs>')
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="100%" '
                f'font-family="sans-serif" fill="black">{hatch}<rect width="{WIDTH}" height="{height}" fill="white"/>'
                + "".join(parts) + "</svg>")

    def __repr__(self) -> str:
        return "\n".join([self.title, *(f"{row['policy']:>20}  {row['duplicates']:3} duplicates  {row['lost']:3} lost"
                                        for row in self.rows)])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {**interactive(self.figure), "image/svg+xml": self.svg(), "text/plain": repr(self)}


def _fill(name: str, colour: str) -> str:
    return "url(#lost)" if name == "lost" else colour
