"""Runs with faults that a correct broker survives: no invariant may fire, and the watch may change nothing."""

from __future__ import annotations

import pytest

from tests.proof.invariants.kit import Kit


async def troubled(kit: Kit) -> None:
    """Six rounds of a kill, a loss of power or a cut, under load; then healing, and the look at everything."""
    world, rng = kit.world, kit.world.rng("story")
    end = kit.load()
    for _ in range(6):
        await world.sleep(rng.uniform(0.5, 2))
        node, other = rng.sample(world.brokers, 2)
        fault = rng.choice([world.kill, world.powerloss, world.pause, world.cut])
        fault(*((node, other) if fault == world.cut else (node,)))
        await world.sleep(rng.uniform(0.5, 4))
        await world.mend()
    await end()
    await world.sleep(2)
    await kit.watch.at_end()


@pytest.mark.parametrize("seed", range(2))
def test_no_invariant_fires_on_a_correct_broker(seed: int) -> None:
    """Fails if the broker breaks its promises under one fault at a time, or if an invariant cries wolf."""
    kit = Kit(seed)
    kit.run(troubled)
    assert [str(violation) for violation in kit.watch.violations] == []
    assert kit.watch.losses == []
    assert kit.watch.truths["t", 0].end > 100
