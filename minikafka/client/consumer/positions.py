"""Where a consumer is in each of its partitions, and whether it may fetch from there.

    START      nothing is known: ask for the group's committed offset, or reset
    RESET      ask the leader where the log begins or ends
    VALIDATE   a new leader: is the record that we read last still in its log? (KIP-320)
    FETCH      go on

A position is an offset with the leader epoch of the record before it. If the leader's log for that epoch ends below the
offset, records that were read are gone: the log was truncated, and reading goes on where the two logs diverge.

Owns: the positions.
Invariants: I-POSITIONS-1 the answer to a request that was sent before a seek, or before the partition was taken away,
              moves no position (`turn`).
            I-POSITIONS-2 after a change of leader nothing is fetched before the position is validated, if it has an epoch.
Source: org.apache.kafka.clients.consumer.internals.SubscriptionState; KIP-320.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import count

from minikafka.client.metadata import LeaderAndEpoch, Metadata, Tp


class Phase(Enum):
    START = 1
    RESET = 2
    VALIDATE = 3
    FETCH = 4


@dataclass(eq=False)
class FetchPosition:
    """The position in one assigned partition. `turns` counts the turns; all positions of a consumer share it."""

    turns: Iterator[int]
    phase: Phase = Phase.START
    offset: int = -1
    epoch: int = -1  # leader epoch of the last record before `offset`, -1 if unknown
    leader: LeaderAndEpoch = LeaderAndEpoch(-1, -1)  # for which the position is valid
    strategy: str = ""  # for RESET: "earliest" or "latest"
    turn: int = 0  # a number never used before, changed whenever the position is set from outside
    asking: bool = False  # a question about it is under way
    not_before: float = 0.0  # after a failure
    paused: bool = False
    nearer: int = -1  # a follower that the leader sent us to (KIP-392)

    def __post_init__(self) -> None:
        self.turn = next(self.turns)

    @property
    def source(self) -> int:
        """Return the node to fetch from: the nearer follower, or the leader."""
        return self.nearer if self.nearer >= 0 else self.leader.node

    def go(self, offset: int, epoch: int, leader: LeaderAndEpoch) -> None:
        """Set the position: go on from this offset."""
        self.turn, self.not_before = next(self.turns), 0.0
        self.offset, self.epoch, self.leader = offset, epoch, leader
        self.phase = Phase.VALIDATE if epoch >= 0 else Phase.FETCH

    def reset(self, strategy: str) -> None:
        self.turn, self.not_before = next(self.turns), 0.0
        self.phase, self.strategy = Phase.RESET, strategy


class Positions:
    """All positions of one consumer, in the order in which their partitions were assigned."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self.of: dict[Tp, FetchPosition] = {}
        self._turns = count()

    def assign(self, tps: list[Tp]) -> None:
        """Keep exactly these partitions; a partition that stays keeps its position."""
        self.of = {tp: self.of.get(tp) or FetchPosition(self._turns) for tp in tps}

    def follow_leaders(self) -> None:
        """Validate before the next fetch where the metadata names a new leader (I-POSITIONS-2)."""
        for tp, position in self.of.items():
            leader = self.metadata.leader(tp)
            if position.phase is Phase.FETCH and leader.node >= 0 and leader != position.leader:
                if position.epoch >= 0 and leader.epoch != position.leader.epoch:
                    position.phase = Phase.VALIDATE
                position.leader, position.nearer = leader, -1

    def waiting(self, phase: Phase, now: float) -> list[Tp]:
        """Return the partitions in a phase about which a request may be sent now."""
        return [tp for tp, p in self.of.items() if p.phase is phase and not p.asking and p.not_before <= now]

    def fetchable(self, now: float) -> list[Tp]:
        return [tp for tp in self.waiting(Phase.FETCH, now) if not self.of[tp].paused]

    def same(self, tp: Tp, turn: int) -> FetchPosition | None:
        """Return the position, None if it was set since `turn` (I-POSITIONS-1)."""
        position = self.of.get(tp)
        return position if position is not None and position.turn == turn else None
