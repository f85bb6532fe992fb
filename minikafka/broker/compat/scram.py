"""AlterUserScramCredentials and DescribeUserScramCredentials: the passwords of users, as metadata.

Of a password there are only two keys derived from it, with which a server can check a login and prove itself, but not
log in (RFC 5802). The client salts and iterates, so that the password never leaves it. There is no SASL listener here:
nobody can log in with what is stored; Kafka's brokers could, given the same log.

Owns: alter_scram(), describe_scram(). They read the image; the first makes records, neither changes anything.
Invariants: I-SCRAM-1 a user is answered once; one that is named twice, in whatever role, is not altered at all.
            I-SCRAM-2 nothing derived from a password is ever described: only mechanisms and iterations.
What Kafka does differently: it uses them; answers come in the order of a hash table.
Source: ScramControlManager, ScramImage; KIP-554, KIP-900.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from typing import Any, NamedTuple

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    MetadataRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from minikafka.protocol.errors import Err, KafkaError


class Mechanism(NamedTuple):
    """A hash, and how often it must have been applied at least."""

    digest: str
    min_iterations: int


MECHANISMS = {1: Mechanism("sha256", 4096), 2: Mechanism("sha512", 4096)}
MAX_ITERATIONS = 16384

Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
Described = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


def alter_scram(image: MetadataImage, request: AlterUserScramCredentialsRequest,
                ) -> tuple[list[MetadataRecord], AlterUserScramCredentialsResponse]:
    """Decide on a decoded AlterUserScramCredentialsRequest: the records to commit, and the answer for afterwards."""
    wanted = [*request.deletions, *request.upsertions]
    verdicts: dict[str, KafkaError | None] = {}
    records: dict[str, MetadataRecord] = {}
    for number, one in enumerate(wanted):
        if verdicts.get(one.name) is not None:
            continue
        try:
            if one.name in verdicts:
                raise KafkaError(Err.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
            records[one.name] = _remove(image, one) if number < len(request.deletions) else _upsert(one)
            verdicts[one.name] = None
        except KafkaError as refused:
            records.pop(one.name, None)
            verdicts[one.name] = refused
    return list(records.values()), _response(verdicts)


def refuse_scram(request: AlterUserScramCredentialsRequest, code: Err) -> AlterUserScramCredentialsResponse:
    """One error for every user."""
    return _response({one.name: KafkaError(code) for one in [*request.deletions, *request.upsertions]})


def _response(verdicts: dict[str, KafkaError | None]) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(throttle_time_ms=0, results=[
        Result(user=name, error_code=int(refused.code) if refused else 0,
               error_message=refused.message if refused and refused.code is not Err.UNKNOWN_SERVER_ERROR else None)
        for name, refused in verdicts.items()])


def _remove(image: MetadataImage, wanted: Any) -> MetadataRecord:
    _check_name(wanted)
    if (wanted.name, wanted.mechanism) not in image.scram:
        raise KafkaError(Err.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(wanted.name, wanted.mechanism)


def _upsert(wanted: Any) -> MetadataRecord:
    mechanism = _check_name(wanted)
    if wanted.iterations < mechanism.min_iterations:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if wanted.iterations > MAX_ITERATIONS:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not wanted.salted_password:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR)          # no key for Java's cryptography
    stored, server = keys(mechanism, bytes(wanted.salted_password))
    return UserScramCredentialRecord(wanted.name, wanted.mechanism, bytes(wanted.salt), stored, server, wanted.iterations)


def _check_name(wanted: Any) -> Mechanism:
    if not wanted.name:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if wanted.mechanism not in MECHANISMS:
        raise KafkaError(Err.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return MECHANISMS[wanted.mechanism]


def keys(mechanism: Mechanism, salted_password: bytes) -> tuple[bytes, bytes]:
    """(stored key, server key): what is kept of a password, in the words of RFC 5802."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    return hashlib.new(mechanism.digest, client_key).digest(), hmac.digest(salted_password, b"Server Key", mechanism.digest)


def describe_scram(image: MetadataImage,
                   request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    """The mechanisms of the users that are named, or of all."""
    asked = Counter(u.name for u in request.users or []) or dict.fromkeys((name for name, _ in image.scram), 1)
    return DescribeUserScramCredentialsResponse(throttle_time_ms=0, error_code=0, error_message="", results=[
        _describe(image, name, count) for name, count in asked.items()])


def _describe(image: MetadataImage, name: str, count: int) -> Any:
    found = [image.scram[name, mechanism] for mechanism in MECHANISMS if (name, mechanism) in image.scram]
    code, text = Err.NONE, ""
    if count > 1:
        code, text = Err.DUPLICATE_RESOURCE, "Cannot describe SCRAM credentials for the same user twice in a single request: "
    elif not found:
        code, text = Err.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist: "
    infos = [Described.CredentialInfo(mechanism=c.mechanism, iterations=c.iterations) for c in found]
    return Described(user=name, error_code=int(code), error_message=text + name if text else "",
                     credential_infos=[] if code else infos)
