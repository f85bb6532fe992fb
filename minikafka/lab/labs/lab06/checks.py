"""Checks of lab 6: the high watermark (6.2), where replicas go (6.4), is this record readable? (6.6), which broker may be stopped
now? (6.7), a night that breaks a rule (6.8)."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from minikafka.lab.exercise import Wrong, checks, hints
from minikafka.lab.inside.breaking import judged
from minikafka.lab.inside.goals import GOALS
from minikafka.lab.labs.lab06.experiment import rolling
from minikafka.lab.picture.sentences.phrases import counted
from minikafka.lab.values import shown

Ends = dict[int, int]  # broker -> log end offset
Placement = list[list[int]]


# --- 6.2 ----------------------------------------------------------------------------------------------------------

hints("6.2", "Three replicas have 50, 48 and 47 records. Up to where do all agree? And if the third were out of sync?",
      "The high watermark is the smallest log end offset among the replicas in sync; a replica out of sync does not "
      "hold it back. It is an end: the first offset that may not be read yet.",
      "minikafka/broker/replication/replica.py, `_advance`: `min([end, *counted])`")


@checks("6.2", matters="The slowest replica in sync sets the pace of every consumer and of every acks=all producer.")
def high_watermark(answer: Callable[[Ends, list[int]], int]) -> str:
    """Check with the state of the experiment, with a straggler outside the ISR, with an empty log, and with random states of one
    to five replicas: first whether the answer promises too much, then whether it holds records back."""
    cases = [({1: 50, 2: 48, 3: 47}, [1, 2, 3]), ({1: 50, 2: 48, 3: 12}, [1, 2]), ({1: 50, 2: 48, 3: 47}, [1]),
             ({1: 5, 2: 0}, [1, 2]), *_states(30)]
    answers = [answer(dict(ends), list(isr)) for ends, isr in cases]
    for rule in (_not_everywhere, _held_back):
        for said, (ends, isr) in zip(answers, cases):
            if told := rule(said, ends, isr):
                raise Wrong(f"log ends {ends}, in sync {isr}: you said {said}; {told}", excerpt=_lanes(ends, isr))
    return f"right for {len(cases)} states, with replicas that lag inside the ISR and outside of it"


def _not_everywhere(said: int, ends: Ends, isr: list[int]) -> str:
    lacks = [broker for broker in isr if ends[broker] < said]
    return f"broker {lacks[0]} is in sync, and its log ends at {ends[lacks[0]]}" if lacks else ""


def _held_back(said: int, ends: Ends, isr: list[int]) -> str:
    if any(ends[broker] == said for broker in isr):
        return ""
    return f"every replica in sync has record {said}, so the line stands further right" + _out(ends, isr)


def _out(ends: Ends, isr: Sequence[int]) -> str:
    out = [f"; broker {broker} is out of sync and holds nobody back" for broker in ends if broker not in isr]
    return out[0] if out else ""


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


# --- 6.4 ----------------------------------------------------------------------------------------------------------

hints("6.4", "Partition 0 is [1, 2, 3] and partition 3 is led by broker 1 too. If broker 1 dies, who leads each of them?",
      "Leaders take turns: partition p is led by broker p modulo n. In every further round of n partitions, start counting the "
      "followers one place further; otherwise one broker inherits them all.",
      "minikafka/broker/controller/placement.py: rings of brokers, started one further each round, shuffled when all have led "
      "once")

SIZES = [(3, 6, 3), (3, 1, 3), (3, 12, 2), (4, 12, 3), (5, 20, 3), (5, 7, 2), (6, 30, 4), (4, 5, 1), (1, 3, 1)]


@checks("6.4", matters="A broker that dies hands its work to the others. One that gets all of it may be the next to die.")
def placement(answer: Callable[[list[int], int, int], Placement]) -> str:
    """Check with nine clusters, and one that is too small; in the first the brokers are 1 to 3, in the others they begin at
    another number. One rule after the other: the shape, what is impossible, the leaders, the copies, who leads after a death."""
    clusters = [(list(range(1 + place, 1 + place + size)), partitions, copies)
                for place, (size, partitions, copies) in enumerate(SIZES)]
    placed = [_rows(answer(list(brokers), partitions, copies)) for brokers, partitions, copies in clusters]
    _all_rules([_shape], clusters, placed)
    _refuses(answer)
    _all_rules([_leaders, _copies, _heirs], clusters, placed)
    return f"{len(SIZES)} clusters: leaders even, copies even, and no survivor inherits more than its share"


def _all_rules(rules: list[Callable[..., None]], clusters: list[tuple[list[int], int, int]], placed: list[Placement]) -> None:
    for rule in rules:
        for rows, (brokers, partitions, copies) in zip(placed, clusters):
            try:
                rule(brokers, partitions, copies, rows)
            except AssertionError as wrong:
                about = f"{counted(partitions, 'partition')}, {copies} copies, brokers {brokers[0]} to {brokers[-1]}"
                raise Wrong(f"{about}: {wrong}", [f"partition {p}: {row}" for p, row in enumerate(rows)][:12]) from None


def _rows(placed: Any) -> Placement:
    """Return the lists of brokers; Wrong where there is something else."""
    placed = list(placed)
    if strange := [row for row in placed if not isinstance(row, Iterable) or isinstance(row, (str, Mapping))]:
        raise Wrong(f"for a partition you return {shown(strange[0])}; a list of brokers is wanted for each")
    return [list(row) for row in placed]


def _refuses(answer: Callable[[list[int], int, int], Placement]) -> None:
    try:
        said = f"you returned {_rows(answer([1, 2], 3, 3))}"
    except ValueError:
        return
    except AssertionError:  # of the student, or because it is no list that was returned
        said = "your function did not"
    except Exception as error:
        said = f"your code raised {type(error).__name__}"
    raise AssertionError(f"three copies on two brokers cannot be done: raise ValueError ({said})")


def _shape(brokers: list[int], partitions: int, copies: int, placed: Placement) -> None:
    assert len(placed) == partitions, f"you placed {counted(len(placed), 'partition')}"
    for number, replicas in enumerate(placed):
        assert len(replicas) == copies, f"partition {number} has {len(replicas)} copies: {replicas}"
        assert {*replicas} <= {*brokers}, f"partition {number} is on a broker that is not there: {replicas}"
        assert len({*replicas}) == copies, f"partition {number} has two copies on one broker: {replicas}"


def _leaders(brokers: list[int], partitions: int, copies: int, placed: Placement) -> None:
    _even(Counter(replicas[0] for replicas in placed), brokers, "as leaders")


def _copies(brokers: list[int], partitions: int, copies: int, placed: Placement) -> None:
    if partitions % len(brokers) == 0:
        _even(Counter(broker for replicas in placed for broker in replicas), brokers, "as copies")


def _heirs(brokers: list[int], partitions: int, copies: int, placed: Placement) -> None:
    for dead in brokers if copies > 1 else ():
        heirs = Counter(replicas[1] for replicas in placed if replicas[0] == dead)
        _even(heirs, [b for b in brokers if b != dead], f"when broker {dead} has died: the survivors inherit")


def _even(counts: Counter[int], brokers: list[int], what: str) -> None:
    shares = {broker: counts[broker] for broker in brokers}
    assert max(shares.values()) - min(shares.values()) <= 1, f"uneven {what} {shares} (broker: partitions)"


# --- 6.6 ----------------------------------------------------------------------------------------------------------

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


hints("6.6", "Which of four reasons may apply: no leader, deleted, not written yet, not yet on every replica in sync?",
      "A consumer asks the leader, and gets the offsets from the log start up to, not including, the high watermark.",
      "minikafka/broker/replication/api/fetch.py: what a fetch by a consumer may see; minikafka/broker/replication/replica.py "
      "for the high watermark itself")


@checks("6.6", matters="\"My consumer is stuck\" has four different causes here, and none of them is the consumer.",
        wants="True or False")
def readable(answer: Callable[[int, PartitionState], Any]) -> str:
    """Check with twenty random states; in each with the offsets around every border. First whether the answer promises a record
    that cannot be read, then whether it denies one that can."""
    cases = []
    for state in states():
        borders = {state.start, state.high_watermark, *state.ends.values()}
        cases += [(n, state) for n in sorted({offset + d for offset in borders for d in (-1, 0, 1) if offset + d >= 0})]
    answers = [answer(n, replace(state, ends=dict(state.ends))) for n, state in cases]
    if strange := [said for said in answers if said not in (True, False, None)]:
        raise Wrong(f"you said {shown(strange[0])}; True or False is wanted")
    for can in (False, True):
        for said, (n, state) in zip(answers, cases):
            reason = state.why_not(n)
            if bool(said) != can and (reason is None) == can:
                reason = reason or "it can be read: every replica in sync has it" + _out(state.ends, state.isr)
                raise Wrong(f"record {n}: you said {said}, but {reason}",
                            excerpt=[f"leader {state.leader}, in sync {list(state.isr)}, log start {state.start}",
                                     *_lanes(dict(state.ends), state.isr)])
    return f"right for {len(cases)} records in 20 states"


def states() -> list[PartitionState]:
    """Return the twenty states that the check asks about; four of them are without a leader."""
    rng, found = random.Random(63), []
    for number in range(20):
        start, newest = rng.randint(0, 30), rng.randint(50, 90)
        ends = {1: newest, 2: rng.randint(35, newest), 3: rng.randint(35, newest)}
        followers = [broker for broker in (2, 3) if rng.random() < 0.7]
        found.append(PartitionState(None if number % 5 == 4 else 1, (1, *followers), start, ends))
    return found


# --- 6.7 ----------------------------------------------------------------------------------------------------------

hints("6.7", "All processes are up. Which table tells you whether the broker that was restarted last has everything again?",
      "Take a broker out of each partition's list in your head. If a list is then shorter than `least`, producers with acks=all "
      "get NOT_ENOUGH_REPLICAS until it grows again.",
      "minikafka/broker/replication/replica.py: `effective_min_insync`")


@checks("6.7", matters="A rolling restart that looks at processes, not at the ISR, is the usual way to stop a healthy cluster.")
def next_to_stop(answer: Callable[[list[int], dict[int, list[int]], int], int | None]) -> str:
    """Check with states of one to four partitions: first whether a broker is stopped that is needed, then whether the rule waits
    though one may go. Then restart a cluster by the rule."""
    cases = [([1, 2, 3], {0: [1, 2, 3]}, 2), ([2, 3], {0: [2, 3]}, 2), ([2, 3], {0: [2, 3, 1], 1: [3, 2]}, 2), *_nights(40)]
    answers = [answer(list(left), {p: list(isr) for p, isr in every.items()}, least) for left, every, least in cases]
    for said, (left, every, least) in zip(answers, cases):
        if said is not None and (told := _needed(said, left, every, least)):
            raise Wrong(f"left {left}, in sync {every}, least {least}: you said {shown(said)}; {told}")
    for said, (left, every, least) in zip(answers, cases):
        free = [broker for broker in left if not _needed(broker, left, every, least)]
        if said is None and free:
            raise Wrong(f"left {left}, in sync {every}, least {least}: you said None, but broker {free[0]} may be stopped")
    return rolling(answer)


def _needed(broker: Any, left: list[int], every: dict[int, list[int]], least: int) -> str:
    """Return why a broker may not be stopped now; "" if it may."""
    if broker not in left:
        return "a broker of `left`, or None, is wanted"
    for partition, isr in every.items():
        if len(rest := [other for other in isr if other != broker]) < least:
            return f"without broker {broker}, partition {partition} has {len(rest)} in sync: {rest}"
    return ""


def _nights(count: int) -> list[tuple[list[int], dict[int, list[int]], int]]:
    rng, nights = random.Random(67), []
    for _ in range(count):
        brokers = rng.sample(range(1, 9), rng.randint(2, 5))
        every = {p: rng.sample(brokers, rng.randint(1, len(brokers))) for p in range(rng.randint(1, 4))}
        nights.append((sorted(rng.sample(brokers, rng.randint(1, len(brokers)))), every, rng.randint(1, 2)))
    return nights


# --- 6.8 ----------------------------------------------------------------------------------------------------------

hints("6.8", "By this rule a record is acknowledged that one of the three does not have. Which of them may that be?",
      "Any member of the ISR may lead. If the leader dies, the first one in the list [1, 2, 3] leads that lives and is in sync: "
      "it must be the one that misses the record.",
      "minikafka/lab/inside/high_watermark.py: `the_slow_one` is such a night, for another rule")


@checks("6.8", matters="A majority is safe only where the next leader is chosen by comparing logs, as the controllers do it.",
        wants="a night, made with Night()")
def broken_majority(answer: Any) -> str:
    """Play the night with the majority in the brokers, then with the smallest log end of those in sync."""
    return judged(GOALS["6.8"], answer)
