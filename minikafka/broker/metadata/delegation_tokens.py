"""Delegation tokens: a password for one job, which its owner gets from the cluster and may pass on (KIP-48).

    TokenRules.create, find, renew   a token with an id, and the hmac of the id by the cluster's secret, which is its password
    expire, expired                  an earlier end; the tokens that nobody can use any more
    is_shown                         whether somebody may see a token

Owns: these decisions. They read the tokens and make records; neither changes anything.
Invariants: no record has an hmac: it is computed from the id, by those who know `delegation.token.secret.key`.
            I-TOKEN-1 a token ends at its longest life, whatever is renewed.
What Kafka does differently: a token that has ended may log its owner in until the controller removes it.
Source: DelegationTokenControlManager, TokenInformation, DelegationTokenManager.filterToken; KIP-48, KIP-373, KIP-900.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from minikafka.broker.metadata.records import DelegationTokenRecord, MetadataRecord, RemoveDelegationTokenRecord
from minikafka.protocol.errors import Err, KafkaError

USER = "User:"
Tokens = Mapping[str, DelegationTokenRecord]  # by id
LONGEST_MS = (1 << 63) - 1
SWEPT = 1000  # tokens that are removed at a time, at most


class NewToken(NamedTuple):
    """A token that somebody wants: for whom, and who may renew it. `lifetime_ms`: 0 and less is the longest."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    lifetime_ms: int


class TokenRules(NamedTuple):
    """The limits of a cluster: the secret behind all tokens (None: it gives none), and how long a token and a renewal last."""

    secret: str | None
    longest_ms: int
    renewal_ms: int

    def check(self) -> str:
        """Return the secret; raise KafkaError if there is none."""
        if self.secret is None:
            raise KafkaError(Err.DELEGATION_TOKEN_AUTH_DISABLED)
        return self.secret

    def create(self, wanted: NewToken, token_id: str, now: int) -> DelegationTokenRecord:
        """Return the record of a new token, which begins `now`; KafkaError."""
        self.check()
        if not all(renewer.startswith(USER) for renewer in wanted.renewers):
            raise KafkaError(Err.INVALID_PRINCIPAL_TYPE)
        longest = min(self.longest_ms, wanted.lifetime_ms) if wanted.lifetime_ms > 0 else self.longest_ms
        most = min(now + longest, LONGEST_MS)
        return DelegationTokenRecord(wanted.owner, wanted.requester, wanted.renewers, now, most,
                                     min(most, now + self.renewal_ms), token_id)

    def renew(self, token: DelegationTokenRecord, who: str, period_ms: int, now: int) -> DelegationTokenRecord:
        """Return the record of a later end; KafkaError."""
        if is_over(token, now):
            raise KafkaError(Err.DELEGATION_TOKEN_EXPIRED)
        _check_renewer(token, who)
        period = min(self.renewal_ms, period_ms) if period_ms > 0 else self.renewal_ms
        return _until(token, now + period)

    def find(self, tokens: Tokens, password: bytes) -> DelegationTokenRecord:
        """Return the token that has this password; KafkaError if there is none."""
        secret = self.check()
        found = next((token for name, token in tokens.items() if hmac.compare_digest(token_hmac(secret, name), password)), None)
        if found is None:
            raise KafkaError(Err.DELEGATION_TOKEN_NOT_FOUND)
        return found


def token_hmac(secret: str, token_id: str) -> bytes:
    """Return the password of a token."""
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def expire(token: DelegationTokenRecord, who: str, period_ms: int, now: int) -> MetadataRecord:
    """Return the record of another end; with a period below 0 that of the token's removal. KafkaError."""
    _check_renewer(token, who)
    if period_ms < 0:
        return RemoveDelegationTokenRecord(token.token_id)
    if is_over(token, now):
        raise KafkaError(Err.DELEGATION_TOKEN_EXPIRED)
    return _until(token, now + period_ms)


def is_over(token: DelegationTokenRecord, now: int) -> bool:
    return min(token.max_timestamp, token.expiration_timestamp) < now


def expired(tokens: Tokens, now: int) -> list[MetadataRecord]:
    """Return the records that remove what has ended."""
    return [RemoveDelegationTokenRecord(name) for name, token in tokens.items() if is_over(token, now)][:SWEPT]


def is_shown(token: DelegationTokenRecord, who: str, owners: Collection[str] | None,
             may_see: Callable[[DelegationTokenRecord], bool]) -> bool:
    """Return whether somebody who wants the tokens of `owners` (None: of all) sees this one."""
    known = {token.owner, token.requester, *token.renewers}
    return (owners is None or not known.isdisjoint(owners)) and (who in known or may_see(token))


def _check_renewer(token: DelegationTokenRecord, who: str) -> None:
    if who not in (token.owner, *token.renewers):
        raise KafkaError(Err.DELEGATION_TOKEN_OWNER_MISMATCH)


def _until(token: DelegationTokenRecord, end: int) -> DelegationTokenRecord:
    return replace(token, expiration_timestamp=min(token.max_timestamp, end))
