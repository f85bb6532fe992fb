"""A world for the Raft cores alone: nodes, links and disks as the shell (broker/quorum.py) and the machine would be.

Nothing but the core runs here, so hundreds of schedules fit in the time of one whole cluster's. As in the shell, a node
takes one event at a time and executes its effects left to right; a Persist or a Flush takes a while, during which
events queue up, and in which a crash may come. Requests travel on connections: a process that dies breaks them, a cut
holds them up or breaks them, and an answer that comes after its time is up meets nobody.

Owns: the time, the processes, the messages under way. The disks are raft_disk.py's, the faults raft_campaign.py's.
Invariants: I-RWORLD-1 everything that happens follows from the seed and the calls: no clock, no order of a set.
            I-RWORLD-2 a process that is dead or paused executes nothing.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from minikafka.core.raft import Raft
from minikafka.core.raft_messages import (
    Append,
    AppendLeaderChange,
    AppendSnapshot,
    Effect,
    Fetch,
    FetchAnswer,
    Flush,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    Response,
    RoleChanged,
    Send,
    SnapshotAnswer,
    Truncate,
)
from minikafka.sim.raft_disk import RaftDisk
from minikafka.sim.raft_node import Asked, RaftNode, Settings, times
from minikafka.sim.raft_oracle import RaftOracle

REQUEST_TIMEOUT, FETCH_GRACE, SWEEP_EVERY = 2.0, 0.5, 0.25


class RaftWorld:
    """Run it with `run(until)`; faults are methods."""

    def __init__(self, seed: int | str, settings: Settings) -> None:
        self.settings, self.rng = settings, Random(f"{seed}:world")
        self.voters = tuple(range(1, settings.voters + 1))
        ids = range(1, settings.voters + settings.observers + 1)
        self.nodes = {id: RaftNode(id, 1 + self.rng.uniform(-1, 1) * settings.drift) for id in ids}
        self.seed, self.now, self.times = seed, 0.0, times(settings.pace)
        self.oracle = RaftOracle(self)
        self.coverage: Counter[str] = Counter()
        self.listener: Callable[[float, int, str], None] | None = None
        self.retired: dict[int, None] = {}  # nodes that nobody starts any more
        self.fails_to_load: Callable[[RaftNode], bool] = _no
        self.on_leader: Callable[[RaftNode], None] = _ignore
        self.events = 0
        self.appended = 0
        self._heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._arrives: dict[tuple[int, int], float] = {}
        self._cuts: Counter[tuple[int, int]] = Counter()
        self._held: dict[tuple[int, int], list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}
        self._asked: dict[tuple[int, int, int], Asked] = {}  # (node, life, id): requests that wait for an answer
        self._tokens: dict[Asked, None] = {}  # requests that were taken by a process and not answered by it
        self.at(SWEEP_EVERY, self._sweep)

    # --- time ------------------------------------------------------------------------------------------------------

    def at(self, delay: float, fn: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._heap, (self.now + delay, self._count, fn, args))

    def run(self, until: float, done: Callable[[], bool] | None = None) -> bool:
        """Let things happen until then, or until `done` says so after some event; whether it did."""
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
        """See to it that the node's timer fires when its core wants."""
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
        node.core = Raft(id, self.voters, node.disk, self.times, rng, node.disk.read_ballot())
        node.high_watermark = node.core.high_watermark
        self.post(node, node.core.start)

    def crash(self, id: int, power: bool) -> None:
        """The process is gone, and its connections break; `power`: what was not flushed may be lost."""
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
        self._tokens = {asked: None for asked in self._tokens if asked.dst != id}
        for key, asked in list(self._asked.items()):
            if asked.src == id:
                del self._asked[key]
            elif asked.dst == id:
                self.at(self._latency(), self._fail, key)

    def wipe(self, id: int) -> None:
        """A node without a vote gets an empty disk."""
        assert id not in self.voters
        self.crash(id, power=True)
        self.nodes[id].disk = RaftDisk()
        self.oracle.ballots.pop(id, None)

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
        """The controller on this node has records, if it is one."""
        if node.core is not None and node.core.epoch_start_offset is not None:
            self.post(node, self._write_appends, node, self.rng.randint(1, 3))

    def _write_appends(self, node: RaftNode, count: int, now: float) -> list[Effect]:
        """As Quorum._write_appends: only a leader that has committed its epoch's first record."""
        assert node.core is not None
        start = node.core.epoch_start_offset
        if start is None or node.high_watermark <= start:
            return []
        offset = node.disk.end_offset
        node.disk.append([(node.core.epoch, self.appended + i) for i in range(count)])
        self.appended += count
        self.oracle.appended(node, offset)
        return node.core.on_appended(now)

    def snapshot(self, id: int, keep: int) -> None:
        node = self.nodes[id]
        if node.core is not None:
            self.post(node, self._make_snapshot, node, keep)

    def _make_snapshot(self, node: RaftNode, keep: int, now: float) -> list[Effect]:
        """As Snapshotter does it: an event between two others."""
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
        """One event after the other, as long as the node need not wait."""
        while node.inbox and not node.wait() and node.core is not None:
            event, args = node.inbox.popleft()
            self.events += 1
            self._execute(node, event(*args, self.clock(node)), 0)
        if node.core is not None and not node.wait():
            self._arm(node)

    def _execute(self, node: RaftNode, effects: list[Effect], start: int) -> None:
        """Left to right (I-RAFT-1), until one has to wait for the disk, or the node crashes."""
        for index in range(start, len(effects)):
            effect = effects[index]
            if node.fuse is not None and self._burns(node):
                return
            kind = type(effect)
            if kind is Persist or kind is Flush:
                if kind is Persist:
                    node.disk.write_ballot(effect.ballot, self.voters)  # type: ignore[union-attr]
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
        """The Persist or Flush is done; go on with the effects after it."""
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
        self._take(node)

    def _written(self, node: RaftNode, effects: list[Effect], index: int) -> list[Effect]:
        """What to go on with: after a Flush, the last of its list, what the core makes of it."""
        assert node.core is not None
        if isinstance(effects[index], Flush):
            return node.core.on_flushed(node.disk.flush(), self.clock(node))
        node.disk.ballot_written()
        self.oracle.persisted(node)
        return effects

    def _burns(self, node: RaftNode) -> bool:
        """A fuse burns with each effect, and also while the disk writes; at its end the node crashes."""
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

    def _truncate(self, node: RaftNode, effect: Truncate) -> None:
        if effect.offset < node.disk.end_offset:
            self.coverage["truncations"] += 1
        self.oracle.truncates(node, effect.offset)
        node.disk.truncate(effect.offset)

    def _append_snapshot(self, node: RaftNode, effect: AppendSnapshot) -> None:
        assert effect.position in (0, len(node.loading)), "a piece is missing"
        node.loading[effect.position :] = effect.data  # type: ignore[assignment]

    def _load_snapshot(self, node: RaftNode, effect: LoadSnapshot) -> None:
        self.oracle.loads(node)
        node.disk.add_snapshot(effect.snapshot, tuple(node.loading))
        self.oracle.snapshot(node, effect.snapshot)
        if self.fails_to_load(node):  # the snapshot has its name, the log is the old one
            self.coverage["crash while loading a snapshot"] += 1
            return
        node.disk.begin_at(effect.snapshot)
        node.high_watermark, node.loading = effect.snapshot.end_offset, []
        self._note(node, "snapshot loaded")

    def _commit(self, node: RaftNode, effect: HighWatermark) -> None:
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

    # --- network ---------------------------------------------------------------------------------------------------

    def _send(self, node: RaftNode, effect: Send) -> None:
        self.oracle.speaks(node)
        request, to = effect.request, self.nodes[effect.to]
        timeout = REQUEST_TIMEOUT * self.settings.pace
        if isinstance(request, Fetch):
            self.oracle.fetches(node, request)
            timeout = max(timeout, request.max_wait + FETCH_GRACE * self.settings.pace)
        asked = Asked(node.id, to.id, effect.id, request, (node.life, to.life), self.now + timeout)
        self._asked[node.id, node.life, effect.id] = asked
        if to.core is None:
            self.at(self._latency(), self._fail, (node.id, node.life, effect.id))
        else:
            self._transmit(node.id, to.id, self._deliver, asked)

    def _reply(self, node: RaftNode, effect: Reply) -> None:
        self.oracle.speaks(node)
        asked, answer = effect.token, effect.response
        assert isinstance(asked, Asked)
        self._tokens.pop(asked, None)
        log, most = node.disk, self.settings.max_entries
        if isinstance(answer, FetchAnswer) and answer.records_from is not None:
            assert answer.records_from >= log.start_offset, "what was deleted cannot be read"
            sent: Any = tuple(log.entries[answer.records_from : answer.records_from + most])
            answer = replace(answer, records=sent, records_from=None)
        elif isinstance(answer, SnapshotAnswer) and not answer.error:
            piece: Any = log.snapshots[answer.snapshot][answer.position : answer.position + most]
            answer = replace(answer, data=piece)
        if answer.error:
            self.coverage[answer.error.name] += 1
        self._transmit(node.id, asked.src, self._answer, asked, answer)

    def _latency(self) -> float:
        low, high = self.settings.latency
        return low + (high - low) * self.rng.random()

    def _transmit(self, src: int, dst: int, fn: Callable[..., None], *args: Any) -> None:
        """In order, as on one connection, but for those that travel on another; lost ones break theirs."""
        if self._cuts[src, dst] > 0:
            self._held.setdefault((src, dst), []).append((fn, args))
            return
        arrives = self.now + self._latency()
        if self.settings.loss and self.rng.random() < self.settings.loss:
            asked = args[0]
            self.coverage["lost"] += 1
            self.at(arrives - self.now, self._fail, (asked.src, asked.lives[0], asked.id))
            return
        if self.settings.reorder and self.rng.random() < self.settings.reorder:
            arrives += 10 * self._latency()
        else:
            arrives = self._arrives[src, dst] = max(arrives, self._arrives.get((src, dst), 0.0) + 1e-9)
        self.at(arrives - self.now, fn, *args)

    def _deliver(self, asked: Asked) -> None:
        node = self.nodes[asked.dst]
        if node.core is not None and node.life == asked.lives[1]:
            self._tokens[asked] = None
            self.post(node, node.core.on_request, asked, asked.request)

    def _answer(self, asked: Asked, answer: Response) -> None:
        node = self.nodes[asked.src]
        if self._asked.pop((asked.src, asked.lives[0], asked.id), None) is not None and node.core is not None:
            self.post(node, node.core.on_response, asked.id, answer)

    def _fail(self, key: tuple[int, int, int]) -> None:
        asked = self._asked.pop(key, None)
        if asked is not None:
            node = self.nodes[asked.src]
            if node.core is not None and node.life == asked.lives[0]:
                self.post(node, node.core.on_failure, asked.id)

    def _sweep(self) -> None:
        """The time of some requests is up."""
        for key in [key for key, asked in self._asked.items() if asked.expires <= self.now]:
            self.coverage["timed out"] += 1
            self._fail(key)
        self.at(SWEEP_EVERY, self._sweep)

    def cut(self, src: int, dst: int) -> None:
        """One way: what is sent arrives when the link is there again, if somebody is still there to take it."""
        self._cuts[src, dst] += 1

    def join(self, src: int, dst: int) -> None:
        self._cuts[src, dst] -= 1
        if self._cuts[src, dst] <= 0:
            for fn, args in self._held.pop((src, dst), []):
                self._transmit(src, dst, fn, *args)

    # --- questions -------------------------------------------------------------------------------------------------

    def leaders(self) -> list[RaftNode]:
        return [n for n in self.nodes.values() if n.core is not None and n.core.epoch_start_offset is not None]

    def unanswered(self, since: float) -> list[Asked]:
        """Requests that a process took before `since`, and that it has not answered (I-RAFT-9)."""
        return [asked for asked in self._tokens if asked.expires < since]

    _do: dict[type, Callable[[RaftWorld, RaftNode, Any], None]] = {
        Append: _append, AppendLeaderChange: _append_leader_change, Truncate: _truncate, Send: _send, Reply: _reply,
        AppendSnapshot: _append_snapshot, LoadSnapshot: _load_snapshot, HighWatermark: _commit, RoleChanged: _role,
    }  # fmt: skip


def _ignore(node: RaftNode) -> None:
    """Until a fault chases leaders."""


def _no(node: RaftNode) -> bool:
    """Until a fault crashes those that load a snapshot."""
    return False
