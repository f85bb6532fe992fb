"""Access lists, SASL, tokens and log folders where there is nothing to choose from: the refusals by value, on both engines."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterReplicaLogDirsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeLogDirsRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka.protocol.apis import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from minikafka.protocol.codec import encode_request
from tests.requests import topic
from tests.wire.conftest import Place, place
from tests.wire.raw import Raw

Creation, Filter = CreateAclsRequest.AclCreation, DeleteAclsRequest.DeleteAclsFilter
NO = "No Authorizer is configured."


def describe(kind: int = 2) -> ApiMessage:
    return DescribeAclsRequest(resource_type_filter=kind, resource_name_filter="a", pattern_type_filter=3,
                               principal_filter=None, host_filter=None, operation=1, permission_type=1)


def creation(kind: int = 2) -> Any:
    return Creation(resource_type=kind, resource_name="a", resource_pattern_type=3, principal="User:a", host="*",
                    operation=3, permission_type=3)


def deletion(kind: int = 2) -> Any:
    return Filter(resource_type_filter=kind, resource_name_filter="a", pattern_type_filter=3, principal_filter=None,
                  host_filter=None, operation=3, permission_type=3)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_there_is_no_authorizer(at: Place, version: int) -> None:
    """Fails if a version is not served, or the words differ."""
    found = at.raw.ask(describe(), version)
    assert (found.error_code, found.error_message, found.resources) == (54, "No Authorizer is configured on the broker", [])
    made = at.raw.ask(CreateAclsRequest(creations=[creation(), creation()]), version)
    assert [(r.error_code, r.error_message) for r in made.results] == [(54, NO)] * 2
    gone = at.raw.ask(DeleteAclsRequest(filters=[deletion()]), version)
    assert [(r.error_code, r.error_message, r.matching_acls) for r in gone.filter_results] == [(54, NO, [])]


@pytest.mark.parametrize("request_", [describe(0), CreateAclsRequest(creations=[creation(), creation(0)]),
                                      DeleteAclsRequest(filters=[deletion(0)])], ids=["describe", "create", "delete"])
def test_what_is_unknown_by_its_own_words_closes_the_connection(at: Place, request_: ApiMessage) -> None:
    """Fails if UNKNOWN is taken for a kind."""
    at.raw.send(encode_request(request_, 3, 1, "raw"))
    assert at.raw.receive() is None


def test_nobody_has_to_log_in(at: Place) -> None:
    """Fails if a handshake is answered otherwise, or costs the connection."""
    for version in (0, 1):
        refused = at.raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), version)
        assert (refused.error_code, refused.mechanisms) == (34, [])
    for version in (0, 1, 2):
        refused = at.raw.ask(SaslAuthenticateRequest(auth_bytes=b"abc"), version)
        assert (refused.error_code, refused.error_message, refused.auth_bytes) == (
            34, "SaslAuthenticate request received after successful authentication", b"")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_nobody_may_have_a_token(at: Place, version: int) -> None:
    """Fails if a version is not served, or a refusal has another content: the owner that the request names."""
    renewer = CreateDelegationTokenRequest.CreatableRenewers(principal_type="Nobody", principal_name="r")
    me = ("User", "ANONYMOUS")
    for kind, name, code, owner in (("User", "x", 64, ("User", "x")), (None, None, 64, me), ("User", "", 64, me),
                                    (None, "x", -1, me)):
        request = CreateDelegationTokenRequest(owner_principal_type=kind, owner_principal_name=name, renewers=[renewer],
                                               max_lifetime_ms=5)
        made = at.raw.ask(request, version)
        asker = (made.token_requester_principal_type, made.token_requester_principal_name) if version >= 3 else me
        assert (made.error_code, made.principal_type, made.principal_name, asker) == (
            (code, *owner, me) if version >= 3 else (64, *me, me))
        assert (made.issue_timestamp_ms, made.expiry_timestamp_ms, made.max_timestamp_ms) == (-1, -1, -1)
        assert (made.token_id, bytes(made.hmac)) == ("", b"")
    for owners in (None, []):
        found = at.raw.ask(DescribeDelegationTokenRequest(owners=owners), version)
        assert (found.error_code, found.tokens) == (64, [])
    if version < 3:
        for change in (RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1),
                       ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1)):
            refused = at.raw.ask(change, version)
            assert (refused.error_code, refused.expiry_timestamp_ms) == (64, -1)


def folder_of(raw: Raw) -> str:
    return str(raw.ask(DescribeLogDirsRequest(topics=[]), 5).results[0].log_dir)


def move(raw: Raw, version: int, *moves: tuple[str, str, list[int]]) -> dict[tuple[str, int], int]:
    folder = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    dirs = [folder(path=path, topics=[folder.AlterReplicaLogDirTopic(name=name, partitions=indexes)])
            for path, name, indexes in moves]
    answer = raw.ask(AlterReplicaLogDirsRequest(dirs=dirs), version)
    return {(t.topic_name, p.partition_index): p.error_code for t in answer.results for p in t.partitions}


@pytest.mark.parametrize("version", [1, 2])
def test_replicas_stay_in_the_one_folder(at: Place, version: int) -> None:
    """Fails if another folder is accepted, or the one there is refused."""
    folder = folder_of(at.raw)
    assert move(at.raw, version) == {}
    assert move(at.raw, version, ("x", "x" * 213, [0]), ("x", "x" * 214, [0])) == {("x" * 213, 0): 57, ("x" * 214, 0): 17}
    assert move(at.raw, version, ("/nowhere", at.name, [0, 7])) == {(at.name, 0): 57, (at.name, 7): 57}
    assert move(at.raw, version, (folder, at.name, [0, 7]), ("x", "zz", [0])) == {
        (at.name, 0): 0, (at.name, 7): 3, ("zz", 0): 57}


def test_a_broker_does_not_move_what_another_one_has(cluster: Any, name: str) -> None:
    """Fails if it answers NOT_LEADER_OR_FOLLOWER: this API alone kept REPLICA_NOT_AVAILABLE."""
    one, other = cluster.ids[:2]
    with Raw(cluster.address(one)) as raw:
        raw.create(topic(name, assign=[(0, [one])]))
    with place(cluster, name).raw, Raw(cluster.address(other)) as raw:     # every broker knows it now
        assert move(raw, 2, (folder_of(raw), name, [0, 1])) == {(name, 0): 9, (name, 1): 3}
