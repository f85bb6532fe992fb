"""The broker in virtual time: the smoke test that keeps it fit for the simulator."""

from __future__ import annotations

import asyncio

import pytest

from minikafka.sim.loop import SimLoop


def test_time_jumps_only_when_nothing_is_ready() -> None:
    """Fails if timers run early, late or out of order (I-SIM-1)."""
    loop, seen = SimLoop(1), []

    async def sleeper(seconds: float) -> None:
        done = loop.create_future()
        loop.call_later(seconds, done.set_result, None)
        await done
        seen.append((loop.time(), seconds))

    async def main() -> None:
        await asyncio.gather(*(loop.create_task(sleeper(s)) for s in (3600.0, 0.5, 60.0)))

    loop.run(main())
    assert seen == [(0.5, 0.5), (60.0, 60.0), (3600.0, 3600.0)]


def test_a_deadlock_is_an_error_not_a_hang() -> None:
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
            done = loop.create_future()
            loop.call_later(1, done.set_result, None)
            await done

        loop.run(main())
        return seen

    assert order(7) == order(7) != order(8)
    assert sorted(order(7)) == list(range(50))
