"""The rights of three teams, and an adversary that tries every door.

    rows = [("ALLOW", "User:dispatch", "WRITE", "TOPIC", "LITERAL", "trips"), ...]
    fault(rows)         the first door that is open, or the first right that is missing; None if there is neither

A row is an access list entry in Kafka's words: permission, principal, operation, type of the resource, type of the pattern, name.
The rows are judged by the broker's own StandardAuthorizer.

Owns: what the teams may. Invariants: none of its own.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from uuid import UUID

from minikafka.broker.authorizer.acl import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from minikafka.broker.authorizer.standard_authorizer import Requester, StandardAuthorizer
from minikafka.lab.values import shown

A, R = AclOperation, ResourceType
PEOPLE = "User:dispatch", "User:pricing", "User:audit", "User:visitor", "User:ANONYMOUS"
CARDS = "payments-cards"
TOPICS = "trips", "trips-old", "prices", "prices-eu", "payments-cash", CARDS, "payments-new", "payroll"
GROUPS = "pricing-day", "pricing-night", "pricing", "audit", "audit-2", "dispatch"
OPERATIONS = {
    R.TOPIC: (A.READ, A.WRITE, A.DESCRIBE, A.CREATE, A.DELETE, A.ALTER, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS),
    R.GROUP: (A.READ, A.DESCRIBE, A.DELETE),
    R.CLUSTER: (A.CREATE, A.ALTER, A.ALTER_CONFIGS, A.CLUSTER_ACTION),
}
NAMES = {R.TOPIC: TOPICS, R.GROUP: GROUPS, R.CLUSTER: ("kafka-cluster",)}
FIELDS = "permission, principal, operation, resource type, pattern type, name"
WORDS: tuple[tuple[int, str, type, tuple[str, ...]], ...] = (
    (0, "permission", AclPermissionType, ("ALLOW", "DENY")),
    (2, "operation", AclOperation, tuple(one.name for one in AclOperation if one > A.ANY)),
    (3, "resource type", ResourceType, ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID")),
    (4, "pattern type", PatternType, ("LITERAL", "PREFIXED")))
HOST = "127.0.0.1"


class Door(NamedTuple):
    """One attempt: who does what with which resource."""

    who: str
    operation: AclOperation
    kind: ResourceType
    name: str


def doors() -> Iterator[Door]:
    """Yield every door, the teams' own first."""
    for who in PEOPLE:
        for kind, operations in OPERATIONS.items():
            yield from (Door(who, operation, kind, name) for name in NAMES[kind] for operation in operations)


def may(door: Door) -> bool:
    """Return whether the door is to be open."""
    who, operation, kind, name = door
    reads = operation in (A.READ, A.DESCRIBE)
    writes = operation in (A.WRITE, A.DESCRIBE)
    match who, kind:
        case "User:dispatch", R.TOPIC:
            return name == "trips" and writes
        case "User:pricing", R.TOPIC:
            return name == "trips" and reads or name == "prices" and writes
        case "User:pricing", R.GROUP:
            return name.startswith("pricing-") and reads
        case "User:audit", R.TOPIC:
            return name.startswith("payments-") and name != CARDS and reads
        case "User:audit", R.GROUP:
            return name == "audit" and reads
    return False


def binding(row: Any) -> AclBinding:
    """Return the access list entry of a row. Raises ValueError with a sentence for the student."""
    if not isinstance(row, (list, tuple)) or len(row) != 6 or not all(isinstance(field, str) for field in row):
        raise ValueError(f"six texts are wanted in each row ({FIELDS}); one is {shown(row, 60)}")
    found: dict[int, int] = {}
    for place, what, words, known in WORDS:
        if row[place] not in known:
            raise ValueError(f"{shown(row[place], 40)} is no {what}; there are {', '.join(known[:8])}")
        found[place] = words[row[place]]
    if not row[1].startswith("User:"):
        raise ValueError(f"a principal has its kind before its name: User:dispatch, and not {shown(row[1], 40)}")
    return AclBinding(found[3], row[5], found[4], row[1], "*", found[2], found[0])


def fault(rows: Iterable[Any]) -> tuple[str, str] | None:
    """Return the first door that is open and should not be, or the first right that is missing, and the rule that did it."""
    authorizer = StandardAuthorizer()
    for number, row in enumerate(rows):
        authorizer.add_acl(UUID(int=number), binding(row))
    for door in doors():
        answer = authorizer.authorize(Requester(door.who, HOST), door.operation, door.kind, door.name)
        if answer.allowed != may(door):
            what = f"{door.operation.name} the {door.kind.name.lower()} {door.name}"
            told = f"an open door: {door.who} may {what}" if answer.allowed else f"a right is missing: {door.who} may not {what}"
            return told, _rule(answer.rule)
    return None


def _rule(rule: AclBinding | str) -> str:
    if isinstance(rule, str):
        return "by no row"
    return f"by the row {AclPermissionType(rule.permission).name} {rule.principal} {A(rule.operation).name} " \
           f"{R(rule.resource_type).name} {PatternType(rule.pattern_type).name} {rule.name}"
