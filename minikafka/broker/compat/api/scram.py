"""AlterUserScramCredentials, decided by the controller, and DescribeUserScramCredentials, answered by any broker.

Owns: the way between the wire and broker/compat/scram.py.
Source: KafkaApis.handleDescribeUserScramCredentialsRequest, ControllerApis; KIP-554.
"""

from __future__ import annotations

from kafka.protocol.admin import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

from minikafka.broker.compat.scram import ScramDeletion, ScramUpsertion, Verdict, alter_scram, describe_scram
from minikafka.broker.controller.api.forwarding import forwarded
from minikafka.broker.controller.controller import Controller, Records
from minikafka.broker.metadata.records import UserScramCredentialRecord
from minikafka.broker.server.registry import Context, handles
from minikafka.broker.server.turns import collected, each
from minikafka.protocol.errors import Err, KafkaError

AlteredRow = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
DescribedRow = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult


async def _alter(ctx: Context, controller: Controller,
                 request: AlterUserScramCredentialsRequest) -> tuple[Records, AlterUserScramCredentialsResponse]:
    records, verdicts = await collected(alter_scram(
        controller.image, [ScramDeletion(d.name, d.mechanism) for d in request.deletions],
        [ScramUpsertion(u.name, u.mechanism, u.iterations, bytes(u.salt), bytes(u.salted_password))
         for u in request.upsertions]))
    return records, _altered(verdicts)


def refuse_scram(request: AlterUserScramCredentialsRequest, code: Err) -> AlterUserScramCredentialsResponse:
    """Return the response that has one error for every user."""
    names = dict.fromkeys(one.name for one in [*request.deletions, *request.upsertions])
    return _altered([(name, KafkaError(code)) for name in names])


def _altered(verdicts: list[Verdict]) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(throttle_time_ms=0, results=[
        AlteredRow(user=name, error_code=int(refusal.code) if refusal else 0,
                   error_message=refusal.message if refusal and refusal.code is not Err.UNKNOWN_SERVER_ERROR else None)
        for name, refusal in verdicts])


forwarded(AlterUserScramCredentialsRequest, _alter, refuse_scram)


@handles(DescribeUserScramCredentialsRequest)
async def describe_user_scram_credentials(
        ctx: Context, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    """Describe the credentials that this broker has replayed: mechanisms and iterations only."""
    users = describe_scram(ctx.node.image, [user.name for user in request.users or []])
    rows = await each(lambda user: _described(*user), users)
    return DescribeUserScramCredentialsResponse(throttle_time_ms=0, error_code=0, error_message="", results=rows)


def _described(name: str, credentials: list[UserScramCredentialRecord] | KafkaError) -> DescribedRow:
    if isinstance(credentials, KafkaError):
        return DescribedRow(user=name, error_code=int(credentials.code), error_message=credentials.message,
                            credential_infos=[])
    infos = [DescribedRow.CredentialInfo(mechanism=c.mechanism, iterations=c.iterations) for c in credentials]
    return DescribedRow(user=name, error_code=0, error_message="", credential_infos=infos)
