"""Quotas at work in virtual time: what real brokers let through is the limit, to the byte and the second."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    DescribeClientQuotasRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.broker.compat.api.scram import refuse_scram
from minikafka.broker.controller.shell.controller_channel import refused
from minikafka.broker.quotas.api import refuse_quotas
from minikafka.log.batch import build
from minikafka.protocol.codec import encode_request
from minikafka.protocol.errors import Err
from tests.requests import create_topics, fetch, produce, topic
from tests.stage import Stage, staged

LIMIT = 1000.0          # bytes a second
WINDOW_S = 10.0         # what may be used at once, in seconds of the limit
SIZE = 2000             # of a record


class Limited(Stage):
    """A world with a topic `t` of one replica, and quotas for its client, `client`."""

    async def begin(self, **limits: float) -> int:
        """Start, make the topic, limit the client; returns the topic's leader when it keeps the limits."""
        await self.start()
        await self.ask(1, create_topics(topic("t")), 7)
        leader = await self.leader_of("t")
        await self.alter({"client-id": "client"}, **limits)
        while not self.brokers[leader].image.client_quotas:
            await self.client.sleep(0.01)
        return leader

    async def alter(self, entity: dict[str, str | None], **limits: float) -> None:
        entry = AlterClientQuotasRequest.EntryData
        who = [entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        ops = [entry.OpData(key=key, value=value, remove=False) for key, value in limits.items()]
        answer = await self.ask(1, AlterClientQuotasRequest(entries=[entry(entity=who, ops=ops)], validate_only=False), 1)
        assert [e.error_code for e in answer.entries] == [0]

    async def quotas(self, node: int) -> dict[Any, dict[str, float]]:
        answer = await self.ask(node, DescribeClientQuotasRequest(components=[], strict=False), 1)
        return {tuple((p.entity_type, p.entity_name) for p in e.entity): {v.key: v.value for v in e.values}
                for e in answer.entries}


PRODUCE = produce("t", build([(None, b"x" * SIZE)], timestamp_ms=0), acks=1)


def sent(request: ApiMessage, version: int) -> int:
    """Bytes that a broker counts of a request."""
    return len(encode_request(request, version, 1, "client")) - 4


@staged(Limited, 3)
async def test_a_producer_gets_its_limit_and_not_a_byte_more(w: Limited) -> None:
    """Fails if a client that sends as fast as the broker reads gets another rate: what the window takes at once, then the
    limit. It sends as fast as it can for ten minutes."""
    leader = await w.begin(producer_byte_rate=LIMIT)
    begun, used, waits = w.client.now(), 0, 0
    while w.client.now() - begun < 600 and used < 2 * 600 * LIMIT:
        answer = await w.ask(leader, PRODUCE, 9, timeout=600)
        used, waits = used + sent(PRODUCE, 9), waits + answer.throttle_time_ms
    took = w.client.now() - begun
    assert used / LIMIT - WINDOW_S - 2 <= took <= used / LIMIT + 2
    assert waits / 1000 == pytest.approx(took, abs=WINDOW_S + 2)


@staged(Limited, 3)
async def test_a_consumer_gets_its_limit(w: Limited) -> None:
    """Fails if empty answers count, or more gets through. A little less does: a batch waits until all of it has room."""
    leader = await w.begin(consumer_byte_rate=LIMIT)
    for _ in range(80):
        await w.ask(leader, PRODUCE, 9)
    begun, offset, used, empty = w.client.now(), 0, 0, 0
    while offset < 80:
        answer = await w.ask(leader, fetch("t", offset, most=1), 12, timeout=600)
        assert (answer.throttle_time_ms > 0) == (answer.responses == [])
        for row in answer.responses:
            offset, used = offset + 1, used + len(row.partitions[0].records)
        empty += answer.responses == []
    took = w.client.now() - begun
    assert used / LIMIT - WINDOW_S - 2 <= took <= used / LIMIT * 1.4 and empty > 0


@staged(Limited, 4)
async def test_a_throttled_client_is_not_read_for_exactly_its_throttle_time(w: Limited) -> None:
    """Fails if the connection is open again before or after the time that the answer names; acks=0 is no way out."""
    leader = await w.begin(producer_byte_rate=100.0)
    answer = await w.ask(leader, PRODUCE, 9)
    expected = round((sent(PRODUCE, 9) / 10 - 100) / 100 * 10_000)
    assert answer.throttle_time_ms == expected > 9000
    begun = w.client.now()
    await w.ask(leader, ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    assert expected / 1000 - 0.1 <= w.client.now() - begun <= expected / 1000 + 0.1
    begun = w.client.now()
    w.connect(leader)
    await w.ask(leader, ApiVersionsRequest(client_software_name="t", client_software_version="1"), 4)
    assert w.client.now() - begun < 0.5, "another connection is listened to"


class Short(Limited):
    extra = {"quota.window.num": "3", "quota.window.size.seconds": "2"}


@staged(Short, 7)
async def test_the_window_is_as_long_as_the_settings_say(w: Short) -> None:
    """Fails if a setting has no effect: two whole pieces of two seconds are four seconds."""
    leader = await w.begin(producer_byte_rate=100.0)
    expected = round((sent(PRODUCE, 9) / 4 - 100) / 100 * 4000)
    assert (await w.ask(leader, PRODUCE, 9)).throttle_time_ms == expected > 0


@staged(Limited, 6)
async def test_whoever_does_not_want_to_wait_leaves_nothing_behind(w: Limited) -> None:
    """Fails if a throttled connection that its client has closed is kept until its throttle time is over."""
    leader = await w.begin(producer_byte_rate=1.0)
    before = len(w.brokers[leader].clients.connections)
    assert (await w.ask(leader, PRODUCE, 9)).throttle_time_ms > 1_000_000
    w.peers[leader].close()
    await w.client.sleep(1.0)
    assert len(w.brokers[leader].clients.connections) == before - 1


@pytest.mark.parametrize("code", [Err.NOT_CONTROLLER, Err.INVALID_REQUEST])
def test_a_client_gets_no_not_controller_when_the_controller_moves(code: Err) -> None:
    """Fails if such an answer is taken for the controller's, and the request is not sent again (I-FWD-1)."""
    entry = AlterClientQuotasRequest.EntryData
    who = entry(entity=[entry.EntityData(entity_type="user", entity_name=None)], ops=[])
    gone = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="u", mechanism=1)
    for answer in (refuse_quotas(AlterClientQuotasRequest(entries=[who], validate_only=False), code),
                   refuse_scram(AlterUserScramCredentialsRequest(deletions=[gone], upsertions=[]), code)):
        assert refused(answer) == (code is Err.NOT_CONTROLLER)


@staged(Limited, 5)
async def test_quotas_outlive_all_nodes_and_are_kept_again(w: Limited) -> None:
    """Fails if a quota is not in the metadata that a node starts with, or is described there but not kept."""
    leader = await w.begin(producer_byte_rate=100.0)
    before = await w.quotas(leader)
    for node in (1, 2, 3):
        w.world.kill(node)
    await w.world.restart(1, 2, 3)
    for node in (1, 2, 3):
        w.connect(node)
    leader = await w.leader_of("t")
    while (await w.quotas(leader)) != before:
        await w.client.sleep(0.1)
    assert (await w.ask(leader, PRODUCE, 9)).throttle_time_ms > 9000
