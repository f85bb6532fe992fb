"""All invariants, in the order in which they look: first what establishes the truth, then what is measured by it."""

from __future__ import annotations

from minikafka.sim.invariants.commitment import CandidatesAreComplete, HighWatermarkStays, LeadersAreComplete, LogsMatch
from minikafka.sim.invariants.invariant import Invariant
from minikafka.sim.invariants.leadership import MaximalIsr, OneLeader
from minikafka.sim.invariants.offsets import EpochsOfTheLog, OffsetsInOrder
from minikafka.sim.invariants.quorum import MetadataMatches, QuorumIsSafe

ALL: list[type[Invariant]] = [LogsMatch, OffsetsInOrder, HighWatermarkStays, CandidatesAreComplete, LeadersAreComplete,
                              MaximalIsr, OneLeader, QuorumIsSafe, MetadataMatches, EpochsOfTheLog]
