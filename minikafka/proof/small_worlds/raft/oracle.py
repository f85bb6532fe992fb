"""The oracle of the quorum: it sees all nodes and their disks, and checks what must hold whatever happens.

The world tells the oracle of every effect as it happens, so a crash right after an effect hides nothing. Each check looks only at
what has just changed: the rest was checked before (induction).

Owns: all records committed or written, all leaders and all votes of one run.
Invariants: a check has no effect on what it looks at.
What is checked (the ids are those of proof/invariants/):
    I7  one leader per epoch; the epoch and the vote on disk never go back, and are what the process acts on
    I8  committed records are on a majority of disks, are never truncated or replaced, and every later leader has them;
        logs that have a record of the same epoch at the same offset are equal up to it; the high watermark never goes
        back; no node fetches beyond what it has flushed; a snapshot is a prefix of the committed records
    I9  the records that a node believes committed are a prefix of the committed records
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.messages import Fetch, SnapshotId
from minikafka.proof.small_worlds.raft.disk import Entry

if TYPE_CHECKING:
    from minikafka.proof.small_worlds.raft.node import RaftNode


class RaftViolation(AssertionError):
    """An invariant above that does not hold."""

    def __init__(self, id: str, text: str) -> None:
        super().__init__(f"{id}: {text}")
        self.id, self.text = id, text


class RaftOracle:
    """The judge of one world: its nodes by id, its voters, and a question for those that lead now."""

    def __init__(self, nodes: dict[int, RaftNode], voters: tuple[int, ...], leading: Callable[[], list[RaftNode]]) -> None:
        self.nodes, self.voters, self.leading = nodes, voters, leading
        self.leaders: dict[int, int] = {}  # epoch -> its leader
        self.election_states: dict[int, ElectionState] = {}  # node -> the ballot on its disk
        self.written: dict[tuple[int, int], tuple[int, int]] = {}  # (epoch, offset) -> (value, epoch of the one before)
        self.committed: list[Entry] = []
        self.committed_in: list[int] = []  # for each committed entry the epoch of the leader that committed it

    # --- the election state ------------------------------------------------------------------------------------------------

    def persisted(self, node: RaftNode) -> None:
        """Check the ballot on the node's disk, which may have changed."""
        now, before = node.disk.read_election_state(), self.election_states.get(node.id, ElectionState())
        if now.epoch < before.epoch:
            raise RaftViolation("I7", f"the epoch on disk of node {node.id} went back: {before} -> {now}")
        if now.epoch == before.epoch and before.voted >= 0 and now.voted != before.voted:
            raise RaftViolation("I7", f"node {node.id} voted twice in epoch {now.epoch}")
        self.election_states[node.id] = now

    def speaks(self, node: RaftNode) -> None:
        """Check, when a node sends or answers, that the ballot that it acts on is on its disk (rule 34)."""
        if node.core is not None and node.core.state.election_state != self.election_states.get(node.id, ElectionState()):
            raise RaftViolation("I7", f"node {node.id} acts on {node.core.state.election_state}, which is not on its disk")

    def fetches(self, node: RaftNode, fetch: Fetch) -> None:
        """Check that a fetch, which acknowledges all below its offset, is not beyond what was flushed (rule 36)."""
        if fetch.offset > len(node.disk.durable):
            raise RaftViolation("I8", f"node {node.id} fetches at {fetch.offset}: not flushed")

    # --- leaders ---------------------------------------------------------------------------------------------------

    def leads(self, node: RaftNode, epoch: int) -> None:
        first = self.leaders.setdefault(epoch, node.id)
        if first != node.id:
            raise RaftViolation("I7", f"two leaders in epoch {epoch}: {first} and {node.id}")
        self._has_committed(node, epoch)

    def _has_committed(self, node: RaftNode, epoch: int) -> None:
        """Check that a leader has all that was committed in earlier epochs; it may be deposed already, and not know it."""
        count = bisect_left(self.committed_in, epoch)
        if node.disk.entries[:count] != self.committed[:count]:
            raise RaftViolation("I8", f"node {node.id} leads epoch {epoch} without what was committed before")

    # --- the log ---------------------------------------------------------------------------------------------------

    def appended(self, node: RaftNode, offset: int) -> None:
        """Check the new entries of the node's log from `offset` on: log matching, by induction."""
        entries = node.disk.entries
        for at in range(offset, len(entries)):
            epoch, value = entries[at]
            before = entries[at - 1][0] if at else 0
            if self.written.setdefault((epoch, at), (value, before)) != (value, before):
                raise RaftViolation("I8", f"node {node.id} has another record at {at} of epoch {epoch}")
            if epoch < before:
                raise RaftViolation("I8", f"epochs go back in the log of node {node.id} at {at}")

    def truncates(self, node: RaftNode, offset: int) -> None:
        """Check, before a truncation, that no committed entry of this log goes.

        A node that has not heard of the epoch that committed the entry may: it still follows a deposed leader, and the majority
        that committed the entry did not need this node.
        """
        assert node.core is not None
        if offset < min(len(self.committed), len(node.disk.entries)) and self.committed_in[offset] <= node.core.state.epoch:
            if node.disk.entries[offset] == self.committed[offset]:
                raise RaftViolation("I8", f"node {node.id} truncates to {offset}, which is committed")

    def commits(self, node: RaftNode, before: int, now: int) -> None:
        """Check a node's high watermark, which moves."""
        if now <= before:
            raise RaftViolation("I8", f"the high watermark of node {node.id} goes from {before} to {now}")
        if now > len(node.disk.entries):
            raise RaftViolation("I8", f"the high watermark {now} of node {node.id} is above its log")
        known = len(self.committed)
        if node.disk.entries[before : min(now, known)] != self.committed[before : min(now, known)]:
            raise RaftViolation("I9", f"node {node.id} believes committed what is not, below {now}")
        if now > known:
            self._newly_committed(node, known, now)

    def _newly_committed(self, node: RaftNode, known: int, now: int) -> None:
        fresh = node.disk.entries[known:now]
        voters = [self.nodes[id] for id in self.voters]
        if 2 * sum(voter.disk.durable[known:now] == fresh for voter in voters) <= len(voters):
            raise RaftViolation("I8", f"[{known}, {now}) is committed, and not on a majority of disks")
        self.committed += fresh
        assert node.core is not None
        self.committed_in += [node.core.state.epoch] * (now - known)
        for other in self.leading():
            if other.core is not None and other.core.state.epoch > node.core.state.epoch:
                self._has_committed(other, other.core.state.epoch)

    # --- snapshots -------------------------------------------------------------------------------------------------

    def snapshot(self, node: RaftNode, id: SnapshotId) -> None:
        """Check a node's new snapshot, made or loaded (rule 41)."""
        content = node.disk.snapshots[id]
        if list(content) != self.committed[: id.end_offset] or content[-1][0] != id.epoch:
            raise RaftViolation("I8", f"snapshot {tuple(id)} of node {node.id} is not what is committed")

    def recovered(self, node: RaftNode) -> None:
        """Check what a node finds on its disk, before it starts."""
        self.persisted(node)
        if node.disk.start_offset > node.disk.end_offset:
            raise RaftViolation("I8", f"the log of node {node.id} ends before its oldest snapshot")
        latest = node.disk.latest_snapshot
        if latest and node.disk.entries[: latest.end_offset] != self.committed[: latest.end_offset]:
            raise RaftViolation("I8", f"the log of node {node.id} is another one than its snapshot")
        self.appended(node, 0)
