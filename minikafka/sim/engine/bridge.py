"""A bridge into a simulated cluster: real clients over real sockets, at the price of determinism.

    with Bridge(World(7)) as bridge:
        producer = KafkaProducer(bootstrap_servers=bridge.bootstrap)
        bridge.do(lambda world: world.kill(1))

A thread drives the world at `speed` times the pace of the wall clock, and carries bytes between a socket on the loopback
for each broker and a connection inside of the world. The brokers advertise these sockets.

Owns: the thread, the sockets. The world belongs to the thread while the bridge is open; others reach it through `do`.
Invariants: bytes of a connection arrive in order; when either end closes, the other is closed too.
The price: the wall clock and a real client take part, so the same seed does not give the same run. No other module of sim/
knows sockets or the real time.
"""

from __future__ import annotations

import asyncio
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from minikafka.sim.world.clock import EPOCH_MS
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENT_PORT, World

T = TypeVar("T")
TICK = 0.002  # seconds between two polls of the sockets
LEAP = 0.05  # seconds of the wall clock: a world that is late catches up by at most so much at once
CHUNK = 1 << 16


class Bridge:
    """A bridge into a world that is not started yet: entering the bridge starts the world, leaving it closes the world."""

    def __init__(self, world: World, speed: float = 1.0) -> None:
        self.world, self.speed = world, speed
        self._selector = selectors.DefaultSelector()
        self._calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._drive, name="bridge", daemon=True)
        self._error: BaseException | None = None
        self.ports: dict[int, int] = {}
        for node in world.brokers:
            self._listen(node)

    def _listen(self, node: int) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setblocking(False)
        self.ports[node] = listening.getsockname()[1]
        self._selector.register(listening, selectors.EVENT_READ, lambda: self._accept(node, listening))
        host = self.world.hosts[node]
        host.config = host.config.replaced({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.ports[node]}"})

    @property
    def bootstrap(self) -> str:
        """Return the host:port of every broker, joined by commas."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def do(self, call: Callable[[World], T]) -> T:
        """Call `call` with the world, between two of its steps; return what it returns, raise what it raises."""
        answers: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue()

        def carry_out() -> None:
            try:
                answers.put((call(self.world), None))
            except BaseException as error:
                answers.put((None, error))

        self._calls.put(carry_out)
        while True:
            try:
                answer, error = answers.get(timeout=0.1)
                break
            except queue.Empty:
                if not self._thread.is_alive():
                    raise RuntimeError("the bridge is down") from self._error
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]

    def __enter__(self) -> Bridge:
        for host in self.world.hosts.values():  # real clients stamp their records with the real time
            host.clock.jump(time.time() - EPOCH_MS / 1000)
        self.world.run(self.world.start())
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stopping.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self.world.close()
        if self._error is not None and kind is None:
            raise self._error

    # --- the thread ---------------------------------------------------------------------------------------------

    def _drive(self) -> None:
        try:
            before = time.monotonic()
            while not self._stopping.is_set():
                for key, _ in self._selector.select(TICK):
                    key.data()
                while not self._calls.empty():
                    self._calls.get()()
                now = time.monotonic()
                self.world.run(self.world.sleep(min(now - before, LEAP) * self.speed))
                before = now
        except BaseException as error:
            self._error = error

    def _accept(self, node: int, listening: socket.socket) -> None:
        real, _ = listening.accept()
        real.setblocking(False)
        far = _Far(real, self._selector)
        self._selector.register(real, selectors.EVENT_READ, far.readable)
        env = self.world.client_env()
        env.spawn(far.reach(env, node), f"bridge to {node}")


class _Far(asyncio.Protocol):
    """One connection: carries bytes from the simulated broker to the socket, and back."""

    def __init__(self, real: socket.socket, selector: selectors.BaseSelector) -> None:
        self.real, self.selector = real, selector
        self.transport: Any = None
        self.early, self.out = bytearray(), bytearray()  # not sent yet: to the broker, to the client
        self.closed = False

    async def reach(self, env: Any, node: int) -> None:
        try:
            await env.connect(host_name(node), CLIENT_PORT, lambda: self, node)
        except OSError:
            self.close()

    def readable(self) -> None:
        """Read what the client has sent, or its close."""
        try:
            data = self.real.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif self.transport is None:
            self.early += data
        else:
            self.transport.write(data)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if self.closed:
            transport.close()
        elif self.early:
            transport.write(bytes(self.early))

    def data_received(self, data: bytes) -> None:
        self.out += data
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes; the rest goes when the socket is writable again."""
        if self.closed:
            return
        try:
            del self.out[: self.real.send(self.out)]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.out else 0)
        self.selector.modify(self.real, wanted, self.either if self.out else self.readable)

    def either(self) -> None:
        """Handle a socket that can be written, read, or both."""
        self.flush()
        if not self.closed:
            self.readable()

    def pause_writing(self) -> None:
        """Note that the broker takes no more: the simulated network keeps what is written."""

    def resume_writing(self) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.selector.unregister(self.real)
            self.real.close()
            if self.transport is not None:
                self.transport.close()
