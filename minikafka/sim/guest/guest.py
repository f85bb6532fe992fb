"""One program as a process of a simulated world, from its first line to its exit code.

    guest = Guest(cluster.world, text, cluster.bootstrap, "orders")
    cluster.wait(lambda: guest.code is not None, timeout=60)
    guest.stdout.lines, guest.code

Owns: how it ends. It ends when its main thread and all that are no daemons have ended, or by an error that nobody catches, or is
killed: then its connections end too.
What a real process does differently: it has a processor of its own. A loop here that neither waits, nor prints, nor looks at a
clock stops the whole world.
"""

from __future__ import annotations

import traceback
from typing import Any

from minikafka.sim.guest.modules import Modules
from minikafka.sim.world.world import World

KILLED = -9


class Guest(Modules):
    """A program that runs in a world from now on; `code` is its exit code, None while it runs."""

    def __init__(self, world: World, text: str, *arguments: str, name: str = "guest.py") -> None:
        super().__init__(name, arguments)
        self.code: int | None = None
        self.enter(world)
        self.load("kafka.admin")
        self.own["threading"].Thread(target=self._main, args=(text,), name="MainThread").start()

    def _main(self, text: str) -> None:
        code: Any = 0
        try:
            exec(compile(text, self.name, "exec"), {"__name__": "__main__", "__file__": self.name, "__builtins__": self.known})
        except SystemExit as end:
            code = end.code or 0
        except Exception:
            self.stderr.write(traceback.format_exc())
            code = 1
        if not isinstance(code, int):
            self.stderr.write(f"{code}\n")
            code = 1
        for thread in [each for each in self.threads.alive if not each.daemon and each is not self.threads.current]:
            thread.join()
        while self.last_calls:
            self.last_calls.pop()()
        self._end(code)

    def _end(self, code: int) -> None:
        if self.code is None:
            self.code = code
            self.loop.kill()
            for way in self.network.ways:
                way.net.died(self.loop)

    # --- what is done to it ---------------------------------------------------------------------------------------------

    def kill(self) -> None:
        """End it where it stands, as kill -9 does."""
        self._end(KILLED)

    def signal(self, number: int) -> None:
        """Send it a signal; without a handler of its own it ends."""
        if self.code is None and (handler := self.handlers.get(number)) is not None:
            self.own["threading"].Thread(target=handler, args=(number, None)).start()
        else:
            self._end(-number)

    def pause(self) -> None:
        """Stop it; its connections stay open."""
        if self.code is None:
            self.loop.pause()

    def resume(self) -> None:
        """Let it go on."""
        if self.code is None:
            self.loop.resume()
