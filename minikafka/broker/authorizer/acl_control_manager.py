"""Which records create and delete bindings: the active controller's decisions, as functions of its image.

Owns: what a new binding must be, and the order of the verdicts, one for each row of a request.
Invariants
  I-ACL-3  two bindings with equal fields are one: a binding that is there already gets no record.
  A refused row makes no record, and the other rows are decided without it.
Source: org.apache.kafka.controller.AclControlManager, kafka.server.AclApis; KIP-140, KIP-801.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import TypeAlias

from minikafka.broker.authorizer.acl import (
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from minikafka.broker.authorizer.standard_authorizer import StandardAuthorizer
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    AccessControlEntryRecord,
    MetadataRecord,
    RemoveAccessControlEntryRecord,
    Uuid,
)
from minikafka.protocol.errors import Err, KafkaError

MAX_RECORDS_PER_USER_OP = 10_000
Created: TypeAlias = tuple[list[MetadataRecord], KafkaError | None]
Deleted: TypeAlias = tuple[list[MetadataRecord], list[AclBinding] | KafkaError]


def binding_of(record: AccessControlEntryRecord) -> AclBinding:
    """Return the binding that a record creates."""
    return AclBinding(record.resource_type, record.resource_name, record.pattern_type, record.principal, record.host,
                      record.operation, record.permission_type)


def follow(authorizer: StandardAuthorizer, image: MetadataImage, changed: Iterable[Uuid]) -> None:
    """Let the authorizer know the bindings of the image; `changed` are the ids of those that were created or removed."""
    for acl_id in changed:
        if acl_id in authorizer.acls:
            authorizer.remove_acl(acl_id)
        if (record := image.acls.get(acl_id)) is not None:
            authorizer.add_acl(acl_id, binding_of(record))


def create_acls(image: MetadataImage, acls: Iterable[AclBinding], new_id: Callable[[], Uuid]) -> Iterator[Created]:
    """Yield the record and the verdict of each new binding; None: it is there now."""
    existing = {binding_of(record) for record in image.acls.values()}
    for acl in acls:
        if (text := _why_not(acl)) is not None:
            yield [], KafkaError(Err.INVALID_REQUEST, text)
        elif acl in existing:
            yield [], None
        else:
            existing.add(acl)
            yield [AccessControlEntryRecord(new_id(), acl.resource_type, acl.name, acl.pattern_type, acl.principal, acl.host,
                                            acl.operation, acl.permission)], None


def _why_not(acl: AclBinding) -> str | None:
    """Return why there can be no such binding, in Kafka's words; None if there can."""
    if acl.resource_type == ResourceType.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    for what, number, kind in (("resourceType", acl.resource_type, ResourceType), ("patternType", acl.pattern_type, PatternType),
                               ("operation", acl.operation, AclOperation), ("permissionType", acl.permission, AclPermissionType)):
        if not is_known(kind, number):
            return f"Invalid {what} UNKNOWN"
    if ":" not in acl.principal:
        return (f"Could not parse principal from `{acl.principal}` (no colon is present separating the principal type from the "
                "principal name)")
    return None


def is_known(kind: type[IntEnum], number: int) -> bool:
    """Return whether this enumeration has a meaning for the number."""
    return any(number == one for one in kind if one)


def delete_acls(image: MetadataImage, filters: Iterable[AclBindingFilter]) -> Iterator[Deleted]:
    """Yield, for each filter, the records and the bindings that it deletes. What two filters match is listed by both, and
    removed once."""
    removed: set[Uuid] = set()
    for one in filters:
        if not (is_known(ResourceType, one.resource_type) and is_known(PatternType, one.pattern_type)):
            yield [], KafkaError(Err.INVALID_REQUEST, "Unknown patternFilter.")
            continue
        if not (is_known(AclOperation, one.operation) and is_known(AclPermissionType, one.permission)):
            yield [], KafkaError(Err.INVALID_REQUEST, "Unknown entryFilter.")
            continue
        found = {acl_id: acl for acl_id, record in image.acls.items() if one.matches(acl := binding_of(record))}
        if len(removed | found.keys()) > MAX_RECORDS_PER_USER_OP:
            yield [], KafkaError(Err.INVALID_REQUEST, f"Cannot remove more than {MAX_RECORDS_PER_USER_OP} acls in a single "
                                 "delete operation.")
            continue
        records: list[MetadataRecord] = [RemoveAccessControlEntryRecord(acl_id) for acl_id in found if acl_id not in removed]
        removed |= found.keys()
        yield records, list(found.values())
