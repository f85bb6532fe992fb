"""The members of a classic group: dynamic, static and expected ones, the leader, and the vote for a protocol.

Owns: ClassicGroupMember, Members. Knows nothing of states or timers.
Invariants: I-GROUP-4 one instance id belongs to at most one member id; any other member id that claims it is fenced.
            I-GROUP-5 the protocol chosen is one that every member supports.
            I-GROUP-12 a group with members has one of them as its leader.

What Kafka does differently: it keeps counters per protocol, we count the votes when they are needed; with equal votes Kafka
takes the protocol that its hash map shows first, we take the one that the eldest member prefers.
Source: ClassicGroup, ClassicGroupMember, KIP-345 (static membership).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minikafka.broker.groups.classic.messages import Call, Join, Protocols
from minikafka.protocol.errors import Err


@dataclass(slots=True)
class ClassicGroupMember:
    """One member. `deadline` (monotonic seconds): the member is removed then; None while its call waits here."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignment: bytes = b""
    is_new: bool = False              # until its first join is answered it cannot send heartbeats
    joining: Call | None = None       # the JoinGroup that waits for the rebalance
    syncing: Call | None = None       # the SyncGroup that waits for the leader
    deadline: float | None = None

    def metadata(self, protocol: str | None) -> bytes:
        """Return what the member sent for this protocol; empty if it does not support the protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: dict[str, None]) -> str:
        """Return the candidate that the member prefers."""
        return next(name for name, _ in self.protocols if name in candidates)

    def adopt(self, request: Join) -> None:
        """Take from a JoinGroup what a member may change by joining again: protocols and timeouts."""
        self.protocols = request.protocols
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = request.rebalance_timeout_ms


@dataclass(slots=True)
class Members:
    """The members by id. Insertion order everywhere, so that simulated runs repeat."""

    by_id: dict[str, ClassicGroupMember] = field(default_factory=dict)
    static: dict[str, str] = field(default_factory=dict)             # instance id -> member id
    pending: dict[str, float] = field(default_factory=dict)          # ids given out, not joined yet -> deadline
    leader: str | None = None

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self.by_id

    def get(self, member_id: str) -> ClassicGroupMember:
        return self.by_id[member_id]

    def add(self, member: ClassicGroupMember) -> None:
        assert member.instance_id not in self.static, "I-GROUP-4 an instance id has one member"
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        self.by_id[member.member_id] = member
        self.pending.pop(member.member_id, None)
        self.leader = self.leader or member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id; the eldest member left becomes the leader in the place of a removed one."""
        member = self.by_id.pop(member_id, None)
        if member is not None and member.instance_id is not None:
            del self.static[member.instance_id]
        self.pending.pop(member_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.by_id), None)

    def rename(self, instance_id: str, member_id: str) -> ClassicGroupMember:
        """Give the static member of `instance_id` a new member id; if it was the leader, it stays the leader. Return it."""
        old = self.static[instance_id]
        member = self.by_id[old]
        member.member_id = member_id
        self.by_id = {m.member_id: m for m in self.by_id.values()}
        self.static[instance_id] = member_id
        if self.leader == old:
            self.leader = member_id
        return member

    def check(self, member_id: str, instance_id: str | None) -> Err:
        """Return NONE for a member, FENCED_INSTANCE_ID for a replaced static member, else UNKNOWN_MEMBER_ID."""
        if instance_id is not None:
            known = self.static.get(instance_id)
            if known is not None and known != member_id:
                return Err.FENCED_INSTANCE_ID
            if known is None:
                return Err.UNKNOWN_MEMBER_ID
        return Err.NONE if member_id in self.by_id else Err.UNKNOWN_MEMBER_ID

    def check_books(self) -> None:
        """Assert that the books agree: who is a member, who is static, who is awaited, who leads."""
        instances = {m.instance_id: m.member_id for m in self if m.instance_id is not None}
        assert self.static == instances, f"I-GROUP-4 {self.static} names the static members {instances}"
        assert [*self.by_id] == [m.member_id for m in self], "I-GROUP-4 a member is kept under another's id"
        assert not self.pending.keys() & self.by_id.keys(), "I-GROUP-4 a member is pending too"
        assert self.leader in self.by_id if self.by_id else self.leader is None, f"I-GROUP-12 the leader is {self.leader}"

    # --- joining --------------------------------------------------------------------------------------------

    def waiting(self) -> int:
        """Return how many members have a JoinGroup that waits."""
        return sum(member.joining is not None for member in self)

    def all_joined(self) -> bool:
        return not self.pending and self.waiting() == len(self)

    def elect_joined_leader(self) -> bool:
        """Make the eldest member that has joined the leader, if the leader has not; return False if no member has joined."""
        if self.leader is not None and self.by_id[self.leader].joining is None:
            joined = next((m.member_id for m in self if m.joining is not None), None)
            if joined is None:
                return False
            self.leader = joined
        return self.leader is not None

    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self), default=0)

    # --- protocols ------------------------------------------------------------------------------------------

    def common_protocols(self) -> dict[str, None]:
        """Return the names that every member supports, in the eldest member's order."""
        supported = [dict(member.protocols) for member in self]
        first = supported[0] if supported else {}
        return {name: None for name in first if all(name in names for names in supported)}

    def elect_protocol(self) -> str:
        """Return the common protocol with most votes; each member votes for the first one in its own order."""
        candidates = self.common_protocols()
        votes = [member.vote(candidates) for member in self]
        return max(candidates, key=votes.count)
