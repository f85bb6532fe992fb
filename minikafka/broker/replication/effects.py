"""The vocabulary of a replica: the views through which it sees the world, and the effects that it asks the shell for.

The views are the little that `replication/replica.py` must know of a log, of the cluster and of a partition's metadata. The
effects come back in lists; the shell carries them out from left to right, and after a crash a prefix of them happened.

Owns: the vocabulary between the state machine and the shell. Kafka has none: there a partition acts by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from minikafka.broker.replication.isr import ProposedIsr


class EpochView(Protocol):
    """The leader-epoch cache (KIP-101)."""

    @property
    def latest(self) -> int:
        """Return the newest epoch, -1 if there is none."""

    def end_offset_for(self, epoch: int, log_end: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest known epoch <= `epoch`; (-1, -1) if there is none (rule 20)."""


class LogView(Protocol):
    """The offsets and epochs of a log, as a replica must know them."""

    start_offset: int
    end_offset: int
    epochs: EpochView


class BrokerView(Protocol):
    """A registered broker, as the metadata image shows it."""

    epoch: int
    active: bool


class ClusterView(Protocol):
    brokers: Mapping[int, BrokerView]


class PartitionView(Protocol):
    """One partition in the metadata image."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: tuple[int, ...]


# --- effects ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AssignEpoch:
    """Enter (epoch, start offset) into the leader-epoch cache, on disk too."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class Lead:
    """This broker leads in `epoch`, whose first offset is `start_offset`."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class Follow:
    """Fetch from `leader` (-1: there is no leader, wait). Clients that wait for this broker as the leader are refused."""

    leader: int
    epoch: int


@dataclass(frozen=True, slots=True)
class HighWatermark:
    """The high watermark is now `offset`: reads and acks that waited for it may be answered."""

    offset: int


@dataclass(frozen=True, slots=True)
class LogEndMoved:
    """The log ends at `offset` now, the high watermark stays: fetches of followers that waited may be answered."""

    offset: int


@dataclass(frozen=True, slots=True)
class ProposeIsr:
    """Send AlterPartition; its outcome comes back through `on_alter_response` with this very proposal."""

    proposal: ProposedIsr


@dataclass(frozen=True, slots=True)
class IsrCommitted:
    """The committed ISR is now `isr`."""

    isr: tuple[int, ...]
    partition_epoch: int
    why: str


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log back to `offset`, and then call `on_truncated`."""

    offset: int


@dataclass(frozen=True, slots=True)
class StartAt:
    """Throw the whole log away and begin again at `offset` (the leader's log starts beyond our end)."""

    offset: int


Effect = AssignEpoch | Lead | Follow | HighWatermark | LogEndMoved | ProposeIsr | IsrCommitted | Truncate | StartAt


class EpochEnd(NamedTuple):
    """An epoch and its end offset: the answer to a fetch that has diverged."""

    epoch: int
    end_offset: int
