"""AlterClientQuotas and DescribeClientQuotas: which entity may have which quota, and which quotas are set.

A quota belongs to an entity: a user, a client id, both, or an IP address; a name of None is the default of its type, which
counts for every entity of this type that has no quota of its own. broker/quotas/throttling.py finds the one that counts for
a client.

Owns: alter_quotas(), which makes records, and describe_quotas(). Both read the image and change nothing.
Invariants: each entity is answered once; a refusal of one entity does not touch the others.
What Kafka does differently: an ip may be any name that Kafka's resolver knows; here it is an address or `localhost`. Kafka
answers in the order of a hash table. As in Kafka, of an entity that is named twice the first alteration is done, and the
second is refused.
Source: ClientQuotaControlManager, ClientQuotasImage, QuotaConfig; KIP-546, KIP-599, KIP-612.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from minikafka.broker.metadata.image import MetadataImage, QuotaEntity
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


@dataclass(frozen=True, slots=True)
class QuotaAlteration:
    """The new quotas of one entity, as (name, value); None removes the quota."""

    entity: QuotaEntity
    quotas: tuple[tuple[str, float | None], ...]


Verdict = tuple[QuotaEntity, KafkaError | None]             # None: done


def alter_quotas(image: MetadataImage,
                 requested: Sequence[QuotaAlteration]) -> Iterator[tuple[list[MetadataRecord], Verdict]]:
    """Yield the records and the verdict of each alteration; of an entity that is named twice the last verdict is the answer."""
    seen: set[QuotaEntity] = set()
    for wanted in requested:
        entity, quotas = wanted.entity, dict(wanted.quotas)
        if entity in seen or len(quotas) < len(wanted.quotas):
            yield [], (entity, _invalid(f"Ignoring duplicate entity {_shown(entity)}"))
        else:
            try:
                records = _alter(image, entity, quotas)
            except KafkaError as refusal:
                yield [], (entity, refusal)
            else:
                yield records, (entity, None)
        seen.add(entity)


def _shown(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"


def _alter(image: MetadataImage, entity: QuotaEntity, wanted: dict[str, float | None]) -> list[MetadataRecord]:
    """Return the records of the quotas that change; KafkaError in Kafka's words if one is refused."""
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
    """Return the names of the quotas that this entity may have; KafkaError if there is no such entity."""
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
    """Return whether this IP address can have a quota; None is the default of all addresses."""
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


@dataclass(frozen=True, slots=True)
class FilterComponent:
    """A condition for entities: a part of type `kind` whose name is EXACT, the DEFAULT, or any (SPECIFIED)."""

    kind: str
    match_type: int
    match: str | None


def describe_quotas(image: MetadataImage, components: Sequence[FilterComponent],
                    strict: bool) -> list[tuple[QuotaEntity, dict[str, float]]]:
    """Return the entities that a filter finds, with their quotas; KafkaError if the filter is refused. `strict`: an entity with
    parts that the filter does not name is not found."""
    exact, specified = _filter(components)
    return [(entity, quotas) for entity, quotas in image.client_quotas.items()
            if _matches(dict(entity), exact, specified, strict)]


def _filter(components: Sequence[FilterComponent]) -> tuple[dict[str, str | None], set[str]]:
    """Return (types with the name they must have, types that must be there whatever their name)."""
    exact: dict[str, str | None] = {}
    specified: set[str] = set()
    for c in components:
        if not c.kind:
            raise _invalid("Invalid empty entity type.")
        if c.kind in exact or c.kind in specified:
            raise _invalid(f"Entity type {c.kind} cannot appear more than once in the filter.")
        if c.kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(Err.UNSUPPORTED_VERSION, f"Unsupported entity type {c.kind}")
        _check_match(c.match_type, c.match)
        if c.match_type == SPECIFIED:
            specified.add(c.kind)
        else:
            exact[c.kind] = c.match
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
