"""What the Raft core reads of its surroundings, and the effects that it asks for.

Effects are a list in the order in which they must happen: **the shell executes them left to right, and after a crash only a
prefix has happened**. So a vote that stands behind its Persist can never leave before the vote is on disk. `Append` and
`Flush` are separate because they promise different things: appended bytes can be read and replicated, only flushed bytes
count for the majority. A list holds at most one Flush, at its end; after the flush the shell calls `Raft.on_flushed`.

Owns: the vocabulary; no behaviour. The order of effects is I-RAFT-1 (node.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from minikafka.broker.raft.messages import NOBODY, Request, Response, SnapshotId


class InvariantViolation(AssertionError):
    """An event that the protocol excludes: a bug, or a peer that sends false messages. The broker stops."""


# --- what the core reads ----------------------------------------------------------------------------------------


class ReplicatedLog(Protocol):
    """The view of the log that the core reads; the shell reads and writes the bytes."""

    @property
    def start_offset(self) -> int:
        """Return the offset of the first record; the records below are only in a snapshot."""

    @property
    def oldest_snapshot(self) -> SnapshotId | None:
        """Return the snapshot at whose end the log begins."""

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        """Return the newest snapshot; None if there is none."""

    def snapshot_size(self, id: SnapshotId) -> int | None:
        """Return the size of a snapshot in bytes; None if there is no such snapshot."""

    @property
    def end_offset(self) -> int:
        """Return the offset after the last record (exclusive)."""

    @property
    def last_epoch(self) -> int:
        """Return the leader epoch of the last record; 0 for an empty log."""

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """Return (largest epoch <= `epoch`, its end offset); (-1, -1) if there is none (rule 20)."""


class Rng(Protocol):
    """The random numbers of the core, which the caller hands in."""

    def random(self) -> float:
        """Return a number in [0, 1)."""


@dataclass(frozen=True, slots=True)
class Times:
    """The timeouts of the quorum, in seconds. The names are Kafka's controller.quorum.*, which are in milliseconds."""

    election_timeout: float = 1.0
    fetch_timeout: float = 2.0
    election_backoff_max: float = 1.0
    retry_backoff: float = 0.05
    fetch_max_wait: float = 0.5


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The quorum state that must survive a crash (the file `quorum-state`)."""

    epoch: int = 0
    leader: int = NOBODY
    voted: int = NOBODY


# --- effects ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the quorum state and make it durable before anything that follows."""

    election_state: ElectionState


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
class TruncateToEndOffset:
    """Drop everything from `offset` on."""

    offset: int


@dataclass(frozen=True, slots=True)
class AppendSnapshot:
    """Write a piece of a snapshot that is not complete yet; position 0 starts it."""

    snapshot: SnapshotId
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LoadSnapshot:
    """The snapshot is complete: make it durable, replace the log by an empty one at its end, and load the state from it."""

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
    """Answer the request that came in under `pending_request`."""

    pending_request: object
    response: Response


@dataclass(frozen=True, slots=True)
class UpdateHighWatermark:
    """Everything below `offset` is committed, for ever."""

    offset: int


@dataclass(frozen=True, slots=True)
class RoleChanged:
    """This node's role or the leader it knows has changed: for the controller, the trace and the log file."""

    role: str
    epoch: int
    leader: int


Effect: TypeAlias = (
    Persist | Append | AppendLeaderChange | TruncateToEndOffset | AppendSnapshot | LoadSnapshot | Flush | Send | Reply
    | UpdateHighWatermark | RoleChanged
)
