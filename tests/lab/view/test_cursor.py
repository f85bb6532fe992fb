"""Where a viewer stands in time (I-CURSOR-1, I-CURSOR-2), on a recorded run."""
from __future__ import annotations

import pytest

from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.view.cursor import LIVE, PLAY, STILL, Cursor, moved, passed


@pytest.fixture(scope="module")
def run(recorded) -> RecordedRun:
    return RecordedRun.open(recorded)


def test_a_cursor_never_leaves_the_run(run):
    """I-CURSOR-1: fails if the slider's ends or a stray message lead before the beginning or past the end."""
    assert moved(Cursor(), {"do": "go", "t": -5}, run) == Cursor(STILL, run.begin)
    assert moved(Cursor(), {"do": "go", "t": run.end + 99}, run) == Cursor(STILL, run.end)
    assert moved(Cursor(STILL, run.end), {"do": "step", "by": 1}, run).t == run.end
    assert moved(Cursor(STILL, run.begin), {"do": "step", "by": -1}, run).t == run.begin


def test_a_step_is_one_event(run):
    """Fails if a step forward shows more than the events of one moment, or a step back does not undo it."""
    here = Cursor(STILL, run.end / 2)
    on = moved(here, {"do": "step", "by": 1}, run)
    between = run.events_between(here.t, on.t)
    assert between and len({event["t"] for event in between}) == 1
    again = moved(moved(on, {"do": "step", "by": 1}, run), {"do": "step", "by": -1}, run)
    assert again.t == pytest.approx(on.t)


def test_jumps_go_from_mark_to_mark_of_a_kind(run):
    """Fails if a jump skips a mark, stays where it stands, or lands on one of another kind."""
    faults = [mark.t for mark in run.marks if mark.kind == "fault"]
    assert len(faults) >= 2  # the death and the return
    seen, cursor = [], Cursor(STILL, run.begin)
    for _ in faults:
        cursor = moved(cursor, {"do": "jump", "kind": "fault", "by": 1}, run)
        seen.append(cursor.t)
    assert seen == faults
    assert moved(cursor, {"do": "jump", "kind": "fault", "by": 1}, run) == cursor  # I-CURSOR-2: there is no further one
    assert moved(cursor, {"do": "jump", "kind": "fault", "by": -1}, run).t == faults[-2]
    assert moved(cursor, {"do": "jump", "kind": "loss", "by": -1}, run) == cursor  # nothing was lost in this run


def test_playing_moves_with_the_viewers_clock_and_ends(run):
    """Fails if speed is ignored, if playing at the end does not begin anew, or if it runs past the end."""
    playing = moved(Cursor(STILL, 1.0), {"do": "play", "speed": 4.0}, run)
    assert playing == Cursor(PLAY, 1.0, 4.0)
    assert passed(playing, 0.5, run).t == pytest.approx(3.0)
    assert passed(playing, run.end, run) == Cursor(STILL, run.end, 4.0)
    assert moved(Cursor(), {"do": "play"}, run).t == run.begin
    assert passed(Cursor(STILL, 1.0), 5.0, run).t == 1.0
    assert moved(playing, {"do": "pause"}, run).mode == STILL


def test_a_partition_that_is_not_there_is_not_chosen(run):
    """I-CURSOR-2: fails if an unknown name blanks the picture."""
    assert moved(Cursor(), {"do": "choose", "tp": "flights-1"}, run).tp == "flights-1"
    assert moved(Cursor(tp="flights-1"), {"do": "choose", "tp": "trains-9"}, run).tp == "flights-1"
    assert moved(Cursor(STILL, 2.0), {"do": "live"}, run) == Cursor(LIVE)
    assert moved(Cursor(STILL, 2.0), {"do": "sing"}, run) == Cursor(STILL, 2.0)
