"""A small request cannot ask for an answer of any size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest, DescribeGroupsRequest
from kafka.protocol.admin.transactions import DescribeProducersRequest
from kafka.protocol.consumer.group import OffsetFetchRequest

from minikafka.broker.config.api import describe
from minikafka.broker.groups.api import admin, consumer_heartbeat, offsets
from minikafka.broker.metadata.records import BROKER_RESOURCE, TOPIC_RESOURCE
from minikafka.broker.server.answer_size import AnswerBudget
from minikafka.broker.transactions.api import admin as transactions
from minikafka.log.batch import build
from minikafka.protocol.codec import encode_response
from minikafka.protocol.errors import Err
from tests.broker.groups.test_shell_groups import GROUP, Groups
from tests.requests import produce
from tests.stage import staged

SIZE = 1 << 20  # of the largest answer in these stories


@staged(Groups, 1)
async def test_what_is_named_often_is_answered_until_the_answer_is_full(w: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if naming one resource many times makes an answer of any size, or spoils what has room (I-ANSWERSIZE-1)."""
    monkeypatch.setattr(describe, "AnswerBudget", lambda: AnswerBudget(SIZE))
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


@staged(Groups, 1)
async def test_offsets_of_a_group_that_is_named_often(w: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if the offsets of one group can be repeated in one request without a limit."""
    monkeypatch.setattr(offsets, "AnswerBudget", lambda: AnswerBudget(100))
    node = await w.begin()
    assert await w.commit(node, 7) is Err.NONE
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    for topics in (None, [group.OffsetFetchRequestTopics(name="t", partition_indexes=[0])]):
        wanted = [group(group_id=GROUP, topics=topics)] * 5
        found: Any = await w.ask(node, OffsetFetchRequest(groups=wanted, require_stable=False), 8)
        assert [(one.error_code, len(one.topics)) for one in found.groups] == (
            [(0, 1)] * 3 + [(Err.INVALID_REQUEST, 0)] * 2)
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    for count, code in ((3, 0), (4, Err.INVALID_REQUEST)):
        old: Any = await w.ask(node, OffsetFetchRequest(group_id=GROUP, topics=[topic] * count, require_stable=False), 7)
        assert (old.error_code, len(old.topics)) == (code, 0 if code else count)


@staged(Groups, 1)
async def test_groups_transactions_and_producers_that_are_named_often(w: Groups, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a name with a long answer can be repeated without a limit: names of groups, producers, partitions."""
    for place in (admin, consumer_heartbeat, transactions):
        monkeypatch.setattr(place, "AnswerBudget", lambda: AnswerBudget(1000))
    node = await w.begin()
    await w.enter(node)
    described = await w.ask(node, DescribeGroupsRequest(groups=[GROUP] * 100, include_authorized_operations=False), 5)
    assert tidy(one.error_code for one in described.groups) == [0, Err.INVALID_REQUEST]
    assert len(encode_response(described, 5, 1)) < 6000
    now, leader = w.client.wall_ms(), w.brokers[node].node.image.partition("t", 0).leader
    for number in range(10):
        batch = build([(b"k", b"v")], timestamp_ms=now, producer_id=number, producer_epoch=0, base_sequence=0)
        sent = await w.ask(leader, produce("t", batch, acks=1), 8)
        assert sent.responses[0].partition_responses[0].error_code == 0
    topic = DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0] * 50)
    producers = (await w.ask(leader, DescribeProducersRequest(topics=[topic]), 0)).topics[0].partitions
    assert [(one.error_code, len(one.active_producers)) for one in producers] == (
        [(0, 10)] * 2 + [(Err.INVALID_REQUEST, 0)] * 48)


def tidy(codes: Iterable[int]) -> list[int]:
    """Each code once, where it comes first."""
    return list(dict.fromkeys(codes))
