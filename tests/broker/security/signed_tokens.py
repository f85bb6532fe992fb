"""Signed tokens of OAUTHBEARER: as they should be, and odd in one thing each. The times are seconds from now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWS
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.broker.security.oauth_tokens import GOOD, first, jwt, part

CURVES = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
SHARED = b"a secret of thirty-two bytes ...."


@cache
def key(name: str) -> Any:
    """The private key of this name, made when it is first needed."""
    if name in CURVES:
        return ec.generate_private_key(CURVES[name]())
    if name == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return SHARED if name == "shared" else rsa.generate_private_key(65537, 1024 if name == "short" else 2048)


def jwk(name: str, **more: object) -> dict[str, object]:
    """What a JWKS says about a key."""
    if name == "shared":
        return {**json.loads(HMACAlgorithm.to_jwk(SHARED)), "kid": name}
    kind = ECAlgorithm if name in CURVES else OKPAlgorithm if name == "EdDSA" else RSAAlgorithm
    return {**json.loads(kind.to_jwk(key(name).public_key())), "kid": name, "use": "sig", **more}


def jwks(*names: str) -> str:
    keys = [jwk(name, **({"use": "enc"} if name == "sealed" else {})) for name in names]
    return json.dumps({"keys": [{"kty": "new", "kid": "new"}, *keys]})


def signed(now: float, claims: object = GOOD, algorithm: str = "RS256", by: str = "one", **head: object) -> str:
    """A token that the key `by` has signed; its header names that key unless `head` says otherwise."""
    payload = jwt(now, claims).split(".")[1]
    header = {name: value for name, value in {"kid": by, **head}.items() if value is not None}
    return sign(part({"alg": algorithm, **header}), payload, algorithm, by)


def sign(header: str, payload: str, algorithm: str = "RS256", by: str = "one") -> str:
    method = PyJWS().get_algorithm_by_name(algorithm)
    signature = method.sign(f"{header}.{payload}".encode(), key(by))
    return f"{header}.{payload}.{part(signature)}"


GONE = object()
STRICT = {**GOOD, "aud": "kafka", "iss": "https://id.example", "client": "eve", "scp": "read"}  # where there are rules
CLAIMS: dict[str, object] = {  # a dict changes the good claims, anything else takes their place
    "as it should be": {}, "no subject": {"sub": GONE}, "subject empty": {"sub": ""}, "subject blank": {"sub": " "},
    "subject with blanks": {"sub": " ada "}, "subject a number": {"sub": 5}, "subject null": {"sub": None},
    "no end": {"exp": GONE}, "end null": {"exp": None}, "end a text": {"exp": "600"}, "end true": {"exp": True},
    "end a fraction": {"exp": 600.5}, "ended": {"exp": -60, "iat": -90}, "ended within the skew": {"exp": -5},
    "ends with its beginning": {"exp": -10}, "ends before its beginning": {"iat": 700},
    "end enormous": {"exp": 1e30}, "end in 300 years": {"exp": 1e10}, "end negative": b'{"sub":"ada","iat":0,"exp":-1}',
    "end too large for ms": b'{"sub":"ada","iat":0,"exp":9223372036854775807}',
    "end larger than 64 bits": b'{"sub":"ada","iat":0,"exp":92233720368547758070}',
    "end now": {"exp": 0}, "no beginning": {"iat": GONE}, "begins later": {"iat": 300}, "beginning a text": {"iat": "1"},
    "beginning negative": b'{"sub":"ada","iat":-1,"exp":4000000000}', "not before": {"nbf": 100},
    "not before, within the skew": {"nbf": 20}, "not before a text": {"nbf": "1"},
    "not before after the end": {"exp": 10, "nbf": 20}, "scope a list": {"scope": ["read", "write"]},
    "scope twice": {"scope": ["read", "read "]}, "scope of numbers": {"scope": [1, 2]}, "scope of null": {"scope": [None]},
    "scope empty": {"scope": ""}, "scope blank": {"scope": [" "]}, "no scope": {"scope": GONE},
    "scope a number": {"scope": 5}, "scope null": {"scope": None}, "scope an object": {"scope": {"a": 1}},
    "scp empty": {"scp": ""}, "scp a list in a list": {"scp": [["x"]]}, "audiences": {"aud": ["x", "kafka"]},
    "no audience": {"aud": GONE}, "audience": {"aud": "kafka"}, "audience another": {"aud": "x"},
    "audience empty": {"aud": []}, "audience null": {"aud": None}, "audience a number": {"aud": 5},
    "audience with a number": {"aud": ["kafka", 5]}, "issuer another": {"iss": "https://evil"}, "no issuer": {"iss": GONE},
    "issuer null": {"iss": None}, "issuer a number": {"iss": 5}, "no client": {"client": GONE},
    "client a number": {"client": 5}, "id a number": {"jti": 5}, "id": {"jti": "5"}, "claims a list": [1],
    "claims a text": "ada", "claims null": None, "claims empty": b"", "claims no JSON": b"{",
    "claims deep": b'{"x":' * 500 + b"1" + b"}" * 500, "claims twice": b'{"sub":"eve","sub":"ada","iat":0,"exp":4000000000}',
    "a name of letters": {"sub": "\u00e9 \u65e5\u672c"}, "claims and more": b'{"sub":"ada","iat":0,"exp":4000000000} x',
    "claims NaN": b'{"sub":"ada","iat":0,"exp":NaN}', "claims not UTF-8": b'{"sub":"\xff","iat":0,"exp":4000000000}',
}
HEADS: dict[str, dict[str, object]] = {
    "no key": {"kid": None}, "another key": {"kid": "ES256"}, "unknown key": {"kid": "gone"}, "key a number": {"kid": 5},
    "critical": {"crit": ["x"], "x": 1}, "critical empty": {"crit": []}, "type": {"typ": "at+jwt"}, "type a number": {"typ": 5},
    "content": {"cty": "JWT"}, "content other": {"cty": "x"}, "a key of its own": {"jwk": {"kty": "RSA"}},
    "thumbprint": {"x5t": "abc"}, "not encoded": {"b64": False},
}


def claims(good: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    """Yield a message with each of the claims, changed from the good ones. It is made when it is needed: its times are close."""
    for name, change in CLAIMS.items():
        if isinstance(change, dict):
            change = {what: one for what, one in {**good, **change}.items() if one is not GONE}
        yield name, first(signed(time.time(), change))


def messages(now: float) -> Iterator[tuple[str, bytes]]:
    """Yield messages that are odd in something else than the claims."""
    yield from ((f"header: {name}", first(signed(now, **head))) for name, head in HEADS.items())
    for name in ("RS384", "RS512", "PS256", "PS384", "PS512"):
        yield name, first(signed(now, algorithm=name))
    for name in CURVES:
        yield name, first(signed(now, algorithm=name, by=name))
        yield f"{name}, no key", first(signed(now, algorithm=name, by=name, kid=None))
    good, (head, claims, signature) = signed(now), signed(now).split(".")
    payload = jwt(now, GOOD).split(".")[1]
    yield "HS256", first(signed(now, algorithm="HS256", by="shared"))
    yield "EdDSA", first(signed(now, algorithm="EdDSA", by="EdDSA"))
    yield "a short key", first(signed(now, by="short"))
    yield "a key for secrets", first(signed(now, by="sealed"))
    yield "a key of another kind", first(signed(now, kid="ES256"))
    yield "signed by another", first(signed(now, by="two", kid="one"))
    yield "signed by another, no key", first(signed(now, by="two", kid=None))
    yield "ES256 by a key of ES384", first(sign(part({"alg": "ES256", "kid": "ES384"}), payload, "ES384", "ES384"))
    for what in ({"alg": "none"}, {"alg": "NONE"}, {"alg": "none", "kid": "one"}, {}, {"alg": None}, {"alg": 5}, {"alg": "RS1"},
                 [1], b"", b"{", b'{"alg":"RS256","alg":"RS256","kid":"one"}', b'{"alg":"RS256","kid":"one"} x'):
        name = what.decode() if isinstance(what, bytes) else json.dumps(what)
        yield f"header {name}", first(sign(part(what), payload))
        yield f"header {name}, no signature", first(f"{part(what)}.{payload}.")
    yield "unsigned", first(jwt(now, GOOD))
    yield "signature cut", first(good[:-4])
    yield "signature changed", first(f"{head}.{claims}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}")
    yield "claims changed", first(f"{head}.{jwt(now, {**GOOD, 'sub': 'eve'}).split('.')[1]}.{signature}")
    yield "HS256 by the public key", first(public_as_secret(payload))
    for what, token in (("one part", "abc"), ("two parts", good.rpartition(".")[0]), ("four parts", good + ".abc"),
                        ("five parts", good + ".abc.abc"), ("four parts, the last empty", good + "."), ("dots", ".."),
                        ("no header", "." + claims + "." + signature), ("no claims", head + ".." + signature),
                        ("letters of base64", good[:-2] + "+/"), ("padding", good + "=")):
        yield what, first(token)
    yield "name", first(signed(now, {**GOOD, "sub": " ada "}), name="a=ada")
    yield "name of another", first(good, name="a=eve")
    yield "extension", first(good, "team=taxis\x01")


def public_as_secret(payload: str) -> str:
    """A token whose secret is the text of a public key, which everybody has."""
    text = key("one").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    method = HMACAlgorithm(HMACAlgorithm.SHA256)
    header = part({"alg": "HS256", "kid": "one"})
    return f"{header}.{payload}.{part(method.sign(f'{header}.{payload}'.encode(), text))}"

