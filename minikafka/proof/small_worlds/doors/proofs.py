"""What a user shows at a login: a password, a delegation token, or a token of OAUTHBEARER that nobody has signed.

Owns: the three kinds, and what of them a broker can know.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import lru_cache
from typing import NamedTuple

SCRAM, NUMBER, DIGEST, ITERATIONS = "SCRAM-SHA-256", 1, "sha256", 4096
BEARER, SKEW_MS = "OAUTHBEARER", 300  # a token counts for so long after its end
ENDLESS = 1 << 62


class Proof(NamedTuple):
    """One way to log in as `user`. `secret`: a password, the hmac of a delegation token in base64, or a token of OAUTHBEARER."""

    user: str
    secret: str
    mechanism: str = SCRAM
    token_id: str = ""  # of a delegation token
    ends_ms: int = ENDLESS  # of a token of OAUTHBEARER, in ms since 1970

    @classmethod
    def bearer(cls, user: str, ends_ms: int) -> Proof:
        parts: list[dict[str, object]] = [{"alg": "none"}, {"sub": user, "exp": ends_ms / 1000}]
        texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
        return cls(user, ".".join([*texts, ""]), BEARER, ends_ms=ends_ms)

    def known(self, salt: bytes) -> bytes:
        """Return what a broker knows of the secret: the stored key of a password, the hmac of a delegation token."""
        if self.token_id:
            return base64.b64decode(self.secret)
        return self.stored_key(salt)

    def stored_key(self, salt: bytes) -> bytes:
        return hashlib.new(DIGEST, self.client_key(salt)).digest()

    def client_key(self, salt: bytes) -> bytes:
        return hmac.digest(salted(self.secret, salt), b"Client Key", DIGEST)


@lru_cache(maxsize=10_000)
def salted(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac(DIGEST, password.encode(), salt, ITERATIONS)
