"""Nights: six small schedules, each made for one wrong choice that the other schedules let through.

    for night in NIGHTS: print(night)
    against(pipeline, NIGHTS[0])                 # "83 lost, 55 totals"; "" if the pipeline comes through
    table()                                      # which wrong choice falls in which night

The notary counts in each of them. A night also looks at what it does not count: each price, how long a trip waits for its row in
the sink, what a write leaves behind that dies before its end, and the records that no trip can be read from.
Owns: nothing. Invariants: a pipeline with sound settings comes through every night, and the choice that a night is made for does
not.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minikafka.lab.labs.lab14.liars import follows
from minikafka.lab.labs.lab14.notary import COUNTERS, Cell, Facts, Row, Run, bounds, notary, readable
from minikafka.lab.labs.lab14.pipeline import COUNT_AGAIN, EFFECTIVELY_ONCE, KEEP_FIRST, Pipeline, keep
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.schedule import Fault, Schedule
from minikafka.lab.picture.sentences.phrases import counted, verb

if TYPE_CHECKING:
    import pandas as pd

FRESH = 8.0                                     # seconds that a trip may wait for a price that counts it


@dataclass(frozen=True)
class TripNight:
    """A schedule with a name, and the most seconds that a trip may wait for a price that counts it."""

    name: str
    schedule: Schedule
    limit: float = FRESH

    def __str__(self) -> str:
        return f"{self.name.upper()}\n{self.schedule}\na trip waits {self.limit:g} s at most\n"


NIGHTS = (
    TripNight("the last one burns", Schedule(31, 400, (
        Fault(0.5, "kill Spark after a write", 0, 20.0),
        Fault(1.0, "leave alone and then burn the leader", 0, 3.0))), 20.0 + FRESH),
    TripNight("one broker away", Schedule(32, 320, (Fault(2.0, "kill a follower", 0, 12.0),))),
    TripNight("a slow sink", Schedule(33, 400, (Fault(15.0, "kill Spark after a write", 0, 1.0),), row_seconds=0.03)),
    TripNight("the producer dies", Schedule(34, 100, (Fault(2.7, "kill the producer", 0, 1.0),))),
    TripNight("half a write", Schedule(35, 100, (Fault(2.0, "kill Spark inside a write", 0, 1.0),))),
    TripNight("not to be read", Schedule(36, 100, (Fault(2.0, "kill Spark after a write", 0, 1.0),), spoiled=(20, 41, 44, 47))),
)


def commits_inside(rows: Sequence[Row], batch: int, db: Any) -> None:
    """Write the trips, commit, then the prices."""
    keep(rows, db)
    db.commit()
    db.execute(COUNT_AGAIN)


def takes_all(rows: Sequence[Row], batch: int, db: Any) -> None:
    """Take each row for a trip."""
    db.executemany(KEEP_FIRST, rows)
    db.execute(COUNT_AGAIN)


CHOICES: dict[str, dict[str, Any]] = {
    "min_insync=1": {"min_insync": 1},
    "min_insync=3": {"min_insync": 3},
    "checkpoint=False": {"checkpoint": False},
    'key=("part", "off")': {"key": ("part", "off")},
    "a commit inside": {"write": commits_inside},
    "each row is a trip": {"write": takes_all},
}


def judged(run: Run, limit: float) -> str:
    """Return what a night has against a run, "" for nothing; what the notary does not know counts too."""
    if run.died:
        return f"the query died of {run.died}, and again at each start"
    report, found = notary(run), misplaced(run)
    found += [f"{report[name].count} {name}" for name in COUNTERS if report[name].valid is False]
    if report["totals"].valid and (wrong := mispriced(run)):
        found.append(counted(len(wrong), "wrong price"))
    if run.waited > limit:
        found.append(f"waited {run.waited:.0f} s")
    if run.stayed:
        found.append(f"{counted(run.stayed, 'row')} {verb(run.stayed, 'stays', 'stay')}")
    return ", ".join(found) or ("" if report.valid else "UNKNOWN")


def misplaced(run: Run) -> list[str]:
    """Return what is wrong with the records that no trip can be read from: each belongs into the table of the dead, alone."""
    nulls, unreadable = sum(not readable(row) for row in run.rows or ()), Facts(run).unreadable
    gone, good = unreadable - set(run.dead), set(run.dead) - unreadable
    found = [f"{counted(nulls, 'row')} of nothing in trips"] if nulls else []
    found += [f"{counted(len(gone), 'unreadable record')} not among the dead"] if gone else []
    return found + ([f"{counted(len(good), 'good record')} among the dead"] if good else [])


def mispriced(run: Run) -> list[Cell]:
    """Return the windows whose price is not that of the trips that were acknowledged or are in the log."""
    there, _ = bounds(Facts(run))
    return sorted(cell for cell, price in (run.prices or {}).items() if not follows(price, there[cell]))


def against(pipeline: Pipeline, night: TripNight) -> str:
    """Return what a night has against a pipeline; "" if it comes through."""
    return judged(rehearse(pipeline, night.schedule), night.limit)


@functools.cache
def table() -> pd.DataFrame:
    """Return what each night has against each wrong choice, the rest of the pipeline being sound."""
    import pandas as pd
    choices = {"every setting sound": EFFECTIVELY_ONCE}
    choices |= {name: EFFECTIVELY_ONCE.but(**change) for name, change in CHOICES.items()}
    return pd.DataFrame({night.name: {name: against(pipeline, night) for name, pipeline in choices.items()} for night in NIGHTS})
