"""Signed tokens of OAUTHBEARER (RFC 7515 and 7519): one counts if a key that the listener knows has signed it.

    SignatureRules.of(value)                        the conditions that a listener has, from its settings
    SignedTokens(rules, keys).check(token, now) ->  Bearer(user, ends_ms); TokenRefusedError

Owns: the conditions on a token's header and claims. PyJWT and cryptography check the signature.
Invariants: I-OAUTH-1 (oauth.py).
            I-OAUTH-2 a token counts only with the signature of a key of the listener, by an algorithm of that key's own kind: the
              text of a public key is nobody's secret, and "none" is no algorithm.
What Kafka does differently: it also takes a token inside a token, and claims that are not in base64 (RFC 7797). Without
`sasl.oauthbearer.jwks.endpoint.url` it checks no signature; here such a listener does not start.
Source: BrokerJwtValidator, ClaimValidationUtils, SerializedJwt; VerificationJwkSelector and JwtConsumer of jose4j; KIP-768.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from minikafka.broker.config.definition import LONG_MAX, ConfigError
from minikafka.broker.server.oauth import BAD, Bearer, TokenRefusedError
from minikafka.protocol.errors import ProtocolError
from minikafka.protocol.text import trim

CLAIMS = "scope", "sub"  # whose names are settings
KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "HS": "oct"}  # the kind of key for the first letters of an algorithm
CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
Claims = dict[str, Any]
_BASE64 = re.compile(r"[A-Za-z0-9_-]+={0,2}")


class SignatureRules(NamedTuple):
    """The conditions of a listener."""

    audience: tuple[str, ...] = ()
    issuer: str | None = None
    skew_s: int = 0
    scope: str = "scope"
    subject: str = "sub"

    @classmethod
    def of(cls, value: Callable[[str], Any]) -> SignatureRules:  # Any: by the name
        """Return the conditions; `value` returns the value of a setting. Raises ConfigError for a claim without a name."""
        names = [trim(value(f"sasl.oauthbearer.{claim}.claim.name") or "") for claim in CLAIMS]
        if "" in names:
            name = f"sasl.oauthbearer.{CLAIMS[names.index('')]}.claim.name"
            raise ConfigError(name, "", f"The OAuth configuration option {name} value is required")
        audience, issuer = value("sasl.oauthbearer.expected.audience"), trim(value("sasl.oauthbearer.expected.issuer") or "")
        return cls(tuple(audience or ()), issuer or None, value("sasl.oauthbearer.clock.skew.seconds") or 0, *names)


class SigningKey(NamedTuple):
    """One key of a JWKS (RFC 7517)."""

    name: str | None
    kind: str
    curve: str | None
    algorithm: str | None
    key: Any  # of the library cryptography; the bytes of a shared secret


class Keys(Protocol):
    """The keys of a listener, wherever they come from."""

    def now(self) -> Sequence[SigningKey]:
        """Return the present keys."""
        ...

    def missed(self, name: str | None) -> None:
        """Take note that a token named a key that is not there."""
        ...


class SignedTokens:
    """The validator of tokens that one of the `keys` must have signed."""

    def __init__(self, rules: SignatureRules, keys: Keys) -> None:
        self._rules, self._keys = rules, keys

    def check(self, token: str, now_ms: int) -> Bearer:
        """Return whose a token is. Raises TokenRefusedError; ProtocolError for one at which Kafka closes the connection."""
        parts = trim(token).split(".")
        if len(parts) != 3 or "" in parts:
            raise TokenRefusedError(BAD)
        header, claims = (_object(_decoded(part)) for part in parts[:2])
        self._check_signature(header, parts)
        self._check_claims(claims, now_ms)
        return self._bearer(claims)

    def _check_signature(self, header: Claims, parts: list[str]) -> None:
        algorithm, name = header.get("alg"), header.get("kid")
        texts = all(isinstance(one, str | None) for one in (name, header.get("cty")))
        if not isinstance(algorithm, str) or not texts or header.get("crit") or header.get("b64", True) is not True:
            raise TokenRefusedError(BAD)
        if (header.get("cty") or "").lower() in ("jwt", "application/jwt"):
            raise TokenRefusedError(BAD)
        if (key := choose(self._keys.now(), algorithm, name)) is None:
            self._keys.missed(name)
            raise TokenRefusedError(BAD)
        if not is_signed(f"{parts[0]}.{parts[1]}".encode(), _decoded(parts[2]), algorithm, key):
            raise TokenRefusedError(BAD)

    def _check_claims(self, claims: Claims, now_ms: int) -> None:
        """Check what the signature does not say: when the token counts (I-OAUTH-1), where, and who has made it."""
        rules, now, audience = self._rules, now_ms // 1000, claims.get("aud")
        end, begin, after = (_seconds(claims.get(name)) for name in ("exp", "iat", "nbf"))
        heard = audience if isinstance(audience, list) else [audience] if audience is not None else []
        texts = [claims.get(name) for name in ("iss", "sub", "jti")]
        right = (
            end is not None and begin is not None and now - rules.skew_s < end and begin <= end
            and (after is None or after <= min(end, now + rules.skew_s))
            and all(isinstance(one, str) for one in heard) and all(isinstance(one, str | None) for one in texts)
            and (any(one in rules.audience for one in heard) if rules.audience else audience is None)
            and rules.issuer in (None, claims.get("iss")))
        if not right:
            raise TokenRefusedError(BAD)

    def _bearer(self, claims: Claims) -> Bearer:
        user, scopes = claims.get(self._rules.subject), claims.get(self._rules.scope)
        _check_scopes([scopes] if isinstance(scopes, str) else scopes if isinstance(scopes, list) else [])
        end, begin = (_seconds(claims[name]) or 0 for name in ("exp", "iat"))
        if not isinstance(user, str) or not trim(user) or end < 0 or begin < 0:
            raise TokenRefusedError(BAD)
        if max(end, begin) * 1000 > LONG_MAX:
            raise ProtocolError(f"a token cannot last until {end}")  # Kafka cannot count so far
        return Bearer(trim(user), end * 1000)


def _check_scopes(scopes: list[Any]) -> None:  # Any: as json gives it
    """Raise TokenRefusedError for a scope that is empty or there twice; ProtocolError for one that is no text."""
    seen: set[str] = set()
    for one in scopes:
        if one is not None and not isinstance(one, str):
            raise ProtocolError("a scope of a token is no text")
        if not trim(one or "") or trim(one) in seen:
            raise TokenRefusedError(BAD)
        seen.add(trim(one))


def choose(keys: Sequence[SigningKey], algorithm: str, name: str | None) -> SigningKey | None:
    """Return the key that must have signed a token (I-OAUTH-2); None if there is none."""
    kind = "OKP" if algorithm == "EdDSA" else KINDS.get(algorithm[:2])
    found = [key for key in keys if key.kind == kind and name in (None, key.name)]
    if len(found) > 1:
        found = [key for key in found if key.algorithm in (None, algorithm)]
    if len(found) > 1 and algorithm in CURVES:
        found = [key for key in found if key.curve == CURVES[algorithm]]
    return found[0] if found else None


def is_signed(data: bytes, signature: bytes, algorithm: str, key: SigningKey) -> bool:
    """Return whether the key has signed the data by this algorithm, and is long enough for it."""
    from jwt import PyJWTError
    method = _methods().get(algorithm)
    if method is None or algorithm == "ES256K":
        return False
    try:
        prepared = method.prepare_key(key.key)
        return not method.check_key_length(prepared) and method.verify(data, prepared, signature)
    except (PyJWTError, TypeError, ValueError):  # a key for another algorithm
        return False


@cache
def _methods() -> dict[str, Any]:  # Any: jwt.algorithms.Algorithm
    from jwt.algorithms import get_default_algorithms
    return {name: method for name, method in get_default_algorithms().items() if name != "none"}


def read_keys(text: str) -> tuple[SigningKey, ...]:
    """Return the keys of a JWKS that may have signed something; one that cannot be read is left out. Raises ValueError."""
    found = json.loads(text)
    if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
        raise ValueError("The JSON JWKS content does not include the keys member.")
    keys = (_read_key(one) for one in found["keys"] if isinstance(one, dict) and _may_sign(one.get("use"), one.get("key_ops")))
    return tuple(key for key in keys if key is not None)


def _may_sign(use: Any, acts: Any) -> bool:  # Any: as json gives it
    return use in (None, "sig") and (acts is None or isinstance(acts, list) and "verify" in acts)


def _read_key(data: Claims) -> SigningKey | None:
    from jwt import PyJWK, PyJWTError
    own, kind = data.get("alg"), str(data.get("kty"))
    try:
        read = PyJWK({name: value for name, value in data.items() if name != "alg"}).key
    except PyJWTError:
        return None
    return SigningKey(data.get("kid"), kind, data.get("crv"), own, getattr(read, "public_key", lambda: read)())


def _decoded(part: str) -> bytes:
    if not _BASE64.fullmatch(part):
        raise TokenRefusedError(BAD)
    try:
        return base64.urlsafe_b64decode(part.rstrip("=") + "=" * (-len(part.rstrip("=")) % 4))
    except binascii.Error as error:
        raise TokenRefusedError(BAD) from error


def _object(data: bytes) -> Claims:
    """Return a JSON object, in which each name is there once, and whole numbers have at most 64 bits."""
    try:
        found = json.loads(data.decode(errors="replace"), object_pairs_hook=_each_once, parse_int=_long, parse_constant=_long)
    except (ValueError, RecursionError) as error:
        raise TokenRefusedError(BAD) from error
    if not isinstance(found, dict):
        raise TokenRefusedError(BAD)
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> Claims:  # Any: as json gives it
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _long(text: str) -> int:
    if not -LONG_MAX - 1 <= (number := int(text)) <= LONG_MAX:
        raise ValueError(text)
    return number


def _seconds(value: Any) -> int | None:  # Any: as json gives it
    """Return a time in whole seconds, as Java makes one of a number; TokenRefusedError if it is none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefusedError(BAD)
    return int(max(-LONG_MAX, min(value, LONG_MAX)))
