"""The modules that a program inside a simulated world finds when it imports.

    modules = Modules("my_producer.py", ["orders"])
    modules.enter(world)
    modules.load("kafka").KafkaProducer(bootstrap_servers=...)      # in this world, from inside or from outside of it

kafka-python is not changed: each process has a copy of its modules. Their imports, and the program's own, are those of `load`:
they find the `time`, `threading`, `socket`, `random` and others of this process, and everybody else finds the real ones.

Owns: the process's copies; its loop and its Env, once it is in a world.
Invariants: I-GUEST-2 outside of a load, nothing of it can be found in this interpreter's modules.
What a real process does differently: files, `datetime`, and what is computed in C are this interpreter's here, too; there are no
time zones.
"""

from __future__ import annotations

import atexit
import builtins
import importlib
import importlib.util
import logging
import os
import queue  # noqa: F401 - the real ones first: what they need of the standard library is loaded once
import random
import selectors
import signal
import socket
import socketserver  # noqa: F401
import sys
import threading
import time
import types
import uuid  # noqa: F401
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import kafka.admin  # noqa: F401

from minikafka.sim.guest.locks import names
from minikafka.sim.guest.sockets import Network, Selector, Sock
from minikafka.sim.guest.streams import Input, Output
from minikafka.sim.guest.threads import Threads
from minikafka.sim.world.clock import EPOCH_MS
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.world import CLIENTS, World

COPIED = ("kafka", "queue", "uuid", "socketserver")
SHARED = ("kafka.protocol", "kafka.errors", "kafka.structs", "kafka.version")  # they wait for nothing, and take long to load
HIDDEN = ("_queue",)  # a queue in C waits for real threads; queue.py has the same in Python
NANO = 1_000_000_000


class Modules:
    """The modules of one process; `copied` names those, and those below them, of which it has a copy of its own."""

    def __init__(self, name: str, arguments: Sequence[str] = (), copied: Sequence[str] = COPIED) -> None:
        self.name, self.copied = name, tuple(copied)
        self.threads, self.network = Threads(), Network()
        self.stdin, self.stdout, self.stderr = Input(self.threads), Output(self.threads), Output(self.threads)
        self.last_calls: list[Callable[[], Any]] = []  # of atexit
        self.handlers: dict[int, Any] = {}  # by signal
        self.own = {**_time(self.threads), **_net(self.threads, self.network), **self._process([name, *arguments])}
        self.known = {**vars(builtins), "__import__": self.load, "print": self._print, "input": self._input}
        self._found: dict[str, Any] = {}

    def enter(self, world: World) -> None:
        """Become a process of this world, at the host of its clients."""
        self.world, self.loop = world, ProcessLoop(world.loop.timeline, self.name)
        self.env = self.network.env = SimEnv(self.loop, world.net, SimDisk(), f"{world.seed}:{self.name}", CLIENTS)
        self.threads.loop, self.chance = self.loop, self.env.rng("chance")

    def _process(self, arguments: list[str]) -> dict[str, Any]:
        """Return the modules that know a process: its streams, threads, chance, and end."""
        root = logging.RootLogger(logging.WARNING)
        root.addHandler(logging.StreamHandler(self.stderr))
        loggers = logging.Manager(root)

        def drawn(name: str) -> Callable[..., Any]:
            return lambda *args, **settings: getattr(self.chance, name)(*args, **settings)

        def later(call: Callable[..., Any], *args: Any, **settings: Any) -> Callable[..., Any]:
            self.last_calls.append(lambda: call(*args, **settings))
            return call

        draws = [name for name in vars(random) if hasattr(random.Random, name)]
        return {
            "sys": like(sys, argv=arguments, stdin=self.stdin, stdout=self.stdout, stderr=self.stderr),
            "threading": like(threading, **names(self.threads, self.stderr)),
            "random": like(random, **{name: drawn(name) for name in draws}),
            "os": like(os, urandom=drawn("randbytes"), getpid=lambda: 1),
            "atexit": like(atexit, register=later, unregister=lambda call: None),
            "signal": like(signal, signal=self.handlers.__setitem__),
            "logging": like(logging, getLogger=lambda name=None: loggers.getLogger(name) if name else root,
                             basicConfig=lambda level=logging.WARNING, **_: root.setLevel(level)),
        }

    def _print(self, *what: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
        print(*what, sep=sep, end=end, file=file or self.own["sys"].stdout, flush=flush)

    def _input(self, prompt: str = "") -> str:
        self.stdout.write(prompt)
        if not (line := self.stdin.readline()):
            raise EOFError("EOF when reading a line")
        return line.rstrip("\n")

    def load(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = ("*",), level: int = 0) -> Any:
        """Import as `__import__` does, and with its arguments; return the module itself."""
        full = importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
        if full in HIDDEN:
            raise ImportError(f"{full} is not simulated", name=full)
        root = full.partition(".")[0]
        if not self._is_copied(full):
            found = __import__(name, globals, locals, fromlist, level)
            return self.own.get(full if fromlist else root, found)
        with self._known_here():
            importlib.import_module(full)
            return __import__(name, globals, locals, fromlist, level)

    def _is_copied(self, name: str) -> bool:
        return any(name == each or name.startswith(f"{each}.") for each in self.copied) and not name.startswith(SHARED)

    @contextmanager
    def _known_here(self) -> Iterator[None]:
        """Put this process's copies into the place of the real ones, and keep what is loaded meanwhile (I-GUEST-2)."""
        finder: Any = _CopyFinder(self)
        if finder in sys.meta_path:
            yield
            return
        real = {name: module for name, module in sys.modules.items() if self._is_copied(name)}
        for name in real:
            del sys.modules[name]
        sys.modules.update(self._found)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            self._found = {name: sys.modules.pop(name) for name in [*filter(self._is_copied, sys.modules)]}
            sys.modules.update(real)
            for name, module in real.items():
                folder, _, last = name.rpartition(".")
                if folder:
                    setattr(sys.modules[folder], last, module)


@dataclass(frozen=True)
class _CopyFinder:
    """Find a module for a copy: its code is executed with the imports of its process."""

    modules: Modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not self.modules._is_copied(name):
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if not isinstance(finder, _CopyFinder))
        spec = next((found for found in others if found is not None), None)
        if spec is not None:
            spec.loader = _CopyLoader(spec.loader, self.modules.known)
        return spec


@dataclass(frozen=True)
class _CopyLoader:
    real: Any  # the loader of a file, or of an archive: a browser's Python has its standard library in one
    known: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = self.known
        exec(self.real.get_code(module.__name__), module.__dict__)


def _time(threads: Threads) -> dict[str, Any]:
    def wall() -> float:
        return EPOCH_MS / 1000 + threads.monotonic()

    def nano(clock: Callable[[], float]) -> Callable[[], int]:
        return lambda: int(clock() * NANO)

    def date(seconds: float | None = None) -> time.struct_time:
        return time.gmtime(wall() if seconds is None else seconds)

    def written(form: str, when: Any = None) -> str:
        return time.strftime(form, date() if when is None else when)

    now = threads.monotonic
    return {"time": like(time, sleep=threads.sleep, monotonic=now, perf_counter=now, time=wall, gmtime=date, localtime=date,
                         strftime=written, monotonic_ns=nano(now), perf_counter_ns=nano(now), time_ns=nano(wall))}


def _net(threads: Threads, network: Network) -> dict[str, Any]:
    """Return socket and selectors."""
    def one(*_: Any) -> Sock:
        return Sock(threads, network)

    def pair(*_: Any) -> tuple[Sock, Sock]:
        a, b = one(), one()
        a.twin, b.twin, a.connected, b.connected = b, a, True, True
        return a, b

    def connected(address: tuple[str, int], timeout: float | None = None) -> Sock:
        sock = one()
        sock.settimeout(timeout)
        sock.connect(address)
        return sock

    def resolved(host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, int(port)))]

    def selector() -> Selector:
        return Selector(threads, network)

    return {"socket": like(socket, socket=one, socketpair=pair, getaddrinfo=resolved, create_connection=connected),
            "selectors": like(selectors, DefaultSelector=selector, PollSelector=selector)}


def like(real: Any, **own: Any) -> types.ModuleType:
    """Return a module with these names; the rest is the real one's."""
    made = types.ModuleType(real.__name__)
    made.__dict__.update({**vars(real), **own})
    return made
