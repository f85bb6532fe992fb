"""I21 and I22: in worlds in which one of these rules is broken on purpose."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.replication.effects import AssignEpoch, EpochEnd, HighWatermark
from minikafka.broker.replication.replica import Replica
from minikafka.broker.replication.shell.partition import Partition as Shell
from minikafka.client import Producer
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.steps import StepsAreAllowed
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World
from tests.proof.invariants.kit import Kit

HASTY = {"replica.lag.time.max.ms": 1000, "broker.session.timeout.ms": 1500, "broker.heartbeat.interval.ms": 300,
         "replica.fetch.max.bytes": 1}  # a follower that has fallen behind catches up a batch at a time


def found(story: Any, only: str) -> list[str]:
    kit = Kit(config=HASTY, only={only})
    kit.run(story)
    return [str(violation) for violation in kit.watch.violations]


# --- I21: steps of a replica ------------------------------------------------------------------------------------------

async def alone(kit: Kit) -> None:
    """The leader writes while both followers are held, and goes on when it is alone in its ISR; then it dies, the next one writes
    more, and the first comes back. Each record is a batch."""
    await kit.send(3)
    leader, followers = kit.leader(), kit.followers()
    for node in followers:
        kit.world.hold_follower(node)
    brisk = Producer(kit.env, kit.world.bootstrap, acks=1, idempotent=False)
    for number in range(60):
        if number == 20:
            kit.world.kill(leader)
            for node in followers:
                kit.world.hosts[node].hold_follower(False, 0.0)
        await brisk.send("t", f"brisk-{number}")
        await kit.world.sleep(0.1)
    await kit.world.restart(leader)
    await kit.world.sleep(3.0)
    brisk.kill()


def test_i21_a_healthy_cluster_keeps_its_rules() -> None:
    assert found(alone, "I21") == []


def test_i21_a_leader_that_notes_no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a leader need not know where its epoch begins (rule 5)."""
    monkeypatch.setattr(Shell, "_DO", Shell._DO | {AssignEpoch: lambda self, effect: None})
    assert any("epoch cache ends with" in text for text in found(alone, "I21"))


def test_i21_a_high_watermark_that_moves_with_too_small_an_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the high watermark may rise below min.insync.replicas (rule 3)."""
    def advance(self: Replica, now: float) -> list[Any]:
        end = self.log.end_offset
        offset = min([end, *(f.log_end_offset for r, f in self.followers.items() if r in self.isr.maximal)])
        if not self.is_leader or offset <= self.high_watermark:
            return []
        self.high_watermark = offset
        return [HighWatermark(offset)]

    monkeypatch.setattr(Replica, "_advance", advance)
    assert any("HW rose" in text for text in found(alone, "I21"))


@pytest.mark.parametrize(("before", "changes", "told"), [((3,), 0, True), ((3,), 1, True), ((3,), 2, False), ((3, 2), 1, False)])
def test_i21_of_several_isrs_in_one_step_one_may_have_been_large_enough(before: tuple[int, ...], changes: int,
                                                                        told: bool) -> None:
    """Fails if a leader is accused whose high watermark rose while its ISR was large, before the step was over (seeds 94036 and
    102084), or if a leader goes free whose ISR was too small all the time."""
    watch = SimpleNamespace(unclean=False, cluster=SimpleNamespace(leads=lambda seen: False))
    steps, said = StepsAreAllowed.__new__(StepsAreAllowed), []
    steps.watch, steps._led, steps._ends = watch, {}, {}
    steps.cluster, steps.fail = watch.cluster, lambda text, *subject: said.append(text)
    core = SimpleNamespace(is_leader=True, leader_epoch=1, partition_epoch=5, high_watermark=42, effective_min_insync=2,
                           isr=SimpleNamespace(committed=before, proposal=None))
    seen = SimpleNamespace(core=core, node=3, truth=SimpleNamespace(key=("t", 0)))
    steps.on_replica(seen, 0)
    core.partition_epoch, core.high_watermark, core.isr.committed = 5 + changes, 46, (3,)
    steps.on_replica(seen, 0)
    assert bool(said) is told


def test_i21_a_follower_that_is_not_told_where_logs_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a follower may append to a log that has left its leader's (rules 20 and 21)."""
    def divergence(self: Replica, offset: int, last_epoch: int) -> EpochEnd | None:
        return None

    monkeypatch.setattr(Replica, "divergence", divergence)
    assert any("its epochs are" in text for text in found(alone, "I21"))


def test_i21_a_replica_that_joins_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a replica may join the ISR that lacks records from before the leader's epoch (rule 15)."""
    def at_once(self: Replica, replica: int) -> list[Any]:
        waits = self.isr.proposal is not None or replica in self.isr.committed
        return [] if waits else self._propose((*self.isr.committed, replica), "it is there")

    monkeypatch.setattr(Replica, "_maybe_expand", at_once)
    assert any("joins with LEO" in text for text in found(alone, "I21"))


# --- I22: elections ---------------------------------------------------------------------------------------------------

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
