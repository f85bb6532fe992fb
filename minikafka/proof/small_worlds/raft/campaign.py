"""Campaigns over the quorum alone: per seed a world of 1, 3 or 5 voters and some observers, and a plan of faults.

The plan is drawn before anything runs: a list of faults, each with its time, its target and its end. So a failing seed can be
made smaller by leaving faults out (`sim shrink --raft`). After the faults everything is healed, except that in some seeds a
minority stays dead. Then the quorum must agree on one log within HEAL_WITHIN. At last one follower is cut off from some nodes,
and its timer runs out again and again: the others must keep their leader.

Owns: the settings and the plan drawn from a seed, and the verdict on it.
Invariants: a seed, and the list of its faults that are left in, determine the run.
Source: the shape is that of org.apache.kafka.raft.RaftEventSimulationTest, whose invariants oracle.py has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from minikafka.broker.raft.effects import InvariantViolation
from minikafka.proof.small_worlds.raft.node import QuorumSettings, RaftNode
from minikafka.proof.small_worlds.raft.oracle import RaftViolation
from minikafka.proof.small_worlds.raft.world import RaftWorld

HEAL_WITHIN = 20.0  # seconds that a healed quorum has to agree
FAULTS = ("crash", "fuse", "pause", "cut", "isolate", "slow_disk", "snapshot", "wipe", "stop", "stand", "storm",
          "chase", "fail_load")


class QuorumFault(NamedTuple):
    """One fault: at `at`, for `lasts` seconds, of `target`: a node's number, or 0 for the present leader."""

    at: float
    kind: str
    target: int
    lasts: float
    detail: tuple[Any, ...] = ()

    def __str__(self) -> str:
        who = f"node {self.target}" if self.target else "the leader"
        detail = f" {self.detail}" if self.detail else ""
        return f"{self.at:8.3f}  {self.kind} {who} for {self.lasts:.3f} s{detail}"


@dataclass
class RaftResult:
    """The outcome of one seed."""

    seed: int
    violation: tuple[str, str] | None  # (invariant id, text)
    coverage: Counter[str]
    plan: list[QuorumFault]
    time: float  # of the end, or of the violation


def draw_settings(rng: Random) -> QuorumSettings:
    slow = rng.random() < 0.3
    return QuorumSettings(
        voters=rng.choices((1, 3, 5), (1, 11, 8))[0],
        observers=rng.choices((0, 1, 2), (3, 5, 1))[0],
        latency=(0.01, 0.2) if slow else (0.0005, 0.008),
        disk=rng.choice(((0.0, 0.0), (0.0001, 0.004), (0.001, 0.05))),
        reorder=rng.choice((0.0, 0.0, 0.05, 0.3)),
        loss=rng.choice((0.0, 0.0, 0.01, 0.05)),
        max_entries=rng.choice((1, 1, 2, 5, 20)),
        append_every=rng.choice((0.1, 0.2, 0.5)),
        drift=rng.choice((0.0, 0.1)),
        pace=1.0 if slow else rng.choice((1.0, 0.25, 0.25)),
        seconds=rng.uniform(3.0, 5.0),
    )


def draw_plan(rng: Random, settings: QuorumSettings) -> list[QuorumFault]:
    """Draw a random subset of the kinds of faults, at a random rate."""
    kinds = [kind for kind in FAULTS if rng.random() < 0.5 and (kind != "wipe" or settings.observers)]
    plan, now, every = [], rng.uniform(0.0, 1.0), rng.choice((0.1, 0.3, 0.8, 2.0))
    while kinds and now < settings.seconds:
        plan.append(_draw_fault(rng, settings, now, rng.choice(kinds)))
        now += rng.expovariate(1 / every)
    return plan


def _draw_fault(rng: Random, settings: QuorumSettings, at: float, kind: str) -> QuorumFault:
    target = rng.randint(1, settings.voters + settings.observers)
    if rng.random() < 0.4:
        target = 0
    lasts = rng.choice((0.02, 0.3, 1.5, 3.0)) * (0.5 + rng.random())
    detail: tuple[Any, ...] = ()
    if kind in ("crash", "fail_load"):
        detail = (rng.random() < 0.6,)
    elif kind == "fuse":
        detail = (rng.randint(0, 6), rng.random() < 0.7)
    elif kind == "cut":
        detail = (rng.randint(1, settings.voters), rng.random() < 0.4)
    elif kind == "slow_disk":
        detail = (rng.choice((0.05, 0.5, 2.0)),)
    elif kind == "snapshot":
        detail = (rng.choice((1, 1, 2)),)
    elif kind == "wipe":
        target = settings.voters + rng.randint(1, settings.observers)
    elif kind == "storm":
        detail = (rng.randint(2, 8),)
    elif kind == "chase":
        detail = (rng.choice((0.001, 0.01, 0.05)), rng.random() < 0.6)
    return QuorumFault(at, kind, target, lasts, detail)


class RaftRun:
    """One run of a seed: the world, and the plan that is carried out on it.

    `faults`: only faults of these kinds; `keep`: only these of the plan, by their place in it.
    """

    def __init__(self, seed: int, faults: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> None:
        rng = Random(f"raft {seed}")
        self.seed = seed
        self.settings = draw_settings(rng)
        drawn = draw_plan(rng, self.settings)
        self.plan = [fault for place, fault in enumerate(drawn)
                     if (faults is None or fault.kind in faults) and (keep is None or place in keep)]  # fmt: skip
        self.world = RaftWorld(seed, self.settings)
        self.rng = Random(f"raft {seed}:run")
        self.healed = False
        self.stopping: dict[int, None] = {}  # nodes in a controlled shutdown
        stays_dead = rng.random() < 0.3
        self.dead = rng.sample(self.world.voters, (self.settings.voters - 1) // 2) if stays_dead else []

    def execute(self) -> RaftResult:
        """Run faults, healing and verdict."""
        world, violation = self.world, None
        try:
            for id in world.nodes:
                world.at(self.rng.uniform(0.0, 0.2), world.start, id)
            for fault in self.plan:
                world.at(fault.at, self._strike, fault)
            self._append_now_and_then()
            world.run(self.settings.seconds)
            self._heal()
            self._disturb()
        except RaftViolation as found:
            violation = (found.id, found.text)
        except InvariantViolation as found:
            violation = ("I8", f"the core stops: {found}")
        except (AssertionError, ValueError, IndexError, KeyError) as found:
            asserted = str(found).split(" ", 1)[0]
            violation = (asserted if asserted.startswith("I-") else "I14", f"{type(found).__name__}: {found}")
        world.coverage["faults"] = len(self.plan)
        world.coverage["committed"] = len(world.oracle.committed)
        world.coverage["events"] = world.events
        return RaftResult(self.seed, violation, world.coverage, self.plan, world.now)

    def _append_now_and_then(self) -> None:
        if self.healed:
            return
        for node in self.world.leaders():
            self.world.append(node)
        self.world.at(self.settings.append_every * (0.5 + self.rng.random()), self._append_now_and_then)

    # --- faults ----------------------------------------------------------------------------------------------------

    def _strike(self, fault: QuorumFault) -> None:
        target = fault.target or self._leader()
        if self.world.listener is not None:
            self.world.listener(self.world.now, target, f"fault: {fault}")
        getattr(self, f"_{fault.kind}")(target, fault)

    def _leader(self) -> int:
        """Return the leader of the newest epoch; some living node if there is none."""
        leaders = {node.core.state.epoch: node.id for node in self.world.leaders() if node.core is not None}
        return leaders[max(leaders)] if leaders else self.rng.choice(self.world.voters)

    def _crash(self, target: int, fault: QuorumFault) -> None:
        if self.world.nodes[target].core is not None:
            self.world.crash(target, *fault.detail)
            self.world.at(fault.lasts, self.world.start, target)

    def _fuse(self, target: int, fault: QuorumFault) -> None:
        """Let the node crash between two effects, a few effects from now."""
        node = self.world.nodes[target]
        if node.core is not None:
            node.fuse = (fault.detail[0], fault.detail[1], fault.lasts)

    def _pause(self, target: int, fault: QuorumFault) -> None:
        self.world.pause(target)
        self.world.coverage["pauses"] += 1
        self.world.at(fault.lasts, self.world.resume, target)

    def _cut(self, target: int, fault: QuorumFault) -> None:
        other, one_way = fault.detail
        self._cut_links([(target, other)] if one_way else [(target, other), (other, target)], fault.lasts)

    def _isolate(self, target: int, fault: QuorumFault) -> None:
        others = [id for id in self.world.nodes if id != target]
        self._cut_links([link for id in others for link in ((target, id), (id, target))], fault.lasts)

    def _cut_links(self, links: list[tuple[int, int]], lasts: float) -> None:
        self.world.coverage["cuts"] += 1
        for src, dst in links:
            if src != dst:
                self.world.net.cut(src, dst)
                self.world.at(lasts, self.world.net.join, src, dst)

    def _slow_disk(self, target: int, fault: QuorumFault) -> None:
        self.world.nodes[target].disk_delay = fault.detail[0]
        self.world.at(fault.lasts, self._fast_disk, self.world.nodes[target])

    def _fast_disk(self, node: RaftNode) -> None:
        node.disk_delay = 0.0

    def _snapshot(self, target: int, fault: QuorumFault) -> None:
        self.world.snapshot(target, *fault.detail)

    def _wipe(self, target: int, fault: QuorumFault) -> None:
        self.world.wipe(target)
        self.world.at(fault.lasts, self.world.start, target)

    def _stop(self, target: int, fault: QuorumFault) -> None:
        """Shut a node down in a controlled way: it hands over, then ends, even if no voter took over within a second."""
        node = self.world.nodes[target]
        if node.core is not None:
            self.world.post(node, node.core.resign)
            self.stopping[target] = None
            self.world.at(min(fault.lasts, 1.0), self._stopped, node, node.life, fault.lasts)

    def _stopped(self, node: RaftNode, life: int, downtime: float) -> None:
        if node.life == life and not self.healed:
            self.world.crash(node.id, power=False)
            self.stopping.pop(node.id, None)
            self.world.at(downtime, self.world.start, node.id)

    def _stand(self, target: int, fault: QuorumFault) -> None:
        """Let a voter's election timeout expire, though its leader may be well."""
        if not self.healed:
            self._time_out(self.world.nodes[target])

    def _time_out(self, node: RaftNode) -> None:
        if node.core is not None and node.core.state.is_voter:
            node.core.state.role.deadline = min(node.core.state.role.deadline, self.world.clock(node))
            self.world.post(node, node.core.on_tick)

    def _storm(self, target: int, fault: QuorumFault) -> None:
        """Let several voters in turn believe that there is no leader."""
        for turn in range(fault.detail[0]):
            self.world.at(turn * fault.lasts / 8, self._stand, self.rng.choice(self.world.voters), fault)

    def _chase(self, target: int, fault: QuorumFault) -> None:
        """Let, for a while, each elected leader crash soon after: logs diverge in this way, and old tails remain."""
        until = self.world.now + fault.lasts

        def chase(node: RaftNode) -> None:
            if self.world.now < until and not self.healed:
                delay, power = fault.detail
                self.world.at(self.rng.uniform(0, 2 * delay), self._crash, node.id, QuorumFault(0, "crash", 0, 0.2, (power,)))

        self.world.on_leader = chase

    def _fail_load(self, target: int, fault: QuorumFault) -> None:
        """Let, for a while, each node that loads a snapshot crash before its log is begun anew; and make a snapshot to load."""
        until = self.world.now + fault.lasts

        def crashes(node: RaftNode) -> bool:
            if self.world.now >= until or self.healed:
                return False
            self.world.crash(node.id, *fault.detail)
            self.world.at(0.2, self.world.start, node.id)
            return True

        self.world.fails_to_load = crashes
        for voter in self.world.voters:
            self.world.snapshot(voter, 1)

    # --- healing ---------------------------------------------------------------------------------------------------

    def _heal(self) -> None:
        """End all faults; agreement must follow."""
        world, self.healed = self.world, True
        world.settings.loss = world.settings.reorder = 0.0
        world.settings.max_entries = 100
        world.net.join_all()
        for id, node in world.nodes.items():
            node.disk_delay, node.fuse = 0.0, None
            world.resume(id)
            if id in self.stopping:
                world.crash(id, power=False)
            if id not in self.dead:
                world.start(id)
        for id in self.dead:
            world.crash(id, power=True)
            world.retired[id] = None
        if not world.run(world.now + HEAL_WITHIN, self._agreed):
            raise RaftViolation("I15", self._disagreement())
        if world.net.unanswered(world.now - 1.0):
            world.run(world.now + 4.0)  # nodes that still wait for a slow disk get the time
        late = world.net.unanswered(world.now - 5.0)
        if late:
            raise RaftViolation("I14", f"I-RAFT-9 node {late[0].dst} never answered {late[0].request}")

    def _disturb(self) -> None:
        """Let one voter that does not lead stand for election, cut off from some nodes: no epoch begins (rule 39)."""
        world, rng, pace = self.world, Random(f"raft {self.seed}:disturb"), self.settings.pace
        world.run(world.now + 2.0 * pace)  # all have fetched from the leader by then
        leaders = {node.id for node in world.leaders()}
        followers = [id for id in world.voters if id not in leaders and id not in self.dead]
        if len(leaders) != 1 or 2 * len(followers) <= len(world.voters):
            return  # without this voter there would be no majority
        victim, epoch = world.nodes[rng.choice(followers)], self._epoch()
        others = [id for id in world.voters if id != victim.id]
        for other in rng.sample(others, rng.randint(1, len(others))):
            world.net.cut(victim.id, other)
            world.net.cut(other, victim.id)
        for _ in range(4):
            self._time_out(victim)
            world.run(world.now + rng.choice((0.1, 1.0)) * pace)
        world.net.join_all()
        world.run(world.now + 3.0 * pace)
        world.coverage["disturbed"] += 1
        if self._epoch() != epoch:
            raise RaftViolation("I-RAFT-10", f"node {victim.id}, which was cut off, has ended epoch {epoch}")

    def _epoch(self) -> int:
        return max(node.core.state.epoch for node in self._alive() if node.core is not None)

    def _alive(self) -> list[RaftNode]:
        return [node for id, node in self.world.nodes.items() if id not in self.dead]

    def _agreed(self) -> bool:
        """Return whether there is one leader, and all nodes have all of its log and know it committed."""
        leaders = self.world.leaders()
        if len(leaders) != 1:
            return False
        end = leaders[0].disk.end_offset
        return all(node.disk.end_offset == node.high_watermark == end for node in self._alive())

    def _disagreement(self) -> str:
        said = [(f"{node.id}: {node.core.state.role_name} epoch {node.core.state.epoch}" if node.core else f"{node.id}: dead")
                + f" end {node.disk.end_offset} committed {node.high_watermark}" for node in self._alive()]  # fmt: skip
        return f"{HEAL_WITHIN:.0f} s after healing the quorum does not agree; " + "; ".join(said)


def run_raft_seed(seed: int, faults: Sequence[str] | None = None, keep: Sequence[int] | None = None) -> RaftResult:
    """Run one seed, with its own plan of faults or with a part of it."""
    return RaftRun(seed, faults, keep).execute()
