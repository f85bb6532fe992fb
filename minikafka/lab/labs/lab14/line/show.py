"""A run as a picture, for a cell.

    see(pipeline, NIGHTS[1])                     # rehearse it in a night, or under a schedule
    line(run)                                    # a run that is there already

Owns: nothing.
"""
from __future__ import annotations

from minikafka.lab.labs.lab14.alarms import Alarms
from minikafka.lab.labs.lab14.line.player import LinePlayer
from minikafka.lab.labs.lab14.nights import TripNight
from minikafka.lab.labs.lab14.notary import Run
from minikafka.lab.labs.lab14.pipeline import Pipeline
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.schedule import Schedule

LIMIT = 30.0                                    # seconds: a price that is older breaks the team's promise (14.11)


def see(pipeline: Pipeline, night: TripNight | Schedule, alarms: Alarms | None = None) -> LinePlayer:
    """Return the picture of a pipeline in a night, or under a schedule; `alarms`: a function as in 14.11, to see what rings."""
    plan, limit = (night.schedule, night.limit) if isinstance(night, TripNight) else (night, None)
    return LinePlayer(rehearse(pipeline, plan), limit, alarms)


def line(run: Run, limit: float | None = LIMIT, alarms: Alarms | None = None) -> LinePlayer:
    """Return the picture of a run that was performed or rehearsed."""
    return LinePlayer(run, limit, alarms)
