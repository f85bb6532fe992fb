"""The kernel of a notebook as a process of a simulated world.

    enter()

Cells are run from outside of the world's threads: where a cell waits, it drives the world (sim/guest/threads.py). Its imports,
and those of the modules that are copied, are those of `Modules.load`; here the copies stay in the interpreter for good.
All clusters of a notebook are on one timeline, and each has a port of its own.

Owns: the timeline; the ports.
Invariants: the kernel's own code, IPython and the picture keep the machine's clock and threads.
"""
from __future__ import annotations

import builtins
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from minikafka.cluster.cluster import Cluster
from minikafka.lab import background, exercise
from minikafka.lab.again import say
from minikafka.lab.names import shell
from minikafka.lab.page.checks import simulated_exercise
from minikafka.lab.page.cluster import WorldCluster
from minikafka.lab.page.folder import FilesTimeline
from minikafka.lab.page.librdkafka import stand_in
from minikafka.lab.page.processes import subprocess_module
from minikafka.lab.page.trace import trace_module
from minikafka.lab.twins import HARNESS
from minikafka.machine import java
from minikafka.sim.guest.modules import COPIED, Modules, like
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.env import SimEnv
from minikafka.sim.world.loop import ProcessLoop
from minikafka.sim.world.net import SimNetwork
from minikafka.sim.world.world import CLIENT_PORT, CLIENTS, World

LABS = ("minikafka.lab.labs", HARNESS)  # they have clients, or they wait
STAYING = ("kafka", *LABS)
LOADED = ("minikafka.lab.again", "minikafka.cluster.security", "minikafka.cluster.wire")  # before: they are given the names
SLOWER = 3  # a page's Python takes up to three times as long, so its checks have three times as much time
OF_THE_KERNEL = ("sys", "logging", "signal")


class Notebook(Modules):
    """The modules that cells find, and the timeline of their clusters."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__("notebook", copied=(*COPIED, *LABS, "concurrent"))
        for name in OF_THE_KERNEL:
            del self.own[name]
        self.known |= {"print": builtins.print, "input": builtins.input}
        self.traces = dict[Path, World]()
        self.timeline, self._ports = FilesTimeline(seed), itertools.count(CLIENT_PORT, 100)
        self.loop = self.threads.loop = ProcessLoop(self.timeline, self.name)
        nowhere = SimNetwork(self.loop, Random(seed))
        self.env = self.network.env = SimEnv(self.loop, nowhere, SimDisk(), f"{seed}:{self.name}", CLIENTS)
        self.chance = self.env.rng("chance")
        self.own |= {"subprocess": subprocess_module(self, self.traces), "confluent_kafka": stand_in(self, say),
                     **trace_module(self.traces), "minikafka.machine.java": like(java, find_java=_no_java)}

    def next_port(self) -> int:
        return next(self._ports)

    def reach(self, world: World) -> None:
        """Let the notebook's clients connect to the brokers of this world."""
        self.network.ports[world.port] = SimEnv(self.loop, world.net, SimDisk(), f"{world.seed}:{self.name}", CLIENTS)

    def stay(self) -> None:
        """Put its copies into the place of the real modules for good, but for those of the standard library."""
        vars(self.own["os"]).pop("register_at_fork", None)  # a pool of threads has a hook for forks, and one for the end
        self.own["threading"]._register_atexit = lambda call: None
        for name in ("queue", "uuid", "concurrent.futures.thread", "socketserver"):
            self.load(name)
        self.own |= {name: self._found.pop(name) for name in list(self._found) if not name.startswith(STAYING)}
        self.copied = STAYING
        self._here = self._known_here()  # kept: a generator that nobody holds would end
        self._here.__enter__()
        self.load(HARNESS).file_exercise = simulated_exercise(self.load(HARNESS).file_exercise)
        sys.modules["minikafka.lab.again"].within = _at_once  # type: ignore[attr-defined]
        for name in LOADED:
            module = sys.modules[name]
            for each in vars(module).keys() & self.own.keys():
                setattr(module, each, self.own[each])
        if (running := shell()) is not None:
            running.user_ns["__builtins__"] = self.known
            if background.LOOP is not None:
                running.events.register("pre_run_cell", background.cell_begins)
                running.events.register("post_run_cell", background.cell_ends)
                limit_of = exercise.limit_of
                exercise.limit_of = lambda which: SLOWER * limit_of(which)


def _at_once(seconds: float, name: str, act: Callable[[], None]) -> None:
    """Do something in the thread of the cells: no other can drive the world while its threads wait."""
    act()


def _no_java() -> None:
    raise java.NoJava("no Java runs inside a browser's page: this needs `make lab`, on a machine")


def enter() -> Notebook:
    """Make this kernel a process of a world, for good."""
    if WorldCluster.notebook is None:
        WorldCluster.notebook = Notebook()
        Cluster.without_processes = WorldCluster
        WorldCluster.notebook.stay()
    return WorldCluster.notebook
