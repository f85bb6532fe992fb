"""The bench's table: medians, ratios, and who is ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.bench.command import main
from minikafka.bench.rows import ROWS
from minikafka.bench.table import APACHE, OURS, Rounds, as_text, lines, plot

PACED, MACHINE = ROWS[0], {"date": "today", "cores": "2"}
SLOW = {"p50 ms": 4.0, "p99 ms": 9.0, "records/s": 100.0, "CPU ms/record": 2.0}
FAST = {"p50 ms": 1.0, "p99 ms": 3.0, "records/s": 300.0, "CPU ms/record": 2.0}
ROUNDS: Rounds = {PACED.name: {OURS: [FAST, FAST, SLOW], APACHE: [SLOW, FAST, SLOW]}}


def test_the_ratio_is_that_of_the_medians_and_less_is_ahead_only_where_less_is_better() -> None:
    """Fails if one odd round decides, or if a figure is judged in the wrong direction."""
    found = {line.figure: line for line in lines(ROUNDS)}
    assert {name: line.ratio for name, line in found.items()} == {
        "p50 ms": 0.25, "p99 ms": pytest.approx(1 / 3), "records/s": 3.0, "CPU ms/record": 1.0}
    assert all(line.ahead for line in found.values())
    swapped = {PACED.name: {OURS: [SLOW], APACHE: [FAST]}}
    assert [line.figure for line in lines(swapped) if line.ahead] == ["CPU ms/record"]


def test_table_and_plot_show_every_figure(tmp_path: Path) -> None:
    """Fails if a figure that was measured is not shown."""
    text = as_text(ROUNDS, MACHINE)
    plot(ROUNDS, MACHINE, tmp_path / "bench.html")
    page = (tmp_path / "bench.html").read_text().replace("\\u002f", "/")
    assert all(figure in text and figure in page for figure in PACED.figures)


def test_a_row_of_one_engine_has_no_ratio() -> None:
    """Fails if `--engines minikafka` ends in an error, after minutes of work."""
    assert list(lines({PACED.name: {OURS: [FAST]}})) == []


def test_a_row_that_does_not_exist_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such row"]) == 2
    assert PACED.name in capsys.readouterr().out
