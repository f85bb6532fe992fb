"""A member of a consumer group that a story controls: it joins, commits and falls silent as the script calls for it.

It reads the one partition of topic t. The leader of the group gives that partition to itself, unless a script
passes another assignment.

Owns: the member id, the generation, the heartbeats; and its part of the history.
Source: AbstractCoordinator, ConsumerCoordinator; KIP-345, KIP-394.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest

from minikafka.client.consumer import assignors
from minikafka.proof.stories.telling.client import NO_ANSWER, StoryClient
from minikafka.proof.stories.telling.story import PATIENCE, Story
from minikafka.protocol.errors import Err

GROUP, TOPIC, SESSION = "g", "t", 6.0  # seconds
SHARE = (TOPIC, 0)


class StoryMember(StoryClient):
    """One member. `home` is the broker that coordinates the group; `instance` makes it a static member."""

    def __init__(self, story: Story, name: str, home: int, instance: str | None = None) -> None:
        super().__init__(story, name)
        self.home, self.instance = home, instance
        self.id, self.generation = "", -1
        self.leads, self.others = False, [""]
        self._beating: asyncio.Task[None] | None = None

    async def _request(self, request: Any, version: int, timeout: float = PATIENCE) -> Any:
        """Return the answer, None if there is none."""
        try:
            return await self.peer(self.home).request(request, version, timeout)
        except (OSError, TimeoutError):
            return None

    def _outcome(self, what: str, answer: Any, good: str) -> str:
        error = NO_ANSWER if answer is None else Err(answer.error_code).name
        self.story.note(f"{self.name}: {good if error == Err.NONE.name else f'{what}, {error}'}")
        return error

    # --- membership -----------------------------------------------------------------------------------------------

    async def enter(self) -> None:
        """Join, and take what the leader assigns; then heartbeats begin."""
        await self.join()
        await self.sync([self.id] if self.leads else [])

    async def join(self) -> str:
        """Send JoinGroup, twice for a new member (KIP-394); return when the join phase ends."""
        while True:
            protocol = JoinGroupRequest.JoinGroupRequestProtocol(
                name="range", metadata=assignors.encode_subscription([TOPIC], [], self.generation))
            request = JoinGroupRequest(
                group_id=GROUP, session_timeout_ms=int(SESSION * 1000), rebalance_timeout_ms=20_000, member_id=self.id,
                group_instance_id=self.instance, protocol_type="consumer", protocols=[protocol], reason=None)
            answer = await self._request(request, 9)
            error = Err.UNKNOWN_SERVER_ERROR if answer is None else Err(answer.error_code)
            if error is Err.MEMBER_ID_REQUIRED:
                self.id = answer.member_id
            elif error in (Err.COORDINATOR_LOAD_IN_PROGRESS, Err.NOT_COORDINATOR):
                await self.story.env.sleep(0.1)
            elif error is Err.UNKNOWN_MEMBER_ID:
                self.id = ""
            else:
                break
        if error is Err.NONE:
            self.id, self.generation = answer.member_id, answer.generation_id
            self.leads = answer.leader == self.id
            self.others = [m.member_id for m in answer.members]
        return self._outcome("cannot join", answer, f"joined generation {self.generation}" + " as its leader" * self.leads)

    async def sync(self, owners: list[str], timeout: float = PATIENCE) -> str:
        """Send SyncGroup; as leader with the assignment: those member ids get the partition."""
        named = SyncGroupRequest.SyncGroupRequestAssignment
        shares = [named(member_id=m, assignment=assignors.encode_assignment([SHARE] if m in owners else []))
                  for m in self.others] if self.leads else []
        request = SyncGroupRequest(
            group_id=GROUP, generation_id=self.generation, member_id=self.id, group_instance_id=self.instance,
            protocol_type="consumer", protocol_name="range", assignments=shares)
        host = self.host
        answer = await self._request(request, 5, timeout)
        if host != self.host and answer is not None:
            return self.too_late("assignment", Err(answer.error_code))
        mine: list[Any] = []
        if answer is not None and answer.error_code == 0:
            mine = assignors.decode_assignment(answer.assignment) if answer.assignment else []
            # A static member's successor has its assignment, and its generation, by right.
            generation = {"generation": self.generation} if self.instance is None else {}
            self.story.history.record(self.name, "ok", "assign", group=GROUP, partitions=[list(tp) for tp in mine],
                                      **generation)
            if self._beating is None:
                self._beating = self.story.env.spawn(self._beat(), f"heartbeats of {self.name}")
        return self._outcome("cannot sync", answer, f"is given {'t-0' if mine else 'nothing'}")

    async def _beat(self) -> None:
        """Send heartbeats, and join again when the coordinator requires it."""
        while True:
            await self.story.env.sleep(1.0)
            request = HeartbeatRequest(group_id=GROUP, generation_id=self.generation, member_id=self.id,
                                       group_instance_id=self.instance)
            answer = await self._request(request, 4)
            if answer is not None and answer.error_code == Err.REBALANCE_IN_PROGRESS:
                await self.enter()

    def stop(self) -> None:
        """Send nothing more until the story lets the member do something, as after a SIGSTOP."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    # --- offsets --------------------------------------------------------------------------------------------------

    async def commit(self, offset: int, timeout: float = PATIENCE) -> str:
        """Send OffsetCommit."""
        operation = self.story.history.invoke(self.name, "commit", group=GROUP, offsets={"t-0": offset})
        part = OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=GROUP, generation_id_or_member_epoch=self.generation, member_id=self.id,
            group_instance_id=self.instance, retention_time_ms=-1,
            topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])])
        answer = await self._request(request, 8, timeout)
        error = NO_ANSWER if answer is None else Err(answer.topics[0].partitions[0].error_code).name
        done = error == Err.NONE.name
        end = self.story.history.ok if done else self.story.history.info if answer is None else self.story.history.fail
        end(operation)
        self.story.note(f"{self.name}: commit of {offset}{' done' if done else f', {error}'}")
        return error

    async def committed(self, stable: bool = True) -> int:
        """Send OffsetFetch until the coordinator knows; `stable`: not while a transaction may still change the offset."""
        operation = self.story.history.invoke(self.name, "committed", group=GROUP)
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])
        while True:
            request = OffsetFetchRequest(group_id=GROUP, topics=[topic], require_stable=stable)
            answer = await self._request(request, 7)
            if answer is not None and not answer.error_code and not answer.topics[0].partitions[0].error_code:
                break
            await self.story.env.sleep(0.1)
        found = int(answer.topics[0].partitions[0].committed_offset)
        self.story.history.ok(operation, offsets={"t-0": found})
        self.story.note(f"{self.name}: the group's offset is {found if found >= 0 else 'unknown'}")
        return found
