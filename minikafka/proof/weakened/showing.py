"""What shows a weakened rule: a story, told without it, or the world and seed that the table names.

    fallen(weakened()["votes_twice"], 0)        ("I7",): what fell at this seed

Owns: the worlds by name. Each is a function of a seed, which returns the ids of what fell, () if nothing did.
"""

from __future__ import annotations

from collections.abc import Callable

from minikafka.proof.small_worlds.doors.life import doors
from minikafka.proof.small_worlds.partition_chaos import partition_chaos, partition_moves
from minikafka.proof.small_worlds.raft.campaign import run_raft_seed
from minikafka.proof.small_worlds.worlds import WORLDS
from minikafka.proof.stories.telling.script import load, tell
from minikafka.proof.swarm.faults import BROKERS_ASSIGN, CLIENT_KINDS
from minikafka.proof.swarm.swarm import SeedRun
from minikafka.proof.weakened.swap import without
from minikafka.proof.weakened.table import Weakened

World = Callable[[int], tuple[str, ...]]


def quorum_campaign(seed: int) -> tuple[str, ...]:
    """Run one seed of the quorum's campaign (small_worlds/raft/campaign.py)."""
    violation = run_raft_seed(seed).violation
    return () if violation is None else (violation[0],)


def groups_struck(seed: int) -> tuple[str, ...]:
    """Run a seed of the swarm in which the brokers assign and only members of groups are struck."""
    run = SeedRun(BROKERS_ASSIGN + seed, tuple(CLIENT_KINDS))
    if not any(work.name in ("group", "copy") for work in run.work):
        return ()
    return tuple(violation.id for violation in run.execute().violations)


BY_NAME: dict[str, World] = {world.__name__: world for worlds in WORLDS.values() for world in worlds} | {
    world.__name__: world for world in (partition_chaos, partition_moves, quorum_campaign, groups_struck, doors)}


def fallen(one: Weakened, seed: int) -> tuple[str, ...]:
    """Return the ids that fall at this seed with the rule off, of those that its row names: a story that merely breaks off
    proves nothing."""
    if one.story is not None:
        everything = tell(load()[one.story], seed, without(one.name)).violations
    else:
        assert one.world is not None, f"{one.name} names neither story nor world"
        with without(one.name):
            everything = BY_NAME[one.world[0]](seed)
    return tuple(id for id in (text.partition(":")[0] for text in everything) if id in one.falls)
