"""All invariants, in the order in which they look: first those that establish the truth, then those that compare with it."""

from __future__ import annotations

from minikafka.proof.invariants.commitment import (
    CandidatesAreComplete,
    HighWatermarkStays,
    LeadersAreComplete,
    LogsMatch,
)
from minikafka.proof.invariants.groups import GroupsAreSound
from minikafka.proof.invariants.history import HistoryIsValid
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.leadership import MaximalIsr, OneLeader
from minikafka.proof.invariants.liveness import EverythingComesToRest
from minikafka.proof.invariants.logs import LogsAreWhole
from minikafka.proof.invariants.moves import BrokersComeKnowing, MovesAreWhole
from minikafka.proof.invariants.offsets import EpochsOfTheLog, OffsetsInOrder
from minikafka.proof.invariants.producers import SequencesFollow
from minikafka.proof.invariants.quorum import MetadataMatches, QuorumIsSafe
from minikafka.proof.invariants.returns import UncleanReturns
from minikafka.proof.invariants.stable import StableOffset
from minikafka.proof.invariants.tasks import NothingIsForgotten
from minikafka.proof.invariants.transactions import TransactionsAreSound

ALL: list[type[Invariant]] = [
    LogsMatch, OffsetsInOrder, HighWatermarkStays, CandidatesAreComplete, LeadersAreComplete, MaximalIsr, OneLeader,
    QuorumIsSafe, MetadataMatches, EpochsOfTheLog, SequencesFollow, GroupsAreSound, TransactionsAreSound,
    MovesAreWhole, StableOffset, BrokersComeKnowing, UncleanReturns, NothingIsForgotten, EverythingComesToRest,
    LogsAreWhole, HistoryIsValid]
