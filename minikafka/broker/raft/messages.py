"""What goes in and out of the Raft core: messages between voters, effects for the shell, and the times it lives by.

Messages are Kafka's quorum requests (KIP-595) without their envelopes: one partition, epochs and offsets only. The
shell puts them into Kafka's own requests and takes them out again (broker/raft/wire.py).

Effects are what the core wants done. They come as a list in the order in which they must happen: **the shell executes
them left to right, and after a crash only a prefix has happened**. So a vote that stands behind its Persist can never
leave before the vote is on disk. `Append` and `Flush` are different on purpose: appended bytes can be read and
replicated, only flushed bytes count. A list holds at most one Flush and it comes last; when it is done, the shell calls
`Raft.on_flushed`.

Owns: the vocabulary; no behaviour.
The order is I-RAFT-1 of raft_node.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from minikafka.protocol.errors import Err

NOBODY = -1  # no leader, no vote


class InvariantViolation(AssertionError):
    """The protocol says this cannot happen: a bug or a lying peer. The broker stops rather than go on."""


class SnapshotId(NamedTuple):
    """What a snapshot stands for: the records below `end_offset`, the last of which is of `epoch` (OffsetAndEpoch)."""

    end_offset: int
    epoch: int


class LogView(Protocol):
    """What the core may know about the log; the bytes are the shell's."""

    @property
    def start_offset(self) -> int:
        """The offset of the first record; what is below is only in a snapshot."""

    @property
    def oldest_snapshot(self) -> SnapshotId | None:
        """The snapshot at whose end the log begins."""

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        """The newest one; None if there is none."""

    def snapshot_size(self, id: SnapshotId) -> int | None:
        """Its size in bytes; None if there is no such snapshot."""

    @property
    def end_offset(self) -> int:
        """The offset after the last record (exclusive)."""

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record; 0 for an empty log."""

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= `epoch`, where it ends), rule 20; (-1, -1) if undefined."""


class Rng(Protocol):
    """Randomness, injected."""

    def random(self) -> float:
        """A number in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds; the names are Kafka's controller.quorum.*, which are in milliseconds."""

    election_timeout: float = 1.0
    fetch_timeout: float = 2.0
    election_backoff_max: float = 1.0
    retry_backoff: float = 0.05
    fetch_max_wait: float = 0.5


@dataclass(frozen=True, slots=True)
class Ballot:
    """The quorum state that must survive a crash (the file `quorum-state`)."""

    epoch: int = 0
    leader: int = NOBODY
    voted: int = NOBODY


# --- messages -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vote:
    """Candidate -> voter. (last_epoch, last_offset) is where the candidate's log ends; the offset is exclusive.

    A pre-vote asks "would you vote for me in the next epoch?" and names the epoch that the asking node is in.
    """

    epoch: int
    candidate: int
    last_epoch: int
    last_offset: int
    pre_vote: bool = False


@dataclass(frozen=True, slots=True)
class Begin:
    """Leader -> voter: I lead this epoch, come and fetch."""

    epoch: int
    leader: int


@dataclass(frozen=True, slots=True)
class End:
    """Resigning leader -> voter; `successors` are the voters with the longest logs first."""

    epoch: int
    leader: int
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Follower or observer -> leader: everything below `offset` is in my log (and on my disk, if I am a voter).

    `last_fetched_epoch` is the epoch of the record before `offset`; `high_watermark` the one that the follower knows,
    -1 if none (KIP-1166): news about it ends the long poll.
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


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to anything: an error or NONE, and the epoch and leader that the answering node knows."""

    epoch: int
    leader: int
    error: Err = Err.NONE
    granted: bool = False  # Vote: the vote is given


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """The answer to a Fetch: a diverging epoch, or a snapshot to load, or records and the high watermark.

    Going out of the core, `records_from` is the offset from which the shell reads the records to send (None: send
    none); coming in, `records` are the bytes received.
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

    Going out of the core `data` is empty: the shell reads it.
    """

    epoch: int
    leader: int
    error: Err
    snapshot: SnapshotId
    size: int = 0
    position: int = 0
    data: bytes = b""


Request: TypeAlias = Vote | Begin | End | Fetch | FetchSnapshot
Response: TypeAlias = Answer | FetchAnswer | SnapshotAnswer


# --- effects ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the quorum state and make it durable before anything that follows."""

    ballot: Ballot


@dataclass(frozen=True, slots=True)
class Append:
    """Append the bytes a leader sent, verbatim."""

    records: bytes


@dataclass(frozen=True, slots=True)
class AppendLeaderChange:
    """Append the control record that opens an epoch."""

    epoch: int
    leader: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    """Drop everything from `offset` on."""

    offset: int


@dataclass(frozen=True, slots=True)
class AppendSnapshot:
    """Write a piece of a snapshot that is not complete yet; position 0 begins it anew."""

    snapshot: SnapshotId
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """The snapshot is complete: make it durable, begin the log anew at its end, and take the state from it."""

    snapshot: SnapshotId


@dataclass(frozen=True, slots=True)
class Flush:
    """Make the whole log durable, then call `on_flushed` with the end offset from before the flush."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send `request` to `to`; hand the answer to `on_response`, or a failure to `on_failure`, with the same `id`."""

    to: int
    id: int
    request: Request


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the request that came in under `token`."""

    token: object
    response: Response


@dataclass(frozen=True, slots=True)
class HighWatermark:
    """Everything below `offset` is committed, for ever."""

    offset: int


@dataclass(frozen=True, slots=True)
class RoleChanged:
    """This node's role or the leader it knows has changed: for the controller, the trace and the log file."""

    role: str
    epoch: int
    leader: int


Effect: TypeAlias = (
    Persist | Append | AppendLeaderChange | Truncate | AppendSnapshot | LoadSnapshot | Flush | Send | Reply
    | HighWatermark | RoleChanged
)
