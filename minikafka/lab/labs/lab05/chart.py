"""Duplicates and losses by commit policy, as bars."""
from __future__ import annotations

from typing import Any

from minikafka.lab.picture.draw.chart import ORANGE, RED, Chart

SERIES = (("duplicates", ORANGE, ""), ("lost", RED, "/"))  # the lost ones are hatched too


def bars(rows: list[dict[str, Any]], title: str) -> Chart:
    """Return a chart with a bar for each number; `rows` have policy, duplicates and lost, which are measured elsewhere."""
    said = "\n".join([title, *(f"{row['policy']:>20}  {row['duplicates']:3} duplicates  {row['lost']:3} lost" for row in rows)])
    chart = Chart(title, said, 120 + 60 * len(rows))
    for name, colour, pattern in SERIES:
        chart.add_bar(name=name, y=[row["policy"] for row in rows], x=[row[name] for row in rows],
                      text=[row[name] for row in rows], orientation="h", textposition="outside", cliponaxis=False,
                      marker={"color": colour, "pattern": {"shape": pattern}})
    chart.update_layout(margin={"l": 190})
    chart.update_xaxes(title="rides")
    chart.update_yaxes(autorange="reversed")
    return chart
