"""One simulated machine: a disk and a clock that outlive its processes, and the process that runs there at the moment.

Owns: the life of the process. A broker is started as `python -m minikafka.broker` starts it, and ends as it does: by
`stop`, by a signal, or by an error of its own, which the trace calls a crash.
Invariants: no earlier incarnation runs, writes, sends or appears in the trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from minikafka.broker.broker import Broker
from minikafka.broker.config.effective import BrokerConfig
from minikafka.sim.world.clock import SimClock
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import DEAD, PAUSED, RUNNING, ProcessLoop, Timeline
from minikafka.sim.world.net import SimNetwork

Record = Callable[..., None]  # record(host, kind, fields)


class Host:
    """A machine of a world; `state` is "running", "paused" or "dead"."""

    def __init__(self, id: int, seed: int | str, timeline: Timeline, net: SimNetwork, config: BrokerConfig,
                 record: Record, on_crash: Callable[[Host], None]) -> None:
        self.id, self.seed, self.timeline, self.net, self.config = id, seed, timeline, net, config
        self.name = host_name(id)
        self.disk, self.clock = SimDisk(), SimClock()
        self.incarnation = 0
        self.loop = ProcessLoop(timeline, self.name)
        self.loop.state = DEAD
        self.env: SimEnv | None = None
        self.broker: Broker | None = None
        self.serving = False  # its start is through
        self.error: BaseException | None = None  # what the last incarnation died of, if by itself
        self._record, self._on_crash = record, on_crash
        self._hold, self._rate = False, 0.0
        self._past: list[ProcessLoop] = []
        self._owed: dict[asyncio.Future[Any], None] = {}  # answers that others await from this process

    @property
    def state(self) -> str:
        return self.loop.state

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Return the exceptions that no code caught, in all incarnations."""
        return [error for loop in [*self._past, self.loop] for error in loop.errors]

    # --- life -------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """Start the process and return at once; it becomes ready as time goes on."""
        assert self.state is DEAD, f"{self.name} runs already"
        self.incarnation += 1
        self._past.append(self.loop)
        self.loop = ProcessLoop(self.timeline, f"{self.name}.{self.incarnation}")
        self.loop.drift(self.clock.rate)
        self.env = SimEnv(self.loop, self.net, self.disk, f"{self.seed}:{self.name}.{self.incarnation}", self.name,
                          self.clock, self._tracer(self.loop))
        self.hold_follower(self._hold, self._rate)
        self.serving, self.error, self.broker = False, None, None
        self.net.dark.pop(self.name, None)
        self.env.crashed.add_done_callback(self._crashed)
        with self.loop.entered():
            try:
                self.broker = Broker(self.env, self.config)
            except Exception as error:
                self.die_of(error)
                return
            self.loop.create_task(self.broker.start(), name="start").add_done_callback(self._started)

    def _tracer(self, loop: ProcessLoop) -> Callable[..., None]:
        def trace(kind: str, **fields: object) -> None:
            if loop.state is not DEAD:
                self._record(self, kind, fields)
        return trace

    def _started(self, start: asyncio.Task[None]) -> None:
        if start.cancelled():
            return
        if (error := start.exception()) is not None:
            self.die_of(error)
        else:
            self.serving = True

    def _crashed(self, crashed: asyncio.Future[None]) -> None:
        error = crashed.exception()
        assert error is not None
        self.die_of(error)

    def die_of(self, error: BaseException) -> None:
        if self.state is DEAD:
            return
        self.error = error
        self._record(self, "crash", {"error": repr(error)})
        self.end()
        self._on_crash(self)

    def end(self, silent: bool = False) -> None:
        """End the process. `silent`: its kernel ends too, so that no peer gets a reset."""
        self.loop.kill()
        self.disk.on_change = None
        self.net.died(self.loop, silent)
        if silent:
            self.net.dark[self.name] = None
        self.broker, self.serving = None, False
        for answer in list(self._owed):
            if not answer.done():
                answer.set_exception(ConnectionError(f"{self.name} died"))
        self._owed.clear()

    def close(self) -> None:
        """Free what dead incarnations left, at the end of the world."""
        if self.state is not DEAD:
            self.end()
        for loop in [*self._past, self.loop]:
            loop.forget()

    # --- from outside -----------------------------------------------------------------------------------------

    def call(self, coro: Any, caller: ProcessLoop) -> asyncio.Future[Any]:
        """Run a coroutine inside this process; return its outcome as a future of the caller's process, ConnectionError if the
        process dies before."""
        answer: asyncio.Future[Any] = caller.create_future()
        self._owed[answer] = None

        def done(task: asyncio.Task[Any]) -> None:
            self._owed.pop(answer, None)
            if answer.done():
                return
            if task.cancelled():
                answer.cancel()
            elif (error := task.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(task.result())

        self.loop.create_task(coro).add_done_callback(done)
        return answer

    def pause(self) -> None:
        assert self.state is RUNNING, f"{self.name} does not run"
        self.loop.pause()

    def resume(self) -> None:
        if self.state is PAUSED:
            self.loop.resume()

    def hold_follower(self, hold: bool, rate: float) -> None:
        """Stop the replica fetcher, or limit it to `rate` bytes a second (0: no limit); survives a restart."""
        self._hold, self._rate = hold, rate
        if self.env is not None:
            self.env.hold, self.env.rate = hold, rate

    def drift(self, rate: float) -> None:
        self.clock.rate = rate
        self.loop.drift(rate)


def host_name(node: int | str) -> str:
    """Return the name of a host in the network; "clients" is the host of all clients."""
    return node if isinstance(node, str) else f"broker-{node}"
