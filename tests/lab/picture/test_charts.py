"""Charts hold the run's own numbers, on one clock, and can be read on both themes."""

from __future__ import annotations

from base64 import b64decode
from typing import Any
from xml.etree import ElementTree

import pytest

from minikafka.lab.picture.draw import chart
from minikafka.lab.picture.draw.chart import BLUE, thinned
from minikafka.lab.picture.draw.charts import charts, rates, read
from minikafka.lab.picture.draw.element import image
from minikafka.lab.picture.draw.paper import shorten, width
from minikafka.lab.picture.facts.run import RecordedRun
from tests.lab.picture.test_theme import contrast

ZERO = 100.0


def event(t: float, kind: str, broker: int = 0, **fields: object) -> dict[str, Any]:
    return {"t": ZERO + t, "w": 0, "b": broker, "i": 1, "n": int(t * 1000), "k": kind, **fields}


def story() -> list[dict[str, Any]]:
    """Broker 1 leads and writes two records, 2 copies one; one is acknowledged; a group commits 1; 2 takes over."""
    tp = {"tp": "flights-0"}
    return [
        event(0.0, "role", 1, role="leader", leader=1, epoch=0, isr=[1, 2], **tp),
        event(1.0, "sent", client="trips", topic="flights", partition=0, record=1),
        event(1.1, "append", 1, base=0, last=1, epoch=0, count=2, bytes=100, **tp),
        event(1.2, "append", 2, base=0, last=0, epoch=0, count=1, bytes=50, **tp),
        event(1.3, "hw", 1, hw=1, **tp),
        event(1.4, "hw", 2, hw=0, **tp),
        event(1.5, "acked", client="trips", offset=0, record=1, **tp),
        event(2.0, "commit", 1, group="billing", offset=1, **tp),
        event(3.0, "role", 2, role="leader", leader=2, epoch=1, isr=[2], **tp),
        event(3.1, "truncate", 1, to=1, **tp),
        event(3.5, "append", 2, base=1, last=3, epoch=1, count=3, bytes=50, **tp),
        event(4.0, "hw", 2, hw=4, **tp),
    ]


def test_series_are_the_events() -> None:
    """Fails if a follower's watermark is taken for the leader's, or a truncation is left out of the ends."""
    series = read(story(), "flights-0", ZERO)
    assert series.ends == {1: [(1.0999999999999943, 2), (3.0999999999999943, 1)], 2: [(1.2000000000000028, 1), (3.5, 4)]}
    assert [value for _, value in series.watermark] == [1, 4]
    assert [round(value, 3) for _, value in series.latency] == [0.5]
    assert [(round(t, 1), lag) for t, lag in series.lag["billing"]] == [(2.0, 0), (4.0, 3)]
    assert len(series.times["written"]) == 5 and len(series.times["acknowledged"]) == 1


def test_a_rate_of_nothing_is_drawn_as_zero() -> None:
    """Fails if seconds without an event are left out: the line would bridge the very gap that a failure makes."""
    assert rates([0.1, 0.2, 3.5], 4.0) == [(0.5, 2.0), (1.5, 0.0), (2.5, 0.0), (3.5, 1.0), (4.5, 0.0)]


def test_all_charts_share_the_clock() -> None:
    """Fails if an axis goes its own way when one zooms."""
    figure = charts(RecordedRun(story(), engine="sim"), "flights-0")
    assert figure.layout.xaxis.matches == figure.layout.xaxis2.matches == figure.layout.xaxis3.matches == "x4"
    drawn = {trace.name: list(trace.y) for trace in figure.data}
    assert (drawn["high watermark"] == [1, 4] and drawn["end, broker 1"] == [2, 1] and drawn["lag, billing"] == [0, 3])


def test_a_page_without_scripts_shows_the_same_lines() -> None:
    """Fails if a page that does not run plotly shows nothing, or if a trace, a mark or a panel is left out there."""
    figure = charts(RecordedRun(story(), engine="sim"), "flights-0")
    bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"application/vnd.plotly.v1+json", "text/html", "text/plain"}
    drawn = bundle["application/vnd.plotly.v1+json"]
    assert "width" not in drawn["layout"] and drawn["layout"]["height"] and "config" not in drawn, "the page gives the width"
    assert (drawn["layout"]["paper_bgcolor"], drawn["layout"]["plot_bgcolor"]) == ("rgba(0,0,0,0)",) * 2
    for page in ("#ffffff", "#111111"):  # JupyterLab's themes
        assert contrast(drawn["layout"]["font"]["color"], page) > 4, "letters that a theme swallows"
    assert "high watermark" in bundle["text/plain"] and getattr(figure, "_ipython_display_", None) is None
    root = ElementTree.fromstring(b64decode(bundle["text/html"].split("base64,")[1].split('"')[0]))
    assert [g.get("data-axis") for g in root.iter() if g.get("data-part") == "panel"] == [
        "records/s", "latency, ms", "offset", "lag"]
    texts = {text.text for text in root.iter() if text.tag.endswith("text")}
    assert {trace.name for trace in figure.data} <= texts and {"0", "1", "2", "3", "4"} <= texts
    watermark = [path.get("d") for path in root.iter() if path.get("stroke") == BLUE and "V" in path.get("d", "")]
    assert len(watermark) == 1 and watermark[0].count("V") == 1  # two values: one step


def test_titles_of_panels_keep_apart() -> None:
    """Fails if the title of an axis is longer than its panel is high: it runs into that of the next panel."""
    figure = charts(RecordedRun(story(), engine="sim"), "flights-0")
    shown = chart.interactive(figure)["application/vnd.plotly.v1+json"]["layout"]
    room = shown["height"] - shown["margin"]["t"] - shown["margin"]["b"]
    axes = [shown[f"yaxis{number}"] for number in ("", 2, 3, 4)]
    wide = [width(axis["title"]["text"], axis["title"]["font"]["size"]) for axis in axes]
    assert [axis["title"]["text"] for axis, long in zip(axes, wide)
            if long > room * (axis["domain"][1] - axis["domain"][0])] == []


def test_without_a_group_there_is_no_panel_of_lag() -> None:
    """Fails if a run in which no group commits has an axis with nothing on it, or if its marks lose their foot."""
    figure = charts(RecordedRun([each for each in story() if each["k"] != "commit"], engine="sim"), "flights-0")
    assert figure.layout.yaxis3.title.text == "offset" and "yaxis4" not in figure.layout
    assert next(trace for trace in figure.data if trace.name == "events").yaxis == "y3"
    assert {shape.xref for shape in figure.layout.shapes} == {"x3"} and "panel" in chart.to_svg(figure)


def test_a_thinned_line_keeps_its_extremes() -> None:
    """Fails if a spike that is narrower than a pixel is left out (I-CHARTSTILL-2), or if a long run makes a long file."""
    line = [(n / 1000, 100.0 if n == 4321 else -7.0 if n == 4400 else 0.0) for n in range(10_000)]
    kept = thinned(line)
    assert len(kept) <= 40 and {100.0, -7.0, 0.0} == {y for _, y in kept} and kept == sorted(kept)


def test_an_empty_run_is_an_empty_chart() -> None:
    """Fails if a chart needs an event."""
    figure = charts(RecordedRun([]))
    assert figure.layout.yaxis3.title.text == "offset" and "<img" in figure._repr_mimebundle_()["text/html"]


def test_other_partitions_and_commits_reported_by_clients_are_left_out() -> None:
    """Fails if another partition's log is drawn in this one's chart, a client's word beside the coordinator's, or a leader of
    the past leads again by saying so; and if a commit that was told before any watermark stops the chart."""
    mine = read(story(), "flights-0", ZERO)
    others = [event(2.5, "append", 1, tp="flights-1", base=0, last=9, epoch=0, count=10, bytes=9),
              event(2.6, "hw", 1, tp="flights-1", hw=10), event(2.7, "commit", 1, tp="flights-1", group="billing", offset=10),
              event(2.8, "committed", tp="flights-0", group="billing", client="desk", offset=0),
              event(3.05, "role", 1, tp="flights-0", role="leader", leader=1, epoch=0, isr=[1, 2])]
    assert read(sorted([*story(), *others], key=lambda e: e["t"]), "flights-0", ZERO) == mine
    assert read([event(0.1, "commit", 1, tp="flights-0", group="billing", offset=1)], "flights-0", ZERO).lag == {}


def test_marks_stand_at_their_moment_through_all_charts() -> None:
    """Fails if the marks are not drawn, end below the top, or stand beside the clock of the lines."""
    run = RecordedRun(story(), engine="sim")
    figure = charts(run, "flights-0")
    foot = next(trace for trace in figure.data if trace.name == "events")
    assert sorted(zip(foot.x, foot.text)) == sorted((mark.t, mark.text) for mark in run.marks) and len(run.marks) > 0
    assert sorted(shape.x0 for shape in figure.layout.shapes) == sorted(foot.x)
    assert {(shape.y0, shape.y1, shape.yref) for shape in figure.layout.shapes} == {(0, 1, "paper")}
    line = next(trace for trace in figure.data if trace.name == "high watermark")
    assert [round(t, 3) for t in line.x] == [1.3, 4.0]


@pytest.mark.parametrize("name", ["BLUE", "GREEN", "ORANGE", "PURPLE", "SKY", "RED", "GREY"])
def test_a_line_is_seen_on_light_and_on_dark_pages(name: str) -> None:
    """Fails if a colour of the charts is nearly that of the page (SKY and ORANGE were 2.3 to 1 on white)."""
    for page in ("#ffffff", "#111111"):
        assert contrast(getattr(chart, name), page) > 3


def test_the_legend_is_below() -> None:
    """Fails if a legend takes the width of a narrow plot, or hangs over the figure's edge."""
    legend = charts(RecordedRun(story(), engine="sim"))._repr_mimebundle_()["application/vnd.plotly.v1+json"]["layout"]["legend"]
    assert (legend["orientation"], legend["yref"], legend["y"], legend["yanchor"]) == ("h", "container", 0, "bottom")


def test_an_axis_writes_plain_numbers() -> None:
    """Fails if an axis says 1e+06, or 0 for a tenth, or if a number has no room beside the axis."""
    values = [digit * 10.0 ** power for power in range(-1, 7) for digit in (1, 2, 5)]
    assert [chart.written(value) for value in (0.1, 2.0, 100_000.0, 1_000_000.0)] == ["0.1", "2", "100,000", "1 million"]
    assert [value for value in values if shorten(chart.written(value), chart.NUMBERS) != chart.written(value)] == []


def test_an_image_fits_its_place() -> None:
    """Fails if the letters of a still picture, of 14 units, can be smaller than 9 pixels or larger than 16."""
    said = image('<svg viewBox="0 0 1400 20" aria-label="a"></svg>')
    assert "min-width: 900px; max-width: 1600px" in said
