"""A night as a picture, for a cell.

    see(my_pipeline(), NIGHTS[1])                # or a schedule
"""
from __future__ import annotations

from minikafka.lab.labs.lab14.alarms import Alarms
from minikafka.lab.labs.lab14.line.player import LinePlayer
from minikafka.lab.labs.lab14.nights import TripNight
from minikafka.lab.labs.lab14.pipeline import Pipeline
from minikafka.lab.labs.lab14.rehearsal import rehearse
from minikafka.lab.labs.lab14.schedule import Schedule


def see(pipeline: Pipeline, night: TripNight | Schedule, alarms: Alarms | None = None) -> LinePlayer:
    """Return the picture of a pipeline in a night, or under a schedule; `alarms`: a function as in 14.11, to see what rings."""
    plan, limit = (night.schedule, night.limit) if isinstance(night, TripNight) else (night, None)
    return LinePlayer(rehearse(pipeline, plan), limit, alarms)
