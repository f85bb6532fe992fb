"""I22: which changes of a partition in the metadata are allowed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World


def state(**fields: Any) -> PartitionRegistration:
    known = PartitionRegistration("t", None, 0, (1, 2, 3), (1, 2), 1, 1)  # type: ignore[arg-type]
    return replace(known, **fields)


def judged(monkeypatch: pytest.MonkeyPatch, before: PartitionRegistration, after: dict[str, Any],
           active: tuple[int, ...] = (1, 2, 3),
           unclean: bool = False, fenced: tuple[int, ...] = (), replayed: bool = True) -> bool:
    watch = Watch(World(1), unclean=unclean)
    (elections,) = [each for each in watch.invariants if each.id == "I22"]
    for node in fenced:
        elections.on_event({"k": "broker", "b": 1, "id": node, "state": "fenced"})
    if replayed:
        elections.on_event({"k": "partition", "b": 1, "tp": "t-0"})
    now = replace(before, partition_epoch=before.partition_epoch + 1, **after)
    monkeypatch.setattr(watch.cluster, "change", lambda key: (before, now))
    watch.cluster.image = SimpleNamespace(brokers={n: SimpleNamespace(incarnation=n, fenced=n not in active) for n in (1, 2, 3)},
                                          is_active=active.__contains__)  # type: ignore[assignment]
    elections.on_metadata([("t", 0)])
    return bool(watch.violations)


@pytest.mark.parametrize("before, after, active, wrong", [
    ({}, {"leader": 2, "leader_epoch": 2}, (1, 2, 3), False),
    ({}, {"leader": 2, "leader_epoch": 2}, (1, 3), True),
    ({}, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, (3,), True),
    ({"isr": (), "leader": -1, "elr": (1, 2)}, {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": (1,)}, (2, 3), False),
    ({"isr": (1,), "elr": (2,)}, {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": ()}, (1, 2), True),
    ({"isr": (), "leader": -1, "last_known_elr": (3,)}, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, (3,), False),
    ({"isr": (), "leader": -1, "last_known_elr": (3,)}, {"leader": 2, "leader_epoch": 2, "isr": (2,)}, (2,), True),
    ({"removing": (1,)}, {"replicas": (2, 3), "isr": (2, 3), "leader": 3, "leader_epoch": 2, "removing": ()}, (1, 2, 3), False),
    ({}, {"isr": (1, 2, 3)}, (1, 2, 3), False), ({}, {"isr": (1, 2, 3)}, (1, 2), True),
    ({}, {"isr": (2,)}, (1, 2, 3), True), ({}, {"isr": (1, 4)}, (1, 2, 3, 4), True), ({}, {"elr": (2,)}, (1, 2, 3), True),
    ({}, {"replicas": (1, 2)}, (1, 2, 3), True), ({}, {"replicas": (1, 2), "leader_epoch": 2}, (1, 2, 3), False)])
def test_i22_every_change(monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], after: dict[str, Any],
                          active: tuple[int, ...], wrong: bool) -> None:
    """Fails if a change of the metadata that no rule allows is passed, or one that a rule allows is not."""
    assert judged(monkeypatch, state(**before), after, active) is wrong


def test_i22_a_member_that_was_fenced_in_the_same_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if an election from the ELR is refused because a member of the ISR, fenced when it took place, is active again at
    the end of the step; or if any other broker's fencing permits it."""
    before, after = state(isr=(1,), elr=(2,)), {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": (1,)}
    assert not judged(monkeypatch, before, after, fenced=(1,))
    assert judged(monkeypatch, before, after, fenced=(3,))


def test_i22_a_snapshot_does_not_tell_what_came_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if an election from the ELR is judged by states between which a member of the ISR may have been away, because a
    broker has loaded a snapshot."""
    before, after = state(isr=(1,), elr=(2,)), {"leader": 2, "leader_epoch": 2, "isr": (2,), "elr": (1,)}
    assert not judged(monkeypatch, before, after, replayed=False) and judged(monkeypatch, before, after)


def test_i22_unclean_elections_make_the_leader_the_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if an unclean leader may keep members of an ISR whose records it does not have (I-ELECT-3)."""
    empty = state(isr=(), leader=-1)
    assert not judged(monkeypatch, empty, {"leader": 3, "leader_epoch": 2, "isr": (3,)}, unclean=True)
    assert judged(monkeypatch, empty, {"leader": 3, "leader_epoch": 2, "isr": (3, 2)}, unclean=True)


@pytest.mark.parametrize("ended, isr, wrong", [("kill", (1, 2), True), ("kill", (1,), False), (None, (1, 2), False)])
def test_i22_an_unclean_return(ended: str | None, isr: tuple[int, ...], wrong: bool) -> None:
    """Fails if a broker that was killed may be a candidate when it registers again (rules 29 and 33)."""
    watch: Known = Watch(World(1))
    (elections,) = [each for each in watch.invariants if each.id == "I22"]  # type: ignore[attr-defined]
    watch.cluster.states = {("t", 0): state(isr=isr)}
    for incarnation in (1, 2):
        watch.cluster.image = SimpleNamespace(brokers={2: SimpleNamespace(incarnation=incarnation, fenced=True)},
                                              is_active=lambda node: False)  # type: ignore[assignment]
        elections.on_metadata([])
        if ended is not None:
            elections.on_fault({"fault": ended, "node": 2})
    assert bool(watch.violations) is wrong
