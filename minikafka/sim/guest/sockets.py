"""Sockets of a program inside a simulated world, and the selector that waits for them.

Owns: the bytes that have arrived and were not read.
Invariants: a connection is one of the world's network, with its latency, cuts and resets; every host has one address, its name.
What real sockets do differently: there are datagrams and TLS; a send may take a part of the bytes only, or wait.
"""

from __future__ import annotations

import errno
import io
import itertools
import math
import selectors
import socket
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from minikafka.sim.guest.threads import Threads
from minikafka.sim.world.env import SimEnv


class Network:
    """The way out of a process; its Env is set when it comes into a world. Other worlds on its timeline are reached by port."""

    env: SimEnv

    def __init__(self) -> None:
        self.ports: dict[int, SimEnv] = {}
        self.numbers, self.made = itertools.count(1000), WeakValueDictionary[int, Sock]()  # the sockets by their numbers

    @property
    def ways(self) -> list[SimEnv]:
        """Return its Env in each world."""
        return [self.env, *self.ports.values()]

    def to(self, port: int) -> SimEnv:
        return self.ports.get(port, self.env)


class Sock:
    """A socket that connects to a simulated broker or server, or listens, or is one of a pair."""

    def __init__(self, threads: Threads, network: Network) -> None:
        self._threads, self._network, self._number = threads, network, next(network.numbers)
        network.made[self._number] = self
        self.inbox, self.waiters = bytearray(), list[Any]()
        self.ended = self.closed = self.connected = self._asked = False
        self.error, self.timeout, self.peer = 0, None, ("", 0)
        self.transport: Any = None
        self.twin: Sock | None = None
        self._name: tuple[str, int] | None = None  # its own address, if it was given one
        self._callers: list[Sock] = []  # that have connected and were not accepted
        self._listening: Callable[[], None] | None = None  # ends it

    def fileno(self) -> int:
        return -1 if self.closed else self._number

    def setblocking(self, yes: bool) -> None:
        self.timeout = None if yes else 0.0

    def settimeout(self, timeout: float | None) -> None:
        self.timeout = timeout

    def setsockopt(self, *_: Any) -> None: ...

    def getsockopt(self, *_: Any) -> int:
        return self.error

    def getpeername(self) -> tuple[str, int]:
        return self.peer

    def getsockname(self) -> tuple[str, int]:
        return self._name or (self._network.env.host, self._number)

    # --- a server's -----------------------------------------------------------------------------------------------------

    def bind(self, address: tuple[str, int]) -> None:
        self._name = address[0], address[1] or self._number

    def listen(self, backlog: int = 0) -> None:
        env, name = self._network.env, self.getsockname()
        self._listening = env.net.listen(*name, self._called, name=env.host, loop=env.process)  # type: ignore[arg-type]

    def _called(self) -> Sock:
        caller = Sock(self._threads, self._network)
        self._callers.append(caller)
        self._threads.wake(self.waiters)
        return caller

    def accept(self) -> tuple[Sock, tuple[str, int]]:
        if not self._threads.block(lambda: self._callers, self.waiters, self.timeout):
            raise TimeoutError("timed out") if self.timeout else BlockingIOError(errno.EAGAIN, "nobody has connected")
        caller = self._callers.pop(0)
        return caller, caller.getpeername()

    def makefile(self, mode: str = "r", buffering: int | None = None) -> Any:
        return io.BufferedReader(_Reader(self))

    # --- as the world's network sees it ---------------------------------------------------------------------------------

    def connect_ex(self, address: tuple[Any, ...]) -> int:
        if self.connected or self.error:
            return self.error or errno.EISCONN
        if not self._asked:
            self._asked, self.peer = True, (address[0], int(address[1]))
            self._network.env.spawn(self._reach(), "connect")
        return errno.EINPROGRESS

    def connect(self, address: tuple[Any, ...]) -> None:
        self.connect_ex(address)
        if not self._threads.block(self.writable, self.waiters, self.timeout):
            raise TimeoutError("timed out")
        if self.error:
            raise OSError(self.error, "cannot connect")

    async def _reach(self) -> None:
        try:
            await self._network.to(self.peer[1]).connect(*self.peer, lambda: self, -1)  # type: ignore[arg-type,return-value]
        except OSError as error:
            self.error = error.errno or errno.ECONNREFUSED
        self._threads.wake(self.waiters)

    def connection_made(self, transport: Any) -> None:
        self.transport, self.connected = transport, True
        if self.closed:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self.inbox += data
        self._threads.wake(self.waiters)

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, _: Exception | None) -> None:
        self.ended = True
        self._threads.wake(self.waiters)

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...

    # --- as the program sees it -----------------------------------------------------------------------------------------

    def readable(self) -> bool:
        return bool(self.inbox or self.ended or self.error or self._callers)

    def writable(self) -> bool:
        return bool(self.connected or self.error)

    def send(self, data: Any, flags: int = 0) -> int:
        data = bytes(data)
        if self.ended or self.closed:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        if self.twin is not None:
            self.twin.data_received(data)
        else:
            self.transport.write(data)
        return len(data)

    sendall = send

    def recv(self, size: int, flags: int = 0) -> bytes:
        if not self._threads.block(self.readable, self.waiters, self.timeout):
            raise TimeoutError("timed out") if self.timeout else BlockingIOError(errno.EAGAIN, "nothing has arrived")
        data = bytes(self.inbox[:size])
        del self.inbox[:size]
        return data

    def __enter__(self) -> Sock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def shutdown(self, how: int) -> None:
        if self.transport is not None:
            self.transport.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            if self._listening is not None:
                self._listening()
            self.shutdown(socket.SHUT_RDWR)
            if self.twin is not None:
                self.twin.connection_lost(None)


class _Reader(io.RawIOBase):
    """The bytes that arrive at a socket, as a file."""

    def __init__(self, sock: Sock) -> None:
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._sock.recv(len(buffer))
        buffer[:len(data)] = data
        return len(data)


class Selector(selectors.BaseSelector):
    """Waits for any of its sockets, or of things that have the number of one."""

    def __init__(self, threads: Threads, network: Network) -> None:
        self._threads, self._made = threads, network.made
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if fileobj in self._keys:
            raise KeyError(f"{fileobj!r} is already registered")
        self._keys[fileobj] = selectors.SelectorKey(fileobj, fileobj.fileno(), events, data)
        return self._keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self.unregister(fileobj)
        return self.register(fileobj, events, data)

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        able = [(key, key.events & (selectors.EVENT_READ * sock.readable() | selectors.EVENT_WRITE * sock.writable()))
                for sock, key in ((self._made[key.fd], key) for key in self._keys.values() if key.fd in self._made)]
        return [(key, events) for key, events in able if events]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None:  # as epoll does: a remainder of a clock's last digit would make it look for ever
            timeout = math.ceil(max(timeout, 0.0) * 1000) / 1000
        waiters: list[Any] = []
        before = {sock: sock.waiters for key in self._keys.values() if (sock := self._made.get(key.fd))}
        for sock in before:
            sock.waiters = waiters
        self._threads.block(self._ready, waiters, timeout)
        for sock, its in before.items():
            sock.waiters = its
        return self._ready()

    def close(self) -> None:
        self._keys.clear()

    def get_map(self) -> Any:
        return self._keys

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys[fileobj]
