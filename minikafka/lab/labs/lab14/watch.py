"""Nights for those who are awake: what one sees of a sound pipeline, second by second, and which alarm must ring.

    for night in WATCHES: print(night)
    seen(WATCHES[0])                             # a Glance for each second of the night

The pipeline runs on simulated brokers. One sees offsets, ISRs, and when the newest trip in the sink was sent: what a team has
on its screens.
Owns: nothing that lasts. Invariants: one night, one list.
"""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.lab.labs.lab14.pipeline import EFFECTIVELY_ONCE
from minikafka.lab.labs.lab14.rehearsal import PARTS, TOPIC, ModelOfSpark, SimTripWriter, rehearse
from minikafka.lab.labs.lab14.schedule import Fault, Schedule

ALARMS = ("lag", "isr", "freshness")
PLACES = ("brokers", "query", "application")
EVERY = 1.0                                     # seconds between two looks


class Glance(NamedTuple):
    """One look at a pipeline. `lag`: records in the log that the query has not done; `isr`: replicas in the smallest ISR;
    `age`: seconds since the newest trip in the sink was sent, in the partition where that is longest."""

    second: int
    lag: int
    isr: int
    age: float


@dataclass(frozen=True)
class WatchedNight:
    """A night, from when to when something is wrong in it, and of what: the alarm that names it, the place where it is
    mended, and what may ring as well. Nothing is wrong in an ordinary night."""

    name: str
    schedule: Schedule
    since: float = 0.0
    until: float = 0.0
    alarm: str = ""
    place: str = ""
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name.upper()}\n{self.schedule}\n"


WRONG = 10.0, 35.0                              # from when to when something is wrong
OLD = ("freshness",)


def fault(what: str, part: int = 0) -> tuple[Fault, ...]:
    return (Fault(WRONG[0], what, part, WRONG[1] - WRONG[0]),)


WATCHES = (
    WatchedNight("an ordinary night", Schedule(41, 800, (
        Fault(5.0, "kill the leader", 0, 4.0), Fault(18.0, "kill Spark after a write", 0, 3.0),
        Fault(28.0, "slow a follower", 1, 5.0)))),
    WatchedNight("a broker stays away", Schedule(42, 940, fault("kill a follower")), *WRONG, "isr", "brokers"),
    WatchedNight("the query stays away", Schedule(43, 940, fault("kill Spark after a write")), *WRONG, "lag", "query", OLD),
    WatchedNight("the sink is too slow", Schedule(44, 900, (), row_seconds=0.075), 0.0, 45.0, "lag", "query", OLD),
    WatchedNight("nobody sends", Schedule(45, 940, (), silent=WRONG), *WRONG, "freshness", "application"),
    WatchedNight("the leader is alone", Schedule(46, 940, fault("hold the followers")), *WRONG, "isr", "brokers", OLD),
)


class Watcher:
    """Looks at a rehearsal each second, until its schedule has ended."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.looks = int(seconds), list[tuple[float, int, int, float]]()

    def begin(self, cluster: Any, writer: SimTripWriter, spark: ModelOfSpark) -> None:
        self.cluster, began = cluster, cluster.now()
        for second in range(1, self.seconds + 1):
            cluster.at(began + second * EVERY, functools.partial(self._look, writer.sent, spark))

    def _look(self, sent: dict[int, float], spark: ModelOfSpark) -> None:
        now, found = self.cluster.now(), self.cluster.partitions(TOPIC)
        done = sum(spark.checkpoint.reached.values()) if spark.checkpoint else 0
        newest = min(sent[spark.newest[part]] if part in spark.newest else now for part in PARTS)
        self.looks.append((now, done, min(len(each.isr) for each in found.values()), now - newest))

    def seen(self) -> tuple[Glance, ...]:
        """Return the looks, with the lag: where each partition's log ended for readers stands in the brokers' trace."""
        ends, steps, result = dict.fromkeys((f"{TOPIC}-{part}" for part in PARTS), 0), list(self.cluster.trace.events("hw")), []
        for second, (now, done, isr, age) in enumerate(self.looks, 1):
            while steps and steps[0]["t"] <= now:
                step = steps.pop(0)
                if step["tp"] in ends:
                    ends[step["tp"]] = max(ends[step["tp"]], step["hw"])
            result.append(Glance(second, sum(ends.values()) - done, isr, round(age, 1)))
        return tuple(result)


@functools.cache
def seen(night: WatchedNight) -> tuple[Glance, ...]:
    """Return what one sees in a night."""
    watcher = Watcher(night.schedule.seconds)
    rehearse(EFFECTIVELY_ONCE, night.schedule, watcher.begin)
    return watcher.seen()
