"""The words of Kafka's access lists: resources, operations, permissions, one binding, and a filter of bindings.

    AclBinding(TOPIC, "trips", LITERAL, "User:ada", "*", READ, ALLOW)

Owns: the enumerations, with their numbers on the wire, and what a filter matches. Pure.
Source: org.apache.kafka.common.acl, common.resource, metadata.authorizer.StandardAcl; KIP-11, KIP-290.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

WILDCARD = "*"  # as a name: every resource; as a host: every host
WILDCARD_PRINCIPAL = "User:*"
CLUSTER_NAME = "kafka-cluster"  # the only name of the resource CLUSTER


class ResourceType(IntEnum):
    """The kinds of what a client may use."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """The ways in which the name of a resource is meant."""

    UNKNOWN = 0
    ANY = 1  # in filters: whatever the way
    MATCH = 2  # in filters: what would match the name
    LITERAL = 3  # the name itself; `*` is every name
    PREFIXED = 4  # every name that begins so


class AclOperation(IntEnum):
    """An action of a client on a resource."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(IntEnum):
    """The effect of a binding."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


A, R = AclOperation, ResourceType
# What an operation may be, by the resource: the authorized_operations of responses (AclEntry.supportedOperations).
SUPPORTED_OPERATIONS: dict[ResourceType, tuple[AclOperation, ...]] = {
    R.TOPIC: (A.READ, A.WRITE, A.CREATE, A.DESCRIBE, A.DELETE, A.ALTER, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS),
    R.GROUP: (A.READ, A.DESCRIBE, A.DELETE, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS),
    R.CLUSTER: (A.CREATE, A.CLUSTER_ACTION, A.DESCRIBE_CONFIGS, A.ALTER_CONFIGS, A.IDEMPOTENT_WRITE, A.ALTER, A.DESCRIBE),
}


class AclBinding(NamedTuple):
    """One access list entry: whom it allows or denies what, on which resources. Two with equal fields are one."""

    resource_type: int
    name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int

    def __str__(self) -> str:
        return (f"StandardAcl(resourceType={ResourceType(self.resource_type).name}, resourceName={self.name}, "
                f"patternType={PatternType(self.pattern_type).name}, principal={self.principal}, host={self.host}, "
                f"operation={AclOperation(self.operation).name}, permissionType={AclPermissionType(self.permission).name})")

    def covers(self, name: str) -> bool:
        """Return whether the binding is about the resource of this name."""
        if self.pattern_type == PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)


class AclBindingFilter(NamedTuple):
    """The fields of the bindings that are to be described or deleted; None and ANY match everything."""

    resource_type: int = ResourceType.ANY
    name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = AclOperation.ANY
    permission: int = AclPermissionType.ANY

    def matches(self, binding: AclBinding) -> bool:
        return (self.resource_type in (ResourceType.ANY, binding.resource_type) and self._names(binding)
                and self.principal in (None, binding.principal) and self.host in (None, binding.host)
                and self.operation in (AclOperation.ANY, binding.operation)
                and self.permission in (AclPermissionType.ANY, binding.permission))

    def _names(self, binding: AclBinding) -> bool:
        """Return whether the name and its pattern fit. LITERAL and PREFIXED ask for the binding's own name, MATCH for what the
        binding is about."""
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, binding.pattern_type):
            return False
        if self.name is None:
            return True
        return binding.covers(self.name) if self.pattern_type == PatternType.MATCH else self.name == binding.name
