"""Two charts, one below the other: how many records a follower is behind, and what its stopwatch says.

    twins({"twin 1": first_room, "twin 2": second_room}, D, since=20)

Owns: nothing. Invariants
  every point is a note of a room; nothing is smoothed or drawn beyond what was measured
"""
from __future__ import annotations

from plotly.subplots import make_subplots

from minikafka.lab.labs.lab08.experiment import LIMIT, LagCluster
from minikafka.lab.picture.draw.chart import BLUE, GREEN, GREY, RED, Chart

STYLES = ((RED, "solid"), (BLUE, "dash"), (GREEN, "dot"))


def twins(rooms: dict[str, LagCluster], follower: int, since: float = 0.0) -> Chart:
    """Return a chart with one line for each room: records behind (above), seconds since last caught up (below)."""
    notes = {name: [note for note in room.notes if note.t >= since] for name, room in rooms.items()}
    said = "; ".join(f"{name}: at most {max(note.behind(follower) for note in told):.0f} records behind, stopwatch at most "
                     f"{max(note.watch[follower] for note in told):.1f} s" for name, told in notes.items())
    chart: Chart = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.1, figure=Chart(said=said, height=480))
    for (name, told), (colour, dash) in zip(notes.items(), STYLES):
        for row, values in enumerate(([note.behind(follower) for note in told], [note.watch[follower] for note in told]), 1):
            chart.add_scatter(x=[note.t for note in told], y=values, name=name, mode="lines", row=row, col=1,
                              showlegend=row == 1, line={"color": colour, "dash": dash, "width": 2.5})
    chart.add_hline(y=LIMIT, row=2, col=1, line={"color": GREY, "dash": "dot"}, annotation_text=f"limit {LIMIT:g} s",
                    annotation_position="top left")
    chart.update_xaxes(range=[chart.data[0].x[0], chart.data[0].x[-1]])
    chart.update_xaxes(title="seconds", row=2, col=1)
    for row, title in enumerate(("records behind", "stopwatch, seconds"), 1):
        chart.update_yaxes(title=title, rangemode="tozero", row=row, col=1)
    return chart
