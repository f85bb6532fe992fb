"""StandardAuthorizer: may this principal, from this host, do this with that resource?

In this order: a super user may; a binding about the resource that denies it denies; one that allows it allows; if bindings are
about the resource and none fits, it is denied; and if there is none at all, `allow.everyone.if.no.acl.found` decides.

Owns: the bindings of the cluster, by what they are about. Pure: nothing is logged here, each answer names its rule.
Invariants
  I-ACL-1  a binding that denies wins over all that allow, whatever their patterns.
  I-ACL-2  to be allowed READ, WRITE, DELETE or ALTER is to be allowed DESCRIBE; ALTER_CONFIGS allows DESCRIBE_CONFIGS. To be
           denied them denies nothing else.
What Kafka does differently: one sorted set of bindings that a search walks through; the answers are the same.
Source: org.apache.kafka.metadata.authorizer.StandardAuthorizerData, server.authorizer.Authorizer; KIP-11, KIP-290, KIP-679.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from minikafka.broker.authorizer.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from minikafka.broker.metadata.records import Uuid

IMPLIED_BY: dict[int, frozenset[int]] = {
    AclOperation.DESCRIBE: frozenset({AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
}
NOTHING: frozenset[int] = frozenset()
ANY_NAME = "hardcode"  # Kafka's: a name that stands for those which no binding is about


class MatchingRule(NamedTuple):
    """An answer, and the rule that gave it: a binding, or the name of a default."""

    allowed: bool
    rule: AclBinding | str

    def __str__(self) -> str:
        return self.rule if isinstance(self.rule, str) else f"MatchingAcl(acl={self.rule})"


SUPER_USER = MatchingRule(True, "SuperUser")
DEFAULT_ALLOW, DEFAULT_DENY = MatchingRule(True, "DefaultAllow"), MatchingRule(False, "DefaultDeny")


class Requester(NamedTuple):
    """The sender of a request, and its address."""

    principal: str
    host: str


class StandardAuthorizer:
    """The bindings of the cluster, and the answers that follow from them."""

    def __init__(self, super_users: frozenset[str] = frozenset(), allow_if_no_acl: bool = False) -> None:
        self.super_users = super_users
        self.no_acl_rule = DEFAULT_ALLOW if allow_if_no_acl else DEFAULT_DENY
        self.acls: dict[Uuid, AclBinding] = {}
        # (resource type, pattern type): {name: bindings}; dicts are used as ordered sets
        self._about: dict[tuple[int, int], dict[str, dict[AclBinding, None]]] = {}

    def add_acl(self, acl_id: Uuid, acl: AclBinding) -> None:
        self.acls[acl_id] = acl
        names = self._about.setdefault((acl.resource_type, acl.pattern_type), {})
        names.setdefault(acl.name, {})[acl] = None

    def remove_acl(self, acl_id: Uuid) -> None:
        acl = self.acls.pop(acl_id)
        names = self._about[acl.resource_type, acl.pattern_type]
        del names[acl.name][acl]
        if not names[acl.name]:
            del names[acl.name]

    def authorize(self, who: Requester, operation: int, resource_type: int, name: str) -> MatchingRule:
        """Return whether `who` may do this with the resource of this name, and why."""
        if who.principal in self.super_users:
            return SUPER_USER
        rule = self.no_acl_rule
        for acl in self._bindings(resource_type, name):
            if rule is self.no_acl_rule:
                rule = DEFAULT_DENY  # there is a binding about the resource: it must allow
            if not _fits(acl, who, operation):
                continue
            if acl.permission == AclPermissionType.DENY:
                return MatchingRule(False, acl)
            rule = MatchingRule(True, acl)
        return rule

    def _bindings(self, resource_type: int, name: str) -> Iterator[AclBinding]:
        """Yield the bindings about a resource."""
        literal = self._about.get((resource_type, PatternType.LITERAL), {})
        yield from literal.get(name, ())
        prefixed = self._about.get((resource_type, PatternType.PREFIXED), {})
        if len(prefixed) <= len(name):
            found = [prefix for prefix in prefixed if name.startswith(prefix)]
        else:
            found = [prefix for end in range(1, len(name) + 1) if (prefix := name[:end]) in prefixed]
        for prefix in found:
            yield from prefixed[prefix]
        if name != WILDCARD:
            yield from literal.get(WILDCARD, ())

    def authorize_by_resource_type(self, who: Requester, operation: int, resource_type: int) -> bool:
        """Return whether there may be a resource of this type with which `who` may do this (KIP-679)."""
        if self.authorize(who, operation, resource_type, ANY_NAME).allowed:
            return True
        mine = [acl for acl in self.acls.values() if acl.resource_type == resource_type and _is_about(acl, who)
                and acl.operation in (operation, AclOperation.ALL)]
        denied = {(acl.pattern_type, acl.name) for acl in mine if acl.permission == AclPermissionType.DENY}
        allowed = [acl for acl in mine if acl.permission == AclPermissionType.ALLOW]
        everything = (PatternType.LITERAL, WILDCARD)
        if everything in denied:
            return False
        return any((acl.pattern_type, acl.name) == everything or not _is_dominated(acl, denied) for acl in allowed)


def _is_about(acl: AclBinding, who: Requester) -> bool:
    return acl.principal in (who.principal, WILDCARD_PRINCIPAL) and acl.host in (who.host, WILDCARD)


def _fits(acl: AclBinding, who: Requester, operation: int) -> bool:
    """Return whether the binding says something of this operation by `who` (I-ACL-2)."""
    if not _is_about(acl, who):
        return False
    if acl.operation in (operation, AclOperation.ALL):
        return True
    return acl.permission == AclPermissionType.ALLOW and acl.operation in IMPLIED_BY.get(operation, NOTHING)


def _is_dominated(acl: AclBinding, denied: set[tuple[int, str]]) -> bool:
    """Return whether all names that the binding allows are denied."""
    same = acl.pattern_type == PatternType.LITERAL and (PatternType.LITERAL, acl.name) in denied
    return same or any((PatternType.PREFIXED, acl.name[:end]) in denied for end in range(1, len(acl.name) + 1))


def authorizer_of(class_name: str, super_users: str, allow_if_no_acl: bool) -> StandardAuthorizer | None:
    """Return the authorizer that the configuration sets; None if it sets none."""
    if not class_name:
        return None
    names = frozenset(stripped for name in super_users.split(";") if (stripped := name.strip()))
    return StandardAuthorizer(names, allow_if_no_acl)


RESOURCE_NAMES = {ResourceType.TOPIC: "Topic", ResourceType.GROUP: "Group", ResourceType.CLUSTER: "Cluster",
                  ResourceType.TRANSACTIONAL_ID: "TransactionalId", ResourceType.DELEGATION_TOKEN: "DelegationToken",
                  ResourceType.USER: "User"}


def audit_line(who: Requester, operation: AclOperation, resource_type: ResourceType, name: str, request: str,
               rule: MatchingRule) -> str:
    """Return the line of the log about one answer, in Kafka's words."""
    return (f"Principal = {who.principal} is {'Allowed' if rule.allowed else 'Denied'} operation = {operation.name} "
            f"from host = {who.host} on resource = {RESOURCE_NAMES[resource_type]}:LITERAL:{name} for request = {request} "
            f"with resourceRefCount = 1 based on rule {rule}")
