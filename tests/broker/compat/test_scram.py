"""The keys that are kept of a password (broker/compat/scram.py)."""

from __future__ import annotations

import base64
import hashlib
import hmac

from minikafka.broker.compat.scram import MECHANISMS, keys


def test_the_keys_are_those_of_the_standard():
    """Fails if a key is derived otherwise: with these a server checks the proof of RFC 7677's example (user, pencil)."""
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    stored, server = keys(MECHANISMS[1], salted)
    message = (b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,"
               b"i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    signature = _hmac(stored, message)
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == stored
    assert base64.b64encode(_hmac(server, message)) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_keys_are_those_of_kafka():
    """Fails if a mechanism takes another hash: what Apache Kafka 4.3 wrote into its log for the salted password `pw`."""
    stored, server = keys(MECHANISMS[1], b"pw")
    assert stored.hex() == "5678ee9d1077eaf019eebd2995dfcf6abcb00e7dbfcc7999826a101285ca578d"
    assert server.hex() == "ff96b365feaf2a3e2ce059cfc7988af8c5c00e9146121c75f9f8dad809a5984f"
    assert keys(MECHANISMS[2], b"pw")[0].hex().startswith("98d5f414b9299edd9d30eeaf29fe7aa06f1c0e644bca23d8")


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
