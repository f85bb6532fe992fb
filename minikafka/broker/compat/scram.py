"""AlterUserScramCredentials and DescribeUserScramCredentials: the passwords of users, as metadata.

The cluster keeps two keys derived from a password (RFC 5802). With them a server can check a login and prove itself, but
not log in. The client salts the password and applies the hash, so that the password never leaves the client. Who may
log in with them is decided in server/sasl.py.

Owns: alter_scram(), describe_scram(). They read the image; the first makes records, neither changes anything. And the first
user of a new cluster, as `kafka-storage format --add-scram` takes it.
Invariants: each user is answered once; a user that is named twice, to delete or to set, is not altered at all.
            Nothing derived from a password is ever described: only mechanisms and iterations.
What Kafka does differently: answers come in the order of a hash table.
Source: ScramControlManager, ScramImage; KIP-554, KIP-900.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import (
    MetadataRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from minikafka.protocol.errors import Err, KafkaError


class Mechanism(NamedTuple):
    """A hash, and how often the client must apply it at least."""

    digest: str
    min_iterations: int


MECHANISMS = {1: Mechanism("sha256", 4096), 2: Mechanism("sha512", 4096)}
MAX_ITERATIONS = 16384
_FIRST_USER = re.compile(r"SCRAM-SHA-(256|512)=\[name=([^,\]]+),password=([^,\]]+)\]\s*")


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    """The credential that is to go."""

    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """The credential that is to be set or replaced."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


Verdict = tuple[str, KafkaError | None]     # on a user; None: done


def alter_scram(image: MetadataImage, deletions: Sequence[ScramDeletion],
                upsertions: Sequence[ScramUpsertion]) -> Iterator[tuple[list[MetadataRecord], Verdict]]:
    """Yield the record and the verdict of each user. A user that is named twice gets the refusal of its first credential, or
    DUPLICATE_RESOURCE if that would be granted."""
    counts = Counter(wanted.name for wanted in (*deletions, *upsertions))
    first = {wanted.name: wanted for wanted in (*reversed(upsertions), *reversed(deletions))}
    for name, count in counts.items():
        wanted = first[name]
        try:
            record = _remove(image, wanted) if isinstance(wanted, ScramDeletion) else _upsert(wanted)
            if count > 1:
                raise KafkaError(Err.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
        except KafkaError as refusal:
            yield [], (name, refusal)
        else:
            yield [record], (name, None)


def _remove(image: MetadataImage, wanted: ScramDeletion) -> MetadataRecord:
    _check_name(wanted)
    if (wanted.name, wanted.mechanism) not in image.scram:
        raise KafkaError(Err.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return RemoveUserScramCredentialRecord(wanted.name, wanted.mechanism)


def _upsert(wanted: ScramUpsertion) -> MetadataRecord:
    mechanism = _check_name(wanted)
    if wanted.iterations < mechanism.min_iterations:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if wanted.iterations > MAX_ITERATIONS:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not wanted.salted_password:
        raise KafkaError(Err.UNKNOWN_SERVER_ERROR)          # Java's cryptography refuses an empty key
    stored, server = keys(mechanism, wanted.salted_password)
    return UserScramCredentialRecord(wanted.name, wanted.mechanism, wanted.salt, stored, server, wanted.iterations)


def _check_name(wanted: ScramDeletion | ScramUpsertion) -> Mechanism:
    if not wanted.name:
        raise KafkaError(Err.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if wanted.mechanism not in MECHANISMS:
        raise KafkaError(Err.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return MECHANISMS[wanted.mechanism]


def keys(mechanism: Mechanism, salted_password: bytes) -> tuple[bytes, bytes]:
    """Return (stored key, server key), as RFC 5802 calls what a server keeps of a password."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    return hashlib.new(mechanism.digest, client_key).digest(), hmac.digest(salted_password, b"Server Key", mechanism.digest)


def first_user(text: str, salt: bytes) -> UserScramCredentialRecord:
    """Return the credential in the words of `--add-scram`: `SCRAM-SHA-512=[name=ada,password=...]`; ValueError for others."""
    found = _FIRST_USER.fullmatch(text)
    if found is None:
        raise ValueError("Expected one line SCRAM-SHA-512=[name=ada,password=the password of ada]")
    digest, name, password = found.groups()
    number = next(number for number, mechanism in MECHANISMS.items() if mechanism.digest.endswith(digest))
    mechanism = MECHANISMS[number]
    salted = hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, mechanism.min_iterations)
    return UserScramCredentialRecord(name, number, salt, *keys(mechanism, salted), mechanism.min_iterations)


def describe_scram(image: MetadataImage, names: Sequence[str],
                   ) -> Iterator[tuple[str, list[UserScramCredentialRecord] | KafkaError]]:
    """Yield the credentials of the users `names`, or of all users if there are no names; per user they or a refusal."""
    counts = Counter(names) or dict.fromkeys((name for name, _ in image.scram), 1)
    return ((name, _describe(image, name, count)) for name, count in counts.items())


def _describe(image: MetadataImage, name: str, count: int) -> list[UserScramCredentialRecord] | KafkaError:
    if count > 1:
        return KafkaError(Err.DUPLICATE_RESOURCE,
                          f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}")
    found = [image.scram[name, mechanism] for mechanism in MECHANISMS if (name, mechanism) in image.scram]
    return found or KafkaError(Err.RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {name}")
