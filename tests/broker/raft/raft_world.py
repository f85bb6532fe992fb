"""A world of Raft cores without sockets, disks or clocks: what the tests of the quorum run in.

Each node has a log in memory that knows which part of it is on disk, an election state on disk, and a core. Messages wait on
links until they are delivered; a test chooses which and when. Effects are executed left to right, and a crash may come
between any two of them: what was not flushed or persisted is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import NamedTuple

from minikafka.broker.raft.effects import (
    Append,
    AppendLeaderChange,
    AppendSnapshot,
    Effect,
    ElectionState,
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
from minikafka.broker.raft.messages import Answer, FetchAnswer, Request, Response, SnapshotAnswer, SnapshotId, Vote
from minikafka.broker.raft.raft import Raft


class Entry(NamedTuple):
    """One record: the epoch of its leader and what it says; "^" is the LeaderChange that opens an epoch."""

    epoch: int
    value: str

    def __str__(self) -> str:
        return f"{self.epoch}{self.value}"


class MemoryLog:
    """A LogView; what is in `disk` survives a crash.

    `entries` keeps what is below `start_offset` for the oracle's eyes; the node itself has it in `snapshots` only.
    """

    def __init__(self, entries: tuple[Entry, ...] = ()) -> None:
        self.entries = list(entries)
        self.disk = list(entries)
        self.snapshots: dict[SnapshotId, bytes] = {}  # the oldest first; they are on disk at once

    @property
    def start_offset(self) -> int:
        return self.oldest_snapshot.end_offset if self.oldest_snapshot else 0

    @property
    def oldest_snapshot(self) -> SnapshotId | None:
        return next(iter(self.snapshots), None)

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return next(reversed(self.snapshots), None)

    def snapshot_size(self, id: SnapshotId) -> int | None:
        return len(self.snapshots[id]) if id in self.snapshots else None

    def snapshot(self, end: int, keep: int) -> None:
        """Make a snapshot of what is below `end`; keep that many, and delete the log below the oldest."""
        if end > self.start_offset and end not in [known.end_offset for known in self.snapshots]:
            self.snapshots[SnapshotId(end, self.entries[end - 1].epoch)] = encode(self.entries[:end])
            self.snapshots = dict(list(self.snapshots.items())[-keep:])

    def load(self, id: SnapshotId, data: bytes) -> None:
        """The log is this snapshot, and nothing more."""
        self.snapshots = {id: data}
        self.entries = decode(data)
        self.disk = list(self.entries)

    @property
    def end_offset(self) -> int:
        return len(self.entries)

    @property
    def last_epoch(self) -> int:
        return self.entries[-1].epoch if self.entries else 0

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above `epoch` and where it ended (rule 20), found by looking at every record."""
        if not self.entries or epoch > self.last_epoch:
            return (-1, -1)
        start, oldest = self.start_offset, self.oldest_snapshot
        ends = {oldest.epoch: start} if oldest else {}
        ends |= {entry.epoch: offset + 1 for offset, entry in enumerate(self.entries) if offset >= start}
        floors = [known for known in ends if known <= epoch]
        return (max(floors), ends[max(floors)]) if floors else (epoch, start)

    def flush(self) -> None:
        self.disk = list(self.entries)

    def crash(self) -> None:
        self.entries = list(self.disk)
        latest = self.latest_snapshot
        if latest and (latest.epoch, latest.end_offset) > (self.last_epoch, self.end_offset):
            self.load(latest, self.snapshots[latest])


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response on its way; responses carry the id of the Send they answer."""

    src: int
    dst: int
    id: int
    body: Request | Response
    is_response: bool
    life: int  # the incarnation of the node that waits for the response, so that no answer meets its next life

    def __str__(self) -> str:
        return f"{self.src} -> {self.dst}  {describe(self.body)}"


@dataclass
class Node:
    """One node: its core (None while it is down), its disk, and what it knows to be committed."""

    id: int
    log: MemoryLog = field(default_factory=MemoryLog)
    election_state: ElectionState = field(default_factory=ElectionState)
    core: Raft | None = None
    high_watermark: int = 0
    life: int = 0
    loading: bytes = b""  # the pieces of a snapshot so far


class World:
    """Nodes, links and the time. `report` sees every line worth printing."""

    def __init__(self, voters: tuple[int, ...], observers: tuple[int, ...] = (), seed: int = 0) -> None:
        self.voters = voters
        self.now = 0.0
        self.rng = Random(seed)
        self.times = Times()
        self.nodes = {node: Node(node) for node in voters + observers}
        self.links: dict[tuple[int, int], list[Message]] = {}
        self.asked: dict[tuple[int, int, int], Message] = {}  # requests that nobody answered yet
        self.down: set[tuple[int, int]] = set()
        self.lines: list[str] = []
        self.appended = 0
        self.max_records = 1000  # in one answer to a fetch
        self.max_bytes = 1000  # in one answer to a FetchSnapshot
        self.keep_snapshots = 1
        self.on_commit: Callable[[Node], None] = lambda node: None
        self.crash_at: dict[int, int] = {}  # node -> how many more effects it executes before it crashes

    # --- processes -------------------------------------------------------------------------------------------------

    def start(self, *ids: int) -> None:
        for id in ids:
            node = self.nodes[id]
            node.core = Raft(id, self.voters, node.log, self.times, Random(f"{self.rng.random()}:{id}"), node.election_state)
            node.high_watermark = node.core.high_watermark
            self.execute(node, node.core.start(self.now))

    def crash(self, id: int) -> None:
        """Power off: unflushed records, requests under way and everything in memory are lost."""
        node = self.nodes[id]
        node.core, node.high_watermark, node.loading = None, 0, b""
        node.life += 1
        node.log.crash()
        for link in [link for link in self.links if link[1] == id]:
            self.links[link].clear()
        for message in [m for m in self.asked.values() if id in (m.src, m.dst)]:
            self._fail(message)

    def append(self, id: int, count: int = 1) -> None:
        """The controller on `id` appends records, if it leads."""
        node = self.nodes[id]
        if node.core is not None and node.core.epoch_start_offset is not None:
            for _ in range(count):
                node.log.entries.append(Entry(node.core.epoch, letters(self.appended)))
                self.appended += 1
            self.execute(node, node.core.on_appended(self.now))

    def snapshot(self, id: int) -> None:
        """The node makes a snapshot of what it knows to be committed, and deletes the log below its oldest."""
        node = self.nodes[id]
        if node.core is not None:
            node.log.snapshot(node.high_watermark, self.keep_snapshots)

    def resign(self, id: int) -> None:
        node = self.nodes[id]
        if node.core is not None:
            self.execute(node, node.core.resign(self.now))

    def expire(self, id: int) -> None:
        """The node's timer is the first to run out: now."""
        node = self.nodes[id]
        if node.core is not None and node.core.is_voter:
            node.core.role.deadline = self.now
            self.execute(node, node.core.on_tick(self.now))

    def win_pre_vote(self, id: int) -> None:
        """Whoever was asked for a pre-vote by this node gives it, at once."""
        node = self.nodes[id]
        for asked, (_, request) in list(node.core._pending.items() if node.core else ()):
            if isinstance(request, Vote) and request.pre_vote and node.core is not None:
                self.execute(node, node.core.on_response(asked, Answer(request.epoch, -1, granted=True), self.now))

    # --- time ------------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        deadlines = [d for n in self.up() if n.core and (d := n.core.next_deadline()) is not None]
        return max(min(deadlines), self.now) if deadlines else None

    def advance(self, seconds: float) -> None:
        """Let time pass; timers fire when they are due, no message moves."""
        end = self.now + seconds
        while (deadline := self.next_deadline()) is not None and deadline <= end:
            self.now = deadline
            self.tick()
        self.now = end

    def tick(self) -> None:
        for node in self.up():
            if node.core and (due := node.core.next_deadline()) is not None and due <= self.now:
                self.execute(node, node.core.on_tick(self.now))

    def run(self, seconds: float, latency: float = 0.005) -> None:
        """Let time pass with a working network: every message is delivered after `latency`."""
        end = self.now + seconds
        while self.now < end:
            if self.deliverable():
                self.advance(min(latency, end - self.now))
                for link in self.deliverable():
                    self.deliver(*link)
                continue
            deadline = self.next_deadline()
            self.now = end if deadline is None else min(end, max(deadline, self.now + 1e-6))
            self.tick()

    # --- network ---------------------------------------------------------------------------------------------------

    def deliverable(self) -> list[tuple[int, int]]:
        return sorted(link for link, queue in self.links.items() if queue and link not in self.down)

    def deliver(self, src: int, dst: int, index: int = 0) -> None:
        message = self.links[src, dst].pop(index)
        node = self.nodes[dst]
        if node.core is None:
            self._fail(message)
        elif not message.is_response:
            self.execute(node, node.core.on_request(message, message.body, self.now))
        elif self.asked.pop((dst, message.life, message.id), None):
            self.execute(node, node.core.on_response(message.id, message.body, self.now))

    def drop(self, src: int, dst: int, index: int = 0) -> None:
        """The message is lost; whoever waits for an answer is told, as by a broken connection."""
        self._fail(self.links[src, dst].pop(index))

    def _fail(self, message: Message) -> None:
        waiting = self.nodes[message.dst if message.is_response else message.src]
        asked = self.asked.pop((waiting.id, message.life, message.id), None)
        if asked and waiting.core is not None and message.life == waiting.life:
            self.execute(waiting, waiting.core.on_failure(message.id, self.now))

    # --- effects ---------------------------------------------------------------------------------------------------

    def execute(self, node: Node, effects: list[Effect]) -> None:
        """Left to right (I-RAFT-1); a node with an entry in `crash_at` stops there for good."""
        while effects:
            flushed = False
            for effect in effects:
                if self._crashes_now(node):
                    return
                self._do(node, effect)
                flushed |= isinstance(effect, Flush)
            effects = node.core.on_flushed(len(node.log.disk), self.now) if flushed and node.core else []

    def _crashes_now(self, node: Node) -> bool:
        if node.id not in self.crash_at:
            return False
        self.crash_at[node.id] -= 1
        if self.crash_at[node.id] < 0:
            del self.crash_at[node.id]
            self.lines.append(f"{node.id}: crashes")
            self.crash(node.id)
            return True
        return False

    def _do(self, node: Node, effect: Effect) -> None:
        if isinstance(effect, Persist):
            node.election_state = effect.election_state
        elif isinstance(effect, AppendLeaderChange):
            node.log.entries.append(Entry(effect.epoch, "^"))
        elif isinstance(effect, Append):
            node.log.entries += decode(effect.records)
        elif isinstance(effect, TruncateToEndOffset):
            del node.log.entries[effect.offset :]
        elif isinstance(effect, AppendSnapshot):
            assert effect.position in (0, len(node.loading)), "a piece is missing"
            node.loading = node.loading[: effect.position] + effect.data
        elif isinstance(effect, LoadSnapshot):
            self._load(node, effect.snapshot)
        elif isinstance(effect, Flush):
            node.log.flush()
        elif isinstance(effect, UpdateHighWatermark):
            node.high_watermark = effect.offset
            self.on_commit(node)
        elif isinstance(effect, Send):
            self._post(Message(node.id, effect.to, effect.id, effect.request, False, node.life))
        elif isinstance(effect, Reply):
            return self._answer(node, effect)
        self.lines.append(f"{node.id}: {describe(effect)}")
        return None

    def _load(self, node: Node, snapshot: SnapshotId) -> None:
        assert node.core is not None and node.core.epoch_start_offset is None, "I-RAFT-12: a leader loads a snapshot"
        assert snapshot.end_offset >= node.high_watermark, "a snapshot that ends below what is committed"
        node.log.load(snapshot, node.loading)
        assert node.log.end_offset == snapshot.end_offset and node.log.last_epoch == snapshot.epoch, "not that snapshot"
        node.high_watermark, node.loading = snapshot.end_offset, b""
        self.on_commit(node)

    def _answer(self, node: Node, effect: Reply) -> None:
        asked, body = effect.pending_request, effect.response
        assert isinstance(asked, Message)
        if isinstance(body, SnapshotAnswer) and not body.error:
            piece = node.log.snapshots[body.snapshot][body.position : body.position + self.max_bytes]
            body = replace(body, data=piece)
        elif isinstance(body, FetchAnswer) and body.records_from is not None:
            assert body.records_from >= node.log.start_offset, "what was deleted cannot be read"
            sent = node.log.entries[body.records_from : body.records_from + self.max_records]
            body = replace(body, records=encode(sent), records_from=None)
        self._post(Message(node.id, asked.src, asked.id, body, True, asked.life))
        self.lines.append(f"{node.id}: -> {asked.src}  {describe(body)}")

    def _post(self, message: Message) -> None:
        if not message.is_response:
            self.asked[message.src, message.life, message.id] = message
        self.links.setdefault((message.src, message.dst), []).append(message)

    # --- questions -------------------------------------------------------------------------------------------------

    def up(self) -> Iterator[Node]:
        return iter([node for node in self.nodes.values() if node.core is not None])

    def core(self, id: int) -> Raft:
        core = self.nodes[id].core
        assert core is not None
        return core

    def leaders(self) -> list[int]:
        return [node.id for node in self.up() if node.core and node.core.epoch_start_offset is not None]


def encode(entries: list[Entry]) -> bytes:
    return " ".join(map(str, entries)).encode()


def decode(data: bytes) -> list[Entry]:
    return [Entry(int(epoch), value) for epoch, value in re.findall(r"(\d+)(\S+)", data.decode())]


def letters(number: int) -> str:
    """a, b, ... z, ba, bb, ...: no two records of a world say the same."""
    return (letters(number // 26) if number >= 26 else "") + chr(ord("a") + number % 26)


def describe(thing: object) -> str:
    """An effect or a message in the words of the scenarios."""
    if isinstance(thing, Send):
        return f"-> {thing.to}  {describe(thing.request)}"
    if isinstance(thing, Persist):
        state = thing.election_state
        return f"persist epoch={state.epoch} leader={_who(state.leader)} voted={_who(state.voted)}"
    if isinstance(thing, RoleChanged):
        return f"now {thing.role} epoch={thing.epoch} leader={_who(thing.leader)}"
    if isinstance(thing, Append):
        return f"append {thing.records.decode()}"
    if isinstance(thing, AppendLeaderChange):
        return f"append {thing.epoch}^ (granted by {' '.join(map(str, thing.granting))})"
    if isinstance(thing, AppendSnapshot):
        return f"piece of snapshot {_id(thing.snapshot)} from byte {thing.position}: {thing.data.decode()}"
    if isinstance(thing, LoadSnapshot):
        return f"load snapshot {_id(thing.snapshot)}"
    if isinstance(thing, TruncateToEndOffset):
        return f"truncate to {thing.offset}"
    if isinstance(thing, UpdateHighWatermark):
        return f"high watermark {thing.offset}"
    if isinstance(thing, Flush):
        return "flush"
    return _describe_message(thing)


def _describe_message(thing: object) -> str:
    words = [type(thing).__name__]
    for name in getattr(thing, "__dataclass_fields__", {}):
        value = getattr(thing, name)
        silent = value is None or value is False or value == b"" or (name == "error" and not value)
        if silent or name in ("max_wait", "records_from"):
            continue
        value = _id(value) if isinstance(value, SnapshotId) else value
        text = value.name if name == "error" else value.decode() if isinstance(value, bytes) else value
        words.append(f"{name}={_who(text) if name in ('leader', 'candidate', 'replica') else text}")
    return " ".join(words).replace("high_watermark", "hw")


def _id(snapshot: SnapshotId) -> str:
    return f"{snapshot.end_offset}-{snapshot.epoch}"


def _who(node: object) -> str:
    return "-" if node == -1 else str(node)
