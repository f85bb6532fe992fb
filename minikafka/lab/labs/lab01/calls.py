"""Services that are called and answer, over the simulated network: a web site and the programs behind it.

    services = [SimService(world, name, takes=0.1) for name in ("billing", "stock", "mail")]
    shop = Caller(world, "shop", timeout=2.0)
    answered = await shop.call("billing", order)          # raises TimeoutError

Owns: what each service has done. A service that is cut off from its callers works on, but nobody hears of it.
"""
from __future__ import annotations

import asyncio
from typing import Any

from minikafka.lab.labs.lab01.lines import Lines, Said

PORT = 80


class SimService:
    """A program on a host of its own that needs `takes` seconds for each call; `done` is what it has worked on."""

    def __init__(self, world: Any, name: str, takes: float = 0.1) -> None:
        self.name, self.takes, self.done = name, takes, []
        self._env = world.client_env(name)

    async def serve(self) -> SimService:
        await self._env.listen(self.name, PORT, lambda: Lines(self._called), self.name)
        return self

    def _called(self, line: Lines, said: Said) -> None:
        self._env.spawn(self._work(line, said), f"{self.name}: a call")

    async def _work(self, line: Lines, said: Said) -> None:
        await self._env.sleep(self.takes)
        self.done.append(said["order"])
        line.say(answer=said["order"])


class Caller:
    """A program that calls services one after the other and waits for each, at most `timeout` seconds."""

    def __init__(self, world: Any, name: str, timeout: float = 2.0) -> None:
        self.name, self.timeout = name, timeout
        self._env = world.client_env(name)
        self._lines: dict[str, Lines] = {}
        self._answers: dict[str, asyncio.Queue[Said]] = {}

    async def call(self, service: str, order: int) -> None:
        """Return when the service has answered. Raises TimeoutError; what became of the order is unknown then."""
        try:
            async with asyncio.timeout(self.timeout):
                line = await self._connected(service)
                line.say(order=order)
                while (await self._answers[service].get())["answer"] != order:
                    pass  # an answer to an earlier call, which nobody waits for any more
        except TimeoutError:
            if service in self._lines:
                self._lines.pop(service).close()
            raise

    async def _connected(self, service: str) -> Lines:
        if service not in self._lines:
            answers = self._answers[service] = asyncio.Queue()
            self._lines[service] = await self._env.connect(service, PORT, lambda: Lines(lambda _, said: answers.put_nowait(said)),
                                                           service)
        return self._lines[service]
