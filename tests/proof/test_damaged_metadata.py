"""Bits that flip in a node's metadata and in files that are derived of logs: what comes of it, and who mends it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from minikafka.broker.metadata.records import ProducerIdsRecord
from minikafka.broker.raft.messages import SnapshotId
from minikafka.broker.raft.shell.metadata_log import MetadataLog
from minikafka.broker.raft.shell.snapshot_files import build
from minikafka.broker.storage.shell.log_dir import LogDirError
from minikafka.client.admin.admin import Admin
from minikafka.proof.history import History
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm import damage
from minikafka.proof.swarm.faults import CONTROLLER, METADATA_FLIPPED, SwarmFault
from minikafka.proof.swarm.recovery import Operator
from minikafka.proof.swarm.swarm import SeedRun, Shape
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import DEAD, Killed, SimLoop
from minikafka.sim.world.net import SimNetwork
from minikafka.sim.world.world import World

FOLDER = "/metadata/__cluster_metadata-0"
Story = Callable[[World, Operator, Admin], Coroutine[Any, Any, None]]


def play(story: Story, **options: Any) -> None:
    """Three brokers, a watch, an operator, an administrator."""
    world = World("metadata damage", **options)
    history = History(world.now)
    watch = Watch(world, history=history)

    async def run() -> None:
        await world.start()
        admin = Admin(world.client_env(), world.bootstrap, history=history)
        await story(world, Operator(world, watch, history, ()), admin)
        await admin.close()
        await watch.at_end()

    world.run(run())
    assert watch.violations == []
    world.close()


def flip(world: World, node: int, batch: int) -> None:
    """A bit in this batch of the node's metadata log."""
    (path,) = [path for path in world.hosts[node].disk.files(FOLDER) if path.endswith(".log")]
    data = bytes(world.hosts[node].disk.names[path].content)
    at, header = list(damage.frames(data))[batch]
    world.flip_bit(node, path, at + header.size - 3, 2)


async def ask_for_damage(world: World, leader: int, behind: int) -> None:
    """A bit flips on the leader's disk, and a node that has lost its metadata asks it for all of it."""
    await world.until(lambda: all(world.broker(n).quorum.applied > 8 for n in world.nodes))
    world.kill(behind)
    for path in damage.metadata_files(world.hosts[behind].disk, FOLDER):
        world.hosts[behind].disk.names.pop(path)
    flip(world, leader, 3)
    world.boot(behind)


async def agree(world: World) -> None:
    """Every running node has the same image."""
    def same() -> bool:
        brokers = [broker for node in world.nodes if (broker := world.broker(node)) is not None]
        return len({broker.image.offset for broker in brokers}) == 1
    await world.until(same)
    images = [sorted(map(repr, b.image.to_records())) for node in world.nodes if (b := world.broker(node)) is not None]
    assert images.count(images[0]) == len(images) >= 2


def test_a_leader_that_comes_upon_damage_in_its_metadata_leads_no_more() -> None:
    """Fails if it sends the damage to a follower, or keeps from it what others could give (I-MLOG-5)."""
    async def story(world: World, operator: Operator, admin: Admin) -> None:
        leader = world.controller()
        behind = next(node for node in world.nodes if node != leader)
        await ask_for_damage(world, leader, behind)
        await world.until(lambda: world.hosts[leader].state is DEAD)
        assert isinstance(world.hosts[leader].error, LogDirError)
        assert "does not match its checksum" in str(world.hosts[leader].error)
        await world.until(lambda: world.controller() not in (None, leader))
        await agree(world)
        await world.mend()
        await operator.mend()

    play(story)


def test_a_follower_outlives_what_a_damaged_leader_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a leader that does not look takes its followers with it, or makes them believe what it sends (I-QNET-3)."""
    async def story(world: World, operator: Operator, admin: Admin) -> None:
        leader = world.controller()
        behind, other = (node for node in world.nodes if node != leader)
        await ask_for_damage(world, leader, behind)
        await world.sleep(3.0)
        assert world.controller() == leader and world.hosts[behind].state is not DEAD
        assert world.broker(behind).quorum.log.end_offset == 0
        world.kill(leader)
        await world.until(lambda: world.controller() == other)
        await agree(world)
        await operator.mend()

    monkeypatch.setattr(MetadataLog, "read", lambda self, offset: self.log.read(offset, 1 << 20, self.log.end_offset))
    play(story)


class Alone:
    """A voter's metadata log alone on a disk: eight batches, and a mark that says so."""

    def __init__(self) -> None:
        self.disk = SimDisk()
        for _ in range(2):  # a stop leaves a mark, and so does a start
            self.open()
            for _ in range(4):
                self.append(1)
            self.log.close()
        self.disk.sync_names(FOLDER)
        self.open()

    def open(self) -> None:
        loop = SimLoop("alone")
        self.log = MetadataLog(SimEnv(loop, SimNetwork(loop, Random(0)), self.disk, "alone"), "/metadata")

    def append(self, records: int) -> None:
        self.log.append(self.log.to_batch([ProducerIdsRecord(1, 1, 1)] * records), 1)

    def truncate(self) -> None:
        self.log.truncate(4)

    def begin_anew(self) -> None:
        """At a snapshot of a newer epoch that ends earlier."""
        self.log.snapshots.write(SnapshotId(4, 2), build(SnapshotId(4, 2), [], 0))
        self.log.snapshots.add(SnapshotId(4, 2))
        self.log.begin_at(SnapshotId(4, 2))

    def dies(self, nth: int, doing: Callable[[Alone], None]) -> bool:
        """Killed before the nth change of the disk that it makes, if it makes so many."""
        left = nth

        def before_change() -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Killed

        self.disk.on_change = before_change
        try:
            doing(self)
        except Killed:
            return True
        finally:
            self.disk.on_change = None
        return False

    def loses_a_sector(self) -> None:
        """One of the things that a loss of power may do: nothing is left of unsynced changes of names, of unsynced writes
        to the log all but one sector in the first."""
        file = self.log.log.active.log.inode
        at = len(file.durable) + 512
        file.sync()
        file.durable[at : at + 512] = bytes(512)
        file.content = bytearray(file.durable)
        self.disk.names = dict(self.disk.durable)
        self.disk.pending.clear()


@pytest.mark.parametrize("cut", [Alone.truncate, Alone.begin_anew])
def test_a_log_that_became_shorter_has_no_mark_of_when_it_was_longer(cut: Callable[[Alone], None]) -> None:
    """Fails if a voter that was killed anywhere in the middle of it, and lost its power later, would miss what was torn
    in the middle of a write, and not start (I-MLOG-6)."""
    for nth in itertools.count(1):
        alone = Alone()
        if died := alone.dies(nth, cut):
            alone.open()
        for _ in range(3):
            alone.append(50)
        alone.loses_a_sector()
        alone.open()
        assert alone.log.end_offset < 50
        if not died:
            break
    assert nth > 4


@pytest.mark.parametrize("controllers", [None, 3])
def test_what_is_damaged_while_a_node_is_down(controllers: int | None) -> None:
    """Fails if a voter starts without what it had acknowledged, or an observer cannot begin again by itself."""
    async def story(world: World, operator: Operator, admin: Admin) -> None:
        await admin.create_topic("t", 2, 3)
        await world.restart(2)
        await admin.create_topic("u", 2, 3)
        await world.stop(2)
        flip(world, 2, 3)
        world.boot(2)
        if controllers is None:
            await world.until(lambda: world.hosts[2].state is DEAD)
            assert "a voter must not forget that" in str(world.hosts[2].error)
        else:
            await world.ready()
        await operator.mend()
        assert world.broker(2) is not None and not damage.metadata_damaged(world.hosts[2].disk, FOLDER)
        await agree(world)

    play(story, controllers=controllers)


# --- in the swarm ---------------------------------------------------------------------------------------------------


def test_a_swarm_with_bits_that_flip_where_no_records_are() -> None:
    """Fails when metadata that is damaged is believed, or not mended, or when an index or a checkpoint misleads."""
    seed = next(seed for seed in range(METADATA_FLIPPED, METADATA_FLIPPED + 50)
                if Shape.of(seed) == Shape(None, False, True, True))  # fmt: skip
    run = SeedRun(seed)
    run.plan = [SwarmFault(3.0, "stop", 1, 0.5), SwarmFault(3.0, "stop", 2, 0.5), SwarmFault(6.0, "flip_derived", 1, 0.0),
                SwarmFault(6.1, "flip_derived", 1, 0.0), SwarmFault(6.2, "flip_derived", 1, 0.0), SwarmFault(8.0, "stop", 1, 0.5),
                SwarmFault(14.0, "flip_metadata", 2, 0.0), SwarmFault(14.1, "flip_metadata", 2, 0.0),
                SwarmFault(16.0, "flip_metadata", 3, 0.0), SwarmFault(18.0, "kill", CONTROLLER, 1.0),
                SwarmFault(20.0, "kill", 2, 1.0)]  # fmt: skip
    result = run.execute()
    assert result.violations == []
    assert result.coverage["bits flipped in derived files"] == 3
    assert result.coverage["bits flipped in metadata"] == 2, "of one node only"
    assert isinstance(run.world.hosts[2].error, LogDirError) or result.coverage["fault renew_metadata"] == 1
