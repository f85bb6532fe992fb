"""The simulated twin of a check "from nothing": the student's program as a process of a simulated world, not of this machine.

    check_simulated("1.9", "my_producer.py", seed=7)

The check is not written twice. A twin is a copy of its module, for which `time`, kafka-python, `Program` and `Cluster` mean those
of a world: where the check waits, the world goes on. A run takes a second or two, however long the program sleeps. It
needs no process, and the same seed gives the same run.

Owns: the copy, and the world in which its present run takes place.
What the other world does differently: a program has no processor of its own (a loop without a wait stops all), no files of its
own, and no client that is written in C (confluent_kafka).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from types import SimpleNamespace
from typing import Any

from minikafka.cluster import Cluster
from minikafka.lab.exercise import Unknown, judge
from minikafka.lab.program import TAIL, source
from minikafka.lab.verdict import Verdict
from minikafka.sim.guest.guest import Guest
from minikafka.sim.guest.modules import COPIED, Modules
from minikafka.sim.world.disk import SimDisk
from minikafka.sim.world.host import host_name
from minikafka.sim.world.world import CLIENTS

RUNS = {"1.9": "under_a_dead_leader", "3.11": "before_and_after_monday", "5.11": "killed_and_started_again", "7.9": "two_faults",
        "9.9": "while_brokers_die"}
HARNESS = "minikafka.lab.program"
BY_CHECKS = ("minikafka.lab.labs.lab03.clients",)  # what checks import that waits, or has a client


def check_simulated(exercise: str, answer: str, seed: int = 1) -> Verdict:
    """Judge a program as `check` does, but in a simulated world. The verdict goes into no record: it repeats a run."""
    def ask(answer: str) -> str:
        if exercise not in RUNS:
            raise Unknown(f"{exercise!r} cannot be simulated. These can: {', '.join(RUNS)}")
        check = twin(f"minikafka.lab.labs.lab{int(exercise.split('.')[0]):02}.from_nothing", seed)
        (seen,) = getattr(check, RUNS[exercise])([source(answer)])
        return str(check.verdict(seen))
    return judge(ask, exercise, answer)


def twin(check: str, seed: int) -> Any:
    """Return the copy of a check's module in which everything is simulated."""
    world = Modules("check", copied=(*COPIED, HARNESS, check, *BY_CHECKS))
    harness = world.load(HARNESS)

    def cluster(**settings: Any) -> Cluster:
        made: Any = Cluster(engine="sim", seed=seed, **settings)
        world.enter(made.world)
        made.plan = SimpleNamespace(brokers=[], nodes={node: SimpleNamespace(data=Shelf(host.disk, "/data"))
                                           for node, host in made.world.hosts.items()})
        made.kill = partial(_kill, made)
        return made

    class InTheWorld(SimulatedProgram, harness.Program):  # type: ignore[misc,name-defined]
        modules = world

    harness.Cluster, harness.Program = cluster, InTheWorld
    return world.load(check)


def _kill(cluster: Any, node: int) -> None:
    """Kill a node; what a cut has held back of its answers is lost, as live, where a broker's own process makes the cut."""
    net, host = cluster.world.net, host_name(node)
    if net.link(host, CLIENTS).cut:
        net.reset(host, CLIENTS)
    type(cluster).kill(cluster, node)


class SimulatedProgram:
    """The methods of `Program` that touch a process, over a guest of a world; when it is over is decided in program.py."""

    modules: Modules
    librdkafka: Callable[[Guest], Any] | None = None  # makes what stands for it in a world (lab/page)

    def __init__(self, text: str, *arguments: str, name: str = "program.py", quiet: float | None = None) -> None:
        if "confluent_kafka" in text and self.librdkafka is None:
            raise Unknown("confluent_kafka is written in C and cannot run in a simulated world. Write it with kafka-python")
        self.name, self._quiet = name, quiet
        self._guest = Guest(self.modules.world, text, *arguments, name=name)
        if self.librdkafka is not None:
            self._guest.own["confluent_kafka"] = self.librdkafka(self._guest)
        self._began = self._last = self.modules.threads.monotonic()
        self._shown = 0

    def be_patient(self) -> None:
        """Count from now on: only now can the program go on."""
        self._last = self.modules.threads.monotonic()

    def give(self, lines: Iterable[str]) -> None:
        self.be_patient()
        self._guest.stdin.give(lines)

    def give_no_more(self) -> None:
        self.be_patient()
        self._guest.stdin.end()

    def kill(self) -> None:
        self._guest.kill()

    def pause(self) -> None:
        self._guest.pause()

    def resume(self) -> None:
        self._guest.resume()

    @property
    def printed(self) -> list[str]:
        lines = self._guest.stdout.lines
        if len(lines) > self._shown:
            self._shown = len(lines)
            self.be_patient()
        return lines

    @property
    def code(self) -> int | None:
        return self._guest.code

    @property
    def errors(self) -> list[str]:
        return self._guest.stderr.text.splitlines()[-TAIL:]

    def _remove(self) -> None:
        """Leave nothing: there is no folder."""


@dataclass(frozen=True)
class Shelf:
    """A path on a simulated disk, with what checks need of pathlib."""

    disk: SimDisk
    path: str

    def __truediv__(self, name: str) -> Shelf:
        return Shelf(self.disk, f"{self.path}/{name}")

    def glob(self, pattern: str) -> Iterator[Shelf]:
        wanted = f"{self.path}/{pattern}"
        return (Shelf(self.disk, path) for path in self.disk.files("/") if fnmatch(path, wanted))

    def stat(self) -> Any:
        return SimpleNamespace(st_size=self.disk.size(self.path))
