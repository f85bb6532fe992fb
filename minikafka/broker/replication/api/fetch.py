"""Fetch: stored bytes to consumers and followers, long poll included (versions 4 to 18).

A fetch session remembers the partitions that a fetcher named in earlier requests. The request is completed from its
session, and every partition is read once. If that is too little for an answer, the request waits until one of its partitions
moves, and reads that one again. Bytes leave as they lie in the log.

Versions of Fetch
  5 the answer names the log start offset; 7 fetch sessions (KIP-227); 9 the requester's leader epoch (KIP-320);
  11 the requester's rack, and a nearer replica in the answer (KIP-392); 12 flexible, with the epoch of the last fetched record;
  13 topic ids instead of names (KIP-516); 15 a follower names its broker epoch (KIP-903); 16 a new leader's address in the
  answer (KIP-951); 17 the follower's directory (KIP-853); 18 the high watermark that the follower knows (KIP-1166).

Owns: nothing beyond the request being served.
Invariants
  I-FET-1  a consumer never sees beyond the high watermark, read_committed never beyond the last stable offset (rule 9).
  A fetch tells the leader how far a follower is only once, at its first read, and only on the internal listener.
           On the clients' listener a replica id lets its sender read to the log end, as in Kafka, and proves nothing.
  The first non-empty partition gets one whole batch however small the limits; the order of the partitions is
           that of the request.
  A client that has used up a quota gets an empty answer; what was read counts neither for the quota nor the session.
  I-FET-4  a consumer that has a nearer follower gets its id at once, and no records of that partition from here.
  I-FET-7  a request that waits keeps what it still needs, not the message; the connection counts what it keeps.
  I-FET-6  a partition in which the first read found nothing, and in which nothing has moved since, is not read again.
  I-FET-8  a client gets no records that it may not read when the response is made.
What Kafka does differently: a fetch from beyond the high watermark is answered at once; here it waits. The rights of a fetch
that waits are those from its beginning there.
Source: KafkaApis.handleFetchRequest, ReplicaManager.readFromLog, DelayedFetch; KIP-74, KIP-227, KIP-320, KIP-392, KIP-951.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from kafka.protocol.consumer import FetchRequest, FetchResponse

from minikafka.broker.authorizer.acl import AclOperation, ResourceType
from minikafka.broker.raft.api import fetch_metadata
from minikafka.broker.raft.shell.quorum import Quorum
from minikafka.broker.replication.api.current_leader import node_endpoints
from minikafka.broker.replication.fetch_session import FetchContext, Key
from minikafka.broker.replication.shell.delayed_operations import DelayedFetch, Wanted
from minikafka.broker.replication.shell.partition import HIGH_WATERMARK, LAST_STABLE, LOG_END, LogReadResult, Partition
from minikafka.broker.replication.shell.replica_manager import ReplicaManager
from minikafka.broker.server.registry import CLIENTS, INTERNAL, Context, handles
from minikafka.broker.server.turns import each, pace
from minikafka.protocol.codec import encoded_size
from minikafka.protocol.errors import Err, KafkaError
from minikafka.protocol.maker import maker

METADATA_TOPIC_ID = UUID(int=1)
WAITING, REFUSED = 800, 350    # bytes of memory that a partition takes, about, while the request waits
MANY = 1000                    # partitions whose answer is measured in a thread
NO_REPLICA = NO_EPOCH = -1
NEVER = -1                     # no change count
BY_TOPIC_ID, FOLLOWER_READS, TELLS_LEADER, KNOWS_STORAGE_ERROR = 13, 11, 16, 6      # since these versions

Topic = FetchResponse.FetchableTopicResponse
Data = Topic.PartitionData
Answers = dict[Key, Data]
Found = dict[Key, LogReadResult | Data]
make_response, make_topic, make_data = maker(FetchResponse), maker(Topic), maker(Data)


@handles(FetchRequest, on=(CLIENTS, INTERNAL), versions=(4, 18), needs=(ReplicaManager, Quorum))
async def fetch(ctx: Context, request: FetchRequest, replicas: ReplicaManager, quorum: Quorum) -> FetchResponse:
    """Return the response, at once or after a long poll. A fetch of the metadata log goes to the quorum from here
    (`raft/api.py`); everything below is about partitions of topics."""
    if _of_metadata_log(ctx, request):
        return await fetch_metadata(ctx, request, quorum)
    return await ServedFetch(ctx, request, replicas).serve()


def _of_metadata_log(ctx: Context, request: FetchRequest) -> bool:
    return ctx.listener == INTERNAL and any(t.topic_id == METADATA_TOPIC_ID for t in request.topics)


@dataclass(slots=True)
class FetchPartitionStatus:
    """One partition of a request: what is wanted of it, and what was found."""

    key: Key
    wanted: Wanted
    name: str                                        # of its topic, as it was when the request came
    partition: Partition | None = None               # once it was found
    change_count: int = NEVER                        # of the partition when it was read without records
    found: LogReadResult | Err = Err.NONE

    @property
    def size(self) -> int:
        """Return how many bytes of records were found."""
        return len(self.found.records) if isinstance(self.found, LogReadResult) else 0

    @property
    def stands_still(self) -> bool:
        """Return whether another read would find the same: nothing (I-FET-6)."""
        partition = self.partition
        return partition is not None and partition.moved.change_count == self.change_count and not partition.failed


class ServedFetch:
    """One request while it is being served."""

    def __init__(self, ctx: Context, request: FetchRequest, replicas: ReplicaManager) -> None:
        self.ctx, self.request, self.replicas = ctx, request, replicas
        self.by_id = ctx.version >= BY_TOPIC_ID
        state = request.replica_state if ctx.version >= 15 else None
        self.replica = state.replica_id if state else request.replica_id if ctx.version < 15 else NO_REPLICA
        self.broker_epoch = state.replica_epoch if state else -1
        self.from_follower = self.replica >= 0
        self.only_leader = self.from_follower or ctx.version < FOLLOWER_READS
        quota = ctx.node.quotas.most_fetched(ctx.client_id, ctx.user) if self._has_quota else None
        self.max_bytes = min(request.max_bytes, ctx.node.config["fetch.max.bytes"],
                             request.max_bytes if quota is None else quota)
        self.min_bytes = min(request.min_bytes, self.max_bytes)
        selects = ctx.node.config["replica.selector.class"] is not None
        self.rack = request.rack_id if selects and not self.from_follower and ctx.version >= FOLLOWER_READS else ""
        level = LAST_STABLE if request.isolation_level == 1 else HIGH_WATERMARK
        self.isolation = LOG_END if self.from_follower else level
        self.checks = ctx.node.authorizer is not None and ctx.listener == CLIENTS
        self.asked: list[FetchPartitionStatus] = []                 # what is to be read
        self.refused: dict[Key, Err] = {}            # what cannot even be looked for

    async def serve(self) -> FetchResponse:
        """Return the answer, at once or after a long poll."""
        context = await self._open_session()
        await self._sort_out(context)
        if self.asked and self.request.isolation_level not in (0, 1):
            return self._refuse_all(Err.UNKNOWN_SERVER_ERROR)
        paused = await self._read_all(count=self.ctx.listener == INTERNAL)
        if context.error or self._enough():
            return await self._answer(context)
        if any(one.size for one in self.asked):      # the limits of the request may have left something out
            for one in self.asked:
                one.change_count = NEVER
        if (delayed := await self._delay(paused)) is not None:
            await delayed.finished
            await self._refuse_what_is_forbidden()
        await self._read_all(count=False)
        return await self._answer(context)

    async def _delay(self, paused: bool) -> DelayedFetch | None:
        """Return the wait for more records; None if the answer must not wait: a partition is not here any more."""
        try:
            partitions = {self._partition(one) if paused or one.partition is None else one.partition: one
                          for one in self.asked}
        except KafkaError:                           # others had a turn
            return None
        waiting = {partition: one.wanted for partition, one in partitions.items()}
        found = {partition: one.size for partition, one in partitions.items()}
        delayed = DelayedFetch(self.ctx.node.env, waiting, found, self.isolation, self.min_bytes, self.only_leader)
        delayed.watch(delayed.waiting, self.request.max_wait_ms / 1000, log_end=self.from_follower)
        if paused:                                   # what moved since it was read was not seen (I-DELAY-2)
            await each(delayed.moved, list(waiting))
        self._let_go()
        return delayed

    # --- request --------------------------------------------------------------------------------------------------

    async def _open_session(self) -> FetchContext[Wanted]:
        r = self.request
        wanted = {}
        for topic in r.topics:
            for p in topic.partitions:
                wanted[self._key(topic, p.partition)] = Wanted(
                    max(p.current_leader_epoch, NO_EPOCH), p.fetch_offset, max(p.last_fetched_epoch, NO_EPOCH),
                    p.log_start_offset, p.partition_max_bytes)
                await pace()
        forgotten = [self._key(topic, index) for topic in r.forgotten_topics_data or () for index in topic.partitions]
        return self.replicas.sessions.open(r.session_id, r.session_epoch, self.by_id, wanted, forgotten,
                                           self.ctx.node.env.now())

    def _key(self, topic: FetchRequest.FetchTopic | FetchRequest.ForgottenTopic, index: int) -> Key:
        return (topic.topic_id if self.by_id else topic.topic, index)

    async def _sort_out(self, context: FetchContext[Wanted]) -> None:
        image, checks = self.ctx.node.image, self.checks
        follows = not checks or not self.from_follower or self.ctx.may(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
        for key, wanted in context.wanted.items():
            await pace()
            name = self._name(key, context.names)
            if not follows:
                self.refused[key] = Err.TOPIC_AUTHORIZATION_FAILED
            elif name is None:
                self.refused[key] = Err.UNKNOWN_TOPIC_ID
            elif checks and not self.from_follower and not self._may_read(name):
                self.refused[key] = Err.TOPIC_AUTHORIZATION_FAILED
            elif image.partition(name, key[1]) is None:
                self.refused[key] = Err.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self.asked.append(FetchPartitionStatus(key, wanted, name))

    def _may_read(self, name: str) -> bool:
        return self.ctx.may(AclOperation.READ, ResourceType.TOPIC, name)

    async def _refuse_what_is_forbidden(self) -> None:
        """Refuse what the client may read no more: its right may have ended while the request waited (I-FET-8)."""
        if self.checks and not self.from_follower:
            verdicts = await each(lambda one: self._may_read(one.name), self.asked)
            self.refused |= {one.key: Err.TOPIC_AUTHORIZATION_FAILED
                             for one, may in zip(self.asked, verdicts, strict=True) if not may}
            self.asked = [one for one, may in zip(self.asked, verdicts, strict=True) if may]

    def _name(self, key: Key, known: dict[Hashable, str]) -> str | None:
        """Return the topic's name. The session knows that of a topic which was deleted meanwhile (I-SESSION-2)."""
        if not self.by_id:
            return str(key[0])
        topic = self.ctx.node.image.topic_by_id(key[0])
        if topic is not None:
            known[key[0]] = topic.name
        return known.get(key[0])

    # --- reading --------------------------------------------------------------------------------------------------

    async def _read_all(self, count: bool) -> bool:
        """Read every partition within the limits of the request, but for those in which nothing has moved since (I-FET-6);
        `count` only at the first time. Return whether others had a turn meanwhile."""
        left, min_one, paused = self.max_bytes, True, False
        for one in self.asked:
            paused = (await pace()) or paused
            if not one.stands_still:
                try:
                    one.found = self._read(one, min(one.wanted.max_bytes, left), min_one, count)
                except KafkaError as refused:
                    one.found = refused.code
            size = one.size
            left, min_one = max(0, left - size), min_one and not size
        return paused

    def _partition(self, one: FetchPartitionStatus) -> Partition:
        partition = self.replicas.get(one.name, one.key[1])
        if self.by_id and partition.topic_id is not one.key[0] and partition.topic_id != one.key[0]:
            raise KafkaError(Err.INCONSISTENT_TOPIC_ID)
        if one.partition is not None and one.partition.topic_id != partition.topic_id:
            raise KafkaError(Err.UNKNOWN_TOPIC_OR_PARTITION)      # deleted while the request waited; this is another topic
        return partition

    def _read(self, one: FetchPartitionStatus, max_bytes: int, min_one: bool, count: bool) -> LogReadResult:
        one.change_count = NEVER
        partition, wanted = self._partition(one), one.wanted
        change_count = partition.moved.change_count
        partition.check(wanted.leader_epoch, self.only_leader)
        if self.from_follower:
            partition.replica.check_follower(self.replica, wanted.leader_epoch)
        nearer = partition.preferred_read_replica(wanted.offset, self.rack) if self.rack else None
        if nearer is not None:
            return nearer
        read = partition.read(wanted.offset, max_bytes, self.isolation, wanted.last_epoch, min_one)
        if self.from_follower and count and read.diverging_epoch is None:
            partition.follower_fetched(self.replica, self.broker_epoch, wanted.leader_epoch, wanted.offset,
                                       wanted.log_start)
        one.partition, one.change_count = partition, NEVER if read.records else change_count
        return read

    def _enough(self) -> bool:
        if self.request.max_wait_ms <= 0 or not self.asked:
            return True
        size = 0
        for one in self.asked:
            found = one.found
            if not isinstance(found, LogReadResult) or found.diverging_epoch is not None or found.preferred_read_replica >= 0:
                return True
            size += len(found.records)
        return size >= self.min_bytes

    def _let_go(self) -> None:
        """Forget the message, of which all was taken over: a client can name a partition many times, and wait for days."""
        for names in (self.request.topics, self.request.forgotten_topics_data):
            if names:
                names.clear()
        self.ctx.memory = WAITING * len(self.asked) + REFUSED * len(self.refused)

    # --- answer ---------------------------------------------------------------------------------------------------

    async def _answer(self, context: FetchContext[Wanted]) -> FetchResponse:
        found: Found = {one.key: one.found if isinstance(one.found, LogReadResult) else self._error_data(one, one.found)
                 for one in self.asked} | {key: _error(key[1], code, []) for key, code in self.refused.items()}
        if self._has_quota and (wait_ms := await self._over_quota(context, found)):
            return self._throttled(context, wait_ms)
        follower = self.from_follower and self.ctx.listener == INTERNAL     # clients may call themselves so, too
        error, session_id, told = self.replicas.sessions.answer(
            context, found, self.by_id, follower, self.ctx.node.env.now())
        self.replicas.sessions.check()
        news = await self._all_data(told)
        response = make_response(throttle_time_ms=0, error_code=int(error), session_id=session_id,
                                 responses=self._topics(news))
        if self.ctx.version >= TELLS_LEADER and not self.from_follower:
            leaders = [data.current_leader.leader_id for data in news.values() if data.current_leader is not None]
            if leaders:
                response.node_endpoints = node_endpoints(self.ctx, FetchResponse.NodeEndpoint, leaders)
                response.tags = {"node_endpoints"}
        return response

    @property
    def _has_quota(self) -> bool:
        return not self.from_follower and self.ctx.listener == CLIENTS

    async def _over_quota(self, context: FetchContext[Wanted], found: Found) -> int:
        """Return how long this client must wait before it may get what was found; 0 if it need not."""
        quotas = self.ctx.node.quotas
        if quotas.most_fetched(self.ctx.client_id, self.ctx.user) is None:
            return 0
        told = await self._all_data({key: one for key, one in found.items() if context.session is None
                                     or one.records or not isinstance(one, LogReadResult)})
        answer = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=self._topics(told))
        measure = partial(encoded_size, answer, self.ctx.version)
        size = await self.ctx.node.env.aside(measure) if len(told) > MANY else measure()
        return quotas.fetched(self.ctx.client_id, size, self.ctx.node.env.now(), self.ctx.user)

    def _throttled(self, context: FetchContext[Wanted], wait_ms: int) -> FetchResponse:
        self.ctx.throttle_ms = wait_ms
        error, session_id = self.replicas.sessions.head(context)
        return FetchResponse(throttle_time_ms=wait_ms, error_code=int(error), session_id=session_id, responses=[])

    async def _all_data(self, told: Found) -> Answers:
        data = {}
        for key, one in told.items():
            data[key] = self._data(key, one) if isinstance(one, LogReadResult) else one
            await pace()
        return data

    def _data(self, key: Key, read: LogReadResult) -> Data:
        diverging = {}
        if read.diverging_epoch is not None:
            diverging["diverging_epoch"] = Data.EpochEndOffset(*read.diverging_epoch)
        aborted = None
        if self.isolation == LAST_STABLE and read.preferred_read_replica < 0:
            aborted = [Data.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                       for one in read.aborted]
        return make_data(
            partition_index=key[1], error_code=0, high_watermark=read.high_watermark,
            last_stable_offset=read.last_stable_offset, log_start_offset=read.log_start_offset,
            aborted_transactions=aborted, records=read.records, **diverging,
            preferred_read_replica=read.preferred_read_replica)

    def _error_data(self, one: FetchPartitionStatus, error: Err) -> Data:
        if error == Err.KAFKA_STORAGE_ERROR and self.ctx.version < KNOWS_STORAGE_ERROR:
            error = Err.NOT_LEADER_OR_FOLLOWER
        data = _error(one.key[1], error, None)
        if self.ctx.version >= TELLS_LEADER and error in (Err.NOT_LEADER_OR_FOLLOWER, Err.FENCED_LEADER_EPOCH):
            leader, epoch = self.replicas.current_leader(one.name, one.key[1])
            data.current_leader = Data.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
            data.tags = {"current_leader"}
        return data

    def _topics(self, answers: Answers) -> list[Topic]:
        topics: list[Topic] = []
        previous = None
        for (topic, _), data in answers.items():
            if not topics or topic != previous:
                named = {"topic_id": topic} if self.by_id else {"topic": topic}
                topics.append(make_topic(partitions=[], **named))
            topics[-1].partitions.append(data)
            previous = topic
        return topics

    def _refuse_all(self, error: Err) -> FetchResponse:
        topics = [] if self.by_id else [
            Topic(topic=topic.topic, partitions=[_error(p.partition, error, []) for p in topic.partitions])
            for topic in self.request.topics]
        return FetchResponse(throttle_time_ms=0, error_code=int(error), session_id=self.request.session_id,
                             responses=topics)


def _error(index: int, error: Err, aborted: list[Data.AbortedTransaction] | None) -> Data:
    return Data(partition_index=index, error_code=int(error), high_watermark=-1, last_stable_offset=-1,
                log_start_offset=-1, aborted_transactions=aborted, preferred_read_replica=-1, records=b"")
