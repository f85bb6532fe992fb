"""What of a log is open and what is folded: for any marks, for any room, and for every sentence that names an offset."""
from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minikafka.lab.picture.draw.axis import SLIT, Axis
from minikafka.lab.picture.facts.run import RecordedRun
from minikafka.lab.picture.focus import BLOCK, FOLD, fits, focus, folds, marks, size
from minikafka.lab.picture.frame import Frame, Span
from tests.lab.picture.frames import FRAMES
from tests.lab.picture.script import TP, Script
from tests.lab.picture.test_run import RUNS, events_of, moments

logs = st.tuples(st.integers(0, 1000), st.integers(1, 2000)).flatmap(lambda log: st.tuples(
    st.just(log[0]), st.just(log[0] + log[1]), st.lists(st.integers(log[0], log[0] + log[1]), min_size=1, max_size=12)))
rooms, fold_sizes = st.integers(8, 120), st.sampled_from([SLIT, 1, 2, FOLD])
many = settings(max_examples=300, derandomize=True, deadline=None)


def opened(spans: tuple[Span, ...]) -> set[int]:
    return {offset for each in spans for offset in range(each.start, each.end)}


def blocks(*found: int) -> set[int]:
    """Return the offsets that a mark may open, with the gaps beside them that are too short for a fold."""
    return {offset for mark in found for first in [(mark - 1) // BLOCK * BLOCK]
            for offset in range(first - FOLD, first + BLOCK + 1 + FOLD)}


@many
@given(logs, rooms, fold_sizes)
def test_marks_are_open_and_boxes_fit(log: tuple[int, int, list[int]], room: int, fold: float) -> None:
    """I-FOCUS-1, I-FOCUS-2: fails if room goes to the last records before every mark has its own, or if a fold costs nothing."""
    low, high, found = log
    result = focus(found, low, high, room, fold)
    assert size(result, low, high, fold) <= room
    assert sorted([*opened(result), *(o for each in folds(result, low, high) for o in range(each.start, each.end))]) == [
        *range(low, high)], "each offset is open or folded, once"
    assert all(each.end - each.start > fold for each in folds(result, low, high)) or not result
    if fits(found, low, high, room, fold):
        assert {o for mark in found for o in (mark - 1, mark) if low <= o < high} <= opened(result)


@many
@given(logs, rooms, rooms, fold_sizes)
def test_with_more_room_nothing_closes(log: tuple[int, int, list[int]], room: int, more: int, fold: float) -> None:
    """I-FOCUS-3: fails if a wider picture gives up a place for the sake of another."""
    low, high, found = log
    assert opened(focus(found, low, high, room, fold)) <= opened(focus(found, low, high, room + more, fold))


@many
@given(logs, st.data())
def test_a_mark_that_moves_moves_nothing_else(log: tuple[int, int, list[int]], data: st.DataObject) -> None:
    """I-FOCUS-4: fails if the stretches round other marks change when one mark goes on, or if a fold moves at each step."""
    low, high, found = log
    moved, target = data.draw(st.integers(0, len(found) - 1)), data.draw(st.integers(low, high))
    other = [target if place == moved else mark for place, mark in enumerate(found)]
    room = (BLOCK + 1 + FOLD) * (len(found) + 2)
    before, after = opened(focus(found, low, high, room)), opened(focus(other, low, high, room))
    if (target - 1) // BLOCK == (found[moved] - 1) // BLOCK:
        assert before == after
    elif moved:                                            # the last records still end at the first mark
        begins = [next((o + 1 for o in range(found[0] - 1, low - 1, -1) if o not in each), low) for each in (before, after)]
        assert (before ^ after) - blocks(found[moved], target) <= {*range(min(begins) - FOLD, max(begins))}


WRITTEN = re.compile(r"(\d+)-(\d+) (?:is|are) written|(?:at|below|to) (\d+)|(\d+) (?:is|are) written")
PAPERS = {"page": (326, 1256, 80), "dock": (326, 696, 80), "board": (246, 748, 60)}


def named(frame: Frame) -> Iterator[int]:
    """Yield the places between records that the frame's sentence names, where it is about the chosen partition."""
    if frame.chosen is None:
        return
    if f"{frame.chosen.topic}-{frame.chosen.index}" in frame.sentence.text or "not readable" in frame.sentence.text:
        for first, last, place, one in WRITTEN.findall(re.sub(r"for [\d.]+ s of [\d.]+ s", "", frame.sentence.text)):
            yield from (int(first), int(last) + 1) if first else (int(place),) if place else (int(one), int(one) + 1)


def hidden(frame: Frame, paper: str) -> list[int]:
    return [place for place in named(frame) if frame.chosen is not None for axis in [Axis(frame.chosen, *PAPERS[paper])]
            for lane in frame.chosen.lanes for each in axis.folds(lane) if each.start < place < each.end]


@pytest.mark.parametrize(("name", "seed"), RUNS)
def test_no_sentence_names_what_is_in_a_fold(name: str, seed: int) -> None:
    """Fails if a sentence's offset is no mark: the records beside it would be in a fold."""
    run = RecordedRun(events_of(name, seed))
    frames = [run.at(t, TP) for t in moments(run, 60)]
    assert sum(1 for frame in frames for _ in named(frame)) > 9
    assert [(frame.t, paper, frame.sentence.text) for frame in frames for paper in PAPERS if hidden(frame, paper)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_the_marks_of_the_labs_are_open(paper: str) -> None:
    """Fails if a reader far behind (lab 5), a watermark far behind (lab 8), a last stable offset far behind (lab 10), or the
    beginning of what was cut off stands in a fold."""
    behind = Script(records=120).say("commit", 1, group="taxi", tp=TP, offset=20)
    behind.say("position", client="meter", group="taxi", tp=TP, first=20, position=40)
    stuck = Script(min_isr=2, records=40).isr([1]).append(1, 40, 102).after(14)
    held = Script(records=90).say("hw", 1, tp=TP, hw=90, lso=12)
    cut = Script(records=300).say("truncate", 1, tp=TP, to=100, records=200).append(1, 100, 290, 1)
    for frame in [*(script.after(1).frame() for script in (behind, stuck, held, cut)), FRAMES["unclean_loss"]()]:
        chosen = frame.chosen
        assert chosen is not None
        axis = Axis(chosen, *PAPERS[paper])
        inside = [(mark, each) for mark in marks(chosen) for lane in chosen.lanes for each in axis.folds(lane)
                  if each.start < mark < each.end]
        assert inside == [] and axis.pieces[-1].right <= PAPERS[paper][1]
