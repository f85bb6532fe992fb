"""Random schedules over three and five cores: messages lost and reordered, processes that lose what was not flushed.

After every step the invariants of the quorum are checked against an oracle that sees all nodes and their disks; at the
end the network heals and the quorum must agree. Each mutant at the end is a way to break Raft that these schedules must
find.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from minikafka.broker.raft import election as raft_election
from minikafka.broker.raft import replication as raft_replication
from minikafka.broker.raft import roles as raft_roles
from minikafka.broker.raft.effects import ElectionState, InvariantViolation, Persist
from tests.broker.raft.raft_world import Entry, Node, World, decode

STEPS = 400


class Oracle:
    """What must hold whatever happens."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.leaders: dict[int, int] = {}  # epoch -> who led it
        self.election_states: dict[int, ElectionState] = {}
        self.watermarks: dict[int, tuple[int, int]] = {}  # node -> (life, high watermark)
        self.committed: list[Entry] = []
        world.on_commit = self._high_watermark  # at once: a crash may come before the step is over

    def check(self) -> None:
        for node in self.world.nodes.values():
            self._one_leader_per_epoch(node)
            self._election_state_is_kept(node)
            self._high_watermark(node)
            self._snapshots_are_committed(node)
        self._log_matching()

    def _one_leader_per_epoch(self, node: Node) -> None:
        if node.core is not None and node.core.epoch_start_offset is not None:
            first = self.leaders.setdefault(node.core.epoch, node.id)
            assert first == node.id, f"two leaders in epoch {node.core.epoch}"
            if node.core.epoch == max(self.leaders):
                assert node.log.entries[: len(self.committed)] == self.committed, "a leader without what was committed"

    def _election_state_is_kept(self, node: Node) -> None:
        before, now = self.election_states.get(node.id, ElectionState()), node.election_state
        assert now.epoch >= before.epoch, "the epoch on disk went back"
        if now.epoch == before.epoch and before.voted >= 0:
            assert now.voted == before.voted, f"node {node.id} voted twice in epoch {now.epoch}"
        self.election_states[node.id] = now

    def _high_watermark(self, node: Node) -> None:
        life, before = self.watermarks.get(node.id, (0, 0))
        assert life != node.life or node.high_watermark >= before, "I-RAFT-6: the high watermark went back"
        self.watermarks[node.id] = (node.life, node.high_watermark)
        known = node.log.entries[: node.high_watermark] if node.core is not None else []
        common = min(len(known), len(self.committed))
        assert known[:common] == self.committed[:common], "a committed record was lost"
        if len(known) > len(self.committed):
            self.committed = known
            holders = sum(self.world.nodes[v].log.disk[: len(known)] == known for v in self.world.voters)
            assert holders > len(self.world.voters) // 2, "I-RAFT-2: committed without a majority of disks"

    def _snapshots_are_committed(self, node: Node) -> None:
        for id, data in node.log.snapshots.items():
            assert decode(data) == self.committed[: id.end_offset], "rule 41: a snapshot of what is not committed"
        assert node.log.start_offset <= node.log.end_offset, "I-RAFT-11: the log ends before its oldest snapshot"

    def _log_matching(self) -> None:
        logs = [node.log.entries for node in self.world.nodes.values()]
        for i, one in enumerate(logs):
            for other in logs[:i]:
                equal = next((n for n in range(min(len(one), len(other)), 0, -1)
                              if one[n - 1].epoch == other[n - 1].epoch), 0)
                assert one[:equal] == other[:equal], "logs differ below a record of the same epoch"


def draw_weights(rng: Random) -> dict[Callable[[World, Random], None], float]:
    """How often each thing happens, drawn anew for each seed: calm schedules find other faults than wild ones."""
    return {deliver: 60, lose: rng.choice((0, 3, 10)), let_time_pass: rng.choice((4, 15)), append: rng.choice((3, 10)),
            cut_or_heal: rng.choice((0, 4)), snapshot: rng.choice((0, 2, 8)), crash_or_start: rng.choice((1, 4, 12)),
            stand: rng.choice((0, 5, 20))}


def deliver(world: World, rng: Random) -> None:
    links = world.deliverable()
    for link in rng.sample(links, min(len(links), len(world.nodes) // 2)):
        reordered = rng.random() < 0.2
        if world.links[link]:
            world.deliver(*link, rng.randrange(len(world.links[link])) if reordered else 0)


def lose(world: World, rng: Random) -> None:
    if links := world.deliverable():
        world.drop(*rng.choice(links))


def let_time_pass(world: World, rng: Random) -> None:
    world.advance(rng.choice((0.01, 0.05, 0.1, 0.5)))


def append(world: World, rng: Random) -> None:
    for leader in world.leaders():
        world.append(leader, rng.randint(1, 3))


def snapshot(world: World, rng: Random) -> None:
    world.keep_snapshots = rng.choice((1, 1, 2))
    world.snapshot(rng.choice(sorted(world.nodes)))


def stand(world: World, rng: Random) -> None:
    """Time is up for one voter. Safety must not rest on pre-votes, so it may get them though it should not."""
    voter = rng.choice(world.voters)
    world.expire(voter)
    if rng.random() < 0.5:
        world.win_pre_vote(voter)


def cut_or_heal(world: World, rng: Random) -> None:
    if world.down and rng.random() < 0.6:
        world.down.clear()
    else:
        world.down.add(tuple(rng.sample(sorted(world.nodes), 2)))


def crash_or_start(world: World, rng: Random) -> None:
    down = [node.id for node in world.nodes.values() if node.core is None]
    if down and rng.random() < 0.8:
        world.start(rng.choice(down))
    elif rng.random() < 0.5:
        world.crash_at[rng.choice(sorted(world.nodes))] = rng.randint(0, 4)  # between two effects
    else:
        world.crash(rng.choice([node.id for node in world.up()] or [1]))


def run_schedule(voters: int, seed: int, steps: int = STEPS) -> World:
    """One schedule; raises AssertionError at the first step that breaks an invariant."""
    rng = Random(f"schedule {voters} {seed}")
    world = World(tuple(range(1, voters + 1)), observers=(voters + 1,), seed=seed)
    world.max_records, world.max_bytes = rng.randint(1, 3), rng.randint(1, 20)
    weights = draw_weights(rng)
    oracle = Oracle(world)
    world.start(*world.nodes)
    for _ in range(steps):
        rng.choices(list(weights), list(weights.values()))[0](world, rng)
        oracle.check()
    world.down.clear()
    world.crash_at.clear()
    world.start(*[node.id for node in world.nodes.values() if node.core is None])
    world.run(15.0)
    oracle.check()
    return world


@pytest.mark.parametrize("voters", [3, 5])
@pytest.mark.parametrize("block", range(5))
def test_random_schedules(voters: int, block: int) -> None:
    """Fails when safety is lost, see the mutants below, or when a healed quorum does not come to agree on one log."""
    for seed in range(block * 8, block * 8 + 8):
        world = run_schedule(voters, seed)
        assert len(world.leaders()) == 1, f"seed {seed}: no single leader after the network healed"
        logs = {tuple(node.log.entries) for node in world.nodes.values()}
        assert len(logs) == 1, f"seed {seed}: the logs differ after the network healed"
        ends = {(node.high_watermark, node.log.end_offset) for node in world.nodes.values()}
        assert len(ends) == 1 and len(set(*ends)) == 1, f"seed {seed}: not all is committed"


def test_same_seed_same_history() -> None:
    """Fails when the core draws on anything but its arguments (set order, hash(), a clock)."""
    assert run_schedule(3, 7).lines == run_schedule(3, 7).lines
    assert run_schedule(3, 7).lines != run_schedule(3, 8).lines


# --- mutants: each breaks one rule, and some schedule must show it ------------------------------------------------


def forgets_its_election_state(patch: pytest.MonkeyPatch) -> None:
    """Rule 34: the vote is not on disk before the answer leaves."""
    real = World._do

    def do(self: World, node: Node, effect: object) -> None:
        if not isinstance(effect, Persist):
            real(self, node, effect)

    patch.setattr(World, "_do", do)
    # The oracle reads the election states on disk too, so what it must find is the second leader, not the vote.


def votes_for_anybody(patch: pytest.MonkeyPatch) -> None:
    """Rule 35: votes without looking at the candidate's log."""
    def may_vote(self: raft_election.Elections, vote: object) -> bool:
        return isinstance(self.role, raft_roles.Unattached) and self.election_state.voted in (-1, vote.candidate)

    patch.setattr(raft_election.Elections, "_may_vote_for", may_vote)


def votes_twice(patch: pytest.MonkeyPatch) -> None:
    """Rule 35: a second vote in the same epoch."""
    def may_vote(self: raft_election.Elections, vote: object) -> bool:
        own = (self.log.last_epoch, self.log.end_offset)
        return isinstance(self.role, raft_roles.Unattached) and (vote.last_epoch, vote.last_offset) >= own

    patch.setattr(raft_election.Elections, "_may_vote_for", may_vote)


def fetches_before_flushing(patch: pytest.MonkeyPatch) -> None:
    """Rule 36: a fetch at an offset that is not on disk yet (the flush is lost with the power)."""
    real = raft_replication.Replication._on_fetch_answer

    def on_answer(self: raft_replication.Replication, answer: object, now: float) -> None:
        real(self, answer, now)
        if answer.records:
            self._effects = [effect for effect in self._effects if type(effect).__name__ != "Flush"]
            self._flushing, self._flushed = False, 1 << 60

    patch.setattr(raft_replication.Replication, "_on_fetch_answer", on_answer)


def counts_itself_at_once(patch: pytest.MonkeyPatch) -> None:
    """Rule 36 for the leader: its own records count before its flush is done."""
    real = raft_replication.Replication._answer_waiting

    def answer(self: raft_replication.Replication, now: float) -> None:
        self.role.acknowledged[self.node_id] = self.log.end_offset
        committed = self.role.committed_offset()
        if committed is not None:
            self._set_high_watermark(committed)
        real(self, now)

    patch.setattr(raft_replication.Replication, "_answer_waiting", answer)


def commits_older_epochs(patch: pytest.MonkeyPatch) -> None:
    """Rule 37: counts replicas of records of older epochs (figure 8)."""
    def committed(self: raft_roles.Leader) -> int:
        return sorted((self.acknowledged.get(v, 0) for v in self.voters), reverse=True)[self.majority - 1]

    patch.setattr(raft_roles.Leader, "committed_offset", committed)


def needs_no_majority(patch: pytest.MonkeyPatch) -> None:
    """Rule 37: half of the voters is taken for a majority."""
    patch.setattr(raft_roles.Leader, "majority", property(lambda self: len(self.voters) // 2))


MUTANTS = [forgets_its_election_state, votes_for_anybody, votes_twice, fetches_before_flushing, counts_itself_at_once,
           commits_older_epochs, needs_no_majority]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutant_is_found(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when the schedules or the oracle become too tame to find this way of breaking Raft."""
    mutant(monkeypatch)
    with pytest.raises((AssertionError, InvariantViolation)):
        for seed in range(600):
            run_schedule((3, 1, 5)[seed % 3], seed)
