"""Traffic, from what was appended: producers to leaders, leaders to followers; and what has not arrived yet.

Owns: nothing.
"""
from __future__ import annotations

from minikafka.lab.picture.facts.quorum import METADATA
from minikafka.lab.picture.frame import ShownFlow
from minikafka.lab.picture.scene import PictureScene

CLIENTS = 0


def rates(scene: PictureScene, tp: str) -> dict[int, float]:
    """Return how many records each replica of the partition appended over the last second."""
    found: dict[int, float] = {b: 0.0 for b, r in scene.state.partitions[tp].replicas.items() if r.log.end is not None}
    for event in scene.recent:
        if event["k"] == "append" and event["tp"] == tp:
            found[event["b"]] = found.get(event["b"], 0.0) + event["count"]
    return found


def flows(scene: PictureScene) -> tuple[ShownFlow, ...]:
    """Return what moves, and what would move if nothing held it."""
    sums: dict[tuple[int, int, str], float] = {}
    for event in scene.recent:
        if event["k"] != "append" or event["tp"] == METADATA:
            continue
        p = scene.state.partitions.get(event["tp"])
        if p is None or p.leader is None or p.leader < 0:
            continue
        key = (CLIENTS, p.leader, "produce") if event["b"] == p.leader else (p.leader, event["b"], "fetch")
        sums[key] = sums.get(key, 0.0) + event["count"]
    conditions, chosen = scene.state.conditions, scene.chosen
    if chosen is not None and chosen.leader is not None and chosen.leader >= 0:
        for b in (chosen.assigned or ()):
            if b != chosen.leader:
                sums.setdefault((chosen.leader, b, "fetch"), 0.0)
        if any(producer.waiting for producer in scene.state.producers.values()):
            sums.setdefault((CLIENTS, chosen.leader, "produce"), 0.0)
    return tuple(ShownFlow(a, b, what, rate, (a, b) in conditions.cut or (b, a) in conditions.cut
                      or any(n != CLIENTS and not conditions.works(n) for n in (a, b))
                      or what == "fetch" and b in conditions.held, under_way(scene, a, b))
                 for (a, b, what), rate in sorted(sums.items()))


def under_way(scene: PictureScene, source: int, target: int) -> int | None:
    """Return how many records of the chosen partition have left and not arrived: sent and not answered, or not copied
    yet; None if that is not known."""
    p = scene.chosen
    if p is None or p.leader not in (source, target):
        return None
    if source == CLIENTS:
        return sum(len(producer.waiting) for producer in scene.state.producers.values())
    ends = [p.replicas[b].log.end if b in p.replicas else None for b in (source, target)]
    return None if None in ends else max(0, ends[0] - ends[1])     # type: ignore[operator]
