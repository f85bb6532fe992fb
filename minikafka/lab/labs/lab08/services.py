"""Three faults, and what they do to a service under two settings: the decision of exercise 8.8.

    suffered(min_insync=2, unclean=False)     Suffered(away=10, alone=0, burnt=0, leads=True, cut=0)

The faults: one broker is restarted as planned; 2 and 3 get stuck, and 1 burns down; 3 is behind while 1 and 2 lose their power.
Each is the same for every setting, in a simulated cluster of its own, with acks=all.

Owns: the faults, and what each of the city's two services demands.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from minikafka.lab.labs.lab08.experiment import TOPIC
from minikafka.lab.labs.lab08.unclean import contents, one_try, replica_end, successor
from minikafka.lab.labs.stage import replicated, simulated
from minikafka.lab.waiting import waiting
from minikafka.protocol.errors import Err

RECORDS = 10


@dataclass(frozen=True)
class Suffered:
    """The result of the three faults under one setting; of 10 records each."""

    away: int       # confirmed while one broker was restarted
    alone: int      # confirmed while 1 was alone in the ISR
    burnt: int      # of these, on no other disk when 1 had burnt down
    leads: bool     # whether another broker led then
    cut: int        # confirmed before 1 and 2 lost their power, and gone when they were back


@functools.cache
def suffered(min_insync: int, unclean: bool) -> Suffered:
    """Return what happens under one setting."""
    with _three(min_insync, unclean) as cluster:
        cluster.stop(3)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 2)
        away = len(_confirmed(cluster))
    with _three(min_insync, unclean) as cluster:
        for follower in (2, 3):
            cluster.hold_follower(follower)
        alone = _confirmed(cluster)             # the first of them waits until 2 and 3 are out of the ISR
        cluster.kill(1)
        burnt = sum(offset >= max(replica_end(cluster, 2), replica_end(cluster, 3)) for offset in alone)
        cluster.heal()
        leads = successor(cluster) is not None
    with _three(min_insync, unclean) as cluster:
        cluster.hold_follower(3)
        kept = _confirmed(cluster)
        cluster.kill(1)
        cluster.kill(2)
        cluster.heal()
        cluster.sleep(10)
        cluster.restart(1, 2)
        cluster.wait(lambda: len(cluster.isr(TOPIC)) == 3, timeout=60)
        cut = len({*kept} - {offset for offset, value in contents(cluster) if value.startswith("record")})
    return Suffered(away, len(alone), burnt, leads, cut)


def _three(min_insync: int, unclean: bool) -> Any:
    return replicated(simulated(8, controllers=1), TOPIC, min_insync_replicas=min_insync,
                      unclean_leader_election_enable=str(unclean).lower())


def _confirmed(cluster: Any) -> list[int]:
    """Send ten records to broker 1 with acks=all; return the offsets of those that were confirmed."""
    answers = [one_try(cluster, f"record {number}") for number in range(RECORDS)]
    return [offset for answer, offset in answers if answer == Err.NONE.name]


# --- the two services ------------------------------------------------------------------------------------------------

DEMANDS: dict[str, tuple[tuple[str, Callable[[Suffered], bool]], ...]] = {
    "orders": (
        ("during a planned restart of one broker {0.away} of 10 orders were confirmed", lambda found: found.away == RECORDS),
        ("broker 1 has burnt down, and {0.burnt} confirmed orders were on no other disk", lambda found: found.burnt == 0),
        ("1 and 2 were without power for ten seconds, and {0.cut} confirmed orders are gone", lambda found: found.cut == 0)),
    "positions": (
        ("during a planned restart of one broker {0.away} of 10 positions came through",
         lambda found: found.away == RECORDS),
        ("while broker 1 was alone, {0.alone} of 10 positions came through: the map stood still",
         lambda found: found.alone == RECORDS),
        ("broker 1 was dead, and nobody led: the map stood still", lambda found: found.leads)),
}


def complaint(service: str, found: Suffered) -> str:
    """Return the first demand of a service that was not met, as it was measured; "" if all were."""
    return next((text.format(found) for text, met in DEMANDS[service] if not met(found)), "")


def table() -> pd.DataFrame:
    """Return what every setting suffers."""
    with waiting("three faults under six pairs of settings"):
        rows = {f"{number}, {'on' if unclean else 'off'}": suffered(number, unclean)
                for number in (1, 2, 3) for unclean in (False, True)}
    columns = ["one away: confirmed", "alone: confirmed", "then burnt: lost", "somebody leads", "two without power: lost"]
    return pd.DataFrame([(f.away, f.alone, f.burnt, f.leads, f.cut) for f in rows.values()], columns=columns,
                        index=pd.Index(rows, name="min.insync, unclean"))
