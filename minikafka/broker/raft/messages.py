"""The messages between the nodes of the quorum, as the Raft core sees them.

They are Kafka's quorum requests (KIP-595) without their envelopes: there is one partition, and a message holds epochs,
offsets and node ids only. `wire.py` puts them into Kafka's own requests and responses and takes them out again. A message of
the core that answers a request is called an Answer, so that it cannot be taken for Kafka's FetchResponse and its like.

Owns: the vocabulary; no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from minikafka.protocol.errors import Err

NOBODY = -1  # no leader, no vote


class SnapshotId(NamedTuple):
    """The name of a snapshot of the records below `end_offset`, the last of which is of `epoch`
    (OffsetAndEpoch)."""

    end_offset: int
    epoch: int


# --- requests ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vote:
    """Candidate -> voter. (last_epoch, last_offset) is where the candidate's log ends; the offset is exclusive. A pre-vote asks
    "would you vote for me in the next epoch?" and names the epoch that the asking node is in."""

    epoch: int
    candidate: int
    last_epoch: int
    last_offset: int
    pre_vote: bool = False


@dataclass(frozen=True, slots=True)
class BeginQuorumEpoch:
    """Leader -> voter: I lead this epoch, come and fetch."""

    epoch: int
    leader: int


@dataclass(frozen=True, slots=True)
class EndQuorumEpoch:
    """Resigning leader -> voter; `successors` are the voters with the longest logs first."""

    epoch: int
    leader: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Follower or observer -> leader: everything below `offset` is in my log (and on my disk, if I am a voter).

    `last_fetched_epoch` is the epoch of the record before `offset`; `high_watermark` the one that the follower knows,
    -1 if none (KIP-1166): a higher one at the leader ends the long poll.
    """

    epoch: int
    replica: int
    offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_wait: float


@dataclass(frozen=True, slots=True)
class FetchSnapshot:
    """Follower or observer -> leader: send me that snapshot from byte `position` on."""

    epoch: int
    replica: int
    snapshot: SnapshotId
    position: int


# --- answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to Vote, BeginQuorumEpoch and EndQuorumEpoch: an error or NONE, and the epoch and leader that the answering
    node knows."""

    epoch: int
    leader: int
    error: Err = Err.NONE
    granted: bool = False  # Vote: the vote is given


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """The answer to a Fetch: a diverging epoch, or a snapshot to load, or records and the high watermark.

    As the core makes the answer, `records_from` is the offset from which the shell reads the records to send (None: send
    none); as the core gets an answer, `records` are the bytes received.
    """

    epoch: int
    leader: int
    error: Err = Err.NONE
    high_watermark: int = -1
    diverging: tuple[int, int] | None = None
    records_from: int | None = None
    records: bytes = b""
    snapshot: SnapshotId | None = None


@dataclass(frozen=True, slots=True)
class SnapshotAnswer:
    """The answer to a FetchSnapshot: `data` is a piece of a snapshot of `size` bytes, from `position` on.

    As the core makes the answer, `data` is empty: the shell reads the piece.
    """

    epoch: int
    leader: int
    error: Err
    snapshot: SnapshotId
    size: int = 0
    position: int = 0
    data: bytes = b""


Request: TypeAlias = Vote | BeginQuorumEpoch | EndQuorumEpoch | Fetch | FetchSnapshot
Response: TypeAlias = Answer | FetchAnswer | SnapshotAnswer
