"""What goes into the group state machine and what comes out: requests, results, effects, the stored form.

Owns: frozen values only; no behaviour.
Invariants: effects are executed in the order of the list; after a crash only a prefix of them happened.

A `call` is the value by which the shell finds the waiting client again (a future in the shell, a word in a test). The group
only stores a call and returns it in one CompleteCall.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from minikafka.broker.groups.classic.states import ClassicGroupState
from minikafka.protocol.errors import Err

NO_MEMBER = ""       # the member id of a client that was given none yet

Call = Hashable
Protocols = tuple[tuple[str, bytes], ...]     # (name of the assignor, the member's metadata), most wanted first


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Times in milliseconds, named after group.initial.rebalance.delay.ms and group.max.size."""

    initial_rebalance_delay_ms: int = 3000
    max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000      # not configurable in Kafka either


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup request. `must_return` and `may_skip` say what the client's version understands."""

    member_id: str
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    must_return: bool = True      # version 4 on (KIP-394): a new member first gets its id and joins again with it
    may_skip: bool = True         # version 9 on (KIP-814): a returning static leader gets skip_assignment


@dataclass(frozen=True, slots=True)
class Sync:
    """A SyncGroup request; only the leader's request carries assignments."""

    member_id: str
    generation: int
    assignments: tuple[tuple[str, bytes], ...] = ()
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """One member of a LeaveGroup request; an administrator names a static member by its instance id alone."""

    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The result of a JoinGroup."""

    error: Err
    member_id: str = ""
    generation: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    members: tuple[tuple[str, str | None, bytes], ...] = ()      # (member id, instance id, metadata), for the leader


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The result of a SyncGroup; `assignment` is the member's own."""

    error: Err
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member as its group's record has it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group as its record in __consumer_offsets has it. No members: Empty. Members: Stable."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[StoredMember, ...]


# --- effects ----------------------------------------------------------------------------------------------------

@dataclass(frozen=True, slots=True)
class CompleteCall:
    """Answer the waiting call."""

    call: Call
    result: JoinResult | SyncResult | list[Err]


@dataclass(frozen=True, slots=True)
class Assigned:
    """The leader's assignment for `generation`; members get it once its record is committed (rule 58)."""

    generation: int
    assignments: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A static member came back under a new member id, without a rebalance; from then on the old id is fenced (rule 59).

    The replacement is undone if its record cannot be stored. `before` has the member's former metadata and timeouts.
    """

    instance_id: str
    old_member_id: str
    new_member_id: str
    old_leader: str
    before: Join
    may_skip: bool


@dataclass(frozen=True, slots=True)
class Store:
    """Append the group's record (acks=all), then hand `then` and the outcome to ClassicGroup.on_committed()."""

    group: StoredGroup
    then: Assigned | Replaced | None      # None: there is nothing to do then


@dataclass(frozen=True, slots=True)
class Moved:
    """Trace that the group entered `state`."""

    state: ClassicGroupState
    generation: int
    members: tuple[str, ...]


Effect = CompleteCall | Store | Moved
