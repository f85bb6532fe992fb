"""A group's offsets: commit them, and fetch the committed ones.

Owns: nothing; conversations with the group's coordinator.
Invariants: a commit counts as failed only if no attempt of it can have been carried out; else it is `Unsure`.
            Only stable offsets are fetched: none while a transaction that wrote some of them is open.
            I-COMMITS-3 a client that is no member any more sends no commit (Kafka's CommitFailedException). An empty group
              takes commits without a generation, so nothing would fence this client.
Source: ConsumerCoordinator.sendOffsetCommitRequest, sendOffsetFetchRequest; KIP-447 (stable offsets).
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from kafka.protocol.consumer import OffsetCommitRequest, OffsetFetchRequest

from minikafka.client.client import GROUP, Client
from minikafka.client.consumer.classic_member import REJOIN, Membership
from minikafka.client.consumer.consumer_member import ConsumerMembership
from minikafka.client.consumer.group_member import NO_GENERATION
from minikafka.client.metadata import Tp
from minikafka.client.recorder import Recorder, plain
from minikafka.client.retry import RETRIABLE, Unsure
from minikafka.protocol.errors import Err, KafkaError

COMMIT, FETCH = 9, 8  # versions


class Committed(NamedTuple):
    """A committed offset with the leader epoch of the record before it; -1 for none."""

    offset: int
    epoch: int


class Commits:
    """The commits of one consumer; `membership` is None for a consumer that assigns its partitions itself."""

    def __init__(self, client: Client, group: str, membership: Membership | ConsumerMembership | None,
                 recorder: Recorder) -> None:
        self.client, self.group, self.membership, self.recorder = client, group, membership, recorder

    async def commit(self, offsets: dict[Tp, Committed], timeout: float, retry: bool = True) -> None:
        """Commit; `retry` until `timeout` seconds are over. Raises KafkaError, or `Unsure`."""
        if not offsets:
            return
        operation = self.recorder.invoke("commit", group=self.group,
                                         offsets=plain({tp: c.offset for tp, c in offsets.items()}))
        try:
            await self._until_done(offsets, timeout, retry)
        except BaseException as error:
            operation.ended(error)
            raise
        operation.ok()

    async def _until_done(self, offsets: dict[Tp, Committed], timeout: float, retry: bool) -> None:
        unsure, attempts = False, 0
        request = self._request(offsets)  # with the present generation: a later generation has other offsets
        error = Err.REQUEST_TIMED_OUT
        try:
            async with asyncio.timeout(timeout):
                while True:
                    before, unsure = unsure, True
                    error, _ = await self.client.ask_coordinator(GROUP, self.group, lambda: request, COMMIT, _worst)
                    unsure = before or (error in RETRIABLE and error is not Err.COORDINATOR_LOAD_IN_PROGRESS)
                    if error is Err.NONE:
                        return
                    if error not in RETRIABLE or not retry:
                        break
                    attempts += 1
                    await self.client.env.sleep(self.client.backoff.pause(attempts))
        except TimeoutError:
            error = Err.REQUEST_TIMED_OUT
        self._refused(error, request)
        raise Unsure(error) if unsure else KafkaError(error)

    def _refused(self, error: Err, request: OffsetCommitRequest) -> None:
        """Join again, begin anew or fail, as the refusal asks, if it concerns the present generation."""
        member = self.membership
        if member is None or member.generation != request.generation_id_or_member_epoch or member.joining:
            return
        if error in REJOIN:
            member.forget(error)
        elif error is Err.REBALANCE_IN_PROGRESS:
            member.needs_join = True
        elif error is Err.FENCED_INSTANCE_ID:
            member.error = KafkaError(error)

    def _request(self, offsets: dict[Tp, Committed]) -> OffsetCommitRequest:
        Topic = OffsetCommitRequest.OffsetCommitRequestTopic
        topics: dict[str, list[Any]] = {}
        for (name, index), committed in offsets.items():
            topics.setdefault(name, []).append(Topic.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=committed.offset, committed_leader_epoch=committed.epoch,
                committed_metadata=""))
        member = self.membership
        if member is not None and member.generation == NO_GENERATION:  # the group is empty and would take it
            raise KafkaError(Err.REBALANCE_IN_PROGRESS if member.joining else Err.UNKNOWN_MEMBER_ID,
                             f"{self.client.client_id} is no member of {self.group}")
        return OffsetCommitRequest(
            group_id=self.group, generation_id_or_member_epoch=member.generation if member else NO_GENERATION,
            member_id=member.member_id if member else "", group_instance_id=member.instance_id if member else None,
            topics=[Topic(name=name, partitions=parts) for name, parts in topics.items()])

    async def fetch(self, tps: list[Tp], timeout: float) -> dict[Tp, Committed]:
        """Return the committed offsets; raises KafkaError after `timeout` seconds."""
        operation = self.recorder.invoke("committed", group=self.group)
        attempts = 0
        try:
            async with asyncio.timeout(timeout):
                while (found := await self._fetch_once(tps)) is None:
                    attempts += 1
                    await self.client.env.sleep(self.client.backoff.pause(attempts))
        except TimeoutError:
            operation.fail("timeout")
            raise KafkaError(Err.REQUEST_TIMED_OUT, "no committed offsets in time") from None
        except BaseException as error:
            operation.fail(error)
            raise
        operation.ok(offsets=plain({tp: c.offset for tp, c in found.items()}),
                     by=self.client.known_coordinator(GROUP, self.group))
        return found

    async def _fetch_once(self, tps: list[Tp]) -> dict[Tp, Committed] | None:
        Group = OffsetFetchRequest.OffsetFetchRequestGroup
        topics: dict[str, list[int]] = {}
        for name, index in tps:
            topics.setdefault(name, []).append(index)
        group = Group(group_id=self.group, topics=[
            Group.OffsetFetchRequestTopics(name=name, partition_indexes=parts) for name, parts in topics.items()])
        error, answer = await self.client.ask_coordinator(
            GROUP, self.group, lambda: OffsetFetchRequest(groups=[group], require_stable=True), FETCH, _worst_fetched)
        if error is not Err.NONE:
            if error not in RETRIABLE:
                raise KafkaError(error)
            return None
        return {(t.name, p.partition_index): Committed(p.committed_offset, p.committed_leader_epoch)
                for t in answer.groups[0].topics for p in t.partitions}


def _worst(answer: Any) -> Err:
    """Return the worst error of a commit: one that no retry can mend, else one that a retry can, else NONE."""
    errors = [e for t in answer.topics for p in t.partitions if (e := Err(p.error_code)) is not Err.NONE]
    return next((e for e in errors if e not in RETRIABLE), errors[0] if errors else Err.NONE)


def _worst_fetched(answer: Any) -> Err:
    group = answer.groups[0]
    return Err(group.error_code) if group.error_code else _worst(group)
