"""The quorum's shell: the order of events and effects around the Raft core, and what the rest of the broker sees of it.

One task takes one event at a time (a request, an answer, a timer, records to append), gives it to the core, and
executes the effects left to right before it takes the next. While it waits for the disk, events queue up, and appends
with them: they are written and flushed together afterwards (group commit).

Owns: the order of events and effects, the records to append, the way of committed records to this broker. The files are
metadata_log.py's, the requests and answers quorum_network.py's.
Invariants: I-QRM-1 one event at a time: no event sees a log or a ballot that is half way through another's effects.
            I-QRM-2 `on_commit` sees every committed batch once, in order; `committed(offset)` returns after it.
            I-QRM-3 `on_leadership(True, epoch)` comes after everything below the epoch's start was given to `on_commit`
              and the epoch's first record is committed: no other controller can act in an older epoch any more.
            I-QRM-4 `on_snapshot` stands for all batches below its end: at the start, and where a leader has deleted
              what we lack.
Source: org.apache.kafka.raft.KafkaRaftClientDriver, BatchAccumulator, KafkaMetadataLog.
"""

from __future__ import annotations

from asyncio import Future
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minikafka.broker.raft import wire
from minikafka.broker.raft.messages import (
    Append,
    AppendLeaderChange,
    AppendSnapshot,
    Effect,
    Flush,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    RoleChanged,
    Send,
    SnapshotId,
    Times,
    Truncate,
)
from minikafka.broker.raft.raft import Raft
from minikafka.broker.raft.roles import Leader
from minikafka.broker.raft.shell.metadata_log import FOLDER, MetadataLog
from minikafka.broker.raft.shell.network import QuorumNetwork
from minikafka.broker.raft.shell.snapshotter import Snapshotter
from minikafka.broker.server.env import Timer
from minikafka.protocol.errors import Err, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker

HAND_OVER_S = 1.0  # a stopping leader waits this long for the others to hear of it


class Quorum:
    """This node's part in the metadata quorum: voter, or observer where its id is not among the voters."""

    def __init__(self, broker: Broker) -> None:
        self.broker, self.env, self.node_id = broker, broker.env, broker.node_id
        self.on_commit: Callable[[list[Any], int, int], None] = _ignore
        self.on_snapshot: Callable[[list[Any], int, int], None] = _ignore
        self.on_leadership: Callable[[bool, int], None] = _ignore
        self.applied = 0  # everything below was given to on_commit
        self._inbox: deque[tuple[Callable[..., list[Effect]], tuple[Any, ...]]] = deque()
        self._wakeup: Future[None] | None = None
        self._timer: Timer | None = None
        self._lingering: Timer | None = None
        self._to_append: list[bytes] = []
        self.next_offset = 0  # of the next record that `append` gets, while we lead
        self._active_epoch: int | None = None
        self._waiting: deque[tuple[int, Future[None]]] = deque()
        self._watchers: list[Future[None]] = []
        self.leader_listeners: list[Callable[[int], None]] = []  # told the leader's id whenever it may have changed
        self.running = False  # takes events and requests
        self.network = QuorumNetwork(self)
        self._execute: dict[type, Callable[[Any], None]] = {
            Append: lambda effect: self.log.append_received(effect.records),
            AppendLeaderChange: lambda effect: self.log.append_leader_change(effect),
            Truncate: lambda effect: self.log.truncate(effect.offset),
            AppendSnapshot: lambda e: self.log.snapshots.append_piece(e.snapshot, e.position, e.data),
            HighWatermark: self._commit,
            RoleChanged: self._role_changed,
            Send: self.network.send,
            Reply: self.network.reply,
        }

    # --- life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Recover the log, take up the role on disk, begin to take events. Does not wait for a leader."""
        config = self.broker.config
        voters = tuple(sorted(self.broker.voters))
        self.log = MetadataLog(self.env, config.metadata_dir, self.node_id in voters)
        ballot = self.log.read_ballot()
        self.raft = Raft(self.node_id, voters, self.log, _times(config), self.env.rng("raft"), ballot)
        self.snapshotter = Snapshotter(self)
        self.running = True
        self.post(self._load_latest)
        self.post(self.raft.start)
        self._task = self.env.spawn(self._run(), "quorum")

    async def stop(self) -> None:
        """Hand over leadership, if it is ours and somebody is there to take it, and close the log."""
        if not self.running:
            return
        self.post(self.raft.resign)
        deadline = self.env.now() + HAND_OVER_S
        while not self.raft.has_handed_over and self.env.now() < deadline:
            await self._change_or(deadline)
        self.running = False
        self._wake()
        await self._task
        for timer in (self._timer, self._lingering):
            if timer is not None:
                timer.cancel()
        self.network.close()
        self.log.close()

    async def _change_or(self, deadline: float) -> None:
        change = self.changed()
        timer = self.env.later(deadline - self.env.now(), _resolve, change)
        await change
        timer.cancel()

    # --- what the rest of the broker asks --------------------------------------------------------------------------

    @property
    def leader_id(self) -> int:
        """The node that leads the quorum, and is the active controller, as far as we know; -1 if none."""
        return self.raft.leader_id if self.running else -1

    @property
    def epoch(self) -> int:
        return self.raft.epoch

    @property
    def is_leader(self) -> bool:
        """Whether this node is the active controller: it leads, and has replayed all that came before."""
        return self._active_epoch is not None and self._active_epoch == self._led_epoch()

    def append(self, records: list[Any]) -> int:
        """Append records as one batch; returns the offset of the last. Raises NOT_CONTROLLER.

        They count once a majority has them on disk: await `committed` for that. They may be lost before.
        """
        if not self.is_leader:
            raise KafkaError(Err.NOT_CONTROLLER)
        self._to_append.append(self.log.to_batch(records))
        self.next_offset += len(records)
        if self._lingering is None:
            linger = self.broker.config["controller.quorum.append.linger.ms"] / 1000
            self._lingering = self.env.later(linger, self.post, self._write_appends)
        return self.next_offset - 1

    def committed(self, offset: int) -> Future[None]:
        """A future for when `offset` is committed and given to on_commit; NOT_CONTROLLER if we stop leading before.

        To be called right after `append`, with no await between: later the offset might be another leader's.
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
        """A future that is done at the next change of role, leader, epoch or high watermark."""
        watcher = self.env.future()
        self._watchers.append(watcher)
        return watcher

    def describe(self) -> dict[str, Any] | None:
        """Leader, epoch, high watermark, progress of each replica, as DescribeQuorum names them; None if not ours."""
        role = self.raft.role
        if not isinstance(role, Leader):
            return None
        return wire.describe(role, self.epoch, self.raft.high_watermark, self.env.now(), self.env.wall_ms())

    # --- events ----------------------------------------------------------------------------------------------------

    def post(self, event: Callable[..., list[Effect]], *args: Any) -> None:
        """Queue an event of the core, or one of ours: called with `args` and the time, it returns effects."""
        self._inbox.append((event, args))
        self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None:
            _resolve(self._wakeup)

    async def _run(self) -> None:
        while self.running:
            while self._inbox and self.running:
                event, args = self._inbox.popleft()
                await self._perform(event(*args, self.env.now()))
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

    async def _perform(self, effects: list[Effect]) -> None:
        """Execute effects left to right (I-RAFT-1); a Flush is the last of its list and has effects of its own."""
        while effects:
            self._check_leadership()
            flushed = None
            for effect in effects:
                if isinstance(effect, Persist):
                    await self.log.persist(effect.ballot, self.raft.voters)
                elif isinstance(effect, Flush):
                    flushed = await self.log.flush()
                elif isinstance(effect, LoadSnapshot):
                    await self._load_received(effect.snapshot)
                else:
                    self._execute[type(effect)](effect)
            effects = [] if flushed is None else self.raft.on_flushed(flushed, self.env.now())
        self._check_leadership()
        if self.raft.has_handed_over:
            self._tell_watchers()

    # --- effects: the log ---------------------------------------------------------------------------------------------

    def _write_appends(self, now: float) -> list[Effect]:
        """The records that gathered while we lingered, or waited for the disk: written together, flushed once."""
        self._lingering = None
        gathered, self._to_append = self._to_append, []
        if not self.is_leader:
            return []
        for data in gathered:
            self.log.append(data, self.epoch)
        assert self.log.end_offset == self.next_offset, "I-QRM-1: offsets were promised that others took"
        return self.raft.on_appended(now)

    def _commit(self, effect: HighWatermark) -> None:
        """Give what is newly committed to the broker, batch by batch (I-QRM-2)."""
        self.env.trace("hw", tp=FOLDER, hw=effect.offset)
        for decision in self.log.decisions(self.applied, effect.offset):
            if decision.records:
                self.on_commit(decision.records, decision.last_offset, decision.epoch)
            self.applied = decision.last_offset + 1
            self.snapshotter.note(decision)
        self.snapshotter.make_if_due(self.broker.image)
        while self._waiting and self._waiting[0][0] < self.applied:
            _resolve(self._waiting.popleft()[1])
        self._tell_watchers()

    def _load_latest(self, now: float) -> list[Effect]:
        """The first event of all: what the latest snapshot says stands for the log below it."""
        latest = self.log.latest_snapshot
        if latest is not None:
            self._loaded(latest, self.log.snapshots.read(latest)[1])
        return []

    async def _load_received(self, snapshot: SnapshotId) -> None:
        records = await self.env.blocking(self.log.snapshots.finish_pieces, snapshot)
        self.log.begin_at(snapshot)
        self._loaded(snapshot, records)

    def _loaded(self, snapshot: SnapshotId, records: list[Any]) -> None:
        self.on_snapshot(records, snapshot.end_offset - 1, snapshot.epoch)
        self.applied = snapshot.end_offset
        self.snapshotter.restart()
        self._tell_watchers()

    # --- effects: leadership ---------------------------------------------------------------------------------------

    def _role_changed(self, effect: RoleChanged) -> None:
        self.env.trace("raft", role=effect.role, epoch=effect.epoch, leader=effect.leader)
        for listener in self.leader_listeners:
            listener(effect.leader)
        self._tell_watchers()

    def _led_epoch(self) -> int | None:
        """The epoch that we lead and for which we have replayed everything; None if there is none (I-QRM-3)."""
        start = self.raft.epoch_start_offset
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
            self.on_leadership(False, before)
        if led is not None:
            self.next_offset = self.log.end_offset
            self._active_epoch = led
            self.on_leadership(True, led)
        self._tell_watchers()

    def _tell_watchers(self) -> None:
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            _resolve(watcher)


def _times(config: Any) -> Times:
    def seconds(name: str) -> float:
        return config[f"controller.quorum.{name}.ms"] / 1000

    return Times(seconds("election.timeout"), seconds("fetch.timeout"), seconds("election.backoff.max"),
                 seconds("retry.backoff"))


def _resolve(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _ignore(*_: Any) -> None:
    """Until the broker sets its hooks."""
