"""OAUTHBEARER: a client shows a token in place of a password (RFC 7628), and a validator says whose it is and how long it lasts.

    FirstMessage.of(text)                              the client's message: the token, and the name that it may give itself
    UnsecuredTokens(name, options).check(token, now)   ->  Bearer(user, ends_ms); TokenRefusedError

A token is a JWT: a header, claims and a signature, each in base64, with dots between them.

Owns: the reading of messages and of tokens that are not signed, which prove nothing (I-EXP-3 in listeners.py); those that are
signed: signed_tokens.py.
Invariants: I-OAUTH-1 a token counts only between its beginning and its end, and with every scope that the listener requires.
What Kafka does differently: it puts a mark in place of half a surrogate pair in a claim; here the token is refused.
Source: OAuthBearerClientInitialResponse, OAuthBearerUnsecuredJws, OAuthBearerUnsecuredValidatorCallbackHandler; KIP-255.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from minikafka.broker.config.definition import LONG_MAX, ConfigError
from minikafka.protocol.errors import ProtocolError

Claim = str | list[str] | int | float
Claims = Mapping[str, Claim]
BAD, TOO_LITTLE = "invalid_token", "insufficient_scope"
PREFIX = "unsecuredValidator"  # of the options of a listener
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_MESSAGE = re.compile(rf"n,(?:a=({_NAME}))?,\x01((?:{_PAIR})*)\x01")
_AUTH = re.compile(r"([A-Za-z0-9_]+) +([-_~+/.a-zA-Z0-9]+=*)")
_BASE64 = re.compile(r"[A-Za-z0-9_-]*")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_JSON = json.JSONDecoder(parse_constant=lambda text: _no_json(text))


class Bearer(NamedTuple):
    """Whose a token is, and when it ends, in ms since 1970."""

    user: str
    ends_ms: int


class TokenRefusedError(Exception):
    """A token that does not count: `answer` is what the broker sends to the client."""

    def __init__(self, status: str, scope: str | None = None) -> None:
        more = f', "scope":"{scope}"' if scope is not None else ""
        self.answer = f'{{"status":"{status}"{more}}}'
        super().__init__(self.answer)


class FirstMessage(NamedTuple):
    """The first message of a client: its token, and the name that it gives itself, if any."""

    token: str
    name: str

    @classmethod
    def of(cls, text: str) -> FirstMessage | None:
        """Return the parts of a message; None if it is none. Raises ProtocolError for another scheme than Bearer, as Kafka
        closes the connection then."""
        if (found := _MESSAGE.fullmatch(text)) is None:
            return None
        pairs = dict(pair.split("=", 1) for pair in found[2].split("\x01") if pair)
        if (auth := _AUTH.fullmatch(pairs.get("auth", ""))) is None:
            return None
        if auth[1].lower() != "bearer":
            raise ProtocolError("Invalid scheme in OAUTHBEARER client first message")
        return cls(auth[2], found[1] or "")


class UnsecuredTokens:
    """The validator of tokens without a signature, which Kafka has where no other is configured."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        """Read the options of a listener's JAAS text; ConfigError for one that cannot be read."""
        self._subject = options.get(PREFIX + "PrincipalClaimName") or "sub"
        self._scope = options.get(PREFIX + "ScopeClaimName") or "scope"
        self._required = options.get(PREFIX + "RequiredScope", "").split()
        skew = options.get(PREFIX + "AllowableClockSkewMs") or "0"
        if not skew.isdecimal() or not all(map(_SCOPE.fullmatch, self._required)):
            raise ConfigError(name, "[hidden]", f"{PREFIX}AllowableClockSkewMs is a number from 0, and {PREFIX}RequiredScope "
                              "words with blanks between them")
        self._skew_ms = int(skew)

    def check(self, token: str, now_ms: int) -> Bearer:
        """Return whose a token is. Raises TokenRefusedError; ProtocolError for one at which Kafka closes the connection."""
        parts = token.split(".")
        if ".." in token or len(parts) != 3:
            raise TokenRefusedError(BAD)
        header, claims = map(read_part, parts[:2])
        if "alg" not in header:
            raise ProtocolError("JWS header must have an Algorithm value")
        user, scopes = claims.get(self._subject), self._scopes(claims)
        if header["alg"] != "none" or parts[2] or not isinstance(user, str) or not user.strip():
            raise TokenRefusedError(BAD)
        ends_ms = self._in_time(claims, now_ms)
        if any(scope not in scopes for scope in self._required):
            raise TokenRefusedError(TOO_LITTLE, f"[{', '.join(self._required)}]")
        return Bearer(user, ends_ms)

    def _scopes(self, claims: Claims) -> list[str]:
        claim = claims.get(self._scope, "")
        if isinstance(claim, int | float):
            raise TokenRefusedError(BAD)
        return [scope.strip() for scope in ([claim] if isinstance(claim, str) else claim)]

    def _in_time(self, claims: Claims, now_ms: int) -> int:
        """Return when a token ends, in ms; TokenRefusedError if it has ended, or has not begun (I-OAUTH-1)."""
        end, begin = claims.get("exp"), claims.get("iat", 0)
        if not isinstance(end, int | float) or not isinstance(begin, int | float):
            raise TokenRefusedError(BAD)
        if now_ms - self._skew_ms >= end * 1000 or begin * 1000 > now_ms + self._skew_ms or end <= begin:
            raise TokenRefusedError(BAD)
        return round(min(end * 1000, LONG_MAX))


def read_part(part: str) -> Claims:
    """Return the names and values of a token's header or claims; empty if they are no JSON object. Raises TokenRefusedError."""
    try:
        if not _BASE64.fullmatch(part):
            raise TokenRefusedError(BAD)
        text = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode().lstrip()
        read: Any = _JSON.raw_decode(text)[0] if text else None
        return {name: _value(value) for name, value in read.items()} if isinstance(read, dict) else {}
    except (binascii.Error, ValueError, RecursionError) as error:
        raise TokenRefusedError(BAD) from error


def _value(value: Any) -> Claim:  # Any: as json gives it
    """Return a claim as Kafka's JSON library gives it: numbers, lists of texts, and all else as a text."""
    if isinstance(value, list):
        return [str(_value(one)) if not isinstance(one, list) else "" for one in value]
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, str):
        value.encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
    return "" if isinstance(value, dict) else value


def _no_json(text: str) -> None:
    raise ValueError(text)
