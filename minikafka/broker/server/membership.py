"""Proof that both ends of a connection between nodes belong to the cluster: they know its secret.

The secret is a file in the cluster's folder, which only its owner can read; it is never sent. The node that opened the
connection and the one that accepted it each draw a challenge and answer the other's, in two SaslAuthenticate requests:

    opener -> acceptor   its challenge
    acceptor -> opener   its challenge, and HMAC(secret, "acceptor", id of the acceptor, both challenges)
    opener -> acceptor   HMAC(secret, "opener", id of the acceptor, both challenges)

Owns: the two ends of that exchange, without the sockets.
Invariants
  I-PROOF-1  where the cluster has a secret, the listener for the nodes serves nothing before the proof, and sends nothing else.
  I-PROOF-2  a proof is worth nothing elsewhere: a program that takes a dead node's port can show it to no other node.
What Kafka does differently: it has SASL mechanisms and TLS for that, which an operator configures; without them, as in its
quick start, every program on the machine may pretend to be a broker.
Source: RFC 5802 (SCRAM), in its idea; org.apache.kafka.common.security.authenticator.SaslServerAuthenticator.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from minikafka.protocol.errors import Err, KafkaError

CHALLENGE = 16  # bytes
PROOF = hashlib.sha256().digest_size
PROVE_S = 10.0  # seconds that a new connection has for its proof
LARGEST = 1024  # bytes of a request before the proof
GUESTS = 64  # connections that may be without their proof at the same time

REFUSED = "Authentication failed: the other end does not know the secret of this cluster (minikafka.cluster.secret.file)"


class Opener:
    """The end that opened the connection to `node`."""

    def __init__(self, secret: bytes, node: int, challenge: bytes) -> None:
        self._prove, self.challenge = _prover(secret, node), challenge

    def answer(self, told: bytes) -> bytes:
        """Return our proof for the acceptor's challenge; KafkaError if the acceptor's own proof is wrong."""
        both = self.challenge + told[:CHALLENGE]
        if not hmac.compare_digest(told[CHALLENGE:], self._prove(b"acceptor", both)):
            raise KafkaError(Err.SASL_AUTHENTICATION_FAILED, REFUSED)
        return self._prove(b"opener", both)


class Acceptor:
    """The end that accepted the connection, on node `node`."""

    def __init__(self, secret: bytes, node: int, challenge: bytes) -> None:
        self._prove, self._challenge = _prover(secret, node), challenge
        self._both = b""
        self.proven = False

    def answer(self, told: bytes) -> bytes:
        """Return the bytes to send to the opener; KafkaError if it has not proven that it knows the secret."""
        if not self._both:
            if len(told) != CHALLENGE:
                raise KafkaError(Err.SASL_AUTHENTICATION_FAILED, REFUSED)
            self._both = told + self._challenge
            return self._challenge + self._prove(b"acceptor", self._both)
        if not hmac.compare_digest(told, self._prove(b"opener", self._both)):
            raise KafkaError(Err.SASL_AUTHENTICATION_FAILED, REFUSED)
        self.proven = True
        return b""


def _prover(secret: bytes, node: int) -> Callable[[bytes, bytes], bytes]:
    return lambda role, challenges: hmac.digest(secret, b"%s %d %s" % (role, node, challenges), "sha256")
