"""The watch itself: it changes nothing, chooses invariants, and ends a run where it should."""

from __future__ import annotations

import pytest

from minikafka.proof.invariants.violation import Violation
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World
from tests.proof.invariants.kit import Kit


def test_a_watched_run_is_the_same_run() -> None:
    """I-LOOK-1: fails if the watch draws, sends, writes, or reads through what can fail: the hashes of both runs differ."""
    hashes = []
    for watched in (False, True):
        world = World(5)
        watch = Watch(world) if watched else None

        async def story(world: World = world) -> None:
            await world.start()
            world.powerloss(2)
            await world.sleep(2.0)
            await world.mend()
            await world.sleep(2.0)

        world.run(story())
        assert watch is None or watch.violations == []
        hashes.append(world.trace_hash())
        world.close()
    assert hashes[0] == hashes[1]


async def cut_short(kit: Kit) -> None:
    await kit.send(20)
    await kit.world.sleep(1.0)
    kit.cut(kit.followers()[0], 10)
    await kit.world.sleep(1.0)


def test_it_checks_the_chosen_invariants_and_can_end_the_run() -> None:
    """Fails if `only` and `without` do not choose, or hide the truth from the others; or if `raises` does not raise the
    violation, with its id, out of world.run."""
    assert Kit(only=("I3",)).run(cut_short) == ["I3"]
    assert Kit(without=("I3",)).run(cut_short) == []
    with pytest.raises(Violation) as ended:
        Kit(raises=True).run(cut_short)
    assert ended.value.id == "I3"
