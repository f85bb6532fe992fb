"""I18, I19 and I20, and what was added to I1, I13 and I15: in worlds in which one of these rules is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from minikafka.broker.controller import leader_election
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.transactions.shell.marker_sender import MarkerSender
from minikafka.client import Admin, Producer
from minikafka.log.producers import ProducerStates
from minikafka.proof.invariants.watch import Watch
from minikafka.protocol.errors import Err, KafkaError
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

def five(monkeypatch: pytest.MonkeyPatch, broken: Callable[..., Any] | None) -> set[str]:
    """Move a partition from brokers 1, 2, 3 to 4 and 5, while 5 is dead for a while."""
    world = World(1, brokers=5)
    watch = Watch(world)
    if broken is not None:
        monkeypatch.setattr(leader_election, "completed", broken)

    async def story() -> None:
        await world.start()
        admin = Admin(world.client_env(), world.bootstrap)
        await admin.create_topic("t", 1, 3)
        producer = Producer(world.client_env(), world.bootstrap)
        for number in range(20):
            await producer.send("t", f"{number}", partition=0)
        world.kill(5)
        await admin.reassign(("t", 0), [4, 5])
        await world.sleep(15)
        world.boot(5)
        await world.mend()
        await watch.at_end()

    world.run(story())
    world.close()
    return {violation.id for violation in watch.violations}


def test_i18_a_move_that_waits_for_its_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert five(monkeypatch, None) == set()


def test_i18_a_move_that_ends_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a reassignment may end with a target that is dead: one replica fewer than its owner believes."""
    def as_soon_as_one_has_it(assignment: Any, isr: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        left = tuple(node for node in isr if node not in assignment.removing)
        if not assignment.in_progress or not left:
            return assignment, isr
        replicas = tuple(node for node in assignment.replicas if node not in assignment.removing)
        return type(assignment)(replicas), left

    assert "I18" in five(monkeypatch, as_soon_as_one_has_it)


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


# --- I19: the last stable offset ------------------------------------------------------------------------------------------

async def copies(kit: Kit) -> None:
    """Some transactions, one of which is long."""
    await kit.create("out")
    for number in range(3):
        producer = Producer(kit.env, kit.world.bootstrap, transactional_id=f"id-{number}", transaction_version=2,
                            transaction_timeout=8.0)
        await producer.init()
        await producer.begin()
        for record in range(5):
            await producer.post("out", f"{number}-{record}", partition=0)
        await kit.world.sleep(1.0)
        await producer.commit()
        await producer.close()


@pytest.mark.parametrize("broken", [False, True])
def test_i19_what_is_read_as_decided(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Fails if a broker may hand out records of an open transaction to a reader of committed ones."""
    if broken:
        monkeypatch.setattr(ProducerStates, "last_stable_offset", lambda self, high_watermark: high_watermark)
    assert ("I19" in play(copies)) is broken


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


# --- I13: complete ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("broken", [False, True])
def test_i13_a_transaction_without_its_markers(monkeypatch: pytest.MonkeyPatch, broken: bool) -> None:
    """Fails if a coordinator may call a transaction complete though no marker was written."""
    if broken:
        async def says_so(self: MarkerSender, home: object, data: object, leader: int, partitions: list[Any]) -> dict[Any, Err]:
            return dict.fromkeys(partitions, Err.NONE)

        monkeypatch.setattr(MarkerSender, "_mark", says_so)
    assert ("I13" in play(copies)) is broken


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
