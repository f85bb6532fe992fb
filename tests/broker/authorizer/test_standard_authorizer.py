"""Access lists by Kafka's rules (KIP-11, KIP-290, KIP-679), and the index against a walk through all bindings."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minikafka.broker.handlers  # noqa: F401  (fills the tables)
from minikafka.broker.authorizer.acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from minikafka.broker.authorizer.acl_control_manager import create_acls, delete_acls
from minikafka.broker.authorizer.api.rules import FREE, GUARDS
from minikafka.broker.authorizer.standard_authorizer import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    IMPLIED_BY,
    SUPER_USER,
    Requester,
    StandardAuthorizer,
    audit_line,
    authorizer_of,
)
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.server.registry import CLIENTS, HANDLERS

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = (AclOperation[n] for n in "READ WRITE CREATE DELETE ALTER DESCRIBE".split())
ALL, ALTER_CONFIGS, DESCRIBE_CONFIGS = AclOperation.ALL, AclOperation.ALTER_CONFIGS, AclOperation.DESCRIBE_CONFIGS
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LITERAL, PREFIXED, MATCH, ANY = PatternType.LITERAL, PatternType.PREFIXED, PatternType.MATCH, PatternType.ANY
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
ADA, EVE = Requester("User:ada", "10.0.0.1"), Requester("User:eve", "10.0.0.2")


def acl(name: str, operation: int = READ, permission: int = ALLOW, *, pattern: int = LITERAL, who: str = "User:ada",
        host: str = "*", kind: int = TOPIC) -> AclBinding:
    return AclBinding(kind, name, pattern, who, host, operation, permission)


def authorizer(*acls: AclBinding, super_users: frozenset[str] = frozenset(), allow: bool = False) -> StandardAuthorizer:
    made = StandardAuthorizer(super_users, allow)
    for number, one in enumerate(acls):
        made.add_acl(UUID(int=number), one)
    return made


@pytest.mark.parametrize("acls, name, allowed", [
    ([acl("t")], "t", True), ([acl("t")], "tt", False), ([acl("*")], "t", True), ([acl("t", pattern=PREFIXED)], "tt", True),
    ([acl("tt", pattern=PREFIXED)], "t", False), ([acl("*", pattern=PREFIXED)], "t", False),
    ([acl("t", kind=GROUP)], "t", False),
    ([acl("t", who="User:*")], "t", True), ([acl("t", who="User:eve")], "t", False), ([acl("t", who="Group:ada")], "t", False),
    ([acl("t", host="10.0.0.1")], "t", True), ([acl("t", host="10.0.0.2")], "t", False), ([acl("t", ALL)], "t", True),
    ([acl("t"), acl("t", permission=DENY)], "t", False), ([acl("t"), acl("*", ALL, DENY)], "t", False),
    ([acl("*"), acl("t", permission=DENY, pattern=PREFIXED)], "t", False), ([acl("t"), acl("u", permission=DENY)], "t", True),
    ([acl("t"), acl("t", permission=DENY, host="10.0.0.2")], "t", True), ([acl("t"), acl("t", WRITE, DENY)], "t", True),
])
def test_read(acls: list[AclBinding], name: str, allowed: bool) -> None:
    """Fails if a pattern, a principal, a host or an operation means something else, or allowing wins over denying (I-ACL-1)."""
    assert authorizer(*acls).authorize(ADA, READ, TOPIC, name).allowed == allowed


@pytest.mark.parametrize("given_, implied", [
    *((one, DESCRIBE) for one in (READ, WRITE, DELETE, ALTER, DESCRIBE, ALL)), (ALTER_CONFIGS, DESCRIBE_CONFIGS)])
def test_some_operations_imply_another(given_: int, implied: int) -> None:
    """Fails if who may read may not describe; or if denying an operation denies what allowing it implies (I-ACL-2)."""
    assert authorizer(acl("t", given_)).authorize(ADA, implied, TOPIC, "t").allowed
    denied = authorizer(acl("t", given_, DENY), acl("t", implied)).authorize(ADA, implied, TOPIC, "t").allowed
    assert denied == (given_ not in (implied, ALL))
    assert not authorizer(acl("t", CREATE), acl("t", DESCRIBE_CONFIGS)).authorize(ADA, DESCRIBE, TOPIC, "t").allowed


def test_who_decides_where_no_binding_fits() -> None:
    """Fails if a super user is denied, or allow.everyone.if.no.acl.found counts where there is a binding about the resource."""
    some = authorizer(acl("t", who="User:eve"), acl("t", ALL, DENY), super_users=frozenset({"User:ada"}), allow=True)
    assert some.authorize(ADA, READ, TOPIC, "t") is SUPER_USER
    assert some.authorize(Requester("User:bob", "h"), READ, TOPIC, "t") is DEFAULT_DENY
    assert some.authorize(EVE, WRITE, TOPIC, "other") is DEFAULT_ALLOW
    assert authorizer().authorize(EVE, WRITE, TOPIC, "other") is DEFAULT_DENY


@pytest.mark.parametrize("acls, allowed", [
    ([], False), ([acl("t")], False), ([acl("t", WRITE)], True), ([acl("t", ALL)], True), ([acl("*", WRITE)], True),
    ([acl("t", WRITE, who="User:eve")], False), ([acl("*", WRITE), acl("t", WRITE, DENY)], True),
    ([acl("t", WRITE), acl("*", WRITE, DENY)], False),
    ([acl("t", WRITE), acl("t", ALL, DENY)], False), ([acl("tt", WRITE), acl("t", WRITE, DENY, pattern=PREFIXED)], False),
    ([acl("t", WRITE), acl("tt", WRITE, DENY, pattern=PREFIXED)], True),
    ([acl("t", WRITE, pattern=PREFIXED), acl("t", WRITE, DENY)], True),
    ([acl("t", WRITE), acl("t", WRITE, DENY, host="10.0.0.2")], True),
])
def test_some_resource_of_a_type(acls: list[AclBinding], allowed: bool) -> None:
    """Fails if a producer without a topic gets a producer id, or one with a topic gets none (KIP-679)."""
    assert authorizer(*acls).authorize_by_resource_type(ADA, WRITE, TOPIC) == allowed


NAMES = st.text("ab*", min_size=1, max_size=4)
BINDINGS = st.builds(AclBinding, st.sampled_from([TOPIC, GROUP]), NAMES, st.sampled_from([LITERAL, PREFIXED]),
                     st.sampled_from(["User:ada", "User:eve", "User:*"]), st.sampled_from(["*", "10.0.0.1"]),
                     st.sampled_from([ALL, READ, DESCRIBE]), st.sampled_from([ALLOW, DENY]))


@given(st.lists(BINDINGS, max_size=12), st.sets(st.integers(0, 11)), NAMES, st.sampled_from([READ, DESCRIBE]),
       st.sampled_from([ADA, EVE]), st.booleans())
def test_the_index_finds_what_a_walk_finds(acls: list[AclBinding], gone: set[int], name: str, operation: int, who: Requester,
                                           allow: bool) -> None:
    """Fails if a binding is missed, found without covering the name, or still there after it was removed."""
    acls = list(dict.fromkeys(acls))
    made = authorizer(*acls, allow=allow)
    for number in gone & set(range(len(acls))):
        made.remove_acl(UUID(int=number))
    about = [a for n, a in enumerate(acls) if n not in gone and a.resource_type == TOPIC and a.covers(name)]
    mine = [a for a in about if a.principal in (who.principal, "User:*") and a.host in (who.host, "*")]
    denied = any(a.permission == DENY and a.operation in (ALL, operation) for a in mine)
    allowed = any(a.permission == ALLOW and a.operation in (ALL, operation, *IMPLIED_BY.get(operation, ())) for a in mine)
    assert made.authorize(who, operation, TOPIC, name).allowed == (not denied and allowed or not about and allow)
    assert list(made.acls.values()) == [a for n, a in enumerate(acls) if n not in gone]


@pytest.mark.parametrize("filter_, matched", [
    (AclBindingFilter(), {0, 1, 2, 3}), (AclBindingFilter(name="ta"), {0}), (AclBindingFilter(TOPIC, "ta", MATCH), {0, 1, 2}),
    (AclBindingFilter(TOPIC, "t", PREFIXED), {1}), (AclBindingFilter(pattern_type=LITERAL), {0, 2, 3}),
    (AclBindingFilter(GROUP), {3}), (AclBindingFilter(principal="User:eve"), {3}), (AclBindingFilter(operation=WRITE), {1}),
    (AclBindingFilter(permission=DENY), {2}), (AclBindingFilter(host="10.0.0.1"), {3}), (AclBindingFilter(name="*"), {2}),
    (AclBindingFilter(principal="User:*"), set())])
def test_filters(filter_: AclBindingFilter, matched: set[int]) -> None:
    """Fails if a filter means something else (KIP-290): LITERAL and PREFIXED compare names, MATCH asks what covers the name."""
    acls = [acl("ta"), acl("t", WRITE, pattern=PREFIXED), acl("*", permission=DENY),
            acl("g", kind=GROUP, who="User:eve", host="10.0.0.1")]
    assert {n for n, one in enumerate(acls) if filter_.matches(one)} == matched


def test_equal_bindings_are_one() -> None:
    """Fails if a binding is written twice, one row spoils the others, or two filters remove a binding twice (I-ACL-3)."""
    image, ids = MetadataImage(), (UUID(int=n) for n in range(100))
    wanted = [acl("t"), acl("t"), acl("x", kind=CLUSTER), acl(""), acl("kafka-cluster", kind=CLUSTER)]
    for again in (False, True):
        made = list(create_acls(image, wanted, lambda: next(ids)))
        assert [len(records) for records, _ in made] == ([0] * 5 if again else [1, 0, 0, 0, 1])
        assert [refusal and refusal.message for _, refusal in made] == [
            None, None, "The only valid name for the CLUSTER resource is kafka-cluster", "Invalid empty resource name", None]
        for records, _ in made:
            image.replay(records, 0, 0)
    gone = list(delete_acls(image, [AclBindingFilter(TOPIC), AclBindingFilter(), AclBindingFilter(GROUP)]))
    assert [(len(records), found) for records, found in gone] == [(1, [wanted[0]]), (1, [wanted[0], wanted[4]]), (0, [])]


def test_each_api_of_clients_has_a_rule() -> None:
    """Fails if a new API is served to whoever has logged in, and nobody has said which right it needs (I-ACL-5)."""
    free = {request.API_KEY for request in FREE}
    assert {*GUARDS} | free == {*HANDLERS[CLIENTS]} and not free & {*GUARDS}


def test_the_setting() -> None:
    """Fails if a super user of the setting is another one, or there is an authorizer without the setting."""
    assert authorizer_of("", "User:ada", False) is None
    made = authorizer_of("org.apache.kafka.metadata.authorizer.StandardAuthorizer", " User:CN=a,O=b ;User:ada;", True)
    assert made is not None and made.super_users == {"User:CN=a,O=b", "User:ada"} and made.no_acl_rule is DEFAULT_ALLOW


def test_a_refusal_has_kafkas_line() -> None:
    """Fails if a tool that reads Kafka's audit log cannot read ours."""
    denied = authorizer(acl("t", ALL, DENY)).authorize(ADA, READ, TOPIC, "t1")
    assert audit_line(ADA, READ, TOPIC, "t1", "Fetch", denied) == (
        "Principal = User:ada is Denied operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:t1 for request = Fetch "
        "with resourceRefCount = 1 based on rule DefaultDeny")
    rule = authorizer(acl("t", ALL, DENY)).authorize(ADA, READ, TOPIC, "t")
    assert str(rule) == ("MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=t, patternType=LITERAL, "
                         "principal=User:ada, host=*, operation=ALL, permissionType=DENY))")
