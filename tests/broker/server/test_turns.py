"""Long work: whoever names much gives turns to the others, and nothing is lost between two slices.

The slices are made tiny, so that a hundred names are long work; what is counted is turns, never time.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.api_message import ApiMessage

from minikafka.broker.config.alter import APPEND, SUBTRACT, AlterConfigOp, _operate
from minikafka.broker.controller.admin.delete_topics import delete_topics
from minikafka.broker.controller.shell.active_controller import ActiveController
from minikafka.broker.metadata.image import MetadataImage
from minikafka.broker.metadata.records import ConfigRecord, TopicRecord
from minikafka.broker.replication.api.fetch import ServedFetch
from minikafka.broker.server import connection, peer, turns
from minikafka.broker.server.env import Env
from minikafka.broker.server.lag import PERIOD_S, LagMonitor
from minikafka.broker.server.registry import HANDLERS
from minikafka.broker.server.turns import Turns, pace
from minikafka.log.batch import build
from minikafka.proof.chaos.one_broker import OneBroker
from minikafka.protocol.codec import REQUESTS, RESPONSES, decode_response, encode_response
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import SimLoop
from tests.story import in_world

N = 120  # names in a request
SLICE = 10  # steps


class Counted:
    """How many turns long works gave, and how many calls went to a thread."""

    turns = asides = 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Slices are tiny, and counted."""
    count, turn, aside = Counted(), Turns.turn, Env.aside

    def counted_turn(self: Turns) -> Any:
        count.turns += 1
        return turn(self)

    async def counted_aside(self: Env, fn: Callable[[], Any]) -> Any:
        count.asides += 1
        return await aside(self, fn)

    monkeypatch.setattr(turns, "MOST_STEPS", SLICE)
    monkeypatch.setattr(connection, "LONG", SLICE)
    monkeypatch.setattr(peer, "LONG", SLICE)
    monkeypatch.setattr(Turns, "turn", counted_turn)
    monkeypatch.setattr(Env, "aside", counted_aside)
    return count


# --- the queue -----------------------------------------------------------------------------------------------------


def test_few_steps_are_done_at_once_and_many_take_turns_with_other_long_work(counted: Counted) -> None:
    """Fails if a short work costs a task, or if the second of two long works waits for the end of the first (I-TURN-2)."""
    done = []

    async def work(name: str, steps: int) -> str:
        for _ in range(steps):
            done.append(name)
            await pace()
        return name

    async def result(of: Awaitable[str]) -> str:
        return await of

    async def story() -> list[str]:
        env = Env(asyncio.get_running_loop(), "1")
        assert env.turns.begin(work("short", SLICE - 1)) == "short"
        done.clear()
        return await asyncio.gather(*[result(env.turns.begin(work(name, 5 * SLICE))) for name in "ab"])

    assert asyncio.run(story()) == ["a", "b"]
    longest = max(len(run) for run in "".join(done).replace("ab", "a b").replace("ba", "b a").split())
    assert longest <= 2 * SLICE + 2, f"one work did {longest} steps in a row"


def test_pace_says_whether_others_had_a_turn(counted: Counted) -> None:
    """Fails if work takes what it has read before a turn for what holds after it: a fetch looks again only after True."""
    async def work() -> list[bool]:
        return [await pace() for _ in range(2 * SLICE)]

    async def story() -> list[bool]:
        return await Env(asyncio.get_running_loop(), "1").turns.begin(work())

    answers = asyncio.run(story())
    assert answers.count(True) == counted.turns > 0 and answers.count(False) > counted.turns


def test_what_a_future_raises_is_raised_in_the_work() -> None:
    """Fails if the rest of a work goes on without the error of the future that it awaits."""
    async def work() -> str:
        failing = env.future()
        env.later(1, failing.set_exception, ZeroDivisionError())
        try:
            await failing
        except ZeroDivisionError:
            return "mended"
        return "not raised"

    async def story() -> str:
        return await env.turns.begin(work())

    loop = SimLoop(1)
    env = Env(loop, "1")
    assert loop.run(story()) == "mended"


def test_work_that_nobody_awaits_any_more_is_closed() -> None:
    """Fails if the rest of a work goes on with it when both are garbage: it may be closed already."""
    async def work() -> None:
        try:
            await env.future()
        finally:
            closed.append(True)

    closed: list[bool] = []
    env = Env(asyncio.new_event_loop(), "1")
    for first_closed in ("work", "rest"):
        running = work()
        rest: Any = env.turns.begin(running)
        rest.send(None)
        both = {"work": running, "rest": rest}
        both.pop(first_closed).close()
        both.popitem()[1].close()
    assert closed == [True, True]
    env.loop.close()


def test_a_handler_is_a_function_or_a_coroutine() -> None:
    """Fails if a handler is a generator: a function answers at once, a coroutine may wait, and there is nothing else."""
    handlers = [served.handler for table in HANDLERS.values() for served in table.values()]
    assert len(handlers) > 80 and not [h for h in handlers if inspect.isgeneratorfunction(h) or inspect.isasyncgenfunction(h)]


# --- every request -------------------------------------------------------------------------------------------------


def made(api: str, version: int, **fields: Any) -> tuple[ApiMessage, int]:
    (kind,) = [cls for cls in REQUESTS.values() if cls.__name__ == f"{api}Request"]
    return kind(**fields), version


def part(api: str, path: str, **fields: Any) -> Any:
    (kind,) = [cls for cls in REQUESTS.values() if cls.__name__ == f"{api}Request"]
    for name in path.split("."):
        kind = getattr(kind, name)
    return kind(**fields)


def topics(api: str, name: str, inner: str = "", field: str = "name", **more: Any) -> list[Any]:
    """N unknown topics; with `inner` one topic with N partitions of that class."""
    if not inner:
        return [part(api, name, **{field: f"u{i}"}, **more) for i in range(N)]
    key = "partition" if inner in ("FetchPartition", "OffsetForLeaderPartition") else "partition_index"
    key = "index" if inner == "PartitionProduceData" else key
    rows = [part(api, f"{name}.{inner}", **{key: i}, **more) for i in range(N)]
    return [part(api, name, **{field: "t", ("partition_data" if key == "index" else "partitions"): rows})]


NAMES = [f"g{i}" for i in range(N)]
RANGE = list(range(N))
REQUESTED: dict[str, Callable[[], tuple[ApiMessage, int]]] = {
    "Produce": lambda: made("Produce", 9, transactional_id=None, acks=-1, timeout_ms=1000, topic_data=topics(
        "Produce", "TopicProduceData", "PartitionProduceData", records=b"")),
    "Fetch": lambda: made(
        "Fetch", 11, replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=99, isolation_level=0, session_id=0,
        session_epoch=-1, forgotten_topics_data=[], rack_id="", topics=topics(
            "Fetch", "FetchTopic", "FetchPartition", "topic", fetch_offset=0, current_leader_epoch=-1,
            log_start_offset=-1, partition_max_bytes=9)),
    "ListOffsets": lambda: made("ListOffsets", 4, replica_id=-1, isolation_level=0, topics=topics(
        "ListOffsets", "ListOffsetsTopic", "ListOffsetsPartition", timestamp=5, current_leader_epoch=-1)),
    "OffsetForLeaderEpoch": lambda: made("OffsetForLeaderEpoch", 4, replica_id=-1, topics=topics(
        "OffsetForLeaderEpoch", "OffsetForLeaderTopic", "OffsetForLeaderPartition", "topic", current_leader_epoch=-1,
        leader_epoch=0)),
    "DeleteRecords": lambda: made("DeleteRecords", 2, timeout_ms=1000, topics=topics(
        "DeleteRecords", "DeleteRecordsTopic", "DeleteRecordsPartition", offset=0)),
    "Metadata": lambda: made("Metadata", 12, allow_auto_topic_creation=False,
                             topics=topics("Metadata", "MetadataRequestTopic", topic_id=None)),
    "DescribeTopicPartitions": lambda: made("DescribeTopicPartitions", 0, response_partition_limit=2000, cursor=None,
                                            topics=topics("DescribeTopicPartitions", "TopicRequest")),
    "DescribeConfigs": lambda: made(
        "DescribeConfigs", 4, include_synonyms=True, include_documentation=True, resources=[part(
            "DescribeConfigs", "DescribeConfigsResource", resource_type=2, resource_name=name, configuration_keys=None)
            for name in NAMES]),
    "IncrementalAlterConfigs": lambda: made(
        "IncrementalAlterConfigs", 1, validate_only=True, resources=[part(
            "IncrementalAlterConfigs", "AlterConfigsResource", resource_type=2, resource_name=name, configs=[])
            for name in NAMES]),
    "CreateTopics": lambda: made("CreateTopics", 7, timeout_ms=9000, validate_only=True, topics=topics(
        "CreateTopics", "CreatableTopic", num_partitions=1, replication_factor=1, assignments=[], configs=[])),
    "DeleteTopics": lambda: made("DeleteTopics", 6, timeout_ms=9000, topics=topics(
        "DeleteTopics", "DeleteTopicState", topic_id=None)),
    "CreatePartitions": lambda: made("CreatePartitions", 3, timeout_ms=9000, validate_only=True, topics=topics(
        "CreatePartitions", "CreatePartitionsTopic", count=5, assignments=None)),
    "ElectLeaders": lambda: made("ElectLeaders", 2, election_type=0, timeout_ms=9000, topic_partitions=[
        part("ElectLeaders", "TopicPartitions", topic="t", partitions=RANGE)]),
    "AlterPartitionReassignments": lambda: made("AlterPartitionReassignments", 0, timeout_ms=9000, topics=topics(
        "AlterPartitionReassignments", "ReassignableTopic", "ReassignablePartition", replicas=[1])),
    "AlterClientQuotas": lambda: made("AlterClientQuotas", 1, validate_only=True, entries=[part(
        "AlterClientQuotas", "EntryData", ops=[], entity=[part(
            "AlterClientQuotas", "EntryData.EntityData", entity_type="client-id", entity_name=name)])
        for name in NAMES]),
    "DescribeUserScramCredentials": lambda: made("DescribeUserScramCredentials", 0, users=[
        part("DescribeUserScramCredentials", "UserName", name=name) for name in NAMES]),
    "CreateAcls": lambda: made("CreateAcls", 3, creations=[part(
        "CreateAcls", "AclCreation", resource_type=2, resource_name=name, resource_pattern_type=3, principal="User:a",
        host="*", operation=3, permission_type=3) for name in NAMES]),
    "DescribeProducers": lambda: made("DescribeProducers", 0, topics=[
        part("DescribeProducers", "TopicRequest", name="t", partition_indexes=RANGE)]),
    "DescribeTransactions": lambda: made("DescribeTransactions", 0, transactional_ids=NAMES),
    "FindCoordinator": lambda: made("FindCoordinator", 4, key_type=0, coordinator_keys=NAMES),
    "DescribeGroups": lambda: made("DescribeGroups", 5, groups=NAMES, include_authorized_operations=False),
    "DeleteGroups": lambda: made("DeleteGroups", 2, groups_names=NAMES),
    "ConsumerGroupDescribe": lambda: made("ConsumerGroupDescribe", 1, group_ids=NAMES,
                                          include_authorized_operations=False),
    "OffsetFetch": lambda: made("OffsetFetch", 8, require_stable=False, groups=[part(
        "OffsetFetch", "OffsetFetchRequestGroup", group_id=name, topics=None, member_id=None, member_epoch=-1)
        for name in NAMES]),
    "OffsetCommit": lambda: made("OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, member_id="",
                                 group_instance_id=None, topics=topics(
        "OffsetCommit", "OffsetCommitRequestTopic", "OffsetCommitRequestPartition", committed_offset=1,
        committed_leader_epoch=-1, committed_metadata="")),
}  # fmt: skip


@pytest.mark.parametrize("api", REQUESTED)
@in_world(OneBroker, 1)
async def test_a_request_that_names_much_gives_turns(world: OneBroker, api: str, counted: Counted) -> None:
    """Fails if a handler goes through all names in one step, or if the request is read or its answer written in one."""
    client = await world.connect()
    request, version = REQUESTED[api]()
    before = counted.turns, counted.asides
    await client.request(request, version)
    given, asides = counted.turns - before[0], counted.asides - before[1]
    assert given >= N // SLICE // 2, f"{given} turns for {N} names"
    assert asides >= 1, "the request was read in one step"


# --- what may happen between two slices ----------------------------------------------------------------------------


def topic(name: str, partitions: int) -> Any:
    return part("CreateTopics", "CreatableTopic", name=name, num_partitions=partitions, replication_factor=1, assignments=[],
                configs=[])


def create(name: str, partitions: int) -> tuple[ApiMessage, int]:
    return made("CreateTopics", 7, topics=[topic(name, partitions)], timeout_ms=9000, validate_only=False)


def produce(batch: bytes, name: str = "t") -> tuple[ApiMessage, int]:
    rows = [part("Produce", "TopicProduceData.PartitionProduceData", index=0, records=batch)]
    return made("Produce", 9, transactional_id=None, acks=1, timeout_ms=1000, topic_data=[
        part("Produce", "TopicProduceData", name=name, partition_data=rows)])


@in_world(OneBroker, 1)
async def test_a_broker_that_makes_many_partitions_serves_and_lives(
        world: OneBroker, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partitions of a new topic are being made, and that takes for ever: the answer comes when the topic is committed, other
    clients are served, and heartbeats are answered, so that the broker is not fenced."""
    client, other = await world.connect(), await world.connect()
    broker, turn = world.broker(1), Turns.turn
    begun = len(broker.replicas.partitions)
    held: list[Any] = []

    def hold(self: Turns) -> Any:
        if begun < len(broker.replicas.partitions) < begun + N and not held:
            held.append(broker.env.future())
            return held[0]
        return turn(self)

    monkeypatch.setattr(Turns, "turn", hold)
    answer = await client.request(*create("wide", N))
    assert [row.error_code for row in answer.topics] == [0] and held
    answer = await other.request(*create("more", 1))
    assert [row.error_code for row in answer.topics] == [0]
    await world.sleep(30)
    assert not world.broker(1).image.brokers[1].fenced
    assert broker.controller.controller.image.brokers[1].fenced is False
    answer = await other.request(*produce(build([(b"k", b"v")], timestamp_ms=world.broker(1).env.wall_ms())))
    assert answer.responses[0].partition_responses[0].error_code == 0
    held[0].set_result(None)
    await world.until(lambda: len(broker.replicas.partitions) == begun + N + 1)


@in_world(OneBroker, 1)
async def test_folders_of_a_deleted_topic_go_one_at_a_time_and_checkpoints_are_written_once(
        world: OneBroker, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a topic of many partitions writes the checkpoints for each of them, or fills the queue of who needs the disk."""
    at_work, most = [0], [0]
    blocking = SimEnv.blocking

    async def watched(self: SimEnv, fn: Any, *args: object) -> Any:
        if getattr(fn, "__name__", "") != "rmtree":
            return await blocking(self, fn, *args)
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        try:
            return await blocking(self, fn, *args)
        finally:
            at_work[0] -= 1

    monkeypatch.setattr(SimEnv, "blocking", watched)

    client, replicas = await world.connect(), world.broker(1).replicas
    await client.request(*create("wide", N))
    await world.until(lambda: len(replicas.partitions) > N)
    for p in replicas.hosted():
        p.append(build([(b"k", b"v")], timestamp_ms=world.broker(1).env.wall_ms()), 1)
    replicas.log_manager.checkpoints.note_watermarks()
    writes: list[str] = []
    write = replicas.log_manager.dir.write
    replicas.log_manager.dir.write = lambda name, offsets: (writes.append(name), write(name, offsets))
    before = counted.turns
    await client.request(*made("DeleteTopics", 6, timeout_ms=9000, topics=[
        part("DeleteTopics", "DeleteTopicState", name="wide", topic_id=None)]))
    await world.until(lambda: len(replicas.partitions) <= 1 and not replicas.log_manager._doomed)
    assert len(writes) <= 4 and most[0] == 1 and counted.turns - before >= N // SLICE


@in_world(OneBroker, 1)
async def test_a_fetch_misses_nothing_that_comes_in_the_turns_of_others(
        world: OneBroker, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record comes to the first partition after that has been read, and before the fetch waits (I-DELAY-2)."""
    client, broker, turn = await world.connect(), world.broker(1), Turns.turn
    await client.request(*create("wide", 3 * SLICE))
    await world.until(lambda: len(broker.replicas.partitions) > 3 * SLICE)
    await world.sleep(1)
    arrived = []

    def arrive(self: Turns) -> Any:
        if not arrived:
            arrived.append(broker.replicas.get("wide", 0).append(build([(b"k", b"v")], timestamp_ms=1), 1))
        return turn(self)

    rows = [part("Fetch", "FetchTopic.FetchPartition", partition=i, fetch_offset=0, current_leader_epoch=-1,
                 log_start_offset=-1, partition_max_bytes=1 << 20) for i in range(SLICE // 3)]
    monkeypatch.setattr(turns, "MOST_STEPS", 2)
    monkeypatch.setattr(Turns, "turn", lambda self: arrive(self) if reading[0] else turn(self))
    reading = [False]
    read_all = ServedFetch._read_all

    async def reads(self: Any, count: bool) -> Any:
        reading[0] = True
        found = await read_all(self, count)
        reading[0] = False
        return found

    monkeypatch.setattr(ServedFetch, "_read_all", reads)
    begun = world.now()
    answer = await client.request(*made(
        "Fetch", 11, replica_id=-1, max_wait_ms=20000, min_bytes=1, max_bytes=1 << 20, isolation_level=0, session_id=0,
        session_epoch=-1, forgotten_topics_data=[], rack_id="",
        topics=[part("Fetch", "FetchTopic", topic="wide", partitions=rows)]))
    assert arrived, "the fetch took no turn"
    assert any(p.records for p in answer.responses[0].partitions) and world.now() - begun < 10


@in_world(OneBroker, 1)
async def test_a_heavy_batch_is_checked_in_a_thread_and_a_light_one_is_not(world: OneBroker, counted: Counted) -> None:
    client, now = await world.connect(), world.broker(1).env.wall_ms()
    for records, asides in ((1, 0), (5000, 1)):
        before = counted.asides
        answer = await client.request(*produce(build([(b"k", b"v")] * records, timestamp_ms=now)))
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert counted.asides - before == asides
    assert world.log_end == 5001


@in_world(OneBroker, 1)
async def test_a_long_decision_is_taken_anew_when_another_came_between(world: OneBroker, counted: Counted) -> None:
    """Fails if a decision is carried out on an image that has changed since it was read (I-CTL-8)."""
    active: ActiveController = world.broker(1).controller
    attempts: list[float] = []

    async def long(controller: Any, now: float) -> Any:
        seen = {name: dict(values) for name, values in controller.image.configs.items()}
        attempts.append(now)
        if len(attempts) == 1:
            env.spawn(active.decide(short), "short")
        for _ in range(30 * SLICE):
            await pace()
        return [], seen

    def short(controller: Any, now: float) -> Any:
        return [ConfigRecord(2, "t", "retention.ms", "1")], None

    env = world.broker(1).env
    slow = env.spawn(active.decide(long), "long")
    await world.until(slow.done)
    assert (len(attempts), slow.result().get((2, "t"))) == (2, {"retention.ms": "1"})


# --- nothing is quadratic, nothing has a limit that it does not need -----------------------------------------------


def test_topics_to_delete_are_not_looked_for_in_lists() -> None:
    class Watched(list[UUID]):
        looks = 0

        def __contains__(self, one: object) -> bool:
            Watched.looks += 1
            return super().__contains__(one)

    image = MetadataImage()
    for i in range(5):
        image.apply(TopicRecord(f"t{i}", UUID(int=i + 1)))
    list(delete_topics(image, [f"t{i}" for i in range(5)], Watched(UUID(int=i + 100) for i in range(5)), lambda _: None))
    assert Watched.looks == 0


def test_words_are_added_and_taken_as_before() -> None:
    assert _operate(AlterConfigOp("x", APPEND, "b,c,c, a"), "a,b,b") == "a,b,b,c, a"
    assert _operate(AlterConfigOp("x", SUBTRACT, "b,z,b"), "b,a,b,b") == "a,b"


def test_an_answer_between_nodes_may_have_more_elements_than_a_request() -> None:
    """Fails if such an answer cannot be read: the request was sent again until its time was over, and all others waited."""
    (kind,) = [cls for cls in RESPONSES.values() if cls.__name__ == "ListGroupsResponse"]
    group = kind.ListedGroup(group_id="g", protocol_type="", group_state="", group_type="")
    frame = encode_response(kind(throttle_time_ms=0, error_code=0, groups=[group] * 100_001), 5, 1)
    assert len(decode_response(kind, 5, memoryview(frame)[4:]).groups) == 100_001


# --- the monitor ---------------------------------------------------------------------------------------------------


def test_a_loop_that_was_held_up_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    held, told = [0.0], []

    async def story() -> None:
        env = Env(loop, "1")
        env.now = lambda: loop.time() + held[0]
        env.trace = lambda kind, **fields: told.append((kind, fields))
        LagMonitor(env).start()
        await env.sleep(10 * PERIOD_S)
        held[0] = 3.0
        await env.sleep(10 * PERIOD_S)

    loop = SimLoop(1)
    with caplog.at_level(logging.WARNING, "minikafka.lag"):
        loop.run(story())
    assert told == [("lag", {"ms": 3000})]
    assert len(caplog.records) == 1
