"""AlterClientQuotas and DescribeClientQuotas: what may be promised to whom, and who was promised what.

A quota belongs to an entity: a user, a client id, both, or an IP address; a name of None is the default of its type,
which counts for everybody without a quota of their own. Which one counts for a client is broker/quotas/throttling.py's.

Owns: alter_quotas(), describe_quotas(). They read the image; the first makes records, neither changes anything.
Invariants: I-QUOTA-1 an entity is answered once; what is wrong with one is no matter of the others.
What Kafka does differently: an ip may be any name that its resolver knows, where here it is an address or `localhost`;
answers come in the order of a hash table. Like Kafka's, an entity that is named twice is refused only from the second
time on: what was asked for it first is done.
Source: ClientQuotaControlManager, ClientQuotasImage, QuotaConfig; KIP-546, KIP-599, KIP-612.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

from minikafka.broker.metadata.image import MetadataImage, QuotaEntity, quota_entity
from minikafka.broker.metadata.records import ClientQuotaRecord, MetadataRecord, QuotaEntityData
from minikafka.protocol.errors import Err, KafkaError

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_RATE, CONSUMER_RATE = "producer_byte_rate", "consumer_byte_rate"
MUTATION_RATE, REQUEST_PERCENTAGE = "controller_mutation_rate", "request_percentage"
CONNECTION_RATE = "connection_creation_rate"
WHOLE_UP_TO: dict[str, tuple[str, float] | None] = {        # None: any number
    PRODUCER_RATE: ("a LONG", 2.0**63), CONSUMER_RATE: ("a LONG", 2.0**63), MUTATION_RATE: None,
    REQUEST_PERCENTAGE: None, CONNECTION_RATE: ("an INT", 2.0**31 - 1)}
OF_CLIENTS = (PRODUCER_RATE, CONSUMER_RATE, MUTATION_RATE, REQUEST_PERCENTAGE)
FRACTION = 1e-6         # what Kafka takes for a rounding error
EXACT, DEFAULT, SPECIFIED = 0, 1, 2         # match types of a filter


# --- altering -----------------------------------------------------------------------------------------------------


def alter_quotas(image: MetadataImage,
                 request: AlterClientQuotasRequest) -> tuple[list[MetadataRecord], AlterClientQuotasResponse]:
    """Decide on a decoded AlterClientQuotasRequest: the records to commit, and the answer for afterwards."""
    verdicts: dict[QuotaEntity, KafkaError | None] = {}
    records: list[MetadataRecord] = []
    for entry in request.entries:
        entity = entity_of(entry)
        keys = [op.key for op in entry.ops]
        if entity in verdicts or len(set(keys)) < len(keys):
            verdicts[entity] = _invalid(f"Ignoring duplicate entity {_shown(entity)}")
            continue
        try:
            records += _alter(image, entity, {op.key: None if op.remove else op.value for op in entry.ops})
            verdicts[entity] = None
        except KafkaError as refused:
            verdicts[entity] = refused
    return [] if request.validate_only else records, _response(verdicts)


def refuse_quotas(request: AlterClientQuotasRequest, code: Err) -> AlterClientQuotasResponse:
    """One error for every entity."""
    return _response({entity_of(entry): KafkaError(code) for entry in request.entries})


def entity_of(entry: Any) -> QuotaEntity:
    """The entity of one entry of a request."""
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)


def _response(verdicts: Mapping[QuotaEntity, KafkaError | None]) -> AlterClientQuotasResponse:
    row = AlterClientQuotasResponse.EntryData
    return AlterClientQuotasResponse(throttle_time_ms=0, entries=[
        row(error_code=int(refused.code) if refused else 0, error_message=refused.message if refused else None,
            entity=[row.EntityData(entity_type=kind, entity_name=name) for kind, name in entity])
        for entity, refused in verdicts.items()])


def _shown(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _alter(image: MetadataImage, entity: QuotaEntity, wanted: dict[str, float | None]) -> list[MetadataRecord]:
    """The records of what changes; raises KafkaError in Kafka's words."""
    allowed = _keys_for(entity)
    present = image.client_quotas.get(entity, {})
    parts = tuple(QuotaEntityData(kind, name) for kind, name in entity)
    records: list[MetadataRecord] = []
    for key, value in wanted.items():
        if value is None:
            records += [ClientQuotaRecord(parts, key, 0.0, True)] if key in present else []
            continue
        _check_value(key, value, allowed)
        if present.get(key) != value:
            records.append(ClientQuotaRecord(parts, key, value, False))
    return records


def _keys_for(entity: QuotaEntity) -> tuple[str, ...]:
    """The quotas that this entity may have."""
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    names = dict(entity)
    if IP not in names:
        return OF_CLIENTS
    if len(names) > 1:      # Kafka's text lacks the blank, too
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    if not is_address(names[IP]):
        raise _invalid(f"{names[IP]} is not a valid IP or resolvable host.")
    return (CONNECTION_RATE,)


def is_address(name: str | None) -> bool:
    """Whether a quota can be given to this host; None is the default of all."""
    try:
        return name in (None, "localhost") or ip_address(str(name)) is not None
    except ValueError:
        return False


def _check_value(key: str, value: float, allowed: tuple[str, ...]) -> None:
    if key not in allowed:
        raise _invalid(f"Invalid configuration key {key}")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    whole = WHOLE_UP_TO[key]
    if whole is None:
        return
    if value > whole[1]:
        raise _invalid(f"Proposed value for {key} is too large for {whole[0]}.")
    if value % 1 > FRACTION:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(text: str) -> KafkaError:
    return KafkaError(Err.INVALID_REQUEST, text)


# --- describing ---------------------------------------------------------------------------------------------------


def describe_quotas(image: MetadataImage, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """The entities that a filter finds; no entries at all (null) if the filter is refused."""
    try:
        exact, specified = _filter(request.components)
    except KafkaError as refused:
        return DescribeClientQuotasResponse(throttle_time_ms=0, error_code=int(refused.code),
                                            error_message=refused.message, entries=None)
    row = DescribeClientQuotasResponse.EntryData
    return DescribeClientQuotasResponse(throttle_time_ms=0, error_code=0, error_message="", entries=[
        row(entity=[row.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[row.ValueData(key=key, value=value) for key, value in quotas.items()])
        for entity, quotas in image.client_quotas.items()
        if _matches(dict(entity), exact, specified, request.strict)])


def _filter(components: list[Any]) -> tuple[dict[str, str | None], set[str]]:
    """(types with the name they must have, types that must be there whatever their name)."""
    exact: dict[str, str | None] = {}
    specified: set[str] = set()
    for c in components:
        kind = c.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in exact or kind in specified:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(Err.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        _check_match(c.match_type, c.match)
        if c.match_type == SPECIFIED:
            specified.add(kind)
        else:
            exact[kind] = c.match
    if IP in (types := {*exact, *specified}) and len(types) > 1:
        raise _invalid("Invalid entity filter component combination. IP filter component should not be used with user "
                       "or clientId filter component.")
    return exact, specified


def _check_match(kind: int, match: str | None) -> None:
    names = {EXACT: "EXACT", DEFAULT: "DEFAULT", SPECIFIED: "SPECIFIED"}
    if kind not in names:
        raise _invalid(f"Unknown match type {kind}")
    if kind == EXACT and match is None:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if kind != EXACT and match is not None:
        raise _invalid(f"Request specified MATCH_TYPE_{names[kind]}, but also specified a match string.")


def _matches(entity: dict[str, str | None], exact: dict[str, str | None], specified: set[str], strict: bool) -> bool:
    if strict and len(entity) != len(exact) + len(specified):
        return False
    return specified <= entity.keys() and all(kind in entity and entity[kind] == name for kind, name in exact.items())
