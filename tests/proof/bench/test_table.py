"""The bench's table: medians, ratios, and who is ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.proof.bench.command import main
from minikafka.proof.bench.rows import CLOSED, GROWTH, ROWS
from minikafka.proof.bench.table import APACHE, OURS, Rounds, as_text, lines, plot, plots

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


def test_what_grows_is_a_line_of_both_engines_over_the_size() -> None:
    """Fails if a size is left out, if a series is drawn as bars, or if there is a plot of nothing."""
    series = [row for row in GROWTH if row.series == GROWTH[0].series]
    grown: Rounds = {row.name: {OURS: [dict.fromkeys(row.figures, 1.0 * row.size)],
                                APACHE: [dict.fromkeys(row.figures, 2.0 * row.size)]} for row in series}
    (curves,) = plots(grown, MACHINE)
    sizes = tuple(row.size for row in series)
    assert {(line.name, line.x, line.y) for line in curves.data} == {
        (OURS, sizes, sizes), (APACHE, sizes, tuple(2 * size for size in sizes))}
    assert len(curves.data) == 2 * len(series[0].figures)
    assert [line.type for each in plots(ROUNDS, MACHINE) for line in each.data] == ["bar"]


def test_every_row_has_a_name_of_its_own() -> None:
    """Fails if the figures of two rows would be taken for rounds of one."""
    every = [*ROWS, *CLOSED, *GROWTH]
    assert len({row.name for row in every}) == len(every)


def test_a_full_disk_is_refused_before_anything_starts(capsys: pytest.CaptureFixture[str],
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the bench begins what the disk has no room for: the brokers of both engines die of it, minutes later."""
    monkeypatch.setattr("minikafka.proof.bench.command.ROOM_GIB", 1 << 30)
    assert main(["--only", PACED.name]) == 2
    assert "TMPDIR" in capsys.readouterr().out
