"""A run at any moment, however one comes there; and every frame of bad runs can be composed and drawn."""
from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from minikafka.cluster.trace import order
from minikafka.lab.picture.compose import BOXES
from minikafka.lab.picture.draw.svg import to_svg
from minikafka.lab.picture.draw.text import to_text
from minikafka.lab.picture.facts import run as facts_run
from minikafka.lab.picture.facts.run import EVERY, RecordedRun
from minikafka.lab.picture.facts.state import RunState
from minikafka.lab.picture.frame import Frame, MomentKind
from tests.lab.picture.script import TP, Script
from tests.lab.picture.stories import recorded

RUNS = [("unclean", 0), ("trouble", 1)]


def events_of(name: str, seed: int) -> list[dict[str, Any]]:
    return recorded(name, seed).events


def moments(run: RecordedRun, number: int) -> list[float]:
    """Times of events, from first to last."""
    times = sorted({event["t"] - run.events[0]["t"] for event in run.events})
    return times[:: max(1, len(times) // number)]


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_stepping_gives_what_asking_directly_gives(name: str, seed: int) -> None:
    """Fails if a moment depends on how one came there: forwards, backwards, from a checkpoint or not (I-RUN-1, I-STATE-1)."""
    run = RecordedRun(events_of(name, seed))
    times = moments(run, 60)
    forwards = [run.at(t, TP) for t in times]
    backwards = [run.at(t, TP) for t in reversed(times)]
    assert forwards == backwards[::-1]
    jumps = Random(1).sample(range(len(times)), len(times))
    assert all(run.at(times[n], TP) == forwards[n] for n in jumps)
    t, end = times[len(times) // 2], run.events[0]["t"] + times[len(times) // 2]
    cold = RecordedRun([event for event in run.events if event["t"] <= end])
    assert cold.at(t, TP).chosen == run.at(t, TP).chosen and cold.at(t, TP).ledger == run.at(t, TP).ledger


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_a_run_that_grows_is_the_run_as_a_whole(name: str, seed: int) -> None:
    """Fails if events that come in pieces, and some of them late, end in another picture or other marks than at once."""
    events = events_of(name, seed)
    whole, growing = RecordedRun(events), RecordedRun([])
    chunks = [events[n : n + 150] for n in range(0, len(events), 150)]
    for n, chunk in enumerate(chunks):
        late = chunk[-3:]                              # these come with the next piece, after newer ones
        growing.add([*(chunks[n - 1][-3:] if n else []), *[event for event in chunk if event not in late]])
    growing.add(chunks[-1][-3:])
    assert growing.events == sorted(events, key=order)
    assert growing.marks == whole.marks
    assert growing.at(None, TP) == whole.at(None, TP)
    assert all(growing.at(t, TP) == whole.at(t, TP) for t in moments(whole, 15))


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_every_moment_can_be_drawn(name: str, seed: int) -> None:
    """Fails if the frame at any event raises, breaks an invariant, or cannot be drawn."""
    run = RecordedRun(events_of(name, seed))
    for n, t in enumerate(moments(run, 250)):
        frame = run.at(t, TP)
        sound(frame)
        if n % 40 == 0:
            assert to_svg(frame).startswith("<svg") and to_text(frame)


def sound(frame: Frame) -> None:
    """What holds in every frame."""
    hash(frame)                                        # I-FRAME-1: a value
    for lane in frame.chosen.lanes if frame.chosen is not None else ():
        drawn = [cell.offset for cell in lane.cells] + [n for span in lane.folded for n in range(span.start, span.end)]
        assert sorted(drawn) == [*range(lane.start or 0, lane.end or 0)], (frame.t, lane)
        assert lane.end is None or not lane.cells or lane.cells[-1].offset == lane.end - 1
        assert lane.end is None or lane.high_watermark is None or lane.high_watermark <= lane.end
        assert len(lane.cells) <= BOXES
    for p in frame.producers:
        assert p.sent == p.acked + p.failed + p.unknown + p.waiting, "I-WATCHED-1"
    ledger = frame.ledger
    if ledger.acknowledged is not None:
        assert 0 <= (ledger.readable or 0) <= ledger.acknowledged and 0 <= (ledger.lost or 0) <= ledger.acknowledged
    assert frame.sentence.text and frame.begin <= frame.t <= frame.end
    for epochs in (frame.chosen.epochs if frame.chosen is not None else (),):
        assert [e.epoch for e in epochs] == sorted({e.epoch for e in epochs})


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_the_plotted_leader_may_die_at_any_step(name: str, seed: int) -> None:
    """Fails if any picture needs a leader that lives (I-PICTURE-1)."""
    events = events_of(name, seed)
    run = RecordedRun(events)
    for t in moments(run, 30):
        chosen = run.at(t, TP).chosen
        if chosen is None or chosen.leader is None:
            continue
        told = [event for event in events if event["t"] - events[0]["t"] <= t]
        kill = {"t": told[-1]["t"], "w": 0, "b": 0, "i": 9, "n": 1 << 30, "k": "fault", "fault": "kill", "args": [chosen.leader]}
        frame = RecordedRun([*told, kill]).at(None, TP)
        sound(frame)
        assert to_svg(frame).startswith("<svg") and to_text(frame)
        assert next(lane for lane in frame.chosen.lanes if lane.broker == chosen.leader).process == "killed"  # type: ignore[union-attr]


def test_scrubbing_folds_no_more_than_lies_between_two_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a moment in a long run costs more than a few hundred events (a few milliseconds)."""
    run = RecordedRun(events_of("trouble", 1))
    assert len(run.events) > 3 * EVERY
    folded = 0
    fold = facts_run.fold

    def counted(state: RunState, event: dict[str, Any]) -> None:
        nonlocal folded
        folded += 1
        fold(state, event)

    monkeypatch.setattr(facts_run, "fold", counted)
    for t in Random(2).sample(moments(run, 200), 40):
        folded = 0
        run.at(t, TP)
        assert folded < EVERY
    folded = 0
    run.at(None, TP)
    assert folded == 0, "now is there already"


def test_saved_and_opened(tmp_path: Path) -> None:
    """Fails if a file loses an event, a fact of its head, or is not the same for the same run."""
    run = recorded("unclean")
    path = run.save(tmp_path / "run.mk")
    again = RecordedRun.open(path)
    assert again.events == run.events and (again.engine, again.seed) == ("sim", 8)
    assert [again.at(t, TP).chosen for t in moments(run, 20)] == [run.at(t, TP).chosen for t in moments(run, 20)]
    assert again.marks == run.marks
    assert again.save(tmp_path / "again.mk").read_bytes() == path.read_bytes()
    assert path.stat().st_size < 60 * len(run.events), "a small file"
    with pytest.raises(ValueError, match="no recorded run"):
        RecordedRun.open(Path(__file__))
    (tmp_path / "other.mk").write_bytes(gzip.compress(json.dumps({"format": "else"}).encode()))
    with pytest.raises(ValueError, match="'else'"):
        RecordedRun.open(tmp_path / "other.mk")


def test_steps_and_marks() -> None:
    """Fails if a step skips an event, stands still, or runs past an end."""
    run = RecordedRun(events_of("unclean", 0))
    t, seen = run.begin, [0.0]
    while (after := run.step(t, +1)) != t:
        assert after > t and len(run.events_between(t, after)) >= 1
        assert run.events_between(t, (t + after) / 2) == []
        t = after
        seen.append(t)
    assert t == pytest.approx(run.end)
    back = [t]
    while (before := run.step(back[-1], -1)) != back[-1]:
        back.append(before)
    assert back[::-1] == pytest.approx(seen)
    assert [mark.t for mark in run.marks] == sorted(mark.t for mark in run.marks)
    loss = run.next_mark(0.0, +1, MomentKind.LOSS)
    assert loss is not None and loss.kind is MomentKind.LOSS
    assert run.next_mark(loss.t, +1, MomentKind.LOSS) is None and run.next_mark(loss.t, -1, MomentKind.LOSS) is None
    killed = run.next_mark(loss.t, -1, MomentKind.FAULT)
    assert killed is not None and killed.text.endswith("killed")


def test_a_run_without_events() -> None:
    """Fails if a view that starts before its cluster does cannot draw."""
    frame = RecordedRun([]).at(None)
    assert (frame.chosen, frame.rows, frame.t) == (None, (), 0.0)
    assert to_text(frame) and to_svg(frame).startswith("<svg")


def test_unknown_kinds_and_unknown_partitions_do_no_harm() -> None:
    """Fails if a trace of a later version, or a partition that is not there, ends the picture."""
    s = Script(records=3).say("something new", 1, whatever=1)
    assert s.frame("nowhere-7").chosen is None
    assert s.frame().chosen is not None
