"""One simulated process's Env: its loop, and the seeded network and disk, behind the interface of `broker/server/env.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from minikafka.broker.server.env import Env
from minikafka.sim.world.clock import EPOCH_MS, SimClock
from minikafka.sim.world.disk import Mount, SimDisk
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.net import SimNetwork

__all__ = ["EPOCH_MS", "SimEnv"]

T = TypeVar("T")


class SimEnv(Env):
    """The Env of one simulated process. `seed` is the seed of its random numbers, `host` its name in the network; its trace
    goes to `events`, if it is given no other `trace`."""

    def __init__(self, loop: ProcessLoop, net: SimNetwork, disk: SimDisk | Mount, seed: str, host: str = "main",
                 clock: SimClock | None = None, trace: Callable[..., None] | None = None) -> None:
        super().__init__(loop, seed=seed)
        self.process, self.net, self.host, self.clock = loop, net, host, clock or SimClock()
        self.fs, self.faults = Mount(disk, loop), self
        self.events: list[dict[str, Any]] = []
        self.trace = trace or self._trace
        self.hold, self.rate = False, 0.0  # of the replica fetcher: stopped, or limited to `rate` bytes a second (0: no limit)

    def crash(self, error: BaseException) -> None:
        if not isinstance(error, Exception):  # of the program that runs the world: its time limit ended what this process did
            raise error
        super().crash(error)

    def _trace(self, kind: str, **fields: object) -> None:
        self.events.append({"t": self.now(), "k": kind} | fields)

    def wall_ms(self) -> int:
        return self.clock.wall_ms(self.process)

    def disk_space(self, path: str) -> tuple[int, int]:
        free = self.fs.disk.free
        return 1 << 40, 1 << 39 if free is None else free

    async def follower_gate(self, size: int) -> None:
        if self.rate:
            await self.sleep(size / self.rate)
        while self.hold:
            await self.sleep(0.01)

    async def blocking(self, fn: Callable[..., T], *args: object) -> T:
        await self.sleep(self.rng("blocking").uniform(0.0001, 0.002) + self.fs.disk.sync_delay)
        return fn(*args)

    async def listen(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], link: str) -> Callable[[], None]:
        return self.net.listen(host, port, factory, name=self.host, loop=self.process)

    async def connect(self, host: str, port: int, factory: Callable[[], asyncio.Protocol], peer: int) -> asyncio.Protocol:
        return await self.net.connect(host, port, factory, name=self.host, loop=self.process)
