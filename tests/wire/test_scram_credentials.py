"""AlterUserScramCredentials and DescribeUserScramCredentials by value, as Apache Kafka 4.3 answers; both engines must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest

from minikafka import Cluster
from tests.wire.raw import Raw

SHA_256, SHA_512 = 1, 2
TWICE = "A user credential cannot be altered twice in the same request"
UNKNOWN = "Unknown SCRAM mechanism"
NOBODY = "Attempt to describe a user credential that does not exist: "
Upsertion = tuple[str, int, int]            # user, mechanism, iterations
Deletion = tuple[str, int]


@pytest.fixture
def raw(cluster: Cluster) -> Iterator[Raw]:
    """A connection to a broker; the credentials that there are at the end are taken away again, everywhere."""
    with Raw(cluster.bootstrap) as connection:
        yield connection
        for mechanism in (SHA_256, SHA_512):
            found = [(user, mechanism) for user, has in described(connection).items() if mechanism in dict(has[2])]
            alter(connection, deletions=found)
        for address in cluster.bootstrap.split(","):
            with Raw(address) as other:
                cluster.wait(lambda other=other: described(other) == {}, timeout=60)


def alter(raw: Raw, *upsertions: Upsertion, deletions: list[Deletion] | None = None, password: bytes = b"pw") -> Any:
    """user -> (code, text)"""
    request = AlterUserScramCredentialsRequest
    new = [request.ScramCredentialUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=b"salt",
                                            salted_password=password) for name, mechanism, iterations in upsertions]
    gone = [request.ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in deletions or []]
    answer = raw.ask(request(deletions=gone, upsertions=new), 0)
    assert answer.throttle_time_ms == 0
    found = {r.user: (r.error_code, r.error_message) for r in answer.results}
    assert len(found) == len(answer.results), "a user is answered once"
    return found


def described(raw: Raw, *users: str, null: bool = False) -> dict[str, Any]:
    """user -> (code, text, [(mechanism, iterations)]); Apache's order of mechanisms is another in every broker."""
    request = DescribeUserScramCredentialsRequest
    answer = raw.ask(request(users=None if null else [request.UserName(name=name) for name in users]), 0)
    assert (answer.throttle_time_ms, answer.error_code, answer.error_message) == (0, 0, "")
    found = {r.user: (r.error_code, r.error_message, sorted((i.mechanism, i.iterations) for i in r.credential_infos))
             for r in answer.results}
    assert len(found) == len(answer.results)
    return found


def test_what_is_stored_is_described_everywhere_until_it_is_removed(cluster: Cluster, raw: Raw, name: str) -> None:
    """Fails if a credential is lost, does not replace the one before it, or takes the other mechanism's place."""
    assert alter(raw, (name, SHA_256, 4096)) == {name: (0, None)}
    assert alter(raw, (name, SHA_512, 16384), ("ü", SHA_256, 5000)) == {name: (0, None), "ü": (0, None)}
    assert alter(raw, (name, SHA_256, 8192)) == {name: (0, None)}
    expected = {name: (0, "", [(SHA_256, 8192), (SHA_512, 16384)]), "ü": (0, "", [(SHA_256, 5000)])}
    for address in cluster.bootstrap.split(","):
        with Raw(address) as other:
            cluster.wait(lambda other=other: described(other) == expected, timeout=60)
            assert described(other, null=True) == described(other, "ü", name) == expected
    assert alter(raw, ("ü", SHA_512, 4096), deletions=[(name, SHA_256)]) == {name: (0, None), "ü": (0, None)}
    left = {name: (0, "", [(SHA_512, 16384)]), "ü": (0, "", [(SHA_256, 5000), (SHA_512, 4096)])}
    cluster.wait(lambda: described(raw) == left, timeout=60)


def test_users_that_cannot_be_described(cluster: Cluster, raw: Raw, name: str) -> None:
    """Fails if one bad name spoils the others."""
    alter(raw, (name, SHA_256, 4096), ("twice", SHA_256, 4096))
    cluster.wait(lambda: len(described(raw)) == 2, timeout=60)
    text = "Cannot describe SCRAM credentials for the same user twice in a single request: "
    assert described(raw, name, "twice", "nobody", "", "twice", "twice") == {
        name: (0, "", [(SHA_256, 4096)]), "twice": (92, f"{text}twice", []), "nobody": (91, f"{NOBODY}nobody", []),
        "": (91, NOBODY, [])}


def test_refusals_user_by_user(cluster: Cluster, raw: Raw, name: str) -> None:
    """Fails if a reason is another, or if what is refused is stored; what is right beside it is."""
    found = alter(raw, ("few", SHA_256, 4095), ("many", SHA_512, 16385), ("", SHA_256, 1), ("zero", 0, 5000),
                  ("three", 3, 5000), ("negative", -1, 5000), (name, SHA_512, 16384),
                  deletions=[("nobody", SHA_256), ("void", 9)])
    assert found == {"few": (93, "Too few iterations"), "many": (93, "Too many iterations"), "zero": (33, UNKNOWN),
                     "": (93, "Username must not be empty"), "three": (33, UNKNOWN), "negative": (33, UNKNOWN),
                     "nobody": (91, "Attempt to delete a user credential that does not exist"), "void": (33, UNKNOWN),
                     name: (0, None)}
    cluster.wait(lambda: described(raw) == {name: (0, "", [(SHA_512, 16384)])}, timeout=60)
    assert alter(raw, (name, SHA_256, 4096), password=b"") == {name: (-1, None)}
    assert alter(raw) == {}


@pytest.mark.parametrize(("upsertions", "deletions"), [
    ([SHA_256, SHA_256], []), ([SHA_256, SHA_512], []), ([SHA_512], [SHA_512]), ([SHA_256], [SHA_512]),
    ([], [SHA_512, SHA_512]), ([SHA_256] * 3, []), ([SHA_256], [SHA_512, SHA_512])], ids=str)
def test_a_user_who_is_named_twice_is_not_altered(cluster: Cluster, raw: Raw, name: str, upsertions: list[int],
                                                  deletions: list[int]) -> None:
    """Fails if one half of a contradiction is done."""
    alter(raw, (name, SHA_512, 4096))
    cluster.wait(lambda: described(raw) == {name: (0, "", [(SHA_512, 4096)])}, timeout=60)
    assert alter(raw, *[(name, m, 5000) for m in upsertions], ("other", SHA_256, 4096),
                 deletions=[(name, m) for m in deletions]) == {name: (92, TWICE), "other": (0, None)}
    cluster.wait(lambda: described(raw) == {name: (0, "", [(SHA_512, 4096)]), "other": (0, "", [(SHA_256, 4096)])},
                 timeout=60)


def test_the_first_refusal_of_a_user_stays(raw: Raw) -> None:
    """Fails if a second try in the same request changes the verdict."""
    assert alter(raw, ("v", SHA_256, 4095), ("v", SHA_256, 5000)) == {"v": (93, "Too few iterations")}
    assert alter(raw, ("v", SHA_256, 5000), deletions=[("v", 7)]) == {"v": (33, UNKNOWN)}
    assert described(raw) == {}
