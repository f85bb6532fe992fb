"""I8 and I9: the metadata quorum, and the images that brokers replay from it.

Nodes are looked at every few steps, and whenever one changes its role, because no event tells that a log has grown.
I8  one leader per quorum epoch; on disk, epochs never fall and a vote is never changed; records known to be committed
    are on a majority, the same everywhere, and never cut off; no node's high watermark falls.
I9  MetadataLogMatching: no image is ahead of what is committed; images of the same offset are equal (at the end); in the
    newest a broker that is fenced or shutting down is in no ISR of more than one member.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.shell.metadata_log import FOLDER, QUORUM_STATE_FILE
from minikafka.broker.raft.wire import decode_election_state
from minikafka.log.batch import crc_ok
from minikafka.proof.invariants.invariant import Invariant
from minikafka.proof.invariants.known import Known
from minikafka.proof.invariants.replica import Key, LogCursor, log_on_disk

UNSEEN = None, ElectionState()  # no file, and what it would say


class Voter:
    """One node in one life, and its state when it was last looked at."""

    def __init__(self, broker: Any) -> None:
        self.broker, self.log = broker, broker.quorum.log.log
        self.cursor = LogCursor(self.log)
        self.high_watermark = 0
        self.truncations = self.log.truncations


class QuorumIsSafe(Invariant):
    """The invariant I8."""

    id, events = "I8", ("raft",)

    def __init__(self, watch: Known) -> None:
        super().__init__(watch)
        self.end = 0  # the highest high watermark of any node
        self.batches: dict[int, bytes] = {}  # the committed batches, by base offset
        self._voters: dict[int, Voter] = {}
        self._dark: dict[int, tuple[Any, int]] = {}  # nodes that lost power: their life, and where its log ends now
        self._leaders: dict[int, int] = {}  # by epoch
        self._election_states: dict[int, tuple[Any, ElectionState]] = {}
        self._folders: dict[int, str] = {}

    def on_event(self, event: dict[str, Any]) -> None:
        if event["role"] != "leader":
            return
        other = self._leaders.setdefault(event["epoch"], event["b"])
        if other != event["b"]:
            self.fail(f"both {other} and {event['b']} lead the quorum in epoch {event['epoch']}")

    def on_fault(self, event: dict[str, Any]) -> None:
        if event["fault"] == "powerloss":
            node = event["node"]
            found = log_on_disk(self.cluster.disk(node), self._folder(node))
            self._dark[node] = self.cluster.brokers.get(node), 0 if found is None else found[1]

    def on_sample(self) -> None:
        for node in self.cluster.nodes:
            self._check_election_state(node)
            broker = self.cluster.running(node)
            if broker is not None and hasattr(broker.quorum, "raft"):
                self._check_node(node, broker)

    def _end(self, node: int) -> int:
        """Return where the node's log ends; for a dead one, or one that has not read its log yet, where it ended at its death."""
        broker = self.cluster.brokers.get(node)
        if broker is not None and not hasattr(broker.quorum, "raft") and node in self._voters:
            broker = self._voters[node].broker
        life, end = self._dark.get(node, (None, 0))
        log = getattr(broker.quorum, "log", None) if broker is not None else None
        return end if life is broker or log is None else log.end_offset

    def _check_node(self, node: int, broker: Any) -> None:
        voter, quorum = self._voters.get(node), broker.quorum
        if voter is None or voter.broker is not broker:
            voter = self._voters[node] = Voter(broker)
        log, high = voter.log, quorum.raft.state.high_watermark
        if voter.truncations != log.truncations:
            voter.truncations = log.truncations
            voter.cursor.back_to(log.end_offset)
        if log.end_offset < quorum.applied:
            self.fail(f"node {node}: its metadata log ends at {log.end_offset}, {quorum.applied} was committed",
                      node, quorum.applied)
        self._compare(node, voter, quorum.applied)
        if high < voter.high_watermark:
            self.fail(f"node {node}: the quorum's HW went back from {voter.high_watermark} to {high}")
        voter.high_watermark = high
        if high > self.end:
            self.end = high
            self._majority()

    def _compare(self, node: int, voter: Voter, applied: int) -> None:
        """Compare the log up to the applied offset, not to the high watermark: while a snapshot is being loaded, the high
        watermark is already the snapshot's, and the log is still the old one."""
        if applied <= voter.cursor.offset:
            return
        for header, raw in voter.cursor.read(applied):
            if not crc_ok(raw, 0, header):
                continue  # a bit has flipped since: every reader of the batch notices that
            if self.batches.setdefault(header.base_offset, raw) != raw:
                self.fail(f"node {node}: its metadata log differs at offset {header.base_offset} (epoch "
                          f"{header.leader_epoch}) from what another had committed", header.base_offset)

    def _majority(self) -> None:
        voters = next((sorted(b.voters) for b in self.cluster.brokers.values()), [])
        spoiled = self.watch.keeper.spoiled  # where a bit has flipped, what stands behind it cannot be read, and may be there
        having = [node for node in voters if self._end(node) >= self.end or node in spoiled]
        if len(having) * 2 <= len(voters):
            ends = {node: self._end(node) for node in voters}
            self.fail(f"offset {self.end - 1} of the metadata is committed, but the voters' logs end at {ends}", self.end)

    def _check_election_state(self, node: int) -> None:
        path = self._folder(node) + QUORUM_STATE_FILE
        file = self.cluster.disk(node).durable.get(path)
        seen, before = self._election_states.get(node, UNSEEN)
        if file is None or file is seen:
            return
        try:
            now = decode_election_state(bytes(file.durable))
        except ValueError:
            return
        self._election_states[node] = (file, now)
        if now.epoch < before.epoch:
            self.fail(f"node {node}: the epoch on its disk went back from {before.epoch} to {now.epoch}")
        elif now.epoch == before.epoch:
            for name in ("voted", "leader"):
                old, new = getattr(before, name), getattr(now, name)
                forgets = name == "leader" and new < 0  # an observer may forget: it gives no vote
                if old >= 0 and new != old and not forgets:
                    self.fail(f"node {node}: on its disk {name} of epoch {now.epoch} changed from {old} to {new}")

    def _folder(self, node: int) -> str:
        """Return the folder of the node's metadata log, with the slash behind it."""
        if node not in self._folders:
            self._folders[node] = f"{self.cluster.world.hosts[node].config.metadata_dir}/{FOLDER}/"
        return self._folders[node]

    async def at_end(self) -> None:
        self.on_sample()
        self._majority()


class MetadataMatches(Invariant):
    """The invariant I9."""

    id = "I9"

    def on_metadata(self, changed: Iterable[Key]) -> None:
        image = self.cluster.image
        self._committed()
        here = {b.id for b in image.brokers.values() if not (b.fenced or b.in_controlled_shutdown)} if image else ()
        for state in self.cluster.states.values():
            away = [n for n in state.isr if n not in here]
            if away and len(state.isr) > 1:
                self.fail(f"{state.topic}-{state.index}: brokers {away}, fenced or shutting down, are in an ISR of more than "
                          f"one: leader {state.leader}, ISR {list(state.isr)}, ELR {list(state.elr)}, replicas "
                          f"{list(state.replicas)} (partition epoch {state.partition_epoch})",
                          state.topic_id, state.index, state.partition_epoch)

    def _committed(self) -> None:
        ends = {node: broker.quorum.raft.state.high_watermark for node, broker in self.cluster.brokers.items()
                if hasattr(broker.quorum, "raft")}
        if self.cluster.offset >= max(ends.values(), default=0):
            self.fail(f"an image holds metadata offset {self.cluster.offset}, the quorum's high watermarks are {ends}")

    async def at_end(self) -> None:
        images = {node: broker.image for node in self.cluster.nodes if (broker := self.cluster.running(node)) is not None}
        newest = max((image.offset for image in images.values()), default=-1)
        same = {node: sorted(map(repr, image.to_records())) for node, image in images.items() if image.offset == newest}
        if len({tuple(records) for records in same.values()}) > 1:
            self.fail(f"the images of nodes {sorted(same)} at metadata offset {newest} are not equal")
