"""Clients in processes of their own: killed, paused, replaced, and what the history says of what they had under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from minikafka.client.admin.admin import Admin
from minikafka.client.consumer.read_all import read_all
from minikafka.client.producer.producer import Producer
from minikafka.proof.history import History
from minikafka.proof.swarm.client_process import KILLED, ClientProcess
from minikafka.proof.swarm.faults import BUSY_S, CLIENT, CLIENTS_STRUCK, Striker, SwarmFault
from minikafka.proof.swarm.swarm import Result, SeedRun
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.loop import DEAD, RUNNING
from minikafka.sim.world.world import World


def alone(client: Callable[[ClientProcess], Awaitable[None]]) -> tuple[World, History, ClientProcess]:
    world = World("struck")
    history = History(world.now)
    return world, history, ClientProcess(world, history, "it", client)


def test_what_a_killed_client_had_under_way_is_unknown() -> None:
    """Fails when a killed client goes on, runs a `finally`, or leaves an operation open that nobody will ever end."""
    lines: list[str] = []

    async def client(at: ClientProcess) -> None:
        at.history.ok(at.history.invoke("p", "send", value="done"))
        at.history.invoke("p", "send", value="open")
        try:
            while True:
                lines.append(f"{at.env.now():.0f}")
                await at.env.sleep(1.0)
        finally:
            lines.append("finally")

    world, history, process = alone(client)

    async def story() -> None:
        process.start()
        await world.sleep(1.5)
        process.kill()
        await world.sleep(5.0)
        process.start()
        await world.sleep(0.5)

    world.run(story())
    assert lines == ["0", "1", "6"]
    told = [(e["type"], e.get("value", e.get("error"))) for e in history]
    life = [("invoke", "done"), ("ok", None), ("invoke", "open")]
    assert told == [*life, ("info", KILLED), *life]
    process.close()
    world.close()


def test_a_paused_client_is_silent_and_then_late() -> None:
    """Fails when a paused client's timers go off, or are lost."""
    times: list[float] = []

    async def client(at: ClientProcess) -> None:
        for _ in range(3):
            await at.env.sleep(1.0)
            times.append(round(at.env.now(), 3))

    world, _, process = alone(client)

    async def story() -> None:
        process.start()
        await world.sleep(1.5)
        process.pause()
        await world.sleep(8.5)
        process.resume()
        await world.until(lambda: process.done)

    world.run(story())
    assert times == [1.0, 10.0, 11.0]
    world.close()


def test_an_exception_of_a_struck_client_is_reported() -> None:
    """Fails when a client that dies of itself looks like one that has come to its end."""
    async def client(at: ClientProcess) -> None:
        raise ValueError("of itself")

    world, _, process = alone(client)

    async def story() -> None:
        process.start()
        await world.until(lambda: process.done)
        await world.sleep(0.1)

    world.run(story())
    assert process.troubles == ["ValueError('of itself')"]
    world.close()


# --- by the striker -------------------------------------------------------------------------------------------------


def test_a_replaced_producer_is_fenced_when_it_goes_on() -> None:
    """Fails when the zombie's transaction is committed, when its successor is, or when it is let live for ever."""
    async def client(at: ClientProcess) -> None:
        first = not values
        producer = Producer(at.env, at.world.bootstrap, transactional_id="id", history=at.history, name=at.name)
        await producer.begin()
        values.append(at.name)
        try:
            await producer.send("t", at.name)
            await at.env.sleep(4.0 if first else 0.5)  # the first is struck here
            await producer.commit()
            ended[at.name] = "committed"
        except KafkaError as error:
            ended[at.name] = error.code.name
        await at.env.sleep(100.0)

    values: list[str] = []
    ended: dict[str, str] = {}
    world, history, process = alone(client)
    striker = Striker(world, "t", [process])

    async def story() -> list[Any]:
        await world.start()
        await Admin(world.client_env(), world.bootstrap).create_topic("t", 1, 3)
        process.start()
        await world.until(lambda: values)
        await world.sleep(1.0)
        await striker._strike(SwarmFault(0.0, "replace_client", CLIENT, 8.0))
        await world.until(lambda: process.state is DEAD)
        return await read_all(world.client_env(), world.bootstrap, "t", isolation="read_committed")

    records = world.run(story())
    assert ended == {"it anew": "committed", "it": "PRODUCER_FENCED"}
    assert [record.value for record in records] == [b"it anew"]
    assert len(striker.clients) == 2 and striker.clients[1].state is RUNNING
    striker.clients[1].close()
    world.close()


def test_nobody_is_struck_when_it_is_over() -> None:
    """Fails when a fault that waited for a client to be busy comes after the end: nobody would resume it (seed 30012)."""
    async def client(at: ClientProcess) -> None:
        await at.env.sleep(100.0)

    world, _, process = alone(client)
    striker = Striker(world, "t", [process])

    async def story() -> None:
        process.start()
        strike = world.client_env().spawn(striker._strike(SwarmFault(0.0, "pause_client", CLIENT, 5.0)), "strike")
        await world.sleep(BUSY_S / 2)
        striker.over = True
        await strike
        assert process.state is RUNNING

    world.run(story())
    process.close()
    world.close()


# --- in the swarm ---------------------------------------------------------------------------------------------------


def struck(seed: int, *kinds: str) -> tuple[SeedRun, Result]:
    """A seed with a plan of ours: the kinds one after the other, again and again."""
    run = SeedRun(seed)
    run.plan = [SwarmFault(2.0 + 3.0 * n, kinds[n % len(kinds)], CLIENT, 6.0) for n in range(9)]
    return run, run.execute()


def seed_with(*names: str, since: int = CLIENTS_STRUCK) -> int:
    return next(seed for seed in range(since, CLIENTS_STRUCK + 500)
                if {work.name for work in SeedRun(seed).work} == {*names} and not SeedRun(seed).shape.unclean)  # fmt: skip


def test_members_and_copiers_survive_their_successors() -> None:
    """Fails when a zombie does harm, or its successor cannot take over: every record is copied once, and the history
    knows what nobody knows."""
    seed = seed_with("copy", "group", since=CLIENTS_STRUCK + 100)  # the first one loses no assignment
    run, result = struck(seed, "kill_client", "replace_client", "stop_polling", "pause_client")
    assert result.violations == []
    assert any(e.get("error") == KILLED for e in result.history)
    assert {e["fault"] for e in result.events if e["k"] == "fault" and "client" in e} == {
        "kill_client", "replace_client", "stop_polling", "pause_client"}  # fmt: skip
    assert any(client.name.endswith("anew") for client in run.clients)
    assert result.coverage["end ok"] > 10 and result.coverage["assignments lost"] > 0


def test_no_loop_is_left_over() -> None:
    """Fails when a run forgets what its clients' processes leave, so that a campaign grows without end."""
    run, _ = struck(seed_with("plain", "idem"), "kill_client")
    lives = [loop for client in run.clients for loop in client.lives]
    assert len(lives) > len(run.clients)
    assert not [task for loop in lives for task in asyncio.all_tasks(loop) if task.get_coro().cr_frame is not None]
