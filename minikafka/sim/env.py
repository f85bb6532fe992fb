"""One simulated broker's Env: the seeded loop, network and disk behind the interface of `broker/env.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from minikafka.broker.env import Env
from minikafka.sim.disk import SimDisk
from minikafka.sim.loop import SimLoop
from minikafka.sim.net import SimNetwork

T = TypeVar("T")

EPOCH_MS = 1_700_000_000_000  # the wall clock of every world starts here


class SimEnv(Env):
    """A broker's world inside the simulator; `events` is its trace."""

    def __init__(self, loop: SimLoop, net: SimNetwork, disk: SimDisk, name: str) -> None:
        super().__init__(loop, seed=name)
        self.net, self.fs, self.faults = net, disk, self
        self.events: list[dict[str, Any]] = []
        self.trace = self._trace

    def _trace(self, kind: str, **fields: object) -> None:
        self.events.append({"t": self.now(), "k": kind} | fields)

    def wall_ms(self) -> int:
        return EPOCH_MS + int(self.now() * 1000)

    def disk_space(self, path: str) -> tuple[int, int]:
        return 1 << 40, 1 << 39

    async def follower_gate(self, size: int) -> None:
        """Nobody holds followers back in this world yet."""

    async def blocking(self, fn: Callable[..., T], *args: object) -> T:
        await self.sleep(self.rng("blocking").uniform(0.0001, 0.002))
        return fn(*args)

    async def listen(
        self, host: str, port: int, factory: Callable[[], asyncio.Protocol], link: str
    ) -> Callable[[], None]:
        return self.net.listen(host, port, factory)

    async def connect(
        self, host: str, port: int, factory: Callable[[], asyncio.Protocol], peer: int
    ) -> asyncio.Protocol:
        await self.sleep(self.rng("connect").uniform(*self.net.latency))
        return await self.net.connect(host, port, factory)
