"""Checks of lab 2: a log in a file (2.3), where a log begins (2.5), the sparse index (2.8)."""
from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from typing import IO, Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.trial import Misfit
from minikafka.lab.values import shown

Append = Callable[[IO[bytes], bytes], int]
Read = Callable[[IO[bytes], int], bytes]
Segments = list[tuple[int, int, float]]
Index = list[tuple[int, int]]

# --- 2.3 -------------------------------------------------------------------------------------------------------------

hints("2.3", "If you only had the bytes of the file, and no idea what was written: how would you know where a value ends?",
      "Write the length first, in a fixed number of bytes; every value is then skipped or read without looking into it.",
      "minikafka/log/batch.py: the second field of a batch is its length")

VALUES = [b"Front Street 1", b"", b"two\nlines", b"\x00\x00\x00\x07", b"Front Street 1", b"a,b;c|d\x00e", bytes(range(256)),
          b"x" * 70_000, b"last"]


@checks("2.3", matters="A log without lengths and checksums is a log that nobody can read after the first crash.")
def own_log(functions: tuple[Append, Read]) -> str:
    """Check with values that contain any bytes, read in any order, between the appends, and after the file was closed
    and opened."""
    append, read = functions
    with tempfile.NamedTemporaryFile("w+b") as file:
        for number, value in enumerate(VALUES):
            before = _content(file)
            offset = append(file, value)
            assert not file.closed, "`append` closed the file; whoever has opened it closes it"
            assert offset == number, (
                f"value number {number} (counted from 0) got the offset {shown(offset)}"
                + (f"; the one before it is {_short(VALUES[number - 1])}" if number else ""))
            after = _content(file)
            assert after.startswith(before), "`append` changed bytes that were there before; a value goes to the end of the file"
            assert len(after) > len(before), f"`append` wrote nothing into the file for the value {_short(value)}"
            _expect(read, file, 0, VALUES[0])
        order = random.Random(2).sample(range(len(VALUES)), len(VALUES))
        with open(file.name, "r+b") as again:
            for number in order:
                _expect(read, again, number, VALUES[number])
            for none in (len(VALUES), len(VALUES) + 5):
                _refused(read, again, none)
            assert append(again, b"one more") == len(VALUES), "after the file was closed and opened, offsets do not go on"
            _expect(read, again, len(VALUES), b"one more")
    with tempfile.TemporaryFile("w+b") as empty:
        _refused(read, empty, 0, "a new file is empty: ")
    return f"{len(VALUES) + 1} values, empty ones and line breaks among them, came back from two openings of the file"


def _content(file: IO[bytes]) -> bytes:
    file.flush()
    with open(file.name, "rb") as other:
        return other.read()


def _expect(read: Read, file: IO[bytes], offset: int, value: bytes) -> None:
    found = read(file, offset)
    assert found == value, f"offset {offset} holds {_short(value)}, you read {_short(found)}"


def _refused(read: Read, file: IO[bytes], offset: int, why: str = "") -> None:
    none = f"{why}there is no offset {offset}, and `read` has to raise IndexError; it"
    try:
        found = read(file, offset)
    except IndexError:
        return
    except LookupError as other:
        raise Wrong(f"{none} raised {type(other).__name__}") from None
    except Misfit as nothing:
        raise Wrong(f"{none} returned None") from nothing
    raise Wrong(f"{none} returned {_short(found)}")


def _short(value: Any) -> str:
    return "an empty value, b''" if value == b"" else shown(value, 60)


# --- 2.5 -------------------------------------------------------------------------------------------------------------

hints("2.5", "Which of the ten records of a segment decides when its file may go?",
      "A segment goes when `now - newest` is more than the retention; then the next one is looked at. The first that stays is "
      "where the log begins, whatever comes behind it.",
      "minikafka/log/retention.py")


@checks("2.5", matters="A promise to delete after 48 hours is kept by the size of the segments as much as by retention.ms.")
def oldest_readable(log_start: Callable[[Segments, float, float], int]) -> str:
    """Check with the hours of the lab, a silent topic, timestamps that are out of order, and 300 random logs."""
    rng = random.Random(5)
    hours = [([(f, min(f + 10, h + 1), min(f + 9, h)) for f in range(0, h + 1, 10)], h, 48) for h in range(130)]
    silent = [([(0, 10, 9), (10, 13, 12)], now, 48) for now in (57, 57.5, 60, 60.1, 400)]
    out_of_order = [([(0, 10, 5), (10, 20, 90), (20, 30, 6), (30, 35, 95)], now, 48) for now in (54, 100, 139, 144)]
    for segments, now, retention in [*hours, *silent, *out_of_order, *(_random_case(rng) for _ in range(300))]:
        _begins(log_start(list(segments), now, retention), segments, now, retention)
    lab = [(f, min(f + 10, 108), min(f + 9, 107)) for f in range(0, 108, 10)]
    return (f"right for 439 logs, also silent ones and such with timestamps out of order. For the lab's parcels you say "
            f"{log_start(lab, 107, 48)} at hour 107 and {log_start(lab, 107.1, 48)} six minutes later, like the broker")


def _begins(said: int, segments: Segments, now: float, retention: float) -> None:
    """Raise Wrong unless all segments before an offset are too old, and the one that begins there is not."""
    end = segments[-1][1]
    first_ones = f"{segments[:4]}{'…' if len(segments) > 4 else ''}"
    case = [f"segments {first_ones}, now={now:g}, retention={retention}: you said {shown(said)}"]
    if said != end and all(now - newest > retention for _, _, newest in segments):
        raise Wrong(f"all segments are too old: a new and empty one begins at the next offset of the last, {end}", case)
    if said != end and said not in [first for first, _, _ in segments]:
        raise Wrong(f"at offset {shown(said)} no segment begins, and segments go as a whole", case)
    for first, after, newest in segments:
        if after <= said and now - newest <= retention:
            age = "exactly as old as the retention, not older" if now - newest == retention else "not too old"
            raise Wrong(f"the segment {first} to {after - 1} stays, and so do all behind it: its newest record is {age}", case)
        if first == said and now - newest > retention:
            raise Wrong(f"the segment {first} to {after - 1} is too old: {now - newest:g} is more than {retention}", case)


def _random_case(rng: random.Random) -> tuple[Segments, float, float]:
    ends = sorted(rng.sample(range(5, 500), rng.randint(1, 8)))
    first = rng.randrange(5)
    segments = [(a, b, rng.randrange(0, 200)) for a, b in zip([first, *ends], ends)]
    return segments, rng.randrange(0, 260), rng.choice((1, 24, 48))


# --- 2.8 -------------------------------------------------------------------------------------------------------------

hints("2.8", "From which entries may you begin without running past what you look for? Which of those saves most?",
      "Entries are sorted: you want the last one whose offset is not above the wanted one. bisect_right finds its successor.",
      "minikafka/log/index.py: OffsetIndex.lookup")

INTERVAL = 4096


@checks("2.8", matters="A sparse index stays in memory, a lookup costs a few KiB: history is read as cheaply as news.")
def sparse(lookup: Callable[[Index, int], int]) -> str:
    """Check over random logs that a scan from the answer finds the same batch as a scan from the start, and does not
    begin earlier than the index allows."""
    rng = random.Random(8)
    looked = 0
    for _ in range(60):
        batches, index = _random_log(rng)
        last = batches[-1][1]
        wanted = {0, last, *(o for entry in index for o in (entry[0], entry[0] + 1, max(0, entry[0] - 1)) if o <= last),
                  *(rng.randint(0, last) for _ in range(20))}
        for offset in sorted(wanted):
            _look(lookup, batches, index, offset)
            looked += 1
    return f"{looked:,} lookups in 60 random logs found what a scan from the start finds, and began as late as the index allows"


def _look(lookup: Callable[[Index, int], int], batches: list[tuple[int, int, int]], index: Index, offset: int) -> None:
    position = lookup(list(index), offset)
    case = [f"index {index[:3]}{'…' if len(index) > 3 else ''}, offset {offset}: you said {shown(position)}"]
    if position not in {at for _, _, at in batches}:
        raise Wrong(f"at {shown(position)} no batch begins; the position of an entry is wanted, its second number, or 0", case)
    holds = next(at for _, last, at in batches if last >= offset)
    if position > holds:
        first = " (before the first entry it is position 0)" if offset < index[0][0] else ""
        raise Wrong(f"you begin behind the batch that holds offset {offset}: it begins at {holds}{first}", case)
    if later := [entry for entry in index if entry[0] <= offset and entry[1] > position]:
        raise Wrong(f"you may begin as late as {later[-1][1]}: the entry {later[-1]} is not above offset {offset}", case)


def _random_log(rng: random.Random) -> tuple[list[tuple[int, int, int]], Index]:
    """Return batches as (first offset, last offset, position), and the index that a broker makes of them."""
    batches, index, offset, position, since = [], [], 0, 0, 0
    for _ in range(rng.choice((1, 2, 40))):
        count, size = rng.randint(1, 120), rng.randint(80, 3000)
        batches.append((offset, offset + count - 1, position))
        if since > INTERVAL:
            index.append((offset + count - 1, position))
            since = 0
        offset, position, since = offset + count, position + size, since + size
    return batches, index
