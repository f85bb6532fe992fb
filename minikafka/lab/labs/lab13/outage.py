"""Two services, and what an outage that is longer than the retention does to them: the decision of exercise 13.7.

    suffered(60, retention=48, loud=True)      AfterOutage(missing=12, stood=8, shown=0)

One broker of the simulated world gets an order an hour and deletes by its topic's retention. A job is off for some hours; then
it tries to go on, once in each hour of the day after.

Owns: the outages, the room on the disk, and what each of the two services demands.
Invariants
  what is missing was deleted by the broker; a job that finds orders missing does as Spark does in section 7 of the lab
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from minikafka.lab.labs.lab02.experiment import HOUR_MS, Sample, one_record_an_hour
from minikafka.lab.waiting import waiting

WEEKEND, HOLIDAYS = 60, 108     # hours for which the job is off
DAY, LATEST = 8, 6              # hours of the day after; orders that the board shows
ROOM = 96                       # hours that both topics together may keep
STARTS = 120                    # the hour at which the job is started again


@dataclass(frozen=True)
class AfterOutage:
    """The result of an outage. `missing`: orders that were deleted before the job read them."""

    missing: int
    stood: int      # hours of the day after for which the table got nothing
    shown: int      # of the last six orders, those in the table when the day begins


@functools.cache
def _log(retention: int) -> list[Sample]:
    """Return what a topic with this retention in hours has at each hour, with a segment for each order."""
    settings = {"retention.ms": retention * HOUR_MS, "segment.ms": HOUR_MS // 2}
    return one_record_an_hour(settings, hours=STARTS + DAY, silence=0).samples


def suffered(off: int, retention: int, loud: bool) -> AfterOutage:
    """Return what an outage of `off` hours does to a job. `loud`: failOnDataLoss."""
    log, position, stood = _log(retention), STARTS - off, 0
    missing = max(0, log[STARTS].start - position)
    for now in log[STARTS:STARTS + DAY]:
        if loud and position < now.start:
            stood += 1
        else:
            position = now.end
    first = log[STARTS]
    shown = 0 if stood else min(LATEST, first.end - first.start)
    return AfterOutage(missing, stood, shown)


# --- the two services ------------------------------------------------------------------------------------------------

OUTAGES = {"the weekend": WEEKEND, "the holidays": HOLIDAYS}
Demand = tuple[str, Callable[[AfterOutage, bool], bool]]
AWAKE: tuple[Demand, ...] = (
    ("the board stood still for {0.stood} of 8 hours, until somebody came", lambda found, _: found.stood == 0),
    ("the board shows {0.shown} of the last 6 orders", lambda found, _: found.shown == LATEST))
DEMANDS: dict[str, dict[str, tuple[Demand, ...]]] = {
    "bill": {
        "the weekend": (("{0.missing} of 60 orders are in no bill, and no error brings them back",
                         lambda found, _: found.missing == 0),),
        "the holidays": (("{0.missing} of 108 orders are in no bill, and the job went on: nobody knows",
                          lambda found, loud: loud or found.missing == 0),)},
    "board": {"the weekend": AWAKE, "the holidays": AWAKE}}


def complaint(service: str, retention: int, loud: bool) -> str:
    """Return the first demand of a service that was not met, as it was measured; "" if all were."""
    for outage, demands in DEMANDS[service].items():
        found = suffered(OUTAGES[outage], retention, loud)
        for text, met in demands:
            if not met(found, loud):
                return f"after {outage} {text.format(found)}"
    return ""


def table() -> pd.DataFrame:
    """Return what six choices suffer."""
    with waiting("two outages under six choices"):
        rows = {f"{hours}, {loud}": [figure for off in OUTAGES.values() for found in [suffered(off, hours, loud)]
                                     for figure in (found.missing, found.stood)]
                for hours in (6, 48, 72) for loud in (True, False)}
    columns = [f"{outage.split()[-1]}: {what}" for outage in OUTAGES for what in ("missing", "still")]
    return pd.DataFrame(rows.values(), columns=columns, index=pd.Index(rows, name="hours, failOnDataLoss"))
