"""Deadlines and limits of connections, in virtual time: an hour of a slow attacker takes a second."""

from __future__ import annotations

import gc
import struct
from typing import Any

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import ApiVersionsRequest

from minikafka.broker.server.connection import HALF_FRAME_S, READ_AHEAD, TURN, UNREAD_S
from minikafka.log.batch import build
from minikafka.proof.chaos.one_broker import OneBroker, RawClient
from minikafka.protocol.codec import encode_request
from minikafka.sim.world.world import INTERNAL_PORT
from tests.requests import fetch, produce
from tests.story import in_world
from tests.wire.raw import header

API_VERSIONS = header(18, 0)
ONE = struct.pack(">i", len(API_VERSIONS)) + API_VERSIONS


async def served(world: OneBroker) -> bool:
    """Whether a new connection is taken and answered."""
    client = await world.connect()
    client.send(ONE)
    await client.wait(1, 5)
    answered = len(client.frames) == 1
    client.close()
    await world.sleep(0.1)
    return answered


def holding(world: OneBroker) -> int:
    """Bytes that the clients' listener holds for all its connections."""
    return sum(connection.held for connection in world.broker(1).clients.connections)


# --- time ---------------------------------------------------------------------------------------------------------------


@in_world(OneBroker, 1)
async def test_half_a_frame_has_its_time(world: OneBroker) -> None:
    """Fails if a frame may stay incomplete for ever, or is given up before its time (I-CONN-4)."""
    client = await world.connect()
    client.send(ONE[:9])
    await client.wait(1, HALF_FRAME_S - 1)
    assert not client.closed
    await client.wait(1, 4)
    assert client.closed and not client.frames


@in_world(OneBroker, 2)
async def test_a_byte_now_and_then_buys_no_time(world: OneBroker) -> None:
    """Fails if the deadline is that of the last byte: who sends one every ten seconds would never be closed."""
    client = await world.connect()
    started = world.loop.time()
    for byte in struct.pack(">i", 1000) + API_VERSIONS:
        if not client.closed:
            client.send(bytes([byte]))
            await client.wait(1, 10)
    assert client.closed and world.loop.time() - started < HALF_FRAME_S + 10


@in_world(OneBroker, 3)
async def test_waiting_for_an_answer_is_no_half_frame(world: OneBroker) -> None:
    """Fails if the next frame's time runs while the one before it is being served: pipelining clients would die."""
    client = await world.connect()
    client.send(encode_request(fetch("t", max_wait_ms=50_000, topics=[]), 4, 1, "waits") + ONE[:5])
    await client.wait(1, 55)
    assert len(client.frames) == 1
    client.send(ONE[5:])
    await client.wait(2, 5)
    assert len(client.frames) == 2


@in_world(OneBroker, 4, connections_max_idle_ms='10000')
async def test_silence_ends_after_connections_max_idle_ms(world: OneBroker) -> None:
    """Fails if idle connections stay, or busy ones go."""
    silent, talking = await world.connect(), await world.connect()
    for _ in range(9):
        await talking.request(ApiVersionsRequest(), 0)
        await world.sleep(2)
    assert silent.closed and not talking.closed


@in_world(OneBroker, 5, connections_max_idle_ms='10000')
async def test_a_produce_that_is_never_answered_ends_with_silence(world: OneBroker) -> None:
    """Kafka never answers null records; fails if such a connection stays for ever."""
    client = await world.connect()
    client.send(encode_request(produce("t", None, acks=1), 8, 1, "x"))
    await client.wait(1, 8)
    assert not client.closed
    await client.wait(1, 5)
    assert client.closed and not client.frames


# --- answers that nobody reads -----------------------------------------------------------------------------------------


async def fill(world: OneBroker, size: int = 900_000) -> bytes:
    """Put a large batch into the topic; returns a Fetch that reads it."""
    batch = build([(b"k", bytes(size))], timestamp_ms=world.client_env().wall_ms())
    client = await world.connect()
    answer = await client.request(produce("t", batch, acks=1), 8)
    assert answer.responses[0].partition_responses[0].error_code == 0
    client.close()
    return encode_request(fetch("t"), 4, 1, "never reads")


@in_world(OneBroker, 6)
async def test_who_reads_no_answers_is_not_served_and_not_read_from(world: OneBroker) -> None:
    """Fails if answers or requests of a client that never reads pile up, or if it may stay for ever (I-CONN-2)."""
    request = await fill(world)
    client = await world.connect()
    client.transport.pause_reading()
    most = 0
    for _ in range(40):
        client.send(request * 2000)
        await world.sleep(1)
        most = max(most, holding(world))
    assert 900_000 < most < 900_000 + 4 * READ_AHEAD
    await world.sleep(UNREAD_S)
    assert holding(world) == 0 and len(world.broker(1).clients.connections) == 0
    assert await served(world)


@in_world(OneBroker, 7)
async def test_who_reads_slowly_stays(world: OneBroker) -> None:
    """Fails if the deadline is for the whole answer: a thin line needs minutes for a large fetch."""
    request = await fill(world)
    client = await world.connect()
    client.transport.pause_reading()
    client.send(request)
    await world.sleep(1)
    started = world.loop.time()
    while client.take_one_piece():
        await world.sleep(UNREAD_S - 5)
    assert len(client.frames) == 1 and not client.closed
    assert world.loop.time() - started > 3 * UNREAD_S


# --- numbers --------------------------------------------------------------------------------------------------------


@in_world(OneBroker, 8, max_connections='20')
async def test_all_connections_are_taken_and_the_idle_one_gives_way(world: OneBroker) -> None:
    """Fails if max.connections is not kept, if idle connections shut out a client of the same address, if one that works gives
    way before one that is silent, or one that has asked before one that never did (I-SRV-3)."""
    crowd = [await world.connect() for _ in range(20)]
    for client in crowd[:8]:
        await client.request(ApiVersionsRequest(), 0)
    await world.sleep(1)
    later = [await world.connect() for _ in range(12)]
    await world.sleep(1)
    assert [client.closed for client in crowd] == [False] * 8 + [True] * 12
    for client in [*later, *crowd[1:8]]:
        await client.request(ApiVersionsRequest(), 0)
    assert await served(world)
    assert crowd[0].closed and not any(client.closed for client in [*crowd[1:8], *later])
    assert len(world.broker(1).clients.connections) == 19


@in_world(OneBroker, 9, max_connections_per_ip='5')
async def test_connections_of_one_address_have_a_maximum(world: OneBroker) -> None:
    crowd = [await world.connect() for _ in range(7)]
    await world.sleep(1)
    assert [client.closed for client in crowd] == [False] * 5 + [True] * 2


@in_world(OneBroker, 10, max_connections='10')
async def test_a_crowd_of_clients_does_not_shut_brokers_out(world: OneBroker) -> None:
    """Fails if both listeners share one limit (I-SRV-1): a full house of clients must not stop replication."""
    for _ in range(10):
        await world.connect()
    broker = await world.connect(INTERNAL_PORT)
    assert (await broker.request(ApiVersionsRequest(), 0)).error_code == 0


@in_world(OneBroker, 11, queued_max_request_bytes=str(10 << 20))
async def test_memory_has_a_maximum_and_the_greediest_goes(world: OneBroker) -> None:
    """Fails if many large halves of frames may fill the memory, or if the modest pay for the greedy (I-SRV-2)."""
    modest = await world.connect()
    modest.send(ONE[:6])
    greedy: list[RawClient] = []
    most = 0
    for number in range(12):
        client = await world.connect()
        greedy.append(client)
        client.send(struct.pack(">i", 50 << 20) + bytes((1 << 20) * (3 if number == 4 else 2)))
        await world.sleep(1)
        most = max(most, holding(world))
    assert most <= 10 << 20
    assert greedy[4].closed and sum(client.closed for client in greedy) < 10
    modest.send(ONE[6:])
    await modest.wait(1, 5)
    assert len(modest.frames) == 1


@in_world(OneBroker, 12)
async def test_a_claimed_size_costs_nothing(world: OneBroker) -> None:
    """Fails if memory is set aside for a length before its bytes are there."""
    for _ in range(50):
        client = await world.connect()
        client.send(struct.pack(">i", 100 << 20))
    await world.sleep(1)
    assert holding(world) == 50 * 4


@in_world(OneBroker, 13)
async def test_many_requests_in_one_piece_do_not_hold_up_others(world: OneBroker) -> None:
    """Fails if one client's thousand requests are served in a row while another's single one waits."""
    crowding, single = await world.connect(), await world.connect()
    while len(world.broker(1).clients.connections) < 2:
        await world.sleep(0.001)
    order: list[Any] = []
    write = {}
    for connection in world.broker(1).clients.connections:
        write[connection] = connection.transport.write
        connection.transport.write = lambda data, c=connection: (order.append(c.number), write[c](data))
    first, second = (c.number for c in world.broker(1).clients.connections)
    crowding.send(ONE * 1000)
    single.send(ONE)
    await single.wait(1, 5)
    await crowding.wait(1000, 60)
    assert len(crowding.frames) == 1000 and len(single.frames) == 1
    assert order.count(first) == 1000 and order.index(second) < 1000 - TURN


@in_world(OneBroker, 14)
async def test_a_million_elements_are_not_even_read(world: OneBroker) -> None:
    """Fails if two bytes on the wire may become hundreds in memory a million times over (I-READ-5)."""
    for body in (
        header(3, 1) + struct.pack(">i", 1_000_000) + struct.pack(">h", 0) * 1_000_000,
        header(3, 9, tags=b"\0") + b"\x01\0\0\0" + b"\xc0\x84\x3d" + b"\x63\0" * 1_000_000,
    ):
        client = await world.connect()
        client.send_frame(body)
        await client.wait(1, 5)
        assert client.closed and not client.frames
    client = await world.connect()
    client.send_frame(header(3, 1) + struct.pack(">i", 5000) + struct.pack(">h", 0) * 5000)
    await client.wait(1, 5)
    assert len(client.frames) == 1


# --- shares ---------------------------------------------------------------------------------------------------------


@in_world(OneBroker, 15, max_connections='20')
async def test_no_address_takes_the_last_connections_from_the_others(world: OneBroker) -> None:
    """Fails if one machine's idle connections keep another machine out (I-SRV-3), or who uses its own loses it."""
    crowd = [await world.connect() for _ in range(20)]
    for client in crowd[1:]:
        client.send(ONE)
    await world.sleep(1)
    others = [await world.connect(host="other") for _ in range(12)]
    await world.sleep(1)
    assert crowd[0].closed and sum(client.closed for client in crowd) == 10
    assert [client.closed for client in others] == [True] * 2 + [False] * 10, "beyond its share it pays itself"
    assert await served(world)


@in_world(OneBroker, 16, queued_max_request_bytes=str(16 << 20))
async def test_requests_that_wait_cost_memory(world: OneBroker) -> None:
    """Fails if what requests that wait hold is not counted, or may be all memory (I-SRV-2): here an eighth of 16 MiB."""
    topic = FetchRequest.FetchTopic
    wanted = [topic.FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1) for number in range(900)]
    request = fetch("t", max_wait_ms=60_000, max_bytes=1, topics=[topic(topic="t", partitions=wanted)])
    crowd, most = [await world.connect() for _ in range(10)], 0
    for client in crowd:
        client.send(encode_request(request, 4, 1, "waits"))
        await world.sleep(1)
        most = max(most, holding(world))
    assert 1 << 20 < most <= 2 << 20
    assert 3 < sum(client.closed for client in crowd) < 9
    assert await served(world)


@in_world(OneBroker, 17)
async def test_a_request_that_waits_keeps_no_message(world: OneBroker) -> None:
    """Fails if a long poll that names one partition many times, or empty topics, holds on to them (I-FET-7)."""
    topic = FetchRequest.FetchTopic
    one = topic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)

    def messages() -> int:  # other tests of this process leave some
        return sum(type(each) in (topic, topic.FetchPartition) for each in gc.get_objects())

    for topics in ([topic(topic="t", partitions=[one] * 90_000)],
                   [topic(topic="t", partitions=[one]), *[topic(topic="t", partitions=[])] * 90_000]):
        frame = encode_request(fetch("t", max_wait_ms=60_000, max_bytes=1, topics=topics), 4, 1, "waits")
        client = await world.connect()
        before = messages()
        client.send(frame)
        await world.sleep(1)
        assert messages() - before < 10, "no partition of 90,000 is held"
        assert len(frame) < holding(world) < len(frame) + 10_000
        client.transport.abort()
        await world.sleep(1)
