"""A cluster in the seeded world, and everything that can befall it: processes, links, disks, clocks, single frames."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer import ProduceRequest

from minikafka.broker.replication.shell.partition import Partition
from minikafka.broker.server.peer import Peer
from minikafka.log.batch import batches, build, records
from minikafka.protocol.apis import BrokerHeartbeatRequest
from minikafka.protocol.errors import Err, KafkaError
from minikafka.sim.world.hold import Message
from minikafka.sim.world.world import World
from tests.requests import create_topics, produce, topic
from tests.story import Decorator, Story, as_test


class Shop(World):
    """A world with a topic `t` of one partition and three replicas, and a client that asks one broker at a time."""

    async def begin(self) -> None:
        await self.start()
        answer = await self.ask(1, create_topics(topic("t", 1, 3)), 7)
        assert answer.topics[0].error_code == 0
        await self.until(lambda: all(self.partition(n) is not None for n in self.brokers) and self.leader is not None)

    async def ask(self, node: int, request: Any, version: int, timeout: float = 10.0) -> Any:
        """One question on a connection of its own."""
        host, port = self.bootstrap[node - 1]
        peer = Peer(self.client_env(), node, host, port, "test")
        try:
            return await peer.request(request, version, timeout)
        finally:
            peer.close()

    def partition(self, node: int) -> Partition | None:
        broker = self.broker(node)
        return broker.replicas.partitions.get(("t", 0)) if broker is not None else None

    @property
    def leader(self) -> int | None:
        leading = [(p.leader_epoch, n) for n in self.brokers if (p := self.partition(n)) is not None and p.is_leader]
        return max(leading)[1] if leading else None

    @property
    def follower(self) -> int:
        return next(n for n in self.nodes if n != self.leader)

    async def send(self, value: bytes, node: int | None = None, timeout: float = 10.0) -> int:
        """One record with acks=all; its offset."""
        data = build([(None, value)], timestamp_ms=self.client_env().wall_ms())
        request = produce("t", data, timeout_ms=20_000)
        answer = (await self.ask(node or self.leader or 0, request, 9, timeout)).responses[0].partition_responses[0]
        if answer.error_code:
            raise RuntimeError(Err(answer.error_code).name)
        return int(answer.base_offset)

    def values(self, node: int) -> list[bytes]:
        """What a broker's log holds."""
        partition = self.partition(node)
        assert partition is not None
        data = partition.log.read(0, 1 << 20, partition.log.end_offset)
        return [bytes(r.value) for _, batch in batches(data) for r in records(batch)]


def story(seed: int = 1, died: bool = False, **options: Any) -> Decorator:
    """Make a test of a story from a topic on; a parameter `seed` of the test is the world's. It fails if anything in the world
    died unasked, unless `died`."""
    def play(told: Story, given: dict[str, Any]) -> None:
        world = Shop(given.get("seed", seed), **options)

        async def whole() -> None:
            await world.begin()
            await told(world)

        world.run(whole())
        assert world.errors == [] and (died or world.crashes == [])
        world.close()
    return as_test(play)


# --- processes ------------------------------------------------------------------------------------------------


@story()
async def test_a_killed_leader_is_replaced_and_comes_back_with_its_page_cache(w: Shop) -> None:
    """Fails if `kill` takes unsynced bytes, or the cluster does not go on without the dead."""
    assert await w.send(b"a") == 0
    old = w.leader
    assert old is not None
    w.kill(old)
    assert w.broker(old) is None and old not in w.alive
    await w.until(lambda: w.leader not in (None, old))
    assert await w.send(b"b") == 1
    await w.restart(old)
    await w.until(lambda: w.values(old) == [b"a", b"b"])
    booted = [e for e in w.events if e["k"] == "recover" and e["b"] == old and e["tp"] == "t-0" and e["i"] == 2]
    assert [e["leo"] for e in booted] == [1]


@story()
async def test_what_a_process_does_while_it_dies_reaches_no_disk(w: Shop) -> None:
    """Fails if the code around a fatal write can still write: a dead process has no disk."""
    follower = w.follower
    w.crash_at_write(follower, 1)
    assert await w.send(b"a") == 0
    assert w.hosts[follower].state == "dead" and w.crashes == []
    await w.restart(follower)
    await w.until(lambda: w.values(follower) == [b"a"])


@pytest.mark.parametrize("powerloss", [False, True])
@story()
async def test_a_start_may_die_between_two_writes_too(w: Shop, powerloss: bool) -> None:
    """Fails if a process that dies in the middle of its recovery takes the world along, or goes on."""
    assert await w.send(b"a") == 0
    node = w.follower
    w.kill(node)
    for nth in (1, 10, 20, 40):
        w.crash_at_write(node, nth, powerloss)
        w.boot(node)
        await w.until(lambda: w.hosts[node].state == "dead")
    died = [e for e in w.events if e["k"] == "fault" and e["fault"] == "crash_at_write"]
    assert [e["starting"] for e in died] == [True] * 4 and w.crashes == []
    await w.restart(node)
    await w.until(lambda: w.values(node) == [b"a"])


@story()
async def test_a_paused_broker_is_fenced_and_all_that_is_late_comes_at_once(w: Shop) -> None:
    """Fails if a paused process acts, loses its timers, or is forgiven by the controller."""
    node = next(n for n in w.nodes if n != w.controller())
    steps: list[float] = []
    env = w.hosts[node].env
    assert env is not None
    for delay in (1.0, 2.0, 3.0):
        env.later(delay, lambda: steps.append(w.now()))
    w.pause(node)
    started = w.now()
    other = next(n for n in w.alive if n != node)
    await w.until(lambda: w.broker(other).image.brokers[node].fenced)  # type: ignore[union-attr]
    await w.sleep(2)
    assert steps == []
    w.resume(node)
    await w.until(lambda: len(steps) == 3)
    assert steps[0] == steps[2] > started + 3
    await w.ready()


@story()
async def test_a_stopped_broker_leaves_without_a_trace_of_a_crash(w: Shop) -> None:
    """Fails if a controlled shutdown does not end clean, or its next start has to recover logs."""
    await w.send(b"a")
    await w.stop(2)
    assert w.hosts[2].disk.names["/data/.kafka_cleanshutdown"] is not None
    await w.restart(2)
    assert [e["truncated_bytes"] for e in w.events if e["k"] == "recover" and e["b"] == 2][-1] == 0
    assert [e["k"] for e in w.events if e["b"] == 2 and e["k"] in ("start", "stop")] == ["start", "stop", "start"]


@pytest.mark.parametrize("seed", range(4))
@story()
async def test_power_lost_by_one_broker_loses_nothing_acknowledged(w: Shop, seed: int) -> None:
    """Fails if a broker that lost unsynced bytes leads with less than was acknowledged, or never catches up."""
    for number in range(10):
        await w.send(b"%d" % number)
    old = w.leader
    assert old is not None
    w.powerloss(old)
    await w.until(lambda: w.leader not in (None, old))
    assert await w.send(b"10") == 10
    await w.mend()
    await w.until(lambda: w.values(old) == [b"%d" % number for number in range(11)])


@story()
async def test_a_power_loss_closes_no_connection_until_the_machine_is_back(w: Shop) -> None:
    """Fails if connections to a dark machine break at once: peers must find out by silence."""
    asked = w.send(b"a", timeout=6.0)
    old = w.leader
    assert old is not None
    hold = w.hold(lambda m: m.api is ProduceRequest and m.is_response)
    waiting = w.loop.create_task(asked)
    await w.until(lambda: hold.frames)
    started = w.now()
    w.powerloss(old)
    hold.stop()
    with pytest.raises(TimeoutError):
        await waiting
    assert w.now() - started > 5


# --- links ----------------------------------------------------------------------------------------------------


@story(seed=3)
async def test_a_leader_that_is_cut_off_acknowledges_nothing(w: Shop) -> None:
    """Fails if a cut lets bytes through, or a minority acknowledges with acks=all."""
    old = w.leader
    assert old is not None
    others = [n for n in w.nodes if n != old]
    for other in others:
        w.cut(old, other)
    with pytest.raises((RuntimeError, TimeoutError)):
        await w.send(b"lost", node=old)
    await w.until(lambda: w.leader in others)
    assert await w.send(b"kept") == 0
    w.heal()
    await w.ready()
    await w.until(lambda: all(w.values(n) == [b"kept"] for n in w.nodes))


@story()
async def test_a_one_way_cut_lets_the_other_way_through(w: Shop) -> None:
    """Fails if one direction of a cut holds the other as well."""
    w.cut("clients", w.leader or 0, one_way=True)
    with pytest.raises(TimeoutError):
        await w.send(b"a", timeout=3)
    w.heal()
    w.cut(w.leader or 0, "clients", one_way=True)
    with pytest.raises(TimeoutError):
        await w.send(b"b", timeout=3)
    w.heal()
    assert w.values(w.leader or 0) in ([], [b"a"])  # neither connection was made


@story()
async def test_a_slow_link_takes_its_time(w: Shop) -> None:
    """Fails if latency or bandwidth of a link change nothing."""
    async def took(size: int) -> float:
        started = w.now()
        await w.send(bytes(size))
        return w.now() - started
    quick = await took(100)
    w.slow("clients", w.leader or 0, latency=0.1)
    assert 0.4 < await took(100) < 0.4 + quick + 0.1  # two for the connection, two for the question
    w.heal()
    w.slow("clients", w.leader or 0, bandwidth=10_000)
    assert await took(50_000) > 5
    w.heal()
    assert await took(100) < 0.1


@story()
async def test_reset_breaks_what_is_under_way(w: Shop) -> None:
    """Fails if a reset leaves a connection standing."""
    hold = w.hold(lambda m: m.api is ProduceRequest and not m.is_response and m.src == "clients")
    waiting = w.loop.create_task(w.send(b"a"))
    await w.until(lambda: hold.frames)
    hold.stop()
    w.reset("clients", w.leader or 0)
    with pytest.raises(ConnectionError):
        await waiting
    assert w.values(w.leader or 0) == []


# --- single frames --------------------------------------------------------------------------------------------


@story()
async def test_a_held_request_arrives_when_it_is_released(w: Shop) -> None:
    """Fails if a hold loses or doubles what it held, or holds what it was not asked for."""
    hold = w.hold(lambda m: m.api is ProduceRequest and m.src == "clients" and not m.is_response)
    first = w.loop.create_task(w.send(b"first", timeout=20))
    await w.until(lambda: hold.frames)
    assert (hold.frames[0].dst, hold.frames[0].body.acks) == (w.leader, -1)
    hold.stop()
    assert await w.send(b"second") == 0
    hold.release()
    assert await first == 1


@story()
async def test_a_dropped_answer_is_a_broken_connection(w: Shop) -> None:
    """Fails if the request of a dropped answer was not served, or its client waits on."""
    hold = w.hold(lambda m: m.api is ProduceRequest and m.is_response)
    waiting = w.loop.create_task(w.send(b"a"))
    await w.until(lambda: hold.frames)
    hold.drop()
    with pytest.raises(ConnectionError):
        await waiting
    assert w.values(w.leader or 0) == [b"a"]


@story()
async def test_frames_between_brokers_are_seen(w: Shop) -> None:
    """Fails if a tap misses requests or answers between brokers, or cannot read them."""
    seen: list[tuple[Any, bool]] = []

    def look(message: Message) -> None:
        if message.api is BrokerHeartbeatRequest and message.body is not None:
            seen.append((message.src, message.is_response))

    end = w.tap(look)
    await w.sleep(3)
    end()
    count = len(seen)
    asked = {src for src, is_response in seen if not is_response}
    assert asked == set(w.nodes) and (w.controller(), True) in seen
    await w.sleep(3)
    assert len(seen) == count


# --- disks and clocks -----------------------------------------------------------------------------------------


@story(died=True)
async def test_a_full_disk_ends_the_broker_and_room_brings_it_back(w: Shop) -> None:
    """Fails if ENOSPC is survived in silence, costs acknowledged records, or outlives `heal`."""
    await w.send(b"a")
    full = w.follower
    w.fill_disk(full)
    assert await w.send(b"b") == 1
    await w.until(lambda: w.hosts[full].state == "dead")
    assert [n for n, _ in w.crashes] == [full]
    await w.mend()
    await w.until(lambda: w.values(full) == [b"a", b"b"])


@story(died=True)
async def test_a_shutdown_that_finds_no_room_is_a_death(w: Shop) -> None:
    """Fails if a broker whose shutdown could not write goes on as a ghost that nobody may start again (seed 8150)."""
    await w.send(b"a")
    node = next(n for n in w.nodes if n not in (w.leader, w.controller()))
    gone = ("broker", node, "stopped")  # the controller let it go; what is left is to write everything down
    w.listeners.append(lambda e: (e["k"], e["b"], e.get("state")) == gone and w.fill_disk(node))
    with pytest.raises((OSError, KafkaError), match="no space"):
        await w.stop(node)
    assert w.hosts[node].state == "dead" and [n for n, _ in w.crashes] == [node]
    await w.mend()
    assert await w.send(b"b") == 1


@pytest.mark.parametrize("what", ["write", "sync"])
@story(died=True)
async def test_a_failing_disk_ends_the_broker(w: Shop, what: str) -> None:
    """Fails if a broker goes on after EIO: what it has is not what it thinks (rule 67)."""
    node = w.controller()
    assert node is not None
    w.fail_disk(node, what)
    await w.until(lambda: w.hosts[node].state == "dead")
    assert isinstance(w.hosts[node].error, Exception)
    await w.mend()
    assert await w.send(b"a") == 0


@story()
async def test_a_wiped_broker_is_filled_again(w: Shop) -> None:
    """Fails if `wipe` leaves data, or takes the metadata folder with it."""
    await w.send(b"a")
    node = w.follower
    w.kill(node)
    w.wipe(node)
    assert w.hosts[node].disk.files("/data") == [] != w.hosts[node].disk.files("/metadata")
    await w.mend()
    await w.until(lambda: w.values(node) == [b"a"])


@story()
async def test_clocks_jump_and_drift_by_host(w: Shop) -> None:
    """Fails if a jump moves what durations are measured with, or a drift does not show in both clocks."""
    env = w.hosts[1].env
    assert env is not None
    monotonic, wall = env.now(), env.wall_ms()
    w.jump_clock(1, 3600)
    assert env.now() == monotonic and env.wall_ms() - wall == 3_600_000
    w.drift_clock(1, 1.1)
    fired: list[float] = []
    started = w.now()
    env.later(11.0, lambda: fired.append(w.now()))
    await w.sleep(10.5)
    assert env.now() - monotonic == pytest.approx(11.55, abs=0.02)
    assert env.wall_ms() - wall - 3_600_000 == pytest.approx(11_550, abs=20)
    assert fired == [pytest.approx(started + 10.0, abs=0.02)]
    assert await w.send(b"a") == 0


@story()
async def test_a_held_follower_leaves_the_isr_and_stays_registered(w: Shop) -> None:
    """Fails if hold_follower stops more than replication, or `heal` does not end it."""
    node, leader = w.follower, w.leader
    assert leader is not None
    w.hold_follower(node)
    task = w.loop.create_task(w.send(b"a", timeout=20))
    await w.until(lambda: node not in w.partition(leader).replica.isr.committed)  # type: ignore[union-attr]
    assert await task == 0
    assert not w.broker(leader).image.brokers[node].fenced  # type: ignore[union-attr]
    w.heal()
    await w.until(lambda: node in w.partition(leader).replica.isr.committed)  # type: ignore[union-attr]


# --- the world itself -----------------------------------------------------------------------------------------


@story(5, controllers=3, racks=["a", "b", "b"])
async def test_controllers_of_their_own_and_racks(w: Shop) -> None:
    """Fails if voters that are no brokers, or racks, are not set up as the live cluster sets them up."""
    assert w.nodes == [1, 2, 3, 101, 102, 103] and w.controller() in (101, 102, 103)
    image = w.broker(1).image  # type: ignore[union-attr]
    assert {n: b.rack for n, b in image.brokers.items()} == {1: "a", 2: "b", 3: "b"}
    w.kill(w.controller() or 0)
    assert await w.send(b"a") == 0


@story(2)
async def test_events_are_delivered_at_once_and_in_order(w: Shop) -> None:
    """Fails if listeners miss events, or an incarnation's numbers have gaps (I-TRACE-1)."""
    heard: list[dict[str, Any]] = [*w.events]
    w.listeners.append(heard.append)
    w.kill(2)
    await w.restart(2)
    assert heard == w.events and [e["t"] for e in heard] == sorted(e["t"] for e in heard)
    for b, i in {(e["b"], e["i"]) for e in heard}:
        numbers = [e["n"] for e in heard if (e["b"], e["i"]) == (b, i)]
        assert numbers == list(range(1, len(numbers) + 1))


@story()
async def test_metadata_names_addresses_that_clients_reach(w: Shop) -> None:
    """Fails if what brokers advertise is not where the simulated network finds them."""
    answer = await w.ask(2, MetadataRequest(topics=[]), 12)
    assert [(b.host, b.port) for b in sorted(answer.brokers, key=lambda b: b.node_id)] == w.bootstrap
