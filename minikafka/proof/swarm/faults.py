"""The faults of a swarm: drawn from the seed before anything runs, each with its time, its target and its end.

Which kinds a seed has, and how often, is drawn too (swarm testing: runs with few kinds reach states that runs with all of them
never reach). A fault's target is a broker's number, one of the clients' processes, or a role that is looked up when the fault
strikes: the leader of the busiest partition, the active controller, a coordinator.

A process may be ended between two of its steps or, which is worse, in the middle of one, right before the nth change of its
disk. Then only a part of a change that belongs together is on the disk, and nothing after it runs.

Owns: the plan; how each kind begins and ends. The world and the clients' processes carry the faults out.
Invariants: a plan is a function of the seed; leaving faults out leaves the others as they are.
            Every fault ends by itself, or with the healing that comes after the last, except two: a broker that
              is killed for good, and flipped bits, which recovery.py mends. At most one node is killed for good or has
              its metadata damaged: a minority.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from kafka.protocol.producer import ProduceRequest

from minikafka.proof.swarm import damage
from minikafka.proof.swarm.client_process import ClientProcess
from minikafka.protocol.errors import KafkaError
from minikafka.sim.world.host import host_name
from minikafka.sim.world.loop import DEAD, PAUSED, RUNNING
from minikafka.sim.world.world import CLIENTS, World

LEADER, CONTROLLER, COORDINATOR, CLIENT = "leader", "controller", "coordinator", "client"
ROLES = (LEADER, CONTROLLER, COORDINATOR)
SECONDS, STRAINED_SECONDS = 30.0, 20.0  # of faults
Odds = tuple[float, float, float]  # how often a kind is among a seed's, and how long it lasts (seconds, from and to)
CLIENT_KINDS: dict[str, Odds] = {
    "kill_client": (0.4, 0.1, 8.0), "pause_client": (0.4, 1.0, 15.0), "replace_client": (0.35, 2.0, 15.0),
    "stop_polling": (0.3, 9.0, 15.0),
}  # fmt: skip
# Each kind under the first seed that may have it: older seeds stand in lists and in the ledger, and must stay what they
# are (swarm.Shape).
CLIENTS_STRUCK, METADATA_FLIPPED, CAUGHT_WRITING, BROKERS_ASSIGN, STRAINED = 30_000, 40_000, 50_000, 60_000, 80_000
KINDS: dict[int, dict[str, Odds]] = {
    0: {
        "kill": (0.5, 0.1, 8.0), "powerloss": (0.4, 0.1, 8.0), "stop": (0.35, 0.1, 6.0), "kill_all": (0.1, 0.1, 3.0),
        "pause": (0.4, 0.2, 8.0), "cut": (0.35, 0.2, 8.0), "cut_one_way": (0.3, 0.2, 8.0), "isolate": (0.35, 0.2, 10.0),
        "cut_clients": (0.25, 0.2, 6.0), "slow": (0.3, 1.0, 8.0), "reset": (0.4, 0.0, 0.0),
        "hold_follower": (0.3, 1.0, 14.0), "slow_follower": (0.2, 1.0, 8.0), "slow_disk": (0.25, 0.5, 6.0),
        "jump_clock": (0.2, 0.0, 0.0), "drift_clock": (0.2, 1.0, 10.0), "fail_disk": (0.2, 0.5, 4.0),
        "fill_disk": (0.15, 0.5, 4.0), "wipe": (0.15, 0.2, 4.0),
    },
    CLIENTS_STRUCK: {"flip_bit": (0.25, 0.0, 0.0), "kill_for_good": (0.2, 0.0, 0.0), **CLIENT_KINDS},
    METADATA_FLIPPED: {"flip_metadata": (0.25, 0.0, 0.0), "flip_derived": (0.25, 0.0, 0.0)},
    CAUGHT_WRITING: {"crash_at_write": (0.6, 1.0, 8.0), "crash_at_start": (0.5, 1.0, 6.0)},
    STRAINED: {"strand": (0.7, 0.3, 4.0), "lose_answers": (0.5, 0.1, 2.0)},
}  # fmt: skip
ZOMBIE_S = 5.0  # a replaced client that goes on is ended after so long
BUSY_S = 1.0  # so long is waited for a client to be busy


class SwarmFault(NamedTuple):
    """One fault: `target` is a node, a role or CLIENT; it lasts `lasts` seconds from `at` on."""

    at: float
    kind: str
    target: int | str
    lasts: float
    detail: tuple[Any, ...] = ()

    def __str__(self) -> str:
        who = f"broker {self.target}" if isinstance(self.target, int) else f"the {self.target}"
        detail = f" {' '.join(map(str, self.detail))}" if self.detail else ""
        return f"{self.at:7.3f} s  {self.kind} {who} for {self.lasts:.3f} s{detail}"


def kinds(seed: int) -> dict[str, Odds]:
    """Return the kinds of faults that a seed may have."""
    return {kind: odds for first, those in KINDS.items() if seed >= first for kind, odds in those.items()}


def draw(rng: Random, brokers: Sequence[int], among: dict[str, Odds], strained: bool = False) -> list[SwarmFault]:
    """Draw the plan of one seed; a strained one has more faults in less time."""
    kinds = [kind for kind, (often, _, _) in among.items() if rng.random() < often]
    every = rng.choice((0.5, 1.0, 2.0) if strained else (1.0, 2.0, 4.0, 8.0))
    plan, now = [], rng.uniform(0.0, 4.0)
    while kinds and now < (STRAINED_SECONDS if strained else SECONDS):
        kind = rng.choice(kinds)
        plan.append(_draw_one(rng, brokers, now, kind, *among[kind][1:]))
        now += rng.expovariate(1 / every)
    return plan


def _draw_one(rng: Random, brokers: Sequence[int], at: float, kind: str, shortest: float, longest: float) -> SwarmFault:
    target: int | str = rng.choice(ROLES) if rng.random() < 0.5 else rng.choice(brokers)
    lasts = min(shortest + rng.expovariate(3.0 / max(longest - shortest, 1e-9)), longest) if longest else 0.0
    if kind in CLIENT_KINDS:
        return SwarmFault(at, kind, CLIENT, lasts)
    other = rng.choice([*brokers, CLIENTS])
    detail: tuple[Any, ...] = {
        "cut": (other,), "cut_one_way": (other, rng.random() < 0.5), "reset": (other,),
        "slow": (other, rng.choice((0.02, 0.1, 0.4)), rng.choice((0.0, 20_000.0, 400_000.0))),
        "slow_follower": (rng.choice((1.0, 8.0)),), "slow_disk": (rng.choice((0.05, 0.5, 2.0)),),
        "jump_clock": (rng.choice((-3600.0, -2.0, 2.0, 3600.0)),), "drift_clock": (rng.choice((0.9, 1.1)),),
        "fail_disk": (rng.choice(("read", "write", "sync")), rng.choice((1, 1, 3))),
        "fill_disk": (rng.choice((0, 100, 5000)),),
    }.get(kind, ())  # fmt: skip
    if kind == "strand":
        detail = (rng.choice(("kill", "powerloss", "isolate", "pause", "stop")), rng.choice((0.3, 2.0, 5.0)))
    if kind in KINDS[CAUGHT_WRITING]:  # a broker changes its disk some ten times a second, and fifty times as it starts
        detail = (rng.choice(("kill", "powerloss")), int(10 ** rng.uniform(0.0, 1.7 if kind == "crash_at_write" else 2.1)))
    return SwarmFault(at, kind, target, lasts, detail)


class Striker:
    """Carries the faults of a plan out on a world, for `seconds`. `busy` names the topic whose leader the role "leader" means;
    `clients` are the client processes that can be struck."""

    def __init__(self, world: World, busy: str, clients: list[ClientProcess], seconds: float = SECONDS) -> None:
        self.world, self.busy, self.clients, self.seconds, self.over = world, busy, clients, seconds, False
        self.gone: dict[int, None] = {}  # nodes killed for good
        self.spoiled: dict[int, None] = {}  # nodes with damaged metadata
        self.rng = world.rng("striker")
        self._stopping: dict[int, asyncio.Task[None]] = {}

    async def strike_all(self, plan: Sequence[SwarmFault]) -> None:
        """Carry all faults out, each at its time from now."""
        env, began = self.world.client_env(), self.world.now()
        for number, fault in enumerate(plan):
            await self.world.sleep(max(0.0, began + fault.at - self.world.now()))
            env.spawn(self._strike(fault), f"fault {number}")
        await self.world.sleep(max(0.0, began + self.seconds - self.world.now()))
        self.over = True
        for client in self.clients:
            client.resume()
        for node, stopping in self._stopping.items():  # a shutdown that does not end is not waited for
            if not stopping.done():
                stopping.cancel()
                self._kill(node)

    async def _strike(self, fault: SwarmFault) -> None:
        if fault.target == CLIENT:
            undo = await self._strike_client(fault)
        else:
            undo = getattr(self, f"_{fault.kind}")(self._node(fault.target), *fault.detail)
        if undo is None:
            return
        await self.world.sleep(fault.lasts)
        if not self.over:
            undo()

    def _node(self, target: int | str) -> int:
        if isinstance(target, int):
            return target
        found = self.world.controller() if target == CONTROLLER else None
        if target != CONTROLLER:
            found = self._leader("__consumer_offsets" if target == COORDINATOR else self.busy)
        return found if found is not None else self.rng.choice(self.world.brokers)

    def _leader(self, topic: str) -> int | None:
        for node in self.world.alive:
            broker = self.world.broker(node)
            known = broker.image.topics.get(topic) if broker is not None else None
            leaders = [p.leader for p in known.partitions.values() if p.leader >= 0] if known is not None else []
            if leaders:
                return int(self.rng.choice(leaders))
        return None

    # --- processes -------------------------------------------------------------------------------------------------

    def _boot(self, *nodes: int) -> Any:
        def boot() -> None:
            for node in nodes:
                if self.world.hosts[node].state is DEAD and node not in self.gone:
                    self.world.boot(node)
        return boot

    def _kill_for_good(self, node: int) -> Any:
        """Kill a broker that is never started again, not even at the end. The others are a majority while it is the only one."""
        if not self.gone and not self.spoiled:
            self.gone[node] = None
            self.world.tell("fault", fault="kill_for_good", node=node)
            self._kill(node)

    def _kill(self, node: int) -> Any:
        if self.world.hosts[node].state is DEAD:
            return None
        self.world.kill(node)
        return self._boot(node)

    def _kill_all(self, node: int) -> Any:
        for each in self.world.nodes:
            self._kill(each)
        return self._boot(*self.world.nodes)

    def _powerloss(self, node: int) -> Any:
        if self.world.hosts[node].state is DEAD:
            return None
        self.world.powerloss(node)
        return self._boot(node)

    def _crash_at_write(self, node: int, how: str, nth: int) -> Any:
        """Let a node die at its nth write; one that does not come to that before the time is up lives on."""
        self.world.crash_at_write(node, nth, powerloss=how == "powerloss")

        def call_off() -> None:
            self.world.hosts[node].disk.on_change = None
            self._boot(node)()
        return call_off

    def _crash_at_start(self, node: int, how: str, nth: int) -> Any:
        """Let a dead node die once more in the middle of its recovery."""
        getattr(self, f"_{how}")(node)
        call_off = self._crash_at_write(node, how, nth)
        self._boot(node)()
        return call_off

    def _stop(self, node: int) -> Any:
        """Shut a node down in a controlled way; one that does not end is killed when the time is up."""
        if self.world.hosts[node].state is not RUNNING:
            return None
        stopping = self.world.client_env().loop.create_task(self._stop_quietly(node))
        self._stopping[node] = stopping

        def boot() -> None:
            if not stopping.done():
                stopping.cancel()
                self._kill(node)
            self._boot(node)()
        return boot

    async def _stop_quietly(self, node: int) -> None:
        try:
            await self.world.stop(node)
        except (OSError, KafkaError):
            pass  # it died meanwhile

    def _wipe(self, node: int) -> Any:
        if self.world.hosts[node].state is not DEAD:
            self.world.kill(node)
        self.world.wipe(node)
        return self._boot(node)

    def _pause(self, node: int) -> Any:
        if self.world.hosts[node].state is not RUNNING:
            return None
        self.world.pause(node)

        def resume() -> None:
            if self.world.hosts[node].state is PAUSED:
                self.world.resume(node)
        return resume

    # --- links -----------------------------------------------------------------------------------------------------

    def _join(self, *pairs: tuple[Any, Any]) -> Any:
        def join() -> None:
            for a, b in pairs:
                self.world.net.heal(host_name(a), host_name(b))
                self.world.net.heal(host_name(b), host_name(a))
        return join

    def _cut(self, node: int, other: int | str) -> Any:
        if node == other:
            return None
        self.world.cut(node, other)
        return self._join((node, other))

    def _cut_one_way(self, node: int, other: int | str, back: bool) -> Any:
        if node == other:
            return None
        self.world.cut(*((other, node) if back else (node, other)), one_way=True)
        return self._join((node, other))

    def _isolate(self, node: int) -> Any:
        others = [each for each in self.world.nodes if each != node]
        for each in others:
            self.world.cut(node, each)
        return self._join(*((node, each) for each in others))

    def _cut_clients(self, node: int) -> Any:
        self.world.cut(CLIENTS, node)
        return self._join((CLIENTS, node))

    def _slow(self, node: int, other: int | str, latency: float, bandwidth: float) -> Any:
        if node == other:
            return None
        self.world.slow(node, other, latency, bandwidth)
        return self._join((node, other))

    def _reset(self, node: int, other: int | str) -> Any:
        if node != other:
            self.world.reset(node, other)

    def _lose_answers(self, node: int) -> Any:
        """Let the answers to a leader's producers never arrive: what was written is sent again, with all that is in flight."""
        self.world.tell("fault", fault="lose_answers", node=node)
        held = self.world.hold(lambda message: message.is_response and message.api is ProduceRequest and message.src == node)
        return held.drop

    # --- inside --------------------------------------------------------------------------------------------------------

    def _hold_follower(self, node: int) -> Any:
        self.world.hold_follower(node)
        return lambda: self.world.hosts[node].hold_follower(False, 0.0)

    def _strand(self, leader: int, how: str, lasts: float) -> Any:
        """Hold all followers, so that what the leader writes is nowhere else; at the end take the leader away for a while."""
        self.world.tell("fault", fault="strand", node=leader)
        followers = [node for node in self.world.alive if node != leader]
        for node in followers:
            self.world.hold_follower(node)

        def release() -> None:
            undo = getattr(self, f"_{how}")(leader)
            for node in followers:
                self.world.hosts[node].hold_follower(False, 0.0)
            if undo is not None:
                self.world.client_env().later(lasts, lambda: None if self.over else undo())
        return release

    def _slow_follower(self, node: int, rate: float) -> Any:
        self.world.slow_follower(node, rate)
        return lambda: self.world.hosts[node].hold_follower(False, 0.0)

    def _slow_disk(self, node: int, seconds: float) -> Any:
        self.world.slow_disk(node, seconds)
        return lambda: self._good_disk(node)

    def _fail_disk(self, node: int, what: str, count: int) -> Any:
        self.world.fail_disk(node, what, count)
        return lambda: self._good_disk(node)

    def _fill_disk(self, node: int, free: int) -> Any:
        self.world.fill_disk(node, free)
        return lambda: self._good_disk(node)

    def _good_disk(self, node: int) -> None:
        """Let the disk work again; a broker that ended because of it is started again."""
        disk = self.world.hosts[node].disk
        disk.free, disk.sync_delay = None, 0.0
        disk.failures.clear()
        self._boot(node)()

    def _jump_clock(self, node: int, seconds: float) -> Any:
        self.world.jump_clock(node, seconds)

    def _drift_clock(self, node: int, rate: float) -> Any:
        self.world.drift_clock(node, rate)
        return lambda: self.world.drift_clock(node, 1.0)

    def _flip_bit(self, node: int) -> Any:
        broker = self.world.broker(node)
        self._flip(node, damage.places(broker) if broker is not None else [])

    def _flip_metadata(self, node: int) -> Any:
        broker, disk = self.world.broker(node), self.world.hosts[node].disk
        if not self.gone and (not self.spoiled or node in self.spoiled) and broker is not None:
            if self._flip(node, damage.metadata_places(disk, broker)):
                self.spoiled[node] = None

    def _flip_derived(self, node: int) -> Any:
        broker, disk = self.world.broker(node), self.world.hosts[node].disk
        self._flip(node, damage.derived_places(disk, broker) if broker is not None else [])

    def _flip(self, node: int, places: list[damage.Place]) -> bool:
        if not places:
            return False
        path, start, end = self.rng.choice(places)
        self.world.flip_bit(node, path, self.rng.randrange(start, end), self.rng.randrange(8))
        return True

    # --- clients -----------------------------------------------------------------------------------------------------

    async def _strike_client(self, fault: SwarmFault) -> Any:
        """Strike a client in the middle of a request if that can be: most of the time a client waits for no answer."""
        running = [client for client in self.clients if client.alone and client.state is RUNNING and not client.done
                   and (client.in_group or fault.kind != "stop_polling")]
        if not running:
            return None
        client, latest = self.rng.choice(running), self.world.now() + BUSY_S
        while not client.busy and self.world.now() < latest:
            await self.world.sleep(0.002)
        if self.over or client.state is not RUNNING or client.done:
            return None
        self.world.tell("fault", fault=fault.kind, client=client.name)
        return getattr(self, f"_{fault.kind}")(client, fault.lasts)

    def _kill_client(self, client: ClientProcess, lasts: float) -> Any:
        """Kill a client; its successor comes under the same names."""
        client.kill()
        return client.start

    def _pause_client(self, client: ClientProcess, lasts: float) -> Any:
        client.pause()
        return client.resume

    def _replace_client(self, client: ClientProcess, lasts: float) -> Any:
        """Pause a client that is taken for dead; it has a successor under the same names when it goes on."""
        client.pause()
        successor = ClientProcess(self.world, client.whole_history, f"{client.name} anew", client.client)
        self.clients.append(successor)
        successor.start()

        def resume() -> None:
            client.resume()
            self.world.client_env().later(ZOMBIE_S, client.kill)
        return resume

    def _stop_polling(self, client: ClientProcess, lasts: float) -> Any:
        """Let a client stop polling: its process is well, and its heartbeats go on."""
        client.idle_until = client.env.now() + lasts
