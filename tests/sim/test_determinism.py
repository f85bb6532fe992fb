"""The same seed gives the same world, in two processes and whatever PYTHONHASHSEED is."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from minikafka.proof.swarm.swarm import run_seed
from minikafka.sim.world.world import World
from tests.sim.test_world import Shop

FAULTS = ("kill", "powerloss", "pause", "cut", "slow", "reset", "wipe")


async def story(world: Shop) -> None:
    """Records through a storm of faults, then calm."""
    await world.begin()
    rng = world.rng("story")
    for number in range(12):
        fault, node = rng.choice(FAULTS), rng.choice(world.nodes)
        if fault in ("cut", "reset"):
            getattr(world, fault)(node, rng.choice([n for n in world.nodes if n != node]))
        elif fault == "slow":
            world.slow("clients", node, latency=rng.random() / 10)
        elif fault == "pause" and node in world.alive:
            world.pause(node)
        elif fault in ("kill", "powerloss"):
            getattr(world, fault)(node)
        elif fault == "wipe" and world.hosts[node].state == "dead":
            world.wipe(node)
        for asked in world.alive:
            try:
                await world.send(b"%d" % number, node=asked, timeout=0.5)
            except (OSError, RuntimeError):
                continue
        if number % 4 == 3:
            await world.mend()


def trace_hash(seed: int) -> str:
    world = Shop(seed)
    world.run(story(world))
    found = world.trace_hash()
    world.close()
    return found


def swarm_hash(seed: int) -> str:
    """Of a seed of the campaigns: the world's trace, what its clients sent and were answered, and what was counted."""
    run = run_seed(seed)
    seen = (run.trace_hash, list(run.history), run.violations, sorted(run.coverage.items()))
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def in_a_process_of_its_own(what: Callable[[int], str], seed: int, hash_seed: str) -> str:
    code = f"from tests.sim.test_determinism import {what.__name__}; print({what.__name__}({seed}))"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": "."},
                          capture_output=True, text=True, timeout=500, check=True)
    return done.stdout.strip()


# The last seed is one whose clients live in processes of their own and are struck, too.
@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("what", "seed"), [(trace_hash, 11), (trace_hash, 12), (swarm_hash, 30_011)])
def test_the_same_seed_gives_the_same_trace(what: Callable[[int], str], seed: int) -> None:
    """Fails if anything in broker/ or sim/ depends on more than the seed: sets in the order of ids or of hashes,
    addresses, garbage collection, real time, or what ran before in the same process (I-WORLD-1)."""
    assert in_a_process_of_its_own(what, seed, "424242") == (here := what(seed)) and len(here) == 64


def test_another_seed_gives_another_trace() -> None:
    """Fails if the hash is blind to what happened."""
    assert trace_hash(11) != trace_hash(12)


def test_the_hash_sees_a_single_draw_and_takes_none() -> None:
    """Fails if the hash is of a stream that nobody draws from, or if asking for it changes what comes after."""
    world = World(7)
    before = world.trace_hash()
    assert world.trace_hash() == before == World(7).trace_hash()
    world.net.random()
    assert world.trace_hash() != before


def test_one_draw_more_changes_no_other_stream() -> None:
    """I-WORLD-2. Fails if streams of chance share their numbers, or one name means two streams."""
    drawn, still = World(7), World(7)
    drawn.rng("one").random()
    assert drawn.rng("other").random() == still.rng("other").random() != still.rng("one").random()
    assert drawn.rng("one") is drawn.rng("one") and drawn.rng("net") is drawn.net.rng
    assert World(8).rng("other").random() != World(7).rng("other").random()
