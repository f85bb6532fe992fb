"""Checks of elective 23: a new release of the application (23.2), the next version of a query (23.4), its return after an hour
away (23.6), and what more trips cost (23.7)."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from minikafka.lab import wants
from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.labs.lab23 import cost, versions
from minikafka.lab.labs.lab23.away import AWAY, AwayNight, fewest, played
from minikafka.lab.labs.lab23.release import FIRST, RELEASES, against, misread, samples
from minikafka.lab.labs.lab23.versions import VERSIONS, Restart, stop_of
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

# --- 23.2: a new release --------------------------------------------------------------------------------------------

hints("23.2",
      "Lay an old record beside a new one. Which name stands in both, and what is its value in each? And what does the old query "
      "make of a record of the new release?",
      "Tell the releases apart by what only one of them can have, for each record anew: a taxi may get the old release again. "
      "The new `read` must read old records as well. Then it does no harm to have it early.",
      "minikafka/lab/labs/lab23/release.py: `samples`, `before`; json.loads raises ValueError; isinstance")

AT_ONCE = "Your `read` is right. But what was read before the query had it? Which of the two must understand the other?"


@checks("23.2", matters="Each record of an old release that a topic keeps will be read by code that was written after it. What "
                         "a registry of schemas judges is this, before the release.", wants="a pair (first, read)")
def releases(answer: Callable[[], tuple[str, Any]]) -> str:
    """Check the order of the releases and the reading of records in three nights."""
    told = answer()
    assert isinstance(told, (tuple, list)) and len(told) == 2, f"a pair (first, read) is wanted, you returned {shown(told)}"
    first, read = told
    assert isinstance(first, str) and first in FIRST, f'first is "query" or "application"; you have {shown(first)}'
    assert callable(read), f"`read` is a function; you have {shown(read)}"
    said = read(samples()[0])
    assert isinstance(said, (tuple, list)) and len(said) == 4, \
        f"`read` returns (trip, taxi, zone, window); for an old record yours returns {shown(said)}"
    for n, night in enumerate(RELEASES):
        if found := against(read, first, night):
            odd = misread(read, night)
            raise Wrong(f"it falls in the night {night.name!r}: {found}. {'' if odd else AT_ONCE}".rstrip(),
                        odd or str(night).splitlines()[1:], f"against(read, {first!r}, RELEASES[{n}])")
    return f"{len(RELEASES)} nights: each trip of both releases counts once, and the dead are dead"


# --- 23.4: a new version of the query -------------------------------------------------------------------------------

hints("23.4",
      "Look at the table above, line by line. Over the old checkpoint: does Spark start this version, are all values right, "
      "and does it do what it is for? And if the topic has ten minutes only: what would a new query count in a window that began "
      "before?",
      "A window is open if its end lies after the watermark. A new query must count the first of these windows whole: from which "
      "offset on? What it counts in earlier windows is not whole, so nothing before this window may be written. The length of a "
      "window is that of the new version.",
      "minikafka/lab/labs/lab23/versions.py: `CountingQuery`, `right`, `against`")


@checks("23.4", matters="Spark refuses what it cannot read. What it can read and means something else, it adds up. So start the "
                         "next version over a copy of the checkpoint, and compare value by value, before it is released.",
        wants='"keep", or a pair (offset, since)')
def restarts(answer: Callable[[str, Any], Any]) -> str:
    """Play the restart of each version on the model, and compare each value of the sink."""
    for name, version in VERSIONS.items():
        restart = chosen(answer(name, stop_of(version)), name)
        if found := versions.against(restart, version):
            raise Wrong(f"{name}: {found}", [str(version), f"you return {restart!r}"],
                        f"against({restart!r}, VERSIONS[{name!r}])")
    return f"{len(VERSIONS)} versions: each value is right, and no price stands still for long"


def chosen(said: Any, name: str) -> Restart:
    """Return a restart as it was meant; AssertionError if it is none."""
    if isinstance(said, str) and said == "keep":
        return said
    assert isinstance(said, (tuple, list)) and len(said) == 2, \
        f'"keep" or a pair (offset, since) is wanted; for {name} you return {shown(said)}'
    offset, since = map(wants.whole, said)
    assert offset is not None and since is not None, f"offset and since are whole numbers; for {name} you return {shown(said)}"
    return offset, since


# --- 23.6: an hour away ---------------------------------------------------------------------------------------------

hints("23.6",
      "For one night and one core: which is the largest batch that the memory has room for, and that is done in time? How many "
      "rows a second does the query read with it, and how many come meanwhile?",
      "A batch of `limit` rows takes fixed + row * limit / cores seconds. What it reads beyond rate * that time makes the "
      "backlog smaller. Try cores from 1 on, each with its largest limit, until away * rate is read before `soon`.",
      "minikafka/lab/labs/lab23/away.py: `played`")


@checks("23.6", matters="Without a limit the first batch after an outage has the whole outage. It is the largest batch of the "
                         "year, it comes on the worst day, and after its death it comes again.",
        wants="a pair (limit, cores)")
def catching_up(answer: Callable[[Any], Any]) -> str:
    """Play the return in each night, and compare the cores with the fewest that are enough."""
    for night in AWAY:
        limit, cores = limits(answer(night), night)
        if found := played(night, limit, cores):
            ask = LIMIT if cores >= fewest(night) else TOO_FEW.format(cores=counted(cores, "core"))
            raise Wrong(f"it falls in the night {night.name!r}: {found}. {ask}",
                        [*str(night).splitlines()[1:], f"you return ({limit}, {cores})"])
        if cores > fewest(night):
            raise Wrong(f"in the night {night.name!r} you pay for {cores} cores, and {fewest(night)} would be enough",
                        [*str(night).splitlines()[1:], f"you return ({limit}, {cores})"])
    return f"{len(AWAY)} nights: fresh again in time, with the fewest cores"


TOO_FEW = "With {cores}, is there any limit that is enough?"
LIMIT = "The cores are enough. Which limit is not too large, and not too small?"


def limits(said: Any, night: AwayNight) -> tuple[int | None, int]:
    """Return a limit and a number of cores as they were meant; AssertionError if they are none."""
    assert isinstance(said, (tuple, list)) and len(said) == 2, \
        f"a pair (limit, cores) is wanted; for {night.name!r} you return {shown(said)}"
    limit, cores = None if said[0] is None else wants.whole(said[0]), wants.whole(said[1])
    assert said[0] is None or limit is not None and limit > 0, \
        f"the limit is a whole number of rows, or None; for {night.name!r} you return {shown(said[0])}"
    assert cores is not None and cores > 0, f"cores are a whole number from 1 on; for {night.name!r} you return {shown(said[1])}"
    return limit, cores


# --- 23.7: what it costs --------------------------------------------------------------------------------------------

hints("23.7",
      "How many trips a second does one core do, and how many go into one partition?",
      "A micro-batch of `rows` trips took `seconds` on `cores` cores: divide by both. Nobody sells half of a core, "
      "so round up. A disk keeps rate * seconds of seven days trips, each with its bytes, three times.",
      "math.ceil; minikafka/lab/labs/lab23/cost.py: `MachineFigures`")


@checks("23.7", matters="Partitions are the one figure of the three that is hard to change: with more of them, keys move.",
        wants='a dictionary {"partitions": ..., "cores": ..., "gib": ...}')
def costs(answer: Callable[[Any, float], Any]) -> str:
    """Compare bills for three cities with what was measured on three machines."""
    def bill(measured: cost.MachineFigures, rate: float) -> dict[str, Any]:
        said = answer(measured, rate)
        assert isinstance(said, Mapping), f"a dictionary is wanted, you returned {shown(said)}"
        missing = [name for name in cost.WANTED if name not in said]
        assert not missing, f"the dictionary has no {missing[0]!r}"
        odd = [name for name in cost.WANTED if not isinstance(said[name], Real) or not math.isfinite(said[name])]
        assert not odd, f"{odd[0]!r} is a number; you have {shown(said[odd[0]])}"
        parts = [name for name in ("cores", "partitions") if wants.whole(said[name]) is None]
        assert not parts, f"{parts[0]} are whole; for {rate:,} trips a second you have {shown(said[parts[0]])}"
        return dict(said)

    if found := cost.against(bill):
        raise Wrong(found[0], str(found[1]).splitlines())
    return f"right for {len(cost.RATES)} rates, with the figures of {1 + len(cost.OTHERS)} machines"
