"""What brokers write into their logs when something fails: incidents of simulated clusters, as lines of text.

    incident("stuck")      ["broker 1 | 15.142 INFO ... positions-0: ISR is [1, 2] (3 fell behind)", ...]

Owns: the incidents; the lines are the brokers' own.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minikafka.lab.labs.lab08.experiment import TOPIC
from minikafka.lab.labs.lab08.unclean import one_try
from minikafka.lab.labs.stage import replicated, simulated

SETTINGS = {"refused": (2, False), "unclean": (1, True)}


@functools.cache
def incident(kind: str) -> tuple[str, ...]:
    """Return the brokers' lines of one incident from its beginning on, by broker: quiet, restart, stuck, death,
    refused, unclean."""
    min_insync, unclean = SETTINGS.get(kind, (1, False))
    with replicated(simulated(8, controllers=1), TOPIC, min_insync_replicas=min_insync,
                    unclean_leader_election_enable=str(unclean).lower()) as cluster:
        cluster.sleep(1)
        before = [line for broker in cluster.ids for line in _lines(cluster, broker)]
        for number in range(20):
            one_try(cluster, f"order {number}")
        found = KINDS[kind](cluster) if kind in KINDS else []
        found += [line for broker in cluster.ids for line in _lines(cluster, broker)]
        return tuple(line for line in dict.fromkeys(found) if line not in before and "serves" not in line)


def _lines(cluster: Any, broker: int) -> list[str]:
    return [f"broker {broker} | {line}" for line in cluster.log(broker, 100).splitlines()]


def _stuck(cluster: Any) -> list[str]:
    cluster.hold_follower(3)
    one_try(cluster, "order 20")                # waits until 3 is out of the ISR
    cluster.heal()
    cluster.sleep(2)
    return []


def _death(cluster: Any) -> list[str]:
    cluster.kill(1)
    cluster.wait(lambda: cluster.leader(TOPIC) == 2)
    cluster.sleep(1)
    return []


def _restart(cluster: Any) -> list[str]:
    cluster.stop(3)
    cluster.sleep(1)
    cluster.restart(3)
    cluster.sleep(2)
    return []


def _refused(cluster: Any) -> list[str]:
    for broker in (2, 3):
        cluster.kill(broker)
    cluster.wait(lambda: cluster.isr(TOPIC) == [1])
    one_try(cluster, "order 20")
    return []


def _unclean(cluster: Any) -> list[str]:
    for broker in (2, 3):
        cluster.hold_follower(broker)
    for number in range(7):
        one_try(cluster, f"alone {number}")
    cluster.wait(lambda: cluster.isr(TOPIC) == [1], timeout=40)
    found = _lines(cluster, 1)
    cluster.kill(1)
    cluster.heal()
    cluster.wait(lambda: cluster.leader(TOPIC) in (2, 3))
    cluster.restart(1)
    cluster.wait(lambda: len(cluster.isr(TOPIC)) == 3, timeout=60)
    return found


KINDS: dict[str, Callable[[Any], list[str]]] = {"stuck": _stuck, "death": _death, "refused": _refused,
                                               "unclean": _unclean, "restart": _restart}
