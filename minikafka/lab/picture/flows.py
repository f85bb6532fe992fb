"""Traffic of the last second, from what was appended: producers to leaders, leaders to followers.

Owns: nothing.
"""
from __future__ import annotations

from minikafka.lab.picture.frame import Flow
from minikafka.lab.picture.quorum import METADATA
from minikafka.lab.picture.scene import Scene

CLIENTS = 0


def rates(scene: Scene, tp: str) -> dict[int, float]:
    """Records a second that each replica of the partition appended over the last second."""
    found: dict[int, float] = {b: 0.0 for b, r in scene.state.partitions[tp].replicas.items() if r.log.end is not None}
    for event in scene.recent:
        if event["k"] == "append" and event["tp"] == tp:
            found[event["b"]] = found.get(event["b"], 0.0) + event["count"]
    return found


def flows(scene: Scene) -> tuple[Flow, ...]:
    """What moves, and what would move if nothing held it."""
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
    return tuple(Flow(a, b, what, rate, (a, b) in conditions.cut or (b, a) in conditions.cut
                      or any(n != CLIENTS and not conditions.works(n) for n in (a, b))
                      or what == "fetch" and b in conditions.held)
                 for (a, b, what), rate in sorted(sums.items()))
