"""Hostile logins on both engines: tokens too large, messages of another login, crowds that guess; and who else must wait."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from kafka.protocol.admin import AlterUserScramCredentialsRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka import Cluster
from minikafka.broker.server.sasl import LARGEST_TOKEN
from minikafka.cluster.security import LOGIN
from minikafka.protocol.codec import encode_request
from tests.broker.security.test_sasl import REFUSED, final
from tests.wire.raw import Raw

MECHANISM, PASSWORD = "SCRAM-SHA-256", "pencil"
CROWD, GUESSES, LONGEST_WAIT_S = 30, 3, 2.0


@pytest.fixture(scope="module")
def door(engine: str) -> Iterator[Cluster]:
    """One broker with a listener for PLAIN and SCRAM, and a user of each."""
    config = {"listener.security.protocol.map": "LAB:SASL_PLAINTEXT", "connection.failed.authentication.delay.ms": 300,
              "listener.name.lab.sasl.enabled.mechanisms": f"PLAIN,{MECHANISM}",
              "listener.name.lab.plain.sasl.jaas.config": f'{LOGIN["PLAIN"]} required user_ada="x";',
              f"listener.name.lab.{MECHANISM.lower()}.sasl.jaas.config": f"{LOGIN[MECHANISM]} required;"}
    with Cluster(brokers=1, engine=engine, listeners={"LAB": "127.0.0.1"}, config=config) as cluster:
        upsert, salt = AlterUserScramCredentialsRequest.ScramCredentialUpsertion, os.urandom(16)
        with Raw(cluster.address(1)) as raw:
            raw.ask(AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsert(
                name="ada", mechanism=1, iterations=4096, salt=salt,
                salted_password=hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), salt, 4096))]), 0)
        cluster.wait(lambda: exchange(cluster)[2] == 0)
        yield cluster


def exchange(door: Cluster, replayed: tuple[bytes, bytes] | None = None) -> tuple[bytes, bytes, int]:
    """Log in by SCRAM, or send the messages of another login; return both messages, and the code of the second answer."""
    with Raw(door.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism=MECHANISM), 1)
        first = replayed[0] if replayed else b"n,,n=ada,r=client"
        told = raw.ask(SaslAuthenticateRequest(auth_bytes=first), 2)
        if told.error_code:
            return first, b"", int(told.error_code)
        last = replayed[1] if replayed else final("sha256", first.decode(), bytes(told.auth_bytes), PASSWORD)
        return first, last, int(raw.ask(SaslAuthenticateRequest(auth_bytes=last), 2).error_code)


def test_messages_of_another_login_are_worth_nothing(door: Cluster) -> None:
    """Fails if who has heard a whole login, both messages with their nonces, can log in with them."""
    *heard, code = exchange(door)
    assert code == 0
    assert exchange(door, (heard[0], heard[1]))[2] == 58


@pytest.mark.parametrize("size, answered", [(LARGEST_TOKEN - 1000, True), (LARGEST_TOKEN + 1, False)])
@pytest.mark.parametrize("mechanism", ["PLAIN", MECHANISM])
def test_a_huge_token(door: Cluster, mechanism: str, size: int, answered: bool) -> None:
    """Fails if a token of any size is read, or one that is allowed is not refused in time as any other."""
    with Raw(door.address(1, "LAB")) as raw:
        raw.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
        request = encode_request(SaslAuthenticateRequest(auth_bytes=b"n" * size), 2, 1, "raw")
        begun = time.monotonic()
        try:
            raw.send(request)
            frame = raw.receive()
        except OSError:  # closed while we were writing
            frame = None
        assert (frame is not None) == answered and time.monotonic() - begun < LONGEST_WAIT_S
        if frame is not None:
            assert struct.unpack_from(">h", frame, 5) == (58,)
            assert mechanism == "PLAIN" or REFUSED.format(mechanism).encode() in frame


def test_a_crowd_that_guesses_keeps_nobody_waiting(door: Cluster) -> None:
    """Fails if other clients wait while a crowd guesses passwords and others stop in the middle of a login, or if a guess costs
    no time."""
    guessed: list[float] = []

    def guess() -> None:
        for number in range(GUESSES):
            with Raw(door.address(1, "LAB")) as raw:
                begun = time.monotonic()
                raw.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
                assert raw.ask(SaslAuthenticateRequest(auth_bytes=b"\0ada\0%d" % number), 2).error_code == 58
                guessed.append(time.monotonic() - begun)

    half = [Raw(door.address(1, "LAB")) for _ in range(CROWD)]
    for raw in half:
        raw.ask(SaslHandshakeRequest(mechanism=MECHANISM), 1)
    crowd = [threading.Thread(target=guess) for _ in range(CROWD)]
    waits = []
    with Raw(door.address(1, "LAB")) as good:
        good.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert good.ask(SaslAuthenticateRequest(auth_bytes=b"\0ada\0x"), 2).error_code == 0
        for thread in crowd:
            thread.start()
        while any(thread.is_alive() for thread in crowd):
            begun = time.monotonic()
            assert good.ask(MetadataRequest(topics=[]), 1).brokers
            waits.append(time.monotonic() - begun)
            crowd[0].join(0.01)
    for raw in half:
        raw.socket.close()
    assert len(guessed) == CROWD * GUESSES and min(guessed) > 0.29
    assert max(waits) < LONGEST_WAIT_S, f"{len(waits)} requests, the longest took {max(waits):.3f} s"
