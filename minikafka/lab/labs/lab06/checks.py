"""Checks of lab 6: the high watermark (6.2), where replicas go (6.6), is this record readable? (6.8)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints

Ends = dict[int, int]  # broker -> log end offset
Placement = list[list[int]]


# --- 6.2 ----------------------------------------------------------------------------------------------------------

hints("6.2", "Three replicas have 50, 48 and 47 records. Up to where do all agree? And if the third were out of sync?",
      "The high watermark is the smallest log end offset among the replicas in sync; a replica out of sync does not "
      "hold it back. It is an end: the first offset that may not be read yet.",
      "minikafka/broker/replication/replica.py, `_advance`: `min([end, *counted])`")


@checks("6.2", matters="The slowest replica in sync sets the pace of every consumer and of every acks=all producer.")
def high_watermark(answer: Callable[[Ends, list[int]], int]) -> str:
    """Check with the state of the experiment, one with a straggler outside the ISR, and random ones of one to five replicas."""
    for ends, isr in [({1: 50, 2: 48, 3: 47}, [1, 2, 3]), ({1: 50, 2: 48, 3: 12}, [1, 2]), ({1: 50, 2: 48, 3: 47}, [1]),
                      *_states(30)]:
        expected, said = min(ends[broker] for broker in isr), answer(dict(ends), list(isr))
        assert said is not None, "your function returned nothing; is there a `return`?"
        if said != expected:
            raise Wrong(f"log ends {ends}, in sync {isr}: you said {said}, the high watermark is {expected}",
                        excerpt=_lanes(ends, isr))
    return "right for 33 states, with replicas that lag inside the ISR and outside of it"


def _states(count: int) -> list[tuple[Ends, list[int]]]:
    rng, states = random.Random(61), []
    for _ in range(count):
        brokers = rng.sample(range(1, 9), rng.randint(1, 5))
        leader, newest = brokers[0], rng.randint(0, 100)
        ends = {broker: newest if broker == leader else rng.randint(max(0, newest - 20), newest) for broker in brokers}
        states.append((ends, [leader, *(b for b in brokers[1:] if rng.random() < 0.6)]))
    return states


def _lanes(ends: Ends, isr: Sequence[int]) -> list[str]:
    def has(end: int) -> str:
        return f"offsets 0 to {end - 1}" if end else "empty"
    return [f"broker {broker}: {has(end)}{'' if broker in isr else '   (not in sync)'}" for broker, end in ends.items()]


# --- 6.6 ----------------------------------------------------------------------------------------------------------

hints("6.6", "Partition 0 is [1, 2, 3] and partition 3 is led by broker 1 too. If broker 1 dies, who leads each of them?",
      "Leaders take turns: partition p is led by broker p modulo n. In every further round of n partitions, start counting the "
      "followers one place further; otherwise one broker inherits them all.",
      "minikafka/broker/controller/placement.py: rings of brokers, started one further each round, shuffled when all have led "
      "once")

SIZES = [(3, 6, 3), (3, 1, 3), (3, 12, 2), (4, 12, 3), (5, 20, 3), (5, 7, 2), (6, 30, 4), (4, 5, 1), (1, 3, 1)]


@checks("6.6", matters="A broker that dies hands its work to the others. One that gets all of it may be the next to die.")
def placement(answer: Callable[[list[int], int, int], Placement]) -> str:
    """Check with nine clusters, and one that is too small: the shape, the leaders, the copies, and which brokers lead
    after a death."""
    for size, partitions, copies in SIZES:
        brokers = list(range(1, size + 1))
        placed = answer(list(brokers), partitions, copies)
        assert placed is not None, "your function returned nothing; is there a `return`?"
        about = f"{partitions} partitions, {copies} copies, brokers 1 to {size}"
        try:
            _judge(brokers, partitions, copies, [list(replicas) for replicas in placed])
        except AssertionError as wrong:
            raise Wrong(f"{about}: {wrong}", excerpt=[f"partition {p}: {list(r)}" for p, r in enumerate(placed)][:12]) from None
    try:
        impossible = answer([1, 2], 3, 3)
    except ValueError:
        return f"{len(SIZES)} clusters: leaders even, copies even, and no survivor inherits more than its share"
    raise AssertionError(f"three copies on two brokers are impossible; you said {impossible}, raise ValueError instead")


def _judge(brokers: list[int], partitions: int, copies: int, placed: Placement) -> None:
    assert len(placed) == partitions, f"you placed {len(placed)} partitions"
    for number, replicas in enumerate(placed):
        assert len(replicas) == copies, f"partition {number} has {len(replicas)} replicas: {replicas}"
        assert len({*replicas}) == copies, f"partition {number} has two copies on one broker: {replicas}"
        assert {*replicas} <= {*brokers}, f"partition {number} is on a broker that is not there: {replicas}"
    _even(Counter(replicas[0] for replicas in placed), brokers, "as leaders")
    if partitions % len(brokers) == 0:
        _even(Counter(broker for replicas in placed for broker in replicas), brokers, "as copies")
    if copies > 1:
        for dead in brokers:
            heirs = Counter(replicas[1] for replicas in placed if replicas[0] == dead)
            _even(heirs, [b for b in brokers if b != dead], f"when broker {dead} has died and the next replica leads")


def _even(counts: Counter[int], brokers: list[int], what: str) -> None:
    shares = {broker: counts[broker] for broker in brokers}
    assert max(shares.values()) - min(shares.values()) <= 1, f"uneven {what}: {shares} (broker: partitions)"


# --- 6.8 ----------------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition at one moment. `leader` is None when nobody leads; `start` is the oldest offset that is kept."""

    leader: int | None
    isr: tuple[int, ...]
    start: int
    ends: Any  # broker -> log end offset

    @property
    def high_watermark(self) -> int:
        return min(self.ends[broker] for broker in self.isr)

    def why_not(self, n: int) -> str | None:
        """Return what keeps a consumer from reading record n; None if nothing does."""
        if self.leader is None:
            return "nobody leads this partition"
        if n < self.start:
            return f"it was deleted: the log starts at {self.start}"
        if n >= self.ends[self.leader]:
            return f"it is not written yet: the leader's log ends at {self.ends[self.leader]}"
        if n >= self.high_watermark:
            slow = min(self.isr, key=lambda broker: self.ends[broker])
            return f"the high watermark is {self.high_watermark}: broker {slow}, in sync, has no more than that"
        return None


hints("6.8", "Which of four reasons may apply: no leader, deleted, not written yet, not yet on every replica in sync?",
      "A consumer asks the leader, and gets the offsets from the log start up to, not including, the high watermark.",
      "minikafka/broker/replication/api/fetch.py: what a fetch by a consumer may see; minikafka/broker/replication/replica.py "
      "for the high watermark itself")


@checks("6.8", matters="\"My consumer is stuck\" has four different causes here, and only one of them is the consumer.")
def readable(answer: Callable[[int, PartitionState], bool]) -> str:
    """Check with twenty random states; in each with the offsets around every border."""
    asked = 0
    for state in states():
        borders = {state.start, state.high_watermark, *state.ends.values()}
        for n in sorted({offset + d for offset in borders for d in (-1, 0, 1) if offset + d >= 0}):
            said, reason = answer(n, state), state.why_not(n)
            assert said is not None, "your function returned nothing; is there a `return`?"
            if bool(said) != (reason is None):
                because = "nothing is in its way" if reason is None else reason
                raise Wrong(f"record {n}: you said {bool(said)}, but {because}",
                            excerpt=[f"leader {state.leader}, in sync {list(state.isr)}, log start {state.start}",
                                     *_lanes(dict(state.ends), state.isr)])
            asked += 1
    return f"right for {asked} records in 20 states"


def states(seed: int = 63) -> list[PartitionState]:
    """Return the twenty states that the check asks about; four of them are without a leader."""
    rng, found = random.Random(seed), []
    for number in range(20):
        start, newest = rng.randint(0, 30), rng.randint(50, 90)
        ends = {1: newest, 2: rng.randint(35, newest), 3: rng.randint(35, newest)}
        followers = [broker for broker in (2, 3) if rng.random() < 0.7]
        found.append(PartitionState(None if number % 5 == 4 else 1, (1, *followers), start, ends))
    return found
