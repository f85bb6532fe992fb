"""Checks of elective 22: the fields of a new schema that old records cannot fill (22.2), and the offset in a mirror at which a
group goes on (22.3). Owns: both rules, in `missing` and `bounds`."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from numbers import Integral

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.values import shown

Field = tuple[str, str, object]                 # name, kind, default; None: it has no default
Schema = list[Field]
Pair = tuple[int, int]                          # the offset of one record here, and of its copy there

# --- 22.2 ------------------------------------------------------------------------------------------------------------

hints("22.2",
      "A program that knows only the new schema reads a record of last year. For which field does it find no value?",
      "Compare each field of the new schema with every version. A version without this field needs a default in the new schema. "
      "A version with this field needs the same kind. 0 and the empty text are defaults, too.",
      "minikafka/lab/labs/lab22/registry.py, `obstacle`, compares with one version")

TRIP, FARE, FREE = ("trip", "int", None), ("fare", "int", None), ("fare", "int", 0)
CASES: list[tuple[list[Schema], Schema]] = [
    ([[TRIP]], [TRIP, FARE]), ([[TRIP]], [TRIP, FREE]), ([[TRIP, FARE]], [TRIP]),
    ([[TRIP, FARE]], [TRIP, ("fare", "string", "")]), ([[TRIP], [TRIP, FREE]], [TRIP, FARE]),
    ([[TRIP, FARE], [TRIP]], [TRIP, FARE]), ([[TRIP, FARE]], [TRIP, FREE]), ([[TRIP]], [("number", "int", None)])]


def missing(version: Schema, field: Field) -> str:
    """Return why records of a version cannot fill a field, "" if they can."""
    name, kind, default = field
    kinds = {other: its for other, its, _ in version}
    if name not in kinds:
        return "" if default is not None else f"records of this version have no {name}, and it has no default"
    return "" if kinds[name] == kind else f"records of this version have {name} as {kinds[name]}, not as {kind}"


def drawn() -> Iterator[tuple[list[Schema], Schema]]:
    """Yield the cases above, then 300 that are drawn."""
    yield from CASES
    for seed in range(300):
        lot = random.Random(seed)
        yield [_schema(lot) for _ in range(lot.randint(1, 4))], _schema(lot)


def _schema(lot: random.Random) -> Schema:
    kinds = [lot.choice((("int", None), ("int", 0), ("int", 7), ("string", None), ("string", ""))) for _ in range(4)]
    return [(name, *kind) for name, kind in zip(("trip", "taxi", "fare", "zone"), kinds) if lot.random() < 0.7]


@checks("22.2", matters="A topic keeps records longer than a team keeps a schema. What the newest version bears, the oldest "
                        "record may not.")
def old_records(answer: Callable[..., list[str]]) -> str:
    """Check with the cases by hand, and with drawn ones."""
    cases = list(drawn())
    for versions, new in cases:
        said = answer([list(version) for version in versions], list(new))
        for name in sorted({field[0] for field in new}.symmetric_difference(said) & set(said), key=str):
            raise Wrong(f"the names of fields of `new` are wanted; {shown(name)} is none", _told(versions, new))
        for field in new:
            why = [f"version {n}: {found}" for n, version in enumerate(versions, 1) if (found := missing(version, field))]
            if bool(why) != (field[0] in said):
                raise Wrong(f"you {'do not name' if why else 'name'} {field[0]}; " +
                            (why[0] if why else "each record of each version gives it a value"), _told(versions, new))
    return f"right in all {len(cases)} cases"


def _told(versions: list[Schema], new: Schema) -> list[str]:
    return [*(f"version {n}: {shown(version)}" for n, version in enumerate(versions, 1)), f"new: {shown(new)}"]


# --- 22.3 ------------------------------------------------------------------------------------------------------------

hints("22.3",
      "The group has read everything before its committed offset. Which copy do you know for certain, and is it read?",
      "Take the last pair that is not behind the committed offset. If it is the committed offset itself, the group reads that "
      "record next. If it is earlier, that record was read, and the next copy may be the first unread one. More is not certain: "
      "offsets here may have no record.",
      "minikafka/lab/labs/lab22/checks.py, `bounds`")


def bounds(pairs: list[Pair], committed: int) -> tuple[int, int] | None:
    """Return the offset there before which all is read: by the last pair alone, and by the pairs on both sides; None if no
    pair is at or before the committed offset.
    """
    before = [pair for pair in pairs if pair[0] <= committed]
    if not before:
        return None
    here, there = before[-1]
    least = there + (here < committed)
    behind = [mirrored - (offset - committed) for offset, mirrored in pairs if offset > committed]
    return least, max([least, *behind[:1]])


def mirrors() -> Iterator[tuple[list[Pair], int]]:
    """Yield pairs of offsets and a committed offset: two by hand, then 300 that are drawn."""
    yield [(0, 0), (100, 80)], 105
    yield [(0, 0), (100, 80)], 100
    for seed in range(300):
        lot = random.Random(seed)
        here, there = lot.randint(0, 9), 0
        pairs = [(here, there)]
        for _ in range(lot.randint(0, 4)):
            step = lot.randint(1, 9)
            here, there = here + step, there + lot.randint(1, step)
            pairs.append((here, there))
        yield pairs, lot.randint(0, here + 5)


@checks("22.3", matters="Whoever moves a group to another city chooses between records twice and records never, as after "
                        "each crash.")
def go_on(answer: Callable[..., int | None]) -> str:
    """Check each answer against what is certain."""
    cases = list(mirrors())
    for pairs, committed in cases:
        said, certain = answer(list(pairs), committed), bounds(pairs, committed)
        facts = [f"pairs: {shown(pairs)}", f"committed here: {committed}", f"you begin at {shown(said)} there"]
        if certain is None or said is None:
            if said is not certain:
                raise Wrong("a pair is at or before the committed offset, so there is an answer; you return None" if certain else
                            f"no pair is at or before the committed offset, so None is wanted; you return {shown(said)}", facts)
            continue
        assert isinstance(said, Integral) and not isinstance(said, bool), f"an offset is wanted, you returned {shown(said)}"
        least, most = certain
        if said > most:
            raise Wrong(f"a record may be left out: the group may not have read the one at offset {most} there", facts)
        if said < least:
            raise Wrong(f"a record comes again that was certainly read: all before offset {least} there", facts)
    return f"right in all {len(cases)} cases: nothing is left out, and what was certainly read does not come again"
