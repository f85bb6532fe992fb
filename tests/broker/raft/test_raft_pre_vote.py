"""Pre-vote (KIP-996, rule 39) under random schedules: who is cut off disturbs nobody, and nobody is stuck in asking.

Two kinds of schedules. In the calm ones a majority with a leader is well connected, and anything may happen to the
others: the leader and its epoch must stay. In the wild ones anything happens to anybody, then a majority is healed, and
it must have a leader, with nobody still Prospective (EventuallyLeaderElected, NotStuckInProspective of the KIP's TLA+
model). Safety is test_raft_random.py's; it does not rest on pre-votes. Each mutant is a way to break the rule that the
schedules must find.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.election import Elections
from minikafka.broker.raft.messages import Vote
from minikafka.broker.raft.roles import Follower, Leader, Prospective
from tests.broker.raft.raft_world import World
from tests.broker.raft.test_raft_random import append, crash_or_start, cut_or_heal, deliver, let_time_pass, lose, stand

SETTLED = (Follower, Leader)


def run_calm_schedule(voters: int, seed: int, steps: int = 40) -> None:
    """A minority is cut off, crashed and woken at random; AssertionError if the majority's leader or epoch changes."""
    rng = Random(f"calm {voters} {seed}")
    world = World(tuple(range(1, voters + 1)), seed=seed)
    world.start(*world.nodes)
    world.run(5.0)
    (leader,) = world.leaders()
    epoch = world.core(leader).epoch
    others = [voter for voter in world.voters if voter != leader]
    minority = rng.sample(others, rng.randint(1, voters // 2))
    for _ in range(steps):
        disturb(world, rng, rng.choice(minority), leader)
        world.run(rng.choice((0.02, 0.2, 1.0)))
        assert (world.leaders(), world.core(leader).epoch) == ([leader], epoch), "the majority was disrupted"
    world.down.clear()
    world.start(*[node.id for node in world.nodes.values() if node.core is None])
    world.run(5.0)
    assert (world.leaders(), world.core(leader).epoch) == ([leader], epoch), "the leader was disrupted by who came back"
    assert all(isinstance(world.core(voter).role, SETTLED) for voter in world.voters), "somebody did not find back"


def disturb(world: World, rng: Random, victim: int, leader: int) -> None:
    """One thing that happens to a node of the minority, or a write of the leader."""
    other = rng.choice([voter for voter in world.voters if voter != victim])
    what = rng.choice(("cut", "cut", "one way", "heal", "expire", "expire", "crash", "append", "lose"))
    if what == "cut":
        world.down |= {(victim, other), (other, victim)}
    elif what == "one way":
        world.down.add(rng.choice([(victim, other), (other, victim)]))
    elif what == "heal":
        world.down = {link for link in world.down if victim not in link}
    elif what == "expire":
        world.expire(victim)
    elif what == "crash":
        world.start(victim) if world.nodes[victim].core is None else world.crash(victim)
    elif what == "append":
        world.append(leader)
    else:
        for link in [link for link, queue in world.links.items() if queue and victim in link]:
            world.drop(*link)


def run_wild_schedule(voters: int, seed: int, steps: int = 150) -> None:
    """Anything to anybody, then a majority is healed: AssertionError if it does not come to have a leader."""
    rng = Random(f"wild {voters} {seed}")
    world = World(tuple(range(1, voters + 1)), seed=seed)
    things = [deliver] * 8 + [let_time_pass] * 3 + [append, lose, cut_or_heal, crash_or_start, stand]
    world.start(*world.nodes)
    for _ in range(steps):
        rng.choice(things)(world, rng)
    world.down.clear()
    world.crash_at.clear()
    majority = rng.sample(world.voters, voters // 2 + 1)
    for node in world.nodes.values():
        if node.id not in majority and node.core is not None:
            world.crash(node.id)
    world.start(*[voter for voter in majority if world.nodes[voter].core is None])
    world.run(20.0)
    assert len(world.leaders()) == 1, "no leader although a majority is connected"
    stuck = [voter for voter in majority if not isinstance(world.core(voter).role, SETTLED)]
    assert not stuck, f"{stuck} neither lead nor follow"


@pytest.mark.parametrize("voters", [3, 5])
def test_who_is_cut_off_disrupts_nobody(voters: int) -> None:
    """Fails when a node that lost its leader, or comes back, can depose a leader that a majority follows."""
    for seed in range(30):
        run_calm_schedule(voters, seed)


@pytest.mark.parametrize("voters", [3, 5])
def test_a_majority_always_comes_to_have_a_leader(voters: int) -> None:
    """Fails when nodes can refuse each other their pre-votes for ever."""
    for seed in range(40):
        run_wild_schedule(voters, seed)


# --- mutants ------------------------------------------------------------------------------------------------------


def stands_without_asking(patch: pytest.MonkeyPatch) -> None:
    """No pre-vote at all, as before KIP-996."""
    patch.setattr(Elections, "_become_prospective", lambda self, now, attempt: self._become_candidate(now, attempt))


def raises_the_epoch_to_ask(patch: pytest.MonkeyPatch) -> None:
    """A Prospective is already in the next epoch."""
    real = Elections._become_prospective

    def become(self: Elections, now: float, attempt: int) -> None:
        self._vote_or_follow(ElectionState(self.epoch + 1))
        real(self, now, attempt)

    patch.setattr(Elections, "_become_prospective", become)


def leaders_give_it(patch: pytest.MonkeyPatch) -> None:
    """A leader gives its pre-vote: with the asking node's own that is a majority of three."""
    real = Elections._would_vote_for
    patch.setattr(Elections, "_would_vote_for", lambda self, vote: real(self, vote) or (
        isinstance(self.role, Leader) and self._is_up_to_date(vote)))


def followers_give_it(patch: pytest.MonkeyPatch) -> None:
    """A follower gives its pre-vote although it hears from its leader."""
    real = Elections._would_vote_for
    patch.setattr(Elections, "_would_vote_for", lambda self, vote: real(self, vote) or (
        isinstance(self.role, Follower) and self._is_up_to_date(vote)))


def prospectives_refuse(patch: pytest.MonkeyPatch) -> None:
    """Two that ask each other refuse each other."""
    real = Elections._would_vote_for
    patch.setattr(Elections, "_would_vote_for",
                  lambda self, vote: not isinstance(self.role, Prospective) and real(self, vote))


def heeds_the_vote_of_this_epoch(patch: pytest.MonkeyPatch) -> None:
    """Who voted in this epoch gives no pre-vote to others, though the candidate may be dead."""
    real = Elections._would_vote_for

    def would(self: Elections, vote: Vote) -> bool:
        return self.election_state.voted in (-1, vote.candidate) and real(self, vote)

    patch.setattr(Elections, "_would_vote_for", would)


MUTANTS = [stands_without_asking, raises_the_epoch_to_ask, leaders_give_it, followers_give_it, prospectives_refuse,
           heeds_the_vote_of_this_epoch]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_mutant_is_found(mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails when the schedules become too tame to find this way of breaking rule 39."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(60):
            run_calm_schedule((3, 5)[seed % 2], seed)
            run_wild_schedule((3, 5)[seed % 2], seed)
