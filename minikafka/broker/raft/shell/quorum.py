"""The quorum's shell: it runs the Raft core, and offers the rest of the broker an append and the committed records.

One task takes one event at a time (a request, a response, a timer, records to append), gives it to the core, and executes
the effects left to right before it takes the next event. While it waits for the disk, events queue up, and records to append
with them: these are then written and flushed together (group commit).

Owns: the order of events and effects, the records to append, the requests that wait for the core's answer, and the delivery of
committed records to this broker. The files are metadata_log.py's, the connections network.py's.
Invariants: I-QRM-1 one event at a time: no event sees the log or the election state between two effects of another event.
            I-QRM-2 the listener gets every committed batch once, in order; `committed(offset)` is done after it.
            `handle_leadership(True, epoch)` is called when everything below the epoch's start was given to the listener
              and the epoch's first record is committed: no controller of an older epoch can commit anything any more.
            A commit of many records holds up neither votes nor fetches: they are applied in slices, between the events.
            `handle_load_snapshot` stands for all batches below its end: at the start, and where a leader has deleted
              records that we lack.
Source: org.apache.kafka.raft.KafkaRaftClientDriver, BatchAccumulator, KafkaMetadataLog.
"""

from __future__ import annotations

from asyncio import Future, Task
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from minikafka.broker.config.effective import BrokerConfig
from minikafka.broker.metadata.records import MetadataRecord
from minikafka.broker.raft import wire
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
    Times,
    TruncateToEndOffset,
    UpdateHighWatermark,
)
from minikafka.broker.raft.messages import NOBODY, FetchAnswer, Request, Response, SnapshotAnswer, SnapshotId
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.roles import Leader
from minikafka.broker.raft.shell.metadata_log import FOLDER, MetadataLog
from minikafka.broker.raft.shell.network import QuorumNetwork
from minikafka.broker.raft.shell.snapshotter import Snapshotter
from minikafka.broker.server.env import Timer
from minikafka.broker.server.node import Node
from minikafka.broker.server.registry import CloseConnection
from minikafka.broker.server.turns import pace
from minikafka.protocol.errors import Err, KafkaError

HAND_OVER_S = 1.0  # a stopping leader waits this long until the other voters have acknowledged its resignation


class MetadataListener(Protocol):
    """The part of the broker that takes the committed records (RaftClient.Listener). Offsets are those of the last record."""

    async def handle_commit(self, records: list[MetadataRecord], offset: int, epoch: int) -> None:
        """Apply one batch of committed records (I-QRM-2)."""

    async def handle_load_snapshot(self, records: list[MetadataRecord], offset: int, epoch: int) -> None:
        """Load a snapshot in place of all batches up to `offset`."""

    def handle_late_commit(self, offset: int) -> None:
        """Take note that the records up to `offset` are committed, and that `handle_commit` gets them only later."""

    def handle_leadership(self, is_leader: bool, epoch: int) -> None:
        """Begin or end to be the active controller."""


class Quorum:
    """This node's part in the metadata quorum: voter, or observer where its id is not among the voters."""

    def __init__(self, node: Node, listener: MetadataListener) -> None:
        self.node, self.env, self.node_id, self.listener = node, node.env, node.node_id, listener
        self.applied = 0  # everything below was given to the listener
        self._to_apply: deque[Callable[[], Awaitable[None]]] = deque()  # what is committed, in order; the first is under way
        self._applying: Task[None] | None = None  # what applies the rest, while events go on
        self._inbox: deque[tuple[Callable[..., list[Effect]], tuple[object, ...]]] = deque()
        self._wakeup: Future[None] | None = None
        self._timer: Timer | None = None
        self._lingering: Timer | None = None
        self._to_append: list[bytes] = []
        self.next_offset = 0  # of the next record that `append` gets, while we lead
        self._active_epoch: int | None = None
        self._vote: tuple[int, int] | None = None  # (epoch, candidate), as the trace was told last
        self._waiting: deque[tuple[int, Future[None]]] = deque()
        self._watchers: list[Future[None]] = []
        self.leader_listeners: list[Callable[[int], None]] = []  # told the leader's id whenever it may have changed
        self.running = False  # takes events and requests

    # --- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Recover the log, take the role that follows from the disk, begin to take events. Does not wait for a leader."""
        config = self.node.config
        voters = tuple(sorted(self.node.peers.voters))
        self.log = MetadataLog(self.env, config.metadata_dir, self.node_id in voters, config["metadata.log.segment.bytes"],
                               config["metadata.log.segment.ms"])
        election_state = self.log.read_election_state()
        self.raft = Raft(self.node_id, voters, self.log, _times(config), self.env.rng("raft"), election_state)
        self.network = QuorumNetwork(self.node, self.raft, self.log.snapshots, self.post)
        self.snapshotter = Snapshotter(self.node, self.log, self.post)
        self.running = True
        self.post(self._load_latest)
        self.post(self.raft.start)
        self._task = self.env.spawn(self._run(), "quorum")

    async def stop(self) -> None:
        """Hand over the leadership, if it is ours and another voter is there to take it, and close the log."""
        if not self.running:
            return
        self.post(self.raft.resign)
        deadline = self.env.now() + HAND_OVER_S
        while not self.raft.state.has_handed_over and self.env.now() < deadline:
            await self._change_or(deadline)
        self.running = False
        self._wake()
        await self._task
        for timer in (self._timer, self._lingering):
            if timer is not None:
                timer.cancel()
        if self._applying is not None:
            self._applying.cancel()
        self.network.close()
        self.log.close()

    async def _change_or(self, deadline: float) -> None:
        change = self.changed()
        timer = self.env.later(deadline - self.env.now(), _resolve, change)
        await change
        timer.cancel()

    # --- requests of other nodes -----------------------------------------------------------------------------------

    async def ask(self, request: Request) -> tuple[Response, bytes]:
        """Return the core's answer to a request of another node, and the bytes that go with it: records, or a piece of a
        snapshot. Raises CloseConnection while we do not run."""
        if not self.running:
            raise CloseConnection("the quorum is not running")
        pending_request: Future[tuple[Response, bytes]] = self.env.future()
        self.post(self.raft.on_request, pending_request, request)
        return await pending_request

    def _reply(self, reply: Reply) -> None:
        """Complete the pending request, with the bytes that the answer names: the effect Reply."""
        data, answer = b"", reply.response
        if isinstance(answer, FetchAnswer) and answer.records_from is not None:
            data = self.log.read(answer.records_from)
        elif isinstance(answer, SnapshotAnswer) and not answer.error:
            data = self.log.snapshots.read_piece(answer.snapshot, answer.position, wire.MAX_BYTES)
        pending_request: Any = reply.pending_request  # the core knows it as an object only
        if not pending_request.done():
            pending_request.set_result((answer, data))

    # --- what the rest of the broker asks --------------------------------------------------------------------------

    @property
    def leader_id(self) -> int:
        """Return the node that leads the quorum, and so is the active controller, as far as we know; -1 if none."""
        return self.raft.state.leader_id if self.running else -1

    @property
    def epoch(self) -> int:
        return self.raft.state.epoch

    @property
    def is_leader(self) -> bool:
        """Return whether this node is the active controller: it leads, and has replayed everything before its epoch."""
        return self._active_epoch is not None and self._active_epoch == self._led_epoch()

    def append(self, records: list[MetadataRecord]) -> int:
        """Append records as one batch; return the offset of the last one. Raises NOT_CONTROLLER.

        They are committed once a majority has them on disk: await `committed` for that. Until then they may be lost.
        """
        if not self.is_leader:
            raise KafkaError(Err.NOT_CONTROLLER)
        self._to_append.append(self.log.to_batch(records))
        self.next_offset += len(records)
        if self._lingering is None:
            linger = self.node.config["controller.quorum.append.linger.ms"] / 1000
            self._lingering = self.env.later(linger, self.post, self._write_appends)
        return self.next_offset - 1

    def committed(self, offset: int) -> Future[None]:
        """Return a future that is done when `offset` is committed and applied; NOT_CONTROLLER if we stop leading before.

        Call it right after `append`, with no await between: later the offset might be another leader's.
        """
        done: Future[None] = self.env.future()
        if not self.is_leader:
            done.set_exception(KafkaError(Err.NOT_CONTROLLER))
        elif offset < self.applied:
            done.set_result(None)
        else:
            self._waiting.append((offset, done))
        return done

    def changed(self) -> Future[None]:
        """Return a future that is done at the next change of role, leader, epoch or high watermark."""
        watcher = self.env.future()
        self._watchers.append(watcher)
        return watcher

    def describe(self) -> dict[str, object] | None:
        """Return leader, epoch, high watermark and the progress of each replica, by the names of DescribeQuorum's fields; None
        if we do not lead."""
        role = self.raft.state.role
        if not isinstance(role, Leader):
            return None
        return wire.describe(role, self.epoch, self.raft.state.high_watermark, self.env.now(), self.env.wall_ms())

    # --- events ----------------------------------------------------------------------------------------------------

    def post(self, event: Callable[..., list[Effect]], *args: object) -> None:
        """Queue an event of the core or of this shell: a function that returns effects when called with `args` and the time."""
        self._inbox.append((event, args))
        self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None:
            _resolve(self._wakeup)

    async def _run(self) -> None:
        while self.running:
            while self._inbox and self.running:
                event, args = self._inbox.popleft()
                await self.carry_out(event(*args, self.env.now()))
            self._set_timer()
            self._wakeup = self.env.future()
            if self.running and not self._inbox:
                await self._wakeup
            self._wakeup = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.raft.next_deadline()
        self._timer = None
        if deadline is not None and self.running:
            self._timer = self.env.later(deadline - self.env.now(), self.post, self.raft.on_tick)

    async def carry_out(self, effects: list[Effect]) -> None:
        """Execute effects left to right (I-RAFT-1)."""
        self._check_leadership()
        for effect in effects:
            waits_for_disk = self._CARRY_OUT[type(effect)](self, effect)
            if waits_for_disk is not None:
                await waits_for_disk
        self.raft.check()
        self._check_leadership()
        if self.raft.state.has_handed_over:
            self._tell_watchers()

    # --- effects: the log ---------------------------------------------------------------------------------------------

    def _write_appends(self, now: float) -> list[Effect]:
        """Write the records that gathered while we lingered, or waited for the disk; the core flushes them once."""
        self._lingering = None
        gathered, self._to_append = self._to_append, []
        if not self.is_leader:
            return []
        for data in gathered:
            self.log.append(data, self.epoch)
        assert self.log.end_offset == self.next_offset, "I-QRM-1: a record has another offset than append() returned"
        return self.raft.on_appended(now)

    def _commit(self, effect: UpdateHighWatermark) -> None:
        """Give the newly committed records to the broker, batch by batch (I-QRM-2): the effect UpdateHighWatermark."""
        self.env.trace("hw", tp=FOLDER, hw=effect.offset)
        self._apply(partial(self._apply_up_to, effect.offset))
        if self._to_apply:
            self.listener.handle_late_commit(effect.offset - 1)

    async def _apply_up_to(self, end: int) -> None:
        for decision in self.log.decisions(self.applied, end):
            if decision.records:
                await self.listener.handle_commit(decision.records, decision.last_offset, decision.epoch)
            assert decision.last_offset >= self.applied, f"I-QRM-2 the batch that ends at {decision.last_offset} comes twice"
            self.applied = decision.last_offset + 1
            self.snapshotter.note(decision)
            await pace()
        self.snapshotter.make_if_due(self.node.image)
        while self._waiting and self._waiting[0][0] < self.applied:
            _resolve(self._waiting.popleft()[1])
        self._tell_watchers()

    def _apply(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` now if it is short and nothing is being applied, else in slices, while events go on."""
        self._to_apply.append(work)
        if len(self._to_apply) == 1 and (rest := self.env.turns.begin(self._apply_all())) is not None:
            self._applying = self.env.spawn(self._apply_rest(rest), "apply metadata")

    async def _apply_all(self) -> None:
        while self._to_apply:
            await self._to_apply[0]()
            self._to_apply.popleft()

    async def _apply_rest(self, rest: Awaitable[None]) -> None:
        await rest
        self._applying = None
        self.post(lambda now: [])  # whether we lead may depend on what has been applied

    def _load_latest(self, now: float) -> list[Effect]:
        """Load the latest snapshot, which stands for the log below it: the first event of all."""
        latest = self.log.latest_snapshot
        if latest is not None:
            self._apply(partial(self._load, latest, self.log.snapshots.read(latest)[1]))
        return []

    async def _load_received(self, effect: LoadSnapshot) -> None:
        snapshot = effect.snapshot
        records = await self.env.blocking(self.log.snapshots.finish_pieces, snapshot)
        if self._applying is not None:
            await self._applying
        self.log.begin_at(snapshot)
        self._apply(partial(self._load, snapshot, records))

    async def _load(self, snapshot: SnapshotId, records: list[MetadataRecord]) -> None:
        await self.listener.handle_load_snapshot(records, snapshot.end_offset - 1, snapshot.epoch)
        self.applied = snapshot.end_offset
        self.snapshotter.restart()
        self._tell_watchers()

    async def _flush(self, effect: Flush) -> None:
        """Flush the log; this has effects of its own, and is the last of its list."""
        await self.carry_out(self.raft.on_flushed(await self.log.flush(), self.env.now()))

    # --- effects: leadership ---------------------------------------------------------------------------------------

    async def _persist(self, effect: Persist) -> None:
        state = effect.election_state
        await self.log.persist(state, self.raft.state.voters)
        if state.voted != NOBODY and (state.epoch, state.voted) != self._vote:
            self._vote = state.epoch, state.voted
            self.env.trace("vote", epoch=state.epoch, candidate=state.voted)

    def _role_changed(self, effect: RoleChanged) -> None:
        self.env.trace("raft", role=effect.role, epoch=effect.epoch, leader=effect.leader)
        for listener in self.leader_listeners:
            listener(effect.leader)
        self._tell_watchers()

    def _led_epoch(self) -> int | None:
        """Return the epoch that we lead, if everything below its first record is replayed; else None."""
        start = self.raft.state.epoch_start_offset
        return self.epoch if start is not None and self.applied > start else None

    def _check_leadership(self) -> None:
        led = self._led_epoch()
        if led == self._active_epoch:
            return
        before, self._active_epoch = self._active_epoch, None
        if before is not None:
            self._to_append.clear()
            waiting, self._waiting = self._waiting, deque()
            for _, done in waiting:
                if not done.done():
                    done.set_exception(KafkaError(Err.NOT_CONTROLLER))
            self.listener.handle_leadership(False, before)
        if led is not None:
            self.next_offset = self.log.end_offset
            self._active_epoch = led
            self.listener.handle_leadership(True, led)
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            _resolve(watcher)

    _CARRY_OUT: dict[type, Callable[[Quorum, Any], Awaitable[None] | None]] = {
        Persist: _persist,
        Append: lambda self, effect: self.log.append_received(effect.records),
        AppendLeaderChange: lambda self, effect: self.log.append_leader_change(effect),
        TruncateToEndOffset: lambda self, effect: self.log.truncate(effect.offset),
        AppendSnapshot: lambda self, e: self.log.snapshots.append_piece(e.snapshot, e.position, e.data),
        LoadSnapshot: _load_received, UpdateHighWatermark: _commit, RoleChanged: _role_changed, Flush: _flush,
        Send: lambda self, effect: self.network.send(effect), Reply: _reply,
    }


def _times(config: BrokerConfig) -> Times:
    def seconds(name: str) -> float:
        return config[f"controller.quorum.{name}.ms"] / 1000

    return Times(seconds("election.timeout"), seconds("fetch.timeout"), seconds("election.backoff.max"),
                 seconds("retry.backoff"))


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
