"""The watch itself: it changes nothing, stops when told, and knows which losses are permitted."""

from __future__ import annotations

import pytest

from minikafka.proof.invariants.violation import Violation
from minikafka.proof.invariants.watch import Watch
from minikafka.sim.world.world import World
from tests.proof.invariants.kit import Kit


def test_a_watched_run_is_the_same_run() -> None:
    """Fails if the watch draws, sends, writes, or reads through what can fail: the hashes of both runs differ."""
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
    partition = kit.partition(kit.followers()[0])
    partition.carry_out(partition.replica._cut(10))
    await kit.world.sleep(1.0)


def test_it_can_stop_the_run() -> None:
    """Fails if `raises` does not raise the violation, id and all, out of world.run."""
    with pytest.raises(Violation) as stopped:
        Kit(raises=True).run(cut_short)
    assert stopped.value.id == "I3"


def test_it_can_look_for_some_only() -> None:
    """Fails if `only` and `without` do not choose: the truth must be known all the same."""
    assert Kit(only=("I3",)).run(cut_short) == ["I3"]
    assert Kit(without=("I3",)).run(cut_short) == []
    assert Kit(only=("I7",)).run(cut_short) == []


def power_cut(seed: int, victims: int) -> Kit:
    """Records that nothing has synced yet, on three brokers; then some of them lose power at once."""
    async def story(kit: Kit) -> None:
        await kit.send(30)
        await kit.world.sleep(1.0)
        leader = kit.leader()
        for node in [leader, *kit.followers()][:victims]:
            kit.world.powerloss(node)
        await kit.world.sleep(1.0)
        await kit.world.mend()
        await kit.send(5)
        await kit.watch.at_end()

    kit = Kit(seed)
    kit.run(story)
    return kit


@pytest.mark.parametrize("seed", range(3))
def test_one_loss_of_power_of_two_in_sync_may_lose_nothing(seed: int) -> None:
    """Fails if a single loss of power is taken for an excuse: min.insync.replicas=2 survives it."""
    kit = power_cut(seed, victims=1)
    assert [str(v) for v in kit.watch.violations] == [] and kit.watch.losses == []


def test_a_loss_of_power_everywhere_is_a_permitted_loss_and_told() -> None:
    """Fails if losing all disks at once is a violation, or if what was lost is not told to watch and history."""
    for seed in range(8):                             # chance may spare the disks
        kit = power_cut(seed, victims=3)
        assert [str(v) for v in kit.watch.violations] == []
        if any(loss.name == "t-0" for loss in kit.watch.losses):
            break
    assert [loss.id for loss in kit.watch.losses if loss.name == "t-0"] == ["loss"]
    told = [event for event in kit.history.events if event["f"] == "may-lose"]
    assert "t" in {event.get("topic") for event in told}


def test_a_broker_that_ended_by_itself_counts_as_killed() -> None:
    """Fails if a broker is under suspicion from the fault of its disk on, and no more when it ends of it: while it
    works on it is a replica like any (as in seed 5458)."""
    async def story(kit: Kit) -> None:
        leader, (slow, other) = kit.leader(), kit.followers()
        kit.world.hold_follower(slow)
        await kit.send()
        await kit.world.until(lambda: slow not in kit.watch.cluster.states["t", 0].isr)
        kit.world.fail_disk(other, "sync")
        await kit.send(30)
        await kit.world.until(lambda: other not in kit.world.alive)
        kit.world.hold_follower(other)
        kit.world.boot(other)
        await kit.world.until(lambda: kit.watch.cluster.states["t", 0].isr == (leader,))
        kit.world.powerloss(leader)
        await kit.world.sleep(1.0)
        await kit.world.mend()
        await kit.world.until(lambda: len(kit.watch.cluster.states["t", 0].isr) == 3)

    for seed in range(8):                             # chance may spare the disk
        kit = Kit(seed, {"replica.lag.time.max.ms": 1500})
        assert kit.run(story) == [], [str(v) for v in kit.watch.violations]
        if any(loss.name == "t-0" for loss in kit.watch.losses):
            break
    assert any(loss.name == "t-0" for loss in kit.watch.losses)


def test_one_candidate_above_suspicion_permits_no_loss() -> None:
    """Fails if a disk that lost records and a broker that was killed excuse a third one, to which nothing happened."""
    async def story(kit: Kit) -> None:
        await kit.send(20)
        await kit.world.sleep(1.0)
        one, two = kit.followers()
        kit.world.kill(kit.leader())
        kit.world.powerloss(one)
        partition = kit.partition(two)
        partition.carry_out(partition.replica._cut(10))
        await kit.world.sleep(1.0)

    kit = Kit()
    assert "I3" in kit.run(story) and kit.watch.losses == []


def test_equal_seeds_find_the_same() -> None:
    """Fails if what the watch reports depends on more than the run."""
    reports = []
    for _ in range(2):
        kit = Kit()
        kit.run(cut_short)
        reports.append([str(violation) for violation in kit.watch.violations])
    assert reports[0] == reports[1] != []
