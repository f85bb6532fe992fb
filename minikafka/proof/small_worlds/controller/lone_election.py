"""Elections of partitions in any allowed state, also in states that hardly any history reaches.

    elections_alone(seed)      () if each election kept the rules, else what fell

leader_election.py asserts who may be elected (I-ELECT-1 to 4, I-ELR-1, I-ELR-2, I-MOVE-1), and the partition what it may be
(I-PART-1 to 3). So nothing is judged here a second time.

Owns: the states, the circumstances and the targets of elections.
"""

from __future__ import annotations

from random import Random
from uuid import UUID

from minikafka.broker.controller.leader_election import Election, Rules, Target, change
from minikafka.broker.controller.reassignment_steps import Replicas, reverted, towards
from minikafka.broker.metadata.image import PartitionRegistration
from minikafka.broker.metadata.records import NO_LEADER
from minikafka.proof.small_worlds.checks import fallen, that
from minikafka.protocol.errors import KafkaError

BROKERS = (1, 2, 3, 4, 5)
ELECTIONS = 100


def elections_alone(seed: int) -> tuple[str, ...]:
    """Run one seed."""
    rng = Random(f"{seed}:elections")
    return fallen(lambda: [elect(rng) for _ in range(ELECTIONS)])


def elect(rng: Random) -> None:
    """Hold one election. Raises AssertionError."""
    live = {*some(rng, BROKERS)}
    rules = Rules(live.__contains__, rng.choice((1, 2, 3)), elr=rng.random() < 0.8)
    before = partition(rng, rules, live)
    before.check()
    try:
        target = rng.choice((leave, propose, move, cancel))(rng, before, live)
    except KafkaError:
        return that("I-MOVE-2", {*before.replicas} <= {*before.adding}, f"a cancel is refused: {before}")
    record = change(before, rules, rng.choice([*Election]), target)
    if record is not None:
        before.merge(record).check()


def some(rng: Random, of: Replicas) -> Replicas:
    """Return some of these, perhaps all or none, in any order."""
    return tuple(rng.sample(of, rng.randint(0, len(of))))


def partition(rng: Random, rules: Rules, live: set[int]) -> PartitionRegistration:
    """Return a partition: with a leader and an ISR of live brokers; or without a leader and, where replicas can be eligible,
    with an empty ISR."""
    replicas = tuple(rng.sample(BROKERS, rng.choice((1, 2, 3, 3, 4))))
    isr = some(rng, tuple(r for r in replicas if r in live))
    leader = rng.choice((*isr, NO_LEADER))
    if leader == NO_LEADER:
        isr = () if rules.elr else replicas[:1]
    elr = some(rng, tuple(r for r in replicas if r not in isr)) if rules.elr and len(isr) < rules.min_isr else ()
    known = some(rng, BROKERS)[:2] if rules.elr and leader == NO_LEADER else ()
    adding, removing = (some(rng, replicas), some(rng, replicas)) if rng.random() < 0.4 else ((), ())
    return PartitionRegistration("t", UUID(int=1), 0, replicas, isr, leader, 7, 9, rng.random() < 0.3, elr, known, adding,
                                 tuple(r for r in removing if r not in adding))


# --- targets --------------------------------------------------------------------------------------------------------------


def leave(rng: Random, before: PartitionRegistration, live: set[int]) -> Target:
    """Take a broker out of the ISR, perhaps because it came back without its data."""
    gone = rng.choice(BROKERS)
    live.discard(gone)
    return Target(tuple(r for r in before.isr if r != gone), unclean_shutdown=rng.choice((None, gone)))


def propose(rng: Random, before: PartitionRegistration, live: set[int]) -> Target | None:
    """Make an ISR of the leader and any other live replicas, as a leader does; a partition without one is left as it is."""
    if before.leader == NO_LEADER:
        return None
    others = some(rng, tuple(r for r in before.replicas if r != before.leader and r in live))
    return Target((before.leader, *others), recovering=rng.choice((None, False)))


def move(rng: Random, before: PartitionRegistration, live: set[int]) -> Target:
    return Target(assignment=towards(before, tuple(rng.sample(BROKERS, rng.choice((1, 2, 3))))))


def cancel(rng: Random, before: PartitionRegistration, live: set[int]) -> Target:
    assignment, isr, _ = reverted(before)
    return Target(isr, assignment)
