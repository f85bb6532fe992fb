"""First messages of OAUTHBEARER: as they should be, and odd in one thing each. The times are seconds from now."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

GOOD: dict[str, Any] = {"sub": "ada", "iat": -10, "exp": 600, "scope": "read write"}
NONE = {"alg": "none"}


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def jwt(now: float, claims: object, head: object = NONE, signature: str = "") -> str:
    """A token without a signature; numbers of claims that are times count from now."""
    if isinstance(claims, dict):
        claims = {name: now + value if name in ("iat", "exp", "nbf") and isinstance(value, int | float)
                  and not isinstance(value, bool) else value for name, value in claims.items()}
    return f"{part(head)}.{part(claims)}.{signature}"


def first(token: str, extensions: str = "", scheme: str = "Bearer ", name: str = "") -> bytes:
    return f"n,{name},\x01auth={scheme}{token}\x01{extensions}\x01".encode()


CLAIMS: dict[str, object] = {
    "as it should be": GOOD, "no subject": {"exp": 600}, "subject empty": {**GOOD, "sub": ""},
    "subject blank": {**GOOD, "sub": " "}, "subject a number": {**GOOD, "sub": 5}, "subject null": {**GOOD, "sub": None},
    "subject a list": {**GOOD, "sub": ["ada"]}, "no end": {"sub": "ada"}, "end null": {**GOOD, "exp": None},
    "end a text": {**GOOD, "exp": "600"}, "end true": {**GOOD, "exp": True}, "end a fraction": {**GOOD, "exp": 600.5},
    "ended": {**GOOD, "exp": -1}, "ended within the skew": {**GOOD, "exp": -5}, "ended long ago": {**GOOD, "exp": -3600},
    "ends with its beginning": {**GOOD, "exp": -10}, "end enormous": {**GOOD, "exp": 1e30},
    "end infinite": b'{"sub":"ada","scope":["read"],"exp":1e999}',
    "end in 300 years": {**GOOD, "exp": 1e10}, "no beginning": {"sub": "ada", "exp": 600}, "begins later": {**GOOD, "iat": 30},
    "beginning a text": {**GOOD, "iat": "1"}, "beginning null": {**GOOD, "iat": None},
    "begins after its end": {**GOOD, "iat": 700}, "not before": {**GOOD, "nbf": 100},
    "scope a list": {**GOOD, "scope": ["read", "write"]}, "scope of numbers": {**GOOD, "scope": [1, 2]},
    "no scope": {"sub": "ada", "exp": 600}, "scope a number": {**GOOD, "scope": 5}, "scope another": {**GOOD, "scope": "write"},
    "scope odd": {**GOOD, "scope": "read \"x\" \\"}, "scope in parts": {**GOOD, "scope": " read  a/b:c "},
    "scope null": {**GOOD, "scope": None}, "scope of a list of null": {**GOOD, "scope": [None]},
    "more claims": {**GOOD, "aud": ["x", 1, None, {}], "iss": 5}, "claims a list": [1], "claims a text": "ada",
    "claims empty": b"", "claims no JSON": b"{", "claims twice": b'{"sub":"eve","sub":"ada","exp":4000000000}',
    "claims and more": b'{"sub":"ada","exp":4000000000} x', "claims not UTF-8": b'{"sub":"\xff","exp":4000000000}',
    "a name of letters": {**GOOD, "sub": "\u00e9 \u65e5\u672c"},
}
HEADS: dict[str, object] = {
    "signed": {"alg": "RS256"}, "no algorithm": {}, "algorithm null": {"alg": None}, "algorithm a number": {"alg": 5},
    "NONE": {"alg": "NONE"}, "header a list": [1], "header empty": b"", "and a type": {"alg": "none", "typ": "JWT", "x": 1},
}


def messages(now: float) -> Iterator[tuple[str, bytes]]:
    """Yield each message with its name."""
    good = jwt(now, GOOD)
    yield from ((name, first(jwt(now, claims))) for name, claims in CLAIMS.items())
    yield from ((f"header: {name}", first(jwt(now, GOOD, head))) for name, head in HEADS.items())
    yield "signature", first(good + "abc")
    yield "two parts", first(good[:-1])
    yield "four parts", first(good + ".")
    yield "four parts, the last one full", first(good + ".abc")
    yield "one part", first("abc")
    yield "two dots", first(good.replace(".", "..", 1))
    yield "two dots at the end", first(good + ".")
    yield "padding", first(good.replace(".", "=.", 1))
    yield "bad base64", first("a." + good)
    yield "letters of base64", first(good[:-1] + "+/.")
    yield "scheme small", first(good, scheme="bearer ")
    yield "scheme large", first(good, scheme="BEARER    ")
    yield "scheme another", first(good, scheme="Basic ")
    yield "scheme missing", first(good, scheme="")
    yield "token missing", first("")
    yield "token and a space", first(good + " ")
    yield "extension", first(good, "team=taxis\x01")
    yield "extensions", first(good, "team=taxis, a b\x01other=\t\x01")
    yield "extension twice", first(good, "team=a\x01team=b\x01")
    yield "extension empty", first(good, "team=\x01")
    yield "extension of digits", first(good, "team1=a\x01")
    yield "extension with =", first(good, "team=a=b\x01")
    yield "extension not ASCII", first(good, "team=\u00e9\x01")
    yield "auth twice", first(good, f"auth=Bearer {jwt(now, {**GOOD, 'sub': 'eve'})}\x01")
    yield "name", first(good, name="a=ada")
    yield "name of another", first(good, name="a=eve")
    yield "name empty", first(good, name="a=")
    yield "name escaped", first(jwt(now, {**GOOD, "sub": "a,b=c"}), name="a=a=2Cb=3Dc")
    yield "channel binding", b"y" + first(good)[1:]
    yield "no auth", b"n,,\x01team=a\x01\x01"
    yield "nothing", b"n,,\x01\x01"
    yield "empty", b""
    yield "control-A", b"\x01"
    yield "not UTF-8", b"\xff\xfe"
    yield "more behind", first(good) + b"x"
    yield "no end mark", first(good)[:-1]
    yield "large", first(jwt(now, {**GOOD, "x": "y" * 300_000}))
