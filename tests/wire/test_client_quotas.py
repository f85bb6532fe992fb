"""AlterClientQuotas and DescribeClientQuotas by value, as Apache Kafka 4.3 answers them; both engines must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from minikafka import Cluster
from minikafka.protocol.errors import Err
from tests.wire.raw import Raw

PRODUCE, FETCH, SHARE, MUTATE = "producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"
CONNECT = "connection_creation_rate"
USER, CLIENT, IP = "user", "client-id", "ip"
EXACT, DEFAULT, ANY = 0, 1, 2
Entity = dict[str, str | None]


@pytest.fixture
def raw(cluster: Cluster) -> Iterator[Raw]:
    """A connection to a broker; the quotas that there are at the end are taken away again."""
    with Raw(cluster.bootstrap) as connection:
        yield connection
        found = describe(connection)
        alter(connection, *[(entity, dict.fromkeys(quotas)) for entity, quotas in found])
        for address in cluster.bootstrap.split(","):
            with Raw(address) as other:
                cluster.wait(lambda other=other: describe(other) == [], timeout=60)


def alter(raw: Raw, *wanted: tuple[Entity, Any], version: int = 1, check: bool = False) -> list[Any]:
    """(code, text, entity) of each answer; the order is a hash table's. A value of None removes."""
    entry = AlterClientQuotasRequest.EntryData
    rows = [entry(entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
                  ops=[entry.OpData(key=key, value=value or 0.0, remove=value is None)
                       for key, value in (quotas.items() if isinstance(quotas, dict) else quotas)])
            for entity, quotas in wanted]
    answer = raw.ask(AlterClientQuotasRequest(entries=rows, validate_only=check), version)
    assert answer.throttle_time_ms == 0
    found = [(e.error_code, e.error_message, {p.entity_type: p.entity_name for p in e.entity}) for e in answer.entries]
    return sorted(found, key=lambda row: sorted(map(str, row[2].items())))


def done(*entities: Entity) -> list[Any]:
    return [(0, None, entity) for entity in sorted(entities, key=lambda entity: sorted(map(str, entity.items())))]


def ask(raw: Raw, *filters: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> Any:
    part = DescribeClientQuotasRequest.ComponentData
    parts = [part(entity_type=kind, match_type=how, match=name) for kind, how, name in filters]
    return raw.ask(DescribeClientQuotasRequest(components=parts, strict=strict), version)


def describe(raw: Raw, *filters: tuple[str, int, str | None], strict: bool = False, version: int = 1) -> list[Any]:
    """(entity, quotas) of all that were found."""
    answer = ask(raw, *filters, strict=strict, version=version)
    assert (answer.throttle_time_ms, answer.error_code, answer.error_message) == (0, 0, "")
    found = [({p.entity_type: p.entity_name for p in e.entity}, {v.key: v.value for v in e.values}) for e in answer.entries]
    return sorted(found, key=lambda row: sorted(map(str, row[0].items())))


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_set_is_found_until_it_is_removed(cluster: Cluster, raw: Raw, name: str, version: int) -> None:
    """Fails if a version is not served, a value is lost, or a broker does not learn of it."""
    entity = {USER: name, CLIENT: "ü"}
    quotas = {PRODUCE: 1024.0, FETCH: 2.0**53, SHARE: 12.5, MUTATE: 0.25}
    assert alter(raw, (entity, quotas), version=version) == done(entity)
    filters = (USER, EXACT, name), (CLIENT, EXACT, "ü")
    for address in cluster.bootstrap.split(","):
        with Raw(address) as other:
            cluster.wait(lambda other=other: describe(other, *filters, version=version) == [(entity, quotas)], timeout=60)
    assert alter(raw, (entity, {PRODUCE: 7.0, FETCH: None, SHARE: 12.5}), version=version) == done(entity)
    left = {PRODUCE: 7.0, SHARE: 12.5, MUTATE: 0.25}
    cluster.wait(lambda: describe(raw, *filters) == [(entity, left)], timeout=60)
    assert alter(raw, (entity, dict.fromkeys([PRODUCE, FETCH, SHARE, MUTATE, "unknown"]))) == done(entity)
    cluster.wait(lambda: describe(raw, *filters) == [], timeout=60)


@pytest.mark.parametrize(("entity", "quotas", "text"), [
    ({}, {PRODUCE: 1.0}, "Invalid empty client quota entity"),
    ({"nope": "x"}, {PRODUCE: 1.0}, "Unhandled client quota entity type: nope"),
    ({USER: ""}, {PRODUCE: 1.0}, "Empty user not supported"),
    ({CLIENT: ""}, {PRODUCE: 1.0}, "Empty client-id not supported"),
    ({IP: ""}, {CONNECT: 1.0}, "Empty ip not supported"),
    ({USER: "a"}, {"nope": 1.0}, "Invalid configuration key nope"),
    ({USER: "a"}, {CONNECT: 1.0}, "Invalid configuration key connection_creation_rate"),
    ({IP: "1.2.3.4"}, {PRODUCE: 1.5}, "Invalid configuration key producer_byte_rate"),
    ({USER: "a"}, {PRODUCE: 0.0}, "Quota producer_byte_rate must be greater than 0"),
    ({CLIENT: None}, {SHARE: -1.0}, "Quota request_percentage must be greater than 0"),
    ({USER: "a"}, {PRODUCE: 1.5}, "producer_byte_rate cannot be a fractional value."),
    ({IP: None}, {CONNECT: 1.5}, "connection_creation_rate cannot be a fractional value."),
    ({USER: "a"}, {FETCH: 9.3e18}, "Proposed value for consumer_byte_rate is too large for a LONG."),
    ({USER: "a"}, {FETCH: float("inf")}, "Proposed value for consumer_byte_rate is too large for a LONG."),
    ({IP: "::1"}, {CONNECT: 2147483648.0}, "Proposed value for connection_creation_rate is too large for an INT."),
    ({IP: "1.2.3.4", USER: "a"}, {PRODUCE: 1.5},
     "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"),
    ({IP: "1.2.3.4", CLIENT: "c"}, {"nope": 1.5},
     "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"),
    ({IP: "300.1.1.1"}, {CONNECT: 1.0}, "300.1.1.1 is not a valid IP or resolvable host."),
    ({IP: "no such host"}, {PRODUCE: 1.0}, "no such host is not a valid IP or resolvable host."),
    ({USER: "a"}, [(PRODUCE, 5.0), (PRODUCE, 5.0)], "Ignoring duplicate entity ClientQuotaEntity(entries={user=a})"),
    ({USER: None, CLIENT: "c"}, [(PRODUCE, 5.0), (PRODUCE, None)],
     "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=c, user=null})"),
    ({USER: "a"}, [(FETCH, 0.0), ("nope", 1.0), (PRODUCE, 1.5)], "Quota consumer_byte_rate must be greater than 0"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refusals(raw: Raw, entity: Entity, quotas: Any, text: str) -> None:
    """Fails if a reason or the order of the checks is another, or if what is refused is written down."""
    for check in (True, False):
        assert alter(raw, (entity, quotas), check=check) == [(Err.INVALID_REQUEST, text, entity)]
    assert describe(raw) == []


@pytest.mark.parametrize(("entity", "quotas"), [
    ({USER: "a"}, {PRODUCE: 1.0000001}), ({USER: "a"}, {PRODUCE: 2.0**63}), ({USER: "a"}, {PRODUCE: float("nan")}),
    ({IP: "localhost"}, {CONNECT: 2147483647.0}), ({IP: "::1"}, {CONNECT: 1.0}), ({USER: "a" * 300}, {SHARE: 1e300}),
    ({USER: "a"}, {"nope": None})], ids=str)
def test_what_is_accepted_and_only_checked(raw: Raw, entity: Entity, quotas: Any) -> None:
    """Fails if a check is stricter than Kafka's, or if it writes something down."""
    assert alter(raw, (entity, quotas), check=True) == done(entity)
    assert describe(raw) == []


def test_one_bad_entity_does_not_hold_up_the_others(cluster: Cluster, raw: Raw, name: str) -> None:
    """Fails if an error spoils the request. An entity that is named twice is refused, yet its first quotas are kept."""
    good, bad, twice = {USER: name}, {USER: ""}, {CLIENT: name, USER: None}
    found = alter(raw, (good, {PRODUCE: 5.0}), (bad, {PRODUCE: 5.0}), (twice, {PRODUCE: 6.0}),
                  ({USER: None, CLIENT: name}, {FETCH: 7.0}))
    text = f"Ignoring duplicate entity ClientQuotaEntity(entries={{client-id={name}, user=null}})"
    assert found == [(Err.INVALID_REQUEST, text, twice), (Err.INVALID_REQUEST, "Empty user not supported", bad), (0, None, good)]
    cluster.wait(lambda: describe(raw) == [(twice, {PRODUCE: 6.0}), (good, {PRODUCE: 5.0})], timeout=60)
    assert alter(raw) == []


def test_of_a_type_named_twice_the_last_name_counts(cluster: Cluster, raw: Raw, name: str) -> None:
    entry = AlterClientQuotasRequest.EntryData
    who = [entry.EntityData(entity_type=USER, entity_name=n) for n in (name, f"{name}-2")]
    row = entry(entity=who, ops=[entry.OpData(key=PRODUCE, value=5.0, remove=False)])
    answer = raw.ask(AlterClientQuotasRequest(entries=[row], validate_only=False), 1)
    assert [(e.error_code, [p.entity_name for p in e.entity]) for e in answer.entries] == [(0, [f"{name}-2"])]
    cluster.wait(lambda: describe(raw) == [({USER: f"{name}-2"}, {PRODUCE: 5.0})], timeout=60)


def test_filters(cluster: Cluster, raw: Raw) -> None:
    """Fails if a default is found by a name, a name by the default, or `strict` lets in more types than the filter names."""
    entities: list[Entity] = [{USER: "a"}, {USER: None}, {USER: "a", CLIENT: "c"}, {USER: "a", CLIENT: None},
                              {USER: None, CLIENT: None}, {CLIENT: "c"}, {CLIENT: None}, {IP: "1.2.3.4"}, {IP: None}]
    quota = {i: float(i + 1) for i in range(len(entities))}
    assert alter(raw, *[(e, {CONNECT if IP in e else MUTATE: quota[i]}) for i, e in enumerate(entities)]) == done(*entities)
    cluster.wait(lambda: len(describe(raw)) == len(entities), timeout=60)

    def found(*filters: tuple[str, int, str | None], strict: bool = False) -> set[int]:
        return {entities.index(entity) for entity, quotas in describe(raw, *filters, strict=strict)
                if list(quotas.values()) == [quota[entities.index(entity)]]}

    assert found() == set(range(9)) and found(strict=True) == set()
    assert found((USER, EXACT, "a")) == {0, 2, 3} and found((USER, EXACT, "a"), strict=True) == {0}
    assert found((USER, DEFAULT, None)) == {1, 4} and found((USER, DEFAULT, None), strict=True) == {1}
    assert found((USER, ANY, None)) == {0, 1, 2, 3, 4} and found((USER, ANY, None), strict=True) == {0, 1}
    assert found((USER, ANY, None), (CLIENT, ANY, None), strict=True) == {2, 3, 4}
    assert found((USER, EXACT, "a"), (CLIENT, DEFAULT, None)) == {3}
    assert found((CLIENT, EXACT, "c")) == {2, 5} and found((CLIENT, EXACT, "")) == set()
    assert found((IP, ANY, None)) == {7, 8} and found((IP, DEFAULT, None), strict=True) == {8}


@pytest.mark.parametrize(("filters", "code", "text"), [
    ([("", ANY, None)], Err.INVALID_REQUEST, "Invalid empty entity type."),
    ([("nope", 7, None), ("nope", ANY, None)], 35, "Unsupported entity type nope"),
    ([(USER, EXACT, None)], Err.INVALID_REQUEST, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
    ([(USER, DEFAULT, "a")], Err.INVALID_REQUEST, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
    ([(USER, ANY, "")], Err.INVALID_REQUEST, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
    ([(USER, 3, None)], Err.INVALID_REQUEST, "Unknown match type 3"),
    ([(USER, -1, "a")], Err.INVALID_REQUEST, "Unknown match type -1"),
    ([(USER, ANY, None), (USER, 3, None)], Err.INVALID_REQUEST, "Entity type user cannot appear more than once in the filter."),
    ([(CLIENT, DEFAULT, None), (IP, ANY, None)], Err.INVALID_REQUEST, "Invalid entity filter component combination. IP filter "
     "component should not be used with user or clientId filter component."),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refused_filters(raw: Raw, filters: list[Any], code: int, text: str) -> None:
    """Fails if a reason is another, or if a refusal comes with entries: Kafka's has null."""
    for version in (0, 1):
        answer = ask(raw, *filters, version=version)
        assert (answer.error_code, answer.error_message, answer.entries) == (code, text, None)
