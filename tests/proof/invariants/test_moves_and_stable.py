"""I18 and I20 on values, and what was added to I15: in a world in which this rule is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.client import Admin
from minikafka.proof.invariants.watch import Watch
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.world import World
from tests.proof.invariants.kit import Kit


def play(story: Callable[[Kit], Any], **more: Any) -> set[str]:
    """Run a story to its end; return what fell."""
    kit = Kit(**more)

    async def whole(kit: Kit) -> None:
        await story(kit)
        await kit.watch.at_end()

    kit.run(whole)
    return {violation.id for violation in kit.watch.violations}


# --- I18: reassignments -------------------------------------------------------------------------------------------------

def state(**fields: Any) -> PartitionRegistration:
    known = PartitionRegistration("t", 0, None, (1, 2, 3, 4), (1, 2), 1, 1, adding=(3, 4), removing=(1, 2))  # type: ignore[arg-type]
    return replace(known, **fields)


@pytest.mark.parametrize("after, broken", [
    ({"isr": (1, 2, 3)}, False), ({"replicas": (2, 3, 4), "removing": (2,)}, True),
    ({"replicas": (3, 4), "isr": (3, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (3, 4), "isr": (3,), "adding": (), "removing": ()}, True),
    ({"replicas": (1, 2), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1, 4), "adding": (), "removing": ()}, False),
    ({"replicas": (1, 4), "isr": (1,), "adding": (), "removing": ()}, True)])
def test_i18_every_way_to_end(monkeypatch: pytest.MonkeyPatch, after: dict[str, Any], broken: bool) -> None:
    """Fails if a replica may leave early, or a target may be missing at the end (of the move that came last)."""
    watch = Watch(World(1))
    (moves,) = [each for each in watch.invariants if each.id == "I18"]
    monkeypatch.setattr(watch.cluster, "change", lambda key: (state(), state(partition_epoch=1, **after)))
    moves.on_metadata([("t", 0)])
    assert bool(watch.violations) is broken


# --- I20: who comes -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("fenced, replayed, broken", [(False, 9, True), (False, 10, False), (True, 9, False)])
def test_i20_a_broker_that_knows_nothing_yet(monkeypatch: pytest.MonkeyPatch, fenced: bool, replayed: int,
                                             broken: bool) -> None:
    """Fails if a broker may serve that has not replayed its own registration: it would not know what it leads."""
    watch = Watch(World(1))
    (comes,) = [each for each in watch.invariants if each.id == "I20"]
    watch.cluster.image = SimpleNamespace(brokers={2: SimpleNamespace(fenced=fenced, epoch=10, registration_offset=10)})
    monkeypatch.setattr(watch.cluster, "registered", lambda node: SimpleNamespace(image=SimpleNamespace(offset=replayed)))
    comes.on_metadata([])
    assert bool(watch.violations) is broken


# --- I15: where logs begin --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("broken", [False, True])
def test_i15_a_follower_that_keeps_what_was_deleted(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Fails if the followers of an idle partition need not delete what its leader has deleted."""
    async def story(kit: Kit) -> None:
        await kit.send(20)
        if broken:
            for node in kit.followers():
                monkeypatch.setattr(kit.partition(node), "_begin_at", lambda start: None)
        admin = Admin(kit.env, kit.world.bootstrap)
        with suppress(KafkaError):  # it is answered when the followers have begun there, too
            await admin.delete_records(("t", 0), 10)

    assert ("I15" in play(story)) is broken
