"""The quorum's small world with messages delivered by hand, and what happens in it as lines of text.

Messages wait on their links until they are delivered; timers run with the world's time. A record is written as its epoch and a
letter: `2b`; `2^` is the LeaderChange that opens epoch 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from minikafka.broker.raft.effects import (
    Append,
    AppendLeaderChange,
    AppendSnapshot,
    Effect,
    LoadSnapshot,
    Persist,
    Reply,
    RoleChanged,
    Send,
    TruncateToEndOffset,
    UpdateHighWatermark,
)
from minikafka.broker.raft.messages import SnapshotId
from minikafka.proof.small_worlds.raft.disk import Entry
from minikafka.proof.small_worlds.raft.net import RaftNet
from minikafka.proof.small_worlds.raft.node import QuorumSettings, RaftNode
from minikafka.proof.small_worlds.raft.world import RaftWorld

LATENCY = 0.005
SEED = 25  # in which node 1 is the first whose time is up


class LinksByHand(RaftNet):
    """Links that hold every message until the test delivers it."""

    def __init__(self, world: WorldByHand) -> None:
        super().__init__(world)
        self.links: dict[tuple[int, int], list[tuple[Callable[..., None], tuple[Any, ...]]]] = {}
        self.down: set[tuple[int, int]] = set()
        self.lines = world.lines

    def _transmit(self, src: int, dst: int, fn: Callable[..., None], *args: Any) -> None:
        if len(args) == 2:  # an answer; a request is shown as the effect Send
            self.lines.append(f"{src}: -> {dst}  {describe(args[1])}")
        self.links.setdefault((src, dst), []).append((fn, args))

    def deliverable(self) -> list[tuple[int, int]]:
        return sorted(link for link, queue in self.links.items() if queue and link not in self.down)

    def deliver(self, src: int, dst: int) -> None:
        """The oldest message arrives."""
        fn, args = self.links[src, dst].pop(0)
        fn(*args)

    def lose(self, src: int, dst: int) -> None:
        """The oldest message is lost; the node that asked sees a broken connection."""
        _, (asked, *_) = self.links[src, dst].pop(0)
        self._fail((asked.src, asked.lives[0], asked.id))


class WorldByHand(RaftWorld):
    """The world of a transcript."""

    def __init__(self, voters: int, observers: int = 0) -> None:
        self.lines: list[str] = []
        super().__init__(SEED, QuorumSettings(voters, observers, latency=(0.0, 0.0), max_entries=1000))
        self.net: LinksByHand = LinksByHand(self)
        self.on_effect = self._tell
        self.listener = lambda now, node, text: self.lines.append(f"{node}: {text}") if text == "power loss" else None

    def _tell(self, node: RaftNode, effect: Effect) -> None:
        if not isinstance(effect, Reply):
            self.lines.append(f"{node.id}: {describe(effect)}")

    def settle(self) -> None:
        """All messages arrive, and those that they lead to; no time passes."""
        while links := self.net.deliverable():
            for link in links:
                self.net.deliver(*link)
                self.run(self.now)

    def pass_time(self, seconds: float) -> None:
        """The network works: each message takes LATENCY. Only changes of state are shown."""
        end, before = self.now + seconds, len(self.lines)
        while self.now < end:
            if self.net.deliverable() or self.run(end, lambda: bool(self.net.deliverable())):
                self.run(min(end, self.now + LATENCY))
                for link in self.net.deliverable():
                    self.net.deliver(*link)
        self.lines[before:] = [line for line in self.lines[before:] if "->" not in line]

    def resign(self, id: int) -> None:
        node = self.nodes[id]
        if node.core is not None:
            self.post(node, node.core.resign)

    def show(self) -> None:
        for node in self.nodes.values():
            log, core = words(node.disk.entries) or "empty", node.core
            state = f"{core.state.role_name} epoch={core.state.epoch} hw={node.high_watermark}" if core else "down"
            self.lines.append(f"{node.id}: {state} log: {log}")


# --- in words -----------------------------------------------------------------------------------------------------


def words(entries: Iterable[Entry]) -> str:
    return " ".join(f"{epoch}{'^' if value < 0 else chr(ord('a') + value)}" for epoch, value in entries)


def parse(log: str) -> list[Entry]:
    """The entries of "1^ 1a 2^"."""
    return [(int(epoch), -1 if value == "^" else ord(value) - ord("a")) for epoch, value in re.findall(r"(\d+)([a-z^])", log)]


def describe(thing: object) -> str:
    """An effect or a message in the words of the transcripts."""
    if isinstance(thing, Send):
        return f"-> {thing.to}  {describe(thing.request)}"
    if isinstance(thing, Persist):
        state = thing.election_state
        return f"persist epoch={state.epoch} leader={_who(state.leader)} voted={_who(state.voted)}"
    if isinstance(thing, RoleChanged):
        return f"now {thing.role} epoch={thing.epoch} leader={_who(thing.leader)}"
    if isinstance(thing, Append):
        return f"append {words(thing.records)}"  # type: ignore[arg-type]
    if isinstance(thing, AppendLeaderChange):
        return f"append {thing.epoch}^ (granted by {' '.join(map(str, thing.granting))})"
    if isinstance(thing, AppendSnapshot):
        return f"piece of snapshot {_id(thing.snapshot)} from {thing.position}: {words(thing.data)}"  # type: ignore[arg-type]
    if isinstance(thing, LoadSnapshot):
        return f"load snapshot {_id(thing.snapshot)}"
    if isinstance(thing, TruncateToEndOffset):
        return f"truncate to {thing.offset}"
    if isinstance(thing, UpdateHighWatermark):
        return f"high watermark {thing.offset}"
    return _describe_message(thing) if getattr(thing, "__dataclass_fields__", {}) else "flush"


def _describe_message(thing: object) -> str:
    said = [type(thing).__name__]
    for name in getattr(thing, "__dataclass_fields__", {}):
        value = getattr(thing, name)
        silent = value is None or value is False or value in (b"", ()) or (name == "error" and not value)
        if silent or name in ("max_wait", "records_from"):
            continue
        value = _id(value) if isinstance(value, SnapshotId) else words(value) if name in ("records", "data") else value
        text = value.name if name == "error" else value
        said.append(f"{name}={_who(text) if name in ('leader', 'candidate', 'replica') else text}")
    return " ".join(said).replace("high_watermark", "hw")


def _id(snapshot: SnapshotId) -> str:
    return f"{snapshot.end_offset}-{snapshot.epoch}"


def _who(node: object) -> str:
    return "-" if node == -1 else str(node)
