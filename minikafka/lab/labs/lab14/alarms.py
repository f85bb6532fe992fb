"""What a night has against a student's alarms, and against a page that says where to go when they ring.

    rung(alarms, night)                          # for each second the names that ring: Second(second, seen, names)
    against_alarms(alarms, night)                # "lag rings at second 37, ...", and the seconds around; None for nothing
    sound(seen)                                  # alarms that come through every night
    against_page(page, night)                    # where the page leads that it should not; "" where it leads to the cause

Owns: nothing. Invariants: at each second `alarms` gets the looks until then, and no later one.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from minikafka.lab import wants
from minikafka.lab.labs.lab14.watch import ALARMS, PLACES, Glance, WatchedNight, seen
from minikafka.lab.values import shown

LIMIT, AFTER = 20, 10                           # seconds until an alarm must ring, and until it must be silent again
AROUND = 2                                      # seconds that are shown before and after
Page = Sequence[tuple[Iterable[str], str]]
Alarms = Callable[[list[Glance]], Iterable[str]]


class Second(NamedTuple):
    """One second of a night, and the names of the alarms that ring."""

    second: int
    seen: Glance
    names: frozenset[str]

    def __str__(self) -> str:
        look = f"second {self.second:2}   lag {self.seen.lag:3}   isr {self.seen.isr}   age {self.seen.age:4.1f}"
        return f"{look}   {' '.join(sorted(self.names)) or '-'}"


def rung(alarms: Alarms, night: WatchedNight) -> list[Second]:
    """Return what rings in each second of a night."""
    looks = seen(night)
    return [Second(look.second, look, names(alarms(list(looks[:number])))) for number, look in enumerate(looks, 1)]


def names(said: Iterable[str]) -> frozenset[str]:
    """Return the names in an answer. AssertionError where it is no list of them."""
    listed = wants.fits(list, said)
    found = list(said) if listed else []
    other = [name for name in found if not isinstance(name, str) or name not in ALARMS]
    assert listed and not other, f"a list of {', '.join(map(repr, ALARMS))} is wanted, such as ['lag'] or []; " \
                                 f"you returned {shown(other[0] if other else said)}"
    return frozenset(found)


def against_alarms(alarms: Alarms, night: WatchedNight) -> tuple[str, list[Second]] | None:
    """Return the first thing that a night has against some alarms, and the seconds around; None if they come through."""
    rings = rung(alarms, night)
    found = falsely(rings, night) or night.alarm and missed(rings, night)
    if not found:
        return None
    why, second = found
    return why, [each for each in rings if abs(each.second - second) <= AROUND]


def falsely(rings: Sequence[Second], night: WatchedNight) -> tuple[str, int] | None:
    """Return the first alarm that rings where nothing is wrong that it is for, and its second."""
    for second, _, ringing in rings:
        for name in sorted(ringing):
            mine = name in (night.alarm, *night.also)
            if mine and night.until + AFTER < second:
                return f"{name} still rings at second {second}, and all is well since second {night.until:g}", second
            if not mine or second <= night.since:
                return f"{name} rings at second {second}: nothing is wrong that somebody has to get up for it", second
    return None


def missed(rings: Sequence[Second], night: WatchedNight) -> tuple[str, int] | None:
    """Return that the night's alarm does not ring, rings late, or stops while the fault lasts, and the second."""
    during = [each for each in rings if night.since < each.second <= night.until]
    first = next((each.second for each in during if night.alarm in each.names), None)
    if first is None:
        return f"{night.alarm} does not ring", int(night.since) + LIMIT
    if first > night.since + LIMIT:
        return f"{night.alarm} rings {first - night.since:g} seconds after the beginning; {LIMIT} is the limit", first
    silent = next((each.second for each in during if each.second > first and night.alarm not in each.names), None)
    if silent is not None:
        return f"{night.alarm} rings at second {first} and is silent at second {silent}, and nothing is mended", silent
    return None


def sound(looks: Sequence[Glance]) -> list[str]:
    """Return what rings, by rules that come through every night."""
    last = looks[-10:]
    rules = {"lag": min(each.lag for each in last) > 100, "isr": len(last) == 10 and max(each.isr for each in last) < 3,
             "freshness": looks[-1].age > 12}
    return [name for name, rings in rules.items() if rings]


# --- the page ---------------------------------------------------------------------------------------------------------

def lines(said: Iterable[tuple[Iterable[str], str]]) -> Page:
    """Return the lines of a page. AssertionError where it is none."""
    assert wants.fits(list, said), f"a list of pairs (alarms, place) is wanted; you returned {shown(said)}"
    found = list(said)
    for line in found:
        pair = wants.fits(list, line) and len(tuple(line)) == 2
        assert pair, f"a line is a pair (alarms, place), such as ({{'lag'}}, 'query'); you have {shown(line)}"
        names(line[0])
        assert isinstance(line[1], str) and line[1] in PLACES, \
            f"a place is one of {', '.join(map(repr, PLACES))}; you have {shown(line[1])}"
    return found


def against_page(page: Page, night: WatchedNight) -> str:
    """Return where a page leads in a night, once its alarms ring, "" if it is where the fault is mended."""
    ringing = rung(sound, night)[int(night.since) + LIMIT - 1].names
    words = f"{' and '.join(sorted(ringing))} {'ring' if len(ringing) > 1 else 'rings'}"
    for number, (wanted, place) in enumerate(page, 1):
        if set(wanted) <= ringing:
            return "" if place == night.place else f"{words}, and line {number} leads to the {place}"
    return f"{words}, and no line fits"
