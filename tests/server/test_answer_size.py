"""A small request cannot ask for an answer of any size."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest

from minikafka.broker.config.api import describe
from minikafka.broker.groups.api import offsets
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE
from minikafka.broker.server.answer_size import Room
from minikafka.protocol.codec import encode_response
from minikafka.protocol.errors import Err
from tests.groups.test_shell_groups import GROUP, Groups
from tests.stage import play

SIZE = 1 << 20  # of the largest answer in these stories


def test_what_is_named_often_is_answered_until_the_answer_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if naming one resource many times makes an answer of any size, or spoils what has room (I-ANSWERSIZE-1)."""
    monkeypatch.setattr(describe, "Room", lambda: Room(SIZE))

    async def story(w: Groups) -> None:
        await w.begin()
        row = DescribeConfigsRequest.DescribeConfigsResource
        broker = row(resource_type=BROKER_RESOURCE, resource_name="1", configuration_keys=None)
        topic = row(resource_type=TOPIC_RESOURCE, resource_name="t", configuration_keys=["segment.bytes"])
        answer = await w.ask(1, DescribeConfigsRequest(resources=[broker] * 100 + [topic], include_synonyms=True,
                                                       include_documentation=True), 4)
        codes = [one.error_code for one in answer.results]
        served = codes.count(0)
        assert 3 < served < 50
        assert codes == [0] * (served - 1) + [Err.INVALID_REQUEST] * (101 - served) + [0]
        assert answer.results[0].configs == answer.results[1].configs != []
        assert SIZE / 3 < len(encode_response(answer, 4, 1)) < SIZE * 1.2

    play(Groups(1), story)


def test_offsets_of_a_group_that_is_named_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the offsets of one group can be asked for again and again in one request."""
    monkeypatch.setattr(offsets, "Room", lambda: Room(100))

    async def story(w: Groups) -> None:
        node = await w.begin()
        assert await w.commit(node, 7) is Err.NONE
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        found: Any = await w.ask(node, OffsetFetchRequest(groups=[group(group_id=GROUP, topics=None)] * 5,
                                                          require_stable=False), 8)
        assert [(one.error_code, len(one.topics)) for one in found.groups] == [(0, 1)] * 3 + [(Err.INVALID_REQUEST, 0)] * 2

    play(Groups(1), story)
