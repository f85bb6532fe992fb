"""The longest text that a request may hold is served like any other, and what is made of it still fits into an answer."""

from __future__ import annotations

from typing import Any

import pytest

from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.protocol.codec import REQUESTS, RESPONSES, decode_response, encode_request
from minikafka.protocol.errors import Err
from tests.story import in_world

LONGEST = "x" * 32767  # of a string of the protocol


async def ask(world: OneBroker, key: int, version: int, client: str, **fields: Any) -> Any:
    """Send a request under a client id and return its answer."""
    connection = await world.connect()
    connection.send(encode_request(REQUESTS[key](version=version, **fields), version, 7, client))
    await connection.wait(1, 60)
    assert connection.frames, "the connection was closed"
    return decode_response(RESPONSES[key], version, memoryview(connection.frames[0]))


@in_world(OneBroker, 1)
async def test_the_longest_client_id_becomes_a_member(world: OneBroker) -> None:
    """Fails if a long client id closes its connection, or makes a member id that no answer can hold."""
    protocol = REQUESTS[11].JoinGroupRequestProtocol(name="range", metadata=b"")
    join = {"group_id": "g", "session_timeout_ms": 10000, "rebalance_timeout_ms": 10000, "group_instance_id": None,
            "protocol_type": "consumer", "protocols": [protocol], "reason": None}
    while (found := await ask(world, 11, 9, LONGEST, member_id="", **join)).error_code in (
            Err.NOT_COORDINATOR, Err.COORDINATOR_NOT_AVAILABLE, Err.COORDINATOR_LOAD_IN_PROGRESS):
        await ask(world, 10, 6, LONGEST, key_type=0, coordinator_keys=["g"])
        await world.sleep(0.1)
    assert found.error_code == Err.MEMBER_ID_REQUIRED and 32000 < len(found.member_id) <= 32767
    joined = await ask(world, 11, 9, LONGEST, member_id=found.member_id, **join)
    assert joined.error_code == 0 and joined.leader == found.member_id
    described = await ask(world, 15, 5, LONGEST, groups=["g"], include_authorized_operations=False)
    assert described.groups[0].members[0].client_id == LONGEST


@pytest.mark.parametrize("value, code", [(LONGEST, Err.NONE), ("é" + LONGEST[:-2], Err.NONE)])
@in_world(OneBroker, 1)
async def test_the_longest_value_of_a_setting(world: OneBroker, value: str, code: Err) -> None:
    """Fails if a value near 32,767 bytes closes the connection, or cannot be read again."""
    change = REQUESTS[44].AlterConfigsResource
    config = change.AlterableConfig(name="log.cleaner.backoff.ms.x", config_operation=0, value=value)
    answer = await ask(world, 44, 1, "x", validate_only=False,
                       resources=[change(resource_type=4, resource_name="", configs=[config])])
    assert [one.error_code for one in answer.responses] == [code]
    wrong = change.AlterableConfig(name="retention.ms", config_operation=0, value=value)
    answer = await ask(world, 44, 1, "x", validate_only=False,
                       resources=[change(resource_type=2, resource_name="t", configs=[wrong])])
    assert [one.error_code for one in answer.responses] == [Err.UNKNOWN_SERVER_ERROR]  # its text would quote the value
    asked = REQUESTS[32].DescribeConfigsResource(resource_type=4, resource_name="", configuration_keys=None)
    found = await ask(world, 32, 4, "x", resources=[asked], include_synonyms=True, include_documentation=True)
    assert found.results[0].error_code == 0
