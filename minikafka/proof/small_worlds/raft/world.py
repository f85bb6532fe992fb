"""A world for the Raft cores alone: its nodes, links and disks replace the shell (broker/raft/shell/quorum.py) and the machine.

Only the state machines run here, so hundreds of schedules take as long as one of a whole cluster. As in the shell, a node takes
one event at a time and executes its effects from left to right. A Persist or a Flush takes a while; meanwhile events queue up,
and the node may crash.

Owns: the time and the processes. The links are in net.py, the disks in disk.py, the faults in campaign.py.
Invariants: everything that happens follows from the seed and the calls: no clock, no order of a set.
            A process that is dead or paused executes nothing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from minikafka.broker.raft.effects import (
    Append,
    AppendLeaderChange,
    AppendSnapshot,
    Effect,
    Flush,
    LoadSnapshot,
    Persist,
    Reply,
    RoleChanged,
    Send,
    TruncateToEndOffset,
    UpdateHighWatermark,
)
from minikafka.broker.raft.raft import Raft
from minikafka.proof.small_worlds.raft.disk import RaftDisk
from minikafka.proof.small_worlds.raft.net import RaftNet
from minikafka.proof.small_worlds.raft.node import QuorumSettings, RaftNode, times
from minikafka.proof.small_worlds.raft.oracle import RaftOracle


class RaftWorld:
    """A world of nodes; `run(until)` drives it, and its other methods are faults."""

    def __init__(self, seed: int | str, settings: QuorumSettings) -> None:
        self.settings, self.rng = settings, Random(f"{seed}:world")
        self.voters = tuple(range(1, settings.voters + 1))
        ids = range(1, settings.voters + settings.observers + 1)
        self.nodes = {id: RaftNode(id, 1 + self.rng.uniform(-1, 1) * settings.drift) for id in ids}
        self.seed, self.now, self.times = seed, 0.0, times(settings.pace)
        self.oracle = RaftOracle(self.nodes, self.voters, self.leaders)
        self.coverage: Counter[str] = Counter()
        self.listener: Callable[[float, int, str], None] | None = None
        self.retired: dict[int, None] = {}  # nodes that are never started again
        self.fails_to_load: Callable[[RaftNode], bool] = _no
        self.on_leader: Callable[[RaftNode], None] = _ignore
        self.on_effect: Callable[[RaftNode, Effect], None] = _ignore
        self.events = 0
        self.appended = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self.net = RaftNet(self)

    # --- time ------------------------------------------------------------------------------------------------------

    def at(self, delay: float, fn: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, fn, args))

    def run(self, until: float, done: Callable[[], bool] | None = None) -> bool:
        """Run the events up to a time, or until `done` is true after one; return whether it was."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, fn, args = heapq.heappop(heap)
            fn(*args)
            if done is not None and done():
                return True
        self.now = until
        return False

    def clock(self, node: RaftNode) -> float:
        return 1000.0 * node.id + self.now * node.rate

    def _arm(self, node: RaftNode) -> None:
        """Set the node's timer to the time that its state machine wants."""
        if node.core is None or (deadline := node.core.next_deadline()) is None:
            return
        due = max(self.now + 1e-6, (deadline - 1000.0 * node.id) / node.rate)
        if due < node.armed:
            node.armed = due
            self.at(due - self.now, self._fire, node, node.life)

    def _fire(self, node: RaftNode, life: int) -> None:
        if node.life != life or node.core is None:
            return
        node.armed = float("inf")
        deadline = node.core.next_deadline()
        if deadline is not None and deadline <= self.clock(node) + 1e-9:
            self.post(node, node.core.on_tick)
        else:
            self._arm(node)

    # --- processes -------------------------------------------------------------------------------------------------

    def start(self, id: int) -> None:
        node = self.nodes[id]
        if node.core is not None or id in self.retired:
            return
        node.disk.recover()
        self.oracle.recovered(node)
        rng = Random(f"{self.seed}:{id}:{node.life}")
        node.core = Raft(id, self.voters, node.disk, self.times, rng, node.disk.read_election_state())
        node.high_watermark = node.core.state.high_watermark
        self.post(node, node.core.start)

    def crash(self, id: int, power: bool) -> None:
        """End the process and break its connections; `power`: what was not flushed may be lost."""
        node = self.nodes[id]
        if node.core is None:
            return
        self._note(node, "power loss" if power else "kill")
        self.coverage.update(node.disk.crash(self.rng, power))
        node.core, node.busy, node.paused, node.fuse, node.stalled = None, False, False, None, None
        node.life += 1
        node.inbox.clear()
        node.loading = []
        node.armed = float("inf")
        self.net.died(id)

    def wipe(self, id: int) -> None:
        """Give an observer an empty disk."""
        assert id not in self.voters
        self.crash(id, power=True)
        self.nodes[id].disk = RaftDisk()
        self.oracle.election_states.pop(id, None)

    def pause(self, id: int) -> None:
        self.nodes[id].paused = self.nodes[id].core is not None

    def resume(self, id: int) -> None:
        node = self.nodes[id]
        node.paused = False
        stalled, node.stalled = node.stalled, None
        if stalled is not None:
            self._on_disk(node, node.life, *stalled)
        self._take(node)

    def append(self, node: RaftNode) -> None:
        """Hand records to the controller on this node, if it is the active one."""
        if node.core is not None and node.core.state.epoch_start_offset is not None:
            self.post(node, self._write_appends, node, self.rng.randint(1, 3))

    def hand_records(self, id: int, count: int = 1) -> None:
        """Hand records to the controller on `id`."""
        self.post(self.nodes[id], self._write_appends, self.nodes[id], count)

    def expire(self, id: int) -> None:
        """Let a node's timer run out now: a voter requests pre-votes, and then votes."""
        node = self.nodes[id]
        if node.core is not None:
            node.core.state.role.deadline = self.clock(node)
            self.post(node, node.core.on_tick)

    def _write_appends(self, node: RaftNode, count: int, now: float) -> list[Effect]:
        """Write them as Quorum._write_appends does: only a leader that has committed its epoch's first record."""
        assert node.core is not None
        start = node.core.state.epoch_start_offset
        if start is None or node.high_watermark <= start:
            return []
        offset = node.disk.end_offset
        node.disk.append([(node.core.state.epoch, self.appended + i) for i in range(count)])
        self.appended += count
        self.oracle.appended(node, offset)
        return node.core.on_appended(now)

    def snapshot(self, id: int, keep: int) -> None:
        node = self.nodes[id]
        if node.core is not None:
            self.post(node, self._make_snapshot, node, keep)

    def _make_snapshot(self, node: RaftNode, keep: int, now: float) -> list[Effect]:
        """Make a snapshot as Snapshotter does: between two events."""
        if node.disk.make_snapshot(node.high_watermark, keep):
            latest = node.disk.latest_snapshot
            assert latest is not None
            self.oracle.snapshot(node, latest)
            self._note(node, "snapshot")
        return []

    # --- events and effects ----------------------------------------------------------------------------------------

    def post(self, node: RaftNode, event: Callable[..., list[Effect]], *args: Any) -> None:
        node.inbox.append((event, args))
        if not node.busy and not node.paused:
            self._take(node)

    def _take(self, node: RaftNode) -> None:
        """Take one event after another, as long as the node need not wait."""
        while node.inbox and not node.wait() and node.core is not None:
            event, args = node.inbox.popleft()
            self.events += 1
            self._execute(node, event(*args, self.clock(node)), 0)
            self._check(node)
        if node.core is not None and not node.wait():
            self._arm(node)

    def _check(self, node: RaftNode) -> None:
        """Check the core between two events, as the shell does, once no effect waits for the disk."""
        if node.core is not None and not node.busy and node.stalled is None:
            node.core.check()

    def _execute(self, node: RaftNode, effects: list[Effect], start: int) -> None:
        """Execute effects from left to right (I-RAFT-1), until one waits for the disk, or the node crashes."""
        for index in range(start, len(effects)):
            effect = effects[index]
            if node.fuse is not None and self._burns(node):
                return
            self.on_effect(node, effect)
            kind = type(effect)
            if kind is Persist or kind is Flush:
                if kind is Persist:
                    node.disk.write_election_state(effect.election_state, self.voters)  # type: ignore[union-attr]
                delay = node.disk_delay + self.rng.uniform(*self.settings.disk)
                if delay or node.fuse is not None:
                    node.busy = True
                    self.at(delay, self._on_disk, node, node.life, effects, index)
                    return
                effects = self._written(node, effects, index)
                if kind is Flush:
                    return self._execute(node, effects, 0)
                continue
            life = node.life
            self._do[kind](self, node, effect)
            if node.life != life:  # it crashed in the middle of this one
                return

    def _on_disk(self, node: RaftNode, life: int, effects: list[Effect], index: int) -> None:
        """Go on with the effects after a Persist or Flush that is done."""
        if node.life != life:
            return
        if node.paused:
            node.stalled = (effects, index)
            return
        if node.fuse is not None and self._burns(node):
            return
        node.busy = False
        is_flush = isinstance(effects[index], Flush)
        self._execute(node, self._written(node, effects, index), 0 if is_flush else index + 1)
        self._check(node)
        self._take(node)

    def _written(self, node: RaftNode, effects: list[Effect], index: int) -> list[Effect]:
        """Return the effects to go on with: after the last Flush of the list, those that its completion causes."""
        assert node.core is not None
        if isinstance(effects[index], Flush):
            return node.core.on_flushed(node.disk.flush(), self.clock(node))
        node.disk.election_state_written()
        self.oracle.persisted(node)
        return effects

    def _burns(self, node: RaftNode) -> bool:
        """Count down the fuse of a node with each effect, also while the disk writes; at its end the node crashes."""
        assert node.fuse is not None
        left, power, downtime = node.fuse
        node.fuse = (left - 1, power, downtime)
        if left > 0:
            return False
        self.crash(node.id, power)
        self.at(downtime, self.start, node.id)
        return True

    def _append_leader_change(self, node: RaftNode, effect: AppendLeaderChange) -> None:
        node.disk.append([(effect.epoch, -1)])
        self.oracle.appended(node, node.disk.end_offset - 1)

    def _append(self, node: RaftNode, effect: Append) -> None:
        offset = node.disk.end_offset
        node.disk.append(effect.records)  # type: ignore[arg-type]
        self.oracle.appended(node, offset)

    def _truncate(self, node: RaftNode, effect: TruncateToEndOffset) -> None:
        if effect.offset < node.disk.end_offset:
            self.coverage["truncations"] += 1
        self.oracle.truncates(node, effect.offset)
        node.disk.truncate(effect.offset)

    def _append_snapshot(self, node: RaftNode, effect: AppendSnapshot) -> None:
        assert effect.position in (0, len(node.loading)), "a piece is missing"
        node.loading[effect.position :] = effect.data  # type: ignore[assignment]

    def _load_snapshot(self, node: RaftNode, effect: LoadSnapshot) -> None:
        node.disk.add_snapshot(effect.snapshot, tuple(node.loading))
        self.oracle.snapshot(node, effect.snapshot)
        if self.fails_to_load(node):  # the snapshot has its name, the log is still the old one
            self.coverage["crash while loading a snapshot"] += 1
            return
        node.disk.begin_at(effect.snapshot)
        node.high_watermark, node.loading = effect.snapshot.end_offset, []
        self._note(node, "snapshot loaded")

    def _commit(self, node: RaftNode, effect: UpdateHighWatermark) -> None:
        self.oracle.commits(node, node.high_watermark, effect.offset)
        node.high_watermark = effect.offset

    def _role(self, node: RaftNode, effect: RoleChanged) -> None:
        self._note(node, f"{effect.role} in epoch {effect.epoch}", effect.role)
        if effect.role == "leader":
            self.oracle.leads(node, effect.epoch)
            self.on_leader(node)

    def _note(self, node: RaftNode, text: str, counted: str | None = None) -> None:
        self.coverage[counted or text] += 1
        if self.listener is not None:
            self.listener(self.now, node.id, text)

    # --- questions -------------------------------------------------------------------------------------------------

    def leaders(self) -> list[RaftNode]:
        return [n for n in self.nodes.values() if n.core is not None and n.core.state.epoch_start_offset is not None]

    _do: dict[type, Callable[[RaftWorld, RaftNode, Any], None]] = {
        Append: _append, AppendLeaderChange: _append_leader_change, TruncateToEndOffset: _truncate, UpdateHighWatermark: _commit,
        AppendSnapshot: _append_snapshot, LoadSnapshot: _load_snapshot, RoleChanged: _role,
        Send: lambda world, node, effect: world.net.send(node, effect),
        Reply: lambda world, node, effect: world.net.reply(node, effect),
    }  # fmt: skip


def _ignore(*_: object) -> None:
    """Do nothing, until a fault chases leaders, or a transcript is written."""


def _no(node: RaftNode) -> bool:
    """Return False, until a fault crashes nodes that load a snapshot."""
    return False
