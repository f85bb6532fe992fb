"""The quorum alone under a seeded swarm of faults: the seeds of every run, and ways to break its disk that they must find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from minikafka.broker.raft.effects import ElectionState, Persist
from minikafka.broker.raft.messages import SnapshotId
from minikafka.proof.small_worlds.raft import world as raft_world
from minikafka.proof.small_worlds.raft.campaign import FAULTS, RaftRun, run_raft_seed
from minikafka.proof.small_worlds.raft.disk import RaftDisk
from minikafka.proof.swarm import coverage
from minikafka.proof.swarm.campaign import campaign, run_one

SEEDS = 300


@pytest.mark.proof
def test_seeds() -> None:
    """Fails when the quorum loses safety (the mutants below show how), or does not come to agree after healing; and
    when the faults are so tame that nothing could be seen."""
    fallen: list[str] = []
    found = campaign("raft", 0, SEEDS, show=lambda outcome: fallen.extend([outcome.line()] if outcome.violations else []))
    assert fallen == []
    assert found.seeds == SEEDS and found.lacking() == [], found.report()


def test_a_seed_is_a_run() -> None:
    """Fails when anything but the seed has a say: a clock, an address, the order of a set."""
    first, again = run_raft_seed(11), run_raft_seed(11)
    assert (first.coverage, first.time) == (again.coverage, again.time)
    assert run_raft_seed(12).coverage != first.coverage


def test_a_part_of_the_plan_can_be_run() -> None:
    """Fails when a fault's end, or its target, hangs on another fault of the plan."""
    whole = RaftRun(4).plan
    assert len(whole) > 5
    assert RaftRun(4, keep=[0, 3]).plan == [whole[0], whole[3]]
    assert not run_one("raft", 4, keep=[1, 2]).violations
    kinds = {fault.kind for fault in whole}
    assert kinds <= set(FAULTS) and {fault.kind for fault in RaftRun(4, faults=[whole[0].kind]).plan} == {whole[0].kind}


# --- ways to break it -----------------------------------------------------------------------------------------------


def forgets_its_election_state(patch: pytest.MonkeyPatch) -> None:
    """Rule 34: the vote is not on disk when the answer leaves. Here the oracle reads the disk, and sees it at once."""
    real = raft_world.RaftWorld._execute

    def execute(self: raft_world.RaftWorld, node: raft_world.RaftNode, effects: list[object], start: int) -> None:
        real(self, node, [effect for effect in effects if not isinstance(effect, Persist)], start)

    patch.setattr(raft_world.RaftWorld, "_execute", execute)


def replaces_the_election_state_in_place(patch: pytest.MonkeyPatch) -> None:
    """Rule 34: quorum-state is overwritten instead of renamed over; a torn one cannot be read."""
    def crash(self: RaftDisk, rng: Random, power: bool) -> dict[str, int]:
        assert self.election_state_temp is not None
        self.election_state_file = self.election_state_temp[: rng.randrange(len(self.election_state_temp))]
        self._step = 3
        return {}

    patch.setattr(RaftDisk, "_crash_in_election_state", crash)


def snapshots_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    """Rule 41: a snapshot of the whole log."""
    real = RaftDisk.make_snapshot

    def make(self: RaftDisk, end: int, keep: int) -> bool:
        return real(self, self.end_offset, keep)

    patch.setattr(RaftDisk, "make_snapshot", make)


def keeps_the_old_log_below_a_snapshot(patch: pytest.MonkeyPatch) -> None:
    """I-MLOG-3: a log that ends before its snapshot is not begun anew after a crash."""
    patch.setattr(RaftDisk, "recover", lambda self: None)


def flushes_nothing(patch: pytest.MonkeyPatch) -> None:
    """Rule 36: the flush does not reach the disk."""
    patch.setattr(RaftDisk, "flush", lambda self: len(self.entries))


BROKEN = [forgets_its_election_state, replaces_the_election_state_in_place, snapshots_what_is_not_committed,
          keeps_the_old_log_below_a_snapshot, flushes_nothing]


@pytest.mark.parametrize("mutant", BROKEN, ids=lambda mutant: mutant.__name__)
def test_mutant_is_found(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when the swarm or the oracle becomes too tame to find this way of breaking the quorum's disk. Broken rules of the
    core are rows of the table of weakened rules."""
    mutant(monkeypatch)
    assert any(run_one("raft", seed).violations for seed in range(60))


# --- the disk -------------------------------------------------------------------------------------------------------


def test_what_was_flushed_survives_any_crash() -> None:
    """I-RDISK-1. Fails when a power loss reaches below the last flush, or never loses what is above it."""
    lost = Counter()
    for seed in range(100):
        disk = RaftDisk()
        disk.append([(1, 0), (1, 1)])
        disk.flush()
        disk.append([(1, 2)])
        disk.append([(1, 3), (1, 4)])
        disk.crash(Random(seed), power=True)
        assert disk.entries[:2] == [(1, 0), (1, 1)] and disk.entries == [(1, n) for n in range(len(disk.entries))]
        lost[5 - len(disk.entries)] += 1
    assert set(lost) == {0, 1, 2, 3}


def test_a_crash_finds_the_old_election_state_or_the_new() -> None:
    """I-RDISK-2. Fails when the file can be read torn, or a crash always finds the same."""
    found = set()
    for seed in range(50):
        disk = RaftDisk()
        disk.write_election_state(ElectionState(1, 2, 3), (1, 2, 3))
        disk.election_state_written()
        disk.write_election_state(ElectionState(2, -1, 1), (1, 2, 3))
        disk.crash(Random(seed), power=True)
        found.add(disk.read_election_state())
    assert found == {ElectionState(1, 2, 3), ElectionState(2, -1, 1)}


def test_ends_of_epochs_above_a_snapshot() -> None:
    """Rule 20. Fails when the epoch of the snapshot, of which the log has no record, is forgotten."""
    disk = RaftDisk()
    disk.append([(1, 0), (1, 1), (3, 2), (3, 3), (5, 4)])
    assert [disk.end_offset_for(epoch) for epoch in (0, 1, 2, 3, 4, 5, 6)] == [
        (0, 0), (1, 2), (1, 2), (3, 4), (3, 4), (5, 5), (-1, -1)]  # fmt: skip
    assert disk.make_snapshot(3, keep=1) and not disk.make_snapshot(2, keep=1)
    assert (disk.start_offset, disk.oldest_snapshot) == (3, SnapshotId(3, 3))
    assert [disk.end_offset_for(epoch) for epoch in (1, 3, 4)] == [(1, 3), (3, 4), (3, 4)]


def test_a_tame_campaign_is_reported() -> None:
    """Fails when a campaign in which too little happened passes for a good one."""
    assert coverage.lacking("raft", Counter({"leader": 1}), seeds=10) == []
    assert any("truncations 0" in line for line in coverage.lacking("raft", Counter({"leader": 1}), seeds=100))
