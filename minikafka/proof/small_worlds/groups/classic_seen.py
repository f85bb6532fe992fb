"""A classic group as it was at a moment, for its judge (classic_rules.py).

Owns: GroupSeen, what follows from it for protocols and members; `that` and `same` of all judges of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.broker.groups.classic.messages import Call, CompleteCall, Join, JoinResult, Protocols
from minikafka.proof.small_worlds import checks
from minikafka.protocol.errors import Err

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"


@dataclass(frozen=True)
class MemberSeen:
    """One member, as it was."""

    instance: str | None
    protocols: Protocols
    session: float
    rebalance: float
    joining: Call | None
    syncing: Call | None
    assignment: bytes
    is_new: bool


@dataclass(frozen=True)
class GroupSeen:
    """The group, as it was. `members` and `static` are in the order in which they joined."""

    state: str
    generation: int
    protocol: str | None
    protocol_type: str | None
    leader: str | None
    members: dict[str, MemberSeen]
    static: dict[str, str]
    pending: tuple[str, ...]

    @property
    def waiting(self) -> dict[Call, str]:
        """Return the calls that wait, with the member of each."""
        calls = [(call, m) for m, one in self.members.items() for call in (one.joining, one.syncing)]
        return {call: m for call, m in calls if call is not None}

    @property
    def joined(self) -> list[str]:
        return [m for m, one in self.members.items() if one.joining is not None]

    def refuses(self, member_id: str, instance: str | None) -> Err:
        """Return why this is no member: rule 59 for a static one."""
        holder = self.static.get(instance) if instance is not None else member_id
        if holder is not None and holder != member_id:
            return Err.FENCED_INSTANCE_ID
        return Err.NONE if holder is not None and member_id in self.members else Err.UNKNOWN_MEMBER_ID


def look(group: ClassicGroup) -> GroupSeen:
    """Return what a group is now."""
    members = {m.member_id: MemberSeen(m.instance_id, m.protocols, m.session_timeout_ms / 1000, m.rebalance_timeout_ms / 1000,
                                       m.joining, m.syncing, m.assignment, m.is_new) for m in group.members}
    return GroupSeen(group.state_name, group.generation, group.protocol, group.protocol_type, group.members.leader, members,
                     dict(group.members.static), tuple(group.members.pending))


# --- what the protocols say -------------------------------------------------------------------------------------------


def common(group: GroupSeen) -> list[str]:
    """Return the protocols that every member knows, in the eldest member's order."""
    known = [[name for name, _ in one.protocols] for one in group.members.values()]
    return [name for name in (known[0] if known else []) if all(name in names for names in known)]


def elected(group: GroupSeen) -> str | None:
    """Return the protocol with most votes; the eldest member's order decides between equals."""
    shared = common(group)
    wanted = [[name for name, _ in one.protocols if name in shared] for one in group.members.values()]
    votes = Counter(names[0] for names in wanted if names)
    return min(shared, key=lambda name: (-votes[name], shared.index(name)), default=None)


def fits(group: GroupSeen, request: Join) -> bool:
    """Return whether a group could take a member with this type and these protocols."""
    names = [name for name, _ in request.protocols]
    if group.state == EMPTY:
        return bool(request.protocol_type and names)
    return request.protocol_type == group.protocol_type and bool(
        names if not group.members else {*names} & {*common(group)})


def sent(protocols: Protocols, name: str | None) -> bytes:
    """Return what a member sent for a protocol."""
    return dict(reversed(protocols)).get(name or "", b"")


# --- words ------------------------------------------------------------------------------------------------------------


def joins(effect: Any) -> bool:
    """Return whether an effect answers a JoinGroup."""
    return isinstance(effect, CompleteCall) and isinstance(effect.result, JoinResult)


def answer_to(effects: Iterable[Any], call: Call | None) -> Any:
    """Return the answer that a call gets by these effects, None if it gets none."""
    return next((e.result for e in effects if isinstance(e, CompleteCall) and e.call == call), None)


that, same = partial(checks.that, "I12"), partial(checks.same, "I12")
