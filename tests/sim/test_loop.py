"""Processes on one timeline: how they are killed, paused, and keep time."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import pytest

from minikafka.sim.world.loop import Endless, Killed, ProcessLoop, SimLoop


def worlds() -> tuple[SimLoop, ProcessLoop]:
    main = SimLoop(1)
    return main, ProcessLoop(main.timeline, "other")


async def sleep(loop: ProcessLoop, seconds: float) -> None:
    done = loop.create_future()
    loop.call_later(seconds, done.set_result, None)
    await done


def test_each_callback_runs_in_its_own_loop() -> None:
    """Fails if code of one process sees another's event loop: locks, events and tasks would belong to the wrong one."""
    main, other = worlds()
    seen = []
    for loop in (main, other) * 10:
        loop.call_soon(lambda loop=loop: seen.append(asyncio.get_running_loop() is loop))
    main.run(sleep(main, 1))
    assert seen == [True] * 20


def test_the_dead_do_nothing() -> None:
    """Fails if a callback, a timer or a task of a dead process runs, or its `finally` (I-SIM-3)."""
    main, other = worlds()
    ran: list[str] = []

    async def task() -> None:
        try:
            await sleep(other, 2)
        finally:
            ran.append("finally")
            await sleep(other, 1)

    other.create_task(task())
    other.call_later(2, ran.append, "timer")
    main.call_later(1, other.kill)
    main.call_later(1.5, lambda: other.call_soon(ran.append, "callback"))
    main.run(sleep(main, 5))
    gc.collect()
    assert ran == [] and other.errors == []
    other.forget()
    assert ran == ["finally"]  # of no consequence any more: its loop and its disk are dead


def test_the_dead_are_put_away_quietly(recwarn: pytest.WarningsRecorder) -> None:
    """Fails if the end of a world warns of coroutines that its dead never began to await."""
    gc.collect()  # what other tests of this worker have left behind has warned before
    recwarn.clear()
    main, other = worlds()

    async def outer(inner: Coroutine[Any, Any, None]) -> None:
        await inner

    async def inner() -> None: ...

    other.create_task(outer(inner()))
    other.kill()
    main.run(sleep(main, 1))
    other.forget()
    gc.collect()
    assert [str(w.message) for w in recwarn if issubclass(w.category, RuntimeWarning)] == []


def test_a_process_that_kills_itself_stops_there() -> None:
    """Fails if what comes after the deadly call runs on, or takes the world down."""
    main, other = worlds()
    ran: list[str] = []

    def deadly() -> None:
        other.kill()
        raise Killed

    other.call_soon(deadly)
    other.call_later(1, ran.append, "later")
    main.run(sleep(main, 2))
    assert ran == [] and main.errors == other.errors == []


def test_a_pause_is_not_noticed_but_by_the_time() -> None:
    """Fails if a paused process acts, forgets a timer, or others are held up."""
    main, other = worlds()
    ran: list[tuple[str, float]] = []
    for name, loop in (("main", main), ("other", other)):
        for when in (1.0, 2.0, 5.0):
            loop.call_later(when, lambda name=name: ran.append((name, main.time())))
    main.call_later(0.5, other.pause)
    main.call_later(3, other.resume)
    main.run(sleep(main, 6))
    assert ran == [("main", 1.0), ("main", 2.0), ("other", 3.0), ("other", 3.0), *sorted(ran[4:])]
    assert sorted(ran[4:]) == [("main", 5.0), ("other", 5.0)]


def test_clocks_of_processes_drift_apart() -> None:
    """Fails if a fast clock's timers do not fire early, by the world's clock, or the clock jumps with its pace."""
    main, other = worlds()
    fired: list[float] = []
    main.run(sleep(main, 10))
    before = other.time()
    other.drift(2.0)
    assert other.time() == before
    other.call_later(4.0, lambda: fired.append(main.time()))
    other.call_at(other.time() + 6.0, lambda: fired.append(main.time()))
    main.run(sleep(main, 5))
    assert fired == [pytest.approx(12.0), pytest.approx(13.0)] and other.time() == pytest.approx(20.0)
    other.drift(1.0)
    main.run(sleep(main, 5))
    assert other.time() == pytest.approx(25.0)


def test_a_callback_may_drive_the_world() -> None:
    """Fails if a blocking call inside a callback (a fault set by `at`) cannot step the world, or spoils the loop."""
    main, other = worlds()
    ran: list[object] = []

    def blocking() -> None:
        main.run(sleep(main, 1))
        ran.append(main.time())

    main.call_later(1, blocking)
    other.call_later(1.5, lambda: ran.append(asyncio.get_running_loop()))
    other.call_later(2.5, lambda: ran.append(asyncio.get_running_loop()))
    main.run(sleep(main, 4))
    assert ran == [other, 2.0, other] and main.time() == 4.0


def test_errors_belong_to_their_process() -> None:
    """Fails if an exception that nobody catches stops the world, or is told to another process."""
    main, other = worlds()
    other.call_soon(lambda: 1 / 0)
    main.run(sleep(main, 1))
    assert [type(e["exception"]) for e in other.errors] == [ZeroDivisionError] and main.errors == []


def test_the_collector_rests_while_the_world_runs() -> None:
    """Fails if garbage collection runs inside a run, or stays off after it."""
    main, _ = worlds()
    seen: list[bool] = []
    main.call_soon(lambda: seen.append(gc.isenabled()))
    main.run(sleep(main, 1))
    assert seen == [False] and gc.isenabled()


def test_time_jumps_only_when_nothing_is_ready() -> None:
    """Fails if timers run early, late or out of order (I-SIM-1)."""
    loop, seen = SimLoop(1), []

    async def sleeper(seconds: float) -> None:
        await sleep(loop, seconds)
        seen.append((loop.time(), seconds))

    async def main() -> None:
        await asyncio.gather(*(loop.create_task(sleeper(s)) for s in (3600.0, 0.5, 60.0)))

    loop.run(main())
    assert seen == [(0.5, 0.5), (60.0, 60.0), (3600.0, 3600.0)]


def test_a_deadlock_is_an_error_not_a_hang() -> None:
    """Fails if a goal that nothing can bring about is waited for (I-SIM-2)."""
    loop = SimLoop(1)

    async def main() -> None:
        await loop.create_future()

    with pytest.raises(RuntimeError, match="deadlock"):
        loop.run(main())


def test_equal_seeds_give_equal_orders() -> None:
    """Fails if the order of ready callbacks depends on anything but the seed."""
    def order(seed: int) -> list[int]:
        loop, seen = SimLoop(seed), []

        async def main() -> None:
            for i in range(50):
                loop.call_soon(seen.append, i)
            await sleep(loop, 1)

        loop.run(main())
        return seen

    assert order(7) == order(7) != order(8)
    assert sorted(order(7)) == list(range(50))


def test_a_run_that_goes_round_in_circles_ends() -> None:
    """Fails if a run is not ended after `most_steps`: a campaign would stand still at its seed."""
    loop = SimLoop(1)
    loop.timeline.most_steps = 1000

    async def main() -> None:
        while True:
            await sleep(loop, 0)

    with pytest.raises(Endless, match="more than 1,000 steps by 0.0 s"):
        loop.run(main())
