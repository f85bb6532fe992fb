"""Every check of the quorum's oracle: the smallest world in which it must speak, and one in which it must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from minikafka.broker.raft.effects import ElectionState
from minikafka.broker.raft.messages import Fetch, SnapshotId
from minikafka.broker.raft.roles import Leader
from minikafka.proof.small_worlds.raft.node import QuorumSettings, RaftNode
from minikafka.proof.small_worlds.raft.oracle import RaftViolation
from minikafka.proof.small_worlds.raft.world import RaftWorld

A, B, C = (1, 10), (1, 11), (2, 12)


class Stage:
    """Three voters that nobody runs: their disks are written by hand, and the oracle is told."""

    def __init__(self) -> None:
        self.world = RaftWorld(1, QuorumSettings(observers=0))
        self.oracle = self.world.oracle
        self.node, self.second, self.third = (self.world.nodes[id] for id in (1, 2, 3))

    def boot(self, node: RaftNode, epoch: int) -> RaftNode:
        """The node runs, in this epoch as its disk has it."""
        self.election_state(node, ElectionState(epoch))
        self.world.start(node.id)
        self.oracle.persisted(node)
        return node

    def lead(self, node: RaftNode, epoch: int) -> RaftNode:
        """The node leads that epoch, from the end of its log on."""
        core = self.boot(node, epoch).core
        assert core is not None
        core.role = Leader(len(node.disk.entries), (1, 2, 3), node.id, fetch_timeout=2.0, deadline=9.0, announce_at=0.0)
        self.oracle.leads(node, epoch)
        return node

    def election_state(self, node: RaftNode, election_state: ElectionState) -> None:
        node.disk.write_election_state(election_state, (1, 2, 3))
        node.disk.election_state_written()

    def write(self, *entries: tuple[int, int], to: tuple[RaftNode, ...] = ()) -> None:
        for node in to or (self.node, self.second):
            node.disk.append(entries)
            node.disk.flush()

    def committed(self, *entries: tuple[int, int], epoch: int = 1) -> None:
        """By node 1, onto two disks."""
        self.write(*entries)
        self.boot(self.node, epoch)
        self.oracle.commits(self.node, 0, len(entries))

    def snapshot(self, id: SnapshotId, *entries: tuple[int, int]) -> None:
        self.node.disk.add_snapshot(id, entries)
        self.oracle.snapshot(self.node, id)


def epoch_goes_back(s: Stage) -> None:
    for epoch in (2, 1):
        s.election_state(s.node, ElectionState(epoch))
        s.oracle.persisted(s.node)


def votes_twice(s: Stage) -> None:
    for voted in (2, 3):
        s.election_state(s.node, ElectionState(1, voted=voted))
        s.oracle.persisted(s.node)


def speaks_first(s: Stage) -> None:
    s.world.start(1)
    s.election_state(s.node, ElectionState(7, voted=1))
    s.oracle.persisted(s.node)
    s.oracle.speaks(s.node)


def fetches_unflushed(s: Stage) -> None:
    s.node.disk.append([A])
    s.oracle.fetches(s.node, Fetch(1, 1, 1, 1, -1, 0.5))


def two_lead(s: Stage) -> None:
    s.oracle.leads(s.node, 1)
    s.oracle.leads(s.second, 1)


def leads_without(s: Stage) -> None:
    s.committed(A, B)
    s.write(A, to=(s.third,))
    s.oracle.leads(s.third, 2)


def a_later_leader_lacks_what_is_committed_now(s: Stage) -> None:
    s.lead(s.third, 2)
    s.committed(A)


def differs(s: Stage) -> None:
    s.write(A)
    s.oracle.appended(s.node, 0)
    s.write((1, 99), to=(s.third,))
    s.oracle.appended(s.third, 0)


def epochs_fall(s: Stage) -> None:
    s.write(C, A)
    s.oracle.appended(s.node, 0)


def truncates_committed(s: Stage) -> None:
    s.committed(A, B)
    s.oracle.truncates(s.node, 1)


def watermark_stays(s: Stage) -> None:
    s.committed(A)
    s.oracle.commits(s.node, 1, 1)


def watermark_above(s: Stage) -> None:
    s.committed(A)
    s.oracle.commits(s.node, 1, 2)


def believes_another(s: Stage) -> None:
    s.committed(A)
    s.write(C, to=(s.third,))
    s.oracle.commits(s.boot(s.third, 2), 0, 1)


def no_majority(s: Stage) -> None:
    s.write(A, to=(s.node,))
    s.oracle.commits(s.boot(s.node, 1), 0, 1)


def no_majority_flushed(s: Stage) -> None:
    s.write(A, to=(s.node,))
    s.second.disk.append([A])
    s.oracle.commits(s.boot(s.node, 1), 0, 1)


def snapshots_more(s: Stage) -> None:
    s.committed(A)
    s.snapshot(SnapshotId(2, 1), A, B)


def snapshots_of_another_epoch(s: Stage) -> None:
    s.committed(A)
    s.snapshot(SnapshotId(1, 2), A)


def loads_a_snapshot_while_it_leads(s: Stage) -> None:
    s.oracle.loads(s.lead(s.node, 1))


def recovers_beside_its_snapshot(s: Stage) -> None:
    s.committed(A, B)
    s.snapshot(SnapshotId(1, 1), A)
    s.node.disk.entries[0] = (1, 99)
    s.oracle.recovered(s.node)


def recovers_short_of_its_snapshot(s: Stage) -> None:
    s.committed(A, B)
    s.snapshot(SnapshotId(2, 1), A, B)
    s.node.disk.entries.pop()
    s.oracle.recovered(s.node)


SPEAKS: dict[Callable[[Stage], None], str] = {
    epoch_goes_back: "I7: the epoch on disk of node 1 went back", votes_twice: "I7: node 1 voted twice in epoch 1",
    speaks_first: "I7: node 1 acts on", fetches_unflushed: "I8: node 1 fetches at 1: not flushed",
    two_lead: "I7: two leaders in epoch 1: 1 and 2", leads_without: "I8: node 3 leads epoch 2 without",
    a_later_leader_lacks_what_is_committed_now: "I8: node 3 leads epoch 2 without",
    loads_a_snapshot_while_it_leads: "I8: node 1 loads a snapshot while it leads",
    differs: "I8: node 3 has another record at 0 of epoch 1", epochs_fall: "I8: epochs go back in the log of node 1 at 1",
    truncates_committed: "I8: node 1 truncates to 1", watermark_stays: "I8: the high watermark of node 1 goes from 1 to 1",
    watermark_above: "I8: the high watermark 2 of node 1 is above its log",
    believes_another: "I9: node 3 believes committed what is not", no_majority: "I8: [0, 1) is committed, and not on",
    no_majority_flushed: "I8: [0, 1) is committed, and not on",
    snapshots_more: "I8: snapshot (2, 1) of node 1 is not", snapshots_of_another_epoch: "I8: snapshot (1, 2) of node 1 is not",
    recovers_beside_its_snapshot: "I8: the log of node 1 is another one than its snapshot",
    recovers_short_of_its_snapshot: "I8: the log of node 1 ends before its oldest snapshot",
}


@pytest.mark.parametrize("story", SPEAKS, ids=lambda story: story.__name__)
def test_it_speaks(story: Callable[[Stage], None]) -> None:
    """Fails if a check sees nothing where what it is for has happened, or calls it by another name."""
    with pytest.raises(RaftViolation) as found:
        story(Stage())
    assert str(found.value).startswith(SPEAKS[story])


def votes_again(s: Stage) -> None:
    for election_state in (ElectionState(1, voted=2), ElectionState(1, leader=2, voted=2), ElectionState(2, voted=3)):
        s.election_state(s.node, election_state)
        s.oracle.persisted(s.node)


def votes_after_it_heard_of_the_epoch(s: Stage) -> None:
    for election_state in (ElectionState(1), ElectionState(1, voted=2)):
        s.election_state(s.node, election_state)
        s.oracle.persisted(s.node)


def speaks_of_what_is_on_its_disk(s: Stage) -> None:
    s.oracle.speaks(s.boot(s.node, 7))
    s.oracle.speaks(s.second)  # an answer on its way when the process died


def fetches_flushed(s: Stage) -> None:
    s.write(A, to=(s.node,))
    s.oracle.fetches(s.node, Fetch(1, 1, 1, 1, -1, 0.5))


def a_deposed_leader_lacks_what_came_later(s: Stage) -> None:
    s.committed(A, B, epoch=3)
    s.oracle.leads(s.third, 3)


def truncates_what_it_alone_has(s: Stage) -> None:
    s.committed(A)
    s.write(B, to=(s.node,))
    s.oracle.truncates(s.node, 1)


def truncates_what_was_never_committed(s: Stage) -> None:
    s.write(A, to=(s.third,))
    s.committed(C, epoch=2)
    s.oracle.truncates(s.boot(s.third, 2), 0)


def a_later_leader_has_what_is_committed_now(s: Stage) -> None:
    s.write(A, to=(s.third,))
    s.lead(s.third, 2)
    s.committed(A)


def loads_a_snapshot_as_a_follower(s: Stage) -> None:
    s.oracle.loads(s.boot(s.node, 1))


def truncates_before_it_heard_of_the_epoch(s: Stage) -> None:
    s.committed(A, epoch=5)
    s.write(A, to=(s.third,))
    s.oracle.truncates(s.boot(s.third, 4), 0)


def commits_on_two_of_three(s: Stage) -> None:
    s.committed(A, B)
    s.oracle.commits(s.boot(s.second, 1), 0, 2)
    s.snapshot(SnapshotId(2, 1), A, B)
    s.oracle.recovered(s.node)


SILENT = [votes_again, votes_after_it_heard_of_the_epoch, speaks_of_what_is_on_its_disk, fetches_flushed,
          a_deposed_leader_lacks_what_came_later, a_later_leader_has_what_is_committed_now, loads_a_snapshot_as_a_follower,
          truncates_what_it_alone_has, truncates_what_was_never_committed, truncates_before_it_heard_of_the_epoch,
          commits_on_two_of_three]


@pytest.mark.parametrize("story", SILENT, ids=lambda story: story.__name__)
def test_it_is_silent(story: Callable[[Stage], None]) -> None:
    """Fails if the oracle cries wolf."""
    story(Stage())
