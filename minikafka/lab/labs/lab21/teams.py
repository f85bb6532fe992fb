"""The rights of three teams, and an adversary that tries every door.

    rows = [binding(("ALLOW", "User:dispatch", "WRITE", "TOPIC", "LITERAL", "trips")), ...]
    fault(rows)         the first door that is open, or the first right that is missing; None if there is neither

A row is an access list entry in Kafka's words: permission, principal, operation, type of the resource, type of the pattern, name.
The rows are judged by the broker's own StandardAuthorizer.

Owns: what the teams may. Invariants: none of its own.
"""
from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
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
OPERATIONS = {  # all that Kafka asks for, of each type
    R.TOPIC: (A.READ, A.WRITE, A.DESCRIBE, A.CREATE, A.DELETE, A.ALTER, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS),
    R.GROUP: (A.READ, A.DESCRIBE, A.DELETE, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS),
    R.CLUSTER: (A.CREATE, A.ALTER, A.ALTER_CONFIGS, A.CLUSTER_ACTION, A.DESCRIBE, A.DESCRIBE_CONFIGS, A.IDEMPOTENT_WRITE),
    R.TRANSACTIONAL_ID: (A.WRITE, A.DESCRIBE, A.TWO_PHASE_COMMIT),
}
NAMES = {R.TOPIC: TOPICS, R.GROUP: GROUPS, R.CLUSTER: ("kafka-cluster",), R.TRANSACTIONAL_ID: ("pricing-1",)}
FIELDS = "permission, principal, operation, resource type, pattern type, name"
WORDS: tuple[tuple[int, str, type, tuple[str, ...]], ...] = (
    (0, "permission", AclPermissionType, ("ALLOW", "DENY")),
    (2, "operation", AclOperation, tuple(one.name for one in AclOperation if A.ANY < one < A.TWO_PHASE_COMMIT)),
    (3, "resource type", ResourceType, ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID")),
    (4, "pattern type", PatternType, ("LITERAL", "PREFIXED")))
HOST = "127.0.0.1"


class Door(NamedTuple):
    """One attempt: who does what with which resource."""

    who: str
    operation: AclOperation
    kind: ResourceType
    name: str


def doors(bindings: Sequence[AclBinding] = ()) -> Iterator[Door]:
    """Yield every door, the teams' own first; then those of people and names that nobody can know in advance, and those that the
    rows name."""
    tomorrow = f"new{secrets.token_hex(2)}"
    people = [*PEOPLE, f"User:{tomorrow}", *(row.principal for row in bindings if row.principal != "User:*")]
    for who in dict.fromkeys(people):
        for kind, operations in OPERATIONS.items():
            yield from (Door(who, operation, kind, name) for name in _names(kind, bindings, tomorrow) for operation in operations)


def _names(kind: ResourceType, bindings: Sequence[AclBinding], tomorrow: str) -> list[str]:
    """Return the names of one type: today's, those of the rows, and tomorrow's, some of which begin like these."""
    if kind is R.CLUSTER:
        return list(NAMES[kind])
    rows = [row.name for row in bindings if row.resource_type == kind and row.name != "*"]
    later = [begin + tomorrow for begin in ("", "payments-", "pricing-", *rows)]
    return list(dict.fromkeys([*NAMES[kind], *rows, *later]))


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


class NoRow(ValueError):
    """An error raised for what is no row, with a sentence for the student."""


def binding(row: Any) -> AclBinding:
    """Return the access list entry of a row. Raises NoRow."""
    if not isinstance(row, (list, tuple)) or len(row) != 6 or not all(isinstance(field, str) for field in row):
        raise NoRow(f"a list of rows is wanted, of six texts each ({FIELDS}); one is {shown(row, 60)}")
    found: dict[int, int] = {}
    for place, what, words, known in WORDS:
        if row[place] not in known:
            raise NoRow(f"{shown(row[place], 40)} is no {what}; there are {', '.join(known[:8])}. The fields are {FIELDS}")
        found[place] = words[row[place]]
    if not row[1].startswith("User:"):
        raise NoRow(f"a principal has its kind before its name: User:dispatch, and not {shown(row[1], 40)}")
    if not row[5]:
        raise NoRow('a row has a name; "*" is every name')
    return AclBinding(found[3], row[5], found[4], row[1], "*", found[2], found[0])


def fault(bindings: Sequence[AclBinding]) -> tuple[str, str] | None:
    """Return the first door that is open and should not be, or the first right that is missing, and the rule that did it."""
    authorizer = StandardAuthorizer()
    for number, row in enumerate(bindings):
        authorizer.add_acl(UUID(int=number), row)
    for door in doors(bindings):
        answer = authorizer.authorize(Requester(door.who, HOST), door.operation, door.kind, door.name)
        if answer.allowed != may(door):
            what = f"{door.operation.name} the {door.kind.name.lower().replace('_', ' ')} {door.name}"
            told = f"an open door: {door.who} may {what}" if answer.allowed else f"a right is missing: {door.who} may not {what}"
            return told, _rule(answer.rule, bindings)
    return None


def _rule(rule: AclBinding | str, bindings: Sequence[AclBinding]) -> str:
    if isinstance(rule, str):
        stars = [row.name for row in bindings if row.name.endswith("*") and len(row.name) > 1]
        star = f"; in {stars[0]} the * is a letter like others: \"PREFIXED\" takes the beginning alone" if stars else ""
        return f"no row allows it{star}"
    return f"by the row {AclPermissionType(rule.permission).name} {rule.principal} {A(rule.operation).name} " \
           f"{R(rule.resource_type).name} {PatternType(rule.pattern_type).name} {rule.name}"
