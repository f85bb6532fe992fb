"""The leader epoch cache: rule 20 against a log that knows the epoch of each offset, and its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.log.epochs import UNDEFINED, LeaderEpochCache
from tests.log.memfs import MemFs

PATH = "/leader-epoch-checkpoint"


def cache(fs: MemFs | None = None, *entries: tuple[int, int]) -> LeaderEpochCache:
    made = LeaderEpochCache(fs or MemFs(), PATH)
    for epoch, offset in entries:
        made.assign(epoch, offset)
    return made


RUNS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=6)  # (epochs further, records)


def history(runs: list[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """The epoch of every offset, and the entries that describe it."""
    epochs, entries, epoch = [], [], -1
    for further, count in runs:
        epoch += further
        entries.append((epoch, len(epochs)))
        epochs += [epoch] * count
    return epochs, entries


@given(RUNS, st.integers(-1, 20))
def test_end_offset_for(runs: list[tuple[int, int]], asked: int) -> None:
    """Fails if a follower were told to truncate too little or too much (rule 20)."""
    epochs, entries = history(runs)
    answer = cache(None, *entries).end_offset_for(asked, len(epochs))
    if asked == -1 or asked > epochs[-1]:
        assert answer == UNDEFINED
    elif asked < epochs[0]:
        assert answer == (asked, 0)
    else:
        floor = max(e for e in epochs if e <= asked)
        assert answer == (floor, sum(1 for e in epochs if e <= asked))


@given(RUNS, st.integers(0, 25))
def test_truncation_at_either_end(runs: list[tuple[int, int]], offset: int) -> None:
    """Fails if an epoch is kept without an offset, or one forgotten that still has some (rule 23)."""
    epochs, entries = history(runs)
    end = cache(None, *entries)
    end.truncate_from_end(offset)
    assert end.entries == [e for e in entries if e[1] < offset]
    start = cache(None, *entries)
    start.truncate_from_start(offset)
    for at in range(offset, len(epochs)):
        assert start.epoch_for_offset(at) == epochs[at]
    assert all(at >= offset for _, at in start.entries)


@pytest.mark.parametrize(("epoch", "offset"), [(-1, 5), (5, -1)])
def test_no_epoch_and_no_offset_is_negative(epoch: int, offset: int) -> None:
    """Fails if an entry is taken that no leader can have had: a follower would cut its log by it."""
    made = cache(None, (3, 10))
    with pytest.raises(ValueError, match="invalid partition leader epoch entry"):
        made.assign(epoch, offset)
    assert made.entries == [(3, 10)]


def test_the_file_is_kafkas_and_survives() -> None:
    """Fails if the text is not version, count, lines; or if a change is not in the file at once."""
    fs = MemFs()
    made = cache(fs, (0, 0), (2, 17))
    assert fs.read(PATH) == b"0\n2\n0 0\n2 17\n"
    made.truncate_from_end(17)
    assert fs.read(PATH) == b"0\n1\n0 0\n"
    again = LeaderEpochCache(fs, PATH)
    assert again.load() and again.entries == [(0, 0)]
