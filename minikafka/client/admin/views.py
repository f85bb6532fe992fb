"""The queries of an admin client: topics, leaders, offsets, configs, groups, transactions, the quorum.

Owns: nothing; requests that any broker, the leader or the coordinator answers. A query changes nothing, so each is sent
again until it is answered, or `timeout` seconds are over.
Source: org.apache.kafka.clients.admin.KafkaAdminClient.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeProducersRequest,
    DescribeQuorumRequest,
    DescribeTransactionsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest

from minikafka.client.client import GROUP, TRANSACTION, Client
from minikafka.client.consumer.questions import CONSUMER, LIST_VERSION, TIMESTAMPS
from minikafka.client.metadata import Tp
from minikafka.client.retry import RETRIABLE
from minikafka.protocol.errors import Err, KafkaError

T = TypeVar("T")
TOPIC, BROKER = 2, 4  # kinds of resources that have configs


class Views:
    """The half of `Admin` that only asks."""

    client: Client
    timeout: float

    async def _patiently(self, ask: Callable[[], Awaitable[tuple[Err, T]]]) -> T:
        """Call `ask` until it succeeds and return its answer; raises KafkaError for an error that no retry can mend."""
        attempts, error = 0, Err.REQUEST_TIMED_OUT
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    error, answer = await ask()
                    if error is Err.NONE:
                        return answer
                    if error not in RETRIABLE:
                        raise KafkaError(error)
                    attempts += 1
                    await self.client.refresh()
                    await self.client.env.sleep(self.client.backoff.pause(attempts))
        except TimeoutError:
            raise KafkaError(error) from None

    async def _any(self, message: Callable[[], Any], version: int,
                   error_of: Callable[[Any], int] = lambda answer: answer.error_code) -> Any:
        async def ask() -> tuple[Err, Any]:
            answer = await self.client.ask_any(message(), version, self.timeout)
            return (Err.NETWORK_EXCEPTION, None) if answer is None else (Err(error_of(answer)), answer)

        return await self._patiently(ask)

    async def _leader(self, tp: Tp, message: Callable[[], Any], version: int) -> Any:
        """Ask the partition's leader; return the part of its answer about this partition."""
        await self.client.topic(tp[0], self.timeout)

        async def ask() -> tuple[Err, Any]:
            answer = await self.client.ask(self.client.leader(tp).node, message(), version)
            if answer is None:
                return Err.NETWORK_EXCEPTION, None
            part = answer.topics[0].partitions[0]
            return Err(part.error_code), part

        return await self._patiently(ask)

    async def leader(self, topic: str, partition: int = 0) -> int:
        """Return the leader of a partition as one broker knows it now; -1 for none."""
        self.client.metadata.wanted.setdefault(topic)
        await self.client.refresh()
        return self.client.leader((topic, partition)).node

    async def offset(self, topic: str, partition: int = 0, where: str = "latest", committed_only: bool = False) -> int:
        """Return where a log begins ("earliest") or ends ("latest": the high watermark, or the last stable offset)."""
        Topic = ListOffsetsRequest.ListOffsetsTopic
        tp = topic, partition

        def question() -> Any:
            part = Topic.ListOffsetsPartition(partition_index=partition, timestamp=TIMESTAMPS[where],
                                              current_leader_epoch=self.client.leader(tp).epoch)
            return ListOffsetsRequest(replica_id=CONSUMER, isolation_level=int(committed_only),
                                      topics=[Topic(name=topic, partitions=[part])])

        return int((await self._leader(tp, question, LIST_VERSION)).offset)

    async def describe_configs(self, topic: str) -> dict[str, str | None]:
        """Return all configs of a topic with their values."""
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=topic, configuration_keys=None)
        answer = await self._any(lambda: DescribeConfigsRequest(
            resources=[resource], include_synonyms=False, include_documentation=False), 4,
            lambda answer: answer.results[0].error_code)
        return {config.name: config.value for config in answer.results[0].configs}

    async def describe_producers(self, topic: str, partition: int = 0) -> list[Any]:
        """Return the producers whose sequence numbers the leader remembers."""
        Topic = DescribeProducersRequest.TopicRequest
        found = await self._leader((topic, partition), lambda: DescribeProducersRequest(
            topics=[Topic(name=topic, partition_indexes=[partition])]), 0)
        return list(found.active_producers)

    async def reassignments(self) -> dict[Tp, tuple[list[int], list[int]]]:
        """Return the partitions that are moving: (replicas being added, replicas being removed)."""
        answer = await self._any(lambda: ListPartitionReassignmentsRequest(
            timeout_ms=int(self.timeout * 1000), topics=None), 0)
        return {(t.name, p.partition_index): (list(p.adding_replicas), list(p.removing_replicas))
                for t in answer.topics for p in t.partitions}

    async def describe_group(self, group: str) -> Any:
        """Return Kafka's DescribedGroup: .group_state, .members, ... ("Dead" for a group that does not exist)."""
        async def ask() -> tuple[Err, Any]:
            return await self.client.ask_coordinator(GROUP, group, lambda: DescribeGroupsRequest(
                groups=[group], include_authorized_operations=False), 5, lambda a: Err(a.groups[0].error_code))

        return (await self._patiently(ask)).groups[0]

    async def list_groups(self) -> list[str]:
        """Return the groups that one broker coordinates."""
        answer = await self._any(lambda: ListGroupsRequest(states_filter=[], types_filter=[]), 5)
        return sorted(group.group_id for group in answer.groups)

    async def describe_transaction(self, transactional_id: str) -> Any:
        """Return Kafka's TransactionState: .transaction_state, .producer_id, .topics, ..."""
        async def ask() -> tuple[Err, Any]:
            return await self.client.ask_coordinator(
                TRANSACTION, transactional_id, lambda: DescribeTransactionsRequest(
                    transactional_ids=[transactional_id]), 0, lambda a: Err(a.transaction_states[0].error_code))

        return (await self._patiently(ask)).transaction_states[0]

    async def list_transactions(self) -> list[str]:
        """Return the transactional ids that one broker coordinates."""
        answer = await self._any(lambda: ListTransactionsRequest(
            state_filters=[], producer_id_filters=[], duration_filter=-1), 1)
        return sorted(state.transactional_id for state in answer.transaction_states)

    async def describe_quorum(self) -> Any:
        """Return Kafka's PartitionData of the quorum: .leader_id, .leader_epoch, .high_watermark, .current_voters, ..."""
        Topic = DescribeQuorumRequest.TopicData
        question = DescribeQuorumRequest(topics=[
            Topic(topic_name="__cluster_metadata", partitions=[Topic.PartitionData(partition_index=0)])])
        return (await self._any(lambda: question, 1)).topics[0].partitions[0]
