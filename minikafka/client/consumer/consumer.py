"""The consumer: `poll` returns records in the order of the log, from the consumer's positions on.

    consumer = Consumer(env, bootstrap, topics=["flights"], group="lab")     # a member of a group
    consumer = Consumer(env, bootstrap); consumer.assign([("flights", 0)])   # on its own
    for record in await consumer.poll(1.0): ...
    await consumer.commit()

Between polls only fetches, heartbeats and an unfinished join go on. As in Kafka's classic consumer, partitions are assigned
and taken away, and offsets are committed automatically, only inside poll.

Owns: the parts below it (positions, fetcher, questions, membership, commits) and what it writes into the history.
Invariants: I-CONSUMER-1 positions are committed: an earlier poll has returned everything before them.
            An eager consumer gives its partitions up before it joins again; a cooperative one gives up those
              that the new assignment lacks. With auto_commit it commits first.
What Kafka does differently: background threads; here tasks of one loop.
Source: org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer, ConsumerCoordinator.
"""

from __future__ import annotations

import asyncio
from typing import Any

from minikafka.broker.server.env import Env
from minikafka.client.client import REQUEST_TIMEOUT, Client
from minikafka.client.consumer.classic_member import Membership
from minikafka.client.consumer.commits import Commits, Committed
from minikafka.client.consumer.consumer_member import ConsumerMembership
from minikafka.client.consumer.fetched_records import ConsumerRecord
from minikafka.client.consumer.fetcher import Fetcher
from minikafka.client.consumer.positions import Phase, Positions
from minikafka.client.consumer.questions import Questions
from minikafka.client.history import History
from minikafka.client.metadata import Tp
from minikafka.client.producer.producer import as_text
from minikafka.client.recorder import Recorder
from minikafka.protocol.errors import Err, KafkaError

READ_COMMITTED = "read_committed"
LOOK = 0.1  # seconds between two checks of things that do not wake the poll by themselves
TOPICS_EVERY = 1.0  # seconds between two questions for topics that do not exist yet


class Consumer:
    """A consumer. `reset` is Kafka's auto.offset.reset ("earliest", "latest" or "none"); times in seconds.

    With `diverging` the fetch itself finds truncations (last_fetched_epoch, as followers do), beside the request for the end of
    an epoch at each change of leader. `rack` is the consumer's rack: with a replica.selector.class that compares racks, the
    leader sends the consumer to a follower there. `protocol` is Kafka's group.protocol: "classic", or "consumer" (KIP-848),
    where the brokers assign ("range" or "uniform").
    """

    def __init__(self, env: Env, bootstrap: list[tuple[str, int]], group: str | None = None,
                 topics: list[str] | tuple[str, ...] = (), *, isolation: str = "read_uncommitted",
                 reset: str = "earliest", auto_commit: bool = False, auto_commit_interval: float = 1.0,
                 instance_id: str | None = None, protocol: str = "classic", assignor: str = "range",
                 session_timeout: float = 6.0, rebalance_timeout: float = 10.0, heartbeat_interval: float = 1.0,
                 max_poll_interval: float = 300.0, max_records: int = 500, max_wait: float = 0.5,
                 max_bytes: int = 1 << 20, diverging: bool = False, rack: str = "",
                 request_timeout: float = REQUEST_TIMEOUT, history: History | None = None, name: str = "consumer") -> None:
        self.env, self.name, self.group, self.topics = env, name, group, list(topics)
        self.isolation, self.reset, self.max_records = isolation, reset, max_records
        self.auto_commit, self.auto_commit_interval = auto_commit and group is not None, auto_commit_interval
        self.client = Client(env, bootstrap, name, request_timeout)
        self.recorder = Recorder(history, name)
        self.positions = Positions(self.client.metadata)
        self.closed = False
        self._news = asyncio.Event()
        shared: dict[str, Any] = {"committed_only": isolation == READ_COMMITTED, "wake": self._news.set,
                                  "stale": self._look_for_leaders, "lost_track": self._lost_track}
        self.fetcher = Fetcher(self.client, self.positions, max_wait=max_wait, max_bytes=max_bytes,
                               diverging=diverging, rack=rack, **shared)
        self.questions = Questions(self.client, self.positions, **shared)
        self.membership: Membership | ConsumerMembership | None = None
        if group is not None and self.topics:
            about: dict[str, Any] = {"assignor": assignor, "instance_id": instance_id, "wake": self._news.set,
                                     "rebalance_timeout": rebalance_timeout, "max_poll_interval": max_poll_interval}
            self.membership = ConsumerMembership(self.client, group, self.topics, **about) if protocol == "consumer" else (
                Membership(self.client, group, self.topics, session_timeout=session_timeout,
                           heartbeat_interval=heartbeat_interval, **about))
        self.commits = Commits(self.client, group or "", self.membership, self.recorder)
        self._lost: KafkaError | None = None
        self._committed_at = env.now()
        self._committed: dict[Tp, Committed] = {}
        self._looking = self._asking_group = False
        self._topics_at = float("-inf")
        for topic in self.topics:
            self.client.metadata.wanted.setdefault(topic)

    # --- its partitions -----------------------------------------------------------------------------------------

    @property
    def assignment(self) -> list[Tp]:
        return list(self.positions.of)

    def assign(self, tps: list[Tp]) -> None:
        """Read these partitions, outside any group."""
        if self.membership is not None:
            raise ValueError("this consumer's group assigns its partitions")
        for topic, _ in tps:
            self.client.metadata.wanted.setdefault(topic)
        self._change_assignment([(topic, partition) for topic, partition in tps])

    def _change_assignment(self, tps: list[Tp], lost: bool = False) -> None:
        before = self.assignment
        revoked, added = [tp for tp in before if tp not in tps], [tp for tp in tps if tp not in before]
        about: dict[str, Any] = {"group": self.group} if self.group is not None else {}
        if self.membership is not None and self.membership.instance_id is not None:
            about["instance"] = self.membership.instance_id
        if revoked:
            self.recorder.fact("revoke", partitions=[list(tp) for tp in revoked], **about, lost=lost)
        self.positions.assign(tps)
        if self.membership is not None and self.membership.stable:
            protocol = "consumer" if self.membership.brokers_assign else "classic"
            about |= {"generation": self.membership.generation, "protocol": protocol}
        if added:
            self.recorder.fact("assign", partitions=[list(tp) for tp in added], **about)

    def seek(self, tp: Tp, offset: int) -> None:
        """Go on from `offset`."""
        self._assigned(tp).go(offset, -1, self.client.leader(tp))
        self.recorder.fact("seek", topic=tp[0], partition=tp[1], offset=offset)

    def seek_to(self, tp: Tp, where: str) -> None:
        """Go on from the "earliest" or the "latest" record."""
        self._assigned(tp).reset(where)
        self.recorder.fact("seek", topic=tp[0], partition=tp[1], offset=-1)

    def position(self, tp: Tp) -> int | None:
        """Return the offset of the next record that poll will return; None while it is not known."""
        position = self._assigned(tp)
        return position.offset if position.phase in (Phase.FETCH, Phase.VALIDATE) else None

    def pause(self, *tps: Tp) -> None:
        for tp in tps:
            self._assigned(tp).paused = True

    def resume(self, *tps: Tp) -> None:
        for tp in tps:
            self._assigned(tp).paused = False

    def _assigned(self, tp: Tp) -> Any:
        if tp not in self.positions.of:
            raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"{tp} is not assigned to this consumer")
        return self.positions.of[tp]

    # --- poll ---------------------------------------------------------------------------------------------------

    async def poll(self, timeout: float = 1.0, max_records: int | None = None) -> list[ConsumerRecord]:
        """Return records as soon as there are any, an empty list after `timeout` seconds. Raises KafkaError where only the
        caller can decide: a lost position without a reset policy, a fenced instance, a corrupt batch."""
        deadline = self.env.now() + timeout
        while True:
            self._news.clear()
            await self._keep_assignment()
            self._keep_positions()
            records = self.fetcher.take(max_records or self.max_records)
            self.fetcher.ask()
            if records:
                self._tell(records)
                return records
            if self._lost is not None:
                lost, self._lost = self._lost, None
                raise lost
            now = self.env.now()
            if now >= deadline:
                return []
            await self._wait(min(deadline - now, LOOK))

    async def _wait(self, seconds: float) -> None:
        timer = self.env.later(seconds, self._news.set)
        await self._news.wait()
        timer.cancel()

    def _tell(self, records: list[ConsumerRecord]) -> None:
        about = {"group": self.group} if self.group is not None else {}
        told = [[r.topic, r.partition, r.offset, as_text(r.value)] for r in records]
        self.recorder.invoke("poll", isolation=self.isolation, **about).ok(records=told)

    def _keep_positions(self) -> None:
        """Send the requests that positions need before the consumer can fetch from them."""
        self.positions.follow_leaders()
        starting = self.positions.waiting(Phase.START, self.env.now())
        if starting and self.group is None:
            for tp in starting:
                self._reset(tp, KafkaError(Err.OFFSET_OUT_OF_RANGE, f"{tp} has no position and no reset policy"))
        elif starting and not self._asking_group:
            self._asking_group = True
            turns = {tp: self.positions.of[tp].turn for tp in starting}
            self.env.spawn(self._ask_group(turns), f"{self.name}: committed offsets")
        self.questions.ask()

    async def _ask_group(self, turns: dict[Tp, int]) -> None:
        """Fetch the group's committed offsets and go to them (a task)."""
        try:
            found = await self.commits.fetch(list(turns), self.client.request_timeout * 2)
        except KafkaError:
            return  # poll asks again
        finally:
            self._asking_group = False
            self._news.set()
        for tp, committed in found.items():
            position = self.positions.same(tp, turns[tp])
            if position is None:
                continue
            if committed.offset >= 0:
                position.go(committed.offset, committed.epoch, self.client.leader(tp))
            else:
                self._reset(tp, KafkaError(Err.OFFSET_OUT_OF_RANGE, f"{tp} has no committed offset"))

    def _reset(self, tp: Tp, why: KafkaError) -> None:
        if self.reset == "none":
            self._lost = why
            self.positions.of[tp].not_before = float("inf")  # until the caller seeks
        else:
            self.positions.of[tp].reset(self.reset)

    def _lost_track(self, tp: Tp, why: KafkaError, end_offset: int, epoch: int) -> None:
        """Reset or report a position that is not in the leader's log; after a truncation the logs diverge at `end_offset`."""
        if end_offset >= 0 and epoch >= 0 and self.reset != "none":
            self.positions.of[tp].go(end_offset, -1, self.client.leader(tp))
            self.recorder.fact("seek", topic=tp[0], partition=tp[1], offset=end_offset, why="truncation")
        else:
            self._reset(tp, why)
            self.recorder.fact("seek", topic=tp[0], partition=tp[1], offset=-1, why=str(why))

    def _look_for_leaders(self) -> None:
        """Ask for fresh metadata, but not more often than every LOOK seconds."""
        if not self._looking and not self.closed:
            self._looking = True
            self.env.spawn(self._refresh(), f"{self.name}: look for leaders")

    async def _refresh(self) -> None:
        await self.client.refresh()
        self._news.set()
        await self.env.sleep(LOOK)
        self._looking = False

    # --- the group ----------------------------------------------------------------------------------------------

    async def _keep_assignment(self) -> None:
        if self.env.now() - self._topics_at > TOPICS_EVERY and (self.client.metadata_is_old or any(
                not self.client.metadata.partitions(topic) for topic in self.topics)):
            self._topics_at = self.env.now()
            self._look_for_leaders()
        if self.membership is not None:
            await self._keep_membership(self.membership)
            await self._commit_from_time_to_time()
        elif self.topics and not self.positions.of:
            every = [(topic, p) for topic in self.topics for p in self.client.metadata.partitions(topic)]
            self._change_assignment(every)

    async def _keep_membership(self, member: Membership | ConsumerMembership) -> None:
        member.polled_at = self.env.now()
        if member.error is not None:
            raise member.error
        if member.lost:
            member.lost = False
            self._change_assignment([], lost=True)
        if (assigned := member.take()) is not None:
            gone = [tp for tp in self.assignment if tp not in assigned]
            if gone and self.auto_commit and member.brokers_assign:
                await self._commit_quietly()
            news = member.brokers_assign and {*assigned} != {*self.assignment}
            self._change_assignment(assigned)
            self._committed_at = self.env.now()  # as onJoinComplete does
            member.needs_join = member.needs_join or news or bool(gone and member.cooperative)
        member.check_counts()
        if member.needs_join and not member.joining:
            if self.auto_commit and member.stable:
                await self._commit_quietly()
            if not member.cooperative:
                self._change_assignment([])
            if member.needs_join and not member.lost:
                member.join(self.assignment)

    async def _commit_from_time_to_time(self) -> None:
        if self.auto_commit and self.env.now() >= self._committed_at + self.auto_commit_interval:
            self._committed_at = self.env.now()
            if self.consumed() != self._committed:  # Kafka commits the same offsets again and again
                self._committed = self.consumed()
                self.commit_async()

    async def _commit_quietly(self) -> None:
        """Commit before partitions are given up; if that fails, their next owner reads some records again."""
        try:
            await self.commit(timeout=self.client.request_timeout)
        except KafkaError:
            pass

    # --- commits ------------------------------------------------------------------------------------------------

    def consumed(self) -> dict[Tp, Committed]:
        """Return the positions, which `commit` commits: where poll has returned everything before."""
        return {tp: Committed(p.offset, p.epoch) for tp, p in self.positions.of.items()
                if p.phase in (Phase.FETCH, Phase.VALIDATE)}

    async def commit(self, offsets: dict[Tp, int] | None = None, timeout: float = 10.0) -> None:
        """Commit the positions or the given offsets; raises KafkaError, `Unsure` if it may have happened."""
        await self.commits.commit(self._offsets(offsets), timeout)

    def commit_async(self, offsets: dict[Tp, int] | None = None) -> asyncio.Task[None]:
        """Commit without waiting and without retry; only the history learns of a failure."""
        return self.env.spawn(self._commit_once(self._offsets(offsets)), f"{self.name}: commit")

    async def _commit_once(self, offsets: dict[Tp, Committed]) -> None:
        try:
            await self.commits.commit(offsets, self.client.request_timeout, retry=False)
        except KafkaError:
            pass

    def _offsets(self, offsets: dict[Tp, int] | None) -> dict[Tp, Committed]:
        if self.group is None:
            raise KafkaError(Err.INVALID_GROUP_ID, "this consumer has no group")
        return self.consumed() if offsets is None else {tp: Committed(o, -1) for tp, o in offsets.items()}

    async def committed(self, tps: list[Tp] | None = None, timeout: float = 10.0) -> dict[Tp, int]:
        """Return the group's committed offsets, -1 where there is none."""
        found = await self.commits.fetch(tps or self.assignment, timeout)
        return {tp: committed.offset for tp, committed in found.items()}

    # --- the end ------------------------------------------------------------------------------------------------

    async def close(self, timeout: float = 5.0) -> None:
        """Commit (with auto_commit) and leave the group, within `timeout` seconds."""
        try:
            async with asyncio.timeout(timeout):
                if self.membership is not None:
                    if self.auto_commit and self.membership.stable:
                        await self._commit_quietly()
                    await self.membership.close()
        except TimeoutError:
            pass
        await self.kill()

    async def kill(self) -> None:
        """End as if the process had died: without a commit, and without leaving the group."""
        self.closed = True
        if self.membership is not None:
            await self.membership.close(leave=False)
        self._change_assignment([])
        self.client.close()
