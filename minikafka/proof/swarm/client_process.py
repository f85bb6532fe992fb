"""The process of one of a swarm's clients: it can be killed or paused without the others.

    process = ClientProcess(world, history, "group 2", client)      # client(process) is what it does, from start to end
    process.start(); process.pause(); process.resume(); process.kill(); process.start()

A killed client is like any process killed with -9: its requests may still be carried out, and it never learns of that. A paused
client is silent; when it goes on it is a zombie, because it still believes what it believed before.

Owns: the loop and the Env of the process, and which operations of its clients are in flight.
Invariants: I-CLIENT-PROCESS-1 a killed client does nothing more, and its operations in flight are `info` in the history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from minikafka.client.history import Event
from minikafka.proof.history import History
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import DEAD, PAUSED, RUNNING, ProcessLoop
from minikafka.sim.world.world import CLIENTS, World

MAX_POLL_S = 8.0  # max.poll.interval of clients that may be told to stop polling
NEVER_S = 300.0
KILLED = "its process was killed"


class Notes:
    """The history as one process writes it; it knows which operations of the process are in flight."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.open: dict[int, Event] = {}
        self.record, self.fact = history.record, history.fact

    def invoke(self, process: str, f: str, **fields: Any) -> Event:
        event = self.history.invoke(process, f, **fields)
        self.open[event["op"]] = event
        return event

    def ok(self, invoked: Event, **fields: Any) -> Event:
        return self.history.ok(self._ended(invoked), **fields)

    def fail(self, invoked: Event, **fields: Any) -> Event:
        return self.history.fail(self._ended(invoked), **fields)

    def info(self, invoked: Event, **fields: Any) -> Event:
        return self.history.info(self._ended(invoked), **fields)

    def _ended(self, invoked: Event) -> Event:
        return self.open.pop(invoked["op"])

    def died(self) -> None:
        """End all operations in flight as `info`: their fate is unknown."""
        for invoked in list(self.open.values()):
            self.info(invoked, error=KILLED)


class ClientProcess:
    """The process of one client. `alone`: one of its own; otherwise the one that all clients share, which has no faults."""

    def __init__(self, world: World, history: History, name: str, client: Callable[[ClientProcess], Awaitable[None]],
                 alone: bool = True) -> None:
        self.world, self.name, self.client, self.alone = world, name, client, alone
        self.env, self.whole_history = world.client_env(), history
        self.history: Any = history
        self.loop: ProcessLoop = world.loop
        self.task: asyncio.Task[None] | None = None
        self.in_group = False  # it shares partitions with others, who wait for it
        self.idle_until = 0.0  # it does not poll before that
        self.lives: list[ProcessLoop] = []

    @property
    def max_poll_interval(self) -> float:
        return MAX_POLL_S if self.alone else NEVER_S

    @property
    def state(self) -> str:
        return self.loop.state

    @property
    def busy(self) -> bool:
        """Return whether it has sent a request that was not answered yet."""
        return self.alone and bool(self.history.open)

    @property
    def done(self) -> bool:
        """Return whether it has ended, by itself or because it was told to."""
        return self.task is None or self.task.done() or self.state is DEAD

    @property
    def troubles(self) -> list[str]:
        """Return the exceptions that no code caught."""
        crashed = [repr(self.env.crashed.exception())] if self.alone and self.env.crashed.done() else []
        return crashed + [f"{context.get('message')}: {context.get('exception')!r}"
                          for loop in self.lives for context in loop.errors]  # fmt: skip

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if not self.alone:
            self.task = self.env.spawn(self.client(self), self.name)  # type: ignore[arg-type]
            return
        self.loop = ProcessLoop(self.world.loop.timeline, f"{self.name}.{len(self.lives) + 1}")
        self.lives.append(self.loop)
        trace, self.history = self.env.trace, Notes(self.whole_history)
        self.env = SimEnv(self.loop, self.world.net, SimDisk(), f"{self.world.seed}:{self.loop.name}", CLIENTS)
        self.env.trace, self.idle_until = trace, 0.0
        with self.loop.entered():
            self.task = self.env.spawn(self.client(self), self.name)  # type: ignore[arg-type]

    def kill(self) -> None:
        if self.state is not DEAD:
            self.loop.kill()
            self.world.net.died(self.loop)
            self.history.died()

    def cancel(self) -> None:
        """Cancel the client's task: it was told to end and does not."""
        if self.task is not None:
            self.task.cancel()

    def pause(self) -> None:
        if self.state is RUNNING:
            self.loop.pause()

    def resume(self) -> None:
        if self.state is PAUSED:
            self.loop.resume()

    def close(self) -> None:
        """Free what its lives have left, at the end of the world."""
        if self.alone:
            self.kill()
        for loop in self.lives:
            loop.forget()

    # --- what it does ------------------------------------------------------------------------------------------------

    async def idle(self) -> bool:
        """Wait while the client was told not to poll; return whether it was told so."""
        idle = self.env.now() < self.idle_until
        while self.env.now() < self.idle_until:
            await self.env.sleep(0.5)
        return idle
