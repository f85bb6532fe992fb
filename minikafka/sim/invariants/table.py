"""All invariants, in the order in which they look: first those that establish the truth, then those that compare with it."""

from __future__ import annotations

from minikafka.sim.invariants.commitment import CandidatesAreComplete, HighWatermarkStays, LeadersAreComplete, LogsMatch
from minikafka.sim.invariants.decisions.listening import DecisionsAreAllowed
from minikafka.sim.invariants.elections import ElectionsAreClean
from minikafka.sim.invariants.groups import GroupsAreSound
from minikafka.sim.invariants.history import HistoryIsValid
from minikafka.sim.invariants.invariant import Invariant
from minikafka.sim.invariants.leadership import MaximalIsr, OneLeader
from minikafka.sim.invariants.liveness import EverythingComesToRest
from minikafka.sim.invariants.logs import LogsAreWhole
from minikafka.sim.invariants.moves import BrokersComeKnowing, MovesAreWhole
from minikafka.sim.invariants.offsets import EpochsOfTheLog, OffsetsInOrder
from minikafka.sim.invariants.producers import SequencesFollow
from minikafka.sim.invariants.quorum import MetadataMatches, QuorumIsSafe
from minikafka.sim.invariants.stable import StableOffset
from minikafka.sim.invariants.steps import StepsAreAllowed
from minikafka.sim.invariants.tasks import NothingIsForgotten
from minikafka.sim.invariants.transactions import TransactionsAreSound

ALL: list[type[Invariant]] = [
    LogsMatch, OffsetsInOrder, HighWatermarkStays, CandidatesAreComplete, LeadersAreComplete, MaximalIsr, OneLeader,
    QuorumIsSafe, MetadataMatches, EpochsOfTheLog, SequencesFollow, GroupsAreSound, TransactionsAreSound,
    MovesAreWhole, StableOffset, BrokersComeKnowing, StepsAreAllowed, ElectionsAreClean, DecisionsAreAllowed,
    NothingIsForgotten, EverythingComesToRest, LogsAreWhole, HistoryIsValid]
