"""One program as a process of a simulated world: its modules, its standard input, what it prints.

    guest = Guest(cluster.world, text, cluster.bootstrap, "orders")
    cluster.wait(lambda: guest.ended, timeout=60)

kafka-python is not changed: each process has a copy of its modules, loaded while `time`, `threading`, `socket`, `selectors` and
`random` mean those of this process. Once it is loaded they mean the real ones again. The program itself imports them by an
`__import__` of its own.

Owns: the process's loop, its modules.
Invariants: I-GUEST-2 outside of an import of a guest, nothing of it can be found in this interpreter's modules.
"""

from __future__ import annotations

import builtins
import importlib
import itertools
import random
import selectors
import socket
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

import kafka.admin  # noqa: F401 - the real one first: what it needs of the standard library is loaded once

from minikafka.sim.guest.sockets import Selector, Sock
from minikafka.sim.guest.threads import Threads, names
from minikafka.sim.world.clock import EPOCH_MS
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.world import World

PARTS = ("kafka", "kafka.admin")
SHARED = ("kafka.protocol", "kafka.errors", "kafka.structs", "kafka.version")  # they wait for nothing, and take long to load


class Guest:
    """A program that runs in a world from now on; `printed` holds what it has printed, `ended` whether it is at its end."""

    def __init__(self, world: World, text: str, *arguments: str, name: str = "guest") -> None:
        self.world, self.printed, self.errors, self.ended = world, list[str](), list[str](), False
        self.loop = ProcessLoop(world.loop.timeline, name)
        self.env = SimEnv(self.loop, world.net, SimDisk(), f"{world.seed}:{name}", name)
        self.threads = Threads(self.loop)
        self._own = _modules(self.threads, self.env)
        self._kafka: dict[str, Any] = {}
        _private(self._own, self._kafka, lambda: [importlib.import_module(part) for part in PARTS])
        main = self._own["threading"].Thread(target=self._main, args=(text, [name, *arguments]))
        main.start()

    def _main(self, text: str, arguments: list[str]) -> None:
        own = {**self._own, "sys": _shim(sys, argv=arguments)}

        def imports(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
            if name in own and not level:
                return own[name]
            return _private(self._own, self._kafka, lambda: builtins.__import__(name, globals, locals, fromlist, level))

        known = {**vars(builtins), "__import__": imports, "print": self._print}
        try:
            exec(compile(text, arguments[0], "exec"), {"__name__": "__main__", "__builtins__": known})
        except SystemExit:
            pass
        except Exception:
            self.errors += traceback.format_exc().splitlines()
        self.ended = True

    def _print(self, *what: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False) -> None:
        if file is None:
            self.printed.append(sep.join(map(str, what)))

    def kill(self) -> None:
        self.loop.kill()

    def pause(self) -> None:
        self.loop.pause()

    def resume(self) -> None:
        self.loop.resume()


def _private(own: dict[str, Any], found: dict[str, Any], load: Callable[[], Any]) -> Any:
    """Import something with these modules in the place of the real ones, and keep what of kafka-python came (I-GUEST-2)."""
    before = dict(sys.modules)
    for name in list(sys.modules):
        if name.split(".")[0] == "kafka" and not name.startswith(SHARED):
            del sys.modules[name]
    sys.modules.update(own | found)
    try:
        return load()
    finally:
        found |= {name: module for name, module in sys.modules.items()
                  if name.split(".")[0] == "kafka" and not name.startswith(SHARED)}
        sys.modules.clear()
        sys.modules.update(before)


def _modules(threads: Threads, env: SimEnv) -> dict[str, Any]:
    """Return the modules of one process, by name."""
    numbers = itertools.count(1000)

    def one(*_: Any) -> Sock:
        return Sock(threads, env, next(numbers))

    def pair(*_: Any) -> tuple[Sock, Sock]:
        a, b = one(), one()
        a.twin, b.twin, a.connected, b.connected = b, a, True, True
        return a, b

    def resolved(host: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, int(port)))]

    def selector() -> Selector:
        return Selector(threads)

    def wall() -> float:
        return EPOCH_MS / 1000 + threads.monotonic()

    chance, drawn = env.rng("random"), ("random", "uniform", "choice", "shuffle", "randint")
    return {
        "time": _shim(time, sleep=threads.sleep, monotonic=threads.monotonic, perf_counter=threads.monotonic, time=wall),
        "threading": _shim(threading, **names(threads)),
        "socket": _shim(socket, socket=one, socketpair=pair, getaddrinfo=resolved),
        "selectors": _shim(selectors, DefaultSelector=selector),
        "random": _shim(random, **{name: getattr(chance, name) for name in drawn}),
    }


def _shim(real: Any, **own: Any) -> types.ModuleType:
    """Return a module with these names; the rest is the real one's."""
    made = types.ModuleType(real.__name__)
    made.__dict__.update({**vars(real), **own})
    return made
