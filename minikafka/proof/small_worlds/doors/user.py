"""One connection of a user in a simulated world: a login by SCRAM-SHA-256, then Produce and Fetch.

Owns: the client's side of SCRAM (RFC 5802), as short as it can be.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import lru_cache
from typing import Any

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka.client.connection import BrokerConnection
from minikafka.log.batch import build
from minikafka.proof.small_worlds.doors.keeper import Visit

MECHANISM, NUMBER, DIGEST, ITERATIONS = "SCRAM-SHA-256", 1, "sha256", 4096
PATIENCE_S = 3.0


@lru_cache(maxsize=10_000)
def salted(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac(DIGEST, password.encode(), salt, ITERATIONS)


def stored_key(password: str, salt: bytes) -> bytes:
    """Return what the cluster keeps of a password."""
    return hashlib.new(DIGEST, hmac.digest(salted(password, salt), b"Client Key", DIGEST)).digest()


async def log_in(to: BrokerConnection, visit: Visit, user: str, password: str, nonce: str) -> bool:
    """Authenticate, for the first time or again; return whether the broker lets the user in."""
    visit.trying = user
    if (await to.request(SaslHandshakeRequest(mechanism=MECHANISM), 1, PATIENCE_S)).error_code:
        return False
    first = f"n={user},r={nonce}"
    told = await _token(to, f"n,,{first}")
    if told is None:
        return False
    parts = dict(part.split("=", 1) for part in told.split(","))
    salt = base64.b64decode(parts["s"])
    visit.key = stored_key(password, salt)
    last = f"c=biws,r={parts['r']}"
    signature = hmac.digest(visit.key, f"{first},{told},{last}".encode(), DIGEST)
    client_key = hmac.digest(salted(password, salt), b"Client Key", DIGEST)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return await _token(to, f"{last},p={base64.b64encode(proof).decode()}") is not None


async def _token(to: BrokerConnection, text: str) -> str | None:
    answer = await to.request(SaslAuthenticateRequest(auth_bytes=text.encode()), 2, PATIENCE_S)
    return None if answer.error_code else bytes(answer.auth_bytes).decode()


async def write(to: BrokerConnection, topic: str, value: str) -> bool:
    """Write one record with acks=all; return whether it is acknowledged."""
    data = ProduceRequest.TopicProduceData
    rows = [data(name=topic, partition_data=[data.PartitionProduceData(
        index=0, records=build([(None, value.encode())], timestamp_ms=0))])]
    request = ProduceRequest(transactional_id=None, acks=-1, timeout_ms=2000, topic_data=rows)
    answer: Any = await to.request(request, 9, PATIENCE_S)
    return not answer.responses[0].partition_responses[0].error_code


async def read(to: BrokerConnection, topic: str, offset: int, wait_ms: int) -> None:
    """Fetch from an offset; wait for a new record if there is none."""
    wanted = FetchRequest.FetchTopic
    rows = [wanted(topic=topic, partitions=[wanted.FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 16, current_leader_epoch=-1, log_start_offset=-1,
        last_fetched_epoch=-1)])]
    request = FetchRequest(replica_id=-1, max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, isolation_level=0, session_id=0,
                           session_epoch=-1, topics=rows, forgotten_topics_data=[], rack_id="")
    await to.request(request, 11, PATIENCE_S)
