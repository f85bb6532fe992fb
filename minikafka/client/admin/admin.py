"""The administrator: topics, configs, replicas, leaders, records, groups.

Any broker takes these requests and hands them to the controller. A request whose answer is lost may have been carried out:
it is sent again, and an error that says "done already" then counts as success.

Owns: the facts in the history that explain why records are gone, so that they do not count as lost (deleted records and
topics, unclean elections, compaction, retention). A fact is written before its request is sent: the answer may be lost.
Invariants: I-ADMIN-1 a change is requested until it is done, refused, or `timeout` seconds are over (`Unsure`).
Source: org.apache.kafka.clients.admin.KafkaAdminClient; KIP-455 (reassignment), KIP-460 (elections), KIP-107.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.api_message import ApiMessage

from minikafka.broker.server.env import Env
from minikafka.client.admin.views import TOPIC, Views
from minikafka.client.client import GROUP, Client
from minikafka.client.history import History
from minikafka.client.metadata import Tp
from minikafka.client.recorder import Recorder
from minikafka.client.retry import RETRIABLE, Unsure
from minikafka.protocol.errors import Err, KafkaError

SET, DELETE = 0, 1  # operations on a config
PREFERRED, UNCLEAN = 0, 1  # kinds of elections
PART_S = 5.0  # seconds that a broker may try to reach the controller, before we try another broker


class Admin(Views):
    """One admin client; `timeout` is for each call as a whole, in seconds."""

    def __init__(self, env: Env, bootstrap: list[tuple[str, int]], *, timeout: float = 30.0, history: History | None = None,
                 name: str = "admin") -> None:
        self.client = Client(env, bootstrap, name, PART_S + 1.0)
        self.timeout, self.history = timeout, history
        self.recorder = Recorder(history, name)

    async def _change(self, message: Callable[[], ApiMessage], version: int, error_of: Callable[[Any], Err],
                      done: Err = Err.NONE) -> Any:
        """Send the request until it is done and return the answer; after a lost answer the error `done` counts as success."""
        attempts, unsure, error = 0, False, Err.REQUEST_TIMED_OUT
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    before, unsure = unsure, True
                    answer = await self.client.ask_any(message(), version)
                    error = Err.NETWORK_EXCEPTION if answer is None else error_of(answer)
                    unsure = before or error in (Err.NETWORK_EXCEPTION, Err.REQUEST_TIMED_OUT)
                    if error is Err.NONE or before and error is done:
                        return answer
                    if error not in RETRIABLE:
                        break
                    attempts += 1
                    await self.client.env.sleep(self.client.backoff.pause(attempts))
        except TimeoutError:
            pass
        raise Unsure(error) if unsure else KafkaError(error)

    # --- topics -------------------------------------------------------------------------------------------------

    async def create_topic(self, name: str, partitions: int = 1, replicas: int = 3,
                           configs: dict[str, str] | None = None,
                           assignment: dict[int, list[int]] | None = None) -> None:
        """Create a topic. `assignment` names the replicas of each partition, the preferred leader first."""
        Topic = CreateTopicsRequest.CreatableTopic
        parts = [Topic.CreatableReplicaAssignment(partition_index=p, broker_ids=brokers)
                 for p, brokers in (assignment or {}).items()]
        topic = Topic(name=name, num_partitions=-1 if parts else partitions,
                      replication_factor=-1 if parts else replicas, assignments=parts,
                      configs=[Topic.CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()])
        self._tell_configs(name, configs or {})
        await self._change(lambda: CreateTopicsRequest(topics=[topic], timeout_ms=int(PART_S * 1000)), 7,
                           lambda a: Err(a.topics[0].error_code), Err.TOPIC_ALREADY_EXISTS)

    async def create_topics(self, topics: dict[str, int], replicas: int = 3) -> None:
        """Create several topics: {name: number of partitions}."""
        for name, partitions in topics.items():
            await self.create_topic(name, partitions, replicas)

    async def delete_topic(self, name: str) -> None:
        self._fact("delete-topic", topic=name)
        state = DeleteTopicsRequest.DeleteTopicState(name=name)
        await self._change(lambda: DeleteTopicsRequest(topics=[state], timeout_ms=int(PART_S * 1000)), 6,
                           lambda a: Err(a.responses[0].error_code), Err.UNKNOWN_TOPIC_OR_PARTITION)

    async def delete_topics(self, names: list[str]) -> None:
        for name in names:
            await self.delete_topic(name)

    async def create_partitions(self, name: str, count: int) -> None:
        """Let the topic have `count` partitions in all."""
        topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count)
        await self._change(lambda: CreatePartitionsRequest(topics=[topic], timeout_ms=int(PART_S * 1000)), 3,
                           lambda a: Err(a.results[0].error_code), Err.INVALID_PARTITIONS)

    async def alter_configs(self, topic: str, configs: dict[str, str | None]) -> None:
        """Set a topic's configs; None goes back to the default."""
        Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        changes = [Resource.AlterableConfig(name=name, config_operation=DELETE if value is None else SET, value=value)
                   for name, value in configs.items()]
        self._tell_configs(topic, configs)
        resource = Resource(resource_type=TOPIC, resource_name=topic, configs=changes)
        await self._change(lambda: IncrementalAlterConfigsRequest(resources=[resource]), 1,
                           lambda a: Err(a.responses[0].error_code))

    # --- partitions ---------------------------------------------------------------------------------------------

    async def reassign(self, tp: Tp, replicas: list[int] | None) -> None:
        """Move a partition to these replicas; None takes back a move that is under way."""
        Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
        topic = Topic(name=tp[0], partitions=[Topic.ReassignablePartition(partition_index=tp[1], replicas=replicas)])
        await self._change(lambda: AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=int(PART_S * 1000)),
                           0, lambda a: Err(a.error_code or a.responses[0].partitions[0].error_code),
                           Err.NO_REASSIGNMENT_IN_PROGRESS)

    async def elect_leader(self, tp: Tp, unclean: bool = False) -> None:
        """Have the preferred replica elected; if `unclean`, any living one. Raises ELECTION_NOT_NEEDED if such a one leads."""
        if unclean:
            self._fact("elect-unclean", topic=tp[0], partition=tp[1])
        topic = ElectLeadersRequest.TopicPartitions(topic=tp[0], partitions=[tp[1]])
        await self._change(lambda: ElectLeadersRequest(election_type=UNCLEAN if unclean else PREFERRED,
                                                       topic_partitions=[topic], timeout_ms=int(PART_S * 1000)),
                           2, _election, Err.ELECTION_NOT_NEEDED)

    async def elect_leaders(self, tps: list[Tp], unclean: bool = False) -> None:
        """Have leaders elected for several partitions; partitions that need no election stay as they are."""
        for tp in tps:
            try:
                await self.elect_leader(tp, unclean)
            except KafkaError as error:
                if error.code is not Err.ELECTION_NOT_NEEDED:
                    raise

    async def delete_records(self, tp: Tp, before: int) -> int:
        """Delete the records before an offset (-1: all below the high watermark); return the log's new start offset."""
        await self.client.topic(tp[0], self.timeout)
        if before < 0:
            await self.offset(*tp)  # its answer is of no use; without this request recorded seeds would take another course
        known = {"offset": before} if before >= 0 else {}
        operation = self.recorder.invoke("delete-records", topic=tp[0], partition=tp[1], **known)
        Topic = DeleteRecordsRequest.DeleteRecordsTopic
        topic = Topic(name=tp[0], partitions=[Topic.DeleteRecordsPartition(partition_index=tp[1], offset=before)])
        try:
            part = await self._leader(tp, lambda: DeleteRecordsRequest(topics=[topic], timeout_ms=int(PART_S * 1000)), 2)
        except KafkaError as error:
            operation.info(error)  # a leader may have deleted them, though its followers did not confirm in time
            raise
        operation.ok(offset=max(before, part.low_watermark))
        return int(part.low_watermark)

    async def delete_group(self, group: str) -> None:
        """Delete a group that has no members."""
        async def ask() -> tuple[Err, Any]:
            return await self.client.ask_coordinator(GROUP, group, lambda: DeleteGroupsRequest(groups_names=[group]),
                                                     2, lambda a: Err(a.results[0].error_code))

        await self._patiently(ask)

    # --- the history --------------------------------------------------------------------------------------------

    def _tell_configs(self, topic: str, configs: dict[str, Any]) -> None:
        if "compact" in (configs.get("cleanup.policy") or ""):
            self._fact("compacts", topic=topic)
        if configs.keys() & {"retention.ms", "retention.bytes"}:
            self._fact("retention", topic=topic)
        if configs.get("unclean.leader.election.enable") == "true":
            self._fact("may-lose", topic=topic, why="unclean.leader.election.enable")

    def _fact(self, f: str, **fields: Any) -> None:
        if self.history is not None:
            self.history.fact(f, **fields)

    async def close(self) -> None:
        self.client.close()


def _election(answer: Any) -> Err:
    if answer.error_code or not answer.replica_election_results:
        return Err(answer.error_code)
    return Err(answer.replica_election_results[0].partition_result[0].error_code)
