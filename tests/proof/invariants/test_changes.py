"""I18 and I22 on values: which changes of a partition in the metadata are allowed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World

KNOWN = PartitionRegistration("t", None, 0, (1, 2, 3), (1, 2), 1, 1)  # type: ignore[arg-type]
MOVING = replace(KNOWN, replicas=(1, 2, 3, 4), adding=(3, 4), removing=(1, 2))


def fallen(monkeypatch: pytest.MonkeyPatch, before: PartitionRegistration, after: dict[str, Any],
           active: tuple[int, ...] = (1, 2, 3), **watch: Any) -> list[str]:
    """Return what falls for this change of a partition, which the brokers replay one by one."""
    judge = Watch(World(1), only=("I18", "I22"), **watch)
    now = replace(before, partition_epoch=before.partition_epoch + 1, **after)
    monkeypatch.setattr(judge.cluster, "change", lambda key: (before, now))
    judge.cluster.image = SimpleNamespace(brokers={n: SimpleNamespace(incarnation=n, fenced=n not in active) for n in (1, 2, 3)},
                                          is_active=active.__contains__)  # type: ignore[assignment]
    for invariant in judge.invariants:
        if "partition" in invariant.events:
            invariant.on_event({"k": "partition", "b": 1, "tp": "t-0"})
        invariant.on_metadata([("t", 0)])
    return [violation.id for violation in judge.violations]


@pytest.mark.parametrize("after, broken", [
    ({"isr": (1, 2, 3)}, False), ({"replicas": (2, 3, 4), "removing": (2,)}, True),
    ({"replicas": (3, 4), "isr": (3, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (3, 4), "isr": (3,), "adding": (), "removing": ()}, True),
    ({"replicas": (1, 2), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1,), "adding": (), "removing": ()}, True)])
def test_every_end_of_a_reassignment(monkeypatch: pytest.MonkeyPatch, after: dict[str, Any], broken: bool) -> None:
    """Fails if a replica may leave early, or a target may be missing at the end of the reassignment that came last."""
    assert ("I18" in fallen(monkeypatch, MOVING, after, (1, 2, 3, 4))) is broken


@pytest.mark.parametrize("before, after, active, broken", [
    ({}, {"leader": 2, "leader_epoch": 2}, (1, 2, 3), False),
    ({}, {"leader": 2, "leader_epoch": 2}, (1, 3), True),
    ({}, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, (3,), True),
    ({"isr": (), "leader": -1, "elr": (1, 2)}, {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": (1,)}, (2, 3), False),
    ({"isr": (1,), "elr": (2,)}, {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": ()}, (1, 2), True),
    ({"isr": (), "leader": -1, "last_known_elr": (3,)}, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, (3,), False),
    ({"isr": (), "leader": -1, "last_known_elr": (3,)}, {"leader": 2, "leader_epoch": 2, "isr": (2,)}, (2,), True),
    ({"removing": (1,)}, {"replicas": (2, 3), "isr": (2, 3), "leader": 3, "leader_epoch": 2, "removing": ()}, (1, 2, 3), False),
    ({}, {"isr": (1, 2, 3)}, (1, 2, 3), False), ({}, {"isr": (1, 2, 3)}, (1, 2), True),
    ({}, {"replicas": (1, 2)}, (1, 2, 3), True), ({}, {"replicas": (1, 2), "leader_epoch": 2}, (1, 2, 3), False)])
def test_every_change_of_leader_and_isr(monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], after: dict[str, Any],
                                        active: tuple[int, ...], broken: bool) -> None:
    """Fails if I22 lets a change pass that no rule allows, or reports one that a rule allows."""
    assert ("I22" in fallen(monkeypatch, replace(KNOWN, **before), after, active)) is broken


def test_an_unclean_leader_is_the_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if an unclean leader may keep members of an ISR whose records it does not have (I-ELECT-3)."""
    empty = replace(KNOWN, isr=(), leader=-1)
    assert fallen(monkeypatch, empty, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, unclean=True) == []
    assert fallen(monkeypatch, empty, {"leader": 3, "leader_epoch": 2, "isr": (3, 2)}, unclean=True) == ["I22"]
