"""One connection of a user in a simulated world: a login by SCRAM-SHA-256 or OAUTHBEARER, Produce and Fetch, delegation tokens.

Owns: the client's side of SCRAM (RFC 5802) and of OAUTHBEARER (RFC 7628), as short as they can be.
"""

from __future__ import annotations

import base64
import hmac
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from minikafka.client.connection import BrokerConnection
from minikafka.log.batch import build
from minikafka.proof.small_worlds.doors.keeper import Visit
from minikafka.proof.small_worlds.doors.proofs import BEARER, DIGEST, Proof
from minikafka.protocol.apis import CreateDelegationTokenRequest

PATIENCE_S = 3.0


async def log_in(to: BrokerConnection, visit: Visit, proof: Proof, nonce: str) -> bool:
    """Authenticate, for the first time or again; return whether the broker lets the user in."""
    visit.proof = proof
    if (await to.request(SaslHandshakeRequest(mechanism=proof.mechanism), 1, PATIENCE_S)).error_code:
        return False
    if proof.mechanism == BEARER:
        if told := await _token(to, f"n,,\x01auth=Bearer {proof.secret}\x01\x01"):
            await _token(to, "\x01")  # the token was refused: the broker ends the login
        return told == ""
    first = f"n={proof.token_id or proof.user},r={nonce}{',tokenauth=true' if proof.token_id else ''}"
    told = await _token(to, f"n,,{first}")
    if told is None:
        return False
    parts = dict(part.split("=", 1) for part in told.split(","))
    salt = base64.b64decode(parts["s"])
    visit.key = proof.known(salt)
    last, client_key = f"c=biws,r={parts['r']}", proof.client_key(salt)
    signature = hmac.digest(proof.stored_key(salt), f"{first},{told},{last}".encode(), DIGEST)
    shown = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return await _token(to, f"{last},p={base64.b64encode(shown).decode()}") is not None


async def _token(to: BrokerConnection, text: str) -> str | None:
    answer = await to.request(SaslAuthenticateRequest(auth_bytes=text.encode()), 2, PATIENCE_S)
    return None if answer.error_code else bytes(answer.auth_bytes).decode()


async def write(to: BrokerConnection, topic: str, value: str) -> bool:
    """Write one record with acks=all; return whether it is acknowledged."""
    data = ProduceRequest.TopicProduceData
    rows = [data(name=topic, partition_data=[data.PartitionProduceData(
        index=0, records=build([(None, value.encode())], timestamp_ms=0))])]
    request = ProduceRequest(acks=-1, timeout_ms=2000, topic_data=rows)
    answer: Any = await to.request(request, 9, PATIENCE_S)
    return not answer.responses[0].partition_responses[0].error_code


async def read(to: BrokerConnection, topic: str, offset: int, wait_ms: int) -> None:
    """Fetch from an offset; wait for a new record if there is none."""
    wanted = FetchRequest.FetchTopic
    part = wanted.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 16)
    request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=1 << 20, topics=[wanted(topic=topic, partitions=[part])])
    await to.request(request, 11, PATIENCE_S)


async def create(to: BrokerConnection, owner: str, renewer: str, lifetime_ms: int) -> Proof | None:
    """Ask for a delegation token; return what its owner shows with it, None if the user gets none."""
    row = CreateDelegationTokenRequest.CreatableRenewers
    made = await ask(to, CreateDelegationTokenRequest(
        owner_principal_type="User", owner_principal_name=owner, max_lifetime_ms=lifetime_ms,
        renewers=[row(principal_type="User", principal_name=renewer)]), 3)
    if made.error_code:
        return None
    return Proof(made.principal_name, base64.b64encode(bytes(made.hmac)).decode(), token_id=made.token_id)


async def ask(to: BrokerConnection, request: ApiMessage, version: int) -> Any:  # Any: the answer of its API
    return await to.request(request, version, PATIENCE_S)
